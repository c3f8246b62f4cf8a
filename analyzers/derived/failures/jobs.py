"""Which job an event belongs to, and which jobs the logs show.

Task lines carry an execution id but no job id. From Flink 1.16 the id begins with the execution graph's, which one line ties to the
job; before, TaskManagers tie it through the slot's allocation id, and the JobManager prints the job's own switch right behind.
Lines of sources name neither: `source_jobs`; nor do most of a Spark driver: `query_jobs`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from operator import itemgetter
from typing import Any

from analyzers.derived.failures.owners import OF_CONNECT, owner_of
from analyzers.derived.failures.query_jobs import by_the_query
from analyzers.derived.lag.source_jobs import by_the_source
from analyzers.logs.layouts.roles import SERVERS
from analyzers.logs.signatures.identifiers import HEX
from analyzers.tables import JOBS_SEEN, Row

_BEHIND = timedelta(seconds=5)
_ENDS_BEHIND = 20
"""Events with an exception, behind one, among which the end of its task is looked for."""
_OF_THE_WHOLE_JOB = frozenset(
    (
        "global-failover",
        "checkpoint-tolerance-exceeded",
        "coordinator-failed-job",
        "enumerator-failed",
        "adaptive-restarting",
        "restart-suppressed",
    )
)


def with_jobs(events: Sequence[Row], *, own: bool = False) -> list[Row]:
    """`events` with ``job`` filled in where the logs tell it; rows without a job are copied unless they are the caller's `own`, order is
    kept."""
    out = [dict(e) if e["job"] is None and not own else e for e in events]
    beside = _named_beside(out)
    by_scope: dict[str, list[Row]] = defaultdict(list)
    owned: set[int] = set()
    for event in out:
        owner = owner_of(event["text"] or "") if event["job"] is None and event["role"] not in SERVERS else None
        if owner is None and beside and event["job"] is None and event["level"] is None and OF_CONNECT.search(event["text"] or ""):
            owner = beside.get((event["scope"], event["file"]))
        if owner is not None:
            event["job"] = owner  # beside it a Flink job or a query is still the only one
            owned.add(id(event))
    for event, owner in _by_the_end_behind([event for event in out if event["chain"] and event["role"] not in SERVERS], owned):
        event["job"] = owner
        owned.add(id(event))
    for event in out:
        if id(event) not in owned:
            by_scope[event["scope"]].append(event)
    for rows in by_scope.values():
        _assign(rows)
    return out


def _by_the_end_behind(thrown: Sequence[Row], owned: Collection[int]) -> Iterator[tuple[Row, str]]:
    """A library prints an exception without its owner, and right behind a connector's task ends of the same one."""
    for number, event in enumerate(thrown):
        if event["job"] is not None or event["at"] is None:
            continue
        for end in thrown[number + 1 : number + _ENDS_BEHIND]:
            of_it = id(end) in owned and end["file"] == event["file"] and end["scope"] == event["scope"] and _near(event["at"], end["at"])
            if of_it and ": " in event["chain"][0] and any(said.endswith(event["chain"][0]) for said in end["chain"]):
                yield event, end["job"]
                break


def _named_beside(events: Sequence[Row]) -> dict[tuple[str, str], str]:
    """Per log the only connector whose pasted status it holds."""
    named: dict[tuple[str, str], set[str]] = defaultdict(set)
    for event in events:
        if event["signature"] == "connect-status-quoted":
            detail = event["detail"] or {}
            named[event["scope"], event["file"]].add(detail.get("connector") or detail["asked"])
    return {where: names.pop() for where, names in named.items() if len(names) == 1}


def _assign(rows: list[Row]) -> None:
    graphs: dict[str, str] = {}
    executions: dict[str, str] = {}
    allocations: dict[str, str] = {}
    slots: dict[str, str] = {}
    known: set[str] = set()
    for row in rows:
        detail = row["detail"] or {}
        job = row["job"]
        if job:
            known.add(job)
            if detail.get("graph"):
                graphs[detail["graph"]] = job
            if row["execution"]:
                executions[row["execution"]] = job
            if detail.get("allocation"):
                allocations[detail["allocation"]] = job
        elif row["execution"] and detail.get("allocation"):
            slots[row["execution"]] = detail["allocation"]
    only = next(iter(known)) if len(known) == 1 else None
    for row in rows:
        if row["job"] is None and row["execution"]:
            execution = row["execution"]
            row["job"] = executions.get(execution) or graphs.get(execution[:32]) or allocations.get(slots.get(execution, ""))
        if row["job"] is None and only is not None and row["role"] not in SERVERS:
            row["job"] = only
    if len(known) > 1:
        _by_the_only_one_of_the_file(rows)
        _by_the_switch_behind(rows)
        for row in rows:  # an execution id tied once ties its other lines, in other files too
            if row["job"] and row["execution"]:
                executions.setdefault(row["execution"], row["job"])
        for row in rows:
            if row["job"] is None and row["execution"]:
                row["job"] = executions.get(row["execution"])
        by_the_source(rows)
        by_the_query(rows)
        _by_the_only_one_alive(rows)


