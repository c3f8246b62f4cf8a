"""CKP211: the newest checkpoint was begun and has no `_metadata`, for longer than it may take."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.restore_points import DEFAULT_TIMEOUT_SECONDS, advice, series, standing
from analyzers.vocabulary.rule import rule


@rule(
    "CKP211",
    title="The newest checkpoint was begun and not completed",
    stage="checkpoint",
    severity=Severity.WARNING,
    says="Checkpoint {checkpoint} was begun and has no _metadata after {minutes} minutes[[ (checkpoints came every {usual} minutes)]]: "
    "it is stuck, or it was given up and not cleaned. The newest that is whole is {whole}",
    next_command="diag triage LOG_DIRECTORY",
)
def newest_unfinished(
    checkpoint_files: DataFrame,
    *,
    at_least_seconds: int = DEFAULT_TIMEOUT_SECONDS,  # Flink gives a checkpoint up after this time, unless it was told otherwise
    intervals: int = 3,  # a job that checkpoints every hour may need an hour
) -> DataFrame:
    """Per job: ``chk-N`` without `_metadata`, above every complete one. Its age counts to the newest evidence, a copy alone says little."""
    rows = checkpoint_files.where(F.col("checkpoint").isNotNull()).withColumn("series", series())
    each = Window.partitionBy("scope", "series")
    step = F.unix_seconds("mtime") - F.unix_seconds(F.lag("mtime").over(each.orderBy("checkpoint")))
    paced = (
        rows.where(F.col("state") == "complete").withColumn("_step", step).groupBy("scope", "series").agg(F.median("_step").alias("_step"))
    )
    newest = rows.withColumn("_last", F.max("checkpoint").over(each)).where(
        (F.col("checkpoint") == F.col("_last")) & (F.col("state") == "empty")
    )
    found = newest.join(paced, ["scope", "series"], "left").join(standing(checkpoint_files), ["scope", "series"])
    age = F.unix_seconds("as_of") - F.unix_seconds("mtime")
    late = F.greatest(F.lit(at_least_seconds), F.coalesce(F.col("_step"), F.lit(0)) * intervals)
    return (
        found.where(age > late)
        .groupBy("scope", "job", "checkpoint")
        .agg(
            F.max(F.round(age / 60).cast("long")).alias("minutes"),
            F.max(F.when(F.col("_step") >= 6, F.round(F.col("_step") / 60, 1))).alias("usual"),
            F.coalesce(F.max("newest_whole").cast("string"), F.lit("not here")).alias("whole"),
            F.max(advice()).alias("restore_from"),
            F.min("mtime").alias("since"),
            evidence("checkpoint_files", F.concat(F.lit("no _metadata in "), "path"), at="mtime", file=F.col("path")),
        )
    )
