"""RST304: TaskManagers have no JobManager: they give up the tasks of a job, or end themselves."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import FLINK
from analyzers.vocabulary.aggregates import failures
from analyzers.vocabulary.rule import FAILING, rule

_ENDS = ("entrypoint-fatal", "uncaught-fatal", "process-terminating", "out-of-memory-exit", "yarn-master-failed", "signal-received",
         "process-stop-requested")  # fmt: skip
"""Lines with which a JobManager ends: RST303 and the deployment tell of it."""


@rule(
    "RST304",
    title="TaskManagers find no JobManager",
    cause="jobmanager-lost",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=FLINK,
    faults=("jobmanager-heartbeat", "leadership-lost"),
    signatures=("job-connection", *_ENDS),
    says={
        "not-answering": "{workers} TaskManager(s) ended themselves because no JobManager answered: {what}[[; first at {since} UTC]]",
        "log-ends": "The JobManager answers no more: its log ends at {since} UTC without a word, and at {lost_at} UTC {workers} "
        "TaskManager(s) gave up the job's tasks: {what}. By the end of these logs no JobManager had taken the job over",
        "taken-over": "{workers} TaskManager(s) lost the JobManager of the job and gave up its tasks[[ at {since} UTC]]: {what}. It has "
        "passed: a JobManager had the job again by {served} UTC",
        "": "{workers} TaskManager(s) lost the JobManager of the job and gave up its tasks[[ at {since} UTC]]: {what}. By the end of these "
        "logs no JobManager had taken the job over",
    },
    missing={
        "taken-over": "what became of the first one: these logs do not say it",
        "log-ends": "what ended the JobManager: its log says nothing of it; the orchestrator and the kernel's log of its host do",
        "": "why the JobManager does not answer: its log is not among these",
    },
    needs=FAILING,
)
def no_jobmanager_answers(faults: DataFrame, log_events: DataFrame, log_files: DataFrame) -> DataFrame:
    """Per job the TaskManagers that lost its JobManager, and those that ended themselves for want of one; a word
    only where one took it over.

    A JobManager's log that is at hand must end before, without a line of an end. Source: Flink's TaskExecutor (JobLeaderListener,
    JobManagerHeartbeatListener, RegistrationTimeout).
    """
    gone = faults.where(F.col("role") == "taskmanager")
    ended = F.contains(F.coalesce("root_message", F.lit("")), F.lit("Could not register at the ResourceManager"))
    workers = F.array_distinct(F.collect_list("file"))
    found = failures(gone, F.size(workers).alias("workers"), F.max(ended).alias("ended"))
    served = log_events.where(F.col("signature") == "job-connection").groupBy("scope", "job").agg(F.max("at").alias("served_at"))
    own = log_files.where(F.col("role") == "jobmanager").groupBy("scope").agg(F.max("last_at").alias("log_end"))
    told = log_events.where(F.col("signature").isin(*_ENDS) & (F.col("role") == "jobmanager")).select("scope").distinct()
    beside = (
        found.join(served, ["scope", "job"], "left")
        .join(own.withColumn("has_log", F.lit(True)), "scope", "left")
        .join(told.withColumn("told", F.lit(True)), "scope", "left")
    )
    alone = F.col("has_log").isNull()
    silent = (F.col("log_end") < F.col("since")) & F.col("told").isNull()
    taken_over = F.coalesce(F.col("served_at") > F.col("until"), F.lit(False))
    reason = F.when(silent, F.lit("log-ends")).when(F.col("ended"), F.lit("not-answering")).otherwise(F.lit("connection-lost"))
    passed = taken_over & ~F.col("ended")
    return (
        beside.where(alone | silent | (passed & F.col("told").isNull()))
        .withColumns(
            {
                "reason": F.when(passed, F.lit("taken-over")).otherwise(reason),
                "cause": F.when(~passed, F.lit("jobmanager-lost")),
                "severity": F.when(passed, F.lit("info")).otherwise(F.lit("critical")),
                "served": F.date_format("served_at", "yyyy-MM-dd HH:mm:ss"),
                "lost_at": F.date_format("since", "yyyy-MM-dd HH:mm:ss"),
                "since": F.when(silent & ~passed, F.col("log_end")).otherwise(F.col("since")),
                "confidence": F.when(silent, 0.85).otherwise(0.7),  # wanted: the word of the JobManager, or of its orchestrator
            }
        )
        .drop("task", "subtask", "parallelism", "ended", "log_end", "served_at", "has_log", "told")
    )
