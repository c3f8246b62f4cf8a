"""BRK212: partitions have fewer in-sync replicas than replicas (a risk)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look, no_job, partitions_named, replicas_behind


@rule(
    "BRK212",
    title="Partitions are under-replicated",
    stage="risk",
    severity=Severity.WARNING,
    says="{partitions_short} of {partitions_seen} partitions have fewer in-sync replicas than replicas: {named}; missing on "
    "brokers {behind}. "
    "Reading goes on; producers with acks=all stop where min.insync.replicas is no longer met",
    next_command="kafka-topics.sh --bootstrap-server HOST:PORT --describe --under-replicated-partitions",
)
def under_replicated(partitions: DataFrame) -> DataFrame:
    """Per scope, partitions that have a leader and miss a replica in sync."""
    seen = newest_look(partitions)
    total = seen.groupBy("scope").agg(F.count("*").alias("partitions_seen"))
    text = F.concat(
        F.concat_ws("-", "topic", "partition"),
        F.lit(": replicas "),
        F.concat_ws(",", "replicas"),
        F.lit(", in sync "),
        F.concat_ws(",", "isr"),
    )
    found = (
        seen.where(F.col("state") == "under-replicated")
        .groupBy("scope")
        .agg(
            F.count("*").alias("partitions_short"),
            partitions_named(),
            replicas_behind(),
            agreed("topic"),
            F.max("as_of").alias("until"),
            evidence("partitions", text),
        )
        .join(total, "scope")
    )
    return no_job(found)
