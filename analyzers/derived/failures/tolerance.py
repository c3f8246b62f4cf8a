"""The checkpoint failure behind a restart: the job's last one before "Exceeded checkpoint tolerable failure threshold".

So it is where the trace below the job's switch is cut off or filtered out, and a checkpoint of the job failed a moment before.
Flink names the reason in that text only since 1.17 (CheckpointFailureManager), and "Checkpoint was declined" tells nothing at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from analyzers.derived.failures.attempts import FAILED_STATES
from analyzers.derived.failures.fault_classes import FaultClass, by_id, classify
from analyzers.tables import Row

FAILURES = frozenset(
    {
        "checkpoint-expired",
        "checkpoint-failed",
        "checkpoint-declined",
        "checkpoint-discarded",
        "checkpoint-not-finalized",
        "checkpoint-async-failed",
        "checkpoint-not-materialized",
        "snapshot-failed",
    }
)
_MOMENT = timedelta(seconds=15)
"""The coordinator fails the job at once; a loaded JobManager takes a few seconds to cancel its tasks."""
_EXPIRED = "Checkpoint expired before completing"
Place = tuple[str, str, int]


class Behind(NamedTuple):
    """The checkpoint failure behind a restart: its class, and the event that tells it."""

    fault: FaultClass
    event: Row


def reasons_of_tolerance(events: Sequence[Row]) -> dict[Place, Behind]:
    """Per line (scope, file, line) that says the threshold was exceeded: the failure before it, where its class is known.

    So too per line of a job's switch that says nothing of why, where a checkpoint failed a moment before and none completed since.
    """
    out: dict[Place, Behind] = {}
    last: dict[tuple[str, str | None], Behind] = {}
    for event in sorted(events, key=lambda e: (e["scope"], e["seq"] if e["seq"] is not None else 0, e["file"], e["line"])):
        whose = (event["scope"], event["job"])
        if event["signature"] == "checkpoint-tolerance-exceeded":
            if whose in last:
                out[event["scope"], event["file"], event["line"]] = last[whose]
        elif event["signature"] in FAILURES:
            found = _class_of(event)
            if found is not None:
                last[whose] = Behind(found, event)
        elif event["signature"] == "checkpoint-completed" or (event["signature"] == "job-state" and event["to_state"] == "RUNNING"):
            last.pop(whose, None)
        elif event["signature"] == "job-state" and event["to_state"] in FAILED_STATES and not event["chain"] and whose in last:
            failed_at = last[whose].event["at"]
            if event["at"] and failed_at and timedelta(0) <= event["at"] - failed_at <= _MOMENT:
                out[event["scope"], event["file"], event["line"]] = last[whose]
    return out


def _class_of(event: Row) -> FaultClass | None:
    text = event["text"] or ""
    if event["signature"] == "checkpoint-expired" or _EXPIRED in text:
        return by_id("tolerance-expired")
    if event["signature"] == "checkpoint-discarded" and not event["root_exception"]:
        return None  # up to Flink 1.10 the line below "Decline checkpoint": the trace stands here, or nowhere
    lines = text.splitlines()
    places = "\n".join([*(event["frames"] or ()), *lines[:60]])
    found = classify(tuple(event["chain"] or ()), "\n".join(lines[:3])[:2000], places)
    if found.cause is not None and found.id != "unknown":
        return found
    return by_id("tolerance") if event["root_exception"] else None  # of no class, and still what the log says
