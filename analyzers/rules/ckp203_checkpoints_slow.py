"""CKP203: checkpoints complete, but so slowly that the next disturbance makes them expire."""

from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.tables import Row
from analyzers.vocabulary import WARNING, DataFrame, F, first_of, found, none, of_newest, rule
from analyzers.vocabulary.subtasks import subtask_name

_WHERE = "[[. In checkpoint {slowest_checkpoint} {slowest} acknowledged last, most of it in {phase_words} ({slowest_phase_seconds} s)]]"
FACTS = (
    "completed", "longest_seconds", "usual_seconds", "timeout_seconds", "interval_seconds", "from_mb", "to_mb", "phase_words",
    "slowest_phase_seconds", "slowest_checkpoint", "slowest",
)  # fmt: skip


def _some_slow(jobs: Sequence[Row], thresholds: Mapping[str, Any]) -> bool:
    """Whether a job's state grows, or its checkpoints take long enough to disturb anything."""
    least_ms = thresholds["least_seconds"] * 1000
    return any(job["grows"] or max(job["longest_ms"] or 0, job["usual_ms"] or 0) >= least_ms for job in jobs)


@rule(
    "CKP203", title="Checkpoints take nearly as long as they may", stage="risk", severity=WARNING, needs=_some_slow,
    says={
        "near-timeout": "The slowest of the last {completed} checkpoints took {longest_seconds} s of the {timeout_seconds} s it may take"
        f"{_WHERE}",
        "longer-than-interval": "Checkpoints usually take {usual_seconds} s and are due every {interval_seconds} s: one follows the other, "
        f"and the job is busy with checkpoints{_WHERE}",
        "growth": "State grew in each of the last {completed} checkpoints, from {from_mb} MB to {to_mb} MB: they take longer each time",
    },
    next_command="diag checkpoint-inspect --flink-rest http://JOBMANAGER:8081 --job {job}",
)  # fmt: skip
def checkpoints_slow(
    checkpoint_series: DataFrame,
    *,
    of_timeout: float = 0.7,  # a third more, as a busy disk gives, and they expire
    of_interval: float = 1.0,  # from there on one follows the other
    least_seconds: float = 10.0,  # checkpoints that take less disturb nothing
    growth: float = 2.0,  # state breathes with its windows
    least_mb: float = 10.0,
    enough: int = 3,  # one slow checkpoint is a disturbance
) -> DataFrame:
    """Per job and reason, of jobs whose checkpoints complete."""
    well = checkpoint_series.where((F.col("completed") >= enough) & (F.coalesce("expired", F.lit(0)) == 0))
    longest, usual, first, last = (F.col(name) for name in ("longest_ms", "usual_ms", "first_state_bytes", "last_state_bytes"))
    near = (longest >= of_timeout * F.col("timeout_ms")) & (longest >= least_seconds * 1000)
    tight = (usual >= of_interval * F.col("interval_ms")) & (usual >= least_seconds * 1000)
    grows = F.col("grows") & (last >= growth * first) & (last >= least_mb * 1e6)
    reasons = F.array(F.when(near, "near-timeout"), F.when(tight, "longer-than-interval"), F.when(grows, "growth"))
    text = F.concat(
        F.lit("usual "), F.round(usual / 1000, 1), F.lit(" s, longest "), F.round(longest / 1000, 1), F.lit(" s, timeout "),
        F.round(F.col("timeout_ms") / 1000, 1), F.lit(" s, state "), F.coalesce(last, F.lit(0)), F.lit(" bytes"),
    )  # fmt: skip
    phase = F.col("slowest_phase")
    shown = well.withColumn("reason", F.explode(F.array_compact(reasons))).withColumns(
        {
            "longest_seconds": F.round(longest / 1000).cast("long"),
            "usual_seconds": F.round(usual / 1000).cast("long"),
            "timeout_seconds": F.round(F.col("timeout_ms") / 1000).cast("long"),
            "interval_seconds": F.round(F.col("interval_ms") / 1000, 1),
            "from_mb": F.round(first / 1e6, 1),
            "to_mb": F.round(last / 1e6, 1),
            "slowest": subtask_name(F.col("slowest_task"), F.col("slowest_subtask"), F.col("slowest_parallelism")),
            "phase_words": first_of(
                ("the start delay: the barrier waited in queues before it", phase == "start-delay"),
                ("the alignment: it waited for the barrier of its last input", phase == "alignment"),
                ("the synchronous part, in which the task stands still", phase == "sync"),
                ("the asynchronous part, the upload of its state", phase == "async"),
            ),
            "slowest_phase_seconds": F.round(F.col("slowest_phase_ms") / 1000, 1),
        }
    )
    return found(
        shown, "job", "reason", at="captured_at", table="checkpoint_series", shown=text,
        **of_newest(*FACTS, by="captured_at"),
        since=none("timestamp"),
        until=F.max("captured_at"),
    )  # fmt: skip
