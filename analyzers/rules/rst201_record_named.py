"""RST201: the same record makes every attempt fail, and the log names it."""

from analyzers.vocabulary import CRITICAL, DataFrame, F, agreed, failures, first_of, rule, some
from analyzers.vocabulary.connect import connect_task, its_connector, of_connect
from analyzers.vocabulary.quick_looks import is_failure
from analyzers.vocabulary.user_code import names_record

# Confluent's registry: 40401 subject, 40402 version, 40403 schema not found
_NO_SCHEMA = r"(error code: 404\d\d|(?:Schema|Subject|Version) [^\n]{0,80}not found)"
_SCHEMA = r"\b(?:for id|[Ss]chema) (\d{1,10})\b"
_PLACE = "in {topic}, partition {partition}[[, offset {offset}]]"
_AFTER = "{what}; {failures} failure(s)[[ in {attempts} attempt(s)]][[ since {since} UTC]]"


@rule(
    "RST201", title="A record that cannot be read stops the job, and the log names it", stage="access", severity=CRITICAL,
    cause="poison-record", faults=("deserialise", "corrupt-batch"), needs=some(lambda fault: is_failure(fault) and names_record(fault)),
    says={
        "corrupt-batch": f"The batch {_PLACE} is damaged on the broker: {_AFTER}",
        "schema-unknown": f"The record {_PLACE} names schema[[ {{schema_id}}]], which the schema registry does not know: {_AFTER}",
        "": f"The record {_PLACE} cannot be deserialized[[ by {{task}}]]: {_AFTER}",
    },
    next_command={
        "corrupt-batch": "kafka-dump-log.sh --deep-iteration --files LOGDIR/{topic}-{partition}/SEGMENT.log   # on each replica",
        "": "kafka-console-consumer.sh --bootstrap-server HOST:9092 --topic {topic} --partition {partition}[[ --offset {offset}]] "
        "--max-messages 1",
    },
)  # fmt: skip
def record_named(faults: DataFrame) -> DataFrame:
    """Fatal record faults whose text gives topic and partition; several partitions of one job are several findings."""
    # the offset of a corrupt batch stands in its cause, one exception below the partition
    of_batch = F.regexp_extract("text", r"Record batch for partition \S+ at offset (\d+) is invalid", 1)
    offset = F.coalesce("offset", F.nullif(of_batch, F.lit("")).cast("long"))
    named = faults.where(F.col("topic").isNotNull() & F.col("partition").isNotNull()).withColumn("_offset", offset)
    schema = F.nullif(F.regexp_extract(F.array_join("chain", "\n"), _SCHEMA, 1), F.lit(""))
    named = named.withColumn("_schema", schema)
    found = failures(
        named, agreed("_offset", "offset"), agreed("_schema", "schema_id"), *connect_task(), by=("scope", "job", "topic", "partition")
    )
    return found.withColumns(
        {
            "reason": first_of(
                ("corrupt-batch", F.array_contains("fault_ids", "corrupt-batch")),
                ("schema-unknown", F.rlike("what", F.lit(_NO_SCHEMA))),
                otherwise="deserialiser",
            ),
            "connector": its_connector(),
            # which of the ways to go on the page shows
            "make": F.when(~of_connect(), "Make"),
            "checkpoints": F.when(~of_connect(), "CHECKPOINT_DIRECTORY"),
            "no_id": F.when(F.col("schema_id") == "0", F.lit("No registry gives the id 0")),
            "confidence": F.when(F.col("offset").isNotNull(), 1.0).otherwise(0.9),  # wanted: topic, partition and one offset
        }
    )
