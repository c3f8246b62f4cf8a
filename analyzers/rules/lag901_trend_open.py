"""LAG901: a group is behind, and the samples are too few to show whether it keeps up."""

from analyzers.vocabulary import UNDECIDED, DataFrame, F, IfGiven, first_of, lasting, rule
from analyzers.vocabulary.connect import of_no_paused_sink
from analyzers.vocabulary.lag import classified, in_use, per_group, with_status


@rule(
    "LAG901", title="A group is behind, and was watched too briefly to tell whether it keeps up", stage="lag", severity=UNDECIDED,
    says={
        "grows": "whether group {group} keeps up: {worst} is {worst_lag} records behind ({worst_change} in {watched} s), and the next one "
        "has waited for {waited_shown}",
        "stands": "whether group {group} reads on: {worst} is {worst_lag} records behind, the next one has waited for {waited_shown}, "
        "and its commit did not move in {watched} s",
    },
    next_command="diag lag-report --bootstrap-server HOST:PORT --group {group} --samples 16 --every 10s",
)  # fmt: skip
def trend_open(
    lag_truth: DataFrame,
    lag_status: DataFrame,
    groups: IfGiven,
    connector_tasks: IfGiven,
    *,
    member: int = 60,  # seconds: what a reader that keeps up has not committed is younger, whatever the interval of its commits
    checkpoints: int = 300,  # seconds: a job that assigns its partitions itself commits with its checkpoints, every few minutes
) -> DataFrame:
    """Per group in use, partitions without enough samples whose next record has waited for longer than commits take, and whose lag does
    not shrink."""
    waits = F.coalesce("time_lag_seconds", F.lit(0.0))
    old = waits >= F.when(classified("real"), F.lit(member)).otherwise(F.lit(checkpoints))
    shrinks = F.coalesce(F.col("trend") == "shrinking", F.lit(False))
    rows = of_no_paused_sink(with_status(lag_truth, lag_status), connector_tasks).where(
        (F.col("status") == "not-enough-samples") & classified("real", "unknown") & old & ~shrinks
    )
    first, last = F.element_at("history", 1).cast("long"), F.element_at("history", -1).cast("long")
    moves = F.coalesce(F.col("consumed_per_second") > 0, F.lit(False))
    rows = rows.withColumns(
        {
            "reason": first_of(("grows", moves), otherwise="stands"),
            "_change": F.format_string("%s%,d", F.when(last >= first, F.lit("+")).otherwise(F.lit("-")), F.abs(last - first)),
        }
    )
    heaviest = F.struct("lag_records", F.concat_ws("-", "topic", "partition"))
    found = per_group(
        rows,
        table="lag_status",
        says="because",
        worst_lag=F.format_number(F.max("lag_records"), 0),
        worst_change=F.max_by("_change", heaviest),
        watched=F.round(F.max("window_seconds"), 0).cast("long"),
        waited_shown=lasting(F.max("time_lag_seconds")),
    )
    return in_use(found, groups).where(F.col("_in_use"))
