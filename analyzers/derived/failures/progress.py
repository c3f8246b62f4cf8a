"""Checkpoint and failure totals per job and attempt, corrected from `log_counts` where sampling dropped rows.

Of a long log the first and last lines of a kind are rows; `log_counts` has all of them, by the minute.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from analyzers.tables import Row
from analyzers.tables.by_column import column, where

COMPLETED = frozenset({"checkpoint-completed", "query-progress"})
EXPIRED = "checkpoint-expired"
MIN_DROPPED_ROWS = 10
"""Where so many more were counted than there are rows, rows were given up; fewer may be those of a minute through which --since goes."""

_OF_ANY_FAILURE = frozenset({"task-failed", "fetcher-failed", "exception-logged"})
"""Signatures that stand beside faults of any kind, and prove none."""

_Job = tuple[str, str]
_Minute = tuple[datetime | None, datetime | None, int]


def count_all(attempts: Sequence[Row], jobs: Sequence[Row], events: Sequence[Row], counts: Sequence[Row]) -> None:
    """Set ``checkpoints_completed`` of `attempts` and `jobs`, and ``checkpoints_expired`` of `jobs`, in place, where `counts` tell more
    than the rows in `events`."""
    kept = Counter((e["scope"], e["job"]) for e in events if e["signature"] in COMPLETED)
    kept_expired = Counter((e["scope"], e["job"]) for e in events if e["signature"] == EXPIRED)
    of_scope: defaultdict[str, set[str]] = defaultdict(set)
    for job in jobs:
        of_scope[job["scope"]].add(job["job"])
    completed: defaultdict[_Job, list[_Minute]] = defaultdict(list)
    expired: Counter[_Job] = Counter()
    wanted = ("signature", "scope", "job", "first_at", "last_at", "events")
    ends = where(counts, "signature", {*COMPLETED, EXPIRED})
    for signature, scope, named, first, last, number in zip(*(column(ends, name) for name in wanted), strict=True):
        of = named or (next(iter(of_scope[scope])) if len(of_scope[scope]) == 1 else None)
        if of is not None and signature == EXPIRED:
            expired[scope, of] += number
        elif of is not None:
            completed[scope, of].append((first, last, number))
    tried: defaultdict[_Job, list[Row]] = defaultdict(list)
    for attempt in attempts:
        tried[attempt["scope"], attempt["job"]].append(attempt)
    for job in jobs:
        key = (job["scope"], job["job"])
        if expired[key] - kept_expired[key] >= MIN_DROPPED_ROWS:
            job["checkpoints_expired"] = expired[key]
        total = sum(number for _, _, number in completed[key])
        if total - kept[key] >= MIN_DROPPED_ROWS:
            job["checkpoints_completed"] = total
            _share_out(completed[key], tried[key])


def _share_out(minutes: Sequence[_Minute], attempts: Sequence[Row]) -> None:
    """Each minute's to the attempts in which its first and its last one lie; those without a time are nobody's."""
    begun = [attempt for attempt in attempts if attempt["started_at"] is not None]
    starts = [attempt["started_at"] for attempt in begun]
    if starts != sorted(starts):
        return
    for attempt in begun:
        attempt["checkpoints_completed"] = 0
    for first, last, number in minutes:
        if first is None or last is None:
            continue
        early, late = bisect_right(starts, first) - 1, bisect_right(starts, last) - 1
        if early == late >= 0:
            begun[early]["checkpoints_completed"] += number
            continue
        if early >= 0:
            begun[early]["checkpoints_completed"] += number - 1
        if late >= 0:
            begun[late]["checkpoints_completed"] += 1


def count_failures(faults: Sequence[Row], attempts: Sequence[Row], events: Sequence[Row], counts: Sequence[Row]) -> None:
    """Set ``unkept`` of the first of `faults`, in place, of a job that failed of one thing only: the attempts whose lines were not kept.

    Sure where the JobManager printed one failed task for each failed attempt, and a line that tells of this fault with every one of them.
    """
    failed: defaultdict[str, list[Row]] = defaultdict(list)
    for attempt in attempts:
        if attempt["ended"] == "failed":
            failed[attempt["scope"]].append(attempt)
    kept: defaultdict[str, list[Row]] = defaultdict(list)
    for fault in faults:
        if fault["fatal"] and not fault["consequence"]:
            kept[fault["scope"]].append(fault)
    few = {scope for scope, own in failed.items() if len(own) - len({fault["attempt"] for fault in kept[scope]}) > 0}
    if not few:
        return
    masters = {(event["scope"], event["file"]) for event in events if event["role"] == "jobmanager"}
    printed: Counter[tuple[str, str]] = Counter()
    wanted = ("signature", "scope", "file", "events")
    for signature, scope, file, number in zip(*(column(counts, name) for name in wanted), strict=True):
        if scope in few and (scope, file) in masters:
            printed[scope, signature] += number
    for scope in few & {scope for scope, own in kept.items() if len({_alike(fault) for fault in own}) == 1}:
        own, every = kept[scope], len(failed[scope])
        places = {(fault["file"], fault["line"]) for fault in own}
        beside = {e["signature"] for e in events if e["scope"] == scope and (e["file"], e["line"]) in places}
        one_job = {attempt["job"] for attempt in failed[scope]} == {own[0]["job"]}
        if one_job and beside - _OF_ANY_FAILURE and all(printed[scope, signature] == every for signature in beside | {"task-failed"}):
            own[0]["unkept"] = every - len({fault["attempt"] for fault in own})


def _alike(fault: Row) -> tuple[object, ...]:
    return tuple(fault[name] for name in ("job", "fault", "fingerprint", "task", "subtask", "topic", "partition", "offset"))


def by_minute(counts: Sequence[Row]) -> Mapping[_Job, list[tuple[datetime, int]]]:
    """Per scope and job, when checkpoints (batches) were completed and how many: the last moment of each minute."""
    found: defaultdict[_Job, list[tuple[datetime, int]]] = defaultdict(list)
    for row in where(counts, "signature", COMPLETED):
        if row["job"] and row["last_at"]:
            found[row["scope"], row["job"]].append((row["last_at"], row["events"]))
    return found
