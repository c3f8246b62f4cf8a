"""LAG403: the sink's producer was fenced or its transaction is gone: what it wrote is not committed."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, failures, seconds
from analyzers.vocabulary.findings import beside, exemplars
from analyzers.vocabulary.rule import rule

_FENCED = (
    "The sink's transactional producer[[ of {task}]] was fenced[[ ({transactional_id})]]: {what}; {failures} failure(s)[[, first "
    "at {since} UTC]]"
)
_NAMED = r"transactionalId='?([^'\s,}\]]+)"  # as Flink's producer and committable print themselves, and the client its prefix


@rule(
    "LAG403",
    title="A transactional producer was fenced",
    cause="offset-commit",
    stage="commit",
    severity=Severity.CRITICAL,
    faults=("producer-fenced",),
    signatures=("sink-commit-failed", "producer-fenced", "transaction-state-invalid", "transaction-timed-out"),
    says={
        "timed-out": f"{_FENCED}. The brokers had aborted what it had begun ({{aborted_ids}}), open longer than transaction.timeout.ms"
        "[[; {lost}]]",
        "recovered": "After a restart the sink could not commit {given_up} transaction(s) of the restored checkpoint again[[ ({ids})]]: "
        "{what}. Mostly they had been committed before the restart, and nothing is missing; only one that the brokers had aborted by then "
        "is lost",
        "": f"{_FENCED}. Either a second copy of the job writes with the same transactional ids, or a transaction was open longer than "
        "transaction.timeout.ms[[ (the brokers aborted such ones of {others_aborted})]][[; {lost}]]",
    },
    inferred="[[{why_lost}]]",
    next_command="diag lag-report --bootstrap-server HOST:PORT,…   # transactions that are open now, and who holds them",
)
def producer_fenced(
    log_events: DataFrame,
    faults: DataFrame,
    attempts: DataFrame | None,
    *,
    beginning: int = 60,  # seconds from the start of an attempt: what the restored checkpoint had to commit is committed again
) -> DataFrame:
    """Fatal fencing faults per job, and commits of the Kafka sink that were given up (their records may be missing).

    A restored committable has no producer, and most were committed before the restart (Flink's KafkaCommitter, CommitterOperator): alone
    they are no sign of a second copy.
    """
    timed_out = F.col("signature") == "transaction-timed-out"
    of_job = log_events.where(~timed_out)
    found = failures(faults)
    given_up = of_job.where((F.col("signature") == "sink-commit-failed") & (F.col("level") == "ERROR"))
    given_up = _with_restored(given_up, attempts, beginning=beginning)
    lost = given_up.groupBy("scope", "job").agg(
        F.count("*").alias("given_up"),
        F.min("at").alias("lost_since"),
        F.max("at").alias("lost_until"),
        F.min_by(F.col("detail")["because"], F.struct("at", "file", "line")).alias("because"),
        F.count_if(~F.col("restored")).alias("given_up_later"),
        exemplars().alias("lost_evidence"),
    )
    told = F.nullif(F.regexp_extract("text", _NAMED, 1), F.lit(""))
    ids = of_job.groupBy("scope", "job").agg(agreed(told, "transactional_id"), F.collect_set(told).alias("own_ids"))
    aborted = (
        log_events.where(timed_out)
        .groupBy("scope")
        .agg(F.array_sort(F.collect_set(F.col("detail")["transactional_id"])).alias("aborted"), exemplars().alias("aborted_evidence"))
    )
    both = beside(beside(found, lost, "job", how="full"), ids, "job").join(aborted, "scope", "left")
    proven = F.array_intersect("aborted", "own_ids")
    own = F.coalesce(F.size(proven) > 0, F.lit(False))
    again = F.col("failures").isNull() & (F.col("given_up_later") == 0) & ~own
    evidence = F.coalesce("evidence", "lost_evidence")
    return (
        both.select(
            "scope",
            "job",
            "task",
            "subtask",
            "parallelism",
            "attempts",
            "transactional_id",
            F.when(own, F.lit("timed-out")).when(again, F.lit("recovered")).otherwise(F.lit("fenced")).alias("reason"),
            F.when(~again, F.lit("offset-commit")).alias("cause"),
            F.when(again, F.lit("info")).otherwise(F.lit("critical")).alias("severity"),
            F.array_join(F.array_sort("own_ids"), ", ").alias("ids"),
            F.when(own, F.array_join(proven, ", ")).alias("aborted_ids"),
            F.when(~own, F.array_join("aborted", ", ")).alias("others_aborted"),
            F.coalesce("failures", "given_up").alias("failures"),
            F.coalesce("what", F.concat(F.lit("a commit was given up because "), F.coalesce("because", F.lit("it met an error")))).alias(
                "what"
            ),
            F.least("since", "lost_since").alias("since"),
            F.greatest("until", "lost_until").alias("until"),
            F.coalesce("fault_ids", F.array(F.lit("producer-fenced"))).alias("fault_ids"),
            F.when(own, F.concat(F.slice(evidence, 1, 4), F.slice("aborted_evidence", 1, 1))).otherwise(evidence).alias("evidence"),
            F.format_string(
                "%s transaction(s) were given up: their records may be missing downstream", F.col("given_up").cast("string")
            ).alias("_lost"),
            F.when(
                (F.col("given_up") > 0) & ~again, F.lit("Flink goes on after a fenced commit and does not write its records again.")
            ).alias("why_lost"),
            F.col("given_up"),
        )
        .withColumn("lost", F.when(F.col("given_up") > 0, F.col("_lost")))
        .drop("_lost")
    )


def _with_restored(given_up: DataFrame, attempts: DataFrame | None, *, beginning: int) -> DataFrame:
    """`given_up` with `restored`: whether the commit is one of a restored checkpoint, by its own words or by its time."""
    own = F.coalesce(F.col("text").rlike(r"producer=null|recovered transaction"), F.lit(False))
    if attempts is None:
        return given_up.withColumn("restored", own)
    starts = attempts.where((F.col("attempt") > 0) & F.col("started_at").isNotNull())
    begun = starts.groupBy(F.col("scope").alias("_scope")).agg(F.collect_list("started_at").alias("_begun"))
    in_time = F.exists("_begun", lambda start: seconds(start, F.col("at")).between(-1, beginning)) & ~F.col("text").contains("producer=")
    both = given_up.join(begun, F.col("scope") == F.col("_scope"), "left")
    return both.withColumn("restored", own | F.coalesce(in_time, F.lit(False))).drop("_scope", "_begun")
