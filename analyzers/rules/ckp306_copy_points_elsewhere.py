"""CKP306: a copied checkpoint names state files where it was copied from."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.restore_points import series
from analyzers.vocabulary.rule import rule


@rule(
    "CKP306",
    title="A copied checkpoint points to where it was copied from",
    stage="risk",
    severity=Severity.INFO,
    says={
        "elsewhere": "{copied} state file(s) of {checkpoints} checkpoint(s) lie in this copy, but the checkpoint names them at {stated}: "
        "Flink reads them there, not here",
        "": "{copied} state file(s) of {checkpoints} checkpoint(s) are named at {stated}, which cannot be seen from here: whether they "
        "are there was not checked",
    },
    next_command="diag checkpoint-inspect --rebase {stated}=NEW {directory}",
)
def copy_points_elsewhere(state_files: DataFrame) -> DataFrame:
    """Per job and reason. Source: `FileStateHandle` keeps an absolute path, `RelativeFileStateHandle` does not."""
    rows = state_files.where(F.col("state").isin("elsewhere", "unchecked")).withColumn("series", series())
    stated = F.regexp_replace("file", r"/(shared|taskowned|chk-\d+)/.*$|/[^/]*$", "")
    text = F.concat("state", F.lit(": "), F.coalesce("file", F.concat("files", F.lit(" more"))))
    return (
        rows.groupBy("scope", "series", F.col("state").alias("reason"))
        .agg(
            F.first("job", ignorenulls=True).alias("job"),
            F.sum("files").alias("copied"),
            F.countDistinct("path").alias("checkpoints"),
            F.min(stated).alias("stated"),
            F.max_by(F.regexp_replace("path", "/[^/]+/_metadata$", ""), "checkpoint").alias("directory"),
            F.max("as_of").alias("until"),
            evidence("state_files", text, file=F.col("path")),
        )
        .drop("series")
    )
