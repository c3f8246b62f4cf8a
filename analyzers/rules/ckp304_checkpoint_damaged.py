"""CKP304: a checkpoint's `_metadata` is damaged, or holds bytes that cannot be accounted for."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.restore_points import advice, series, standing
from analyzers.vocabulary.rule import rule


@rule(
    "CKP304",
    title="A checkpoint's _metadata is damaged",
    cause="checkpoint-storage",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    says={
        "unread": "{bytes_left} bytes of {files} checkpoint file(s) could not be accounted for, the newest checkpoint {checkpoint}: it was "
        "written by a Flink that this diag does not know, or is damaged in a way that it does not see",
        "": "{files} checkpoint(s) cannot be read to the end, the newest {checkpoint}: {damage} at byte {damaged_at}. {standing}",
    },
    next_command="diag checkpoint-inspect --strict {path}",
)
def checkpoint_damaged(checkpoint_files: DataFrame) -> DataFrame:
    """Per job. Critical where the newest checkpoint is the damaged one: a restart would need it."""
    files = checkpoint_files.where(~F.col("state").isin("empty", "never") & F.col("checkpoint").isNotNull()).withColumn("series", series())
    damaged = F.col("state") == "damaged"
    unread = (F.col("state") == "complete") & (F.coalesce("unread_bytes", F.lit(0)) > 0)
    rows = files.withColumn("reason", F.when(damaged, "damaged").when(unread, "unread")).where(F.col("reason").isNotNull())
    said = F.coalesce("damage", F.concat("unread_bytes", F.lit(" bytes unread")))
    text = F.concat(
        F.lit("checkpoint "), "checkpoint", F.lit(": "), said, F.coalesce(F.concat(F.lit(" at byte "), "damaged_at"), F.lit(""))
    )
    found = rows.groupBy("scope", "series", "reason").agg(
        F.first("job", ignorenulls=True).alias("job"),
        F.count("*").alias("files"),
        F.max("checkpoint").alias("checkpoint"),
        F.max_by("path", "checkpoint").alias("path"),
        F.max_by("damage", "checkpoint").alias("damage"),
        F.max_by("damaged_at", "checkpoint").alias("damaged_at"),
        F.sum("unread_bytes").alias("bytes_left"),
        F.max("mtime").alias("until"),
        evidence("checkpoint_files", text, at="mtime", file=F.col("path")),
    )
    both = found.join(standing(checkpoint_files), ["scope", "series"])
    is_newest = (F.col("reason") == "damaged") & (F.col("checkpoint") >= F.col("newest"))
    return both.withColumns(
        {
            "severity": F.when(is_newest, "critical").when(F.col("reason") == "damaged", "warning").otherwise("info"),
            "cause": F.when(F.col("reason") == "damaged", "checkpoint-storage"),
            "standing": F.when(is_newest, "It is the newest one: a restart from it fails").otherwise(
                F.concat(F.lit("Checkpoint "), F.coalesce("newest_whole", "newest"), F.lit(" is newer"))
            ),
            "restore_from": advice(),
        }
    ).drop("newest", "newest_whole", "restore_path", "whole_at", "series")
