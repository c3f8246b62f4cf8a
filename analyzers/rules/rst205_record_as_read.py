"""RST205: the record that makes the job fail, as it lies in Kafka."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.snapshots import newest_look


@rule(
    "RST205",
    title="The suspect record, as it lies in Kafka",
    cause="poison-record",
    stage="access",
    severity=Severity.CRITICAL,
    says={
        "odd": "The record that differs where every attempt begins to read again: {first}[[, written {written} UTC]]: {how}"
        "[[. {others} more: all that differ are {named}]]",
        "damaged": "{first} is damaged on the broker, Java clients refuse it: {how}",
        "asked": "{first}[[, written {written} UTC]]: {how}",
    },
    inferred="[[{unsure}]]",
    next_command="kcat -C -b HOST:PORT -t {worst_topic} -p {worst_partition} -o {worst_offset} -c 1 -e -D '' > record.bin",
)
def record_as_read(records: DataFrame) -> DataFrame:
    """Per job, suspects among the records that were read: those that differ from their neighbours, cannot be read, or were asked for."""
    text = F.concat(F.concat_ws("-", "topic", "partition"), F.lit(" at "), F.coalesce("offset", "wanted").cast("string"))
    named = newest_look(records.where(F.col("why") == "suspect")).withColumn("name", text)
    # a record that could not be read for another reason (an old format, a time-out, access) is no damaged one
    damaged = F.coalesce(F.col("error").rlike("damaged|CORRUPT_MESSAGE|INVALID_RECORD|^a batch of"), F.lit(False))
    what = F.concat_ws(
        ", ",
        F.when(F.col("value_bytes").isNull(), F.lit("no value (a tombstone)")).otherwise(
            F.concat(F.format_number("value_bytes", 0), F.lit(" bytes"))
        ),
        F.when(F.size("decodes") > 0, F.concat(F.lit("reads as "), F.concat_ws(" and ", "decodes"))),
        F.when(F.col("schema_id").isNotNull(), F.concat(F.lit("schema id "), "schema_id")),
        "differs",
    )
    suspects = named.withColumns(
        {
            "reason": F.when(damaged, "damaged").when(F.col("job").isNull(), "asked").when(F.col("differs").isNotNull(), "odd"),
            "how": F.when(F.col("error").isNotNull(), F.col("error")).otherwise(what),
        }
    ).where(F.col("reason").isNotNull() & (F.col("offset").isNotNull() | damaged))
    suspects = suspects.withColumn("own_step", _step())
    place = F.struct("topic", "partition", "wanted", "offset")
    found = suspects.groupBy("scope", "job", "reason").agg(
        F.count("*").alias("count"),
        F.min_by("name", place).alias("first"),
        F.min_by("how", place).alias("how"),
        F.min_by("own_step", place).alias("step"),
        F.min_by("at", place).alias("written"),
        F.min_by("topic", place).alias("worst_topic"),
        F.min_by("partition", place).alias("worst_partition"),
        F.min_by(F.coalesce("offset", "wanted"), place).alias("worst_offset"),
        F.array_sort(F.collect_set("name")).alias("all_named"),
        F.max("as_of").alias("until"),
        evidence("records", F.concat("name", F.lit(": "), "how"), at="at"),
    )
    one = F.col("count") == 1
    unsure = "Several records differ; which of them the job cannot take is not known from here."
    return found.withColumns(
        {
            "topic": F.when(one, F.col("worst_topic")),
            "partition": F.when(one, F.col("worst_partition")),
            "offset": F.when(one, F.col("worst_offset")),
            "others": F.when(~one, F.col("count") - 1),
            "named": F.when(~one, F.col("all_named")),
            "unsure": F.when(~one, F.lit(unsure)),
            "confidence": F.when(one, F.lit(0.9)).otherwise(F.lit(0.6)),
            "severity": F.when(F.col("reason") == "asked", "info").otherwise("critical"),
            "cause": F.when(F.col("reason") != "asked", "poison-record"),
        }
    ).drop("all_named", "count")


def _step() -> Column:
    """What to do about a record that is odd in this way, in the words of cli/collectors/kafka_peek.py; null where it tells nothing."""
    differs = F.coalesce("differs", F.lit(""))
    return (
        F.when(
            F.col("value_bytes").isNull() & F.col("error").isNull(),
            "It has no value: let the deserialiser drop it or return null (SQL: upsert-kafka reads tombstones, format json does not).",
        )
        .when(
            differs.contains("its schema id is"),
            F.concat(
                F.lit("Ask the registry for its schema (GET /schemas/ids/"),
                "schema_id",
                F.lit("): the job's own schema cannot read it, or the registry does not know it."),
            ),
        )
        .when(
            differs.contains("it decodes as"),
            "It was written in another format: find the producer that wrote at that moment, and stop it; more may follow.",
        )
        .when(
            differs.contains("field "),
            "Make that field nullable, or of a type that takes both, in the job's schema; and have the producer corrected.",
        )
        .when(
            differs.contains("bytes, its neighbours"),
            "Look at the limits behind the source: max.request.size of the sink, the length of a column, memory of the function.",
        )
    )
