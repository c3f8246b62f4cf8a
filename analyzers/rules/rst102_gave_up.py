"""RST102: Flink does not restart the job any more."""

from analyzers.vocabulary import WARNING, DataFrame, F, found, rule


@rule(
    "RST102", title="Flink gave up restarting the job", stage="restart", severity=WARNING,
    signatures=("restart-suppressed", "failure-not-recoverable"),
    says="Flink does not restart the job[[ {job}]] any more[[: {strategy}]]; it has to be started by hand",
)  # fmt: skip
def gave_up(log_events: DataFrame) -> DataFrame:
    """The line "Recovery is suppressed by <strategy>", or an exception that forbids restarts."""
    strategy = F.regexp_extract("text", r"suppressed by ([\w.]+(?:\([^\n]{0,160}\))?)", 1)
    return found(log_events, "job", strategy=F.max(F.nullif(strategy, F.lit(""))))
