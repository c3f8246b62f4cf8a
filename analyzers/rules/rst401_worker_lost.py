"""RST401: a TaskManager was lost and nothing says why."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.aggregates import agreed, failures
from analyzers.finding import Severity
from analyzers.log_roles import FLINK
from analyzers.rule import has, rule
from analyzers.worker_life import lost_workers, with_recovery


@rule(
    "RST401",
    title="A TaskManager was lost",
    cause="taskmanager-lost",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=FLINK,
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
        "": "TaskManager[[ {resource}]][[ on {worker_host}]] was lost: {what}; {failures} failure(s)[[ since {since} UTC]]"
        "[[. The job came back and completed {checkpoints_since} checkpoints since]][[. {other_since} later attempts failed of something "
        "else]]",
    },
    fix={
        "not-responding": "Look at that TaskManager's own log and CPU: it is overloaded, in a long garbage collection, or its RPC port "
        "is "
        "blocked. If its log says that a message was too large, raise akka.framesize / pekko.framesize. Replace the process if it stays "
        "silent.",
        "quarantined": "Restart the TaskManager that is named (only a new process may join again), then find what cut them off: a pause "
        "longer "
        "than the heartbeat time-out, or the network between them.",
        "": "Find out why the process went: the last lines of that TaskManager's own log, then its container or host (kubectl describe "
        "pod, "
        "yarn logs -containerId, dmesg): killed for memory, evicted, host gone, or a pause longer than heartbeat.timeout (50 s by "
        "default). "
        "Check that a replacement registered; without free slots the job keeps waiting. Raising heartbeat.timeout only hides a pause.",
    },
    missing="why it went away: [[{unnamed}]]a killed process writes no last line; the log and events of its container or host have it",
    next_command={
        "not-responding": "jstack PID   # on the host of that TaskManager[[ ({resource})]]: what its threads do",
        "": "kubectl describe pod POD   # or yarn logs -containerId ID, or dmesg -T on its host: why the TaskManager[[ {resource}]] went",
    },
    needs=has(fatal=(True,)),
)
def worker_lost(
    faults: DataFrame,
    attempts: DataFrame | None,
    *,
    checkpoints: int = 3,  # as many after the loss prove that all tasks run again, the new worker's included
) -> DataFrame:
    """Heartbeat and connection losses per job, where nothing tells why (RST402, RST403 and RST405 do and win)."""
    rows = lost_workers(faults, attempts)
    found = failures(rows, agreed("resource"), agreed("worker_host"), agreed("address"), F.max("attempt").alias("last_attempt"))
    seen = with_recovery(found, attempts, checkpoints=checkpoints)
    unnamed = F.when(F.col("resource").isNull() & F.col("address").isNull(), F.lit("these lines do not even name it; "))
    return seen.drop("task", "subtask", "parallelism").withColumns(  # its tasks are victims
        {
            "unnamed": unnamed,
            "host": F.col("worker_host"),
            # wanted: that it is lost, who it is, and why; the last is never known here
            "confidence": F.when(F.coalesce("resource", "address").isNotNull(), F.lit(0.67)).otherwise(F.lit(0.33)),
        }
    )
