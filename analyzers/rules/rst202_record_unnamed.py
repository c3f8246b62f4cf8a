"""RST202: deserialization fails after every restart; the log does not name the record."""

from analyzers.vocabulary import (
    CRITICAL,
    DataFrame,
    F,
    IfGiven,
    agreed,
    beside,
    detail,
    distinct,
    event,
    failures,
    first_of,
    joined,
    number_of,
    numbered,
    rule,
    some,
)  # fmt: skip
from analyzers.vocabulary.connect import connect_task, its_connector, of_connect
from analyzers.vocabulary.quick_looks import is_failure
from analyzers.vocabulary.user_code import names_record, same_batch, without_jobs

_AFTER = (
    "[[; it is in {topic}, partition {partition}, the only split of that subtask]]: {what}; {failures} failure(s)[[ in {attempts} "
    "attempt(s)]][[ since {since} UTC]]"
)
_FEW_SPLITS = 8  # more of them narrow nothing down that can be searched by hand


@rule(
    "RST202", title="A record that cannot be read stops the job; the log does not name it", stage="access", severity=CRITICAL,
    cause="poison-record", faults=("deserialise", "corrupt-batch"), signatures=("partitions-assigned-by-client", "enumerator-started"),
    says={
        "corrupt-batch": f"A batch is damaged on a broker[[, read by {{task}}]][[ {{subtask_shown}}]]{_AFTER}",
        "": f"A record cannot be deserialized[[ by {{task}}]][[ {{subtask_shown}}]][[ by tasks {{killed}}]]{_AFTER}",
    },
    inferred="[[The partition follows from the split that the failing subtask was assigned: {topic}-{partition}, the same in each attempt "
    "of which the logs show it.]]",
    missing="[[the offset: at or after {from_offset}, where the attempts start to read that partition; ]]"
    "[[{unnamed} of the record: this exception does not carry them; ]]"
    "[[the partition: one of {given}, the splits that the failing subtask was assigned; ]]"
    "[[the partition: one of {may_be}, which subtask {subtask_shown} of this job and of {other_jobs} were assigned by lines that name no "
    "job; ]]{bound} bounds it, and a consumer from there on finds it",
    next_command="[[diag checkpoint-inspect {checkpoints}]][[   # split {topic}-{partition}: the offset from which each restart reads]]"
    "[[curl -s http://CONNECT:8083/connectors/{connector}/status   # each task's state, and the trace of what failed it]]",
    needs=some(lambda fault: is_failure(fault) and not names_record(fault)),
)  # fmt: skip
def record_unnamed(
    faults: DataFrame,
    split_claims: IfGiven,
    attempts: IfGiven,
    log_events: IfGiven,
    *,
    batches: int = 2,  # as SPK101, which then names the batch
) -> DataFrame:
    """Fatal deserialization faults without topic and partition; the partition follows where the failing subtask held one split only."""
    unnamed = faults.where(F.col("topic").isNull() | F.col("partition").isNull())
    own = unnamed.where(F.col("fatal"))
    assigned = split_claims.where((F.col("how") == "assigned") & F.col("topic").isNotNull())
    failed = own.select("scope", "job", "attempt", "subtask").distinct()
    dealt = joined(failed, assigned, ["scope", "job", "attempt", "subtask"]).select("scope", "job", "subtask", "topic", "partition")
    begins = split_claims.where(F.col("offset").isNotNull()).groupBy("scope", "job", "topic", "partition")
    held = _given(dealt.unionByName(_assigned_by_client(own, log_events)))
    held = held.join(begins.agg(F.max("offset").alias("from_offset")), ["scope", "job", "topic", "partition"], "left")
    found = without_jobs(failures(unnamed, *connect_task()), same_batch(attempts, enough=batches))
    known = beside(beside(found, held, "job"), _of_any_job(own, assigned, log_events), "job")
    placed, given = F.col("partition").isNotNull(), F.col("given").isNotNull()
    return known.withColumns(
        {
            "reason": first_of(("corrupt-batch", F.array_contains("fault_ids", "corrupt-batch")), otherwise="deserialiser"),
            "unnamed": F.when(~placed, "topic, partition and offset"),
            "connector": its_connector(),
            "bound": F.when(
                of_connect(), F.concat(F.lit("the committed offset of its consumer group, connect-"), its_connector())
            ).otherwise("the source state of the last checkpoint"),
            # which of the ways to go on the page shows
            "checkpoints": F.when(~of_connect(), "CHECKPOINT_DIRECTORY"),
            "make": F.when(~of_connect(), "Make"),
            "may_be": F.when(~placed & ~given, F.col("may_be")),
            # wanted: who fails, in which partition, more than once
            "confidence": F.when(placed, 0.9).when(F.col("failures") > 1, 0.8).otherwise(0.6),
        }
    )


def _given(held: DataFrame) -> DataFrame:
    """Per job topic and partition where all rows of `held` are one split of one subtask; given, where they are a few splits of it."""
    splits = held.groupBy("scope", "job").agg(
        numbered(F.concat_ws("-", "topic", "partition"), "_splits"),
        number_of("subtask").alias("_subtasks"),
        agreed("topic"),
        agreed("partition"),
    )
    one = F.size("_splits") == 1
    few = F.when(~one, F.array_join("_splits", ", ")).alias("given")
    known = splits.where((F.col("_subtasks") == 1) & (F.size("_splits") <= _FEW_SPLITS))
    return known.select("scope", "job", few, *(F.when(one, F.col(name)).alias(name) for name in ("topic", "partition")))


def _of_any_job(own: DataFrame, assigned: DataFrame, log_events: DataFrame) -> DataFrame:
    """Splits that the failing subtask's number was assigned in a session cluster, of any job: may_be, other_jobs per scope and job."""
    failed = own.select("scope", "job", "subtask").distinct()
    dealt = assigned.where(F.col("job").isNull()).drop("job")
    splits = joined(failed, dealt, ["scope", "subtask"]).groupBy("scope", "job").agg(numbered("split", "_splits"))
    sources = log_events.where(event("enumerator-started")).select("scope", F.col("job").alias("_other")).distinct()
    others = (
        joined(failed, sources, "scope").where(F.col("_other") != F.col("job")).groupBy("scope", "job").agg(distinct("_other", "_others"))
    )
    lists = (F.array_join(many, ", ").alias(name) for many, name in (("_splits", "may_be"), ("_others", "other_jobs")))
    return joined(splits, others, ["scope", "job"]).select("scope", "job", *lists)


def _assigned_by_client(own: DataFrame, log_events: DataFrame) -> DataFrame:
    """The partitions that the failing subtask's own consumer assigned itself, in the log of the TaskManager that prints its failure.

    KafkaSource names that consumer after group and subtask, ``orders-totals-1`` (KafkaPartitionSplitReader.createConsumerClientId).
    """
    number = F.regexp_extract("client", r"-(\d+)$", 1)
    named = log_events.where(event("partitions-assigned-by-client") & (F.col("client") == F.concat_ws("-", "group", number)))
    split = F.explode(F.split(F.trim(detail("partitions")), r",\s*")).alias("_split")
    listed = named.select("scope", "job", "file", number.cast("long").alias("subtask"), split)
    failed = own.select("scope", "job", "file", "subtask").distinct()
    topic = F.regexp_extract("_split", r"^(.+)-(\d+)$", 1).alias("topic")
    partition = F.regexp_extract("_split", r"-(\d+)$", 1).try_cast("long").alias("partition")
    return joined(failed, listed, ["scope", "job", "file", "subtask"]).select("scope", "job", "subtask", topic, partition)
