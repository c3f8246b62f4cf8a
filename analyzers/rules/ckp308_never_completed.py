"""CKP308: a job's checkpoint directory without a single checkpoint."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.finding import Severity
from analyzers.restore_points import series
from analyzers.rule import rule
from analyzers.samples import evidence


@rule(
    "CKP308",
    title="The job has no completed checkpoint",
    stage="checkpoint",
    severity=Severity.WARNING,
    says="No completed checkpoint lies in the job's directory[[, though checkpoint {checkpoint} was begun]]: a restart has nothing to "
    "start from and begins at the consumer group's offsets or at the source's start position",
    fix="Read why checkpoints do not complete (diag triage on the JobManager's log). Until one does, do not cancel the job without a "
    "savepoint. If it ran well and was cancelled: its checkpoints were deleted with it; set "
    "execution.checkpointing.externalized-checkpoint-retention: RETAIN_ON_CANCELLATION.",
    next_command="diag triage LOG_DIRECTORY",
)
def never_completed(
    checkpoint_files: DataFrame,
    *,
    begun: int = 3,  # the first is in flight for a while; ids only grow, so a third without a first means that two were given up
) -> DataFrame:
    """Per job directory: room for shared state and nothing else, or only ``chk-N`` without `_metadata`."""
    rows = checkpoint_files.withColumn("series", F.when(F.col("state") == "never", F.col("path")).otherwise(series()))
    per_job = rows.groupBy("scope", "series").agg(
        F.first("job", ignorenulls=True).alias("job"),
        F.max("checkpoint").alias("checkpoint"),
        F.bool_and(F.col("state").isin("never", "empty")).alias("_none"),
        F.bool_or(F.col("state") == "never").alias("_never"),
        F.max("mtime").alias("until"),
        evidence("checkpoint_files", F.concat(F.col("state"), F.lit(": "), "path"), at="mtime", file=F.col("path")),
    )
    return per_job.where(F.col("_none") & (F.col("_never") | (F.col("checkpoint") >= begun))).drop("series", "_none", "_never")
