"""BRK211: partitions whose leader is missing, or cannot be reached from here, by the cluster's own metadata."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, agreed, count, distinct, first_of, rule
from analyzers.vocabulary.partitions import ids, listed, partition_name, partitions_found


@rule("BRK211", title="Partitions cannot be read: no leader, or none that answers", cause="broker-unreachable", stage="access",
    severity=CRITICAL,
    says={
        "leaderless": "{partitions_dead} of {partitions_seen} partitions have no leader: {named}[[; their replicas sit on brokers "
        "{offline} that left the cluster]]. Nobody can read or write them[[; {internal}]]",
        "": "{partitions_dead} of {partitions_seen} partitions are led by brokers that do not answer from here ({leaders}): {named}. The "
        "cluster still believes in them, clients wait[[; {internal}]]",
    },
    next_command="kafka-topics.sh --bootstrap-server HOST:PORT --describe --unavailable-partitions",
)  # fmt: skip
def partitions_without_leader(partitions: DataFrame) -> DataFrame:
    """Per scope and kind, partitions that are leaderless or whose leader cannot be reached."""
    groups = "the groups that these partitions of __consumer_offsets keep can neither commit nor fetch offsets"
    producers = "transactional producers (exactly-once sinks) of these partitions cannot go on"
    internal = first_of((groups, F.col("topic") == "__consumer_offsets"), (producers, F.col("topic") == "__transaction_state"))
    in_sync = F.coalesce(F.nullif(ids("isr"), F.lit("")), F.lit("nobody"))
    shown = F.format_string("%s is %s, replicas %s, in sync %s", partition_name(), F.col("state"), ids("replicas"), in_sync)
    dead = listed(partitions).where(F.col("state").isin("leaderless", "leader-unreachable")).withColumn("reason", F.col("state"))
    return partitions_found(
        dead,
        "reason",
        shown=shown,
        partitions_dead=count(),
        partition=F.when(count() == 1, F.max("partition")),
        leaders=distinct("leader", "leaders"),
        broker=agreed("leader"),
        offline=F.array_sort(F.array_distinct(F.flatten(F.collect_list("offline")))),
        internal=F.max(internal),
        # that a leader does not answer is what one host saw, against the word of the cluster
        confidence=first_of((1.0, F.first("state") == "leaderless"), otherwise=0.8),
    )
