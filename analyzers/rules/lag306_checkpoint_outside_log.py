"""LAG306: a start from the newest checkpoint begins at offsets that the broker does not have."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, distinct
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule


@rule(
    "LAG306",
    title="The newest checkpoint holds positions that the broker does not have",
    cause="offset-reset",
    stage="commit",
    severity=Severity.CRITICAL,
    says={
        "retention": "Checkpoint {checkpoint}, the newest of the job, stands below the log's start on {places} partition(s): {moves}. "
        "{gap} offset(s) are deleted and were not read before this checkpoint",
        "beyond-end": "Checkpoint {checkpoint}, the newest of the job, stands beyond the log's end on {places} partition(s): {moves}. "
        "The topic was created anew or cut off, or the brokers asked are another cluster",
        "topic-gone": "Checkpoint {checkpoint}, the newest of the job, holds positions on {places} partition(s) of {topics}, which "
        "the brokers do not have: {moves}. The topic was deleted, or the brokers asked are another cluster",
    },
    inferred={"retention": "Offsets are counted: markers of transactions may be among them, and a topic of one name may lie elsewhere."},
    next_command="diag checkpoint-inspect {path} --bootstrap-server HOST:PORT,…",
)
def checkpoint_outside_log(
    split_audit: DataFrame,
    *,
    marker: int = 1,  # a transaction's marker may be all that lies between the last record and the log's start
) -> DataFrame:
    """Per job and side, partitions outside of the log in its newest whole checkpoint; older ones and ended jobs nobody starts from."""
    rows = split_audit.where(F.col("newest") & F.col("problem").isin("below-log-start", "beyond-log-end", "topic-gone"))
    below, gone = F.col("problem") == "below-log-start", F.col("problem") == "topic-gone"
    position = F.element_at("offsets", 1).cast("long")
    move = F.concat(
        "topic", F.lit("-"), F.col("partition").cast("string"), F.lit(" at "), position.cast("string"),
        F.when(gone, F.lit("")).when(below, F.lit(", log starts at ")).otherwise(F.lit(", log ends at ")),
        F.when(gone, F.lit("")).otherwise(F.col("log_edge").cast("string")),
    )  # fmt: skip
    rows = rows.withColumns({"gone": F.abs(F.col("log_edge") - position), "move": move, "_position": position})
    text = F.concat("move", F.lit(" in checkpoint "), F.col("checkpoint").cast("string"))
    found = rows.groupBy("scope", "job", "problem").agg(
        F.countDistinct("topic", "partition").alias("places"),
        F.max("checkpoint").alias("checkpoint"),
        F.max_by("path", "checkpoint").alias("path"),
        F.sum("gone").alias("gap"),
        F.max("gone").alias("_most"),
        distinct("move", "_moves"),
        distinct("topic", "topics"),
        agreed("topic"),
        F.when(F.countDistinct("topic", "partition") == 1, F.max("partition")).alias("partition"),
        F.when(F.count("*") == 1, F.max("_position")).alias("offset"),
        F.max("as_of").alias("until"),
        evidence("split_audit", text, file=F.col("path")),
    )
    few = F.concat_ws("; ", F.slice("_moves", 1, 6))
    retention = F.col("problem") == "below-log-start"
    return found.withColumns(
        {
            "reason": F.when(retention, "retention").when(F.col("problem") == "topic-gone", "topic-gone").otherwise("beyond-end"),
            "moves": F.when(F.size("_moves") > 6, F.concat(few, F.lit("; …"))).otherwise(few),
            "severity": F.when((F.col("problem") == "topic-gone") | (retention & (F.col("_most") <= marker)), F.lit("warning")).otherwise(
                F.lit("critical")
            ),
            "confidence": F.when(retention, F.lit(0.9)).otherwise(F.lit(0.7)),  # whether these are the job's brokers is not seen
        }
    ).drop("problem", "_most", "_moves")
