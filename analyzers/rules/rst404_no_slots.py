"""RST404: the job cannot get the slots it needs."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import JOBMANAGER
from analyzers.vocabulary.aggregates import failures
from analyzers.vocabulary.findings import beside
from analyzers.vocabulary.rule import FAILING, rule

WORKERS = ("worker-requested", "worker-never-registered", "worker-start-failing", "taskmanager-registered", "spark-resources-missing")


@rule(
    "RST404",
    title="The job cannot get the slots it needs",
    cause="taskmanager-lost",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=JOBMANAGER,
    faults=("no-slots",),
    signatures=WORKERS,
    says={
        "workers-missing": "The job waits for slots: {what}; {failures} time(s)[[ since {since} UTC]]. TaskManagers that were asked for "
        "do not come: "
        "{never} did not register[[, {asked} request(s)]]",
        "spark": "The query waits for executors: {what}; {failures} time(s)[[ since {since} UTC]]",
        "": "The job[[ {job}]] cannot get its slots: {what}; {failures} time(s)[[ since {since} UTC]]",
    },
    missing="which worker is missing and why: the events of the resource manager or cluster have it",
    next_command="curl -s http://JOBMANAGER:8081/overview   # slots-total, slots-available, taskmanagers",
    needs=FAILING,
)
def no_slots(
    faults: DataFrame,
    attempts: DataFrame | None,
    log_events: DataFrame | None,
) -> DataFrame:
    """Slot requests that were not fulfilled, per job; a warning where the job got them in the end."""
    found = failures(faults, F.max("role").alias("by"))
    if attempts is not None:
        newest = attempts.groupBy("scope", "job").agg(
            F.max_by(F.col("ended").isin("running", "planned", "finished") & (F.col("checkpoints_completed") > 0), "attempt").alias("well")
        )
        found = beside(found, newest, "job").withColumn("severity", F.when(F.col("well"), "warning").otherwise("critical")).drop("well")
    if log_events is None:
        found = found.withColumns({"never": F.lit(0), "asked": F.lit(None).cast("long")})
    else:
        workers = log_events.groupBy("scope").agg(
            F.count_if(F.col("signature").isin("worker-never-registered", "worker-start-failing")).alias("never"),
            F.nullif(F.count_if(F.col("signature") == "worker-requested"), F.lit(0)).alias("asked"),
        )
        found = found.join(workers, "scope", "left").withColumn("never", F.coalesce("never", F.lit(0)))
    spark = F.startswith(F.coalesce("by", F.lit("")), F.lit("spark"))
    reason = F.when(F.col("never") > 0, F.lit("workers-missing")).when(spark, F.lit("spark")).otherwise(F.lit("no-slots"))
    return found.withColumn("reason", reason).drop("by", "task", "subtask", "parallelism")
