"""CKP102: checkpoints expire, and their acknowledgements come later: subtasks are slow, not stuck."""

from analyzers.vocabulary import CRITICAL, JOBMANAGER, DataFrame, F, count, detail, distinct, event, found, has, number_of, rule, the_task
from analyzers.vocabulary.checkpoints import how_many_expired
from analyzers.vocabulary.subtasks import PLACED, named_executions, subtask_name

UNNAMED = (
    "the names of the late subtasks: the lines give execution ids only; the JobManager's log from the job's start or the REST API has them"
)


@rule(
    "CKP102", title="Checkpoints are acknowledged after their timeout", cause="barrier-unacknowledged", stage="checkpoint",
    severity=CRITICAL, reason="slow", logs_of=JOBMANAGER, signatures=("checkpoint-late-ack", "checkpoint-ack-refused", *PLACED),
    says="{how_many} expired[[ after {timeout_seconds} s each]], and {late} expired checkpoint(s) were acknowledged later"
    "[[, by {late_subtasks}]]: these subtasks are slow, not stuck[[ (since {since} UTC)]]",
    missing="[[{unnamed}]]",
    next_command="diag checkpoint-inspect --flink-rest http://JOBMANAGER:8081 --job {job}   # who is late, and in which phase",
    needs=has(signature=("checkpoint-late-ack", "checkpoint-ack-refused"), at_least="enough"),
)  # fmt: skip
def acknowledged_too_late(
    log_events: DataFrame,
    checkpoint_expiries: DataFrame,
    *,
    enough: int = 2,  # one late acknowledgement follows every single expired checkpoint
) -> DataFrame:
    """Jobs with several expired checkpoints that were acknowledged late (CheckpointCoordinator.receiveAcknowledgeMessage)."""
    discarded = F.contains(F.coalesce(detail("because"), F.lit("")), F.lit("discarded"))
    late = log_events.where(event("checkpoint-late-ack") | (event("checkpoint-ack-refused") & discarded))
    late = late.drop("task", "subtask", "parallelism").join(named_executions(log_events), ["scope", "execution"], "left")
    per_job = found(
        late, "job",
        late=number_of("checkpoint"),
        late_subtasks=distinct(subtask_name(F.col("task"), F.col("subtask"), F.col("parallelism")), "late_subtasks"),
        **the_task(),
        _nameless=count(F.col("task").isNull()),
    )  # fmt: skip
    both = per_job.drop("since", "until").join(checkpoint_expiries, ["scope", "job"])
    all_named = F.col("_nameless") == 0
    return both.where((F.col("late") >= enough) & (F.col("expired") >= enough) & F.col("still")).withColumns(
        {
            "how_many": how_many_expired(),
            "task": F.when(all_named, F.col("task")),
            "subtask": F.when(all_named, F.col("subtask")),
            "unnamed": F.when(F.col("late_subtasks").isNull(), UNNAMED),
            "fault_ids": F.array(F.lit("tolerance-expired")),
            # wanted: three expiries, a late acknowledgement, its subtask's name
            "confidence": (F.least("expired", F.lit(3)) + F.lit(1) + F.col("late_subtasks").isNotNull().cast("int")) / 5,
        }
    )
