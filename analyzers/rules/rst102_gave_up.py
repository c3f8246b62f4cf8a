"""RST102: Flink does not restart the job any more."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.rule import exemplars, rule


@rule(
    "RST102",
    title="Flink gave up restarting the job",
    stage="restart",
    severity=Severity.WARNING,
    signatures=("restart-suppressed", "failure-not-recoverable"),
    says="Flink does not restart the job[[ {job}]] any more[[: {strategy}]]; it has to be started by hand",
    fix="Repair the cause first, then start the job from its last completed checkpoint or savepoint[[ (strategy now: {strategy})]]. "
    "More attempts (restart-strategy) help only against faults that pass by themselves.",
)
def gave_up(log_events: DataFrame) -> DataFrame:
    """The line "Recovery is suppressed by <strategy>", or an exception that forbids restarts."""
    strategy = F.regexp_extract("text", r"suppressed by ([\w.]+(?:\([^\n]{0,160}\))?)", 1)
    return log_events.groupBy("scope", "job").agg(
        F.max(F.nullif(strategy, F.lit(""))).alias("strategy"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        exemplars(),
    )
