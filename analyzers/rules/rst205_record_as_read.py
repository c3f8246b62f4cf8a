"""RST205: the record that makes the job fail, read back from Kafka."""

from analyzers.vocabulary import CRITICAL, Column, DataFrame, F, count, evidence, first_of, newest_snapshot, rule

_ANOTHER = {"tombstone": "no value", "format": "another format", "field": "a field of another type", "size": "another size"}


@rule(
    "RST205", title="Suspect record, read back from Kafka", stage="access", severity=CRITICAL, cause="poison-record",
    says={
        "odd": "The record that differs where every attempt begins to read again: {first}[[, written {written} UTC]]: {how}"
        "[[. {others} more: all that differ are {named}]]",
        "damaged": "{first} is damaged on the broker, Java clients refuse it: {how}",
        "asked": "{first}[[, written {written} UTC]]: {how}",
    },
    inferred="[[All {differing} records differ; these data do not show which of them the job cannot process.]]",
    next_command="kcat -C -b HOST:PORT -t {worst_topic} -p {worst_partition} -o {worst_offset} -c 1 -e -D '' > record.bin",
)  # fmt: skip
def record_as_read(records: DataFrame) -> DataFrame:
    """Per job, suspects among the records that were read: those that differ from their neighbours, cannot be read, or were asked for."""
    name = F.concat(F.concat_ws("-", "topic", "partition"), F.lit(" at "), F.coalesce("offset", "wanted"))
    # a record that could not be read for another reason (an old format, a time-out, access) is not damaged
    damaged = F.coalesce(F.col("error").rlike("damaged|CORRUPT_MESSAGE|INVALID_RECORD|^a batch of"), F.lit(False))
    reason = first_of(("damaged", damaged), ("asked", F.col("job").isNull()), ("odd", F.col("differs").isNotNull()))
    size = F.coalesce(F.concat(F.format_number("value_bytes", 0), F.lit(" bytes")), F.lit("no value (a tombstone)"))
    reads = F.when(F.size("decodes") > 0, F.concat(F.lit("reads as "), F.concat_ws(" and ", "decodes")))
    # what is odd comes first, as headlines are cut at their end
    decoding = F.coalesce(F.col("differs").startswith("it decodes as"), F.lit(False))
    what = F.concat_ws(", ", "differs", size, F.when(~decoding, reads), F.concat(F.lit("schema id "), "schema_id"))
    read = newest_snapshot(records.where(F.col("why") == "suspect"))
    suspects = read.withColumns({"_name": name, "reason": reason, "_how": F.coalesce("error", what), "_kind": _kind()})
    asked = F.col("reason") == "asked"
    suspects = suspects.where(F.col("reason").isNotNull() & (F.col("offset").isNotNull() | damaged | asked))
    place = F.struct("topic", "partition", "wanted", "offset")
    firsts: dict[str, Column | str] = {
        "first": "_name", "how": "_how", "_kind": "_kind", "written": "at", "_schema": "schema_id", "worst_topic": "topic",
        "worst_partition": "partition", "worst_offset": F.coalesce("offset", "wanted"),
    }  # fmt: skip
    # what was asked for is answered record by record; of what was searched the first that differs counts
    found = suspects.groupBy("scope", "job", "reason", F.when(asked, F.col("_name")).alias("_asked")).agg(
        count().alias("_count"),
        *(F.min_by(value, place).alias(name) for name, value in firsts.items()),
        F.sort_array(F.collect_set("_name")).alias("_named"),
        F.max("as_of").alias("until"),
        evidence("records", F.concat("_name", F.lit(": "), "_how"), at="at"),
    )
    one, several = F.col("_count") == 1, F.col("_count") > 1
    return found.withColumns(
        {
            **{key: F.when(one, F.col(f"worst_{key}")) for key in ("topic", "partition", "offset")},
            **{kind: F.when(F.col("_kind") == kind, words) for kind, words in _ANOTHER.items()},
            "schema": F.when(F.col("_kind") == "schema", F.col("_schema")),
            "others": F.when(several, F.col("_count") - 1),
            "differing": F.when(several, F.col("_count")),
            "named": F.when(several, F.col("_named")),
            "confidence": F.when(one, 0.9).otherwise(0.6),
            "severity": first_of(("info", F.col("reason") == "asked"), otherwise="critical"),
            "cause": F.when(F.col("reason") != "asked", "poison-record"),
        }
    )


def _kind() -> Column:
    """In which way a record is odd, by the words of cli/collectors/kafka_peek.py; null where they name none."""
    differs = F.coalesce("differs", F.lit(""))
    return first_of(
        ("tombstone", F.col("value_bytes").isNull() & F.col("error").isNull()),
        ("schema", differs.contains("its schema id is")),
        ("format", differs.contains("it decodes as")),
        ("field", differs.contains("field ")),
        ("size", differs.contains("bytes, its neighbours")),
    )
