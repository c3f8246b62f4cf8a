"""A TaskManager that was stopped in order (SIGTERM, node drain, scale-down): the restart that follows is planned, no failure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from analyzers.tables import Row

BECAUSE = "a TaskManager was stopped in order: SIGTERM, drain or scale-down"
_SAID = "The TaskExecutor is shutting down"
_LEAVING = frozenset({"taskexecutor-disconnected", "taskexecutor-given-up"})
_WITHIN = timedelta(seconds=30)
_LATER = timedelta(seconds=5)
"""A ResourceManager hears of the end of a pod behind the JobMaster."""
_SIGTERM = re.compile(r"Pod terminated[^\n]*exitCode=143\b|in response to imminent node shutdown")
"""Kubernetes ended the pod in order: its node is drained or shut down, or it was deleted."""
_NOT_ORDERED = re.compile(r"(?i)OOMKilled|exitCode=(?!143\b|0\b)\d|evict|low on resource|preempt|deadline")
_TERMINATED = frozenset({"worker-terminated", "pod-terminated"})
_WENT_ON = frozenset({"running", "planned", "finished", "cancelled"})
_OF_THE_LOST = frozenset({"container-killed", "heartbeat-lost"})


def drains_of(events: Sequence[Row]) -> dict[str, list[datetime]]:
    """Per scope: when a TaskManager left in order, by its own log or by the JobManager's; sorted."""
    out: dict[str, list[datetime]] = defaultdict(list)
    for event in events:
        own = event["signature"] == "signal-received" and event["role"] == "taskmanager"
        seen = event["signature"] in _LEAVING and _SAID in (event["text"] or "")
        if event["at"] is not None and (own or seen or _ended_in_order(event)):
            out[event["scope"]].append(event["at"])
    for times in out.values():
        times.sort()
    return out


def _ended_in_order(event: Mapping[str, Any]) -> bool:
    text = event["text"] or ""
    return event["signature"] in _TERMINATED and bool(_SIGTERM.search(text)) and not _NOT_ORDERED.search(text)


def plan_drained(attempts: Sequence[Row], faults: Sequence[dict[str, Any]], drains: Mapping[str, list[datetime]]) -> None:
    """Turn attempts into planned ones, in place, that ended within 30 s of a drain and show nothing but the neighbours' broken connections.

    A worker that dies of memory or is evicted says more, and stays a failure. One that Kubernetes ended in order may say so where the job
    came back and completed a checkpoint. The faults of such an attempt fail nothing any more.
    """
    back: set[tuple[Any, ...]] = set()
    for attempt in reversed(attempts):  # one drain after the other: that the job came back after the first shows the next one's attempt
        _plan(attempt, faults, drains.get(attempt["scope"], []), back)
        if attempt["checkpoints_completed"] and attempt["ended"] in _WENT_ON:
            back.add((attempt["scope"], attempt["job"], attempt["attempt"]))


def _plan(attempt: Row, faults: Sequence[dict[str, Any]], times: Sequence[datetime], back: Container[tuple[Any, ...]]) -> None:
    ended = attempt["ended_at"]
    if attempt["ended"] != "failed" or ended is None or not times:
        return
    place = bisect_left(times, ended - _WITHIN)
    if place == len(times) or times[place] > ended + _LATER:
        return
    where = (attempt["scope"], attempt["job"], attempt["attempt"])
    own = [f for f in faults if f["fatal"] and (f["scope"], f["job"], f["attempt"]) == where]
    came_back = (*where[:2], (attempt["attempt"] or 0) + 1) in back
    if all(f["consequence"] or (came_back and f["fault"] in _OF_THE_LOST) for f in own):
        lost = _of_one_worker(own, faults, attempt["scope"], times[place])
        if lost is not None:
            attempt.update(ended="planned", planned_because=BECAUSE)
            for fault in (*own, *lost):
                fault.update(fatal=False)


def _of_one_worker(
    own: Sequence[dict[str, Any]], faults: Sequence[dict[str, Any]], scope: str, at: datetime
) -> list[dict[str, Any]] | None:
    """The rows about the workers that Kubernetes ended around `at`, also those of no job; None where one was not ended in order."""
    if all(f["consequence"] for f in own):
        return []
    killed = [
        f
        for f in faults
        if f["scope"] == scope and f["fault"] == "container-killed" and f["fatal"] and (f["at"] is None or abs(f["at"] - at) <= _WITHIN)
    ]
    if not all(_SIGTERM.search(f["text"] or "") and not _NOT_ORDERED.search(f["text"] or "") for f in killed):
        return None
    ended = {f["resource"] for f in killed}
    named = {f["resource"] for f in own if f["fault"] == "heartbeat-lost" and f["resource"]}
    return killed if named <= ended else None
