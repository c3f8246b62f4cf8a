"""The same triage as a stock PySpark program would do it: an ordinary session, the kernel in `mapInArrow`, the same rules.

`python benchmarks/stock_triage.py LOGS` prints the JSON report that `diag triage -o json LOGS` prints.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.update(PYTHONPATH=str(ROOT), PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")  # the workers'; no port beyond this host

import pyarrow as pa  # noqa: E402  # the checkout is put on the path above
from pyspark.sql import SparkSession  # noqa: E402

from analyzers.diagnosis.diagnose import judge  # noqa: E402
from analyzers.readers import log_scan  # noqa: E402
from cli.renderers import json  # noqa: E402
from cli.version import version  # noqa: E402


def main(paths: list[str]) -> None:
    spark = SparkSession.builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    plan = log_scan.plan(paths, log_scan.LogOptions())
    tasks, window = plan.tasks, plan.options.window

    def scan(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                parts = list(log_scan.read_splits(tasks[number], window))
                yield pa.RecordBatch.from_pydict({"parts": [pickle.dumps(parts)]})

    rows = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(scan, "parts binary").collect()
    tables = log_scan.tables(plan, [part for row in rows for part in pickle.loads(row["parts"])])
    print(json.render(judge(tables, lambda: spark, command="triage", version=version(), notes=plan.notes)))


if __name__ == "__main__":
    main(sys.argv[1:])
