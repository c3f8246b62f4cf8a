"""Processes whose log ends in the middle of their work while others of their kind go on: SIGKILL and a lost node leave no line."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta

from analyzers.derived.failures.failure_signs import QUERY_OVER
from analyzers.derived.open_ends.ends import Tables, open_end
from analyzers.tables import Row

_AT_WORK = timedelta(minutes=5)  # a shorter log is a start, which is dense for itself
_EARLIER = timedelta(minutes=10)  # logs are not saved all at once
_A_MINUTE = 0.5  # lines: of a log with fewer nobody can say that it has stopped
_ALIKE = 4.0  # times as many lines a minute: processes that do the same work
_TAKES_OVER = timedelta(minutes=10)  # a rotated file begins at once, a replaced pod within minutes
_ENDING = timedelta(minutes=2)  # from the first line of a shutdown to the last: grace periods are mostly shorter
_WORKERS = frozenset({"jobmanager", "taskmanager", "kafka-broker", "spark-executor", "zookeeper"})
_AT_WORK_BY = frozenset({"connect-life", "streams-state"})
"""What shows a long-running process of a role that no logger names."""
_IN_ORDER = frozenset(
    {
        "signal-received", "process-stop-requested", "process-terminating", "cluster-shutting-down", "broker-shutting-down",
        "broker-transition", "broker-shutdown-granted", "job-terminal", "job-suspended", "spark-stopping", "executor-driver-gone",
        "executor-decommissioned", "entrypoint-fatal", "uncaught-fatal", "taskmanager-fatal", "out-of-memory-exit", "streams-threads-dead",
        *QUERY_OVER,
    }
)  # fmt: skip
"""What explains that a log ends: an order, an orderly end, or a death that other rules name."""
_RELEASED = frozenset({"worker-terminated", "pod-terminated", "taskexecutor-disconnected", "taskexecutor-given-up", "executor-exited"})
"""What others say when they let a worker go, or lost it."""
_OVER = ("FINISHED", "CANCELED", "FAILED", "SUSPENDED")


def of_processes(tables: Tables) -> list[Row]:
    """Logs that end long before one that is alike: of the same kind, as busy, written at the same time. Not where another begins then."""
    by_kind: dict[tuple[str, str | None, str], list[Row]] = defaultdict(list)
    told: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        told[event["scope"], event["file"]].append(event)
    for row in tables.get("log_files", ()):
        if row["first_at"] and row["last_at"] and row["zone"] != "unknown" and _is_worker(row, told[row["scope"], row["file"]]):
            by_kind[row["scope"], row["role"], _word(row["file"])].append(row)
    released: dict[str, list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] in _RELEASED and event["at"]:
            released[event["scope"]].append(event)
    found = []
    for (scope, *_), rows in sorted(by_kind.items(), key=lambda item: str(item[0])):
        for row in rows:
            events = told[scope, row["file"]]
            twin = _twin(row, rows)
            if twin is None or _ended(row, events) or any(abs(e["at"] - row["last_at"]) <= _ENDING for e in released[scope]):
                continue
            shown_by = max((e for e in events if e["at"]), key=lambda e: (e["at"], e["line"]), default=None)
            place = {"scope": scope, "as_of": row["as_of"], "job": None, "at": row["last_at"], "file": row["file"]}
            line = {"line": shown_by["line"], "text": shown_by["text"]} if shown_by is not None and shown_by["at"] == row["last_at"] else {}
            lasted = twin["last_at"] - row["last_at"]
            name, other = _told_apart(row["file"], twin["file"])
            found.append(open_end("process", {**place, **line}, name=name, resource=other, lasted=lasted))
    return found


def _base(file: str) -> str:
    return re.split(r"[/!]", file)[-1]


def _told_apart(file: str, other: str) -> tuple[str, str]:
    """The ends of two paths from which on they differ: tm-a/flink.log, tm-b/flink.log."""
    parts, others = re.split(r"[/!]", file), re.split(r"[/!]", other)
    for number in range(1, min(len(parts), len(others)) + 1):
        if parts[-number] != others[-number]:
            return "/".join(parts[-number:]), "/".join(others[-number:])
    return file, other


def _word(file: str) -> str:
    """What the files of processes of one kind begin with: server.log and controller.log of a broker are not alike."""
    found = re.match(r"[A-Za-z]+", _base(file))
    return found[0].lower() if found else ""


def _is_worker(row: Row, events: Sequence[Row]) -> bool:
    return row["role"] in _WORKERS or (row["role"] is None and any(event["signature"] in _AT_WORK_BY for event in events))


def _a_minute(row: Row) -> float:
    minutes: float = (row["last_at"] - row["first_at"]) / timedelta(minutes=1)
    return (row["lines"] or 0) / max(minutes, 1.0)


def _twin(row: Row, rows: Sequence[Row]) -> Row | None:
    """The log that goes on for longest while `row` has ended; None where a log begins that may be its next part, or its successor's."""
    if row["last_at"] - row["first_at"] < _AT_WORK or _a_minute(row) < _A_MINUTE:
        return None
    if any(timedelta() <= other["first_at"] - row["last_at"] <= _TAKES_OVER for other in rows if other is not row):
        return None
    alike = [
        other
        for other in rows
        if other["zone"] == row["zone"]
        and other["first_at"] < row["last_at"]
        and other["last_at"] - row["last_at"] >= _EARLIER
        and 1 / _ALIKE <= _a_minute(other) / _a_minute(row) <= _ALIKE
    ]
    return max(alike, key=lambda other: other["last_at"], default=None)


def _ended(row: Row, events: Sequence[Row]) -> bool:
    """Whether the last minutes of a log show why it ends."""
    near = [event for event in events if event["at"] is None or row["last_at"] - event["at"] <= _ENDING]
    return any(
        event["signature"] in _IN_ORDER
        or (event["signature"] == "job-state" and event["to_state"] in _OVER)
        or (event["signature"] == "streams-state" and event["to_state"] in ("PENDING_SHUTDOWN", "NOT_RUNNING", "PENDING_ERROR", "ERROR"))
        or (event["signature"] == "connect-life" and "stop" in (event["text"] or ""))
        or event["level"] in ("ERROR", "FATAL")
        for event in near
    )
