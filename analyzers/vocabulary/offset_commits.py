"""Why a commit of offsets failed, as the client tells it: three rules must agree whose a failed commit is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analyzers.derived.failures.failure_signs import COMMITS_FAILED
from analyzers.tables import Row
from analyzers.vocabulary.aggregates import seconds
from analyzers.vocabulary.episodes import episodes
from analyzers.vocabulary.findings import beside
from analyzers.vocabulary.quick_looks import captured

FAILED = COMMITS_FAILED
"""Signatures of a failed commit; one commit that fails is printed by the coordinator, by the consumer and by the connector."""

OF_FLINK = ("commit-failed", "commit-failed-legacy")
"""Those of Flink's sources, which assign their partitions themselves and never join a group."""

SILENT = ("coordinator-unavailable", "coordinator-disconnected", "request-timed-out")
"""Signatures of a coordinator that is lost, most of them without an answer."""

# Texts of org.apache.kafka.common.protocol.Errors and of the exceptions that ConsumerCoordinator makes of them.
_ACCESS = "authoriz"
_MEMBERS = (
    "group has already rebalanced|not part of an active group|not aware of this member|unknown member|member epoch|rebalanc|fenced|"
    "generation id"
)
_TOPIC = "does not host this topic"
_COORDINATOR = (
    "oordinator is (?:not available|loading)|not the correct coordinator|isconnect|timed out|before a response|oordinator load|"
    "retriable exception"
)
_IN_TROUBLE = "oordinator is (?:not available|loading)|oordinator load"
_NOT_AVAILABLE, _UNAVAILABLE = "oordinator is not available", "COORDINATOR_NOT_AVAILABLE"
_RESIGNED = "^error response(?! NOT_COORDINATOR)"


def refusal() -> Column:
    """Of an event that tells of a failed commit: access-denied, members, topic-gone, coordinator or refused; null of other events."""
    told = _told()
    why = (
        F.when(told.rlike(f"(?i){_ACCESS}"), "access-denied")
        .when(told.rlike(f"(?i){_MEMBERS}"), "members")
        .when(told.contains(_TOPIC), "topic-gone")
        .when(told.rlike(_COORDINATOR), "coordinator")
        .otherwise("refused")
    )
    return F.when(F.col("signature").isin(*FAILED), why)


def why_refused(row: Row) -> str | None:
    """`refusal` of one row."""
    if row["signature"] not in FAILED:
        return None
    parts = (captured(row, "error"), row["root_exception"], row["root_message"], row["text"])
    text = "\n".join(part for part in parts if part is not None)
    if re.search(f"(?i){_ACCESS}", text):
        return "access-denied"
    if re.search(f"(?i){_MEMBERS}", text):
        return "members"
    if _TOPIC in text:
        return "topic-gone"
    return "coordinator" if re.search(_COORDINATOR, text) else "refused"


def _told() -> Column:
    return F.concat_ws("\n", F.col("detail")["error"], "root_exception", "root_message", F.col("text"))


def of_another() -> Column:
    """Whether a commit failed of something else than its coordinator, as far as the line says why."""
    unexplained = F.col("signature").isin(*OF_FLINK) & (refusal() == "refused") & F.col("root_exception").isNull()
    return F.coalesce(~((refusal() == "coordinator") | unexplained), F.lit(False))


def is_of_coordinator(row: Row) -> bool:
    """Whether `of_another` is false of one row."""
    why = why_refused(row)
    return why in (None, "coordinator") or (why == "refused" and row["signature"] in OF_FLINK and row["root_exception"] is None)


def answered() -> Column:
    """Whether the coordinator itself said that it cannot: it lives, and its partition of ``__consumer_offsets`` is the trouble.

    NOT_COORDINATOR is no such answer: a broker that shuts down gives it before it goes.
    """
    error = F.col("detail")["error"].rlike(_IN_TROUBLE)
    because = F.col("detail")["because"].rlike(_RESIGNED)
    return F.coalesce(
        ((F.col("signature") == "coordinator-unavailable") & because) | ((F.col("signature") == "partition-commit-failed") & error),
        F.lit(False),
    )


def has_answered(row: Row) -> bool:
    """`answered` of one row."""
    of = {"coordinator-unavailable": ("because", _RESIGNED), "partition-commit-failed": ("error", _IN_TROUBLE)}.get(row["signature"])
    return of is not None and re.search(of[1], captured(row, of[0]) or "") is not None


