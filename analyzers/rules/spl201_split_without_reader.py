"""SPL201: a split that no reader holds, or a partition that the job has not found."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, numbered
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule


@rule(
    "SPL201",
    title="A source split has no reader",
    cause="no-progress",
    stage="lag",
    severity=Severity.WARNING,
    says={
        "held-by-nobody": "{split_count} source split(s) of operator {operator} are assigned and held by no reader in checkpoint "
        "{checkpoint}[[ (since checkpoint {first_checkpoint})]]: {split}; nobody reads them",
        "not-discovered": "{split_count} partition(s) are unknown to the job's checkpoint {checkpoint}: {split}. Normal where the job "
        "reads chosen partitions; else it does not look for new ones",
    },
    next_command="diag checkpoint-inspect {path}",
)
def split_without_reader(split_audit: DataFrame) -> DataFrame:
    """Per job, operator and problem, in its newest whole checkpoint. A reader may be on its way in one checkpoint, not in two."""
    rows = split_audit.where(F.col("newest") & F.col("problem").isin("held-by-nobody", "not-discovered"))
    text = F.concat("identity", F.lit(": "), "problem", F.lit(" in checkpoint "), F.col("checkpoint").cast("string"))
    found = rows.groupBy("scope", "job", "operator", F.col("problem").alias("reason")).agg(
        F.count("*").alias("split_count"),
        F.max("checkpoint").alias("checkpoint"),
        F.nullif(F.min("since_checkpoint"), F.max("checkpoint")).alias("first_checkpoint"),
        numbered("identity", "split"),
        agreed("topic"),
        F.when(F.count("*") == 1, F.max("partition")).alias("partition"),
        F.max_by("path", "checkpoint").alias("path"),
        F.max("as_of").alias("until"),
        evidence("split_audit", text, file=F.col("path")),
    )
    lasts = F.col("first_checkpoint").isNotNull()
    severity = F.when(F.col("reason") == "not-discovered", F.lit("info")).when(lasts, F.lit("critical")).otherwise(F.lit("warning"))
    return found.withColumns(
        {
            "severity": severity,
            "confidence": F.when(lasts, F.lit(0.9)).otherwise(F.lit(0.5)),
        }
    )
