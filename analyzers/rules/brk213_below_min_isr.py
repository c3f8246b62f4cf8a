"""BRK213: partitions have fewer in-sync replicas than min.insync.replicas, so writes with acks=all are refused; or just as many."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, count, distinct, first_of, newest_snapshot, rule
from analyzers.vocabulary.brokers import which_brokers
from analyzers.vocabulary.partitions import ids, listed, partition_name, partitions_found
from analyzers.vocabulary.snapshots import replicas_behind


@rule("BRK213", title="Partitions are under or at min.insync.replicas", stage="access", severity=CRITICAL,
    says={
        "under-min-isr": "{partitions_short} of {partitions_seen} partitions have fewer in-sync replicas than min.insync.replicas: "
        "{named}. Writers with acks=all (exactly-once and at-least-once sinks) are refused there; reading goes on",
        "": "{partitions_short} of {partitions_seen} partitions have just as many in-sync replicas as min.insync.replicas requires, and "
        "fewer than replicas: {named}. Writing goes on, and stops when one more replica is lost",
    },
    next_command="kafka-topics.sh --bootstrap-server HOST:PORT --describe --under-min-isr-partitions",
)  # fmt: skip
def below_min_isr(partitions: DataFrame, topic_configs: DataFrame) -> DataFrame:
    """Per scope, partitions with a leader that are under their topic's min.insync.replicas, and those at it that miss a replica."""
    configs = newest_snapshot(topic_configs).where(F.col("key") == "min.insync.replicas")
    wanted = configs.groupBy("scope", "topic").agg(F.max(F.col("value").try_cast("int")).alias("_wanted"))
    adding = F.coalesce(F.size("adding"), F.lit(0))  # replicas that a reassignment is only just making are not missing
    has, wants, all_of = F.size("isr"), F.col("_wanted"), F.size("replicas") - adding
    led = listed(partitions).where(F.col("leader").isNotNull()).join(wanted, ["scope", "topic"])
    reason = first_of(("under-min-isr", has < wants), otherwise="at-min-isr")
    return partitions_found(
        led.where((has < all_of) & (has <= wants)).withColumn("reason", reason),
        "reason",
        shown=F.format_string("%s: in sync %s, required %d of %d", partition_name(), ids("isr"), wants, all_of),
        partitions_short=count(),
        behind=which_brokers(replicas_behind()),
        topics=distinct("topic", "topics"),
        severity=first_of(("critical", F.first("reason") == "under-min-isr"), otherwise="warning"),
    )
