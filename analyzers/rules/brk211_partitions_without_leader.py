"""BRK211: partitions whose leader is missing, or cannot be reached from here, by the cluster's own metadata."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, distinct
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look, no_job, partitions_named


@rule(
    "BRK211",
    title="Partitions cannot be read: no leader, or none that answers",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    says={
        "leaderless": "{partitions_dead} of {partitions_seen} partitions have no leader: {named}[[; their replicas sit on "
        "brokers {offline} "
        "that left the cluster]]. Nobody can read or write them[[; {internal}]]",
        "": "{partitions_dead} of {partitions_seen} partitions are led by brokers that do not answer from here ({leaders}): "
        "{named}. The cluster "
        "still believes in them, clients wait[[; {internal}]]",
    },
    next_command="kafka-topics.sh --bootstrap-server HOST:PORT --describe --unavailable-partitions",
)
def partitions_without_leader(partitions: DataFrame) -> DataFrame:
    """Per scope and kind, partitions that are leaderless or whose leader cannot be reached."""
    seen = newest_look(partitions)
    total = seen.groupBy("scope").agg(F.count("*").alias("partitions_seen"))
    name = F.concat_ws("-", "topic", "partition")
    internal = F.when(
        F.col("topic") == "__consumer_offsets",
        "the groups that these partitions of __consumer_offsets keep can neither commit nor fetch offsets",
    ).when(F.col("topic") == "__transaction_state", "transactional producers (exactly-once sinks) of these partitions cannot go on")
    text = F.concat(
        name,
        F.lit(" is "),
        "state",
        F.lit(", replicas "),
        F.concat_ws(",", "replicas"),
        F.lit(", in sync "),
        F.coalesce(F.nullif(F.concat_ws(",", "isr"), F.lit("")), F.lit("nobody")),
    )
    found = (
        seen.where(F.col("state").isin("leaderless", "leader-unreachable"))
        .groupBy("scope", F.col("state").alias("reason"))
        .agg(
            F.count("*").alias("partitions_dead"),
            partitions_named(),
            agreed("topic"),
            F.when(F.count("*") == 1, F.max("partition")).alias("partition"),
            distinct("leader", "leaders"),
            agreed("leader", "broker"),
            F.array_sort(F.array_distinct(F.flatten(F.collect_list("offline")))).alias("offline"),
            F.max(internal).alias("internal"),
            F.max("as_of").alias("until"),
            evidence("partitions", text),
        )
        .join(total, "scope")
        # that a leader does not answer is what one host saw, against the word of the cluster
        .withColumn("confidence", F.when(F.col("reason") == "leaderless", 1.0).otherwise(0.8))
    )
    return no_job(found)
