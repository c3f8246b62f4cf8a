"""LAG104: the job reads on, but what it reads is no longer committed."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.derived.lag.lag_readers import COMMIT_BUG
from analyzers.report.finding import Severity
from analyzers.vocabulary.lag import per_group
from analyzers.vocabulary.rule import rule


@rule(
    "LAG104",
    title="The job reads, and its commits do not arrive",
    cause="offset-commit",
    stage="commit",
    severity=Severity.CRITICAL,
    says="The lag of group {group} is not real on {places} partition(s): {named}. {worst}: {worst_says}",
    next_command="diag triage LOG_DIRECTORY   # why the commits fail",
)
def commits_broken(lag_truth: DataFrame) -> DataFrame:
    """Per job and group, partitions whose commit is older than completed checkpoints (or than what the job says it committed)."""
    rows = lag_truth.where(F.col("truth") == "commits-broken").withColumn(
        "reason",
        F.when(F.coalesce("members", F.lit(0)) > 0, "members").when(F.col("client_version").rlike(COMMIT_BUG), "KAFKA-13563"),
    )
    return per_group(
        rows,
        F.max("members").alias("members"),
        F.max("client_version").alias("client_version"),
        F.min("since").alias("since"),
    )
