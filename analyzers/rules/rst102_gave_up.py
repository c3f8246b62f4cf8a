"""RST102: Flink does not restart the job any more."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule


@rule(
    "RST102",
    title="Flink gave up restarting the job",
    stage="restart",
    severity=Severity.WARNING,
    signatures=("restart-suppressed", "failure-not-recoverable"),
    says="Flink does not restart the job[[ {job}]] any more[[: {strategy}]]; it has to be started by hand",
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
