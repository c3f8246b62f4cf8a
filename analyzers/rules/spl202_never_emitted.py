"""SPL202: a split that a reader holds and that has not given a record in several checkpoints."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look


@rule(
    "SPL202",
    title="A source split is held by a reader and was never read",
    stage="lag",
    severity=Severity.WARNING,
    says={
        "waiting": "{split_count} source split(s) of operator {operator} still stand at their start marker in checkpoint {checkpoint}, as "
        "in checkpoint {first_checkpoint}, though records lie there: {named}. {waiting_records} record(s) wait",
        "": "{split_count} source split(s) of operator {operator} still stand at their start marker in checkpoint {checkpoint}, as in "
        "checkpoint {first_checkpoint}: {named}. An empty partition looks the same",
    },
    next_command="diag checkpoint-inspect --bootstrap-server HOST:PORT {path}",
)
def never_emitted(split_audit: DataFrame, log_offsets: DataFrame | None) -> DataFrame:
    """Per job and operator, in its newest whole checkpoint. A start marker becomes a number with the first record that is handed on.

    Source: ``KafkaPartitionSplitState.setCurrentOffset``, called by ``KafkaRecordEmitter`` only.
    """
    rows = split_audit.where(F.col("newest") & (F.col("problem") == "never-read"))
    if log_offsets is None:
        rows = rows.withColumn("waiting", F.lit(None).cast("long"))
    else:
        ends = newest_look(log_offsets).select(
            "scope", "topic", "partition", (F.col("high_watermark") - F.col("log_start")).alias("waiting")
        )
        rows = rows.join(ends, ["scope", "topic", "partition"], "left")
    # of the other markers the log tells nothing: what was there before the start is not to be read
    earliest = F.col("offsets")[0] == "earliest"
    rows = rows.withColumn("reason", F.when(earliest & (F.col("waiting") > 0), "waiting").otherwise("unknown"))
    rows = rows.where(~F.coalesce(F.col("waiting") == 0, F.lit(False)))
    text = F.concat("identity", F.lit(": "), F.col("offsets")[0], F.lit(" since checkpoint "), F.col("since_checkpoint").cast("string"))
    found = rows.groupBy("scope", "job", "operator", "reason").agg(
        F.count("*").alias("split_count"),
        F.max("checkpoint").alias("checkpoint"),
        F.max("since_checkpoint").alias("first_checkpoint"),
        F.array_sort(F.collect_set("identity")).alias("split"),
        F.array_join(F.array_sort(F.array_distinct(F.flatten(F.collect_list("subtasks")))), ", ").alias("subtasks"),
        F.format_number(F.sum("waiting"), 0).alias("waiting_records"),
        agreed("topic"),
        F.when(F.count("*") == 1, F.max("partition")).alias("partition"),
        F.max_by("path", "checkpoint").alias("path"),
        F.max("as_of").alias("until"),
        evidence("split_audit", text, file=F.col("path")),
    )
    waits = F.col("reason") == "waiting"
    few = F.concat_ws(", ", F.slice("split", 1, 6))
    return found.withColumns(
        {
            "severity": F.when(waits, "warning").otherwise("info"),
            "cause": F.when(waits, "no-progress"),
            "named": F.when(F.size("split") > 6, F.concat(few, F.lit(", …"))).otherwise(few),
            "confidence": F.when(waits, F.lit(0.7)).otherwise(F.lit(0.4)),
        }
    )
