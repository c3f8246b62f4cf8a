"""CKP202: no checkpoint has completed for longer than the settings can explain, as the JobManager tells."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import seconds
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule

_NONE = "No checkpoint completed for {idle_seconds} s[[ (the last: {last_completed}, {last_completed_at} UTC)]]; with an interval "
_ALLOWED = "of {interval_seconds} s and time-out of {timeout_seconds} s {allowed_seconds} s are the most. {counted} failed since then"
_PAUSED = (
    "[[. {paused} is 0: while a source reads a backlog no checkpoint is taken at all, and that is no fault; look whether it still does]]"
)
_AGAIN = ". A restart would begin {replay_shown} back[[ and read at least {replay_records} records again]]"


@rule(
    "CKP202",
    title="No checkpoint completes",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    says={
        "expired": f"{_NONE}{_ALLOWED}, {{expired}} of them expired: some subtask does not acknowledge the barrier{_PAUSED}{_AGAIN}",
        "not-written": f"{_NONE}{_ALLOWED}: {{failure}}{_PAUSED}{_AGAIN}",
        "": f"{_NONE}{_ALLOWED}[[, {{ignored}} of them in a way that Flink does not count: the job stays RUNNING for ever]]"
        f"[[: {{failure}}]]{_PAUSED}{_AGAIN}",
    },
    next_command="diag checkpoint-inspect --flink-rest http://JOBMANAGER:8081 --job {job}",
)
def none_completed(checkpoint_series: DataFrame) -> DataFrame:
    """Per job that runs: longer than max(interval, pause, time-out) × (min(tolerable, 2) + 2) without a completed checkpoint.

    After a restart the time runs anew: until then the restart is what kept the checkpoints from completing.
    """
    storage = F.coalesce("failure", F.lit("")).rlike("Asynchronous task checkpoint failed|IO-problem|finaliz")
    late = checkpoint_series.where(
        (F.col("state") == "RUNNING") & F.col("allowed_seconds").isNotNull() & (F.col("idle_seconds") > F.col("allowed_seconds"))
    )
    running = seconds("restored_at", "captured_at")
    late = late.where(F.coalesce(running > F.col("allowed_seconds"), F.lit(True)))
    minutes = F.round(F.col("idle_seconds") / 60).cast("long")
    # which of the sources reads a backlog the JobManager does not tell: with 0 a long silence may be as it was meant
    paused = F.coalesce(F.col("backlog_interval_ms") == 0, F.lit(False))
    newest = late.withColumn("_at", F.struct("as_of"))
    reason = F.when(F.col("expired") > 0, F.lit("expired")).when(storage, F.lit("not-written"))
    text = F.concat(
        F.lit("last completed "), F.coalesce(F.col("last_completed").cast("string"), F.lit("none")), F.lit(", failed since "),
        F.col("failed_counted") + F.col("failed_ignored"), F.coalesce(F.concat(F.lit(": "), "failure"), F.lit("")),
    )  # fmt: skip
    shown = newest.withColumns(
        {
            "reason": reason,
            "cause": F.when(F.col("expired") > 0, F.lit("barrier-unacknowledged")).when(storage, F.lit("checkpoint-storage")),
            "severity": F.when(reason.isNotNull() & ~paused, F.lit("critical")).otherwise(F.lit("warning")),
            "paused": F.when(paused, F.lit("execution.checkpointing.interval-during-backlog")),
            "interval_seconds": F.round(F.col("interval_ms") / 1000).cast("long"),
            "timeout_seconds": F.round(F.col("timeout_ms") / 1000).cast("long"),
            "counted": F.col("failed_counted") + F.col("failed_ignored"),
            "ignored": F.when(F.col("failed_ignored") > 0, F.col("failed_ignored")),
            "failure": F.regexp_replace("failure", r"\.\s*$", ""),  # it stands within a sentence
            "replay_shown": F.concat(minutes, F.when(minutes == 1, F.lit(" minute")).otherwise(F.lit(" minutes"))),
            "fault_ids": F.array(F.lit("tolerance-expired")),
            # wanted: that none completes, and why; the culprit is another rule's
            "confidence": (F.lit(1) + F.col("failure").isNotNull().cast("int")) / 3,
            "until": F.col("captured_at"),
        }
    )
    kept = (
        "cause", "reason", "severity", "since", "until", "confidence", "last_completed", "last_completed_at", "idle_seconds",
        "allowed_seconds", "interval_seconds", "timeout_seconds", "counted", "expired", "ignored", "failure", "replay_shown",
        "replay_records", "fault_ids", "paused",
    )  # fmt: skip
    return shown.groupBy("scope", "job").agg(
        *(F.max_by(F.col(name), "_at").alias(name) for name in kept), evidence("checkpoint_series", text, at="captured_at")
    )
