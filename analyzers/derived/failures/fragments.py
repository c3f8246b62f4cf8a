"""What a log may claim whose beginning was rolled away: an error after which the same job goes on is no failure of that job.

In a log without any line of a job's state an error is taken for the job's failure, as no other line names one. Such a log may also be
the later part of a healthy job's: what it catches and repeats by itself stands there with its trace, and its checkpoints go on.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any

from analyzers.derived.failures.failure_signs import LIFE
from analyzers.derived.failures.fault_classes import by_id
from analyzers.derived.failures.owners import connector_of
from analyzers.tables import Row

WORKS = frozenset(
    {
        "checkpoint-completed",
        "query-progress",
        "connect-offsets-committed",
        "connect-sink-wrote",
        "connect-source-works",
        "streams-processed",
    }
)
"""Signatures of a job that gets on: checkpoints complete, batches end, tasks commit or process records."""
BEGINS = frozenset(
    {
        "flink-banner", "job-received", "job-initializing", "job-starting", "execution-graph-created", "job-restored",
        "savepoint-restored", "no-checkpoint-restored", "enumerator-started", "enumerator-restored", "splits-restored",
        "failover-region", "failover-tasks", "tasks-restarting", "global-failover", "global-restart", "job-restart-legacy",
        "task-deploying", "task-received", "connect-life", "connect-task-killed", "streams-record-failed", "streams-threads-dead",
        "streams-thread-replaced", "streams-uncaught",
        "spark-version",
    }
)  # fmt: skip
"""Signatures of a process, job or task that begins anew, or ended: what came before may well have failed it."""
DIED = frozenset({"connect-task-killed", "streams-record-failed", "streams-threads-dead", "streams-thread-replaced", "streams-uncaught"})
"""Signatures of a task or thread that ended for an error."""
_REMNANT = re.compile(
    r"\s*at [\w.$/@<>-]+\(|\s*\.\.\. \d+ (?:more|common frames)|Caused by: |(?:[a-z_]\w*\.)+[\w.$]*(?:Exception|Error|Throwable)\b"
)
"""What stands below the header of an event."""
_THREAD = re.compile(r"\bStreamThread-\d+")
_CLIENT = re.compile(r"\bstream-(?:client|thread) \[([^\]\s]+?)(?:-StreamThread-\d+)?\]")
_PAUSES = 3
"""A job that worked within so many of its usual pauses before the end of its log has not stopped."""


Log = tuple[str, str]
"""Scope and file."""


def scopes_without_life(events: Iterable[Row]) -> set[str]:
    """Scopes in which no job, task or query is ever seen to change state: fragments."""
    scopes, alive = set(), set()
    for event in events:
        scopes.add(event["scope"])
        if event["signature"] in LIFE:
            alive.add(event["scope"])
    return scopes - alive


@dataclass(frozen=True)
class Beside:
    """What is known beside the events: logs that have lines with a header, and when the JobManager of a job was asked for its failures."""

    headed: Collection[Log] = ()
    asked: Mapping[tuple[str, str], datetime] = field(default_factory=dict)


def beside(tables: Mapping[str, Sequence[Row]]) -> Beside:
    """`Beside` of all `tables` that were collected."""
    logs = tables.get("log_files", ())
    headed = {(row["scope"], row["file"]) for row in logs if (row["lines"] or 0) > (row["unparsed_lines"] or 0)}
    asked: dict[tuple[str, str], datetime] = {}
    for row in tables.get("jobs", ()) if "exceptions" in tables else ():
        at = row["captured_at"] or row["as_of"]
        if row["job"] and at is not None:
            asked[row["scope"], row["job"]] = max(at, asked.get((row["scope"], row["job"]), at))
    return Beside(headed, asked)


def survived(rows: Iterable[dict[str, Any]], events: Sequence[Row], bare: Collection[str], known: Beside) -> Iterator[dict[str, Any]]:
    """Those of `rows`, which are faults, that stand in scopes without a job's state (`bare`) and failed nothing there.

    Of a job whose JobManager was asked later its answer has each failure, and a line of the log would count it again.
    """
    candidates = [row for row in rows if row["scope"] in bare and row["fatal"] and not row["_telling"]]
    if not candidates:
        return
    lives = _Lives(events, {row["scope"] for row in candidates})
    for row in candidates:
        if (
            _was_asked(row, known.asked)
            or lives.goes_on(row)
            or (_is_remnant(row, known.headed) and not by_id(row["fault"]).strong and not lives.died(row))
        ):
            yield row


def _was_asked(row: dict[str, Any], asked: Mapping[tuple[str, str], datetime]) -> bool:
    at = asked.get((row["scope"], row["job"] or ""))
    return at is not None and row["_last_at"] is not None and bool(row["_last_at"] <= at)


def _is_remnant(row: dict[str, Any], logs: Collection[Log]) -> bool:
    """Whether `row` is the rest of an event at the beginning of a log: its level, and whether it is retried, stood in its header."""
    rest = row["level"] is None and row["line"] <= 1 and _REMNANT.match(row["text"] or "") is not None
    return rest and (row["scope"], row["file"]) in logs


class _Lives:
    """When each job of some scopes worked and began anew, and how far their logs go."""

    def __init__(self, events: Iterable[Row], scopes: Collection[str]) -> None:
        self._works: dict[tuple[str, str], list[Row]] = defaultdict(list)
        self._begins: dict[tuple[str, str], list[datetime]] = defaultdict(list)
        self._ends: dict[str, datetime] = {}
        self._died: set[Log] = set()
        for event in events:
            scope, at = event["scope"], event["at"]
            if scope not in scopes:
                continue
            newest = event["as_of"] or at
            if newest is not None:
                self._ends[scope] = max(newest, self._ends.get(scope, newest))
            if _ends_badly(event):
                self._died.add((scope, event["file"]))
            if event["signature"] in WORKS and at is not None and (event["detail"] or {}).get("records") != "0":
                self._works[_whose(event)].append(event)
            elif event["signature"] in BEGINS and at is not None:
                self._begins[_whose(event)].append(at)
        for times in self._begins.values():
            times.sort()

    def died(self, row: dict[str, Any]) -> bool:
        """Whether a task, thread or client of the fault's log is seen to end for an error."""
        return (row["scope"], row["file"]) in self._died

    def goes_on(self, row: dict[str, Any]) -> bool:
        """Whether the same job worked after the fault without a new beginning; of one that came again, up to the end of the log."""
        first, last = row["at"], row["_last_at"]
        if first is None or last is None:
            return False
        worked = sorted(event["at"] for event in self._works.get(_whose(row), ()) if _same_part(event, row))
        later = worked[bisect_right(worked, first) :]
        begins = self._begins.get(_whose(row), [])
        again = bisect_left(begins, first)  # the line that says so is often the fault's own
        if not later or (again < len(begins) and begins[again] <= later[-1]):
            return False
        if later[-1] > last:
            return True
        pauses = [(after - before).total_seconds() for before, after in pairwise(worked)]
        end = self._ends.get(row["scope"], last)
        return bool(pauses) and end - later[-1] <= timedelta(seconds=_PAUSES * median(pauses))


def _ends_badly(event: Row) -> bool:
    signature, state = event["signature"], event["to_state"]
    if signature == "process-terminating":
        return (event["detail"] or {}).get("exit_code") not in (None, "0")
    return signature in DIED or (signature, state) in (("streams-state", "ERROR"), ("cluster-shutting-down", "FAILED"))


def _whose(row: Row | dict[str, Any]) -> tuple[str, str]:
    """The job of a line; of one that no job is known of, its log."""
    return row["scope"], row["job"] or row["file"]


def _same_part(works: Row, row: dict[str, Any]) -> bool:
    """Whether the connector's task, or the instance and thread of Kafka Streams, that works is the fault's, where that names one."""
    said, shown = row["text"] or "", works["text"] or ""
    task, thread, client, other = connector_of(said), _THREAD.search(said), _CLIENT.search(said), _CLIENT.search(shown)
    if task is not None and task != connector_of(shown):
        return False
    return (client is None or other is None or client[1] == other[1]) and (thread is None or thread[0] in shown)
