"""LAG303: a Structured Streaming query wants offsets or partitions that Kafka no longer has."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import SPARK_DRIVER
from analyzers.vocabulary.aggregates import agreed, distinct, earliest
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import rule

_CHANGED = r"([\w.-]+)-(\d+)'s\s+offset\s+was\s+changed\s+from\s+(\d+)\s+to\s+(\d+)"
_FETCH = r"Cannot fetch (?:offset|record for offset) (\d+)[^\n]*?TopicPartition: ([\w.-]+)-(\d+)"
_SKIPPED = r"records in \[(\d+), (\d+)\) will be\s+skipped[^\n]*?TopicPartition: ([\w.-]+-\d+)"  # KafkaDataConsumer, failOnDataLoss=false
_GONE = r"FetchPosition\{offset=(\d+)[^\n]*? is out of range for partition ([\w.-]+)-(\d+)"  # the cause, where the text names none

_HEADER = r"^\s*(?:\d\S+ \d\d:\d\d:\S+ [A-Z]+ \w+: )?|[.;\s]+$"  # around what a line says: time, level, logger; the end of the sentence

_GO_ON = "To go on without them, start once with failOnDataLoss=false (it skips them in silence, take it out again)."
_WENT_ON = "The query has gone on without them by itself, as failOnDataLoss=false tells it to; true would have stopped it here."


@rule(
    "LAG303",
    title="Kafka no longer has records that the Spark query wants",
    cause="offset-reset",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=SPARK_DRIVER,
    signatures=("spark-data-loss",),
    says={
        "went-back": "The query's checkpoint holds {wanted}, but that partition now ends at {ends_at}: the topic was recreated or cut, "
        "and the checkpoint belongs to the old log[[ (since {since} UTC)]]",
        "": "Kafka no longer {has_wanted}[[ ({wanted})]][[, since {since} UTC]]: {what}"
        "[[. {skipped} record(s) were skipped]][[. The last such warning is of {last_told} UTC]]",
    },
    inferred="[[{tolerated}]]",
    next_command="diag checkpoint-inspect CHECKPOINT_DIRECTORY --bootstrap-server HOST:PORT,…   # its offsets beside what Kafka has",
)
def spark_data_loss(log_events: DataFrame) -> DataFrame:
    """Per query, from the exception that ended it or from the warning that failOnDataLoss=false leaves."""
    of_kafka = ~F.col("text").rlike("(?i)kinesis|eventhub|pubsub") & ~F.col("text").rlike("Added partition [^\n]* instead of 0")
    rows = log_events.where(of_kafka)
    rows = rows.withColumns(
        {
            "lost_topic": F.coalesce(_part(_CHANGED, 1), _part(_FETCH, 2), _part(_GONE, 2)),
            "lost_partition": F.coalesce(_part(_CHANGED, 2), _part(_FETCH, 3), _part(_GONE, 3)).cast("long"),
            "lost_offset": F.coalesce(_part(_CHANGED, 3), _part(_FETCH, 1), _part(_GONE, 1)).cast("long"),
            "now": _part(_CHANGED, 4).cast("long"),
            "said": F.regexp_extract(
                "text", r"((?:[^\n]*(?:data may have been|are gone|KAFKA_DATA_LOSS|DOES_NOT_MATCH|Cannot f)[^\n]*))", 1
            ),
        }
    )
    position = F.when(
        F.col("lost_offset").isNotNull() & F.col("lost_topic").isNotNull(),
        F.format_string("offset %d of %s-%d", "lost_offset", "lost_topic", "lost_partition"),
    )
    per_query = rows.groupBy("scope", "job").agg(
        distinct(position, "wanted"),
        agreed("lost_topic", "topic"),
        agreed("lost_partition", "_partition"),
        agreed("lost_offset", "_offset"),
        agreed("now", "ends_at"),
        F.countDistinct("lost_topic", "lost_partition").alias("_partitions"),
        F.collect_set(F.when(_part(_SKIPPED, 3).isNotNull(), _gap())).alias("_gaps"),
        F.substring(F.regexp_replace(F.min_by("said", F.struct("at", "file", "line")), _HEADER, ""), 1, 240).alias("what"),
        F.min(F.col("level") != "WARN").alias("_fails"),
        F.min("at").alias("since"),
        F.max("at").alias("until"),
        earliest("level"),
        exemplars(),
    )
    skipped = F.aggregate("_gaps", F.lit(0).cast("long"), lambda sum_, gap: sum_ + gap["until"] - gap["from"])
    per_query = per_query.withColumn("skipped", F.when(F.size("_gaps") > 0, skipped)).drop("_gaps")
    one, skips = F.col("_partitions") == 1, F.col("level") == "WARN"
    named = per_query.withColumns({"partition": F.when(one, F.col("_partition")), "offset": F.when(one, F.col("_offset"))})
    return named.withColumns(
        {
            "reason": F.when(one & (F.col("ends_at") < F.col("offset")), "went-back").otherwise("data-loss"),
            "tolerated": F.when(skips, F.lit("The query goes on (failOnDataLoss=false): this warning is the only trace of the loss.")),
            "has_wanted": F.when(skips, "had records that the query wanted").otherwise("has records that the query wants"),
            "last_told": F.when(skips, F.date_format("until", "yyyy-MM-dd HH:mm:ss")),  # the loss is over for the query, it went on
            "to_go_on": F.when(skips, F.lit(_WENT_ON)).otherwise(F.lit(_GO_ON)),
            "fault_ids": F.array(F.lit("spark-data-loss")),
        }
    ).drop("_partitions", "_partition", "_offset", "_fails", "level")


def _gap() -> Column:
    """What one warning says is skipped: partition, from, until; the same gap may be told by a retry."""
    return F.struct(
        _part(_SKIPPED, 3).alias("partition"), _part(_SKIPPED, 1).cast("long").alias("from"), _part(_SKIPPED, 2).cast("long").alias("until")
    )


def _part(pattern: str, group: int) -> Column:
    return F.nullif(F.regexp_extract("text", pattern, group), F.lit(""))
