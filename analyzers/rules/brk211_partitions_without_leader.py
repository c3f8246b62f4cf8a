"""BRK211: partitions have no leader, or one that this host cannot reach, by the cluster's own metadata."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, agreed, count, distinct, first_of, rule
from analyzers.vocabulary.brokers import which_brokers
from analyzers.vocabulary.partitions import ids, listed, partition_name, partitions_found


@rule("BRK211", title="Partitions cannot be read: no leader, or none that answers", cause="broker-unreachable", stage="access",
    severity=CRITICAL,
    says={
        "leaderless": "{partitions_dead} of {partitions_seen} partitions have no leader: {named}[[; their replicas are on {offline}, which "
        "left the cluster]]. They can be neither read nor written[[; {internal}]]",
        "": "{partitions_dead} of {partitions_seen} partitions have a leader that does not answer from here ({leaders}): {named}. The "
        "cluster has elected no other leader, so clients wait[[; {internal}]]",
    },
    next_command="kafka-topics.sh --bootstrap-server HOST:PORT --describe --unavailable-partitions",
)  # fmt: skip
def partitions_without_leader(partitions: DataFrame) -> DataFrame:
    """Per scope and state, the partitions without a leader, and those with a leader that cannot be reached."""
    groups = "the groups of these partitions of __consumer_offsets can neither commit nor fetch offsets"
    producers = "transactional producers (exactly-once sinks) of these partitions cannot go on"
    internal = first_of((groups, F.col("topic") == "__consumer_offsets"), (producers, F.col("topic") == "__transaction_state"))
    in_sync = F.coalesce(F.nullif(ids("isr"), F.lit("")), F.lit("none"))
    shown = F.format_string("%s is %s, replicas %s, in sync %s", partition_name(), F.col("state"), ids("replicas"), in_sync)
    waiting = listed(partitions).where(F.col("state").isin("leaderless", "leader-unreachable")).withColumn("reason", F.col("state"))
    return partitions_found(
        waiting,
        "reason",
        shown=shown,
        partitions_dead=count(),
        partition=F.when(count() == 1, F.max("partition")),
        leaders=which_brokers(distinct("leader", "leaders")),
        broker=agreed("leader"),
        offline=which_brokers(F.sort_array(F.array_distinct(F.flatten(F.collect_list("offline"))))),
        internal=F.max(internal),
        # that a leader does not answer was seen from one host only, and the cluster's metadata contradict it
        confidence=first_of((1.0, F.first("state") == "leaderless"), otherwise=0.8),
    )
