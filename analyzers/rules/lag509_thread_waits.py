"""LAG509: Thread dumps show a thread that stands in the same call in each of them, or in a deadlock."""

from typing import Any

from analyzers.vocabulary import CRITICAL, Column, DataFrame, F, IfGiven, event, first_of, found, rule
from analyzers.vocabulary.subtasks import subtask_name

_AT = "[[, called at {called_at}]]"
_IN = "in {seen} of {dumps} dump(s)[[ over {minutes} min]]"
_LEFT = "[[; its consumer left the group at {left} UTC and has not come back]]"
_LONG = "[[ for {lasting} min]]"
_TOOLS = {
    "go": "curl -s HOST:PORT/debug/pprof/goroutine?debug=2",
    "python": "py-spy dump --pid PID",
    "dotnet": "dotnet-stack report -p PID",
    "native": "gdb -p PID -batch -ex 'thread apply all bt'",
}
"""What prints the stacks of a process once more."""


@rule(
    "LAG509", title="A thread waits in the same place in every dump", cause="no-progress", stage="lag", severity=CRITICAL,
    says={
        "deadlock": "{who} are in a deadlock: {ring}[[; behind them: {behind} thread(s) more]]",
        "log-ring": "{who} are in a deadlock through the queue of the log: {ring}[[; behind them: {behind} thread(s) more]]",
        "lock": f"{{who}} wait{{s}} for a lock[[, {{lock}},]][[ which {{owner}} holds]][[ while it is in {{owner_call}}]]"
        f"[[ ({{owner_system}})]]"
        f"{_AT}, {_IN}{_LONG}{_LEFT}",
        "call": f"{{who}} wait{{s}}{_LONG} for an answer[[ of {{system}}]] in {{call}}{_AT}, {_IN}{_LEFT}",
        "slow-call": f"{{who}} is in {{call}}[[ ({{system}})]]{_AT}, {_IN}; it computes in between, so the calls return, and are slow",
        "future": f"{{who}} wait{{s}}{_LONG} for a result that does not come[[ of {{system}}]] in {{call}}{_AT}, {_IN}{_LEFT}",
        "room": f"{{who}} wait{{s}} for room in a full queue in {{call}}{_AT}, {_IN}{_LEFT}",
        "async-queue": f"{{who}} wait{{s}} for room in the queue of its asynchronous operator (AsyncWaitOperator), {_IN}: as many calls "
        "are open as its capacity allows, and none completes; no record and no barrier passes",
        "sleep": f"{{who}} sleep{{s}} in {{call}}{_AT}, {_IN}: it tries something again and again, or waits for a time{_LEFT}",
        "process": f"{{who}} wait{{s}} for another process in {{call}}{_AT}, {_IN}{_LEFT}",
        "undrained": f"{{who}} wait{{s}}{_LONG} in {{call}} to hand a result of {{library}} over: nothing reads {{channel}}"
        "[[; {behind} more wait behind it]][[, {user_line} among them]]",
        "send": f"{{who}} wait{{s}}{_LONG} to send into a channel that nothing receives from[[ at {{user_line}}]], {_IN}{_LEFT}",
        "permit": f"{{who}} wait{{s}}{_LONG} for a permit[[ in {{call}}]]{_AT}, {_IN}: all are taken{_LEFT}",
        "event-loop": f"{{who}} runs the event loop and is in {{call}}{_AT}, {_IN}: meanwhile no heartbeat and no poll goes out{_LEFT}",
        "native": f"{{who}} is in a call[[ at {{user_line}}]] whose own stack is not shown, {_IN}{_LEFT}",
    },
    missing="[[{unseen}]]",
    next_command="[[jstack PID > dump-{again}.txt; sleep 60; jstack PID >> dump-{again}.txt; diag triage dump-{again}.txt]]"
    "[[{tool} > dump-1.txt; sleep 60; {tool} >> dump-1.txt; diag triage dump-1.txt]]",
)  # fmt: skip
def thread_waits(
    thread_waits: DataFrame,
    checkpoints: IfGiven,
    log_events: IfGiven,
    *,
    sure: int = 30,  # seconds: no healthy call of a task takes as long, and a slow one is worth knowing
    many: int = 3,  # dumps without a time: nobody takes three at once
    lasting: int = 60,  # seconds, for a thread whose name does not show that it works on records
    polled: int = 300,  # seconds, for what may pass: max.poll.interval.ms is 5 min, a long poll of HTTP is shorter
) -> DataFrame:
    """Per place: a deadlock and a held lock in any dump; else what all of several dumps show, a call in one only as information."""
    several = (F.col("dumps") >= many) | ((F.col("dumps") > 1) & (F.col("seconds") >= sure))
    twice, reason = F.col("dumps") > 1, F.col("reason")
    dead = reason.isin("deadlock", "log-ring")
    blocks = reason.isin("call", "lock", "async-queue")
    stated = F.coalesce("waited_seconds", F.lit(0.0))
    of_kafka = (F.col("loop") == "consumer") | (F.col("system") == "Kafka")
    stays = F.col("left_at").isNotNull() | (F.coalesce(of_kafka, F.lit(False)) & (stated >= polled))
    sent = (reason == "undrained") & (twice | (stated >= lasting))
    held = (reason == "lock") & (stated >= lasting)
    shown_once = stays | sent | held | (stated >= lasting) | (reason == "event-loop")
    unnamed = (F.col("named") == 0) & ~shown_once & ~(twice & (F.col("seconds") >= lasting))
    severity = first_of(
        ("critical", dead | stays | sent | held | ((reason == "async-queue") & F.col("_expires"))),
        ("critical", blocks & several & (F.col("named") > 0) & (stated == 0)),
        ("warning", (reason == "lock") | (reason == "async-queue") | twice | (stated >= lasting)),
        otherwise="info",
    )
    open_ = (F.col("dumps") == 1) & ~dead & (stated < lasting) & F.col("left_at").isNull()
    one = F.col("subtask").isNotNull() & F.col("task").isNotNull()
    many_more = (F.size("threads") > 3) | (F.col("alike") > F.size("threads"))
    names = F.array_join(F.concat(F.slice("threads", 1, 3), F.when(many_more, F.array(F.lit("…"))).otherwise(F.array())), ", ")
    who = first_of((subtask_name(F.col("task"), F.col("subtask"), F.col("parallelism")), one), otherwise=names)
    failed = checkpoints.where(F.col("status") == "FAILED").select("scope").unionByName(
        log_events.where(event("checkpoint-expired")).select("scope")
    )  # fmt: skip
    expires = failed.distinct().withColumn("_expires", F.lit(True))
    thread_waits = thread_waits.join(expires, "scope", "left").withColumn("_expires", F.coalesce("_expires", F.lit(False)))
    rows = thread_waits.where(
        (~unnamed | dead)
        & (blocks | dead | (twice & (reason != "native")) | shown_once | (reason == "undrained"))
        & ((reason != "native") | stays)
    ).withColumns(
        {
            "severity": severity,
            "cause": F.when((reason == "async-queue") & F.col("_expires"), F.lit("barrier-unacknowledged")).otherwise(F.lit("no-progress")),
            "who": who,
            "lock": F.element_at(F.split("lock", r"\."), -1),
            "minutes": F.when(twice & (F.col("seconds") >= 60), F.round(F.col("seconds") / 60, 1)),
            "called_at": F.when(~F.col("user_line").eqNullSafe(F.col("call")), F.col("user_line")),
            "s": F.when(one | (F.size("threads") == 1), F.lit("s")).otherwise(F.lit("")),
            "lasting": F.when(stated >= lasting, F.round(stated / 60).cast("long")),
            "left": F.date_format("left_at", "HH:mm:ss"),
            "again": F.when(open_ & F.col("language").isNull(), F.lit(1)),
            "tool": F.when(open_, _tool()),
            "unseen": F.when(open_, F.lit("whether it stays there: one dump is one instant")),
            "_by": F.concat_ws(
                "|", "reason", "call", "user_line", "lock", "owner", "task", "library", "channel", "file", F.concat_ws(",", "threads")
            ),
        }
    )
    shown = F.concat(
        F.col("who"), F.lit(": "), F.coalesce("ring", F.concat_ws(" < ", "call", "user_line")), F.lit(", "),
        F.col("seen").cast("string"), F.lit(" of "), F.col("dumps").cast("string"), F.lit(" dump(s)"),
    )  # fmt: skip
    names_of = (
        "severity", "cause", "who", "reason", "lock", "owner", "owner_call", "owner_line", "owner_system", "call", "user_frame",
        "user_line", "system", "ring", "seen", "dumps", "minutes", "again", "unseen", "task", "subtask", "parallelism", "since",
        "lasting", "left", "tool", "called_at", "s", "library", "channel", "behind", "alike", "language", "loop",
    )  # fmt: skip
    facts: dict[str, Any] = {name: F.max(name) for name in names_of}  # there is one row of each
    made = found(rows, "_by", at="captured_at", table="thread_waits", shown=shown, file=F.col("file"), **facts)
    return made.withColumns(
        {
            # wanted: several dumps, their times, and the job's own code in the stack
            "confidence": (F.lit(1) + (F.col("dumps") > 1).cast("int") + F.col("user_line").isNotNull().cast("int")) / 3,
        }
    )


def _tool() -> Column:
    return first_of(*((command, F.col("language") == language) for language, command in _TOOLS.items()))
