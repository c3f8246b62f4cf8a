"""RST408: a TaskManager ended itself because of an error."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import TASKMANAGER
from analyzers.vocabulary.aggregates import agreed, said
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule

TOLD_ELSEWHERE = "OutOfMemoryError|RegistrationTimeoutException|Could not register at the ResourceManager"


@rule(
    "RST408",
    title="A TaskManager ended itself",
    stage="failure",
    severity=Severity.WARNING,
    logs_of=TASKMANAGER,
    signatures=("taskmanager-fatal", "taskmanager-registered"),
    says="TaskManager[[ {resource}]] ended itself at {since} UTC because of an error that a task must not have: {what}"
    "[[; {others} more did so, too]]"
    "[[. {none_left}]]",
    next_command="grep -A 60 'Fatal error occurred' {file_named}   # the whole trace",
    needs=has(signature=("taskmanager-fatal",)),
)
def worker_ended_itself(log_events: DataFrame) -> DataFrame:
    """Per scope; out of memory is RST402's, a JobManager that is not reached RST304's. Source: Flink's TaskManagerRunner.onFatalError."""
    fatal = (F.col("signature") == "taskmanager-fatal") & ~F.coalesce(F.col("text"), F.lit("")).rlike(TOLD_ELSEWHERE)
    who = F.coalesce("host", "file")
    ended = (
        log_events.where(fatal & F.col("at").isNotNull())
        .groupBy("scope")
        .agg(
            F.countDistinct(who).alias("workers"),
            F.map_from_entries(F.collect_set(F.struct(who, F.lit(True)))).alias("_ended"),
            agreed("host", "resource"),
            F.min_by(said(), F.struct("at", "file", "line")).alias("what"),
            F.min_by("file", F.struct("at", "file", "line")).alias("file_named"),
            F.min("at").alias("since"),
            F.max("at").alias("until"),
            exemplars(),
        )
    )
    registered = (
        log_events.where(F.col("signature") == "taskmanager-registered")
        .groupBy(F.col("scope").alias("_scope"))
        .agg(F.collect_set("resource").alias("_known"), F.max("at").alias("_newest"))
    )
    both = ended.join(registered, F.col("scope") == F.col("_scope"), "left")
    left = F.size(F.array_except("_known", F.map_keys("_ended")))
    none_left = (left == 0) & (F.col("_newest") < F.col("since"))
    words = F.lit("No other one is registered in these logs: no worker is left, and the job waits for slots while its state says RUNNING")
    return both.withColumns(
        {
            "job": F.lit(None).cast("string"),
            "others": F.when(F.col("workers") > 1, F.col("workers") - 1),
            "none_left": F.when(none_left, words),
        }
    ).drop("_scope", "_ended", "_known", "_newest")
