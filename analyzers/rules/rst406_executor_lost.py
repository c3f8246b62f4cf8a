"""RST406: Spark lost an executor, and the query failed of it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import SPARK_DRIVER
from analyzers.vocabulary.aggregates import agreed, failures, seconds
from analyzers.vocabulary.findings import beside
from analyzers.vocabulary.rule import FAILING, rule


@rule(
    "RST406",
    title="Spark executors are lost",
    cause="taskmanager-lost",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=SPARK_DRIVER,
    faults=("executor-lost", "executor-fetch"),
    signatures=("executor-lost",),
    says={
        "executor": "Shuffle data of a Spark executor[[ {executor}]] is gone, most likely with the executor: {what}; {failures} "
        "failure(s)[[ since {since} UTC]]",
        "silent-together": "Spark's driver no longer heard {lost} executors[[ on {hosts} hosts]], all within {span} s[[ at {since} UTC]]: "
        "{what}",
        "": "Spark lost executor[[ {executor}]][[ on {host}]] while the query needed it: {what}; {failures} failure(s)[[ since {since} "
        "UTC]]",
    },
    inferred="[[{assumed}]]",
    missing={
        "silent-together": "what the driver did meanwhile: its GC log and the metrics of its host have it",
        "": "why it went away: [[{unnamed}]]the executor's log and the cluster manager's events have it",
    },
    next_command={
        "silent-together": "jstat -gcutil DRIVER_PID 1000   # or kubectl top pod DRIVER: whether the driver is short of memory or CPU",
        "": "kubectl describe pod POD   # or yarn logs -containerId ID, or dmesg -T on its host: why the executor[[ {executor}]] went",
    },
    needs=FAILING,
)
def executor_lost(
    faults: DataFrame,
    log_events: DataFrame | None,
    *,
    together: int = 3,  # executors; two may share what killed them
    within: int = 5,  # seconds; the driver looks for silent executors at one moment
) -> DataFrame:
    """Queries that failed of a lost executor; losses that Spark survived by itself are none. Source: Spark's HeartbeatReceiver."""
    named = r"(?:ExecutorLostFailure \(executor |Lost executor |Removing executor |Executor |executor )(\d+)\b"
    place = r"(?:Lost executor \S+ on |\(TID \d+\) \(|\(TID \d+, )([\w.-]+?)[:,\s]"
    rows = faults.withColumns(
        {
            "executor": F.nullif(F.regexp_extract("text", named, 1), F.lit("")),
            "on_host": F.nullif(F.regexp_extract("text", place, 1), F.lit("")),
        }
    )
    found = failures(rows, agreed("executor"), agreed("on_host", "host"))
    if log_events is not None:
        found = beside(found, _lost(log_events), "job")
    else:
        found = found.withColumns({name: F.lit(None).cast("long") for name in ("known", "lost", "hosts", "span")})
    # what scheduler and tasks say of one loss is told once, and the same words of the next loss count with it
    one = (F.coalesce("known", F.lit(1)) <= 1) | ~F.contains("what", F.lit("Lost executor "))
    found = found.withColumns({name: F.when(one, F.col(name)) for name in ("executor", "host")})
    silent = F.coalesce((F.col("lost") >= together) & (F.col("span") <= within) & (F.col("lost") == F.col("known")), F.lit(False))
    unnamed = F.when(F.col("executor").isNull() & one, F.lit("these lines do not name it; "))
    assumed = F.lit("So many that fall silent at one moment have not stood still each for itself: the driver has, or its network.")
    return found.withColumns(
        {
            "reason": F.when(silent, F.lit("silent-together")).otherwise(F.col("reason")),
            "assumed": F.when(silent, assumed),
            "unnamed": unnamed,
            "resource": F.col("executor"),
            "confidence": F.lit(0.67),
            "hosts": F.when(F.col("hosts") > 1, F.col("hosts")),
        }
    ).drop("known")


def _lost(log_events: DataFrame) -> DataFrame:
    """Per job: how many executors were lost (known), how many of them by their heartbeat, on how many hosts, within how many seconds."""
    silent = F.contains("text", F.lit("heartbeat timed out"))
    return log_events.groupBy("scope", "job").agg(
        F.countDistinct("resource").alias("known"),
        F.countDistinct(F.when(silent, F.col("resource"))).alias("lost"),
        F.countDistinct(F.when(silent, F.col("detail")["named_host"])).alias("hosts"),
        F.round(seconds(F.min(F.when(silent, F.col("at"))), F.max(F.when(silent, F.col("at"))))).cast("long").alias("span"),
    )
