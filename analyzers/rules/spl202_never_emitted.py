"""SPL202: a reader holds a split and has not handed on a record of it in several checkpoints."""

from analyzers.vocabulary import WARNING, DataFrame, F, IfGiven, first_of, greatest, has, newest_snapshot, rule
from analyzers.vocabulary.splits import splits_of

_UNREAD = (
    "{split_count} source split(s) of operator {operator} in checkpoint {checkpoint}: at the start marker, as in checkpoint "
    "{first_checkpoint}: {split}"
)


@rule(
    "SPL202", title="A source split is held by a reader and was never read", stage="lag", severity=WARNING,
    says={
        "waiting": f"Readers have not read {_UNREAD}. {{waiting_records}} record(s) wait there",
        "": f"Readers have not read {_UNREAD}. An empty partition looks the same",
    },
    next_command="diag checkpoint-inspect --bootstrap-server HOST:PORT {path}",
    needs=has(problem=("never-read",)),
)  # fmt: skip
def never_emitted(split_audit: DataFrame, log_offsets: IfGiven) -> DataFrame:
    """Per job and operator, in its newest whole checkpoint. A start marker becomes a number with the first record that is handed on.

    Source: ``KafkaPartitionSplitState.setCurrentOffset``, called by ``KafkaRecordEmitter`` only.
    """
    in_log = (F.col("high_watermark") - F.col("log_start")).alias("_waiting")
    partitions = newest_snapshot(log_offsets).select("scope", "topic", "partition", in_log)
    unread = split_audit.where(F.col("newest") & (F.col("problem") == "never-read"))
    rows = unread.join(partitions, ["scope", "topic", "partition"], "left").where(F.coalesce(F.col("_waiting") != 0, F.lit(True)))
    # with the other markers the log proves nothing: what was there before the start is not to be read
    waits = (F.col("offsets")[0] == "earliest") & (F.col("_waiting") > 0)
    waiting = F.col("reason") == "waiting"
    return splits_of(
        rows.withColumn("reason", first_of(("waiting", waits), otherwise="unknown")), "reason",
        shown=F.concat("identity", F.lit(": "), F.col("offsets")[0], F.lit(" since checkpoint "), F.col("since_checkpoint").cast("string")),
        first_checkpoint=greatest("since_checkpoint"),
        subtasks=F.sort_array(F.array_distinct(F.flatten(F.collect_list("subtasks")))),
        waiting_records=F.format_number(F.sum("_waiting"), 0),
    ).withColumns(
        {
            "severity": first_of(("warning", waiting), otherwise="info"),
            "cause": first_of(("no-progress", waiting)),
            "confidence": first_of((0.7, waiting), otherwise=0.4),
        }
    )  # fmt: skip
