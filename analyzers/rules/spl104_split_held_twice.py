"""SPL104: one checkpoint holds a source split in two readers."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, numbered
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule

BEAM = (
    "Stop the job and start it with Beam 2.63 or later WITHOUT this checkpoint or savepoint, from the committed offsets (KafkaIO: "
    "commitOffsetsInFinalize). Beam 2.52 to 2.62 deals every split anew after a restore of the whole job; upgrading alone does "
    "not heal it, "
    "as the old checkpoint does not load in the new version. "
)
OTHERS = (
    "Stop the job before more is written twice, and look at the SplitEnumerator of the connector: what is restored to readers must not be "
    "assigned again, and addSplitsBack must not hand out splits that still have a reader. Then start from offsets, not from this "
    "checkpoint. "
)
CLEAN = "Clean up what was written twice: between the two positions of each split."


@rule(
    "SPL104",
    title="A checkpoint holds a source split in two readers",
    cause="duplicate-split",
    stage="failure",
    severity=Severity.CRITICAL,
    says="{split_count} source split(s) of operator {operator} are held by two readers each in checkpoint {checkpoint}[[ (since checkpoint "
    "{first_checkpoint})]]: {held}; their records are read twice",
    next_command="diag checkpoint-inspect {path}",
)
def split_held_twice(split_audit: DataFrame) -> DataFrame:
    """Per job and operator, splits held twice in the newest checkpoint that shows it. The audit leaves out splits of no known identity."""
    each = F.concat("identity", F.lit(" by subtasks "), F.concat_ws(" and ", "subtasks"), F.lit(" at "), F.concat_ws(" and ", "offsets"))
    rows = split_audit.where(F.col("problem") == "held-twice").withColumn("said", each)
    text = F.concat("said", F.lit(" in checkpoint "), "checkpoint")
    return rows.groupBy("scope", "job", "operator").agg(
        F.count("*").alias("split_count"),
        F.max("checkpoint").alias("checkpoint"),
        F.nullif(F.min("since_checkpoint"), F.max("checkpoint")).alias("first_checkpoint"),
        numbered("said", "held", by="identity"),
        numbered("identity", "split"),
        agreed("topic"),
        F.when(F.count("*") == 1, F.max("partition")).alias("partition"),
        F.max_by("path", "checkpoint").alias("path"),
        F.max("as_of").alias("until"),
        F.when(F.bool_and(F.startswith("connector", F.lit("beam"))), "beam").otherwise("held-twice").alias("reason"),
        evidence("split_audit", text, file=F.col("path")),
    )
