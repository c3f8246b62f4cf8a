"""CKP203: checkpoints complete, but so slowly that the next disturbance makes them expire."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule

_WHERE = "[[. In checkpoint {slowest_checkpoint} the last to acknowledge was subtask {slowest_subtask} (from 0) of {slowest_task}, "
_PHASE = "most of it in {phase_words} ({slowest_phase_seconds} s)]]"


@rule(
    "CKP203",
    title="Checkpoints take nearly as long as they may",
    stage="risk",
    severity=Severity.WARNING,
    says={
        "near-timeout": "The slowest of the last {completed} checkpoints took {longest_seconds} s of the {timeout_seconds} s it may take"
        f"{_WHERE}{_PHASE}",
        "longer-than-interval": "Checkpoints usually take {usual_seconds} s and are due every {interval_seconds} s: one follows the other, "
        f"and the job works for checkpoints{_WHERE}{_PHASE}",
        "growth": "State grew in each of the last {completed} checkpoints, from {from_mb} MB to {to_mb} MB: they take longer each time",
    },
    next_command="diag checkpoint-inspect --flink-rest http://JOBMANAGER:8081 --job {job}",
)
def checkpoints_slow(
    checkpoint_series: DataFrame,
    *,
    of_timeout: float = 0.7,  # a third more, as a busy disk gives, and they expire
    of_interval: float = 1.0,  # from there on one follows the other
    least_seconds: float = 10.0,  # nobody is disturbed by checkpoints that take less
    growth: float = 2.0,  # state breathes with its windows
    least_mb: float = 10.0,
    enough: int = 3,  # one slow checkpoint is a disturbance
) -> DataFrame:
    """Per job and reason, of jobs whose checkpoints complete."""
    well = checkpoint_series.where((F.col("completed") >= enough) & (F.coalesce("expired", F.lit(0)) == 0))
    near = (F.col("longest_ms") >= of_timeout * F.col("timeout_ms")) & (F.col("longest_ms") >= least_seconds * 1000)
    tight = (F.col("usual_ms") >= of_interval * F.col("interval_ms")) & (F.col("usual_ms") >= least_seconds * 1000)
    grows = (
        F.col("grows") & (F.col("last_state_bytes") >= growth * F.col("first_state_bytes")) & (F.col("last_state_bytes") >= least_mb * 1e6)
    )
    reasons = F.filter(
        F.array(
            F.when(near, F.lit("near-timeout")), F.when(tight, F.lit("longer-than-interval")), F.when(grows, F.lit("growth"))
        ),
        lambda reason: reason.isNotNull(),
    )  # fmt: skip
    text = F.concat(
        F.lit("usual "), F.round(F.col("usual_ms") / 1000, 1), F.lit(" s, longest "), F.round(F.col("longest_ms") / 1000, 1),
        F.lit(" s, time-out "), F.round(F.col("timeout_ms") / 1000, 1), F.lit(" s, state "),
        F.coalesce("last_state_bytes", F.lit(0)), F.lit(" bytes"),
    )  # fmt: skip
    shown = well.withColumn("reason", F.explode(reasons)).withColumns(
        {
            "longest_seconds": F.round(F.col("longest_ms") / 1000).cast("long"),
            "usual_seconds": F.round(F.col("usual_ms") / 1000).cast("long"),
            "timeout_seconds": F.round(F.col("timeout_ms") / 1000).cast("long"),
            "interval_seconds": F.round(F.col("interval_ms") / 1000, 1),
            "from_mb": F.round(F.col("first_state_bytes") / 1e6, 1),
            "to_mb": F.round(F.col("last_state_bytes") / 1e6, 1),
            "phase_words": _in_words("slowest_phase"),
            "slowest_phase_seconds": F.round(F.col("slowest_phase_ms") / 1000, 1),
            "until": F.col("captured_at"),
        }
    )
    facts = (
        "completed", "longest_seconds", "usual_seconds", "timeout_seconds", "interval_seconds", "from_mb", "to_mb", "phase_words",
        "slowest_phase_seconds", "slowest_checkpoint", "slowest_task", "slowest_subtask", "until",
    )  # fmt: skip
    return shown.groupBy("scope", "job", "reason").agg(
        *(F.max_by(F.col(name), "captured_at").alias(name) for name in facts), evidence("checkpoint_series", text, at="captured_at")
    )


def _in_words(phase: str) -> Column:
    told = F.when(F.col(phase) == "start-delay", "the start delay: the barrier waited in queues before it")
    told = told.when(F.col(phase) == "alignment", "the alignment: it waited for the barrier of its last input")
    told = told.when(F.col(phase) == "sync", "the synchronous part, in which the task stands still")
    return told.when(F.col(phase) == "async", "the asynchronous part, the upload of its state")
