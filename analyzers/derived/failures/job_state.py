"""The state of each job now: what an engineer wants to know first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from statistics import median

from analyzers.derived.failures.failure_signs import MASTERS_END
from analyzers.tables import JOB_STATE, Row

Tables = Mapping[str, Sequence[Row]]
Key = tuple[str, str]
"""Scope and job."""

_OVER = frozenset({"FAILED", "CANCELED", "FINISHED", "SUSPENDED"})
ENOUGH_FAILURES = 2  # one restart is no loop


def job_state(tables: Tables) -> list[Row]:
    """A row of ``job_state`` per job that logs show or a JobManager knows, in order of scope and job.

    A JobManager's answer beats the logs where it is not older than they are.
    """
    seen = {(row["scope"], row["job"]): row for row in tables.get("jobs_seen", ()) if row["job"]}
    asked: dict[Key, Row] = {}
    for row in tables.get("jobs", ()):
        key = (row["scope"], row["job"])
        if row["job"] and (key not in asked or (row["captured_at"] or row["as_of"]) >= (asked[key]["captured_at"] or asked[key]["as_of"])):
            asked[key] = row
    failed: dict[Key, list[datetime | None]] = defaultdict(list)
    for attempt in tables.get("attempts", ()):
        if attempt["ended"] == "failed" and attempt["job"]:
            failed[attempt["scope"], attempt["job"]].append(attempt["ended_at"])
    completed = _completed(tables)
    rows = [_state(key, seen.get(key), asked.get(key), failed[key], completed[key]) for key in sorted(seen.keys() | asked.keys())]
    gone = without_master(tables)
    for row in rows:
        if row["state_source"] == "logs" and row["state"] not in _OVER and (row["scope"], row["job"]) in gone:
            row["state"] = None  # what it was when its JobManager ended is not what it is
    return rows


def without_master(tables: Tables) -> set[Key]:
    """The jobs whose JobManager came back without them, or ended with a fatal error that is its log's last word about them."""
    gone = {(life["scope"], life["job"]) for life in tables.get("job_lives", ()) if life["forgotten"] is not None}
    ends = {(event["scope"], event["file"]): event["at"] for event in tables.get("log_events", ()) if _ends_master(event)}
    lives = {(life["scope"], life["job"]): life for life in tables.get("job_lives", ()) if life["job"]}  # the newest of each job
    for key, life in lives.items():
        ended = ends.get((life["scope"], life["file"]))
        if ended is not None and not life["over"] and (life["last_at"] is None or life["last_at"] <= ended):
            gone.add(key)
    return gone


def _ends_master(event: Row) -> bool:
    return event["signature"] in MASTERS_END and event["role"] == "jobmanager" and event["at"] is not None


def _completed(tables: Tables) -> dict[Key, dict[int, datetime | None]]:
    """Per job, when each checkpoint or batch that is known completed; None in a log of which no day is known."""
    completed: dict[Key, dict[int, datetime | None]] = defaultdict(dict)
    for event in tables.get("log_events", ()):
        done = event["signature"] in ("checkpoint-completed", "query-progress")
        if done and event["job"] and event["checkpoint"] is not None:
            completed[event["scope"], event["job"]].setdefault(event["checkpoint"], event["at"])
    for row in tables.get("checkpoints", ()):
        if row["status"] == "COMPLETED" and row["job"] and row["triggered_at"]:
            at = row["last_ack_at"] or row["triggered_at"]
            completed[row["scope"], row["job"]].setdefault(row["checkpoint"], at)
    return completed


def _state(key: Key, seen: Row | None, asked: Row | None, failed: Sequence[datetime | None], done: Mapping[int, datetime | None]) -> Row:
    failures = sorted(at for at in failed if at is not None)
    completed = {checkpoint: at for checkpoint, at in done.items() if at is not None}
    logged_until = seen["last_at"] if seen else None
    captured = (asked["captured_at"] or asked["as_of"]) if asked else None
    live = asked is not None and (logged_until is None or captured is None or captured >= logged_until or asked["state"] in _OVER)
    state = asked["state"] if live and asked else seen["state"] if seen else None
    as_of = captured if live else (seen["as_of"] if seen else None)
    number, last = max(completed.items(), key=lambda one: one[1], default=(None, seen["last_completed_at"] if seen else None))
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(sorted(completed.values()))]
    if number is None:
        number = max(done, default=None)
    many = len(failures) >= ENOUGH_FAILURES
    return JOB_STATE.row(
        {
            "scope": key[0],
            "as_of": (asked or seen or {}).get("as_of"),
            "job": key[1],
            "name": (asked and asked["name"]) or (seen and seen["name"]),
            "kind": seen["kind"] if seen else "flink",
            "state": state,
            "loops": state not in ("CANCELED", "FINISHED") and many and (last is None or last < failures[-1]),
            "state_as_of": as_of,
            "state_source": "jobmanager" if live else "logs",
            "failures": len(failed) if seen else asked and asked["restarts"],
            "first_failure_at": failures[0] if failures else None,
            "last_failure_at": failures[-1] if failures else None,
            "last_checkpoint": number,
            "last_checkpoint_at": last,
            "last_checkpoint_age_seconds": (as_of - last).total_seconds() if as_of and last and as_of >= last else None,
            "checkpoints_completed": max(seen["checkpoints_completed"] or 0 if seen else 0, len(done)),
            "checkpoints_expired": seen["checkpoints_expired"] if seen else None,
            "usual_interval_seconds": round(median(gaps), 1) if len(gaps) > 1 else None,
        }
    )
