"""LAG302: a topic was deleted, and perhaps created again, under the running job, or brokers do not know it from the start."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import (
    BROKER,
    CRITICAL,
    JOBS,
    DataFrame,
    F,
    IfGiven,
    agreed,
    count,
    detail,
    distinct,
    event,
    exemplars,
    first_of,
    greatest,
    least,
    rule,
    seconds,
)  # fmt: skip
from analyzers.vocabulary.quick_looks import captured, grouped, lasted

_UNKNOWN = ("unknown-topic-or-partition", "metadata-error")
_BEGUN = ("offset-reset", "offset-sought", "offset-committed-used")


def _some_unknown(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a topic of a job is unknown to brokers: for long, or a position or a commit was wrong as well; or brokers deleted it."""
    deleted = {row["topic"] or captured(row, "deleted") for row in rows if row["signature"] == "topic-deleted"}
    for (_, _, topic), own in grouped((row for row in rows if row["role"] not in BROKER), "job", "topic").items():
        kinds, unknown = {row["signature"] for row in own}, [row for row in own if row["signature"] in _UNKNOWN]
        wrong = topic in deleted or not kinds.isdisjoint(("offset-out-of-range", "partition-commit-failed"))
        long = lasted(unknown) >= min(thresholds["lasting"], thresholds["unknown_for"])
        read = not kinds.isdisjoint(_BEGUN)
        if (unknown and (wrong or (long and (read or len(unknown) >= 3)))) or (topic in deleted and "offset-out-of-range" in kinds):
            return True
    return False


