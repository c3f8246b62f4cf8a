"""BRK119: a coordinator is found, answers that it cannot, and is found again, on and on: no member joins, no transaction begins."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row

from analyzers.vocabulary import (  # isort: skip
    CLIENTS, CRITICAL, DataFrame, F, Window, agreed, count, detail, event, first_of, found, goes_on, number_of, rule, seconds,
)  # fmt: skip
from analyzers.vocabulary.episodes import episodes
from analyzers.vocabulary.quick_looks import captured, grouped, persisted

ANSWERS = {
    "not-available": "COORDINATOR_NOT_AVAILABLE",
    "not-coordinator": "NOT_COORDINATOR",
    "loading": "COORDINATOR_LOAD_IN_PROGRESS",
}
"""Reasons by what the broker answers. Source: Kafka's protocol errors 15, 16 and 14."""
COMMITS = ("partition-commit-failed", "commit-failed", "commit-failed-legacy", "offsets-commit-failed")
_PRODUCER = r"transactionalId=([^\s,\]]+)"
_AGAIN = (
    "{broker_named}[[ at {address}]] is found as the coordinator[[ of group {group}]] and answers {answer}, {answers} times"
    "[[ in {minutes} minute(s)]]"
)


def _one_turns_away(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a group whose commits do not fail got answers, or a producer without an id found its coordinator, often enough, for long,
    and up to the end of the logs."""
    refused = {row["scope"] for row in rows if row["signature"] in COMMITS}
    begun = {(row["scope"], row["job"], _producer(row)) for row in rows if row["signature"] == "producer-initialized" and row["at"]}
    answers = (row for row in rows if row["scope"] not in refused and (captured(row, "because") or "").startswith("error response "))
    found = grouped((row for row in rows if row["signature"] == "transaction-coordinator-found"), "job", _producer)
    groups = (*grouped(answers, "job", "group").values(), *(same for key, same in found.items() if key not in begun))
    return any(persisted(same, **{name: thresholds[name] for name in ("enough", "lasting", "fresh")}) for same in groups)


def _producer(row: Row) -> str | None:
    named = re.search(_PRODUCER, row["text"] or "")
    return named[1] if named else None


@rule(
    "BRK119", title="A coordinator is found again and again and turns its clients away", cause="broker-unreachable", stage="access",
    severity=CRITICAL, logs_of=CLIENTS, needs=_one_turns_away,
    signatures=("coordinator-found", "coordinator-unavailable", "transaction-coordinator-found", "producer-initialized", *COMMITS),
    says={
        "transactions": "{broker_named}[[ at {address}]] is found as the transaction coordinator[[ of {transactional_id}]] {answers} times"
        "[[ in {minutes} minute(s)]], and the producer gets no id: it cannot begin a transaction",
        "loading": f"{_AGAIN}: it still reads its partition of __consumer_offsets. Members cannot join meanwhile",
        "not-coordinator": f"{_AGAIN}: brokers disagree who leads the group's partition of __consumer_offsets. Members cannot join",
        "": f"{_AGAIN}: it cannot write to its partition of __consumer_offsets. Members cannot join",
    },
    next_command="diag broker-health --bootstrap-server HOST:PORT,…",
)  # fmt: skip
def coordinator_turns_away(
    log_events: DataFrame,
    *,
    enough: int = 8,  # answers; a coordinator that moves or loads gives a few
    lasting: int = 60,  # seconds; the restart of a broker that stopped in order takes less
    loading: int = 300,  # seconds; a large offsets topic is read for minutes
    fresh: int = 60,  # seconds before the end of the log: what stopped earlier has healed
    calm: int = 120,  # seconds without an answer: it worked in between
) -> DataFrame:
    """Per group or transactional id, answers of one broker up to the end of the log; failed commits beside them are LAG404's."""
    groups = _of_groups(log_events, calm=calm).unionByName(_of_producers(log_events), allowMissingColumns=True)
    times = (F.col("answers") >= enough) & (F.col("_brokers") == 1)
    long = goes_on("answers", enough=enough, lasting=lasting, fresh=fresh)
    slow = (F.col("reason") != "loading") | (seconds("since", "until") >= loading)
    # it answered every few seconds: a longer silence at the end is a member that has joined
    usual = seconds("since", "until") / F.greatest(F.col("answers") - 1, F.lit(1))
    goes = seconds("until", "end") <= F.greatest(F.lit(5.0), 3 * usual)
    judged = groups.where(times & long & slow & goes)
    return judged.withColumns(
        {
            "minutes": F.round(seconds("since", "until") / 60).cast("long"),
            "answer": first_of(*((text, F.col("reason") == why) for why, text in ANSWERS.items())),
            "broker_named": F.coalesce(F.concat(F.lit("Broker "), "broker"), F.lit("A broker")),
        }
    )


def _of_groups(log_events: DataFrame, *, calm: int) -> DataFrame:
    """The newest episode of each group in which its coordinator answered: reason, answers, broker."""
    lines = log_events.where(event("coordinator-found", "coordinator-unavailable") & F.col("at").isNotNull())
    # of many lines the first and the last are rows: where some are counted only, a pause between rows is none
    dropped = F.max(F.col("left_out").isNotNull()).over(Window.partitionBy("scope", "job", "group"))
    known = lines.withColumn("_dropped", F.coalesce(dropped, F.lit(False)))
    rows = known.where(event("coordinator-unavailable") & detail("because").startswith("error response "))
    pause = F.when(F.col("_dropped"), 10**9).otherwise(calm)
    apart = episodes(rows, "job", "group", gap=pause)
    newest = apart.withColumn("_newest", F.max("episode").over(Window.partitionBy("scope", "job", "group")))
    why = first_of(*((name, detail("because").endswith(f" {text}")) for name, text in ANSWERS.items()), otherwise="not-available")
    refused = log_events.where(event(*COMMITS)).groupBy("scope").agg(count().alias("_commits"))
    per_group = found(
        newest.where(F.col("episode") == F.col("_newest")).withColumn("_why", why),
        "job",
        "group",
        reason=F.mode("_why"),
        answers=count(),
        broker=agreed("broker"),
        address=agreed("address"),
        client=agreed("client"),
        end=F.max("as_of"),
        _brokers=number_of("broker"),
    )
    return per_group.join(refused, "scope", "left").where(F.coalesce("_commits", F.lit(0)) == 0).drop("_commits")


def _of_producers(log_events: DataFrame) -> DataFrame:
    """Transactional producers that find their coordinator on and on and never get an id."""
    named = F.nullif(F.regexp_extract("text", _PRODUCER, 1), F.lit(""))
    rows = log_events.where(event("transaction-coordinator-found", "producer-initialized") & F.col("at").isNotNull())
    per_producer = found(
        rows.withColumn("transactional_id", named).where(F.col("transactional_id").isNotNull()),
        "job",
        "transactional_id",
        reason=F.lit("transactions"),
        answers=count(event("transaction-coordinator-found")),
        broker=agreed("broker"),
        address=agreed("address"),
        client=agreed("client"),
        end=F.max("as_of"),
        _brokers=number_of("broker"),
        _begun=count(event("producer-initialized")),
    )
    return per_producer.where(F.col("_begun") == 0).drop("_begun")
