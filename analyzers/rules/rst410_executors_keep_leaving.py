"""RST410: executors of a Spark query are lost again and again, and the query survives each time."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.derived.failures.failure_signs import REMOVED
from analyzers.report.finding import Severity
from analyzers.tables.processes import SPARK_DRIVER
from analyzers.vocabulary.aggregates import seconds
from analyzers.vocabulary.findings import beside, exemplars
from analyzers.vocabulary.rule import has, rule

_BECAUSE = r"Lost executor \S+ on [^\s:]+:\s*([^\n]*[^\n.\s])"
_MEMORY = r"OOM|exceeding (?:physical )?memory|beyond (?:physical|virtual) memory|code\D{0,4}(?:137|52)\b|OutOfMemory"
_TAKEN = r"(?i)preempt|lost node|spot|evict|-100\b"  # by the cluster: spot nodes and queues do so every day


@rule(
    "RST410",
    title="Executors are lost again and again while the query goes on",
    stage="failure",
    severity=Severity.WARNING,
    logs_of=SPARK_DRIVER,
    faults=("executor-lost", "container-killed"),
    signatures=("executor-lost",),
    says="Spark lost {lost} executors between {since} and {until} UTC, at {moments} different times, and the query went on: {what}. Each "
    "loss runs its tasks again, and what they had cached or shuffled is computed anew[[. {over}]]",
    missing="what ended each of them, where the driver does not say it: the executor's log and the cluster manager's events have it",
    next_command="kubectl describe pod POD   # or yarn logs -containerId ID: why an executor ended",
    needs=has(signature=("executor-lost",)),
)
def executors_keep_leaving(
    log_events: DataFrame,
    faults: DataFrame,
    log_files: DataFrame,
    *,
    enough: int = 4,  # executors: one or two are the ordinary luck of a day
    moments: int = 3,  # minutes in which one was lost: a node that goes takes several at once
    over_after: int = 1800,  # seconds without a loss, and twice the usual time between two, before it is said that it may be over
) -> DataFrame:
    """Per query; not those that were given back or taken by the cluster, nor where a loss has failed the query (RST403, RST406)."""
    text = F.col("text")
    unasked = ~text.rlike(REMOVED.pattern) & ~text.rlike(_TAKEN) & text.contains("Lost executor ")
    per_query = (
        log_events.where(unasked & F.col("at").isNotNull())
        .groupBy("scope", "job")
        .agg(
            F.countDistinct("file", "resource").alias("lost"),
            F.countDistinct(F.date_trunc("minute", "at")).alias("moments"),
            F.min_by(F.nullif(F.regexp_extract("text", _BECAUSE, 1), F.lit("")), F.struct("at", "file", "line")).alias("what"),
            F.avg(text.rlike(_MEMORY).cast("int")).alias("_of_memory"),
            F.min("at").alias("since"),
            F.max("at").alias("until"),
            exemplars(),
        )
    )
    failed = faults.where("fatal").groupBy("scope", "job").agg(F.count("*").alias("_failed"))
    found = beside(per_query, failed, "job").where((F.col("lost") >= enough) & (F.col("moments") >= moments) & F.col("_failed").isNull())
    drivers = log_files.where(F.col("role") == "spark-driver").groupBy(F.col("scope").alias("_scope")).agg(F.max("last_at").alias("_end"))
    found = found.join(drivers, F.col("scope") == F.col("_scope"), "left").drop("_scope")
    quiet = seconds("until", "_end")
    usual = seconds("since", "until") / (F.col("moments") - 1)  # from one loss to the next
    hours = F.when(quiet >= 7200, F.concat(F.floor(quiet / 3600).cast("string"), F.lit(" h"))).otherwise(
        F.concat(F.floor(quiet / 60).cast("string"), F.lit(" min"))
    )
    over = F.concat(F.lit("None was lost in the "), hours, F.lit(" from then to the end of the driver's log: it may be over"))
    found = found.withColumn("over", F.when(quiet >= F.greatest(F.lit(over_after), usual * 2), over)).drop("_end")
    return found.withColumn("reason", F.when(F.col("_of_memory") > 0.5, "memory").otherwise("unknown")).drop("_of_memory", "_failed")
