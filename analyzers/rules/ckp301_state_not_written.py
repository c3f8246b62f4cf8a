"""CKP301: the checkpoint storage does not take the state, as it is full, refuses access or is unreachable."""

from analyzers.vocabulary import (
    CRITICAL,
    FLINK,
    DataFrame,
    F,
    IfGiven,
    agreed,
    beside,
    count,
    event,
    found,
    greatest,
    number_of,
    place,
    rule,
    said,
)
from analyzers.vocabulary.checkpoint_storage import of_flink, path_named, store_named, why_not_written

FAILED_CHECKPOINT = ("checkpoint-not-finalized", "checkpoint-not-materialized", "checkpoint-async-failed", "checkpoint-store-failed")
"""Lines of single failed writes: a fault is one row per attempt, these show how long it goes on and how many checkpoints it costs."""
UNNAMED = "why the write failed: the JobManager's WARN line of the failed checkpoint and the TaskManagers' logs hold the exception"
_WHAT = "{what}; {failures} failure(s)[[, the first at {since} UTC]][[, at {path}]][[; the storage is {host}]]"


@rule(
    "CKP301", title="State cannot be written to the checkpoint storage", cause="checkpoint-storage", stage="checkpoint", severity=CRITICAL,
    logs_of=FLINK, faults=("tolerance-storage", "disk-full", "snapshot-failed", "storage-write", "state-too-large"),
    signatures=("checkpoint-completed", *FAILED_CHECKPOINT),
    says={
        "full": f"Checkpoints cannot be written, the storage is full: {_WHAT}",
        "clock": f"Checkpoints cannot be written, the storage refuses requests by their time: {_WHAT}",
        "access-denied": f"Checkpoints cannot be written, the storage refuses access: {_WHAT}",
        "unreachable": f"Checkpoints cannot be written, the storage does not answer: {_WHAT}",
        "no-directory": f"Checkpoints cannot be written, their directory cannot be created: {_WHAT}",
        "": f"Checkpoints cannot be written: {_WHAT}",
    },
    missing="[[{unnamed}]]",
    next_command="diag checkpoint-inspect {path_or_placeholder}",
)  # fmt: skip
def state_not_written(
    faults: DataFrame,
    log_events: IfGiven,
    attempts: IfGiven,
    *,
    enough: int = 3,  # writes that fail once or twice are retried by the next checkpoint
) -> DataFrame:
    """Per job: failed writes that failed the job, or that go on without a checkpoint completed after them."""
    own = of_flink(faults).where(~F.coalesce("consequence", F.lit(False)))
    rows = own.withColumns({"_why": why_not_written(), "_path": path_named(), "_store": store_named()})
    per_job = found(
        rows, "job", table="faults",
        failures=F.sum("occurrences"),
        what=F.min_by(said(), F.struct(F.col("fault") == "tolerance-storage", "at", "file", "line")),  # the summary knows least
        path=F.min_by("_path", F.when(F.col("_path").isNotNull(), place())),
        host=agreed("_store"),
        fault_ids=F.sort_array(F.collect_set("fault")),
        _why=F.min_by("_why", F.when(F.col("_why").isNotNull(), place())),
        _too_large=count(F.col("fault") == "state-too-large"),
        _fatal=count(F.col("fatal")),
    )  # fmt: skip
    done = event("checkpoint-completed")
    lines = log_events.groupBy("scope", "job").agg(
        greatest("at", done).alias("_done_at"),
        greatest("at", ~done).alias("_failed_at"),
        F.nullif(number_of(F.when(~done, F.col("checkpoint"))), F.lit(0)).alias("_checkpoints"),
    )
    timed = beside(per_job.where(F.col("_too_large") == 0), lines, "job").withColumn("until", F.greatest("until", "_failed_at"))
    # one failed checkpoint is printed by each subtask that cannot write, by the coordinator twice and by the failure of the job
    timed = timed.withColumn("failures", F.coalesce("_checkpoints", "failures"))
    goes_on = F.coalesce(F.col("until") > F.col("_done_at"), F.lit(True))
    fell = attempts.where(F.col("ended") == "failed").select("scope", "job").distinct().withColumn("_fell", F.lit(True))
    timed = beside(timed, fell, "job")
    failed_it = (F.col("_fatal") > 0) & (F.coalesce("_fell", F.lit(False)) | goes_on)  # in a fragment any trace counts as fatal
    directory = F.regexp_replace("path", r"/(chk-\d+|shared|taskowned)(/.*)?$", "")  # the file itself was never written
    return timed.where(failed_it | ((F.col("failures") >= enough) & goes_on)).withColumns(
        {
            "reason": F.coalesce("_why", F.lit("write")),
            "unnamed": F.when(F.col("_why").isNull(), UNNAMED),
            "confidence": F.when(F.col("_why").isNull(), 0.5).otherwise(1.0),  # wanted: that it failed, and why
            "path_or_placeholder": F.coalesce(directory, F.lit("CHECKPOINT_DIRECTORY")),
        }
    )
