"""RST202: deserialisation fails after every restart; the log does not name the record."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import distinct, failures, numbered
from analyzers.vocabulary.findings import beside
from analyzers.vocabulary.rule import FAILING, rule
from analyzers.vocabulary.user_code import same_batch, without_jobs

_FEW_SPLITS = 8  # more of them narrow nothing down that somebody could look through


@rule(
    "RST202",
    title="A record that cannot be read stops the job; the log does not name it",
    cause="poison-record",
    stage="access",
    severity=Severity.CRITICAL,
    faults=("deserialise", "corrupt-batch"),
    signatures=("partitions-assigned-by-client", "enumerator-started"),
    says="A record cannot be deserialised[[ by {task}]][[ {subtask_shown}]][[; it is in {topic}, partition {partition}, the only split "
    "of that subtask]]: {what}; {failures} failure(s)[[ in {attempts} attempt(s)]][[ since {since} UTC]]",
    inferred="[[The partition follows from the split that the failing subtask was given: {topic}-{partition}, the same in each attempt "
    "that tells.]]",
    missing="[[the offset: at or after {from_offset}, where the attempts start to read that partition; ]][[{unnamed}; ]]"
    "[[the partition: one of {given}, the splits that the failing subtask was given; ]]"
    "[[the partition: one of {may_be}, which subtask {subtask_shown} of this job and of {other_jobs} were given by lines without a job; ]]"
    "the source state of the last checkpoint bounds it, and a consumer from there on finds it",
    next_command="diag checkpoint-inspect CHECKPOINT_DIRECTORY[[   # split {topic}-{partition}: the offset from which each restart reads]]",
    needs=FAILING,
)
def record_unnamed(
    faults: DataFrame,
    split_claims: DataFrame | None,
    attempts: DataFrame | None,
    log_events: DataFrame | None,
    *,
    batches: int = 2,  # as SPK101, which then names the batch
) -> DataFrame:
    """Fatal deserialisation faults without topic and partition; the partition follows where the failing subtask held one split only."""
    unnamed = faults.where(F.col("topic").isNull() | F.col("partition").isNull())
    corrupt = F.array_contains("fault_ids", "corrupt-batch")
    found = failures(unnamed).withColumn("reason", F.when(corrupt, F.lit("corrupt-batch")).otherwise(F.lit("deserialiser")))
    if attempts is not None:
        found = without_jobs(found, same_batch(attempts, enough=batches))
    if split_claims is None or log_events is None:
        nothing = {"topic": "string", "partition": "long", "from_offset": "long", "may_be": "string", "other_jobs": "string"}
        return _worded(found.withColumns({name: F.lit(None).cast(kind) for name, kind in (nothing | {"given": "string"}).items()}))
    held = _given(_dealt(unnamed, split_claims).unionByName(_assigned_by_client(unnamed, log_events)))
    begins = split_claims.where(F.col("offset").isNotNull()).groupBy("scope", "job", "topic", "partition")
    held = held.join(begins.agg(F.max("offset").alias("from_offset")), ["scope", "job", "topic", "partition"], "left")
    return _worded(beside(beside(found, held, "job"), _of_any_job(unnamed, split_claims, log_events), "job"))


def _worded(found: DataFrame) -> DataFrame:
    nameless = F.lit("topic, partition and offset of the record: this exception does not carry them")
    return found.withColumns(
        {
            "unnamed": F.when(F.col("partition").isNull(), nameless),
            "may_be": F.when(F.col("partition").isNull() & F.col("given").isNull(), F.col("may_be")),
            # wanted: who fails, in which partition, more than once
            "confidence": F.when(F.col("partition").isNotNull(), F.lit(0.9)).when(F.col("failures") > 1, F.lit(0.8)).otherwise(F.lit(0.6)),
        }
    )


def _given(held: DataFrame) -> DataFrame:
    """Per job topic and partition, where all that `held` (scope, job, subtask, topic, partition) tells is one split of one subtask; given,
    where it is a few."""
    told = held.groupBy("scope", "job").agg(
        numbered(F.concat_ws("-", "topic", "partition"), "splits"),
        F.countDistinct("subtask").alias("subtasks"),
        F.max("topic").alias("topic"),
        F.max("partition").alias("partition"),
    )
    one, few = F.size("splits") == 1, F.size("splits").between(2, _FEW_SPLITS)
    return told.where((F.col("subtasks") == 1) & (one | few)).select(
        "scope",
        "job",
        F.when(one, F.col("topic")).alias("topic"),
        F.when(one, F.col("partition")).alias("partition"),
        F.when(few, F.array_join("splits", ", ")).alias("given"),
    )


def _dealt(faults: DataFrame, claims: DataFrame) -> DataFrame:
    """The splits that the enumerator dealt to the failing subtask in the attempts that failed."""
    own = faults.where(F.col("fatal")).select("scope", "job", "attempt", "subtask").distinct()
    assigned = claims.where((F.col("how") == "assigned") & F.col("topic").isNotNull())
    return own.join(assigned, ["scope", "job", "attempt", "subtask"]).select("scope", "job", "subtask", "topic", "partition")


def _of_any_job(faults: DataFrame, claims: DataFrame, log_events: DataFrame) -> DataFrame:
    """Splits that the failing subtask's number was given in a session cluster, of whichever job: may_be, other_jobs per scope and job."""
    own = faults.where(F.col("fatal")).select("scope", "job", "subtask").distinct()
    dealt = claims.where((F.col("how") == "assigned") & F.col("topic").isNotNull() & F.col("job").isNull())
    splits = own.join(dealt.drop("job"), ["scope", "subtask"]).groupBy("scope", "job").agg(numbered("split", "splits"))
    sources = log_events.where(F.col("signature") == "enumerator-started").select("scope", F.col("job").alias("other")).distinct()
    others = own.join(sources, "scope").where(F.col("other") != F.col("job")).groupBy("scope", "job").agg(distinct("other", "others"))
    told = splits.join(others, ["scope", "job"])
    return told.select(
        "scope", "job", *(F.array_join(many, ", ").alias(one) for many, one in (("splits", "may_be"), ("others", "other_jobs")))
    )


def _assigned_by_client(faults: DataFrame, log_events: DataFrame) -> DataFrame:
    """The partitions that the failing subtask's own consumer assigned itself, in the log of the TaskManager that prints its failure.

    KafkaSource calls that consumer after group and subtask, ``orders-totals-1`` (KafkaPartitionSplitReader.createConsumerClientId).
    """
    own = faults.where(F.col("fatal")).select("scope", "job", "file", "subtask").distinct()
    number = F.regexp_extract("client", r"-(\d+)$", 1)
    named = log_events.where(
        (F.col("signature") == "partitions-assigned-by-client") & (F.col("client") == F.concat_ws("-", "group", number))
    )
    split = F.explode(F.split(F.trim(F.col("detail")["partitions"]), r",\s*")).alias("split")
    listed = named.select("scope", "job", "file", number.cast("long").alias("subtask"), split)
    place = {"topic": F.regexp_extract("split", r"^(.+)-(\d+)$", 1), "partition": F.regexp_extract("split", r"-(\d+)$", 1).try_cast("long")}
    return own.join(listed, ["scope", "job", "file", "subtask"]).select("scope", "job", "subtask", *(c.alias(n) for n, c in place.items()))
