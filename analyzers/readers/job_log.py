"""The second door to the kernel, for notebooks: ``spark.read.format("job_log").load(path)`` gives the rows of `log_events`.

    from analyzers.readers.job_log import register
    register(spark)
    spark.read.format("job_log").option("log_timezone", "Europe/Berlin").load("/logs/*.log").groupBy("signature").count()

The first door is `log_scan.scan`; a test compares both. Options: ``log_timezone``, ``since``, ``until`` (ISO-8601 with a zone), ``scope``,
``split_bytes``; ``table`` = log_events (default), log_counts, log_files or sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.tables import TABLES, Row
from analyzers.tables.arrow import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TABLES = ("log_events", "log_remarks", "log_counts", "log_files", "sources")


def schema_of(table: str) -> StructType:
    """The Spark schema of an evidence table."""
    return from_arrow_schema(arrow_schema(TABLES[table]))


class JobLog(DataSource):
    """Logs of streaming jobs as a table."""

    @classmethod
    def name(cls) -> str:
        return "job_log"

    def schema(self) -> StructType:
        return schema_of(self._table())

    def reader(self, schema: StructType) -> JobLogReader:
        return JobLogReader(self._paths(), self._table(), log_options(dict(self.options)), schema)

    def _table(self) -> str:
        table = str(self.options.get("table", "log_events"))
        if table not in _TABLES:
            raise ValueError(f"job_log has no table '{table}': take one of {', '.join(_TABLES)}")
        return table

    def _paths(self) -> list[str]:
        path = self.options.get("path")
        if not path:
            raise ValueError("job_log needs a path: .load('/logs/*.log')")
        return [part.strip() for part in str(path).split(",")]


def log_options(options: dict[str, str]) -> LogOptions:
    """The options of the data source as `LogOptions`. Raises ``ValueError`` for a moment without a zone."""
    moments = {}
    for name in ("since", "until"):
        if options.get(name):
            moment = datetime.fromisoformat(options[name].replace("Z", "+00:00"))
            if moment.tzinfo is None:
                raise ValueError(f"{name} needs a time zone: {options[name]}Z")
            moments[name] = moment
    more: dict[str, Any] = {"split_bytes": int(options["split_bytes"])} if options.get("split_bytes") else {}
    return LogOptions(options.get("log_timezone"), moments.get("since"), moments.get("until"), scope=options.get("scope", ""), **more)


class JobLogReader(DataSourceReader):
    """Reads everything in one partition: selection and order need all parts together, and the rows are few."""

    def __init__(self, paths: Sequence[str], table: str, options: LogOptions, schema: StructType) -> None:
        self._paths, self._table, self._options, self._schema = list(paths), table, options, schema

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        rows: Sequence[Row] = scan(plan(self._paths, self._options))[self._table]
        names = self._schema.fieldNames()
        return (tuple(row[name] for name in names) for row in rows)


def register(spark: SparkSession) -> None:
    """Makes ``job_log`` known to a session."""
    spark.dataSource.register(JobLog)
