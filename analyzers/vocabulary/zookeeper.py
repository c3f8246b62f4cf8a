"""What rules about ZooKeeper share: who depends on it, brokers as its clients, and whether its disk was slow at the time."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.vocabulary.aggregates import seconds

OF_BROKERS = ("zookeeper-awaited", "broker-start-failed", "broker-started", "broker-address")
LOST = ("zookeeper-session-expired", "zookeeper-session-timed-out", "zookeeper-connection-broken", "zookeeper-awaited")
OF_JOBMANAGERS = ("zookeeper-connection-lost", "curator-state", "leadership-revoked")


def harmed() -> Column:
    """Aggregate: the cause to give trouble of ZooKeeper, by who uses it in these logs: Flink, Kafka brokers, or neither."""
    flink = F.max(F.col("signature").isin(*OF_JOBMANAGERS))
    kafka = F.max(F.col("signature").isin(*OF_BROKERS) | (F.coalesce("role", F.lit("")) == "kafka-broker"))
    return F.when(flink, F.lit("jobmanager-lost")).when(kafka, F.lit("broker-unreachable")).otherwise(F.lit("external-system"))


def lines_of_brokers(log_events: DataFrame) -> DataFrame:
    """The rows of Kafka brokers as clients of ZooKeeper, with _granted_ms (session time-out), _registered (broker id), _server,
    _lost and _gone.

    _lost: the line reports that the session or the connection was lost, and the broker was not shutting down. _gone: no session was
    established after it. Tools and other programs are clients of ZooKeeper, too: a log of unknown role counts where a line is Kafka's.
    """
    log, signature = Window.partitionBy("scope", "file"), F.col("signature")
    established = signature == "zookeeper-session-established"
    kafka = F.max(signature.isin(*OF_BROKERS) | F.contains("text", F.lit("[ZooKeeperClient"))).over(log)
    back, stops = (F.max(F.when(of, F.col("line"))).over(log) for of in (established, signature == "broker-shutting-down"))
    lost = signature.isin(*LOST) & (stops.isNull() | (F.col("line") < stops))
    gone = lost & (back.isNull() | (F.col("line") > back))
    granted = F.when(established, F.col("detail")["timeout_ms"].cast("long"))
    own = log_events.withColumn("_kafka", kafka).where((F.col("role") == "kafka-broker") | (F.col("role").isNull() & F.col("_kafka")))
    registered = F.coalesce("broker", F.col("detail")["registered"].cast("long"))
    server = F.regexp_replace(F.coalesce(F.col("detail")["server"], F.col("address")), "^/", "")
    facts = {"_granted_ms": granted, "_registered": registered, "_server": F.nullif(server, F.lit("null"))}
    return own.withColumns({**facts, "_lost": lost, "_gone": gone})


def slow_disk(log_events: DataFrame, losses: DataFrame, *, within: int) -> DataFrame:
    """Per scope, a sentence on how slow ZooKeeper's disk was within `within` seconds of one of `losses` (scope, at): scope, disk."""
    slow = log_events.where((F.col("signature") == "zookeeper-sync-slow") & F.col("at").isNotNull())
    lost = losses.select(F.col("scope").alias("_scope"), F.col("at").alias("_lost"))
    near = slow.join(lost, (F.col("scope") == F.col("_scope")) & seconds("at", "_lost").between(-within, within), "left_semi")
    worst = F.format_number(F.max("duration_ms") / 1000, 1)
    shown = F.concat(F.lit("ZooKeeper's disk was slow at the time: a write of its log took up to "), worst, F.lit(" s"))
    return near.groupBy("scope").agg(shown.alias("disk"))
