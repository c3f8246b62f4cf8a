"""CKP301: the checkpoint storage does not take the state: full, refused, unreachable."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import FLINK
from analyzers.vocabulary.aggregates import place, said
from analyzers.vocabulary.checkpoint_storage import of_flink, path_named, why_not_written
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule

FAILED_CHECKPOINT = ("checkpoint-not-finalized", "checkpoint-not-materialized", "checkpoint-async-failed", "checkpoint-store-failed")
"""Lines of single failed writes: a fault is told once per attempt, these tell how long it goes on and of how many checkpoints."""


@rule(
    "CKP301",
    title="State cannot be written to the checkpoint storage",
    cause="checkpoint-storage",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    logs_of=FLINK,
    faults=("tolerance-storage", "disk-full", "snapshot-failed", "storage-write", "state-too-large"),
    signatures=("checkpoint-completed", *FAILED_CHECKPOINT),
    says={
        "full": "Checkpoints cannot be written, the storage is full: {what}; {failures} failure(s)[[, the first at {since} UTC]][[, at "
        "{path}]]",
        "access-denied": "Checkpoints cannot be written, the storage refuses access: {what}; {failures} failure(s)[[, the first at "
        "{since} UTC]][[, at {path}]]",
        "unreachable": "Checkpoints cannot be written, the storage does not answer: {what}; {failures} failure(s)[[, the first at {since} "
        "UTC]][[, at {path}]]",
        "": "Checkpoints cannot be written: {what}; {failures} failure(s)[[, the first at {since} UTC]][[, at {path}]]",
    },
    missing="[[{unnamed}]]",
    next_command="diag checkpoint-inspect {path_or_placeholder}",
)
def state_not_written(
    faults: DataFrame,
    log_events: DataFrame | None,
    *,
    enough: int = 3,  # writes that fail once or twice are retried by the next checkpoint
) -> DataFrame:
    """Per job: failed writes that failed the job, or that go on without a checkpoint completed after them."""
    rows = of_flink(faults).where(~F.coalesce("consequence", F.lit(False)))
    rows = rows.withColumns(
        {"why": why_not_written(), "named": path_named(), "said": said(), "summary": F.col("fault") == "tolerance-storage"}
    )
    per_job = rows.groupBy("scope", "job").agg(
        F.count_if(F.col("fault") == "state-too-large").alias("too_large"),
        F.count_if("fatal").alias("fatal_kinds"),
        F.sum("occurrences").alias("failures"),
        F.min_by("said", F.struct("summary", "at", "file", "line")).alias("what"),
        F.min_by("why", F.when(F.col("why").isNotNull(), place())).alias("reason"),
        F.min_by("named", F.when(F.col("named").isNotNull(), place())).alias("path"),
        F.array_sort(F.collect_set("fault")).alias("fault_ids"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        exemplars(table="faults"),
    )
    per_job = per_job.where(F.col("too_large") == 0)
    never = per_job.withColumn("done_at", F.lit(None).cast("timestamp"))
    per_job = never if log_events is None else _with_times(per_job, log_events)
    goes_on = F.col("done_at").isNull() | F.col("until").isNull() | (F.col("until") > F.col("done_at"))
    unnamed = F.lit(
        "why the write failed: the JobManager's WARN line of the failed checkpoint and the TaskManagers' logs hold the exception"
    )
    return (
        per_job.where((F.col("fatal_kinds") > 0) | ((F.col("failures") >= enough) & goes_on))
        .withColumns(
            {
                "unnamed": F.when(F.col("reason").isNull(), unnamed),
                # wanted: that it failed, and why
                "confidence": F.when(F.col("reason").isNull(), F.lit(0.5)).otherwise(F.lit(1.0)),
                "reason": F.coalesce("reason", F.lit("write")),
                # the file itself was never written: what stands around it can be looked at
                "path_or_placeholder": F.coalesce(
                    F.regexp_replace("path", r"/(chk-\d+|shared|taskowned)(/.*)?$", ""), F.lit("CHECKPOINT_DIRECTORY")
                ),
            }
        )
        .drop("too_large", "fatal_kinds", "done_at")
    )


def _with_times(per_job: DataFrame, log_events: DataFrame) -> DataFrame:
    done = F.col("signature") == "checkpoint-completed"
    times = log_events.groupBy(F.col("scope").alias("_scope"), F.col("job").alias("of_job")).agg(
        F.max(F.when(done, F.col("at"))).alias("done_at"),
        F.max(F.when(~done, F.col("at"))).alias("failed_at"),
        F.nullif(F.countDistinct(F.when(~done, F.col("checkpoint"))), F.lit(0)).alias("checkpoints"),
    )
    same = (F.col("scope") == F.col("_scope")) & F.col("job").eqNullSafe(F.col("of_job"))
    joined = per_job.join(times, same, "left")
    # one failed checkpoint is told by each subtask that cannot write, by the coordinator twice and by the failure of the job
    counted = {"until": F.greatest("until", "failed_at"), "failures": F.coalesce("checkpoints", "failures")}
    return joined.withColumns(counted).drop("_scope", "of_job", "failed_at", "checkpoints")
