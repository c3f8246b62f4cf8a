"""LAG403: the sink's producer was fenced or its transaction is gone: what it wrote is not committed."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.aggregates import agreed, failures, joined
from analyzers.finding import Severity
from analyzers.rule import exemplars, rule


@rule(
    "LAG403",
    title="A transactional producer was fenced",
    cause="offset-commit",
    stage="commit",
    severity=Severity.CRITICAL,
    faults=("producer-fenced",),
    signatures=("sink-commit-failed", "producer-fenced", "transaction-state-invalid"),
    says="The sink's transactional producer[[ of {task}]] was fenced[[ ({transactional_id})]]: {what}; {failures} failure(s)[[, first "
    "at {since} UTC]]. "
    "Either a second copy of the job writes with the same transactional ids, or a transaction was open longer than "
    "transaction.timeout.ms[[; {lost}]]",
    fix="Look for a second running copy of the job (or another job with the same transactionalIdPrefix) and stop it, or give each its "
    "own prefix. If there is none, raise transaction.timeout.ms above the longest checkpoint plus restart "
    "(and the broker's transaction.max.timeout.ms above that).",
    inferred="[[{why_lost}]]",
)
def producer_fenced(log_events: DataFrame, faults: DataFrame) -> DataFrame:
    """Fatal fencing faults per job, and commits of the Kafka sink that were given up (their records may be missing)."""
    found = failures(faults)
    given_up = log_events.where((F.col("signature") == "sink-commit-failed") & (F.col("level") == "ERROR"))
    lost = given_up.groupBy("scope", "job").agg(
        F.count("*").alias("given_up"),
        F.min("at").alias("lost_since"),
        F.max("at").alias("lost_until"),
        F.min_by(F.col("detail")["because"], F.struct("at", "file", "line")).alias("because"),
        exemplars().alias("lost_evidence"),
    )
    ids = log_events.groupBy("scope", "job").agg(agreed(F.col("detail")["transactional_id"], "transactional_id"))
    both = joined(joined(found, lost, "full"), ids)
    return (
        both.select(
            "scope",
            "job",
            "task",
            "subtask",
            "parallelism",
            "attempts",
            "transactional_id",
            F.lit("fenced").alias("reason"),
            F.coalesce("failures", "given_up").alias("failures"),
            F.coalesce("what", F.concat(F.lit("a commit was given up because "), F.coalesce("because", F.lit("it met an error")))).alias(
                "what"
            ),
            F.least("since", "lost_since").alias("since"),
            F.greatest("until", "lost_until").alias("until"),
            F.coalesce("fault_ids", F.array(F.lit("producer-fenced"))).alias("fault_ids"),
            F.coalesce("evidence", "lost_evidence").alias("evidence"),
            F.format_string(
                "%s transaction(s) were given up: their records may be missing downstream", F.col("given_up").cast("string")
            ).alias("_lost"),
            F.when(F.col("given_up") > 0, F.lit("Flink goes on after a fenced commit and does not write its records again.")).alias(
                "why_lost"
            ),
            F.col("given_up"),
        )
        .withColumn("lost", F.when(F.col("given_up") > 0, F.col("_lost")))
        .drop("_lost", "given_up")
    )
