"""CKP311: no checkpoint is taken any longer, because a source has finished: what commits with checkpoints commits nothing more."""

from analyzers.vocabulary import (
    CRITICAL,
    JOBMANAGER,
    DataFrame,
    F,
    IfGiven,
    Window,
    beside,
    count,
    detail,
    event,
    found,
    greatest,
    has,
    newest,
    rule,
    seconds,
)  # fmt: skip

REFUSED = "checkpoint-with-finished-tasks"
KEY = "execution.checkpointing.checkpoints-after-tasks-finish.enabled"
_LIVES = ("job-state", "job-terminal", "job-suspended")


@rule(
    "CKP311", title="No checkpoint is taken since a source has finished", cause="barrier-unacknowledged", reason="tasks-finished",
    stage="checkpoint", severity=CRITICAL, logs_of=JOBMANAGER, needs=has(signature=(REFUSED,)),
    signatures=(REFUSED, *_LIVES, "checkpoint-completed", "task-transition", "configuration-property"),
    says="Flink has refused every checkpoint for {minutes} minute(s)[[, since {since} UTC]]: {tasks} finished[[ at {finished_at} UTC]] and "
    "checkpoints with finished tasks are off[[ ({key}: {value})]]. The job runs on, and nothing is committed[[ since checkpoint "
    "{checkpoint}]][[ of {completed_at} UTC]]: offsets stand still, exactly-once sinks keep their transactions open, and read_committed "
    "consumers see nothing new",
    next_command="kafka-transactions.sh --bootstrap-server HOST:PORT list",
)  # fmt: skip
def no_checkpoint_after_finish(
    log_events: DataFrame,
    jobs_seen: IfGiven,
    *,
    enough: int = 3,  # refusals; the last checkpoints of a job that is about to finish are refused, too
    lasting: int = 180,  # seconds: subtasks of one bounded source end within moments of another, then the job does
) -> DataFrame:
    """Per job, refusals that go on after its newest checkpoint and its newest change of state. Source: DefaultCheckpointPlanCalculator."""
    whole, refused = Window.partitionBy("scope", "job"), event(REFUSED)
    last = F.max(F.when(event("checkpoint-completed", *_LIVES), F.col("seq"))).over(whole)
    begun = F.max(F.when(event(*_LIVES), F.col("seq"))).over(whole)
    now = refused & F.coalesce(F.col("seq") > last, F.lit(True))
    first = F.min(F.when(now, F.col("seq"))).over(whole)
    ended = event("task-transition") & (F.col("to_state") == "FINISHED") & (F.col("seq") < first)
    ended = ended & F.coalesce(F.col("seq") > begun, F.lit(True))
    rows = log_events.withColumns({"_now": now, "_ended": F.coalesce(ended, F.lit(False))})
    names = F.sort_array(F.collect_set(F.when(F.col("_ended"), F.col("task"))))
    done = event("checkpoint-completed")
    per_job = found(
        rows, "job", of=F.col("_now"),
        refusals=count(F.col("_now")),
        finished_at=greatest("at", F.col("_ended")),
        checkpoint=F.max_by("checkpoint", F.when(done, F.col("seq"))),
        completed_at=greatest("at", done),
        _tasks=names,
    )  # fmt: skip
    lasts = (F.col("refusals") >= enough) & (seconds("since", "until") >= lasting)
    switch = log_events.where(event("configuration-property") & (detail("key") == KEY)).groupBy("scope")
    set_to = switch.agg(F.max_by(detail("value"), F.col("seq")).alias("value"))
    versions = jobs_seen.groupBy("scope", "job").agg(newest("engine_version", by="last_at").alias("_version"))
    task = F.when(F.size("_tasks") == 1, F.element_at("_tasks", 1))
    more = F.format_string(" and %d more tasks", F.size("_tasks") - 2)
    several = F.concat(F.array_join(F.slice("_tasks", 1, 2), ", "), F.when(F.size("_tasks") > 2, more).otherwise(""))
    return beside(per_job.where(lasts).join(set_to, "scope", "left"), versions, "job").withColumns(
        {
            "task": task,
            "tasks": F.when(F.size("_tasks") > 0, several).otherwise("a task"),
            "minutes": F.floor(seconds("since", "until") / 60).cast("long"),
            "key": F.lit(KEY),
        }
    )
