"""SPL105: a split's position is lower than in the checkpoint before, along one lineage."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, numbered
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule


@rule(
    "SPL105",
    title="A split's position went back along the lineage of checkpoints",
    cause="duplicate-split",
    stage="failure",
    severity=Severity.CRITICAL,
    says={
        "beam": "The positions of {split_count} source split(s) of operator {operator} went back in checkpoint {checkpoint}, "
        "compared with the "
        "checkpoint before it[[ ({guess})]]: {fallen}. A second reader, begun anew by the restore, replaced the first in the "
        "state; the first "
        "one still reads, so records are read twice",
        "": "The positions of {split_count} source split(s) of operator {operator} went back in checkpoint {checkpoint}, compared with the "
        "checkpoint before it[[ ({guess})]], and no restore from an older one explains it: {fallen}. Records between were read again",
    },
    next_command="diag triage LOG_DIRECTORY   # what the job was restored from, and who got the splits",
)
def position_went_back(split_audit: DataFrame) -> DataFrame:
    """Per job, operator and checkpoint. For Beam it is the mark of a doubled split; for others only a warning: offsets can be "
    "reset by hand."""
    each = F.concat("identity", F.lit(" from "), F.col("offsets")[0], F.lit(" to "), F.col("offsets")[1])
    rows = split_audit.where(F.col("problem") == "went-back").withColumn("said", each)
    text = F.concat("said", F.lit(" in checkpoint "), "checkpoint", F.lit(", compared with "), "compared_with")
    guess = "from which the job seems to have been restored: its checkpoint ids go on from there"
    beam = F.bool_and(F.startswith("connector", F.lit("beam")))
    return rows.groupBy("scope", "job", "operator", "checkpoint").agg(
        F.count("*").alias("split_count"),
        numbered("said", "fallen", by="identity"),
        numbered("identity", "split"),
        agreed("topic"),
        F.when(F.count("*") == 1, F.max("partition")).alias("partition"),
        F.when(F.bool_or("inferred"), guess).alias("guess"),
        F.when(beam, "beam").otherwise("went-back").alias("reason"),
        F.when(beam, "duplicate-split").alias("cause"),
        F.when(beam, "critical").otherwise("warning").alias("severity"),
        # a lineage that only the numbering of checkpoints shows is one of two witnesses
        F.when(F.bool_or("inferred"), 0.7).otherwise(1.0).alias("confidence"),
        F.max("as_of").alias("until"),
        evidence("split_audit", text, file=F.col("path")),
    )
