"""Failures that are over although no JobManager reports it: what failed was started again, and is seen at work since.

A task of Kafka Connect that was killed commits offsets again; a thread of Kafka Streams was replaced, and its successor processes
records; tasks in a TaskManager's log run again, and checkpoints are confirmed to them; a consumer found its coordinator again. What
fails, is started again and fails again is over only if the last run has outlasted the pauses between its failures by far.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

from analyzers.derived.failures.owners import application_of, connector_of
from analyzers.derived.failures.retried import WORKS
from analyzers.tables import Row

SINCE = "back_since"
"""In the detail of a fault: what shows that it is over, in words."""
KILLED, BEGUN, FLUSHES = "connect-task-killed", "connect-task-begun", "connect-flush"
REPLACED, PROCESSED = "streams-thread-replaced", "streams-processed"
CONFIRMED = "checkpoint-confirmed"
FOUND = "coordinator-found"
_GRAPH = re.compile(r"\(([0-9a-f]{32})_[0-9a-f]{32}_\d+_\d+\)")
"""An execution's id since Flink 1.14 begins with that of its job's execution graph."""
_ENOUGH_COMMITS = 2  # a record that cannot be read kills the task before its first one
_ENOUGH_CHECKPOINTS = 3  # as many prove that all tasks run again
_ENOUGH_TIME = timedelta(minutes=10)  # as where a JobManager counts the checkpoints
_LONG = timedelta(minutes=30)  # beyond any restart strategy: a task that fails or is cancelled says so
_TWICE = 2  # what comes back in its own time has not passed before
_AT_ONCE = timedelta(seconds=5)
"""A failure is printed by whoever failed and by whoever replaces it."""
_JOBS = ("job-state", "adaptive-restarting")
_OF_STREAMS = (REPLACED, PROCESSED, "streams-state", "streams-thread-state", "streams-threads-dead")
_ENDS_IN = ("PENDING_ERROR", "ERROR")
_LEAVES = ("PENDING_SHUTDOWN", "DEAD")


class _Back(NamedTuple):
    """That something is back: its last failure, and the sentence that says what shows it."""

    failed: datetime
    says: str


def restarted(rows: Iterable[dict[str, Any]], events: Sequence[Row], files: Iterable[Row] = ()) -> Iterator[tuple[dict[str, Any], str]]:
    """Those of `rows`, which are fatal faults, whose task or thread works again, each with a sentence that says so.

    `files`: rows of ``log_files``, which know when each log ends.
    """
    fatal = [row for row in rows if row["fatal"] and row["at"] is not None]
    of_scope: dict[str, list[Row]] = defaultdict(list)
    scopes = {row["scope"] for row in fatal}
    for event in events if scopes else ():
        if event["scope"] in scopes and event["at"] is not None:
            of_scope[event["scope"]].append(event)
    ends: dict[str, dict[str, datetime]] = defaultdict(dict)
    for row in files if of_scope else ():
        if row["last_at"] is not None:
            ends[row["scope"]][row["file"]] = row["last_at"]
    faulty: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in fatal:
        faulty[row["scope"]].append(row)
    for scope, own in of_scope.items():
        own.sort(key=lambda e: (e["at"], e["seq"] or 0, e["line"]))
        tasks, applications = _connect(own), _streams(own)
        workers, clients = _taskmanagers(own, ends[scope]), _clients(own, ends[scope])
        for row in faulty[scope]:
            task, application = connector_of(row["text"] or ""), application_of(row["text"] or "")
            of_flink = task is None and application is None and row["task"] is not None
            back = workers if of_flink else tasks.get(task) or applications.get(application)
            if task is None and application is None and not of_flink and row["cause"] == "broker-unreachable":
                back = clients.get(row["file"])
            if back and max(row["at"], row["_last_at"] or row["at"]) <= back.failed + _AT_ONCE:
                yield row, back.says


def _outlasts(failures: Sequence[datetime], until: datetime) -> bool:
    """Whether what failed at these times has worked until `until`, for minutes, and for long against the pauses between them."""
    pauses = [later - earlier for earlier, later in pairwise(failures)]
    return until - failures[-1] >= max(_ENOUGH_TIME, _TWICE * max(pauses, default=timedelta(0)))


def _connect(events: Sequence[Row]) -> dict[object, _Back]:
    """Per task of Kafka Connect that was killed and is back. Up to 2.8 a worker goes on to flush a task that it has killed."""
    killed, works = defaultdict[object, list[datetime]](list), defaultdict[object, list[datetime]](list)
    begun: dict[object, datetime] = {}
    for event in events:
        if event["signature"] not in (KILLED, BEGUN, FLUSHES, *WORKS):
            continue
        task = connector_of(event["text"] or "")
        if task is None:
            continue
        if event["signature"] == KILLED:
            killed[task].append(event["at"])
            works.pop(task, None)
            begun.pop(task, None)
        elif event["signature"] == BEGUN:
            begun[task] = event["at"]
        elif task in killed and (event["signature"] in WORKS or task in begun):
            works[task].append(event["at"])
    return {
        task: _Back(times[-1], f"the task was started again, and is seen at work until {_moment(works[task][-1])}")
        for task, times in killed.items()
        if len(set(works[task])) >= _ENOUGH_COMMITS
        and works[task][-1] - begun.get(task, works[task][0]) >= _ENOUGH_TIME
        and _outlasts(times, works[task][-1])
    }


def _streams(events: Sequence[Row]) -> dict[object, _Back]:
    """Per application of Kafka Streams whose thread was replaced, or whose client ended and was followed by another, and that works since.

    A thread that ran before proves nothing: it takes over the tasks of the one that died, or only goes on with its own.
    """
    apps: dict[str, _Application] = defaultdict(_Application)
    for event in events:
        name = application_of(event["text"] or "") if event["signature"] in _OF_STREAMS else None
        if name is not None:
            apps[name].note(event)
    return {name: back for name, app in apps.items() if (back := app.back())}


class _Application:
    """What the log of an application of Kafka Streams shows of its failures, and of the threads that began since the last one."""

    def __init__(self) -> None:
        self.failures: list[datetime] = []
        self.files: set[str] = set()  # in which something failed: a neighbour's log shows another instance
        self.down: set[str] = set()
        self.begun: set[tuple[str, str]] = set()
        self.running: dict[tuple[str, str], datetime] = {}
        self.works: datetime | None = None
        self.end: datetime | None = None

    def note(self, event: Row) -> None:
        signature, client, at = event["signature"], event["client"], event["at"]
        fails = signature in (REPLACED, "streams-threads-dead") or (signature == "streams-state" and event["to_state"] in _ENDS_IN)
        if fails:
            self.files.add(event["file"])
        elif self.files and event["file"] not in self.files:
            return
        self.end = at
        if fails:
            self._fails(at)
            if signature != REPLACED:
                self.down.add(client)
        elif signature == "streams-state" and event["from_state"] == "CREATED" and self.down:
            self.down.pop()  # what begins takes the place of one that ended
        elif signature in ("streams-thread-state", PROCESSED):
            self._works((client, event["detail"]["number"]), event)

    def _works(self, thread: tuple[str, str], event: Row) -> None:
        if event["from_state"] == "CREATED":
            self.begun.add(thread)
        elif thread in self.begun and event["signature"] == PROCESSED and event["detail"]["records"] != "0":
            self.works = event["at"]
        elif thread in self.begun and event["to_state"] == "RUNNING":
            self.running.setdefault(thread, event["at"])
        elif event["to_state"] in _LEAVES:
            self.begun.discard(thread)
            self.running.pop(thread, None)

    def _fails(self, at: datetime) -> None:
        if not self.failures or at - self.failures[-1] > _AT_ONCE:
            self.failures.append(at)
            self.begun, self.running, self.works = set(), {}, None

    def back(self) -> _Back | None:
        if not self.failures or self.down or self.end is None:
            return None
        if self.works is not None and _outlasts(self.failures, self.works):
            return _Back(self.failures[-1], f"a thread that began since processes records, the last count is of {_moment(self.works)}")
        since = min(self.running.values(), default=None)
        if since is not None and self.end - since >= _ENOUGH_TIME and _outlasts(self.failures, self.end):
            return _Back(self.failures[-1], f"a thread that began since has been RUNNING from {_moment(since)} on")
        return None


def _taskmanagers(events: Sequence[Row], ends: Mapping[str, datetime]) -> _Back | None:
    """That all tasks which failed in logs of TaskManagers alone run again: checkpoints are confirmed to them, or no task left for long."""
    if any(event["signature"] in _JOBS for event in events):
        return None  # of a job that its JobManager shows recovered.py weighs what passed
    down: set[tuple[object, ...]] = set()
    again: dict[tuple[object, ...], Row] = {}
    failures: list[datetime] = []
    confirmed: dict[int, datetime] = {}
    for event in events:
        graph = _GRAPH.search(event["text"] or "")  # two jobs may call their tasks alike
        task = (event["task"], event["subtask"], graph and graph[1])
        if event["signature"] == "task-failed":
            down.add(task)
            if not failures or event["at"] - failures[-1] > _AT_ONCE:
                failures.append(event["at"])
            confirmed, again = {}, {}
        elif event["signature"] == "task-transition" and event["to_state"] == "RUNNING":
            down.discard(task)
            again[task] = event
        elif event["signature"] == "task-transition" and (task in again or failures):
            again.pop(task, None)
            down.add(task)
        elif event["signature"] == CONFIRMED and not down:
            confirmed.setdefault(event["checkpoint"], event["at"])
    if not failures or down:
        return None
    last = max(confirmed.values(), default=failures[-1])
    if len(confirmed) >= _ENOUGH_CHECKPOINTS and last - failures[-1] >= _ENOUGH_TIME and _outlasts(failures, last):
        said = f"the tasks run again, and checkpoints up to {max(confirmed)} were confirmed to them until {_moment(last)}"
        return _Back(failures[-1], said)
    until = min((ends.get(event["file"], event["at"]) for event in again.values()), default=failures[-1])
    if until - failures[-1] >= _LONG and _outlasts(failures, until):
        return _Back(failures[-1], f"the tasks run again, and none of them left that state up to the end of the logs at {_moment(until)}")
    return None


def _clients(events: Sequence[Row], ends: Mapping[str, datetime]) -> dict[str, _Back]:
    """Per log of a plain consumer that found its group's coordinator again, and then goes on for long without any trouble."""
    troubles, again = defaultdict[str, list[datetime]](list), dict[str, datetime]()
    for event in events:
        file = event["file"]
        if event["signature"] == FOUND:
            again.setdefault(file, event["at"])
        elif event["role"] == "kafka-client" and (event["level"] in _LOUD or event["chain"] or event["signature"] in _LOST):
            again.pop(file, None)
            if not troubles[file] or event["at"] - troubles[file][-1] > _AT_ONCE:
                troubles[file].append(event["at"])
    return {
        file: _Back(times[-1], f"the client found its coordinator at {_moment(again[file])}, and its log goes on to {_moment(ends[file])}")
        for file, times in troubles.items()
        if file in again and file in ends and ends[file] - again[file] >= _LONG and _outlasts(times, ends[file])
    }


_LOUD = frozenset({"WARN", "ERROR", "FATAL"})
_LOST = frozenset({"coordinator-unavailable", "connection-failed", "replica-fetch-failed"})


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
