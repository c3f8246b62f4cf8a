"""LAG107: somebody else commits to the group of a job."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.lag import per_group
from analyzers.vocabulary.rule import rule


@rule(
    "LAG107",
    title="Somebody else commits to this group",
    cause="offset-commit",
    stage="commit",
    severity=Severity.CRITICAL,
    says="The commits of group {group} are not (only) those of its job, on {places} partition(s): {named}. {worst}: {worst_says}",
    inferred="Only a group without members can be committed to by anybody: the broker refuses it as soon as there is a member.",
    missing="who it is: the brokers' request log or their audit log has the client id and host of OffsetCommit requests",
    next_command="diag lag-report --bootstrap-server HOST:PORT --group {group} --samples 10 --every 5s",
)
def foreign_committer(lag_truth: DataFrame) -> DataFrame:
    """Per group, partitions with commits that the job that reads cannot have made."""
    rows = lag_truth.where(F.col("truth") == "foreign-committer").withColumn("reason", F.lit("foreign-committer"))
    return per_group(rows, F.max("position").isNotNull().cast("double").alias("known")).withColumn(
        "confidence", F.when(F.col("known") == 1, F.lit(0.9)).otherwise(F.lit(0.7))
    )
