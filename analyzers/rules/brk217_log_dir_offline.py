"""BRK217: a broker reports a log directory as offline. Its replicas there are lost to it until the disk is repaired and it restarts."""

from analyzers.vocabulary import WARNING, DataFrame, F, agreed, count, distinct, newest_snapshot, rule
from analyzers.vocabulary.brokers import which_brokers
from analyzers.vocabulary.snapshots import observed


@rule("BRK217", title="A log directory of a broker is offline", stage="risk", severity=WARNING, reason="offline",
    says="{offline} log directory(s) are offline: {named}. The replicas there are not in sync and cannot lead",
    next_command="kafka-log-dirs.sh --bootstrap-server HOST:PORT --describe",
)  # fmt: skip
def log_dir_offline(log_dirs: DataFrame) -> DataFrame:
    """Per scope, log directories that their brokers describe as offline (KAFKA_STORAGE_ERROR). Source: Kafka's ReplicaManager."""
    offline = newest_snapshot(log_dirs).where(F.col("state") == "offline")
    shown = F.format_string("broker %d: %s", F.col("broker"), F.coalesce("path", F.lit("a directory")))
    return observed(
        offline,
        table="log_dirs",
        shown=shown,
        offline=count(),
        broker=agreed("broker"),
        ill=which_brokers(distinct("broker", "ill")),
        paths=F.array_join(distinct("path", "paths"), ", "),
        named=F.array_join(distinct(shown, "named"), "; "),
    )
