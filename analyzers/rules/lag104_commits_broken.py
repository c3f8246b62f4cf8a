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
    fix={
        "members": "Give the job a group id of its own: {members} member(s) subscribed to it, and a broker refuses the commits of a "
        "client that assigned its partitions itself (UNKNOWN_MEMBER_ID) as long as anybody is a member.",
        "KAFKA-13563": "Upgrade kafka-clients from {client_version} to 3.1.1 or later (KAFKA-13563: a client that assigned its partitions "
        "itself never commits again once it has lost its coordinator). Until then restart the job: it commits again from then on, and "
        "loses nothing, because its offsets are in its checkpoints.",
        "": "Look for `Failed to commit consumer offsets for checkpoint` in the TaskManagers' logs: it says why. Nothing is lost "
        "as long as the job restores from checkpoints; a start without state would read everything again from the old commit. Restart the "
        "job to get new clients, and do not scale or alert on this lag.",
    },
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
