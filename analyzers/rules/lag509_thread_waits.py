"""LAG509: Thread dumps show a thread that stands in the same call in each of them, or in a deadlock."""

from typing import Any

from analyzers.vocabulary import CRITICAL, DataFrame, F, first_of, found, rule
from analyzers.vocabulary.subtasks import subtask_name

_AT = "[[, called at {user_line}]]"
_IN = "in {seen} of {dumps} dump(s)[[ over {minutes} min]]"


@rule(
    "LAG509", title="A thread waits in the same place in every dump", cause="no-progress", stage="lag", severity=CRITICAL,
    says={
        "deadlock": "{who} are in a deadlock: {ring}",
        "lock": f"{{who}} waits for the lock {{lock}}[[, which {{owner}} holds]][[ while it is in {{owner_call}}]][[ ({{owner_system}})]]"
        f"{_AT}, {_IN}",
        "call": f"{{who}} waits for an answer[[ of {{system}}]] in {{call}}{_AT}, {_IN}",
        "slow-call": f"{{who}} is in {{call}}[[ ({{system}})]]{_AT}, {_IN}; it computes in between, so the calls return, and are slow",
        "future": f"{{who}} waits for a result that does not come[[ of {{system}}]] in {{call}}{_AT}, {_IN}",
        "room": f"{{who}} waits for room in a full queue in {{call}}{_AT}, {_IN}",
        "sleep": f"{{who}} sleeps in {{call}}{_AT}, {_IN}: it tries something again and again, or waits for a time",
        "process": f"{{who}} waits for another process in {{call}}{_AT}, {_IN}",
    },
    missing="[[{unseen}]]",
    next_command="[[jstack PID > dump-{again}.txt; sleep 60; jstack PID >> dump-{again}.txt; diag triage dump-{again}.txt]]",
)  # fmt: skip
def thread_waits(
    thread_waits: DataFrame,
    *,
    sure: int = 30,  # seconds: no healthy call of a task takes as long, and a slow one is worth knowing
    many: int = 3,  # dumps without a time: nobody takes three at once
    lasting: int = 60,  # seconds, for a thread whose name does not show that it works on records
) -> DataFrame:
    """Per place: a deadlock and a held lock in any dump; else what all of several dumps show, a call in one only as information."""
    several = (F.col("dumps") >= many) | ((F.col("dumps") > 1) & (F.col("seconds") >= sure))
    twice, reason = F.col("dumps") > 1, F.col("reason")
    blocks = reason.isin("call", "lock")
    unnamed = (F.col("named") == 0) & ~(twice & (F.col("seconds") >= lasting))
    severity = first_of(
        ("critical", reason == "deadlock"),
        ("critical", blocks & several & (F.col("named") > 0)),
        ("warning", (reason == "lock") | twice),
        otherwise="info",
    )
    one = F.col("subtask").isNotNull() & F.col("task").isNotNull()
    names = F.array_join(F.concat(F.slice("threads", 1, 3), F.when(F.size("threads") > 3, F.array(F.lit("…"))).otherwise(F.array())), ", ")
    who = first_of((subtask_name(F.col("task"), F.col("subtask"), F.col("parallelism")), one), otherwise=names)
    rows = thread_waits.where((~unnamed | (reason == "deadlock")) & (blocks | (reason == "deadlock") | twice)).withColumns(
        {
            "severity": severity,
            "who": who,
            "lock": F.element_at(F.split("lock", r"\."), -1),
            "minutes": F.when(F.col("seconds") >= 60, F.round(F.col("seconds") / 60, 1)),
            "again": F.when((F.col("dumps") == 1) & (reason != "deadlock"), F.lit(1)),
            "unseen": F.when((F.col("dumps") == 1) & (reason != "deadlock"), F.lit("whether it stays there: one dump is one instant")),
            "_by": F.concat_ws("|", "reason", "call", "user_line", "lock", "owner", "task", F.concat_ws(",", "threads")),
        }
    )
    shown = F.concat(
        F.col("who"), F.lit(": "), F.coalesce("ring", F.concat_ws(" < ", "call", "user_line")), F.lit(", "),
        F.col("seen").cast("string"), F.lit(" of "), F.col("dumps").cast("string"), F.lit(" dump(s)"),
    )  # fmt: skip
    names_of = (
        "severity", "who", "reason", "lock", "owner", "owner_call", "owner_line", "owner_system", "call", "user_frame", "user_line",
        "system", "ring", "seen", "dumps", "minutes", "again", "unseen", "task", "subtask", "parallelism", "since",
    )  # fmt: skip
    facts: dict[str, Any] = {name: F.max(name) for name in names_of}  # there is one row of each
    made = found(rows, "_by", at="captured_at", table="thread_waits", shown=shown, file=F.col("file"), **facts)
    return made.withColumns(
        {
            # wanted: several dumps, their times, and the job's own code in the stack
            "confidence": (F.lit(1) + (F.col("dumps") > 1).cast("int") + F.col("user_line").isNotNull().cast("int")) / 3,
        }
    )
