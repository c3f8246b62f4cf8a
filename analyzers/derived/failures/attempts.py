"""The attempts of a job to run, read from its state switches (Flink) or its runs (Structured Streaming)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from analyzers.derived.failures.failure_signs import BATCH_PLANNED
from analyzers.tables import ATTEMPTS, Row

FAILED_STATES = {"RESTARTING", "FAILING", "FAILED"}
PLANNED = {
    "rescale": "the adaptive scheduler changed the parallelism",
    "rescale-resources": "the adaptive scheduler changed the parallelism",
    "stop-with-savepoint": "stop with savepoint",
    "savepoint-triggered": "savepoint",
    "operator-spec-changed": "the deployment was changed (Kubernetes operator)",
    "autoscaler-scaling": "the autoscaler changed the parallelism",
    "signal-received": "the JobManager was asked to stop (SIGTERM)",
    "process-stop-requested": "the process was asked to stop (SIGTERM)",
}
"""Signatures that order a restart or a stop, and what they mean."""
_ORDERED_WITHIN = timedelta(minutes=5)
_ONE_SWITCH = timedelta(seconds=2)  # that two processes log
SIGNS_OF_WORK = frozenset({*BATCH_PLANNED, "query-resumed", "spark-task-lost", "spark-task-exception", "spark-job-aborted", "batch-behind"})
"""Lines of a run that works on a batch (Structured Streaming)."""
_NAMED_BATCH = re.compile(r"\[queryId = (\w+)\] \[batchId = (\d+)\]")


def attempts_of(events: Sequence[Row]) -> list[Row]:
    """One row per scope, job and attempt, in order; the fault columns are filled in by `faults_of`."""
    by_job: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in events:
        if event["job"]:
            by_job[event["scope"], event["job"]].append(event)
    out: list[Row] = []
    for (_, _), rows in sorted(by_job.items()):
        rows.sort(key=lambda e: (e["seq"] if e["seq"] is not None else 0, e["file"], e["line"]))
        out.extend(_spark(rows) if any(r["signature"].startswith("query-") for r in rows) else _flink(rows))
    return out


class _Walk:
    """Collects attempts in order."""

    def __init__(self, first: Row) -> None:
        self.head = {"scope": first["scope"], "as_of": first["as_of"], "job": first["job"]}
        self.done: list[dict[str, Any]] = []
        self.open: dict[str, Any] | None = None

    def start(self, at: datetime | None, **more: Any) -> None:
        if self.open is not None:
            self.end("running", self.open.get("started_at"))
        self.open = {**self.head, "attempt": len(self.done), "started_at": at, "checkpoints_completed": 0, **more}

    def end(self, how: str, at: datetime | None, because: str | None = None) -> None:
        if self.open is None:
            self.start(None)
        assert self.open is not None
        self.done.append({**self.open, "ended": how, "ended_at": at, "planned_because": because})
        self.open = None

    def rows(self) -> list[Row]:
        if self.open is not None:
            self.done.append({**self.open, "ended": "running", "ended_at": None, "planned_because": None})
            self.open = None
        return [ATTEMPTS.row(a) for a in self.done]


def _by_number(rows: list[Row]) -> list[Row]:
    """Without any state switch (a TaskManager's log alone) the attempts are those that the failed tasks print: `(2/4)#3`."""
    failures = [r for r in rows if r["signature"] == "task-failed" and r["attempt"] is not None]
    first: dict[int, Row] = {}
    for row in failures:
        first.setdefault(row["attempt"], row)
    head = {k: rows[0][k] for k in ("scope", "as_of", "job")} if rows else {}
    return [
        ATTEMPTS.row(head | {"attempt": n, "ended": "failed", "ended_at": first[n]["at"], "checkpoints_completed": 0})
        for n in sorted(first)
    ]


def _with_earlier(rows: list[Row], seen: list[Row]) -> list[Row]:
    """`seen`, and before them the attempts that failed tasks print from before the JobManager's log begins."""
    begin = seen[0]["started_at"]
    earlier = _by_number([r for r in rows if begin is not None and r["at"] is not None and r["at"] < begin])
    if not earlier:
        return seen
    after = earlier[-1]["attempt"] + 1
    return earlier + [{**row, "attempt": row["attempt"] + after} for row in seen]


def _flink(rows: list[Row]) -> list[Row]:
    walk = _Walk(rows[0])
    ordered: tuple[str, datetime | None] | None = None
    restored: dict[str, Any] = {}
    failed = False  # a task, in the job's state that lasts
    for row in rows:
        signature, at = row["signature"], row["at"]
        if signature in PLANNED and (not signature.endswith(("-received", "-requested")) or row["role"] in ("jobmanager", None)):
            ordered = (PLANNED[signature], at)
        elif signature == "job-state":
            ordered, failed = _switch(walk, row, ordered), False
        elif signature in ("job-restored", "savepoint-restored"):
            restored = {"restored_checkpoint": row["checkpoint"], "restored_from": (row["detail"] or {}).get("path")}
            if walk.open is not None:
                walk.open.update(restored)
        elif signature == "task-failed":
            failed = True
        elif signature == "adaptive-restarting" and walk.open is not None:
            if row["chain"] or failed:
                walk.end("failed", at)
            else:  # of a failure Flink prints the trace below this line
                ordered = (PLANNED["rescale"], at)
        elif signature == "checkpoint-completed" and walk.open is not None:
            walk.open["checkpoints_completed"] += 1
    seen = walk.rows()
    return _with_earlier(rows, seen) if seen else _by_number(rows)


def _ran_again(before: dict[str, Any], row: Row) -> bool:
    """Whether a job that failed `before` fails out of RUNNING once more: an excerpt may lack the switch that began the attempt."""
    at, ended = row["at"], before["ended_at"]
    later = at is not None and ended is not None and at - ended > _ONE_SWITCH
    return before["ended"] == "failed" and later and row["from_state"] == "RUNNING"


def _switch(walk: _Walk, row: Row, ordered: tuple[str, datetime | None] | None) -> tuple[str, datetime | None] | None:
    """Apply one job switch; returns what is still ordered."""
    state, at = row["to_state"], row["at"]
    planned = ordered[0] if ordered and (at is None or ordered[1] is None or at - ordered[1] <= _ORDERED_WITHIN) else None
    if state == "RUNNING":
        walk.start(at)
        return None
    if state in FAILED_STATES:
        if walk.open is not None or not walk.done or _ran_again(walk.done[-1], row):
            walk.end("failed", at)
        elif walk.done and walk.done[-1]["ended"] == "failed":
            walk.done[-1]["ended_at"] = walk.done[-1]["ended_at"] or at
    elif state in ("CANCELLING", "CANCELED", "FINISHED", "SUSPENDED"):
        if walk.open is not None:
            how = {"FINISHED": "finished", "SUSPENDED": "suspended"}.get(state, "cancelled")
            walk.end("planned" if planned and how != "suspended" else how, at, planned)
        return ordered if state == "CANCELLING" else None
    return ordered


def _spark(rows: list[Row]) -> list[Row]:
    walk = _Walk(rows[0])
    run: str | None = None
    first_sign: datetime | None = None  # of a run whose start line is not in the log (a driver at WARN prints none)
    batch: int | None = None
    for row in rows:
        signature, at, detail = row["signature"], row["at"], row["detail"] or {}
        named = detail.get("run")
        if signature in SIGNS_OF_WORK:
            first_sign = first_sign or at
            batch = _batch_of(row, batch)
        if signature == "query-started" and named != run:
            walk.start(at, run=named)
            run, batch = named, None
        elif signature == "query-failed":
            if walk.open is None and walk.done and named == run:
                continue
            if walk.open is None:
                walk.start(first_sign)
            assert walk.open is not None
            walk.open.update(batch=batch, run=named or run)
            walk.end("failed", at)
            run, first_sign, batch = named, None, None
        elif signature == "query-stopped":
            walk.end("planned", at, "stopped by a user")
            first_sign, batch = None, None
        elif signature == "query-resumed" and walk.open is not None:
            walk.open["restored_checkpoint"] = row["checkpoint"]
            _place_failure(walk.done, row["checkpoint"])
        elif signature == "query-progress" and walk.open is not None:
            walk.open["checkpoints_completed"] += 1
    return walk.rows()


def _batch_of(row: Row, known: int | None) -> int | None:
    """The batch a line is about; from 4.0 on the scheduler's lines name query and batch themselves."""
    if row["signature"] in (*BATCH_PLANNED, "query-resumed"):
        return row["checkpoint"] if row["checkpoint"] is not None else known
    told = _NAMED_BATCH.search(row["text"] or "")
    return int(told[2]) if told and row["job"].startswith(told[1]) else known


def _place_failure(done: list[dict[str, Any]], resumed_at: int | None) -> None:
    """The run before failed in the batch that this one resumes at, where of a long log that batch's own line was not kept."""
    before = done[-1] if done else None
    if before and resumed_at is not None and before["ended"] == "failed" and before.get("batch") is not None:
        before["batch"] = max(before["batch"], resumed_at)
