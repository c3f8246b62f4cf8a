"""BRK101: attempts fail because the Kafka client cannot fetch metadata."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.finding import Severity
from analyzers.rule import exemplars, rule


@rule(
    "BRK101",
    title="Kafka metadata cannot be fetched",
    cause="broker-unreachable",
    stage="access",
    severity=Severity.CRITICAL,
    faults=("metadata-timeout", "admin-timeout", "bootstrap-unresolvable", "producer-timeout", "kafka-timeout", "kafka-connection", "leader-missing"),
    says="Kafka cannot be reached by the client[[ of job {job}]]: {what}[[ in {task}]]; {failures} failure(s)[[ in {attempts} attempt(s)]][[, bootstrap list {bootstrap}]]",
    fix={
        "dns": "Correct the names in bootstrap.servers: none of them resolves from the job's hosts.",
        "": "Remove the dead entries from bootstrap.servers (keep at least two living brokers) and restart the job; check each entry with the next command. "
        "kafka-clients before 2.7 have no connection set-up time-out and stay with a host that does not answer until the operating system gives up (about 130 s): "
        "raising request.timeout.ms does not help there; kafka-clients 2.7 or newer, or a larger default.api.timeout.ms, does.",
    },
    missing="which broker does not answer: these lines do not name it; a probe of every bootstrap entry does",
    next_command="diag broker-health --bootstrap-server {bootstrap_or_placeholder} --logs <this directory>",
)
def metadata_unreachable(faults: DataFrame, log_events: DataFrame | None, *, enough: int = 1) -> DataFrame:  # one is enough: the fault stopped an attempt
    """Fatal Kafka access faults per job, with the bootstrap list that the client printed."""
    fatal = faults.where(F.col("fatal"))
    per_job = fatal.groupBy("scope", "job").agg(
        F.sum("occurrences").alias("failures"),
        F.countDistinct("attempt").alias("attempts"),
        F.array_sort(F.collect_set("fault")).alias("fault_ids"),
        F.min_by("root_message", _when()).alias("what"),
        F.min_by("reason", _when()).alias("reason"),
        F.min_by("task", _when()).alias("task"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        exemplars(table="faults"),
    )
    return _with_bootstrap(per_job.where(F.col("failures") >= enough), log_events)


def _when() -> Column:
    return F.struct("at", "file", "line")


def _with_bootstrap(per_job: DataFrame, log_events: DataFrame | None) -> DataFrame:
    if log_events is None:
        named = per_job.withColumn("bootstrap", F.lit(None).cast("string"))
    else:
        lists = log_events.where(F.col("detail")["bootstrap"].isNotNull()).groupBy("scope").agg(F.max(F.col("detail")["bootstrap"]).alias("bootstrap"))
        named = per_job.join(lists, "scope", "left")
    return named.withColumn("bootstrap_or_placeholder", F.coalesce(F.regexp_replace("bootstrap", r"\s", ""), F.lit("HOST:PORT,…")))
