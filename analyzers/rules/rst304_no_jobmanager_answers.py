"""RST304: TaskManagers have no JobManager: they cancel the tasks of a job, or end themselves."""

from analyzers.vocabulary import CRITICAL, FLINK, TASKMANAGER, DataFrame, F, event, failures, first_of, greatest, rule, some
from analyzers.vocabulary.quick_looks import is_failure

_ENDS = ("entrypoint-fatal", "uncaught-fatal", "process-terminating", "out-of-memory-exit", "yarn-master-failed", "signal-received",
         "process-stop-requested")  # fmt: skip
"""Lines with which a JobManager ends: RST303 and the deployment report them."""
_LOST = "{workers} TaskManager(s) lost the JobManager of the job and cancelled its tasks[[ at {since} UTC]]: {what}."


@rule(
    "RST304", title="TaskManagers find no JobManager", stage="failure", severity=CRITICAL, cause="jobmanager-lost", logs_of=FLINK,
    faults=("jobmanager-heartbeat", "leadership-lost"), signatures=("job-connection", *_ENDS),
    needs=some(lambda fault: is_failure(fault) and fault["role"] in TASKMANAGER),
    says={
        "not-answering": "{workers} TaskManager(s) shut down because no JobManager answered: {what}[[; first at {since} UTC]]",
        "log-ends": "The JobManager stopped responding: its log ends at {since} UTC with no shutdown message, and at {lost_at} UTC "
        "{workers} TaskManager(s) cancelled the job's tasks: {what}. By the end of these logs no JobManager had taken the job over",
        "taken-over": f"{_LOST} It has passed: a JobManager had the job again by {{served_at}} UTC",
        "": f"{_LOST} By the end of these logs no JobManager had taken the job over",
    },
    missing={
        "taken-over": "what became of the first one: these logs do not show it",
        "log-ends": "what ended the JobManager: its log does not show it; the orchestrator and the kernel's log of its host do",
        "": "why the JobManager does not answer: its log is not among these",
    },
)  # fmt: skip
def no_jobmanager_answers(faults: DataFrame, log_events: DataFrame, log_files: DataFrame) -> DataFrame:
    """Per job the TaskManagers that lost its JobManager, and those that ended themselves; only a note where another took it over.

    A JobManager's log that is at hand must end before, without a line of an end. Source: Flink's TaskExecutor (JobLeaderListener,
    JobManagerHeartbeatListener, RegistrationTimeout).
    """
    unregistered = F.coalesce("root_message", F.lit("")).contains("Could not register at the ResourceManager")
    workers = F.size(F.collect_set("file")).alias("workers")
    gone = failures(faults.where(F.col("role") == "taskmanager"), workers, F.max(unregistered).alias("_ended"))
    served = log_events.groupBy("scope", "job").agg(greatest("at", event("job-connection")).alias("served_at"))
    own = F.col("role") == "jobmanager"
    log_end = log_files.where(own).groupBy("scope").agg(F.max("last_at").alias("_log_end"), F.lit(True).alias("_has_log"))
    last_line = log_events.where(event(*_ENDS) & own).select("scope", F.lit(True).alias("_shows_end")).distinct()
    known = gone.join(served, ["scope", "job"], "left").join(log_end, "scope", "left").join(last_line, "scope", "left")
    no_end = F.col("_shows_end").isNull()
    silent = F.coalesce((F.col("_log_end") < F.col("since")) & no_end, F.lit(False))
    passed = F.coalesce(F.col("served_at") > F.col("until"), F.lit(False)) & ~F.col("_ended")
    shown = known.where(F.col("_has_log").isNull() | silent | (passed & no_end)).drop("task", "subtask", "parallelism")
    return shown.withColumns(
        {
            "reason": first_of(
                ("taken-over", passed), ("log-ends", silent), ("not-answering", F.col("_ended")), otherwise="connection-lost"
            ),
            "cause": F.when(~passed, "jobmanager-lost"),
            "severity": F.when(passed, "info").otherwise("critical"),
            "lost_at": F.col("since"),
            "since": F.when(silent & ~passed, F.col("_log_end")).otherwise(F.col("since")),
            "confidence": F.when(silent, 0.85).otherwise(0.7),  # wanted: a line of the JobManager, or of its orchestrator
        }
    )
