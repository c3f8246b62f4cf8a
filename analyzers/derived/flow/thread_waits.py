"""Where threads stand in thread dumps: the same place in all that show them is stuck, another one moves, waiting for work is neither.

A dump is one instant. A thread of a pool that waits for its next task, a consumer that polls, a selector and a task whose mailbox is empty
are as they should be; so is one that is back-pressured: what is behind it is slow. What counts is a thread that works on records, or holds
a lock that such a thread wants, and that stands in one call of its own code or of a client.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analyzers.logs.matching.expressions import expression
from analyzers.tables import THREAD_WAITS, Row

Tables = Mapping[str, Sequence[Row]]

SLOW_CPU = 0.002
"""Share of the time between two dumps that a thread must have computed to have come back from its call: a blocked one uses none."""
_REASONS = {
    "socket": "call", "connect": "call", "resolve": "call", "lock": "lock", "future": "future", "full": "room", "sleep": "sleep",
    "process": "process", "wait": "future",
}  # fmt: skip
_HOLDS_ON = ("socket", "connect", "resolve", "future", "sleep", "lock", "full", "process")
"""What a thread that holds a lock may wait for itself."""
_NAMED = expression(
    r"Legacy Source Thread|stream execution thread|Executor task launch worker|KafkaListenerEndpointContainer|StreamThread-\d|task-thread-"
    r"|[Cc]onsumer|[Ss]ink|[Ss]ource|[Ll]istener|[Ww]riter|[Ff]lush|[Kk]afka|[Pp]rocessor|[Ww]orker|AsyncOperations|vert\.x-eventloop|^main$"
)
"""Threads that work on records, by the names that products and people give them."""
_SERVES = expression(
    r"(?:https?|ajp|grpc|qtp|XNIO|jetty|undertow|netty|reactor-http|RMI|JMX|default-dispatcher|scheduling-|SIGTERM)[\w. -]*"
)
"""Threads that answer requests: that one waits for a database when it is looked at is its work."""
_MOST_NAMES = 8


def thread_waits(tables: Tables) -> list[Row]:
    """Rows of ``thread_waits``, per scope and file of dumps of one process."""
    out: list[Row] = []
    scopes: dict[str, list[Row]] = defaultdict(list)
    for row in tables.get("stack_samples", ()):
        if row["moment"] is not None:
            scopes[row["scope"]].append(row)
    for scope, rows in sorted(scopes.items()):
        dumps: dict[int, dict[tuple[str, str | None], Row]] = defaultdict(dict)
        for row in rows:
            dumps[row["moment"]].setdefault((row["thread"], row["thread_id"]), row)
        rings = _deadlocks(dumps)
        out += [_row(scope, values) for values in rings]
        caught = {name for values in rings for name in values["threads"]}
        stands = [(own, values) for own in _of_threads(dumps) if (values := _stands(own, dumps)) is not None]
        tasks = {values["threads"][0] for _, values in stands if values["task"]}
        caught |= {values["owner"] for _, values in stands} - tasks  # of a lock its waiter says more, unless a task's thread holds it
        found: dict[tuple[object, ...], list[tuple[list[Row], dict[str, Any]]]] = defaultdict(list)
        for own, values in stands:
            if own[-1]["thread"] not in caught and (values["task"] or values["owner"] not in tasks):
                place = (values["reason"], values["call"], values["user_line"], values["lock"], values["owner"], values["task"])
                found[place].append((own, values))
        out += [_row(scope, _together(alike)) for alike in found.values()]
    return out


def _of_threads(dumps: Mapping[int, Mapping[tuple[str, str | None], Row]]) -> Iterable[list[Row]]:
    """The rows of each thread, oldest dump first."""
    threads: dict[tuple[str, str | None], list[Row]] = defaultdict(list)
    for _, rows in sorted(dumps.items(), key=lambda item: (item[1] and _time(next(iter(item[1].values()))), item[0])):
        for key, row in rows.items():
            threads[key].append(row)
    return threads.values()


def _time(row: Row) -> float:
    return row["captured_at"].timestamp() if row["captured_at"] else 0.0


def _stands(own: Sequence[Row], dumps: Mapping[int, Mapping[tuple[str, str | None], Row]]) -> dict[str, Any] | None:
    """What one thread waits for in each dump that shows it; None where it moves, or waits for work."""
    last = max(own, key=lambda row: len(row["frames"]))  # a dump may be cut in the middle of a stack
    reason = _REASONS.get(last["waits"])
    if reason is None or not (last["user_frame"] or last["system"] or last["owner"] or (last["task"] and last["call"])):
        return None
    if not all(_alike(row, last) for row in own):
        return None
    named = bool(last["task"] or _NAMED.search(last["thread"]))
    if not named and (_SERVES.match(last["thread"]) or last["user_frame"] is None):
        return None
    if reason in ("sleep", "future", "room", "process") and (not last["user_frame"] and not last["task"]):
        return None
    if last["thread"] == "main" and reason in ("sleep", "future"):  # it waits for the end of the process
        return None
    owner = _owner(last, dumps[last["moment"]])
    if reason == "lock" and len(own) < 2 and (owner is None or owner["waits"] not in _HOLDS_ON):
        return None  # at work behind the lock in one instant: it gives it back
    seconds = (own[-1]["captured_at"] - own[0]["captured_at"]).total_seconds() if own[0]["captured_at"] and own[-1]["captured_at"] else None
    if reason == "call" and _computed(own):
        reason = "slow-call"
    return {
        "reason": reason, "threads": [last["thread"]], "task": last["task"], "subtask": last["subtask"], "parallelism": last["parallelism"],
        "named": int(named), "call": last["call"], "user_frame": last["user_frame"], "user_line": last["user_line"],
        "system": last["system"],
        "lock": last["lock"], "owner": last["owner"], "owner_call": owner and owner["call"], "owner_line": owner and owner["user_line"],
        "owner_waits": owner and owner["waits"], "owner_system": owner and owner["system"], "seen": len(own), "dumps": len(own),
        "seconds": seconds, "since": own[0]["captured_at"], "captured_at": last["captured_at"], "file": last["file"], "line": last["line"],
    }  # fmt: skip


def _alike(row: Row, fullest: Row) -> bool:
    """Whether a thread stands where it stood in another dump, as far as its stack is printed."""
    if (row["waits"], row["call"], row["user_line"]) == (fullest["waits"], fullest["call"], fullest["user_line"]):
        return True
    shown = row["frames"]
    return 1 < len(shown) < len(fullest["frames"]) and shown == fullest["frames"][: len(shown)] and row["state"] == fullest["state"]


def _owner(row: Row, dump: Mapping[tuple[str, str | None], Row]) -> Row | None:
    return next((each for (name, _), each in dump.items() if name == row["owner"]), None) if row["owner"] else None


def _computed(own: Sequence[Row]) -> bool:
    """Whether the thread used the processor between the first and the last dump: then its calls come back."""
    first, last = own[0], own[-1]
    if len(own) < 2 or None in (first["cpu_ms"], last["cpu_ms"], first["elapsed_seconds"], last["elapsed_seconds"]):
        return False
    passed = last["elapsed_seconds"] - first["elapsed_seconds"]
    return bool(passed > 0 and (last["cpu_ms"] - first["cpu_ms"]) / 1000 / passed > SLOW_CPU)


def _together(alike: Sequence[tuple[list[Row], dict[str, Any]]]) -> dict[str, Any]:
    """Threads that stand in the same place as one row."""
    most = max((values for _, values in alike), key=lambda values: (values["named"], values["seen"]))
    names = sorted(values["threads"][0] for _, values in alike)
    return {
        **most,
        "threads": names[:_MOST_NAMES],
        "named": sum(values["named"] for _, values in alike),
        "subtask": most["subtask"] if len({values["subtask"] for _, values in alike}) == 1 else None,
    }


def _deadlocks(dumps: Mapping[int, Mapping[tuple[str, str | None], Row]]) -> list[dict[str, Any]]:
    """Rings of threads each of which waits for a lock that the next one holds."""
    found: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for _, dump in sorted(dumps.items()):
        by_name = {name: row for (name, _), row in dump.items()}
        for name in by_name:
            ring = [name]
            while (owner := by_name[ring[-1]]["owner"]) in by_name and owner not in ring:
                ring.append(owner)
            if owner == name and name == min(ring):
                found[tuple(ring)].append(by_name[name])
    out = []
    for around, rows in found.items():
        ring = list(around)
        last = rows[-1]
        by_name = {name: row for (name, _), row in dumps[last["moment"]].items()}
        words = "; ".join(f"{name} waits for {_short(by_name[name]['lock'])} in {by_name[name]['call']}" for name in ring)
        task = next((by_name[name] for name in ring if by_name[name]["task"]), last)
        out.append({
            "reason": "deadlock", "threads": ring[:_MOST_NAMES], "task": task["task"], "subtask": task["subtask"],
            "parallelism": task["parallelism"], "named": len(ring), "call": last["call"], "user_frame": last["user_frame"],
            "user_line": last["user_line"], "lock": last["lock"], "owner": last["owner"], "ring": words, "seen": len(rows),
            "dumps": len(rows), "since": rows[0]["captured_at"], "captured_at": last["captured_at"],
            "file": last["file"], "line": last["line"],
        })  # fmt: skip
    return out


def _short(name: str | None) -> str:
    return re.split(r"[.]", name)[-1] if name else "a lock"


def _row(scope: str, values: Mapping[str, Any]) -> Row:
    return THREAD_WAITS.row({"scope": scope, "as_of": values["captured_at"], **values})
