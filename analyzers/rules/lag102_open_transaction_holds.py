"""LAG102: readers of committed records wait at the last stable offset, and the log goes on without them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import seconds
from analyzers.vocabulary.lag import per_group
from analyzers.vocabulary.rule import rule

_ABORT = (
    "kafka-transactions.sh --bootstrap-server HOST:PORT abort --topic {worst_topic} --partition {worst_partition} "
    "--start-offset {worst_stable}"
)


@rule(
    "LAG102",
    title="An open transaction holds the last stable offset",
    cause="no-progress",
    stage="lag",
    severity=Severity.CRITICAL,
    says={
        "held": "Group {group} has read all it may on {places} partition(s) ({named}) and waits behind an open transaction. The worst, "
        "{worst}: {worst_says}[[. It is transaction {transactional_id} of producer {producer}, begun {started_at} UTC]]. Readers with "
        "isolation.level=read_committed get nothing of it",
        "long": "{hidden_records} records lie behind a transaction that has been open since {since} UTC, on {places} partition(s) where "
        "group {group} has read all it may: {named}[[. It is transaction {transactional_id} of producer {producer}]]. No earlier "
        "transaction tells how often its writer commits: it hangs, unless that takes longer",
        "": "{hidden_records} records lie behind an open transaction on {places} partition(s) where group {group} has read all it may: "
        "{named}. Normal between two commits of an exactly-once writer; a hanging transaction when the last stable offset stays",
    },
    missing="[[{unnamed}]]",
    next_command={
        "long": "[[kafka-transactions.sh --bootstrap-server HOST:PORT describe --transactional-id {transactional_id}]]"
        "[[kafka-transactions.sh --bootstrap-server HOST:PORT describe-producers --topic {nameless_topic} --partition {worst_partition}]]",
        "": "kafka-transactions.sh --bootstrap-server HOST:PORT describe-producers --topic {worst_topic} --partition {worst_partition}",
    },
)
def open_transaction_holds(
    lag_truth: DataFrame,
    open_transactions: DataFrame | None,
    *,
    enough: int = 1000,  # records behind an open transaction that is still young: fewer are of no interest
    long: int = 180,  # seconds open, of a writer whose rhythm is unknown: three checkpoints of a minute
    hidden: int = 2,  # records behind one that stays: a single one may be the marker of a transaction that ends just now
) -> DataFrame:
    """Per group, partitions whose reader stands at the last stable offset with records behind it; held when it stays, long when it
    has been open for longer than most writers take."""
    unusual = F.coalesce((seconds("since", "as_of") >= long) & F.col("interval_seconds").isNull(), F.lit(False))
    rows = lag_truth.where(F.col("truth").isin("blocked", "in-transaction")).withColumns(
        {
            "reason": F.when(F.col("truth") == "blocked", "held").when(unusual, "long").otherwise("open"),
            "hidden": F.col("high_watermark") - F.col("last_stable"),
        }
    )
    rows = rows.where(F.col("hidden") >= F.when(F.col("reason") == "open", F.lit(enough)).otherwise(F.lit(hidden)))
    if open_transactions is None:
        known = rows.withColumns({"transactional_id": F.lit(None).cast("string"), "producer": F.lit(None).cast("long")})
        known = known.withColumn("started_at", F.lit(None).cast("timestamp"))
    else:
        told = open_transactions.groupBy("scope", "topic", "partition", F.col("offset").alias("last_stable")).agg(
            F.max_by("transactional_id", "as_of").alias("transactional_id"),
            F.max_by("producer", "as_of").alias("producer"),
            F.max_by("started_at", "as_of").alias("started_at"),
        )
        known = rows.join(told, ["scope", "topic", "partition", "last_stable"], "left")
    found = per_group(
        known,
        F.sum("hidden").alias("hidden_records"),
        F.max_by("last_stable", "hidden").alias("worst_stable"),
        F.max_by("transactional_id", "hidden").alias("transactional_id"),
        F.max_by("producer", "hidden").alias("producer"),
        F.max_by("started_at", "hidden").alias("started_at"),
        F.min("since").alias("since"),
        weight="hidden",
    )
    held, open_ = F.col("reason") == "held", F.col("reason") == "open"
    nameless = "which producer holds it: kafka-transactions.sh find-hanging and describe-producers name it"
    return found.withColumns(
        {
            "severity": F.when(held, "critical").when(open_, "info").otherwise("warning"),
            "cause": F.when(~open_, "no-progress"),
            "since": F.when(~open_, F.col("since")),
            "nameless_topic": F.when(F.col("transactional_id").isNull(), F.col("worst_topic")),
            "unnamed": F.when(~open_ & F.col("transactional_id").isNull(), nameless),
        }
    )
