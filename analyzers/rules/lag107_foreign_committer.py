"""LAG107: another client commits offsets to the group of a job."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, rule
from analyzers.vocabulary.lag import classified, per_group


@rule(
    "LAG107", title="Another client commits to this group", cause="offset-commit", reason="foreign-committer", stage="commit",
    severity=CRITICAL,
    says="Not all commits of group {group} come from its job, on {places} partition(s): {named}. {worst}: {worst_says}",
    inferred="Any client can commit to a group without members: the broker refuses it only while there is a member.",
    missing="the other client: the brokers' request log or audit log has the client id and host of OffsetCommit requests",
    next_command="diag lag-report --bootstrap-server HOST:PORT --group {group} --samples 10 --every 5s",
)  # fmt: skip
def foreign_committer(lag_truth: DataFrame) -> DataFrame:
    """Per group, partitions with commits that the job that reads cannot have made; surer where the job's own position is known."""
    return per_group(lag_truth.where(classified("foreign-committer")), confidence=first_of((0.9, F.count("position") > 0), otherwise=0.7))
