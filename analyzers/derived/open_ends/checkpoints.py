"""Whether the checkpoint in which logs end was completed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from analyzers.derived.failures.progress import by_minute
from analyzers.derived.open_ends.ends import PENDING_LEAST, PENDING_TIMES, Tables, open_end
from analyzers.logs.scan.bound import AT_LEAST
from analyzers.tables import Row
from analyzers.tables.processes import FLINK

_PENDING_FIRST = timedelta(minutes=5)  # where none completed that would tell what is usual; Flink waits for ten by default
_NO_LONGER_PENDING = frozenset(
    {
        "checkpoint-expired",
        "checkpoint-failed",
        "checkpoint-declined",
        "checkpoint-discarded",
        "checkpoint-coordinated",
        "job-state",
        "job-suspended",
        "job-terminal",
        "task-failed",
    }
)
"""What ends a checkpoint, or the run that it was of."""


def open_checkpoints(tables: Tables) -> list[Row]:
    """The checkpoint in which the logs of a job end, if it had been pending for clearly longer than those that completed took."""
    asked = {row["scope"] for row in tables.get("checkpoints", ())}  # the JobManager itself told how they end
    events: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        known = event["signature"] in _NO_LONGER_PENDING or event["signature"] in ("checkpoint-triggered", "checkpoint-completed")
        if known and event["job"] and event["scope"] not in asked:
            events[event["scope"], event["job"]].append(event)
    ends = _ends_of_flink_logs(tables)
    counted = by_minute(tables.get("log_counts", ()))
    found = []
    for (scope, job), rows in sorted(events.items()):
        pending = _pending(rows)
        if pending is None or pending["at"] is None or scope not in ends:
            continue
        since_then = ends[scope] - pending["at"]
        completed = [r["duration_ms"] for r in rows if r["signature"] == "checkpoint-completed" and r["duration_ms"] is not None]
        longest = timedelta(milliseconds=max(completed, default=0))
        if since_then < (max(longest * PENDING_TIMES, PENDING_LEAST) if completed else _PENDING_FIRST):
            continue
        newest = completed if sum(number for _, number in counted.get((scope, job), ())) <= len(completed) else completed[-AT_LEAST[1] :]
        several = len(newest) > 1
        usual = {"usual_seconds": -(-max(newest) // 1000), "number": len(newest)} if several else {}
        found.append(open_end("checkpoint-pending", pending, checkpoint=pending["checkpoint"], lasted=since_then, **usual))
    return found


def _pending(events: Sequence[Row]) -> Row | None:
    """The first checkpoint of these rows of a job that was triggered after all that ended, and did not."""
    pending: dict[int | None, Row] = {}
    for event in sorted(events, key=lambda e: (e["seq"] if e["seq"] is not None else 0, e["file"], e["line"])):
        if event["signature"] == "checkpoint-triggered":
            pending.setdefault(event["checkpoint"], event)
        elif event["signature"] == "checkpoint-completed" or event["checkpoint"] is None:
            pending.clear()  # an older one that still waits is given up then
        else:
            pending.pop(event["checkpoint"], None)
    return next(iter(pending.values()), None)


def _ends_of_flink_logs(tables: Tables) -> dict[str, datetime]:
    """Per scope, when the newest line of a log of Flink was written: a broker's log may go on for days."""
    ends: dict[str, datetime] = {}
    for row in tables.get("log_files", ()):
        if row["role"] in FLINK and row["last_at"]:
            ends[row["scope"]] = max(row["last_at"], ends.get(row["scope"], row["last_at"]))
    return ends
