"""RST401: a TaskManager was lost and nothing says why."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import FLINK
from analyzers.vocabulary.aggregates import agreed, failures, seconds
from analyzers.vocabulary.rule import has, rule
from analyzers.vocabulary.workers import lost_workers, with_recovery

AT_WORK = ("task-failed", "task-transition", "task-received", "node-request-timeout", "connection-failed", "checkpoint-storage")
"""Lines of a TaskManager that lives."""


@rule(
    "RST401",
    title="A TaskManager was lost",
    cause="taskmanager-lost",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=FLINK,
    signatures=("heartbeat-timeout-noted", *AT_WORK),
    faults=("heartbeat-lost", "connection-to-worker", "deploy-timeout", "quarantined"),
    says={
        "connection": "The TaskManager[[ {resource}]][[ at {address}]] was lost, say its neighbours: {what}; {failures} failure(s)"
        "[[ since {since} UTC]][[. The job came back and completed {checkpoints_since} checkpoints since]][[. {other_since} later "
        "attempts failed of something else]]",
        "not-responding": "A TaskManager is registered but does not answer when a task is deployed to it: {what}; {failures} failure(s)"
        "[[ since {since} UTC]][[. The job came back and completed {checkpoints_since} checkpoints since]][[. {other_since} later "
        "attempts failed of something else]]",
        "quarantined": "Two processes of the cluster have quarantined each other[[ ({address})]]: they never talk again until one "
        "restarts; "
        "{failures} time(s)[[ since {since} UTC]][[. The job came back and completed {checkpoints_since} checkpoints since]][[. "
        "{other_since} later attempts failed of something else]]",
        "frozen": "TaskManager[[ {resource}]][[ on {worker_host}]] was lost and was not dead: {what}; its own log is silent before and "
        "says only at {woke_at} UTC, {late_seconds} s later, that it missed heartbeats itself: it stood still for at least as long; "
        "{failures} failure(s)[[ since {since} UTC]][[. The job came back and completed {checkpoints_since} checkpoints since]][[. "
        "{other_since} later attempts failed of something else]]",
        "": "TaskManager[[ {resource}]][[ on {worker_host}]] was lost: {what}; {failures} failure(s)[[ since {since} UTC]]"
        "[[. The job came back and completed {checkpoints_since} checkpoints since]][[. {other_since} later attempts failed of something "
        "else]]",
    },
    missing={
        "frozen": "what held it: its GC log, the events of its container or host have it",
        "": "why it went away: [[{unnamed}]]a killed process writes no last line; the log and events of its container or host have it",
    },
    next_command={
        "not-responding": "jstack PID   # on the host of that TaskManager[[ ({resource})]]: what its threads do",
        "frozen": "cat /sys/fs/cgroup/cpu.stat   # in the container[[ of {resource}]]: nr_throttled; then dmesg -T on its host",
        "": "kubectl describe pod POD   # or yarn logs -containerId ID, or dmesg -T on its host: why the TaskManager[[ {resource}]] went",
    },
    needs=has(fatal=(True,)),
)
def worker_lost(
    faults: DataFrame,
    attempts: DataFrame | None,
    log_events: DataFrame | None,
    *,
    late: int = 15,  # seconds; both sides of a connection that broke miss their heartbeats within one interval (10 s)
    checkpoints: int = 3,  # as many after the loss prove that all tasks run again, the new worker's included
) -> DataFrame:
    """Heartbeat and connection losses per job, where nothing tells why (RST402, RST403 and RST405 do and win)."""
    rows = lost_workers(faults, attempts)
    rows = _with_waking(rows, log_events, late=late)
    woke = (F.max("woke_at").alias("woke_at"), F.max_by("late_seconds", "woke_at").alias("late_seconds"))
    found = failures(rows, *woke, agreed("resource"), agreed("worker_host"), agreed("address"), F.max("attempt").alias("last_attempt"))
    seen = with_recovery(found, attempts, checkpoints=checkpoints)
    unnamed = F.when(F.col("resource").isNull() & F.col("address").isNull(), F.lit("these lines do not even name it; "))
    frozen = F.col("woke_at").isNotNull()
    return seen.drop("task", "subtask", "parallelism").withColumns(  # its tasks are victims
        {
            "unnamed": unnamed,
            "reason": F.when(frozen, F.lit("frozen")).otherwise(F.col("reason")),
            "woke_at": F.date_format("woke_at", "HH:mm:ss"),
            "host": F.col("worker_host"),
            # wanted: that it is lost, who it is, and why; the last is never known here
            "confidence": F.when(F.coalesce("resource", "address").isNotNull(), F.lit(0.67)).otherwise(F.lit(0.33)),
        }
    )


def _with_waking(lost: DataFrame, log_events: DataFrame | None, *, late: int) -> DataFrame:
    """`lost` with ``woke_at`` and ``late_seconds``: when the lost worker's own log noted long after the loss that it missed heartbeats.

    Null where that log says anything between: a process that is cut off goes on, one that stands still says nothing until it wakes.
    """
    if log_events is None:
        return lost.withColumns({"woke_at": F.lit(None).cast("timestamp"), "late_seconds": F.lit(None).cast("long")})
    own = log_events.where((F.col("role") == "taskmanager") & F.col("at").isNotNull() & F.col("host").isNotNull())
    noted = F.col("signature") == "heartbeat-timeout-noted"
    lines = own.groupBy(F.col("scope").alias("_scope"), F.col("host").alias("_host")).agg(
        F.sort_array(F.collect_set("at")).alias("_said"), F.sort_array(F.collect_set(F.when(noted, F.col("at")))).alias("_noted")
    )
    mine = (F.col("scope") == F.col("_scope")) & (F.col("resource") == F.col("_host"))
    both = lost.join(lines, mine, "left")
    woke = F.get(F.filter("_noted", lambda at: seconds("at", at) >= late), F.lit(0))
    # a second before it notes: what its clients say on waking stands beside
    between = F.exists("_said", lambda at: (seconds("at", at) > -late) & (seconds(at, woke) > 1))
    frozen = F.when(~between, woke)
    return both.withColumns({"woke_at": frozen, "late_seconds": F.round(seconds("at", frozen)).cast("long")}).drop(
        "_scope", "_host", "_said", "_noted"
    )
