"""BRK213: partitions have fewer in-sync replicas than min.insync.replicas: writers with acks=all are refused."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look, no_job, partitions_named, replicas_behind


@rule(
    "BRK213",
    title="Partitions are under or at min.insync.replicas",
    stage="access",
    severity=Severity.CRITICAL,
    says={
        "under-min-isr": "{partitions_short} of {partitions_seen} partitions have fewer in-sync replicas than min.insync.replicas: {named}"
        ". Writers with acks=all (exactly-once and at-least-once sinks) are refused there; reading goes on",
        "": "{partitions_short} of {partitions_seen} partitions have just as many in-sync replicas as min.insync.replicas wants, and fewer "
        "than replicas: {named}. Writing goes on; with one replica less it stops",
    },
    next_command="kafka-topics.sh --bootstrap-server HOST:PORT --describe --under-min-isr-partitions",
)
def below_min_isr(partitions: DataFrame, topic_configs: DataFrame) -> DataFrame:
    """Per scope, partitions with a leader that are under their topic's min.insync.replicas, and those at it that miss a replica."""
    seen = newest_look(partitions)
    total = seen.groupBy("scope").agg(F.count("*").alias("partitions_seen"))
    wanted = newest_look(topic_configs).where(F.col("key") == "min.insync.replicas")
    wanted = wanted.groupBy("scope", "topic").agg(F.max(F.col("value").try_cast("int")).alias("_wanted"))
    has, wants = F.size("isr"), F.col("_wanted")
    short = seen.where(F.col("leader").isNotNull() & (has < F.size("replicas"))).join(wanted, ["scope", "topic"]).where(has <= wants)
    name = F.concat_ws("-", "topic", "partition")
    text = F.concat(name, F.lit(": in sync "), F.concat_ws(",", "isr"), F.lit(", wanted "), wants, F.lit(" of "), F.size("replicas"))
    found = (
        short.withColumn("reason", F.when(has < wants, "under-min-isr").otherwise("at-min-isr"))
        .groupBy("scope", "reason")
        .agg(
            F.count("*").alias("partitions_short"),
            partitions_named(),
            replicas_behind(),
            F.array_join(F.array_sort(F.collect_set("topic")), ", ").alias("topics"),
            agreed("topic"),
            F.max("as_of").alias("until"),
            evidence("partitions", text),
        )
        .join(total, "scope")
        .withColumn("severity", F.when(F.col("reason") == "under-min-isr", "critical").otherwise("warning"))
    )
    return no_job(found)
