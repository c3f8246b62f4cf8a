"""RST406: Spark lost an executor, and the query failed of it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.aggregates import agreed, failures
from analyzers.finding import Severity
from analyzers.log_roles import SPARK_DRIVER
from analyzers.rule import FAILING, rule


@rule(
    "RST406",
    title="Spark executors are lost",
    cause="taskmanager-lost",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=SPARK_DRIVER,
    faults=("executor-lost", "executor-fetch"),
    says={
        "executor": "Shuffle data of a Spark executor[[ {executor}]] is gone, most likely with the executor: {what}; {failures} "
        "failure(s)[[ since {since} UTC]]",
        "": "Spark lost executor[[ {executor}]][[ on {host}]] while the query needed it: {what}; {failures} failure(s)[[ since {since} "
        "UTC]]",
    },
    fix="Look at the end of that executor's own log and at its container or node: killed for memory (then raise "
    "spark.executor.memoryOverhead), "
    "evicted or preempted (take streaming off spot nodes), or frozen by garbage collection (heartbeats missed: spark.executor.memory, "
    "smaller "
    "batches by maxOffsetsPerTrigger). The query restarts from its checkpoint once executors stay; raising spark.task.maxFailures only "
    "delays it.",
    missing="why it went away: [[{unnamed}]]the executor's log and the cluster manager's events have it",
    next_command="kubectl describe pod POD   # or yarn logs -containerId ID, or dmesg -T on its host: why the executor[[ {executor}]] went",
    needs=FAILING,
)
def executor_lost(faults: DataFrame) -> DataFrame:
    """Queries that failed of a lost executor; losses that Spark survived by itself are none."""
    named = r"(?:ExecutorLostFailure \(executor |Lost executor |Removing executor |Executor |executor )(\d+)\b"
    place = r"(?:Lost executor \S+ on |\(TID \d+\) \(|\(TID \d+, )([\w.-]+?)[:,\s]"
    rows = faults.withColumns(
        {
            "executor": F.nullif(F.regexp_extract("text", named, 1), F.lit("")),
            "on_host": F.nullif(F.regexp_extract("text", place, 1), F.lit("")),
        }
    )
    found = failures(rows, agreed("executor"), agreed("on_host", "host"))
    unnamed = F.when(F.col("executor").isNull(), F.lit("these lines do not name it; "))
    return found.withColumns({"unnamed": unnamed, "resource": F.col("executor"), "confidence": F.lit(0.67)})
