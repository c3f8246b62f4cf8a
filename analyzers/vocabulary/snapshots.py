"""Rows of collected tables in rules: the newest look counts, and a row is its own evidence."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def newest_look(rows: DataFrame) -> DataFrame:
    """Rows of the last look of each scope: a bundle may hold the samples of several runs, and what was dead then may live now."""
    return (
        rows.withColumn("_newest", F.max("as_of").over(Window.partitionBy("scope")))
        .where(F.col("as_of").eqNullSafe(F.col("_newest")))
        .drop("_newest")
    )


def partitions_named() -> Column:
    """Aggregate: the partitions of a group in order, as Kafka's tools name them: ``orders-3``."""
    ordered = F.array_sort(F.collect_list(F.struct("topic", "partition")))
    return F.transform(ordered, lambda p: F.concat_ws("-", p["topic"], p["partition"])).alias("named")


def replicas_behind() -> Column:
    """Aggregate: the brokers whose replicas of a group's partitions are not in sync, sorted."""
    return F.array_sort(F.array_distinct(F.flatten(F.collect_list(F.array_except("replicas", "isr"))))).alias("behind")


def no_job(rows: DataFrame) -> DataFrame:
    """`rows` that are about no job in particular."""
    return rows.withColumn("job", F.lit(None).cast("string"))
