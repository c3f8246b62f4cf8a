"""LAG104: the job reads and checkpoints, but its offsets are no longer committed."""

from analyzers.derived.lag.lag_readers import COMMIT_BUG
from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, rule
from analyzers.vocabulary.lag import classified, per_group


@rule(
    "LAG104", title="The job reads, and its commits do not arrive", cause="offset-commit", stage="commit", severity=CRITICAL,
    says="The lag of group {group} is not real on {places} partition(s): {named}. {worst}: {worst_says}",
    next_command="diag triage LOG_DIRECTORY   # why the commits fail",
)  # fmt: skip
def commits_broken(lag_truth: DataFrame) -> DataFrame:
    """Per job and group, partitions with a commit older than completed checkpoints (or than the job's own last commit)."""
    reason = first_of(("members", F.col("members") > 0), ("KAFKA-13563", F.col("client_version").rlike(COMMIT_BUG)))
    return per_group(
        lag_truth.where(classified("commits-broken")).withColumn("reason", reason),
        members=F.max("members"),
        client_version=F.max("client_version"),
        since=F.min("since"),
    )
