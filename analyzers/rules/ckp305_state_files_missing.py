"""CKP305: state files that a checkpoint names are not there, or have another size."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.restore_points import advice, series, standing
from analyzers.vocabulary.rule import rule

_FIX = (
    "Restore from {restore_from}. Do not delete older checkpoints. Then find out who removed the files: a clean-up or a lifecycle rule of "
    "the bucket that goes by age (incremental checkpoints need old files in shared/), a second job that was started from this checkpoint "
    "and claimed it, a full disk."
)


@rule(
    "CKP305",
    title="State files that a checkpoint names are missing",
    cause="checkpoint-storage",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    says={
        "alone": "Nothing but _metadata lies beside checkpoint {checkpoint}: its {wanted} state file(s) are not here. Either only "
        "_metadata was copied, or the state is lost",
        "": "{lost} of the {wanted} state file(s) that checkpoint {checkpoint} names are {how}[[ (operators: {operators})]]: {examples}. "
        "{standing}",
    },
    next_command="diag checkpoint-inspect {directory}",
)
def state_files_missing(state_files: DataFrame, checkpoint_files: DataFrame) -> DataFrame:
    """Per job, the newest checkpoint with missing files. Critical where it is the newest of all: a restart needs it."""
    lost = state_files.where(F.col("state").isin("missing", "wrong-size")).withColumn("series", series())
    shown = F.concat(
        F.coalesce("file", F.concat("files", F.lit(" more"))),
        F.when(
            F.col("state") == "wrong-size", F.concat(F.lit(" ("), "size_bytes", F.lit(" bytes instead of "), "expected_bytes", F.lit(")"))
        ).otherwise(F.lit("")),
    )
    files = lost.groupBy("scope", "series", "path").agg(
        F.slice(F.array_sort(F.collect_set(shown)), 1, 3).alias("examples"),
        F.array_sort(F.collect_set(F.coalesce("name", F.substring("operator", 1, 8)))).alias("operators"),
        evidence("state_files", F.concat(F.col("state"), F.lit(": "), shown), file=F.col("path")),
    )
    broken = checkpoint_files.withColumn("lost", F.col("state_files_missing") + F.col("state_files_wrong_size")).where(F.col("lost") > 0)
    newest = (
        broken.withColumn("series", series())
        .groupBy("scope", "series")
        .agg(
            F.first("job", ignorenulls=True).alias("job"),
            F.max("checkpoint").alias("checkpoint"),
            F.max_by("path", "checkpoint").alias("path"),
            F.max_by("lost", "checkpoint").alias("lost"),
            F.max_by("state_files", "checkpoint").alias("wanted"),
            F.max_by("state_files_wrong_size", "checkpoint").alias("_short"),
            F.max_by("metadata_alone", "checkpoint").alias("_alone"),
            F.max("as_of").alias("until"),
        )
    )
    both = newest.join(files, ["scope", "series", "path"]).join(standing(checkpoint_files), ["scope", "series"])
    alone = F.col("_alone") & (F.col("lost") == F.col("wanted")) & (F.col("_short") == 0)
    needed = F.col("checkpoint") >= F.col("newest")
    return both.withColumns(
        {
            "reason": F.when(alone, "alone").when(F.col("_short") == F.col("lost"), "size").otherwise("missing"),
            "cause": F.when(~alone & needed, "checkpoint-storage"),
            "severity": F.when(alone, "info").when(~needed, "warning").otherwise("critical"),
            "how": F.when(F.col("_short") == F.col("lost"), "of another size")
            .when(F.col("_short") > 0, "missing or of another size")
            .otherwise("missing"),
            "standing": F.when(needed, "It is the newest one: a restart from it fails").otherwise(
                F.concat(F.lit("Checkpoint "), F.coalesce("newest_whole", "newest"), F.lit(" is newer"))
            ),
            "restore_from": advice(),
            "directory": F.coalesce("restore_path", F.regexp_replace("path", "/[^/]+/_metadata$", "")),
        }
    ).drop("_short", "_alone", "newest", "newest_whole", "restore_path", "whole_at", "series")
