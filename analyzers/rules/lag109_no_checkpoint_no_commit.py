"""LAG109: a group's commits stand still because no checkpoint of its job completes."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, rule, seconds
from analyzers.vocabulary.lag import classified, per_group


@rule(
    "LAG109", title="Commits stand still because no checkpoint completes", cause="barrier-unacknowledged", reason="overdue",
    stage="checkpoint", severity=CRITICAL,
    says="[[Checkpoint {checkpoint} was the last to complete, {age} ago; ]]they should come every {interval} s. Group {group} commits "
    "with its checkpoints, so its {places} partition(s) stand still since: {records} records behind ({named})[[, {unread} of them unread]]",
    inferred="[[{unsure}]]",
    next_command="diag triage --flink-rest http://JOBMANAGER:8081   # which subtask holds the barrier",
)  # fmt: skip
def no_checkpoint_no_commit(lag_truth: DataFrame) -> DataFrame:
    """Per job and group with an overdue checkpoint and records behind its commits."""
    age, runs = F.max(seconds("newest_checkpoint_at", "as_of")), F.count("position") > 0
    return per_group(
        lag_truth.where(classified("checkpoint-overdue") & (F.col("lag_records") > 0)),
        checkpoint=F.max("newest_checkpoint"),
        since=F.max("newest_checkpoint_at"),
        interval=F.round(F.max("interval_seconds"), 0).cast("long"),
        age_seconds=age,
        age=F.when(age < 120, F.format_string("%.0f s", F.round(age, 0))).otherwise(F.format_string("%.0f min", F.round(age / 60, 0))),
        unread=F.when(F.count("behind_records") == F.count("*"), F.format_number(F.sum("behind_records"), 0)),
        confidence=first_of((0.9, runs), otherwise=0.7),
        unsure=first_of(("A checkpoint directory does not show whether the job still runs; --flink-rest does.", ~runs)),
    )
