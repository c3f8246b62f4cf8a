"""CKP211: the newest checkpoint was begun and has no `_metadata`, for longer than it may take."""

from analyzers.vocabulary import WARNING, DataFrame, F, Window, found, greatest, has, none, rule
from analyzers.vocabulary.restore_points import DEFAULT_TIMEOUT_SECONDS, advice, series, standing


@rule(
    "CKP211", title="The newest checkpoint was begun and not completed", stage="checkpoint", severity=WARNING, needs=has(state=("empty",)),
    says="Checkpoint {checkpoint} was begun and has no _metadata after {minutes} minute(s)[[ (checkpoints came every {usual} min)]]: it is "
    "stuck, or it was aborted and not cleaned up[[. The newest complete one is {whole}]]",
    next_command="diag triage LOG_DIRECTORY",
)  # fmt: skip
def newest_unfinished(
    checkpoint_files: DataFrame,
    *,
    at_least_seconds: int = DEFAULT_TIMEOUT_SECONDS,  # Flink aborts a checkpoint after this time, unless it is set otherwise
    intervals: int = 3,  # a job that checkpoints every hour may need an hour
) -> DataFrame:
    """Per job: ``chk-N`` without `_metadata`, above every complete one. Its age counts to the newest evidence."""
    each = Window.partitionBy("scope", "series")
    rows = checkpoint_files.where(F.col("checkpoint").isNotNull()).withColumn("series", series())
    rows = rows.withColumn("_last", F.max("checkpoint").over(each))
    step = F.unix_seconds("mtime") - F.unix_seconds(F.lag("mtime").over(each.orderBy("checkpoint")))
    stepped = rows.where(F.col("state") == "complete").withColumn("_step", step)
    paced = stepped.groupBy("scope", "series").agg(F.coalesce(F.median("_step"), F.lit(0)).alias("_step"))
    newest = rows.where((F.col("checkpoint") == F.col("_last")) & (F.col("state") == "empty"))
    aged = newest.join(paced, ["scope", "series"], "left").join(standing(checkpoint_files), ["scope", "series"])
    age = F.unix_seconds("as_of") - F.unix_seconds("mtime")
    late = F.greatest(F.lit(at_least_seconds), F.coalesce("_step", F.lit(0)) * intervals)
    return found(
        aged.where(age > late), "job", "checkpoint", at="mtime", table="checkpoint_files",
        shown=F.concat(F.lit("no _metadata in "), "path"), file=F.col("path"),
        minutes=F.max(F.round(age / 60).cast("long")),
        usual=greatest(F.round(F.col("_step") / 60, 1), F.col("_step") >= 6),
        whole=F.max("newest_whole"),
        restore_from=F.max(advice()),
        until=none("timestamp"),
    )  # fmt: skip
