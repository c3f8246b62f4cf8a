"""RST406: Spark lost an executor, and the query failed because of it."""

from analyzers.vocabulary import (
    CRITICAL,
    FAILING,
    SPARK_DRIVER,
    DataFrame,
    F,
    IfGiven,
    agreed,
    beside,
    detail,
    failures,
    first_of,
    number_of,
    rule,
)
from analyzers.vocabulary.aggregates import seconds

_NAMED = r"(?:ExecutorLostFailure \(executor |Lost executor |Removing executor |Executor |executor )(\d+)\b"
_PLACE = r"(?:Lost executor \S+ on |\(TID \d+\) \(|\(TID \d+, )([\w.-]+?)[:,\s]"
_COUNTED = "{what}; {failures} failure(s)[[ since {since} UTC]]"


@rule(
    "RST406", title="Spark executors are lost", cause="taskmanager-lost", stage="failure", severity=CRITICAL, logs_of=SPARK_DRIVER,
    faults=("executor-lost", "executor-fetch"), signatures=("executor-lost",),
    says={
        "executor": f"Shuffle data of a Spark executor[[ {{executor}}]] is gone, most likely with the executor: {_COUNTED}",
        "silent-together": "Spark's driver missed the heartbeats of {lost} executors[[ on {hosts} hosts]], all within {span} s"
        "[[ at {since} UTC]]: {what}",
        "": f"Spark lost executor[[ {{executor}}]][[ on {{host}}]] while the query needed it: {_COUNTED}",
    },
    inferred={
        "silent-together": "Executors that fall silent at one moment did not each stand still: the driver did, or its network.",
    },
    missing={
        "silent-together": "what the driver did meanwhile: its GC log and the metrics of its host show it",
        "": "why it was lost: [[{unnamed}]]the executor's log and the cluster manager's events show it",
    },
    next_command={
        "silent-together": "jstat -gcutil DRIVER_PID 1000   # or kubectl top pod DRIVER: whether the driver is short of memory or CPU",
        "": "kubectl describe pod POD   # or yarn logs -containerId ID, or dmesg -T on its host: why the executor[[ {executor}]] was lost",
    },
    needs=FAILING,
)  # fmt: skip
def executor_lost(
    faults: DataFrame,
    log_events: IfGiven,
    *,
    together: int = 3,  # executors; two may share what killed them
    within: int = 5,  # seconds; the driver looks for silent executors at one moment
) -> DataFrame:
    """Queries that failed because of a lost executor; not losses that Spark survived by itself. Source: Spark's HeartbeatReceiver."""
    executor, on_host = (F.nullif(F.regexp_extract("text", pattern, 1), F.lit("")) for pattern in (_NAMED, _PLACE))
    rows = faults.withColumns({"executor": executor, "_on_host": on_host})
    silent = F.contains("text", F.lit("heartbeat timed out"))
    losses = log_events.groupBy("scope", "job").agg(
        number_of("resource").alias("_known"),
        number_of(F.when(silent, F.col("resource"))).alias("lost"),
        number_of(F.when(silent, detail("named_host"))).alias("_hosts"),
        F.round(seconds(F.min(F.when(silent, F.col("at"))), F.max(F.when(silent, F.col("at"))))).cast("long").alias("span"),
    )
    found = beside(failures(rows, agreed("executor"), agreed("_on_host", "host")), losses, "job")
    # what scheduler and tasks log about one loss counts once, and the same words of the next loss count with it
    one = (F.coalesce("_known", F.lit(1)) <= 1) | ~F.contains("what", F.lit("Lost executor "))
    at_once = F.coalesce((F.col("lost") >= together) & (F.col("span") <= within) & (F.col("lost") == F.col("_known")), F.lit(False))
    return found.withColumns({name: F.when(one, F.col(name)) for name in ("executor", "host")}).withColumns(
        {
            "reason": first_of(("silent-together", at_once), otherwise=F.col("reason")),
            "unnamed": first_of(("these lines do not name it; ", F.col("executor").isNull() & one)),
            "resource": F.col("executor"),
            "confidence": F.lit(0.67),
            "hosts": F.when(F.col("_hosts") > 1, F.col("_hosts")),
        }
    )
