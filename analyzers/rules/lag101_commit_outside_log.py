"""LAG101: the offset that a group committed lies outside of the log: deleted by retention, or beyond the log end offset."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, IfGiven, count, first_of, newest_snapshot, observed, rule, text
from analyzers.vocabulary.lag import PLACE, classified, in_use, partition_name, the_partition

_EMPTY = "Nothing is left in the log: so few offsets may have been transaction markers, for which a reader has no record to commit."
_IDLE = "The group has no members: either its job assigns its partitions itself (Flink, Spark, Beam), or the group is abandoned."


@rule(
    "LAG101", title="A committed offset lies outside of the log", cause="offset-reset", stage="lag", severity=CRITICAL,
    says={
        "retention": "{lost_records} offsets that group {group} has not committed are deleted already, on {places} partition(s): {named}. "
        "The log of the worst ({worst}) begins at {worst_bound}, the commit stands at {worst_committed}; a reader that starts from this "
        "commit skips them or fails (auto.offset.reset)",
        "beyond-end": "Group {group} committed offsets beyond the log end offset on {places} partition(s): {named}. The log of {worst} "
        "ends at {worst_bound}, the commit stands at {worst_committed}: the topic was deleted and recreated, its newest records were lost, "
        "or the group's offsets were set too far",
    },
    inferred="[[{idle}]]",
    next_command="diag lag-report --bootstrap-server HOST:PORT --group {group}",
)  # fmt: skip
def commit_outside_log(
    committed_offsets: DataFrame,
    groups: IfGiven,
    lag_truth: IfGiven,
    *,
    markers: int = 10,  # offsets: as many may be the last markers of transactions, which no reader commits, where nothing else is left
) -> DataFrame:
    """Per group, partitions with a commit below the log start or beyond the high watermark, unless the job is known to be further.

    Critical only for a group that is in use: clusters are full of abandoned ones.
    """
    gone, ahead = F.col("log_start") - F.col("committed"), F.col("committed") - F.col("high_watermark")
    rows = newest_snapshot(committed_offsets).withColumn("reason", first_of(("retention", gone > 0), ("beyond-end", ahead > 0)))
    further = lag_truth.where(~classified("below-retention", "foreign-committer")).withColumn("reason", F.lit("retention"))
    outside = rows.where(F.col("reason").isNotNull()).join(further, [*PLACE, "reason"], "left_anti")
    per_group = observed(
        outside.withColumns({"_name": partition_name(), "_records": F.greatest(gone, ahead)}),
        "group", "reason", at="at", table="committed_offsets",
        shown=text("group {group}, {_name}: committed {committed}, log {log_start} to {high_watermark}"),
        places=count(),
        lost_records=F.sum("_records"),
        named=F.sort_array(F.collect_set("_name")),
        worst=F.max_by("_name", "_records"),
        worst_topic=F.max_by("topic", "_records"),
        worst_partition=F.max_by("partition", "_records"),
        worst_bound=F.max_by(F.when(gone > 0, F.col("log_start")).otherwise(F.col("high_watermark")), "_records"),
        worst_committed=F.max_by("committed", "_records"),
        _sure=F.bool_or((ahead > 0) | (gone > markers) | (F.col("log_start") < F.col("high_watermark"))),
        **the_partition(offset="committed"),
    )  # fmt: skip
    severity = first_of(("critical", F.col("_in_use") & F.col("_sure")), otherwise="warning")
    idle = first_of((_EMPTY, ~F.col("_sure")), (_IDLE, ~F.col("_in_use")))
    return in_use(per_group, groups).withColumns({"severity": severity, "idle": idle})
