"""LAG401: offsets are not committed although the job reads on and the coordinator lives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.tables import Row
from analyzers.tables.processes import CLIENTS
from analyzers.vocabulary.aggregates import agreed, distinct
from analyzers.vocabulary.findings import exemplars
from analyzers.vocabulary.offset_commits import FAILED, lasting_refusal, refusal, refusal_of
from analyzers.vocabulary.rule import rule


def _refused(rows: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Commits of one signature that were refused often enough, one that the client calls an error, or commits that are switched off."""
    mine = [row for row in rows if refusal_of(row) in ("access-denied", "refused")]
    often = Counter(row["signature"] for row in mine).most_common(1)
    return (
        any(row["signature"] == "commit-disabled" for row in rows)
        or any(row["level"] == "ERROR" for row in mine)
        or bool(often and often[0][1] >= thresholds["enough"])
    )


@rule(
    "LAG401",
    title="Offset commits keep failing while the job is well",
    cause="offset-commit",
    stage="commit",
    severity=Severity.CRITICAL,
    logs_of=CLIENTS,
    signatures=(*FAILED, "coordinator-unavailable", "coordinator-disconnected", "commit-disabled", "checkpoint-completed"),
    says={
        "disabled": "This source never commits offsets{why}: lag monitors see nothing of it; the job itself is fine",
        "access-denied": "Kafka refuses the commits[[ of group {group}]]: the job's user has no READ on its own group ({failed} times"
        "[[ between {since} and {until} UTC]]). Reading is fine, but committed offsets and the lag that monitors show do not move",
        "": "Committing offsets[[ of group {group}]] fails again and again ({failed} times[[ between {since} and {until} UTC]])[[: "
        "{error}]]; reading is fine, but committed offsets and the lag that monitors show do not move",
    },
    next_command="diag lag-report --bootstrap-server HOST:PORT,…[[ --group {group}]]",
    needs=_refused,
)
def commits_fail(
    log_events: DataFrame,
    log_counts: DataFrame | None,
    log_files: DataFrame | None,
    *,
    enough: int = 5,  # a broker that restarts makes a few commits fail
    lasting: int = 120,  # seconds; so does a coordinator that moves
    fragment: int = 60,  # lines: in so short an excerpt one refusal that a retry cannot cure is all there will be
) -> DataFrame:
    """Per job: refused commits that are neither the coordinator's loss nor a rebalance (critical), disabled ones (info)."""
    told = log_events.withColumn("refusal", refusal())
    refused_by_broker = F.col("refusal").isin("access-denied", "refused")
    rows = lasting_refusal(told, log_counts, refused_by_broker, FAILED, enough=enough, lasting=lasting)
    failed = F.col("refusal").isNotNull()
    mine = F.col("mine")
    per_job = rows.groupBy("scope", "job").agg(
        # one commit that fails is printed by the coordinator, by the consumer and by the connector
        F.greatest(*(F.count_if((F.col("signature") == name) & mine) for name in FAILED)).alias("failed"),
        F.count_if(mine & (F.col("refusal") == "access-denied")).alias("denied"),
        F.count_if(F.col("signature").isin("coordinator-unavailable", "coordinator-disconnected")).alias("losses"),
        F.count_if(F.col("signature") == "commit-disabled").alias("disabled"),
        F.count_if((F.col("signature") == "partition-commit-failed") & mine & (F.col("level") == "ERROR")).alias("refused"),
        F.min(F.when(mine, F.col("at"))).alias("since"),
        F.max(F.when(mine, F.col("at"))).alias("until"),
        F.min_by(
            F.col("detail")["error"],
            F.when(mine & F.col("detail")["error"].isNotNull(), F.struct("at", "file", "line")),
        ).alias("error"),
        F.max("again").alias("lasted"),
        F.first(F.col("detail")["because"], ignorenulls=True).alias("because"),
        agreed("group"),
        distinct(F.when(mine, F.col("topic")), "topic"),
        exemplars(where=(mine | ~failed) & ~F.col("signature").isin("coordinator-unavailable", "coordinator-disconnected")),
    )
    if log_files is None:
        short = per_job.withColumn("lines", F.lit(None).cast("long"))
    else:
        short = per_job.join(log_files.groupBy("scope").agg(F.sum("lines").alias("lines")), "scope", "left")
    # a refusal that the broker gives in words is no loss of the coordinator, even where there was one, too
    sure = (F.col("losses") == 0) | (F.col("refused") >= enough) | (F.col("denied") >= enough)
    again = F.col("lasted") & sure
    alone = (F.col("refused") > 0) & (F.col("lines") <= fragment) & (F.col("losses") == 0)
    refused = F.when(F.col("denied") >= F.col("failed"), "access-denied").otherwise("failing")
    reason = F.when(again | alone, refused).when(F.col("disabled") > 0, "disabled")
    found = short.withColumn("reason", reason).where(F.col("reason").isNotNull())
    return found.withColumns(
        {
            "severity": F.when(F.col("reason") == "disabled", "info").otherwise("critical"),
            "group_or_own": F.coalesce("group", F.lit("of the job")),
            "why": F.coalesce(F.concat(F.lit(" ("), "because", F.lit(")")), F.lit("")),
        }
    ).drop("losses", "disabled", "refused", "lines", "because", "denied", "lasted")
