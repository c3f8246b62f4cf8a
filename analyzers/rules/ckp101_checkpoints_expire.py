"""CKP101: checkpoints expire again and again, because some subtask does not answer the barrier."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analyzers.checkpoint_life import CHECKPOINT_LIFE, barrier_record, has_expired, how_many_expired, newest_in_a_row
from analyzers.finding import Severity
from analyzers.log_roles import JOBMANAGER
from analyzers.rule import exemplars, has, rule

NAMING = ("barrier-overtaken", "barrier-abandoned", "task-stuck-cancelling", "checkpoint-late-ack")
"""Lines that name a subtask; without them the culprit is not in the logs."""


@rule(
    "CKP101",
    title="Checkpoints expire before they complete",
    cause="barrier-unacknowledged",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    logs_of=JOBMANAGER,
    signatures=(*CHECKPOINT_LIFE, *NAMING),
    says="{how_many} expired[[ after {timeout_seconds} s]][[, the last {newest_in_a_row} in a row]][[, the first at {since} UTC]]"
    "[[; the last one that completed is {last_completed} ({last_completed_at} UTC)]]: some subtask does not acknowledge the barrier, "
    "and until it does no source offset is committed and a restart repeats everything since then",
    fix="Find the subtask that does not acknowledge (web UI: Checkpoints, History, the expired one; the vertex in which only some "
    "subtasks are missing, not those behind it) and take a "
    "thread dump of its TaskManager. Then repair what its thread waits for: a call without a time-out, an asynchronous queue that is full "
    "behind a request that never completes, "
    "a lock, a sink that blocks. If all subtasks of the last vertex are busy and the one before is back-pressured, give the slow one "
    "capacity or enable "
    "execution.checkpointing.unaligned. Raising execution.checkpointing.timeout only hides a stuck call.",
    missing="[[{unnamed}]]",
    next_command="diag triage --flink-rest http://JOBMANAGER:8081 --job {job}   # which subtask holds the barrier, and where its "
    "thread stands",
    needs=has(signature=("checkpoint-expired", "checkpoint-failed")),
)
def checkpoints_expire(
    log_events: DataFrame,
    log_counts: DataFrame | None,
    *,
    last: int = 10,  # counted: a fixed hour would never see three of a job that checkpoints every 30 minutes
    enough: int = 3,  # one or two happen around a redeploy, a rebalance, a slow restore
    in_a_row: int = 2,  # with none completed after them, two already mean that the job stands still for two time-outs
) -> DataFrame:
    """Jobs whose newest checkpoints expire: critical while it goes on, a warning for one expiry at a log's end or a spell that ended."""
    record = barrier_record(log_events, log_counts, last=last)
    lines = log_events.groupBy("scope", "job").agg(
        F.count_if(F.col("signature").isin(*NAMING)).alias("naming"), exemplars(where=has_expired())
    )
    repeated = ((F.col("expired") >= enough) & F.col("still")) | (F.col("in_a_row") >= in_a_row)
    nothing_else = (F.col("in_a_row") >= 1) & (F.col("completed") == 0) & ~F.col("ended")  # a fragment: the expiry is all there is
    worth_a_word = (F.col("expired") >= enough) | ((F.col("in_a_row") >= 1) & ~F.col("ended"))
    unnamed = F.lit(
        "which subtask does not answer: no line of these logs names it; the checkpoint's details in the REST API or web UI and a thread "
        "dump do"
    )
    return (
        record.join(lines, ["scope", "job"])
        .where(repeated | nothing_else | worth_a_word)
        .withColumns(
            {
                "severity": F.when(repeated | nothing_else, F.lit("critical")).otherwise(F.lit("warning")),
                "reason": F.lit("expired"),
                "how_many": how_many_expired(),
                "newest_in_a_row": newest_in_a_row(),
                "fault_ids": F.array(F.lit("tolerance-expired")),
                "unnamed": F.when(F.col("naming") == 0, unnamed),
                # wanted: so many expiries, and the name of the culprit, which this rule never has
                "confidence": F.least("expired", F.lit(enough)) / (enough + 1),
            }
        )
        .drop("still", "ended", "completed", "in_a_row", "more", "naming")
    )
