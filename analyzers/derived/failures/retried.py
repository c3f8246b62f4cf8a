"""Failures of tasks that Kafka Connect, its connectors and Debezium retry by themselves: over as soon as the task gets on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from analyzers.derived.failures.owners import connector_of
from analyzers.tables import Row

RETRIED = ("connect-source-retried", "connect-call-retried")
WORKS = ("connect-source-works", "connect-offsets-committed", "connect-sink-wrote")
Task = tuple[str, int | None]
_Lines = dict[Task | None, int]
"""The last line of each task; None: of one that the line does not name."""


def retried_and_over(rows: Iterable[dict[str, Any]], events: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Those of `rows`, which are faults, that were retried by a task which reads on in the same log behind the last of them."""
    retried, works = defaultdict[tuple[str, str], _Lines](dict), defaultdict[tuple[str, str], _Lines](dict)
    of: dict[tuple[str, str, int], Task | None] = {}
    for event in events:
        if event["signature"] in (*RETRIED, *WORKS):
            log, task = (event["scope"], event["file"]), connector_of(event["text"] or "")
            last = (retried if event["signature"] in RETRIED else works)[log]
            last[task] = max(event["line"], last.get(task, -1))
            if event["signature"] in RETRIED:
                of[log[0], log[1], event["line"]] = task
    for row in rows:
        place = (row["scope"], row["file"], row["line"])
        if place in of and _reads_on(of[place], retried[place[:2]], works[place[:2]]):
            yield row


def _reads_on(task: Task | None, retried: _Lines, works: _Lines) -> bool:
    """Whether `task` did; of a line that names none (Debezium's ErrorHandler) it is clear only where the log has one task."""
    if task is None or None in works:
        named = {each for each in (*retried, *works) if each is not None}
        return len(named) <= 1 and max(works.values(), default=-1) > max(retried.values())
    return works.get(task, -1) > retried[task]
