"""LAG106: a group reads, but slower than records are written."""

from analyzers.vocabulary import WARNING, DataFrame, F, rule
from analyzers.vocabulary.lag import HEALTHY, OWN_RULE, classified, per_group, with_status


@rule(
    "LAG106", title="A group reads slower than is written", cause="no-progress", reason="overload", stage="lag", severity=WARNING,
    says="Group {group} falls further behind on {places} partition(s) ({named}): {records} records by now[[, {written}/s written and "
    "{read}/s read]]. At these rates it never catches up. {worst}: {worst_says}",
    next_command="diag triage --flink-rest http://JOBMANAGER:8081   # which operator holds the others back",
)  # fmt: skip
def falls_behind(lag_truth: DataFrame, lag_status: DataFrame) -> DataFrame:
    """Per group, partitions with status warn that no other classification explains, and that are not read faster than written."""
    slower = F.coalesce(F.col("consumed_per_second") < F.col("produced_per_second"), F.lit(True))  # unknown where nothing moved
    rows = with_status(lag_truth, lag_status).where((F.col("status") == "warn") & ~classified(*HEALTHY, *OWN_RULE) & slower)
    return per_group(
        rows,
        table="lag_status",
        says="because",
        written=F.format_number(F.sum("produced_per_second"), 0),
        read=F.format_number(F.sum("consumed_per_second"), 0),
    )
