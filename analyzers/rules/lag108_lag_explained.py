"""LAG108: the lag of a group needs no action; what it consists of."""

from analyzers.vocabulary import INFO, DataFrame, F, rule
from analyzers.vocabulary.lag import classified, per_group


@rule(
    "LAG108", title="Lag that needs no action (saw-tooth of checkpoints, transaction markers)", stage="lag", severity=INFO,
    says={
        "saw-tooth": "The lag of group {group} on {places} partition(s) ({named}) is the time since its last commit, not a stall: offsets "
        "are committed when a checkpoint completes. {worst}: {worst_says}",
        "transaction-markers": "The lag of group {group} on {places} partition(s) ({named}) can never become 0: behind the commit are no "
        "records, only transaction markers or offsets that compaction removed. {worst}: {worst_says}",
    },
    next_command="diag lag-report --bootstrap-server HOST:PORT --group {group} --samples 10 --every 10s",
)  # fmt: skip
def lag_explained(lag_truth: DataFrame) -> DataFrame:
    """Per group and classification, partitions with lag that needs no repair."""
    explained = classified("saw-tooth", "transaction-markers") & (F.col("lag_records") > 0)
    return per_group(lag_truth.where(explained).withColumn("reason", F.col("truth")))
