"""LAG401: Kafka refuses the offset commits of a job that reads on and whose coordinator answers."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import (
    CLIENTS,
    CRITICAL,
    DataFrame,
    F,
    IfGiven,
    agreed,
    count,
    detail,
    event,
    exemplars,
    first_of,
    found,
    rule,
)
from analyzers.vocabulary.aggregates import distinct, greatest, least, place
from analyzers.vocabulary.offset_commits import FAILED, lasting_refusal, refusal, why_refused
from analyzers.vocabulary.quick_looks import lasted

LOST = ("coordinator-unavailable", "coordinator-disconnected")


def _some_refused(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether commits are off, or a broker refused some for long, or one in what may be an excerpt."""
    if any(row["signature"] == "commit-disabled" for row in rows):
        return True
    refused = [row for row in rows if why_refused(row) in ("access-denied", "refused")]
    alone = [row for row in refused if row["signature"] == "partition-commit-failed" or why_refused(row) == "access-denied"]
    excerpt = any((row["line"] or 0) <= thresholds["fragment"] for row in alone)
    return excerpt or lasted(refused) >= thresholds["lasting"]


@rule(
    "LAG401", title="Offset commits keep failing while the job is well", cause="offset-commit", stage="commit", severity=CRITICAL,
    logs_of=CLIENTS, signatures=(*FAILED, *LOST, "commit-disabled", "checkpoint-completed"),
    needs=_some_refused,
    says={
        "disabled": "This source never commits offsets[[ ({because})]]: lag monitors do not see it; the job itself is fine",
        "access-denied": "Kafka refuses the offset commits[[ of group {group}]]: the job's user has no READ permission on its own group "
        "({failed} refusal(s)[[ between {since} and {until} UTC]]). Reading is fine, but committed offsets and the lag that monitors show "
        "do not move",
        "": "Offset commits[[ of group {group}]] keep failing ({failed} failure(s)[[ between {since} and {until} UTC]])[[: {error}]]; "
        "reading is fine, but committed offsets and the lag that monitors show do not move",
    },
    next_command="diag lag-report --bootstrap-server HOST:PORT,…[[ --group {group}]]",
)  # fmt: skip
def commits_fail(
    log_events: DataFrame,
    log_counts: IfGiven,
    log_files: IfGiven,
    *,
    enough: int = 5,  # a broker that restarts makes a few commits fail
    lasting: int = 120,  # seconds; so does a coordinator that moves
    fragment: int = 60,  # lines: in so short an excerpt one refusal that a retry cannot cure is all there will be
) -> DataFrame:
    """Per job: refused commits that are neither the coordinator's loss nor a rebalance (critical), disabled ones (info)."""
    by_broker = F.col("refusal").isin("access-denied", "refused")
    events = log_events.withColumn("refusal", refusal())
    rows = lasting_refusal(events, log_counts, by_broker, FAILED, enough=enough, lasting=lasting)
    mine, denied = F.col("mine"), F.col("mine") & (F.col("refusal") == "access-denied")
    error = F.regexp_replace(detail("error"), r"\.$", "")  # it stands within a sentence
    per_job = found(
        rows,
        "job",
        # one commit that fails is printed by the coordinator, by the consumer and by the connector
        failed=F.greatest(*(count(event(name) & mine) for name in FAILED)),
        since=least("at", mine),
        until=greatest("at", mine),
        error=F.min_by(error, F.when(mine & error.isNotNull(), place())),
        because=F.first(detail("because"), ignorenulls=True),
        group=agreed("group"),
        topic=distinct(F.when(mine, F.col("topic")), "topic"),
        evidence=exemplars(where=(mine | F.col("refusal").isNull()) & ~event(*LOST)),
        _denied=count(denied),
        _losses=count(event(*LOST)),
        _disabled=count(event("commit-disabled")),
        _errors=count(event("partition-commit-failed") & mine & (F.col("level") == "ERROR")),
        _lasted=F.max("again"),
    )
    known = per_job.join(log_files.groupBy("scope").agg(F.sum("lines").alias("_lines")), "scope", "left")
    # a refusal that the broker gives in words is no loss of the coordinator, even where there was one, too
    sure = (F.col("_losses") == 0) | (F.col("_errors") >= enough) | (F.col("_denied") >= enough)
    alone = ((F.col("_errors") > 0) | (F.col("_denied") > 0)) & (F.col("_lines") <= fragment) & (F.col("_losses") == 0)
    why = first_of(("access-denied", F.col("_denied") >= F.col("failed")), otherwise="failing")
    reason = first_of((why, (F.col("_lasted") & sure) | alone), ("disabled", F.col("_disabled") > 0))
    judged = known.withColumns({"reason": reason, "group_named": F.coalesce("group", F.lit("GROUP"))}).where(F.col("reason").isNotNull())
    return judged.withColumn("severity", first_of(("info", F.col("reason") == "disabled"), otherwise="critical"))
