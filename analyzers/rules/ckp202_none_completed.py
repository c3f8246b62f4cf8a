"""CKP202: no checkpoint has completed for longer than the settings can explain, as the JobManager reports."""

from analyzers.tables import Row
from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, found, of_newest, rule, seconds, some

_NONE = (
    "No checkpoint has completed for {idle_seconds} s[[ (the last: {last_completed}, {last_completed_at} UTC)]][[; an interval of "
    "{interval_seconds} s and a timeout of {timeout_seconds} s explain {allowed_seconds} s at most]]. {counted} failed since then"
)
_END = (
    "[[. {paused} is 0: while a source reads a backlog, no checkpoint is taken, and that is normal; check whether it still does]]. A "
    "restart would begin {replay_shown} back[[ and read at least {replay_records} records again]]"
)
FACTS = (
    "cause", "reason", "severity", "since", "confidence", "last_completed", "last_completed_at", "idle_seconds", "allowed_seconds",
    "interval_seconds", "timeout_seconds", "counted", "expired", "ignored", "failure", "replay_shown", "replay_records", "paused",
    "acked", "phase_seconds", "from_gb", "to_gb",
)  # fmt: skip


def _is_late(job: Row) -> bool:
    idle, allowed = job["idle_seconds"], job["allowed_seconds"]
    return idle is not None and (bool(job["expired"]) or (allowed is not None and idle > allowed))


@rule(
    "CKP202", title="No checkpoint completes", stage="checkpoint", severity=CRITICAL, needs=some(_is_late),
    says={
        "upload-as-long": f"{_NONE}, {{expired}} of them expired: the {{acked}} subtasks that acknowledged the newest one took "
        f"{{phase_seconds}} s for the asynchronous part, the upload of their state{_END}",
        "expired": f"{_NONE}, {{expired}} of them expired: some subtask does not acknowledge the barrier{_END}",
        "not-written": f"{_NONE}: {{failure}}{_END}",
        "": f"{_NONE}[[, {{ignored}} of them in a way that Flink does not count: the job stays RUNNING]][[: {{failure}}]]{_END}",
    },
    next_command="diag checkpoint-inspect --flink-rest http://JOBMANAGER:8081 --job {job}",
)  # fmt: skip
def none_completed(
    checkpoint_series: DataFrame,
    *,
    of_timeout: float = 0.7,  # as in CKP203: so long an upload is what takes the time
    in_a_row: int = 2,  # as in the logs (CKP101): two expired and none completed after them, whatever the tolerance allows
) -> DataFrame:
    """Per job that runs: longer than max(interval, pause, time-out) × (min(tolerable, 2) + 2) without a completed checkpoint, or the
    newest expired.

    After a restart the time starts again: before that the restart kept the checkpoints from completing.
    """
    allowed = F.col("allowed_seconds")
    running = F.coalesce(seconds("restored_at", "captured_at") > allowed, F.lit(True))
    too_long = (F.col("idle_seconds") > allowed) & running
    ill = too_long | (F.coalesce("expired", F.lit(0)) > 0)
    late = checkpoint_series.where((F.coalesce("state", F.lit("RUNNING")) == "RUNNING") & F.col("idle_seconds").isNotNull() & ill)
    storage = F.coalesce("failure", F.lit("")).rlike("Asynchronous task checkpoint failed|IO-problem|finaliz")
    expired = F.col("expired") > 0
    uploads = (F.col("expired_phase") == "async") & (F.col("expired_phase_ms") >= of_timeout * F.col("timeout_ms"))
    as_long = expired & F.coalesce(uploads, F.lit(False))
    # the JobManager does not report which source reads a backlog: with 0 a long silence may be intended
    paused = F.coalesce(F.col("backlog_interval_ms") == 0, F.lit(False))
    minutes = F.round(F.col("idle_seconds") / 60).cast("long")
    failed = F.col("failed_counted") + F.col("failed_ignored")
    text = F.concat(
        F.lit("last completed "), F.coalesce(F.col("last_completed").cast("string"), F.lit("none")), F.lit(", failed since "), failed,
        F.coalesce(F.concat(F.lit(": "), "failure"), F.lit("")),
    )  # fmt: skip
    shown = late.withColumns(
        {
            "reason": first_of(("upload-as-long", as_long), ("expired", expired), ("not-written", storage)),
            "cause": first_of(("checkpoint-storage", as_long), ("barrier-unacknowledged", expired), ("checkpoint-storage", storage)),
            "acked": F.col("expired_phase_of"),
            "phase_seconds": F.round(F.col("expired_phase_ms") / 1000).cast("long"),
            "from_gb": F.round(F.col("first_state_bytes") / 1e9, 1),
            "to_gb": F.when(F.col("last_state_bytes") > F.col("first_state_bytes"), F.round(F.col("last_state_bytes") / 1e9, 1)),
            "severity": first_of(
                ("critical", (too_long & (expired | storage) & ~paused) | (F.col("expired") >= in_a_row)), otherwise="warning"
            ),
            "allowed_seconds": F.when(too_long, allowed),
            "paused": F.when(paused, "execution.checkpointing.interval-during-backlog"),
            "interval_seconds": F.round(F.col("interval_ms") / 1000).cast("long"),
            "timeout_seconds": F.round(F.col("timeout_ms") / 1000).cast("long"),
            "counted": failed,
            "ignored": F.when(F.col("failed_ignored") > 0, F.col("failed_ignored")),
            "failure": F.regexp_replace("failure", r"\.\s*$", ""),  # it stands within a sentence
            "replay_shown": F.concat(minutes, first_of((" minute", minutes == 1), otherwise=" minutes")),
            # wanted: that none completes, and why; the culprit is another rule's
            "confidence": (F.lit(1) + F.col("failure").isNotNull().cast("int")) / 3,
        }
    )
    return found(
        shown, "job", at="captured_at", table="checkpoint_series", shown=text,
        **of_newest(*FACTS, by="as_of"),
        fault_ids=F.array(F.lit("tolerance-expired")),
    )  # fmt: skip