def _by_the_only_one_of_the_file(rows: list[Row]) -> None:
    """The log of a process that knew one job only is about that job."""
    named: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row["job"]:
            named[row["file"]].add(row["job"])
    for row in rows:
        if row["job"] is None and row["role"] not in SERVERS and len(named[row["file"]]) == 1:
            row["job"] = next(iter(named[row["file"]]))


def _by_the_switch_behind(rows: list[Row]) -> None:
    """A JobManager prints "<task> switched to FAILED" and, right behind, "Job … switched from state RUNNING to RESTARTING"."""
    files: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        files[row["file"]].append(row)
    for lines in files.values():
        lines.sort(key=lambda r: r["line"])
        job: str | None = None
        at: datetime | None = None
        for row in reversed(lines):
            if row["signature"] == "job-state" and row["job"]:
                job, at = row["job"], row["at"]
            elif row["job"] is None and job and _near(row["at"], at) and (row["execution"] or row["signature"] in _OF_THE_WHOLE_JOB):
                row["job"] = job


def _by_the_only_one_alive(rows: list[Row]) -> None:
    """A line without any id belongs to the job that was alive at its time, where it was the only one."""
    lives: dict[str, list[datetime]] = defaultdict(list)
    for row in rows:
        if row["job"] and row["at"]:
            lives[row["job"]].append(row["at"])
    jobs = list(lives)
    begins = sorted((min(lives[job]), number) for number, job in enumerate(jobs))
    ends = sorted((max(lives[job]), number) for number, job in enumerate(jobs))
    # of the numbers of all that have begun, less those of all that are over, what is left is the number of the only one alive
    begun, over = ([0, *accumulate(number for _, number in times)] for times in (begins, ends))
    for row in rows:
        if row["job"] is None and row["at"] and row["role"] not in (*SERVERS, "jobmanager"):
            first = bisect_right(begins, row["at"], key=itemgetter(0))
            last = bisect_left(ends, row["at"], key=itemgetter(0))
            if first - last == 1:
                row["job"] = jobs[begun[first] - over[last]]


def _near(a: datetime | None, b: datetime | None) -> bool:
    return a is None or b is None or timedelta(0) <= b - a <= _BEHIND


def jobs_seen(events: Sequence[Row], attempts: Sequence[Row]) -> list[Row]:
    """One row per scope and job, in order of first appearance."""
    jobs: dict[tuple[str, str], dict[str, Any]] = {}
    for event in _in_order(events):
        if not event["job"]:
            continue
        row = jobs.get((event["scope"], event["job"]))
        if row is None:
            row = jobs[event["scope"], event["job"]] = {k: event[k] for k in ("scope", "as_of", "job")} | {
                "first_at": event["at"], "restarts": 0, "planned_restarts": 0, "checkpoints_completed": 0, "checkpoints_expired": 0,
            }  # fmt: skip
        if event["at"]:
            row["first_at"] = row["first_at"] or event["at"]
            row["last_at"] = event["at"]
        _note(row, event)
    for attempt in attempts:
        job = jobs.get((attempt["scope"], attempt["job"] or ""))
        if job is not None:
            job["restarts"] += attempt["ended"] == "failed"
            job["planned_restarts"] += attempt["ended"] == "planned"
    return [JOBS_SEEN.row(row) for row in jobs.values()]


def _note(row: dict[str, Any], event: Row) -> None:
    signature = event["signature"]
    detail = event["detail"] or {}
    if signature == "job-state":
        row["state"] = event["to_state"]
    elif signature in ("checkpoint-completed", "query-progress"):
        row["checkpoints_completed"] += 1
        row["last_completed_at"] = event["at"]
    elif signature == "checkpoint-expired":
        row["checkpoints_expired"] += 1
    elif signature == "query-failed":
        row["state"] = "FAILED"
    elif signature == "query-stopped":
        row["state"] = "CANCELED"
    elif signature == "query-read-all":
        row["state"] = "FINISHED"
    elif signature == "query-started":
        row["state"] = "RUNNING"
    if signature.startswith("beam-"):
        row["kind"] = "beam"
    elif "kind" not in row:
        if signature.startswith(("spark-", "query-")):
            row["kind"] = "spark"
        elif re.fullmatch(HEX, row["job"]):
            row["kind"] = "flink"
    if name := detail.get("job_name") or detail.get("query_name"):
        row.setdefault("name", name)


def _in_order(events: Iterable[Row]) -> list[Row]:
    return sorted(events, key=lambda e: (e["scope"], e["seq"] if e["seq"] is not None else 0, e["file"], e["line"], e["signature"]))
