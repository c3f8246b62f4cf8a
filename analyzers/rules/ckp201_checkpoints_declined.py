"""CKP201: subtasks decline checkpoint after checkpoint."""

from analyzers.vocabulary import JOBMANAGER, WARNING, DataFrame, F, event, found, has, number_of, rule, said, the_task
from analyzers.vocabulary.checkpoints import in_order
from analyzers.vocabulary.subtasks import PLACED, named_executions

HARMLESS = (
    r"tasks not ready|task is closing|operators partially closed|Coordinator is suspending|Coordinator shutdown|has been subsumed|from "
    r"newer checkpoint|was canceled because|one input stream is finished|received cancellation from one of its inputs|CancellationException"
)
"""CheckpointFailureReason texts that belong to a start, an end or a failover."""
UNNAMED = "why: the JobManager of this version prints no cause; the log of the TaskManager that declined has it"


@rule(
    "CKP201", title="Checkpoints are declined again and again", stage="checkpoint", severity=WARNING, logs_of=JOBMANAGER,
    signatures=("checkpoint-declined", "checkpoint-completed", *PLACED), needs=has("enough", signature=("checkpoint-declined",)),
    says="{declined} checkpoint(s) were declined by subtasks and none has completed since[[, the first at {since} UTC]][[, by "
    "{task}]][[ {subtask_shown}]][[: {what}]]",
    missing="[[{unnamed}]]",
)  # fmt: skip
def checkpoints_declined(
    log_events: DataFrame,
    *,
    enough: int = 3,  # one or two belong to a failover
) -> DataFrame:
    """Jobs whose newest checkpoints were declined (CheckpointCoordinator.receiveDeclineMessage), not only around a failover."""
    harmless = F.rlike(F.coalesce("text", F.lit("")), F.lit(HARMLESS))
    done = log_events.where(event("checkpoint-completed")).groupBy("scope", "job").agg(F.max(in_order()).alias("_done"))
    declined = log_events.where(event("checkpoint-declined") & ~harmless).join(done, ["scope", "job"], "left")
    declined = declined.where(in_order() > F.coalesce("_done", F.lit(-1)))
    hidden = F.contains("root_exception", F.lit("SerializedThrowable"))
    per_job = found(
        declined.drop("task", "subtask", "parallelism").join(named_executions(log_events), ["scope", "execution"], "left"), "job",
        declined=number_of("checkpoint"),
        what=F.min_by(said(), F.when(F.col("root_exception").isNotNull(), in_order())),
        _exceptions=F.collect_set(F.when(~hidden, F.col("root_exception"))),
        **the_task(),
    )  # fmt: skip
    exception = F.when(F.size("_exceptions") == 1, F.col("_exceptions")[0])
    shown = {"unnamed": F.when(F.col("what").isNull(), UNNAMED), "exception": exception}
    return per_job.where(F.col("declined") >= enough).withColumns(shown)
