"""Rows of collected tables in rules: the newest snapshot counts, and a row is its own evidence."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.vocabulary.columns import none
from analyzers.vocabulary.findings import found


def newest_snapshot(rows: DataFrame) -> DataFrame:
    """The rows of each scope's newest snapshot: a bundle may hold several runs, and a broker that was down then may be up now."""
    newest = F.max("as_of").over(Window.partitionBy("scope"))
    return rows.withColumn("_newest", newest).where(F.col("as_of").eqNullSafe(F.col("_newest"))).drop("_newest")


def observed(
    rows: DataFrame, *by: str, table: str, shown: Column, file: Column | None = None, at: str = "as_of", **facts: Column
) -> DataFrame:
    """As `found`, of the rows of a collected `table`: a snapshot shows that something is so, not since when."""
    known: dict[str, Any] = {"since": none("timestamp"), **facts}
    return found(rows, *by, at=at, table=table, shown=shown, file=file, **known)


def partitions_named() -> Column:
    """Aggregate: the partitions of a group in order, as Kafka's tools name them: ``orders-3``."""
    ordered = F.sort_array(F.collect_list(F.struct("topic", "partition")))
    return F.transform(ordered, lambda p: F.concat_ws("-", p["topic"], p["partition"])).alias("named")


def replicas_behind() -> Column:
    """Aggregate: the brokers whose replicas of a group's partitions are not in sync, sorted."""
    return F.sort_array(F.array_distinct(F.flatten(F.collect_list(F.array_except("replicas", "isr"))))).alias("behind")


def no_job(rows: DataFrame) -> DataFrame:
    """`rows` that are about no job in particular."""
    return rows.withColumn("job", none())
