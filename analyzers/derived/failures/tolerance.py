"""What stands behind "Exceeded checkpoint tolerable failure threshold": the job's last checkpoint failure before it.

Flink names the reason in that text only since 1.17 (CheckpointFailureManager), and "Checkpoint was declined" tells nothing at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
_EXPIRED = "Checkpoint expired before completing"
Place = tuple[str, str, int]


class Behind(NamedTuple):
    """The checkpoint failure behind a restart: its class, and the event that tells it."""

    fault: FaultClass
    event: Row


def reasons_of_tolerance(events: Sequence[Row]) -> dict[Place, Behind]:
    """Per line (scope, file, line) that says the threshold was exceeded: the failure before it, where its class is known."""
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
        elif event["signature"] == "job-state" and event["to_state"] == "RUNNING":
            last.pop(whose, None)
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
