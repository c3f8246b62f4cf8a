"""LAG401: offsets are not committed although the job reads on and the coordinator lives."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.aggregates import agreed, distinct, seconds
from analyzers.finding import Severity
from analyzers.rule import exemplars, rule

FAILED = ("commit-failed", "commit-failed-legacy", "partition-commit-failed", "offsets-commit-failed", "beam-commit-failed")
COORDINATOR = (
    "oordinator is (?:not available|loading)|not the correct coordinator|isconnect|timed out|before a response|oordinator load|"
    "retriable exception"
)
MEMBERSHIP = (
    "group has already rebalanced|not part of an active group|not aware of this member|unknown member|member epoch|rebalance|fenced|"
    "does not host this topic|authoriz"
)


@rule(
    "LAG401",
    title="Offset commits keep failing while the job is well",
    cause="offset-commit",
    stage="commit",
    severity=Severity.CRITICAL,
    signatures=(*FAILED, "coordinator-unavailable", "coordinator-disconnected", "commit-skipped", "commit-disabled"),
    says={
        "disabled": "This source never commits offsets{why}: lag monitors see nothing of it; the job itself is fine",
        "skipped": "Offset commits take longer than the checkpoint interval and are skipped ({failed} times): committed offsets run "
        "behind, the job itself is fine",
        "": "Committing offsets[[ of group {group}]] fails again and again ({failed} times[[ between {since} and {until} UTC]])[[: "
        "{error}]]; reading is fine, but committed offsets and the lag that monitors show do not move",
    },
    fix={
        "disabled": "If lag is to be seen, set group.id and leave commit.offsets.on.checkpoint on.",
        "skipped": "Raise the checkpoint interval or look why the coordinator answers slowly; nothing is lost.",
        "": "Repair what the broker says: policy, quota or permission of the group, offsets topic below min.insync.replicas, or "
        "(kafka-clients 2.7.1–3.1.0) a client that never finds its coordinator again, cured by an update to 3.1.1 or a restart. "
        "Flink restores from its checkpoints: nothing is lost as long as the job is not started from committed offsets.",
    },
    next_command="diag lag-report --bootstrap-server HOST:PORT,…[[ --group {group}]]",
)
def commits_fail(
    log_events: DataFrame,
    log_files: DataFrame | None,
    *,
    enough: int = 5,  # a broker that restarts makes a few commits fail
    lasting: int = 120,  # seconds; so does a coordinator that moves
    fragment: int = 60,  # lines: in so short an excerpt one refusal that a retry cannot cure is all there will be
) -> DataFrame:
    """Per job: refused commits that are neither the coordinator's loss nor a rebalance (critical), skipped or disabled ones (info)."""
    told = F.concat_ws("\n", F.col("detail")["error"], "root_message", F.col("text"))
    failed = F.col("signature").isin(*FAILED)
    rows = log_events.withColumn("other", failed & (told.rlike(COORDINATOR) | told.rlike(f"(?i){MEMBERSHIP}")))
    per_job = rows.groupBy("scope", "job").agg(
        # one commit that fails is printed by the coordinator, by the consumer and by the connector
        F.greatest(*(F.count_if((F.col("signature") == name) & ~F.col("other")) for name in FAILED)).alias("failed"),
        F.count_if(F.col("signature").isin("coordinator-unavailable", "coordinator-disconnected")).alias("losses"),
        F.count_if(F.col("signature") == "commit-skipped").alias("skipped"),
        F.count_if(F.col("signature") == "commit-disabled").alias("disabled"),
        F.count_if((F.col("signature") == "partition-commit-failed") & ~F.col("other") & (F.col("level") == "ERROR")).alias("refused"),
        F.min(F.when(failed & ~F.col("other"), F.col("at"))).alias("since"),
        F.max(F.when(failed & ~F.col("other"), F.col("at"))).alias("until"),
        F.min_by(
            F.col("detail")["error"],
            F.when(failed & ~F.col("other") & F.col("detail")["error"].isNotNull(), F.struct("at", "file", "line")),
        ).alias("error"),
        F.first(F.col("detail")["because"], ignorenulls=True).alias("because"),
        agreed("group"),
        distinct(F.when(failed & ~F.col("other"), F.col("topic")), "topic"),
        exemplars(where=~F.col("other") & ~F.col("signature").isin("coordinator-unavailable", "coordinator-disconnected")),
    )
    if log_files is None:
        short = per_job.withColumn("lines", F.lit(None).cast("long"))
    else:
        short = per_job.join(log_files.groupBy("scope").agg(F.sum("lines").alias("lines")), "scope", "left")
    again = (F.col("failed") >= enough) & (seconds("since", "until") >= lasting) & (F.col("losses") == 0)
    alone = (F.col("refused") > 0) & (F.col("lines") <= fragment) & (F.col("losses") == 0)
    reason = F.when(again | alone, "failing").when(F.col("skipped") >= enough, "skipped").when(F.col("disabled") > 0, "disabled")
    found = short.withColumn("reason", reason).where(F.col("reason").isNotNull())
    return found.withColumns(
        {
            "severity": F.when(F.col("reason") == "failing", "critical").otherwise("info"),
            "failed": F.when(F.col("reason") == "skipped", F.col("skipped")).otherwise(F.col("failed")),
            "why": F.coalesce(F.concat(F.lit(" ("), "because", F.lit(")")), F.lit("")),
        }
    ).drop("losses", "skipped", "disabled", "refused", "lines", "because")