def silent() -> Column:
    """Whether the client lost its coordinator without an answer: a dead broker, or a connection that broke."""
    lost = F.col("signature").isin(*SILENT)
    resigned = F.coalesce(F.col("detail")["because"].startswith("error response"), F.lit(False))
    return lost & ~answered() & ~resigned


def is_silent(row: Row) -> bool:
    """`silent` of one row."""
    because = captured(row, "because") or ""
    return row["signature"] in SILENT and not because.startswith("error response") and not has_answered(row)


def unfound() -> Column:
    """Whether a commit of Flink's sources failed for want of a coordinator; beside an answer of the same time it says no more than that."""
    return F.col("signature").isin(*OF_FLINK) & _told().rlike("CoordinatorNotAvailable|oordinator is not available|DisconnectException")


def unwritable() -> Column:
    """Whether the coordinator answered a commit with "not available": what GroupCoordinator makes of NOT_ENOUGH_REPLICAS and its kin."""
    error = F.col("detail")["error"].contains(_NOT_AVAILABLE)
    because = F.col("detail")["because"] == f"error response {_UNAVAILABLE}"
    of = F.col("signature")
    return F.coalesce(((of == "coordinator-unavailable") & because) | ((of == "partition-commit-failed") & error), F.lit(False))


def is_unwritable(row: Row) -> bool:
    """`unwritable` of one row."""
    if row["signature"] == "coordinator-unavailable":
        return captured(row, "because") == f"error response {_UNAVAILABLE}"
    return row["signature"] == "partition-commit-failed" and _NOT_AVAILABLE in (captured(row, "error") or "")


def lasting_refusal(
    rows: DataFrame, log_counts: DataFrame | None, mine: Column, counted: Sequence[str], *, enough: int, lasting: int
) -> DataFrame:
    """`rows` without completed checkpoints, with `mine` (whether refused) and `again`: whether an episode lasted for `lasting` seconds.

    A commit follows each checkpoint: refusals between which three checkpoints' commits went well are of two episodes. Each is weighed by
    itself, at least `enough` lines of one signature of `counted`. Where one lasted, `mine` are the refusals of the newest such episode.
    Of many refusals `rows` hold the first and the last only: `log_counts` tells that there were others between.
    """
    done = F.col("signature") == "checkpoint-completed"
    steps = F.max("checkpoint") - F.min("checkpoint")
    every = F.when(steps > 0, seconds(F.min("at"), F.max("at")) / steps)
    known = beside(rows.where(~done), rows.where(done).groupBy("scope", "job").agg(every.alias("every")), "job")
    per_job = Window.partitionBy("scope", "job")
    refused = known.withColumns({"mine": F.coalesce(mine, F.lit(False)), "between": F.lit(False)})
    if log_counts is not None:
        files = refused.where("mine").select("scope", "job", "file", "every").distinct()
        minutes = log_counts.where(F.col("signature").isin(*counted)).select("scope", "file", "first_at", "last_at")
        times = minutes.join(files, ["scope", "file"]).withColumn("at", F.explode(F.array("first_at", "last_at")))
        marks = times.drop("first_at", "last_at").withColumns({"mine": F.lit(True), "between": F.lit(True)})
        refused = refused.unionByName(marks, allowMissingColumns=True)
    # without a JobManager's log: one commit per checkpoint, rarely more than 10 minutes apart
    apart = F.coalesce(F.greatest(F.lit(60.0), 3 * F.col("every")), F.lit(900.0))
    numbered = episodes(refused, "job", "mine", gap=apart)
    same = Window.partitionBy("scope", "job", "mine", "episode")
    lines = F.array_max(F.array(*(F.count_if(F.col("signature") == name).over(same) for name in counted)))
    own = F.when(~F.col("between"), F.col("at"))
    long = F.col("mine") & (lines >= enough) & (seconds(F.min(own).over(same), F.max(own).over(same)) >= lasting)
    told = numbered.withColumn("long", F.coalesce(long, F.lit(False)))
    newest = told.withColumn("newest", F.max(F.when(F.col("long"), F.col("episode"))).over(per_job))
    return (
        newest.where(~F.col("between"))
        .withColumns(
            {
                "again": F.col("newest").isNotNull(),
                "mine": F.col("mine") & (F.col("newest").isNull() | (F.col("episode") == F.col("newest"))),
            }
        )
        .drop("every", "between", "_fresh", "episode", "long", "newest")
    )
