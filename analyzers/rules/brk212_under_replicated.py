"""BRK212: partitions have fewer in-sync replicas than replicas. One more loss may stop writing or reading."""

from analyzers.vocabulary import WARNING, DataFrame, F, count, rule
from analyzers.vocabulary.brokers import which_brokers
from analyzers.vocabulary.partitions import ids, listed, partition_name, partitions_found
from analyzers.vocabulary.snapshots import replicas_behind


@rule("BRK212", title="Partitions are under-replicated", stage="risk", severity=WARNING,
    says="{partitions_short} of {partitions_seen} partitions have fewer in-sync replicas than replicas: {named}. The replicas on {behind} "
    "are missing. Reading goes on; producers with acks=all stop where min.insync.replicas is no longer met",
    next_command="kafka-topics.sh --bootstrap-server HOST:PORT --describe --under-replicated-partitions",
)  # fmt: skip
def under_replicated(partitions: DataFrame) -> DataFrame:
    """Per scope, partitions that have a leader and miss a replica in sync."""
    short = listed(partitions).where(F.col("state") == "under-replicated")
    shown = F.format_string("%s: replicas %s, in sync %s", partition_name(), ids("replicas"), ids("isr"))
    return partitions_found(short, shown=shown, partitions_short=count(), behind=which_brokers(replicas_behind()))
