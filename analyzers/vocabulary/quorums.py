"""Nodes that elect a leader among themselves (Kafka's controllers, ZooKeeper's servers): which of them found none."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.vocabulary.columns import none


def looking(rows: DataFrame, knows: Column, *, last: int) -> DataFrame:
    """The rows among the `last` of each log that come after its last line by which the node `knows` a leader."""
    log = Window.partitionBy("scope", "file")
    tail = rows.withColumn("_rank", F.row_number().over(log.orderBy(F.desc("line")))).where(F.col("_rank") <= last)
    known = tail.withColumn("_known", F.max(F.when(knows, F.col("line"))).over(log))
    return known.where(~knows & (F.col("_known").isNull() | (F.col("line") > F.col("_known"))))


def together(per_node: DataFrame, **facts: Column) -> DataFrame:
    """What was `found` of each node as one finding per scope, with nodes: how many there are."""
    span = {"nodes": F.count("*"), "since": F.min("since"), "until": F.max("until")}
    evidence = F.slice(F.flatten(F.collect_list("evidence")), 1, 5)
    per_scope = per_node.groupBy("scope").agg(*(value.alias(name) for name, value in {**span, "evidence": evidence, **facts}.items()))
    return per_scope.withColumn("job", none())
