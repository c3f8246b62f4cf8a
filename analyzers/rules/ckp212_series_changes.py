"""CKP212: what a series of checkpoints shows by itself: ids that are missing between, state that grows."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.restore_points import series
from analyzers.vocabulary.rule import rule


@rule(
    "CKP212",
    title="Checkpoints are given up between those that complete, or their state grows",
    stage="risk",
    severity=Severity.INFO,
    says={
        "gaps": "{aborted} checkpoint id(s) between {first} and {checkpoint} were begun and not kept: aborted, expired or savepoints, "
        "unless they were not copied",
        "growth": "State grew from {from_mb} MB in checkpoint {first} to {to_mb} MB in checkpoint {checkpoint}[[, {per_hour} MB an hour]]",
    },
    next_command="diag checkpoint-inspect {directory}",
)
def series_changes(
    checkpoint_files: DataFrame,
    *,
    gaps: int = 3,  # one or two ids go to savepoints and to restarts
    growth: float = 2.0,  # state breathes with its windows
    enough: int = 4,  # fewer say nothing about a direction
    least_mb: float = 10.0,  # nobody's disk is filled by less
) -> DataFrame:
    """Per job and reason. Ids are used up by every attempt, so a missing one was begun."""
    rows = checkpoint_files.where(
        (F.col("state") == "complete") & (F.coalesce("kind", F.lit("")) != "savepoint") & F.col("checkpoint").isNotNull()
    ).withColumn("series", series())
    each = Window.partitionBy("scope", "series").orderBy("checkpoint")
    stepped = rows.withColumns(
        {"_gap": F.col("checkpoint") - F.lag("checkpoint").over(each) - 1, "_fell": F.col("state_bytes") < F.lag("state_bytes").over(each)}
    )
    text = F.concat(F.lit("checkpoint "), "checkpoint", F.lit(": "), F.coalesce("state_bytes", F.lit(0)), F.lit(" bytes of state"))
    per_job = stepped.groupBy("scope", "series").agg(
        F.first("job", ignorenulls=True).alias("job"),
        F.count("*").alias("_seen"),
        F.sum(F.greatest(F.col("_gap"), F.lit(0))).alias("aborted"),
        F.bool_or("_fell").alias("_fell"),
        F.min("checkpoint").alias("first"),
        F.max("checkpoint").alias("checkpoint"),
        F.min_by("state_bytes", "checkpoint").alias("_from"),
        F.max_by("state_bytes", "checkpoint").alias("_to"),
        ((F.unix_seconds(F.max("mtime")) - F.unix_seconds(F.min("mtime"))) / 3600).alias("_hours"),
        F.max_by(F.regexp_replace("path", "/[^/]+/_metadata$", ""), "checkpoint").alias("directory"),
        F.max("mtime").alias("until"),
        evidence("checkpoint_files", text, at="mtime", file=F.col("path")),
    )
    grew = (
        (F.col("_seen") >= enough)
        & ~F.coalesce("_fell", F.lit(False))
        & (F.col("_to") >= F.col("_from") * growth)
        & (F.col("_to") >= least_mb * 1e6)
    )
    gone = F.col("aborted") >= gaps
    told = per_job.withColumn("reason", F.explode(F.array_compact(F.array(F.when(gone, F.lit("gaps")), F.when(grew, F.lit("growth"))))))
    return told.withColumns(
        {
            "from_mb": F.round(F.col("_from") / 1e6, 1),
            "to_mb": F.round(F.col("_to") / 1e6, 1),
            "per_hour": F.when(F.col("_hours") > 0.02, F.round((F.col("_to") - F.col("_from")) / 1e6 / F.col("_hours"), 1)),
        }
    ).drop("series", "_seen", "_fell", "_from", "_to", "_hours")
