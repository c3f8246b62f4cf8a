"""CKP105: the JobManager tells which subtask does not acknowledge a checkpoint, and the busy shares tell why."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analyzers.report.finding import Severity
from analyzers.vocabulary.aggregates import agreed, distinct
from analyzers.vocabulary.findings import evidence
from analyzers.vocabulary.rule import rule
from analyzers.vocabulary.subtasks import subtask_name

_DEFAULT_TIMEOUT_MS = 600_000

_HELD = "Checkpoint {checkpoint} has waited {age_seconds} s for {culprits} (on {where})"
_SO_FAR = (
    "[[; {expired} checkpoint(s) expired]][[, the last that completed is {last_completed} ({last_completed_at} UTC)]]"
    "[[. {behind} subtask(s) wait behind it for nothing but the barrier]]"
)
_VICTIMS = "[[. {victims} only wait for it: back-pressured, not the cause]]"
_AT_WORK = "[[, at {user_frame}]]"


@rule(
    "CKP105",
    title="A subtask does not acknowledge the barrier",
    cause="barrier-unacknowledged",
    stage="checkpoint",
    severity=Severity.CRITICAL,
    says={
        "stuck-call": f"{_HELD}: its thread is stuck[[ in a call, at {{call}}]][[: {{queue}}]], so the barrier waits{_SO_FAR}{_VICTIMS}",
        "blocking-code": f"{_HELD}: its thread is busy all the time{_AT_WORK} and comes to the barrier too late{_SO_FAR}{_VICTIMS}",
        "back-pressure": f"{_HELD}: busy all the time{_AT_WORK} and slower than what comes in, so the barrier waits in the queue "
        f"before it{_SO_FAR}{_VICTIMS}",
        "skew": f"{_HELD}: it gets far more records than the other subtasks and is busy all the time{_AT_WORK}{_SO_FAR}{_VICTIMS}",
        "slow-sync": f"{_HELD}: it is in the synchronous part of the snapshot{_AT_WORK}, which keeps its thread{_SO_FAR}{_VICTIMS}",
        "slow-async": f"{_HELD}: it works as usual and has the barrier, but the asynchronous part of its snapshot (the upload of its "
        f"state) does not end{_SO_FAR}{_VICTIMS}",
        "storage": f"{_HELD}: it is writing its state to the checkpoint storage, which does not take it in time{_SO_FAR}{_VICTIMS}",
        "": f"{_HELD}: all vertices before it acknowledged, the barrier stopped there{_SO_FAR}. Why is not visible: it has no busy and "
        "back-pressure shares",
    },
    missing="[[{unseen}]]",
    next_command="[[curl -s http://JOBMANAGER:8081/taskmanagers/{dump_of}/thread-dump]]"
    "[[curl -s http://JOBMANAGER:8081/jobs/{job}/checkpoints/details/{acks_of}/subtasks/{vertex}]]",
)
def subtask_holds_barrier(
    barrier_frontier: DataFrame,
    *,
    expired_at_least: int = 2,  # one expiry alone may be a restart of the storage, a long garbage collection
    surely_seconds: int = 60,  # nobody's barrier takes a minute and ten times as long as ever before
    times_usual: int = 10,
    intervals: int = 3,
) -> DataFrame:
    """Per job, vertex and reason: the culprits, else the frontier. Critical once checkpoints expire, or one takes far longer than ever."""
    name = subtask_name(F.col("task"), F.col("subtask"), F.col("parallelism"))
    victims = (
        barrier_frontier.where(F.col("role") == "victim")
        .groupBy("scope", "job", F.col("held_by").alias("task"))
        .agg(distinct(name, "victims"))
    )
    judged = barrier_frontier.where(F.col("role") != "victim")
    doing = F.concat(F.lit(", thread "), "thread_state", F.lit(" in "), F.coalesce("user_frame", "waits_in"))
    shares = [_share(word) for word in ("busy", "backpressured", "idle")]
    told = F.concat(name, F.lit(": not acknowledged"), *shares, F.coalesce(doing, F.lit("")))
    per_vertex = judged.groupBy("scope", "job", "vertex", "task", F.col("reason")).agg(
        distinct(name, "culprits"),
        F.when(F.count("*") == 1, F.max("subtask")).alias("subtask"),
        F.max("parallelism").alias("parallelism"),
        agreed("host"),
        agreed("resource"),
        agreed("user_frame"),
        F.concat_ws(", ", F.coalesce(distinct(F.coalesce("resource", "host"), "_where"), F.array(F.lit("its TaskManager")))).alias("where"),
        F.max("checkpoint").alias("checkpoint"),
        F.max(F.round(F.col("age_ms") / 1000).cast("long")).alias("age_seconds"),
        F.max(F.when(F.col("expired") > 0, F.col("expired"))).alias("expired"),
        F.max("usual_ms").alias("_usual"),
        F.max("interval_ms").alias("_interval"),
        F.max("timeout_ms").alias("_timeout"),
        F.max("last_completed").alias("last_completed"),
        F.max("last_completed_at").alias("last_completed_at"),
        F.max(F.when(F.col("behind") > 0, F.col("behind"))).alias("behind"),
        F.min("since").alias("since"),
        F.max("captured_at").alias("until"),
        F.bool_or("async_queue_full").alias("_queue"),
        agreed("waits_in", "_waits_in"),
        (F.max(F.col("busy").isNotNull().cast("int")) + F.max(F.col("thread_state").isNotNull().cast("int"))).alias("_seen"),
        evidence("barrier_frontier", told, at="captured_at"),
    )
    found = per_vertex.join(victims, ["scope", "job", "task"], "left")
    # with none completed before, nobody knows what is usual: the first one after a start may have all the state to write
    unusual = F.when(F.col("_usual").isNull(), F.coalesce("_timeout", F.lit(_DEFAULT_TIMEOUT_MS)) / 2).otherwise(
        F.col("_usual") * times_usual
    )
    for_ever = F.greatest(F.lit(surely_seconds), unusual / 1000, F.coalesce("_interval", F.lit(0)) / 1000 * intervals)
    stands = (F.coalesce("expired", F.lit(0)) >= expired_at_least) | (F.col("age_seconds") >= for_ever)
    unnamed = (
        F.col("reason").eqNullSafe("stuck-call") & ~F.coalesce("_queue", F.lit(False)) & F.coalesce("user_frame", "_waits_in").isNull()
    )
    return found.withColumns(
        {
            "severity": F.when(stands, F.lit("critical")).otherwise(F.lit("warning")),
            "call": F.when(~F.coalesce("_queue", F.lit(False)), F.coalesce("user_frame", "_waits_in")),
            "look_at": F.when(unnamed, F.col("where")),
            "dump_of": F.when(unnamed, F.col("resource")),
            "acks_of": F.when(~unnamed | F.col("resource").isNull(), F.col("checkpoint")),
            "queue_kind": F.when(F.col("_queue"), F.lit("full asynchronous queue")),
            "queue": F.when(F.col("_queue"), F.lit("the queue of its asynchronous operator is full behind a request that never completes")),
            "unseen": F.when(F.col("_seen") == 0, F.lit("what the thread does: no thread dump and no busy share could be had")).when(
                unnamed, F.lit("the call in which its thread waits: no thread dump was had")
            ),
            "fault_ids": F.array(F.lit("tolerance-expired")),
            # wanted: who did not acknowledge, how its time goes, and what its thread does
            "confidence": (F.col("_seen") + F.lit(1)) / 3,
        }
    ).drop("_queue", "_waits_in", "_seen", "_usual", "_interval", "_timeout")


def _share(word: str) -> Column:
    """``, busy 0.98`` where it is known."""
    return F.coalesce(F.concat(F.lit(f", {word} "), F.round(word, 2).cast("string")), F.lit(""))
