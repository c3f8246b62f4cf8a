"""Rings of threads of a JVM in which each waits for what the next one holds: a lock, or the room in a queue that only the next one makes.

A deadlock detector sees locks only. Logging closes a ring through its queue: who has a lock logs, the queue of the log is full, and what
empties it wants that lock, as an appender that is a client of Kafka or a database logs and locks itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analyzers.logs.matching.expressions import expression
from analyzers.tables import Row

Dump = Mapping[tuple[str, str | None], Row]
MOST_NAMES = 8
_INNERMOST = 10
_PACKAGES = expression(r"^(?:[a-z]\w*\.){2,}")


@dataclass(frozen=True)
class Queue:
    """A queue with one thread that empties it: frames of who waits for room, and of that thread."""

    fills: re.Pattern[str]
    empties: re.Pattern[str]
    of_log: bool = False


QUEUES = (
    Queue(
        expression(r"^org\.apache\.logging\.log4j\.core\.async\.AsyncLogger(?:Config)?Disruptor\."),
        expression(
            r"^org\.apache\.logging\.log4j\.core\.async\.(?:RingBufferLogEvent|AsyncLoggerConfigDisruptor\$\w+)(?:Handler4?)?\.onEvent$"
        ),
        of_log=True,
    ),
    Queue(
        expression(r"^org\.apache\.logging\.log4j\.core\.appender\.AsyncAppender\.append$"),
        expression(r"^org\.apache\.logging\.log4j\.core\.appender\.AsyncAppender(?:\$AsyncThread|EventDispatcher)\."),
        of_log=True,
    ),
    Queue(
        expression(r"^ch\.qos\.logback\.core\.AsyncAppenderBase\.put$"),
        expression(r"^ch\.qos\.logback\.core\.AsyncAppenderBase\$Worker\.run$"),
        of_log=True,
    ),
    Queue(
        expression(r"^org\.apache\.kafka\.clients\.producer\.internals\.BufferPool\.allocate$"),
        expression(r"^org\.apache\.kafka\.clients\.producer\.internals\.Sender\.run$"),
    ),
)
"""Source: AsyncLoggerDisruptor and RingBufferLogEventHandler of log4j 2.3 to 2.24, AsyncAppender, logback's AsyncAppenderBase; BufferPool
of Kafka's producer."""


@dataclass(frozen=True)
class _Step:
    """Who a thread waits for, and for what."""

    behind: str
    queue: Queue | None


def rings(dumps: Mapping[int, Dump]) -> list[dict[str, Any]]:
    """Values of ``thread_waits`` for each ring; `behind`: how many threads more wait for a lock of it."""
    found: dict[tuple[str, ...], list[tuple[Row, dict[str, _Step], int]]] = defaultdict(list)
    for _, dump in sorted(dumps.items()):
        rows = {name: row for (name, _), row in dump.items()}
        steps = {name: step for name, row in rows.items() if (step := _step(row, dump)) is not None and step.behind in rows}
        for name in steps:
            ring = [name]
            while ring[-1] in steps and steps[ring[-1]].behind not in ring:
                ring.append(steps[ring[-1]].behind)
            if ring[-1] in steps and steps[ring[-1]].behind == name == min(ring):
                found[tuple(ring)].append((rows[name], steps, _waiting(dump.values(), ring)))
    return [_values(list(ring), seen, dumps) for ring, seen in found.items()]


def _step(row: Row, dump: Dump) -> _Step | None:
    if row["owner"]:
        return _Step(row["owner"], None)
    if row["language"] is not None or row["state"] not in ("WAITING", "TIMED_WAITING"):
        return None
    for queue in QUEUES:
        if any(map(queue.fills.search, row["frames"][:_INNERMOST])):
            takers = {name for (name, _), each in dump.items() if any(map(queue.empties.search, each["frames"]))}
            return _Step(takers.pop(), queue) if len(takers) == 1 else None  # of several nobody knows whose queue it is
    return None


def _waiting(rows: Iterable[Row], ring: Sequence[str]) -> int:
    """How many other threads wait for locks of a ring's threads, or for those that do."""
    owners, behind = {row["thread"]: row["owner"] for row in rows}, set(ring)
    while more := {name for name, owner in owners.items() if owner in behind} - behind:
        behind |= more
    return len(behind) - len(ring)


def _values(ring: list[str], seen: Sequence[tuple[Row, dict[str, _Step], int]], dumps: Mapping[int, Dump]) -> dict[str, Any]:
    last, steps, behind = seen[-1]
    rows = {name: row for (name, _), row in dumps[last["moment"]].items()}
    task = next((rows[name] for name in ring if rows[name]["task"]), last)
    own = next((rows[name] for name in ring if rows[name]["user_line"]), last)
    of_log = any((queue := steps[name].queue) is not None and queue.of_log for name in ring)
    return {
        "reason": "log-ring" if of_log else "deadlock", "threads": ring[:MOST_NAMES], "task": task["task"], "subtask": task["subtask"],
        "parallelism": task["parallelism"], "named": len(ring), "call": last["call"], "user_frame": own["user_frame"],
        "user_line": own["user_line"], "lock": last["lock"], "owner": last["owner"],
        "ring": "; ".join(_said(name, rows[name], steps[name]) for name in ring), "behind": behind or None, "seen": len(seen),
        "dumps": len(seen), "since": seen[0][0]["captured_at"], "captured_at": last["captured_at"],
        "file": last["file"], "line": last["line"],
    }  # fmt: skip


def _said(name: str, row: Row, step: _Step) -> str:
    who, other = _PACKAGES.sub("", name), _PACKAGES.sub("", step.behind)
    if step.queue is not None:
        return f"{who} waits in {row['call']} for room in a queue that {other} empties"
    return f"{who} waits in {row['call']} for {_short(row['lock'])} of {other}"


def _short(name: str | None) -> str:
    return name.rpartition(".")[2] if name else "a lock"
