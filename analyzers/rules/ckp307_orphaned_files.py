"""CKP307: files in a job's checkpoint directory that no checkpoint names."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule


@rule(
    "CKP307",
    title="Files in the checkpoint directory that no checkpoint names",
    stage="risk",
    severity=Severity.INFO,
    says="{files} file(s), {megabytes} MB, older than the newest checkpoint {checkpoint}, are named by none of the checkpoints read here: "
    "{directories}",
    next_command="diag checkpoint-inspect {directory}",
)
def orphaned_files(state_files: DataFrame) -> DataFrame:
    """Per job. Left behind when a JobManager dies, or an upload ends after its checkpoint was given up."""
    text = F.concat("file", F.lit(": "), "files", F.lit(" files, "), "size_bytes", F.lit(" bytes, such as "), "found_at")
    return (
        state_files.where(F.col("state") == "orphaned")
        .groupBy("scope", "job", "path")
        .agg(
            F.sum("files").alias("files"),
            F.round(F.sum("size_bytes") / 1e6, 1).alias("megabytes"),
            F.max("checkpoint").alias("checkpoint"),
            F.array_sort(F.collect_set("file")).alias("directories"),
            F.max(F.regexp_replace("path", "/[^/]+/_metadata$", "")).alias("directory"),
            F.max("mtime").alias("until"),
            evidence("state_files", text, at="mtime", file=F.col("path")),
        )
        .drop("path")
    )
