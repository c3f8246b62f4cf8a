"""Which operators' state Flink skipped at a restore: an INFO line, and balances, counters and positions begin at nothing.

Sources: ``Checkpoints.loadAndValidateCheckpoint`` (allowNonRestoredState, of a savepoint that is given by path: also for an operator
without any state) and ``StateAssignmentOperation.checkStateMappingCompleteness``. The latter accepts unclaimed state after each failure,
too, when only one region is restarted: there it names operators that run on.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from analyzers.derived.checkpoints.checkpoint_lineage import last_names
from analyzers.tables import SKIPPED_STATE, Row

Tables = Mapping[str, Sequence[Row]]

_SKIPPED = "state-skipped"
_REFUSED = "savepoint-operator-missing"
_STARTS = "savepoint-restored"
_RESTORES = (_STARTS, "job-restored")
_COMPLETED = "checkpoint-completed"
_READ = frozenset((_SKIPPED, _REFUSED, _COMPLETED, *_RESTORES))
_SMALLER = 0.7
"""Of the state before the restore: less is no change of a format or of a window's contents."""
_WORTH = 10_000_000  # bytes
_EACH_SIDE = 3  # checkpoints


def skipped_state(tables: Tables) -> list[Row]:
    """One row per restore and operator whose state was skipped, unless it is known to have been empty.

    Of several starts from one savepoint only the last counts: what that one has restored is not lost.
    """
    events: dict[str, list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] in _READ:
            events[event["scope"]].append(event)
    rows = []
    for scope, own in events.items():
        if any(event["signature"] == _SKIPPED for event in own):
            known = {name: [r for r in tables.get(name, ()) if (r["scope"] or "") == scope] for name in ("operator_states", "vertices")}
            lives = [life for life in tables.get("job_lives", ()) if life["scope"] == scope]
            names = {job["job"]: job["name"] for job in tables.get("jobs_seen", ()) if job["scope"] == scope}
            rows += [SKIPPED_STATE.row(row) for row in _of_scope(own, lives, known["operator_states"], known["vertices"], names)]
    return rows


def _of_scope(
    events: Sequence[Row], lives: Sequence[Row], states: Sequence[Row], vertices: Sequence[Row], names: Mapping[str, str | None]
) -> Iterator[Mapping[str, Any]]:
    refused = {event["operator"] for event in events if event["signature"] == _REFUSED}
    last = {_savepoint(event): event for event in sorted(events, key=_order) if event["signature"] == _STARTS}
    for event, restore in _with_restore(events, lives):
        if restore["signature"] == _STARTS and last[_savepoint(restore)] is not restore:
            continue
        job, path = restore["job"] or event["job"], (restore["detail"] or {}).get("path")
        written = [
            state for state in states if state["operator"] == event["operator"] and (state["job"] != job or _same(state["path"], path))
        ]
        restored = [state for state in written if _same(state["path"], path)] or written
        size = max(((state["size_bytes"] or 0) + (state["coordinator_bytes"] or 0) for state in restored), default=None)
        if size == 0:
            continue
        before = next((vertex["task"] for vertex in vertices if vertex["vertex"] == event["operator"] and vertex["job"] != job), None)
        name = next((state["name"] for state in restored if state["name"]), None) or before
        now = [state for state in states if state["job"] == job and not _same(state["path"], path)]
        old = {state["operator"] for state in states if _same(state["path"], path)}
        successor = _successor(event["operator"], name, now, [v for v in vertices if v["job"] == job])
        proven = size is not None or event["operator"] in refused
        before_bytes, after_bytes = (None, None) if proven else _shrank(event, job, events, names)
        removed = bool(now) and bool(old) and {state["operator"] for state in now} <= old
        reasons = (
            ("uid-changed", proven and successor), ("removed", proven and removed), ("dropped", proven), ("shrank", before_bytes),
        )  # fmt: skip
        yield {
            **{column: event[column] for column in ("scope", "as_of", "at", "file", "line", "text", "operator")},
            "job": job,
            "name": name,
            "uid": next((state["uid"] for state in restored if state["uid"]), None),
            "path": path,
            "size_bytes": size,
            "reason": next((name for name, holds in reasons if holds), "unknown"),
            "before_bytes": before_bytes,
            "after_bytes": after_bytes,
            "new_operator": successor["operator"] if successor else None,
            "new_uid": successor.get("uid") if successor else None,
        }


def _shrank(skipped: Row, job: str | None, events: Sequence[Row], names: Mapping[str, str | None]) -> tuple[int | None, int | None]:
    """The size of the job's checkpoints before and after a restore where it is much smaller since, median of a few each; else nothing.

    Flink prints the size of the whole state (``CompletedCheckpoint.getStateSize``), also of an incremental checkpoint.
    """
    if skipped["at"] is None:
        return None, None
    alike = {other for other, name in names.items() if other == job or (name is not None and name == names.get(job or ""))} | {job}
    sizes = [
        (event["at"], int(event["detail"]["size_bytes"]))
        for event in events
        if event["signature"] == _COMPLETED and event["at"] and event["job"] in alike and (event["detail"] or {}).get("size_bytes")
    ]
    before = [size for at, size in sizes if at < skipped["at"]][-_EACH_SIDE:]
    after = [size for at, size in sizes if at > skipped["at"]][:_EACH_SIDE]
    if len(before) < _EACH_SIDE or len(after) < _EACH_SIDE:
        return None, None
    was, is_ = int(median(before)), int(median(after))
    return (was, is_) if was >= _WORTH and is_ < _SMALLER * was else (None, None)


def _with_restore(events: Sequence[Row], lives: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Each skipped state with the restore that it belongs to: the one that its JobManager logged before it."""
    newest: dict[str, Row] = {}
    for event in sorted(events, key=_order):
        if event["signature"] in _RESTORES:
            newest[event["file"]] = event
        elif event["signature"] == _SKIPPED and (restore := newest.get(event["file"])) is not None:
            by_path = (event["detail"] or {}).get("kind") == "Skipping savepoint"
            if by_path or _begins(event, restore, lives):
                yield event, restore


def _begins(event: Row, restore: Row, lives: Sequence[Row]) -> bool:
    """Whether a job is restored because its JobMaster starts, not because a task of it failed."""
    own = (life for life in lives if life["job"] == restore["job"] and life["began_at"] is not None)
    return any(life["began_at"] <= event["at"] <= (life["running_at"] or event["at"]) for life in own if event["at"] is not None)


def _successor(operator: str, name: str | None, now: Iterable[Row], tasks: Iterable[Row]) -> Row | None:
    """The operator of the new job that has this one's name and another id."""
    if name is None:
        return None
    for state in now:
        if state["name"] == name and state["operator"] != operator:
            return state
    first = name.split(" -> ")[0]
    for task in tasks:
        if task["vertex"] != operator and re.split(r" -> |, ", task["task"] or "")[0] == first:
            return {"operator": task["vertex"]}
    return None


def _savepoint(start: Row) -> str:
    return last_names((start["detail"] or {}).get("path") or "")


def _same(path: str | None, restored: str | None) -> bool:
    return path is not None and restored is not None and last_names(path) == last_names(restored)


def _order(event: Row) -> tuple[int, str, int]:
    return event["line"] if event["seq"] is None else event["seq"], event["file"], event["line"]
