"""LAG302: a topic was deleted, and perhaps created again, under the running job."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables.processes import BROKER, JOBS
from analyzers.vocabulary.aggregates import agreed, distinct, seconds
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.rule import has, rule

UNKNOWN = ("unknown-topic-or-partition", "metadata-error")


@rule(
    "LAG302",
    title="A topic was deleted or recreated under the running job",
    cause="offset-reset",
    stage="access",
    severity=Severity.CRITICAL,
    logs_of=(*JOBS, *BROKER),
    signatures=(
        *UNKNOWN,
        "offset-out-of-range",
        "offset-reset",
        "offset-sought",
        "offset-committed-used",
        "partition-commit-failed",
        "topic-deleted",
        "topic-created",
    ),
    says={
        "topic-recreated": "Topic {topic} was deleted and created again under the running job[[ at {since} UTC]]: the job's "
        "positions{positions} belong to the old topic, the client went back to offset {restart_at} of the new one. "
        "State, checkpoints and lag look healthy, but the old topic's unread records are lost and later results mix two topics",
        "": "Topic {topic} was deleted under the running job[[ at {since} UTC]]: the brokers do not know it any more ({errors} errors), "
        "nothing is read from it",
    },
    inferred="{how}",
    next_command="kafka-topics.sh --bootstrap-server HOST:PORT --describe --topic {topic}",
    needs=has(signature=(*UNKNOWN, "offset-out-of-range")),
)
def topic_recreated(
    log_events: DataFrame,
    log_counts: DataFrame | None,
    *,
    flood: int = 20,  # a leader election or a restarting broker answers a few times "unknown topic or partition"
    lasting: int = 60,  # seconds
) -> DataFrame:
    """Per job and topic: unknown-topic errors after reading had begun, then out of range or a reset (recreated), or nothing (deleted)."""
    topic = F.coalesce("topic", F.col("detail")["deleted"])
    unknown = F.col("signature").isin(*UNKNOWN) & (
        (F.col("signature") != "metadata-error") | (F.col("detail")["error"] == "UNKNOWN_TOPIC_OR_PARTITION")
    )
    rows = (
        log_events.withColumn("topic", topic)
        .where(F.col("topic").isNotNull() & (unknown | ~F.col("signature").isin(*UNKNOWN)))
        .withColumn("unknown", unknown)
    )
    from_broker = F.coalesce("role", F.lit("")) == "kafka-broker"
    told = (
        rows.where(from_broker)
        .groupBy("scope", "topic")
        .agg(
            F.max(F.when(F.col("signature") == "topic-deleted", F.col("at"))).alias("deleted_at"),
            F.max(F.when(F.col("signature") == "topic-created", F.col("at"))).alias("created_at"),
        )
    )
    read = (
        rows.where(~from_broker)
        .groupBy("scope", "job", "topic")
        .agg(
            F.min(F.when(F.col("unknown"), F.col("at"))).alias("unknown_at"),
            F.max(F.when(F.col("unknown"), F.col("at"))).alias("unknown_until"),
            F.count_if("unknown").alias("seen_errors"),
            F.min(F.when(F.col("signature").isin("offset-reset", "offset-sought", "offset-committed-used"), F.col("at"))).alias(
                "reading_at"
            ),
            F.min(F.when(F.col("signature") == "offset-out-of-range", F.col("at"))).alias("gone_at"),
            F.count_if(F.col("signature") == "offset-out-of-range").alias("gone"),
            F.max_by("offset", F.when(F.col("signature") == "offset-reset", F.col("at"))).alias("restart_at"),
            F.max(F.when(F.col("signature") == "offset-reset", F.col("at"))).alias("reset_at"),
            distinct(F.when(F.col("signature") == "offset-out-of-range", _position()), "lost"),
            F.count_if(
                (F.col("signature") == "partition-commit-failed") & F.col("detail")["error"].contains("does not host this topic")
            ).alias("commits"),
            agreed("group"),
            F.max("as_of").alias("end"),
            exemplars(
                most=20, where=F.col("unknown") | F.col("signature").isin("offset-out-of-range", "offset-reset", "partition-commit-failed")
            ),
        )
    )
    facts = read.join(told, ["scope", "topic"], "left").join(_floods(log_counts, read), "scope", "left")
    facts = facts.withColumn("errors", F.greatest("seen_errors", F.coalesce("counted", F.lit(0))))
    began = F.col("reading_at") < F.col("unknown_at")
    again = (F.col("gone_at") >= F.col("unknown_at")) & (F.coalesce("restart_at", F.lit(0)) == 0)
    broker_saw = F.col("deleted_at").isNotNull() & (F.col("created_at") > F.col("deleted_at")) & (F.col("reset_at") > F.col("deleted_at"))
    recreated = F.coalesce((F.col("seen_errors") > 0) & again, F.lit(False)) | F.coalesce(broker_saw & (F.col("gone") > 0), F.lit(False))
    silent = F.coalesce(F.col("reset_at") < F.col("unknown_at"), F.lit(True)) & (F.col("gone") == 0)
    for_long = (
        (F.col("errors") >= flood) & (seconds("unknown_at", "unknown_until") >= lasting) & (seconds("unknown_until", "end") <= lasting)
    )
    refused = (F.col("commits") > 0) & (F.col("seen_errors") > 0)
    deleted = silent & F.coalesce(
        for_long & began | refused | (F.col("deleted_at") <= F.col("unknown_until")) & F.col("created_at").isNull() & began, F.lit(False)
    )
    found = facts.where(recreated | deleted)
    return found.select(
        "scope", "job", "topic", "group", "errors", "restart_at", _telling().alias("evidence"),
        F.when(recreated, "topic-recreated").otherwise("topic-deleted").alias("reason"),
        F.coalesce("deleted_at", F.least("unknown_at", "gone_at")).alias("since"),
        F.greatest("unknown_until", "reset_at").alias("until"),
        F.coalesce(F.concat(F.lit(" ("), F.array_join("lost", ", "), F.lit(")")), F.lit("")).alias("positions"),
        F.when(F.col("deleted_at").isNotNull(), F.lit("The broker's log says that the topic was deleted."))
        .otherwise(F.lit("That it was deleted is inferred: the brokers stopped knowing a topic that was being read; its topic id "
            "(kafka-topics.sh --describe) proves it."))
        .alias("how"),
    )  # fmt: skip


def _telling() -> Column:
    """Evidence from the first unknown-topic or out-of-range line on: what a healthy start prints before it tells nothing."""
    begin = F.least("unknown_at", "gone_at")
    return F.slice(F.filter("evidence", lambda row: row["at"].isNull() | begin.isNull() | (row["at"] >= begin)), 1, 8)


def _position() -> Column:
    wanted = F.coalesce(F.col("offset").cast("string"), F.col("detail")["position"])
    return F.concat(F.col("topic"), F.lit("-"), F.col("partition").cast("string"), F.lit(" at "), wanted)


def _floods(log_counts: DataFrame | None, read: DataFrame) -> DataFrame:
    """Complete counts of unknown-topic errors per scope, where events are a selection (client lines name no job)."""
    if log_counts is None:
        return read.select("scope").distinct().withColumn("counted", F.lit(None).cast("long"))
    return log_counts.where(F.col("signature") == "unknown-topic-or-partition").groupBy("scope").agg(F.sum("events").alias("counted"))
