"""RST201: the same record makes every attempt fail, and the log names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.vocabulary.aggregates import agreed, failures
from analyzers.vocabulary.rule import FAILING, rule

# Confluent's registry: 40401 subject, 40402 version, 40403 schema not found
_NO_SCHEMA = r"error code: 404\d\d|(?:Schema|Subject|Version) [^\n]{0,80}not found"
_SCHEMA_FIRST = (
    "The schema registry does not know this record's schema: ask first whether that schema was deleted or the job asks the wrong registry "
    "(put it back, or correct the address): the record itself may be a good one, and to skip it loses it."
)
_AFTER = "{failures} failure(s)[[ in {attempts} attempt(s)]][[ since {since} UTC]]"


def _named(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    return FAILING([row for row in rows if row["topic"] is not None and row["partition"] is not None], thresholds)


@rule(
    "RST201",
    title="A record that cannot be read stops the job, and the log names it",
    cause="poison-record",
    stage="access",
    severity=Severity.CRITICAL,
    faults=("deserialise", "corrupt-batch"),
    says={
        "corrupt-batch": f"The batch in {{topic}}, partition {{partition}}[[, offset {{offset}}]] is damaged on the broker: {{what}}; "
        f"{_AFTER}",
        "": f"The record in {{topic}}, partition {{partition}}[[, offset {{offset}}]] cannot be deserialised[[ by {{task}}]]: {{what}}; "
        f"{_AFTER}",
    },
    next_command="{look}",
    needs=_named,
)
def record_named(faults: DataFrame) -> DataFrame:
    """Fatal record faults whose text gives topic and partition; several partitions of one job are several findings."""
    named = faults.where(F.col("topic").isNotNull() & F.col("partition").isNotNull()).withColumn(
        "at_offset", F.coalesce("offset", _offset_of_batch())
    )
    found = failures(named, agreed("at_offset", "offset"), by=("scope", "job", "topic", "partition"))
    corrupt = F.array_contains("fault_ids", "corrupt-batch")
    return found.withColumns(
        {
            "look": F.when(corrupt, _dump_segment()).otherwise(_read_record()),
            "reason": F.when(corrupt, F.lit("corrupt-batch")).otherwise(F.lit("deserialiser")),
            "registry": F.when(F.rlike("what", F.lit(_NO_SCHEMA)), F.lit(_SCHEMA_FIRST)),
            "confidence": F.when(F.col("offset").isNotNull(), F.lit(1.0)).otherwise(F.lit(0.9)),  # wanted: topic, partition and one offset
        }
    )


def _offset_of_batch() -> Column:
    """The offset that stands in the cause of a corrupt batch, one exception below the partition."""
    return F.nullif(F.regexp_extract("text", r"Record batch for partition \S+ at offset (\d+) is invalid", 1), F.lit("")).cast("long")


def _read_record() -> Column:
    offset = F.coalesce(F.concat(F.lit(" --offset "), F.col("offset").cast("string")), F.lit(""))
    command = F.concat(
        F.lit("kafka-console-consumer.sh --bootstrap-server HOST:9092 --topic "), "topic", F.lit(" --partition "), "partition"
    )
    return F.concat(command, offset, F.lit(" --max-messages 1"))


def _dump_segment() -> Column:
    segment = F.concat(F.lit("LOGDIR/"), "topic", F.lit("-"), "partition", F.lit("/SEGMENT.log"))
    return F.concat(F.lit("kafka-dump-log.sh --deep-iteration --files "), segment, F.lit("   # on each replica"))
