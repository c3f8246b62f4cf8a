"""Failures that only the JobManager tells: its exception history, walked like the lines that a log would have had.

Each entry becomes the event that a log prints for it (a failed task, or a failure of the whole job) between the switches of the job's
state, and the walk of the logs makes attempts and faults of them: the causes are recognised in one place. The events themselves are not
shown to any rule: a rule about log lines has not judged what only the JobManager told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from analyzers.derived.failures.attempts import attempts_of
from analyzers.derived.failures.faults import faults_of
from analyzers.derived.failures.jobs import jobs_seen
from analyzers.logs.layouts.exceptions import parse
from analyzers.tables import LOG_EVENTS, Row
from analyzers.tables.snapshots import newest_looks

Tables = Mapping[str, Sequence[Row]]
_READ = ("jobs", "exceptions", "checkpoints", "vertices", "subtasks")
_AGAIN = timedelta(milliseconds=1)


def with_rest_faults(tables: Tables) -> dict[str, list[Row]]:
    """``attempts``, ``faults`` and ``jobs_seen`` of `tables` with those of jobs whose failures no log tells."""
    out = {name: list(tables.get(name, ())) for name in ("attempts", "faults", "jobs_seen")}
    logged = {(row["scope"], row["job"]) for row in out["attempts"]}
    events: list[Row] = []
    before: dict[tuple[str, str | None], int] = {}
    for key, look in newest_looks({name: tables.get(name, ()) for name in _READ}, "jobs").items():
        if key not in logged and (look["vertices"] or look["exceptions"]):
            events += _events(look["jobs"][0], look["exceptions"], look["checkpoints"])
            before[key] = _before(look)
    if not events:
        return out
    attempts = attempts_of(events)
    faults = faults_of(events, attempts)
    for row in (*attempts, *faults):
        if row["attempt"] is not None:
            row["attempt"] += before[row["scope"], row["job"]]
    seen = jobs_seen(events, attempts)
    known = {(row["scope"], row["job"]): row for row in out["jobs_seen"]}
    out["attempts"] += attempts
    out["faults"] += faults
    out["jobs_seen"] = [row for row in out["jobs_seen"] if (row["scope"], row["job"]) not in {(s["scope"], s["job"]) for s in seen}]
    out["jobs_seen"] += [_joined(row, known.get((row["scope"], row["job"]))) for row in seen]
    return out


def forgotten(tables: Tables) -> list[str]:
    """A sentence per job whose first failures the JobManager no longer remembers: what began it is not among those that it tells."""
    out = []
    for (_, job), look in newest_looks({name: tables.get(name, ()) for name in _READ}, "jobs").items():
        number = _before(look) if look["exceptions"] else 0
        if number and not _logged_before(look, tables.get("attempts", ())):
            out.append(
                f"job {job} failed {number} time{'s' * (number != 1)} before the first failure that its JobManager remembers: "
                "what began it stands only in the JobManager's log"
            )
    return out


def _logged_before(look: Tables, attempts: Sequence[Row]) -> bool:
    """Whether logs tell of a failure that is older than all that the JobManager remembers."""
    job = look["jobs"][0]
    first = min((e["at"] for e in look["exceptions"] if e["at"]), default=None)
    own = (a for a in attempts if (a["scope"], a["job"]) == (job["scope"], job["job"]) and a["ended"] == "failed" and a["trigger"])
    return first is not None and any(a["ended_at"] is not None and a["ended_at"] < first for a in own)


def _before(look: Tables) -> int:
    """How often the job had failed before the first failure that is remembered: execution numbers count on."""
    roots = [e for e in look["exceptions"] if e["root"]]
    if not roots:
        return 0
    first = min(roots, key=lambda e: (e["at"] is None, e["at"] or e["as_of"]))
    if first["attempt"] is not None:
        return int(first["attempt"])
    running = max((s["attempt"] for s in look["subtasks"] if s["attempt"] is not None), default=0)
    down = look["jobs"][0]["state"] != "RUNNING"
    return max(0, running + down - len(roots)) if first["task"] else 0  # a failure of the whole job carries no number at all


def _joined(told: Row, logged: Row | None) -> Row:
    """What logs of no attempt still know of the job."""
    return told if logged is None else {name: value if value is not None else logged[name] for name, value in told.items()}


def _events(job: Row, exceptions: Sequence[Row], checkpoints: Sequence[Row]) -> list[Row]:
    """What the log of a JobManager would have said of this job, in order."""
    file = f"/jobs/{job['job']}/exceptions"
    head = {"scope": job["scope"], "as_of": job["as_of"], "job": job["job"], "role": "jobmanager", "file": file, "level": "INFO"}
    named = {"detail": {"job_name": job["name"]}} if job["name"] else {}
    started = job["started_at"]
    events: list[dict[str, Any]] = [{"at": started, "signature": "job-state", "from_state": "CREATED", "to_state": "RUNNING", **named}]
    in_order = sorted(exceptions, key=lambda e: (e["at"] is None, e["at"] or job["as_of"], not e["root"]))
    for place, entry in enumerate(in_order):
        events.append(_failure(entry, {**head, "line": place + 1}))
        after = next((e["at"] for e in in_order[place + 1 :] if e["at"] is not None), None)
        if entry["root"]:
            events += _switches(entry["at"], after, job, last=not any(e["root"] for e in in_order[place + 1 :]))
    events += [
        {"at": c["last_ack_at"], "signature": "checkpoint-completed", "checkpoint": c["checkpoint"]}
        for c in checkpoints
        if c["status"] == "COMPLETED" and not c["savepoint"] and c["last_ack_at"]
    ]
    events.sort(key=lambda e: (e["at"] is None, e["at"] or job["as_of"]))
    return [LOG_EVENTS.row({**head, "line": 1000 + n, **event, "seq": n}) for n, event in enumerate(events)]


def _failure(entry: Row, head: Mapping[str, Any]) -> dict[str, Any]:
    head_line, _, rest = (entry["text"] or "").partition("\n")
    shared = (
        "at",
        "task",
        "subtask",
        "parallelism",
        "attempt",
        "address",
        "resource",
        "text",
        "exception",
        "root_exception",
        "root_message",
    )
    return {
        **head,
        **{name: entry[name] for name in (*shared, "chain", "user_frame")},
        "frames": parse(head_line, rest).frames,
        "level": "WARN",
        "signature": "task-failed" if entry["task"] else "global-failover",
        "to_state": "FAILED",
    }


def _switches(at: datetime | None, after: datetime | None, job: Row, *, last: bool) -> list[dict[str, Any]]:
    """The job's switches behind a failure: down, and up again unless it is the one that the job is still down from."""
    if at is None:
        return []
    state = job["state"] if last else "RUNNING"
    down = "FAILED" if state == "FAILED" else "RESTARTING"
    switches = [{"at": at + _AGAIN, "signature": "job-state", "from_state": "RUNNING", "to_state": down}]
    if state == "RUNNING" and (after is None or after > at + 2 * _AGAIN):
        switches.append({"at": at + 2 * _AGAIN, "signature": "job-state", "from_state": "RESTARTING", "to_state": "RUNNING"})
    return switches
