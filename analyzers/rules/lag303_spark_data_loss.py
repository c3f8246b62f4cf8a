"""LAG303: a Structured Streaming query wants offsets or partitions that Kafka no longer has."""

from analyzers.vocabulary import CRITICAL, SPARK_DRIVER, Column, DataFrame, F, distinct, earliest, first_of, found, place, rule, text
from analyzers.vocabulary.lag import the_partition

_CHANGED = r"(?<![\w.-])([\w.-]+)-(\d+)(?:'s)?\s+offset\s+was\s+changed\s+from\s+(\d+)\s+to\s+(\d+)"
_FETCH = r"Cannot fetch (?:offset|record for offset) (\d+)[^\n]*?TopicPartition: ([\w.-]+)-(\d+)"
# Spark 4: KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE and .START_OFFSET_RESET
_RANGE = r"Could not read records in offset \[(\d+), \d+\) for topic partition ([\w.-]+)-(\d+)"
_RESET = r"Starting offset for ([\w.-]+)-(\d+) was (\d+) but consumer reset to \d+"
_LOST = r"\b\w*Set\(([\w.-]+)-(\d+)\)(?: are gone| have been deleted|\. They may have been deleted)"
_SKIPPED = r"records in \[(\d+), (\d+)\) will be\s+skipped[^\n]*?TopicPartition: ([\w.-]+-\d+)"  # KafkaDataConsumer, failOnDataLoss=false
_GONE = r"FetchPosition\{offset=(\d+)[^\n]*? is out of range for partition ([\w.-]+)-(\d+)"  # the cause, where the text names none
_SENTENCE = r"((?m:^[^\n]*(?:data may have been|are gone|KAFKA_DATA_LOSS|DOES_NOT_MATCH|Cannot f)[^\n]*))"
_HEADER = r"^\s*(?:\d\S+ \d\d:\d\d:\S+ [A-Z]+ \w+: )?|[.;\s]+$"  # around the sentence of a line: time, level, logger; the full stop
_OTHERS = r"(?i:kinesis|eventhub|pubsub)|Added partition [^\n]* instead of 0"  # connectors with the same words; a new partition


@rule(
    "LAG303", title="Kafka no longer has records that the Spark query wants", cause="offset-reset", stage="access", severity=CRITICAL,
    logs_of=SPARK_DRIVER, signatures=("spark-data-loss",),
    says={
        "went-back": "The query's checkpoint holds {wanted}, but that partition now ends at {ends_at}: the topic was recreated or "
        "truncated, and the checkpoint belongs to the old log[[ (since {since} UTC)]]",
        "": "Kafka no longer {has_wanted}[[ ({wanted})]][[, since {since} UTC]]: {what}[[. {skipped} record(s) were skipped]]"
        "[[. The last such warning is of {last_told} UTC]]",
    },
    inferred="[[The query {goes_on} (failOnDataLoss=false): this warning is the only trace of the loss.]]",
    next_command="diag checkpoint-inspect CHECKPOINT_DIRECTORY --bootstrap-server HOST:PORT,…   # its offsets beside what Kafka has",
)  # fmt: skip
def spark_data_loss(log_events: DataFrame) -> DataFrame:
    """Per query, from the exception that ended it or from the warning that failOnDataLoss=false leaves."""
    rows = log_events.where(~F.col("text").rlike(_OTHERS)).withColumns(
        {
            "_topic": F.coalesce(*_parts((_CHANGED, 1), (_FETCH, 2), (_GONE, 2), (_RANGE, 2), (_RESET, 1), (_LOST, 1))),
            "_partition": F.coalesce(*_parts((_CHANGED, 2), (_FETCH, 3), (_GONE, 3), (_RANGE, 3), (_RESET, 2), (_LOST, 2))).cast("long"),
            "_offset": F.coalesce(*_parts((_CHANGED, 3), (_FETCH, 1), (_GONE, 1), (_RANGE, 1), (_RESET, 3))).cast("long"),
        }
    )
    begin, end, partition = (_part(_SKIPPED, group) for group in (1, 2, 3))
    # a retry warns of the same gap again
    gaps = F.collect_set(F.when(partition.isNotNull(), F.struct(partition, (end.cast("long") - begin.cast("long")).alias("size"), begin)))
    skips = F.coalesce(earliest("level") == "WARN", F.lit(False))
    now, where = _part(_CHANGED, 4).cast("long"), the_partition("_topic", "_partition", "_offset")
    ends_at = F.when(F.min(now) == F.max(now), F.max(now))
    return found(
        rows,
        "job",
        wanted=distinct(text("offset {_offset} of {_topic}-{_partition}"), "wanted"),
        ends_at=ends_at,
        skipped=F.when(F.size(gaps) > 0, F.aggregate(gaps, F.lit(0).cast("long"), lambda total, gap: total + gap["size"])),
        what=F.substring(F.regexp_replace(F.min_by(F.regexp_extract("text", _SENTENCE, 1), place()), _HEADER, ""), 1, 240),
        has_wanted=first_of(("had records that the query wanted", skips), otherwise="has records that the query wants"),
        last_told=F.when(skips, F.date_format(F.max("at"), "yyyy-MM-dd HH:mm:ss")),  # the loss is over for the query, it went on
        goes_on=first_of(("has gone on", skips)),
        stops=first_of(("stops", ~skips)),
        fault_ids=F.array(F.lit("spark-data-loss")),
        reason=first_of(("went-back", ends_at < where["offset"]), otherwise="data-loss"),
        **where,
    )


def _part(pattern: str, group: int) -> Column:
    return F.nullif(F.regexp_extract("text", pattern, group), F.lit(""))


def _parts(*groups: tuple[str, int]) -> list[Column]:
    return [_part(pattern, group) for pattern, group in groups]
