"""Checkpoints as a table, for notebooks and fleets: ``spark.read.format("flink_checkpoint").load(path)``.

    from analyzers.readers.flink_checkpoint import register
    register(spark)
    spark.read.format("flink_checkpoint").option("table", "splits").load("s3://lake/flink/checkpoints").where("role = 'reader'").show()

Each task reads the checkpoints of one or several jobs. Options: ``table`` (checkpoint_files by default, operator_states, subtask_states,
splits, state_files, batches, batch_offsets, state_store_files, query_leftovers, sources), ``rebase`` (OLD=NEW). Paths are separated by
commas. ``as_of`` is the newest modification time that the task has seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from analyzers.readers.checkpoint_files import CHECKPOINT_TABLES
from analyzers.readers.checkpoint_scan import CheckpointPlan, plan_checkpoints, rows_of
from analyzers.readers.job_log import schema_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class FlinkCheckpoint(DataSource):
    """Checkpoints of Flink and of Structured Streaming as a table."""

    @classmethod
    def name(cls) -> str:
        return "flink_checkpoint"

    def schema(self) -> StructType:
        return schema_of(self._table())

    def reader(self, schema: StructType) -> FlinkCheckpointReader:
        old, equals, new = str(self.options.get("rebase", "")).partition("=")
        return FlinkCheckpointReader(plan_checkpoints(self._paths(), rebase=[(old, new)] if equals else ()), self._table(), schema)

    def _table(self) -> str:
        table = str(self.options.get("table", "checkpoint_files"))
        if table not in CHECKPOINT_TABLES:
            raise ValueError(f"flink_checkpoint has no table '{table}': take one of {', '.join(CHECKPOINT_TABLES)}")
        return table

    def _paths(self) -> list[str]:
        path = self.options.get("path")
        if not path:
            raise ValueError("flink_checkpoint needs a path: .load('/flink/checkpoints')")
        return [part.strip() for part in str(path).split(",")]


class Pack(InputPartition):
    """The paths that one task reads."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(tuple(paths))


class FlinkCheckpointReader(DataSourceReader):
    """One partition per pack of the plan; a path at which nothing can be read is one row of ``sources`` and no error."""

    def __init__(self, plan: CheckpointPlan, table: str, schema: StructType) -> None:
        self._plan, self._table, self._schema = plan, table, schema

    def partitions(self) -> Sequence[InputPartition]:
        return [Pack(pack) for pack in self._plan.packs] or [Pack([path for path, _ in self._plan.asked])]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        names = self._schema.fieldNames()
        return (tuple(row[name] for name in names) for row in rows_of(partition.value, self._plan.rebase, self._table))


def register(spark: SparkSession) -> None:
    """Makes ``flink_checkpoint`` known to a session."""
    spark.dataSource.register(FlinkCheckpoint)