@rule(
    "LAG302", title="A topic was deleted or recreated under the running job", cause="offset-reset", stage="access", severity=CRITICAL,
    logs_of=(*JOBS, *BROKER),
    signatures=(*_UNKNOWN, *_BEGUN, "offset-out-of-range", "partition-commit-failed", "topic-deleted", "topic-created"),
    needs=_some_unknown,
    says={
        "topic-recreated": "Topic {topic} was deleted and created again under the running job[[ at {since} UTC]]: the job's "
        "positions[[ ({positions})]] belong to the old topic, the client went back to offset {restart_at} of the new one. "
        "State, checkpoints and lag look healthy, but the old topic's unread records are lost and later results mix two topics",
        "topic-missing": "The brokers do not know topic {topic}, for {minutes} minutes[[ since {since} UTC]] and up to the end of the log: "
        "nothing is read from it or written to it",
        "": "Topic {topic} was deleted under the running job[[ at {since} UTC]]: the brokers no longer know it ({errors} errors), "
        "nothing is read from it",
    },
    inferred="{how}",
    next_command="kafka-topics.sh --bootstrap-server HOST:PORT --describe --topic {topic}",
)  # fmt: skip
def topic_recreated(
    log_events: DataFrame,
    log_counts: IfGiven,
    *,
    flood: int = 20,  # a leader election or a restarting broker answers a few times "unknown topic or partition"
    lasting: int = 60,  # seconds
    unknown_for: int = 120,  # seconds; a topic is created, and known to all brokers, within moments
) -> DataFrame:
    """Per job and topic: unknown-topic errors after reading had begun, then out of range or a reset (recreated), or nothing (deleted).

    A topic that nothing was read of and that stays unknown to the end does not exist, or bears another name (missing).
    """
    unknown = event(*_UNKNOWN) & (~event("metadata-error") | (detail("error") == "UNKNOWN_TOPIC_OR_PARTITION"))
    rows = log_events.withColumns({"topic": F.coalesce("topic", detail("deleted")), "_unknown": unknown})
    rows = rows.where(F.col("topic").isNotNull() & (F.col("_unknown") | ~event(*_UNKNOWN)))
    by_broker, unknown = F.coalesce("role", F.lit("")) == "kafka-broker", F.col("_unknown")
    out, reset, refused = event("offset-out-of-range"), event("offset-reset"), event("partition-commit-failed")
    brokers = rows.where(by_broker).groupBy("scope", "topic").agg(
        greatest("at", event("topic-deleted")).alias("_deleted"), greatest("at", event("topic-created")).alias("_created")
    )  # fmt: skip
    wanted = F.coalesce(F.col("offset").cast("string"), detail("position"))
    position = F.concat("topic", F.lit("-"), F.col("partition").cast("string"), F.lit(" at "), wanted)
    facts = {
        "_unknown_at": least("at", unknown), "_unknown_until": greatest("at", unknown), "_errors": count(unknown),
        "_reading_at": least("at", event(*_BEGUN)), "_gone_at": least("at", out), "_gone": count(out),
        "restart_at": F.max_by("offset", F.when(reset, F.col("at"))), "_reset_at": greatest("at", reset),
        "positions": distinct(F.when(out, position), "positions"),
        "_commits": count(refused & detail("error").contains("does not host this topic")),
        "group": agreed("group"), "_end": F.max("as_of"), "_shown": exemplars(most=20, where=unknown | out | reset | refused),
    }  # fmt: skip
    read = rows.where(~by_broker).groupBy("scope", "job", "topic").agg(*(value.alias(name) for name, value in facts.items()))
    # events are a sample, counts are complete; the lines of clients name no job
    counted = log_counts.where(event("unknown-topic-or-partition")).groupBy("scope").agg(F.sum("events").alias("_counted"))
    read = read.join(brokers, ["scope", "topic"], "left").join(counted, "scope", "left")
    read = read.withColumn("errors", F.greatest("_errors", F.coalesce("_counted", F.lit(0))))

    c = {name: F.col(name) for name in read.columns}
    again = (c["_errors"] > 0) & (c["_gone_at"] >= c["_unknown_at"]) & (F.coalesce("restart_at", F.lit(0)) == 0)
    logged = (c["_created"] > c["_deleted"]) & (c["_reset_at"] > c["_deleted"]) & (c["_gone"] > 0)
    recreated = F.coalesce(again, F.lit(False)) | F.coalesce(logged, F.lit(False))
    silent = F.coalesce(c["_reset_at"] < c["_unknown_at"], F.lit(True)) & (c["_gone"] == 0)
    goes_on = (seconds("_unknown_at", "_unknown_until") >= lasting) & (seconds("_unknown_until", "_end") <= lasting)
    begun = c["_reading_at"] < c["_unknown_at"]
    logged = (c["_deleted"] <= c["_unknown_until"]) & c["_created"].isNull() & begun
    deleted = (c["errors"] >= flood) & goes_on & begun | (c["_commits"] > 0) & (c["_errors"] > 0) | logged
    still = (seconds("_unknown_at", "_unknown_until") >= unknown_for) & (seconds("_unknown_until", "_end") <= lasting)
    gone = silent & F.coalesce(deleted, F.lit(False))
    never = still & (c["_errors"] >= 3) & c["_reading_at"].isNull() & c["_deleted"].isNull()
    missing = F.coalesce(never, F.lit(False)) & ~recreated & ~gone
    first = F.least("_unknown_at", "_gone_at")  # what a healthy start logs before it shows nothing
    return (
        read.withColumns(
            {
                "reason": first_of(("topic-recreated", recreated), ("topic-deleted", gone), ("topic-missing", missing)),
                "cause": first_of(("other", missing), otherwise="offset-reset"),
                "minutes": F.round(seconds("_unknown_at", "_unknown_until") / 60).cast("long"),
                "since": F.coalesce("_deleted", first),
                "until": F.greatest("_unknown_until", "_reset_at"),
                "evidence": F.slice(F.filter("_shown", lambda row: row["at"].isNull() | first.isNull() | (row["at"] >= first)), 1, 8),
                "_how": first_of(
                    ("The broker's log reports the deletion of the topic.", c["_deleted"].isNotNull()),
                    otherwise="The deletion is inferred: the brokers stopped knowing a topic that was being read; its topic id "
                    "(kafka-topics.sh --describe) proves it.",
                ),
            }
        )
        .where(F.col("reason").isNotNull())
        .withColumn("how", F.when(~missing, F.col("_how")))
    )
