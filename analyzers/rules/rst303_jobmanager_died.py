"""RST303: the JobManager's process died."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import JOBMANAGER
from analyzers.vocabulary.aggregates import agreed, said
from analyzers.vocabulary.checkpoints import in_order
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule

DEATHS = ("entrypoint-fatal", "uncaught-fatal", "process-terminating", "out-of-memory-exit", "yarn-master-failed")
BY_THE_JOB = ("0", "1", "1443", "1445", "130", "143")
"""Exit codes of an end that was wanted, of a job that failed, of a process that could not start (ApplicationStatus, ClusterEntrypoint)."""
OTHER_CAUSES = ("checkpoint-storage", "broker-unreachable", "external-system", "poison-record", "barrier-unacknowledged", "offset-reset")

_UNREADABLE = "Could not retrieve submitted (?:ExecutionPlan|JobGraph) from state handle|retrieved state handle is broken"


@rule(
    "RST303",
    title="The JobManager's process died",
    cause="jobmanager-lost",
    stage="failure",
    severity=Severity.CRITICAL,
    logs_of=JOBMANAGER,
    signatures=("job-state", "job-restored", "flink-banner", *DEATHS),
    says={
        "out-of-memory": "The JobManager's process ran out of memory and died ({times} time(s)[[, first at {since} UTC]]): {what}",
        "exit-code": "The JobManager's process ended with exit code {exit_code} ({times} time(s)[[, first at {since} UTC]])[[: {killed}]]",
        "zookeeper": "The JobManager gave ZooKeeper up and ended its own process ({times} time(s)[[, first at {since} UTC]]): {what}",
        "recovery-data": "The JobManager's process ends while it takes the jobs over, because it cannot read what high availability "
        "kept of one ({times} time(s)[[, first at {since} UTC]]): {what}",
        "": "A fatal error ended the JobManager's process ({times} time(s)[[, first at {since} UTC]]): {what}",
    },
    missing="[[{unnamed}]]",
    next_command="kubectl logs --previous POD   # or jobmanager.out, or dmesg -T on its host: the last words of the process",
    needs=has(signature=DEATHS),
)
def jobmanager_died(
    log_events: DataFrame,
    faults: DataFrame | None,
    *,
    enough: int = 3,  # with high availability, one or two deaths are taken over without harm
) -> DataFrame:
    """Per scope, fatal ends of JobManagers; a warning where a new one took the job over from a checkpoint."""
    deaths = log_events.where(_is_death())
    if faults is not None:  # an end that another rule explains
        explained = (
            faults.where(F.col("cause").isin(*OTHER_CAUSES) | (F.col("fault") == "told-to-end")).select("scope", "file", "line").distinct()
        )
        deaths = deaths.join(explained, ["scope", "file", "line"], "left_anti")
    oom = F.contains(F.coalesce("text", F.lit("")), F.lit("OutOfMemoryError"))
    zookeeper = F.rlike("text", F.lit(r"Unhandled error in ZooKeeper|zookeeper\.KeeperException|curator\.\w*ConnectionLoss"))
    exit_code = F.col("detail")["exit_code"].cast("long")
    minute = F.coalesce(F.floor(F.unix_seconds("at") / 60), F.col("line"))  # several lines tell one death
    told = F.when(F.col("signature") != "process-terminating", said())
    per_scope = deaths.groupBy("scope").agg(
        F.countDistinct(minute).alias("times"),
        F.count_if(oom).alias("oom"),
        F.count_if(F.coalesce(zookeeper, F.lit(False))).alias("zookeeper"),
        F.count_if(F.rlike(F.coalesce("text", F.lit("")), F.lit(_UNREADABLE))).alias("unreadable"),
        F.count_if(F.col("signature").isin("entrypoint-fatal", "uncaught-fatal")).alias("fatal"),
        agreed(exit_code, "exit_code"),
        agreed("root_exception", "exception"),
        F.when(F.min("job") == F.max("job"), F.max("job")).alias("job"),
        F.min_by(told, F.when(told.isNotNull(), in_order())).alias("what"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        F.max(in_order()).alias("last_death"),
        exemplars(),
    )
    restored = log_events.where(F.col("signature") == "job-restored").groupBy("scope").agg(F.max(in_order()).alias("restored"))
    reason = (
        F.when(F.col("oom") > 0, F.lit("out-of-memory"))
        .when(F.col("zookeeper") > 0, F.lit("zookeeper"))
        .when(F.col("unreadable") > 0, F.lit("recovery-data"))
        .when(F.col("fatal") > 0, F.lit("fatal-error"))
        .otherwise(F.lit("exit-code"))
    )
    taken_over = F.coalesce(F.col("restored") > F.col("last_death"), F.lit(False)) & (F.col("times") < enough)
    killed = F.when(F.col("exit_code") == 137, F.lit("killed (SIGKILL), mostly for memory")).when(
        F.col("exit_code") == 239, F.lit("an uncaught exception")
    )
    unnamed = F.lit(
        "why it ended: the lines give no exception; its .out file, the kernel's log and the orchestrator (kubectl describe "
        "pod, yarn logs) do"
    )
    return (
        per_scope.join(restored, "scope", "left")
        .withColumns(
            {
                "reason": reason,
                "severity": F.when(taken_over, F.lit("warning")).otherwise(F.lit("critical")),
                "killed": killed,
                "unnamed": F.when(reason == "exit-code", unnamed),
                "what": F.coalesce("what", F.lit("the lines do not say of what")),
            }
        )
        .drop("oom", "zookeeper", "fatal", "last_death", "restored")
    )


def _is_death() -> Column:
    text, component = F.coalesce("text", F.lit("")), F.coalesce(F.col("detail")["component"], F.lit(""))
    by_master = F.coalesce(F.col("role") == "jobmanager", F.lit(False))
    code = F.col("detail")["exit_code"]
    return (
        ((F.col("signature") == "entrypoint-fatal") & F.contains(text, F.lit("Fatal error occurred")))
        | (F.col("signature").isin("uncaught-fatal", "out-of-memory-exit") & by_master)
        | ((F.col("signature") == "process-terminating") & F.rlike(component, F.lit("ClusterEntry[Pp]oint")) & ~code.isin(*BY_THE_JOB))
        | ((F.col("signature") == "yarn-master-failed") & (code != "0"))
    )
