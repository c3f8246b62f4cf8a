"""CKP105: the JobManager names the subtask that does not acknowledge a checkpoint, and its busy share shows why."""

from analyzers.vocabulary import CRITICAL, Column, DataFrame, F, agreed, beside, count, distinct, first_of, found, greatest, rule
from analyzers.vocabulary.restore_points import DEFAULT_TIMEOUT_SECONDS
from analyzers.vocabulary.subtasks import subtask_name

_HELD = "Checkpoint {checkpoint} has waited {age_seconds} s for {culprits} (on {where})"
_SO_FAR = (
    "[[; {expired} checkpoint(s) expired]][[, the last that completed is {last_completed} ({last_completed_at} UTC)]]"
    "[[. {behind} subtask(s) wait behind it, for this barrier only]]"
)
_AND = f"{_SO_FAR}[[. {{victims}} only wait for it: back-pressured, not the cause]]"
_AT_WORK = "[[, at {user_frame}]]"


@rule(
    "CKP105", title="A subtask does not acknowledge the barrier", cause="barrier-unacknowledged", stage="checkpoint", severity=CRITICAL,
    says={
        "stuck-call": f"{_HELD}: its thread is stuck[[ in a call, at {{call}}]][[: {{queue}}]], so the barrier waits{_AND}",
        "blocking-code": f"{_HELD}: its thread is busy all the time{_AT_WORK} and comes to the barrier too late{_AND}",
        "back-pressure": f"{_HELD}: busy all the time{_AT_WORK} and slower than what comes in, so the barrier waits in the queue before it"
        f"{_AND}",
        "skew": f"{_HELD}: it gets far more records than the other subtasks and is busy all the time{_AT_WORK}{_AND}",
        "slow-sync": f"{_HELD}: it is in the synchronous part of the snapshot{_AT_WORK}, which keeps its thread{_AND}",
        "slow-async": f"{_HELD}: it works as usual and has the barrier, but the asynchronous part of its snapshot (the upload of its "
        f"state) does not end{_AND}",
        "storage": f"{_HELD}: it is writing its state to the checkpoint storage, which does not take it in time{_AND}",
        "": f"{_HELD}: all vertices before it acknowledged, the barrier stopped there{_SO_FAR}. Why is not visible: it has no busy and "
        "back-pressure shares",
    },
    missing="[[{unseen}]]",
    next_command="[[curl -s http://JOBMANAGER:8081/taskmanagers/{dump_of}/thread-dump]]"
    "[[curl -s http://JOBMANAGER:8081/jobs/{job}/checkpoints/details/{acks_of}/subtasks/{vertex}]]",
)  # fmt: skip
def subtask_holds_barrier(
    barrier_frontier: DataFrame,
    *,
    expired_at_least: int = 2,  # one expiry alone may be a restart of the storage, a long garbage collection
    surely_seconds: int = 60,  # no healthy barrier takes a minute and ten times as long as ever before
    times_usual: int = 10,
    intervals: int = 3,
) -> DataFrame:
    """Per job, vertex and reason: the culprits, else the frontier. Critical once checkpoints expire, or one takes far longer than ever."""
    name = subtask_name(F.col("task"), F.col("subtask"), F.col("parallelism"))
    victim = F.col("role") == "victim"
    victims = barrier_frontier.where(victim).groupBy("scope", "job", F.col("held_by").alias("task")).agg(distinct(name, "victims"))
    doing = F.concat(F.lit(", thread "), "thread_state", F.lit(" in "), F.coalesce("user_frame", "waits_in"))
    shares = [_share(word) for word in ("busy", "backpressured", "idle")]
    where = F.coalesce(distinct(F.coalesce("resource", "host"), "_where"), F.array(F.lit("its TaskManager")))
    per_vertex = found(
        barrier_frontier.where(~victim), "job", "vertex", "task", "reason", at="captured_at", table="barrier_frontier",
        shown=F.concat(name, F.lit(": not acknowledged"), *shares, F.coalesce(doing, F.lit(""))),
        culprits=distinct(name, "culprits"),
        subtask=F.when(count() == 1, F.max("subtask")),
        parallelism=F.max("parallelism"),
        checkpoint=F.max("checkpoint"),
        last_completed=F.max("last_completed"),
        last_completed_at=F.max("last_completed_at"),
        host=agreed("host"),
        resource=agreed("resource"),
        user_frame=agreed("user_frame"),
        where=F.concat_ws(", ", where),
        age_seconds=greatest(F.round(F.col("age_ms") / 1000).cast("long")),
        expired=greatest("expired", F.col("expired") > 0),
        behind=greatest("behind", F.col("behind") > 0),
        since=F.min("since"),
        _usual=F.max("usual_ms"),
        _interval=F.max("interval_ms"),
        _timeout=F.max("timeout_ms"),
        _queue=F.coalesce(F.bool_or("async_queue_full"), F.lit(False)),
        _waits_in=agreed("waits_in"),
        _seen=F.max(F.col("busy").isNotNull().cast("int")) + F.max(F.col("thread_state").isNotNull().cast("int")),
    )  # fmt: skip
    # with none completed before, what is usual is not known: the first one after a start may have all the state to write
    half_of_timeout = F.coalesce("_timeout", F.lit(DEFAULT_TIMEOUT_SECONDS * 1000)) / 2
    unusual = F.coalesce(F.col("_usual") * times_usual, half_of_timeout)
    for_ever = F.greatest(F.lit(surely_seconds), unusual / 1000, F.coalesce("_interval", F.lit(0)) / 1000 * intervals)
    stands = (F.coalesce("expired", F.lit(0)) >= expired_at_least) | (F.col("age_seconds") >= for_ever)
    call = F.when(~F.col("_queue"), F.coalesce("user_frame", "_waits_in"))
    unnamed = F.col("reason").eqNullSafe("stuck-call") & ~F.col("_queue") & call.isNull()
    return beside(per_vertex, victims, "job", "task").withColumns(
        {
            "severity": first_of(("critical", stands), otherwise="warning"),
            "call": call,
            "look_at": F.when(unnamed, F.col("where")),
            "dump_of": F.when(unnamed, F.col("resource")),
            "acks_of": F.when((~unnamed | F.col("resource").isNull()) & F.col("vertex").rlike("^[0-9a-f]{32}$"), F.col("checkpoint")),
            "queue_kind": F.when(F.col("_queue"), "full asynchronous queue"),
            "queue": F.when(F.col("_queue"), "the queue of its asynchronous operator is full behind a request that never completes"),
            "unseen": first_of(
                ("what the thread does: neither a thread dump nor a busy share could be read", F.col("_seen") == 0),
                ("the call in which its thread waits: no thread dump could be read", unnamed),
            ),
            "fault_ids": F.array(F.lit("tolerance-expired")),
            # wanted: who did not acknowledge, how its time goes, and what its thread does
            "confidence": (F.col("_seen") + F.lit(1)) / 3,
        }
    )


def _share(word: str) -> Column:
    """``, busy 0.98`` where it is known."""
    return F.coalesce(F.concat(F.lit(f", {word} "), F.round(word, 2).cast("string")), F.lit(""))
