"""Failures that are over although no JobManager reports it: what failed was started again, and is seen at work since.

A task of Kafka Connect that was killed commits offsets again; a thread of Kafka Streams was replaced, and its successor processes
records; tasks in a TaskManager's log run again, and checkpoints are confirmed to them. What fails, is started again and fails again is
over only if the last run has outlasted the pauses between its failures by far.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

from analyzers.derived.failures.owners import connector_of
from analyzers.derived.failures.retried import WORKS
from analyzers.tables import Row

SINCE = "back_since"
"""In the detail of a fault: what shows that it is over, in words."""
KILLED, BEGUN, FLUSHES = "connect-task-killed", "connect-task-begun", "connect-flush"
REPLACED, PROCESSED = "streams-thread-replaced", "streams-processed"
CONFIRMED = "checkpoint-confirmed"
_ENOUGH_COMMITS = 2  # a record that cannot be read kills the task before its first one
_ENOUGH_CHECKPOINTS = 3  # as many prove that all tasks run again
_ENOUGH_TIME = timedelta(minutes=10)  # as where a JobManager counts the checkpoints
_TWICE = 2  # what comes back in its own time has not passed before
_AT_ONCE = timedelta(seconds=5)
"""A failure is printed by whoever failed and by whoever replaces it."""
_JOBS = ("job-state", "adaptive-restarting")
_CLIENT = re.compile(r"\[(?P<client>[^\]\s\[]{1,250}?)(?:-StreamThread-(?P<thread>\d+))?\]")
_ENDS_IN = ("PENDING_ERROR", "ERROR")


class _Back(NamedTuple):
    """That something is back: its last failure, and the sentence that says what shows it."""

    failed: datetime
    says: str


def restarted(rows: Iterable[dict[str, Any]], events: Sequence[Row]) -> Iterator[tuple[dict[str, Any], str]]:
    """Those of `rows`, which are fatal faults, whose task or thread works again, each with a sentence that says so."""
    fatal = [row for row in rows if row["fatal"] and row["at"] is not None]
    of_scope: dict[str, list[Row]] = defaultdict(list)
    scopes = {row["scope"] for row in fatal}
    for event in events if scopes else ():
        if event["scope"] in scopes and event["at"] is not None:
            of_scope[event["scope"]].append(event)
    for scope, own in of_scope.items():
        own.sort(key=lambda e: (e["at"], e["seq"] or 0, e["line"]))
        faults = [row for row in fatal if row["scope"] == scope]
        tasks, clients = _connect(own), _streams(own)
        workers = _taskmanagers(own, faults)
        for row in faults:
            text = row["text"] or ""
            back = workers or tasks.get(connector_of(text)) or clients.get(_client_of(text))
            if back and max(row["at"], row["_last_at"] or row["at"]) <= back.failed + _AT_ONCE:
                yield row, back.says


def _outlasts(failures: Sequence[datetime], until: datetime) -> bool:
    """Whether what failed at these times has worked until `until`, for long against the pauses between them."""
    pauses = [later - earlier for earlier, later in pairwise(failures)]
    return until - failures[-1] >= _TWICE * max(pauses, default=timedelta(0))


def _connect(events: Sequence[Row]) -> dict[object, _Back]:
    """Per task of Kafka Connect that was killed and is back. Up to 2.8 a worker goes on to flush a task that it has killed."""
    killed, works = defaultdict[object, list[datetime]](list), defaultdict[object, list[datetime]](list)
    begun: set[object] = set()
    for event in events:
        if event["signature"] not in (KILLED, BEGUN, FLUSHES, *WORKS):
            continue
        task = connector_of(event["text"] or "")
        if task is None:
            continue
        if event["signature"] == KILLED:
            killed[task].append(event["at"])
            works.pop(task, None)
            begun.discard(task)
        elif event["signature"] == BEGUN:
            begun.add(task)
        elif task in killed and (event["signature"] in WORKS or task in begun):
            works[task].append(event["at"])
    return {
        task: _Back(times[-1], f"the task was started again, and is seen at work until {_moment(works[task][-1])}")
        for task, times in killed.items()
        if len(set(works[task])) >= _ENOUGH_COMMITS and _outlasts(times, works[task][-1])
    }


def _client_of(text: str) -> str | None:
    found = _CLIENT.search(text) if "stream-" in text or "StreamThread-" in text else None
    return found["client"] if found else None


def _streams(events: Sequence[Row]) -> dict[object, _Back]:
    """Per client of Kafka Streams that replaced a thread and whose new thread processes records."""
    replaced, works = defaultdict[object, list[datetime]](list), dict[object, datetime]()
    running: set[tuple[object, str]] = set()
    for event in events:
        signature, named = event["signature"], event["detail"] or {}
        if signature == REPLACED:
            replaced[event["client"]].append(event["at"])
            works.pop(event["client"], None)
            running = {each for each in running if each[0] != event["client"]}
        elif signature == "streams-thread-state":
            thread = (event["client"], named["number"])
            if event["to_state"] == "RUNNING":
                running.add(thread)
            elif event["to_state"] in ("PENDING_SHUTDOWN", "DEAD"):
                running.discard(thread)
        elif signature == PROCESSED and (event["client"], named["number"]) in running and named["records"] != "0":
            works[event["client"]] = event["at"]
        elif signature == "streams-threads-dead" or (signature == "streams-state" and event["to_state"] in _ENDS_IN):
            works.pop(event["client"], None)
            running = {each for each in running if each[0] != event["client"]}
    return {
        client: _Back(times[-1], f"the thread was replaced, and its successor processes records until {_moment(works[client])}")
        for client, times in replaced.items()
        if client in works and _outlasts(times, works[client])
    }


def _taskmanagers(events: Sequence[Row], faults: Sequence[dict[str, Any]]) -> _Back | None:
    """That all tasks which failed in logs of TaskManagers alone run again, and checkpoints are confirmed to them."""
    if any(event["signature"] in _JOBS for event in events):
        return None  # of a job that its JobManager shows recovered.py weighs what passed
    down: set[tuple[object, ...]] = set()
    failures: list[datetime] = []
    confirmed: dict[int, datetime] = {}
    for event in events:
        task = (event["task"], event["subtask"])
        if event["signature"] == "task-failed":
            down.add(task)
            if not failures or event["at"] - failures[-1] > _AT_ONCE:
                failures.append(event["at"])
            confirmed = {}
        elif event["signature"] == "task-transition" and event["to_state"] == "RUNNING":
            down.discard(task)
        elif event["signature"] == CONFIRMED and not down:
            confirmed.setdefault(event["checkpoint"], event["at"])
    if not failures or down or len(confirmed) < _ENOUGH_CHECKPOINTS:
        return None
    last = max(confirmed.values())
    if last - failures[-1] < _ENOUGH_TIME or not _outlasts(failures, last):
        return None
    said = f"the tasks run again, and checkpoints up to {max(confirmed)} were confirmed to them until {_moment(last)}"
    return _Back(failures[-1], said) if any(row["signature"] == "task-failed" for row in faults) else None


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
