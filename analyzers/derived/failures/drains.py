"""A TaskManager that was stopped in order (SIGTERM, node drain, scale-down): the restart that follows is planned, no failure."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from analyzers.tables import Row

BECAUSE = "a TaskManager was stopped in order: SIGTERM, drain or scale-down"
_SAID = "The TaskExecutor is shutting down"
_LEAVING = frozenset({"taskexecutor-disconnected", "taskexecutor-given-up"})
_WITHIN = timedelta(seconds=30)


def drains_of(events: Sequence[Row]) -> dict[str, list[datetime]]:
    """Per scope: when a TaskManager left in order, by its own log or by the JobManager's; sorted."""
    out: dict[str, list[datetime]] = defaultdict(list)
    for event in events:
        own = event["signature"] == "signal-received" and event["role"] == "taskmanager"
        seen = event["signature"] in _LEAVING and _SAID in (event["text"] or "")
        if event["at"] is not None and (own or seen):
            out[event["scope"]].append(event["at"])
    for times in out.values():
        times.sort()
    return out


def plan_drained(attempts: Sequence[Row], faults: Sequence[dict[str, Any]], drains: Mapping[str, list[datetime]]) -> None:
    """Turn attempts into planned ones, in place, that ended within 30 s of a drain and show nothing but the neighbours' broken connections.

    A worker that dies of memory or is evicted says more, and stays a failure. The faults of such an attempt fail nothing any more.
    """
    for attempt in attempts:
        times, ended = drains.get(attempt["scope"], []), attempt["ended_at"]
        if attempt["ended"] != "failed" or ended is None or not times:
            continue
        place = bisect_left(times, ended - _WITHIN)
        if place == len(times) or times[place] > ended + timedelta(seconds=1):
            continue
        where = (attempt["scope"], attempt["job"], attempt["attempt"])
        own = [f for f in faults if f["fatal"] and (f["scope"], f["job"], f["attempt"]) == where]
        if all(f["consequence"] for f in own):
            attempt.update(ended="planned", planned_because=BECAUSE)
            for fault in own:
                fault.update(fatal=False)
