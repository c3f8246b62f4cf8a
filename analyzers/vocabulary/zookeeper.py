"""What rules about ZooKeeper share: whom its trouble harms, and whether its disk was slow at the time."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.vocabulary.aggregates import seconds

OF_BROKERS = ("zookeeper-awaited", "broker-start-failed", "broker-started", "broker-address")
OF_JOBMANAGERS = ("zookeeper-connection-lost", "curator-state", "leadership-revoked")


def harmed() -> Column:
    """Aggregate: the cause that trouble of ZooKeeper is, by who is seen to use it: Flink's leadership, a Kafka broker, or nobody here."""
    flink = F.max(F.col("signature").isin(*OF_JOBMANAGERS))
    kafka = F.max(F.col("signature").isin(*OF_BROKERS) | (F.coalesce("role", F.lit("")) == "kafka-broker"))
    return F.when(flink, F.lit("jobmanager-lost")).when(kafka, F.lit("broker-unreachable")).otherwise(F.lit("external-system"))


def slow_disk(log_events: DataFrame, losses: DataFrame, *, within: int) -> DataFrame:
    """Per scope, in words, how slow ZooKeeper's disk was at most `within` seconds before one of `losses` (scope, at): scope, disk."""
    slow = log_events.where((F.col("signature") == "zookeeper-sync-slow") & F.col("at").isNotNull())
    lost = losses.select(F.col("scope").alias("_scope"), F.col("at").alias("_lost"))
    near = slow.join(lost, (F.col("scope") == F.col("_scope")) & seconds("at", "_lost").between(-within, within), "left_semi")
    worst = F.format_number(F.max("duration_ms") / 1000, 1)
    shown = F.concat(F.lit("ZooKeeper's disk was slow at the time: its log was up to "), worst, F.lit(" s in being written"))
    return near.groupBy("scope").agg(shown.alias("disk"))
