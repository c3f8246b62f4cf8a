"""RST401: a TaskManager was lost, and no line explains it."""

from analyzers.vocabulary import CRITICAL, FLINK, DataFrame, F, IfGiven, agreed, event, failures, first_of, has, rule, seconds
from analyzers.vocabulary.workers import VICTIMS, WENT_ON, lost_workers, with_recovery

AT_WORK = ("task-failed", "task-transition", "task-received", "node-request-timeout", "connection-failed", "checkpoint-storage")
"""Lines of a TaskManager that runs."""
_DIALLED = "Connecting to remote task (?:manager|executor)[\\s\\S]*(?:ConnectTimeoutException|connection timed out|No route to host)"
"""Nothing answers at the address, not even with a refusal: a dead process's host refuses."""
_COUNTED = f"{{failures}} failure(s)[[ since {{since}} UTC]]{WENT_ON}"


@rule(
    "RST401", title="A TaskManager was lost", cause="taskmanager-lost", stage="failure", severity=CRITICAL, logs_of=FLINK,
    signatures=("heartbeat-timeout-noted", *AT_WORK), faults=("heartbeat-lost", "connection-to-worker", "deploy-timeout", "quarantined"),
    says={
        "connection": f"The TaskManager[[ {{resource}}]][[ at {{address}}]] was lost, as other processes report: {{what}}; {_COUNTED}",
        "not-reached": "No other TaskManager reaches the data port of TaskManager[[ {resource}]][[ at {address}]]: {what}; "
        f"{_COUNTED}",
        "not-responding": f"A TaskManager is registered but does not answer when a task is deployed to it: {{what}}; {_COUNTED}",
        "quarantined": "Two processes of the cluster have quarantined each other[[ ({address})]]: they do not talk again until one of them "
        f"restarts; {{failures}} time(s)[[ since {{since}} UTC]]{WENT_ON}",
        "frozen": "TaskManager[[ {resource}]][[ on {host}]] was lost but had not died: {what}. Its own log is silent until {woke_at} UTC, "
        f"{{late_seconds}} s after the loss, when it reports missed heartbeats: it stood still for at least that long; {_COUNTED}",
        "": f"The TaskManager[[ {{resource}}]][[ on {{host}}]] was lost: {{what}}; {_COUNTED}",
    },
    missing={
        "not-reached": "what closes the port: network policies, security groups or firewalls between TaskManagers, and who changed them",
        "not-responding": "what that TaskManager did meanwhile: its own log, its GC log and its CPU show it",
        "quarantined": "what cut the two off: the logs of both and the network between them show it",
        "frozen": "what held the process: its GC log and the events of its container or host show it",
        "": "why it was lost: [[{unnamed}]]a killed process writes no last line; the log and events of its container or host show it",
    },
    next_command={
        "not-reached": "nc -vz -w 5 HOST PORT   # from another TaskManager[[, to {address}]]: the data port, not the RPC port",
        "not-responding": "jstack PID   # on the host of that TaskManager[[ ({resource})]]: what its threads do",
        "frozen": "cat /sys/fs/cgroup/cpu.stat   # in the container[[ of {resource}]]: nr_throttled; then dmesg -T on its host",
        "": "kubectl describe pod POD   # or yarn logs -containerId ID, or dmesg -T on its host: why the TaskManager[[ {resource}]] went",
    },
    needs=has(fatal=(True,)),
)  # fmt: skip
def worker_lost(
    faults: DataFrame,
    attempts: IfGiven,
    log_events: IfGiven,
    *,
    late: int = 15,  # seconds; both sides of a connection that broke miss their heartbeats within one interval (10 s)
    enough: int = 2,  # attempts: right after a loss one may still be told to read from the worker that is gone
    checkpoints: int = 3,  # as many after the loss prove that all tasks run again, the new worker's included
) -> DataFrame:
    """Heartbeat and connection losses per job that nothing explains (RST402, RST403 and RST405 do and win)."""
    found = failures(
        _with_waking(lost_workers(faults, attempts), log_events, late=late),
        F.max(F.struct("woke_at", "late_seconds")).alias("_woke"), F.max("attempt").alias("_last_attempt"),
        agreed("resource"), agreed("worker_host", "host"), agreed("address"),
        F.count_distinct(F.when(F.array_join(F.coalesce("chain", F.array()), " ").rlike(_DIALLED), F.col("attempt"))).alias("_dialled"),
    )  # fmt: skip
    named = F.coalesce("resource", "address").isNotNull()
    frozen = F.col("_woke.woke_at").isNotNull()
    return with_recovery(found, attempts, checkpoints=checkpoints).drop(*VICTIMS).withColumns(
        {
            "reason": first_of(("frozen", frozen), ("not-reached", F.col("_dialled") >= enough), otherwise=F.col("reason")),
            "unnamed": first_of(("these lines do not even name it; ", F.coalesce("resource", "address").isNull())),
            "woke_at": F.date_format("_woke.woke_at", "HH:mm:ss"),
            "late_seconds": F.col("_woke.late_seconds"),
            # wanted: that it is lost, which one it is, and why; the last is never known here
            "confidence": first_of((0.67, named), otherwise=0.33),
        }
    )  # fmt: skip


def _with_waking(lost: DataFrame, log_events: DataFrame, *, late: int) -> DataFrame:
    """`lost` with ``woke_at`` and ``late_seconds``: when the lost worker's own log reports, long after the loss, that it missed heartbeats.

    Null where that log has lines in between: a process that is cut off goes on, one that stands still logs nothing until it wakes.
    """
    own = log_events.where((F.col("role") == "taskmanager") & F.col("at").isNotNull() & F.col("host").isNotNull())
    lines = own.groupBy(F.col("scope").alias("_scope"), F.col("host").alias("_host")).agg(
        F.collect_set("at").alias("_lines"),
        F.sort_array(F.collect_set(F.when(event("heartbeat-timeout-noted"), F.col("at")))).alias("_noted"),
    )
    both = lost.join(lines, (F.col("scope") == F.col("_scope")) & (F.col("resource") == F.col("_host")), "left")
    woke = F.get(F.filter("_noted", lambda at: seconds("at", at) >= late), F.lit(0))
    # up to a second before that line: what its clients log on waking stands beside it
    between = F.exists("_lines", lambda at: (seconds("at", at) > -late) & (seconds(at, woke) > 1))
    frozen = F.when(~between, woke)
    return both.withColumns({"woke_at": frozen, "late_seconds": F.round(seconds("at", frozen)).cast("long")})
