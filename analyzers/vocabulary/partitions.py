"""Partitions of a cluster as its brokers list them: what rules about missing leaders and replicas share."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.vocabulary.aggregates import agreed
from analyzers.vocabulary.columns import none
from analyzers.vocabulary.findings import found
from analyzers.vocabulary.snapshots import newest_snapshot, partitions_named


def listed(partitions: DataFrame) -> DataFrame:
    """The partitions of the newest snapshot of each scope, with ``partitions_seen``: how many it has."""
    return newest_snapshot(partitions).withColumn("partitions_seen", F.count("*").over(Window.partitionBy("scope")))


def partition_name() -> Column:
    """``orders-3``, as Kafka's tools name it."""
    return F.concat_ws("-", "topic", "partition")


def ids(name: str) -> Column:
    """``1,2,3``: the brokers in the array `name`."""
    return F.concat_ws(",", name)


def partitions_found(rows: DataFrame, *by: str, shown: Column, **facts: Column) -> DataFrame:
    """`found` over rows of `listed`, with named (the partitions), partitions_seen, and topic and place (it, or the one partition) where all
    are of one."""
    return found(
        rows, *by, at="as_of", table="partitions", shown=shown, since=none("timestamp"), named=partitions_named(), topic=agreed("topic"),
        place=F.when(F.count("*") == 1, F.max(partition_name())).otherwise(agreed("topic")),
        partitions_seen=F.max("partitions_seen"), most=5, **facts,
    )  # fmt: skip
