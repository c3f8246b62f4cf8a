"""Killed containers that no line names (a ``kubectl describe`` cut down to its states): the JobManager's, where that one started again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from analyzers.derived.failures.failure_signs import WORKERS
from analyzers.derived.failures.job_lives import started
from analyzers.tables import Row

_OF_MASTER = re.compile(r"(?i)(?:^|[^a-z])(?:jm|job-?manager)(?:[^a-z]|$)")
_OF_WORKER = re.compile(r"(?i)(?:^|[^a-z])(?:tm|task-?manager|worker)(?:[^a-z]|$)")
_AT_WORK = frozenset({"checkpoint-completed", "checkpoint-triggered", "job-state"})


def kills_of_masters(rows: Iterable[dict[str, Any]], events: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Those of `rows`, which are faults, that are a container's end of which neither a pod nor a time is known.

    In a scope where a JobManager starts although a job was at work before, and where no JobManager lost a TaskManager.
    """
    nameless = [row for row in rows if row["fault"] == "container-killed" and _is_nameless(row)]
    scopes, described = {row["scope"] for row in nameless}, {row["file"] for row in nameless}
    first_work: dict[str, int] = {}
    last_start: dict[str, int] = {}
    lost = set()
    for event in events if scopes else ():
        scope, order = event["scope"], event["line"] if event["seq"] is None else event["seq"]
        if scope not in scopes:
            continue
        if started(event):
            last_start[scope] = max(order, last_start.get(scope, order))
        elif event["signature"] in _AT_WORK:
            first_work[scope] = min(order, first_work.get(scope, order))
        elif event["role"] == "jobmanager" and event["signature"] in WORKERS and event["file"] not in described:
            lost.add(scope)
    for row in nameless:
        scope = row["scope"]
        begun_again = scope in first_work and first_work[scope] < last_start.get(scope, -1)
        if begun_again and scope not in lost and (_OF_MASTER.search(_name(row)) or not _OF_WORKER.search(_name(row))):
            yield row


def _name(row: dict[str, Any]) -> str:
    return str(row["file"]).rpartition("/")[2]


def _is_nameless(row: dict[str, Any]) -> bool:
    return row["role"] in (None, "jobmanager") and all(row[name] is None for name in ("resource", "at", "task"))
