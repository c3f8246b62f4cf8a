# ruff: noqa: E501 -- log lines are what they are
"""Both doors to the kernel, the RDD and the data source, give the same rows; so does no Spark at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analyzers.readers.log_scan import LogOptions, plan, scan
from tests.spark_hosts import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cli.engine.spark import Engine

JOB = "f83dbb7e04f400ccfd1258d03b96d7ad"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    lines = []
    for n in range(200):
        lines.append(
            f"2024-03-01 09:{n // 60:02d}:{n % 60:02d},123 INFO  org.apache.flink.runtime.checkpoint.CheckpointCoordinator    [] - Checkpoint {n} of job {JOB} expired before completing.\n"
        )
        lines.append(
            f"2024-03-01 09:{n // 60:02d}:{n % 60:02d},124 ERROR com.acme.Sink [] - lost record {n}\njava.net.ConnectException: Connection refused\n\tat com.acme.Sink.open(Sink.java:{n})\n"
        )
    (tmp_path / "jobmanager.log").write_text("".join(lines))
    (tmp_path / "taskmanager.log").write_text("".join(lines[:30]))
    (tmp_path / "cri.log").write_text(
        "".join(f"2024-03-01T09:00:00.123456789Z stdout F {line}\n" for line in "".join(lines[:9]).splitlines())
    )
    return tmp_path


def test_the_rdd_gives_the_rows_of_one_process(logs: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WORTH_SECONDS", "_WORTH_A_LOOK_SECONDS"):
        monkeypatch.setattr(f"analyzers.readers.log_rounds.{name}", -1.0)
    paths, options = [str(logs)], LogOptions(log_timezone="+01:00", split_bytes=4000)
    engine.workers.start()
    assert eventually(lambda: engine.workers.are_there, seconds=60)
    planned = plan(paths, options, engine)
    assert planned == plan(paths, options)
    assert len(planned.tasks) > 5
    spread = scan(planned, engine)
    assert spread == scan(plan(paths, LogOptions(log_timezone="+01:00")))
    assert len(spread["log_events"]) > 10


@pytest.mark.parametrize("table", ["log_events", "log_counts", "log_files", "sources"])
def test_the_data_source_gives_the_same_rows(table: str, logs: Path, spark: SparkSession) -> None:
    from analyzers.readers.job_log import register

    register(spark)
    frame = spark.read.format("job_log").option("log_timezone", "+01:00").option("table", table).load(str(logs))
    rows = [row.asDict() for row in frame.collect()]
    wanted = scan(plan([str(logs)], LogOptions(log_timezone="+01:00")))[table]
    assert len(rows) == len(wanted) > 0
    for row, expected in zip(rows, wanted, strict=True):
        for name, value in expected.items():
            if hasattr(value, "tzinfo"):
                assert row[name].astimezone(value.tzinfo) == value
            else:
                assert row[name] == value


def test_the_data_source_says_what_it_lacks(spark: SparkSession, logs: Path) -> None:
    from analyzers.readers.job_log import log_options, register

    register(spark)
    with pytest.raises(Exception, match="has no table 'nonsense'"):
        spark.read.format("job_log").option("table", "nonsense").load(str(logs)).collect()
    with pytest.raises(ValueError, match="needs a time zone"):
        log_options({"since": "2024-03-01T09:00:00"})
