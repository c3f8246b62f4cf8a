"""What failures tell of each other: one that was cut off, or whose telling line was left out, takes it from another one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from analyzers.components.table import role_of
from analyzers.derived.failures.fault_classes import UNKNOWN

_SAME_WORDS = ("scope", "job", "fault", "task", "subtask", "root_exception", "root_message")
_BESIDE_LINES = 30
_BESIDE_SECONDS = 5
_TASK_SECONDS = 900


def adopt_causes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A failure without a trace of its own (cut, or printed a line earlier) takes the fault that the same file tells right beside it."""
    for row in rows:
        if not (row["fatal"] and row["fault"] == UNKNOWN.id):
            continue
        if row["chain"] and len(row["chain"]) == 1 and not row["user_frame"] and role_of(row["chain"][0].partition(":")[0]) == "engine":
            _adopt_before(row, rows)
        elif not row["chain"]:
            same = [r for r in rows if r is not row and row["execution"] and r["execution"] == row["execution"]]
            near = same + [r for r in rows if r is not row and r["file"] == row["file"] and _beside(r, row)]
            # Spark's "aborting job" says nothing itself, and the query right behind has the trace, of whatever class it is
            waits = row["signature"] == "spark-job-aborted"
            able = [r for r in near if (r["fault"] != UNKNOWN.id or (waits and r["chain"])) and not r["consequence"]]
            tasks = [r for r in able if _of_its_tasks(r, row)]
            told = next((r for r in able if _together(r["at"], row["at"])), None) or max(tasks, key=lambda r: r["at"], default=None)
            if told is not None:
                row.update(
                    {
                        k: told[k]
                        for k in ("fault", "cause", "reason", "exception", "root_exception", "root_message", "chain", "fingerprint")
                    }
                )
                _point_at(told, row)
    return rows


def _adopt_before(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> None:
    """An engine's own exception whose causes were cut off takes what the same job failed of right before it."""
    before = [
        r
        for r in rows
        if r is not row and r["job"] == row["job"] is not None and r["file"] == row["file"] and r["line"] < row["line"]
        if not r["consequence"] and len(r["chain"] or ()) > 1 and r["at"] and row["at"] and _together(r["at"], row["at"])
    ]
    if before:
        told = max(before, key=lambda r: int(r["line"]))
        row.update({k: told[k] for k in ("fault", "cause", "reason", "root_exception", "root_message", "fingerprint")})
        row["chain"] = [*row["chain"], *told["chain"]]
        _point_at(told, row)
        row.update({k: row[k] if row[k] is not None else told[k] for k in ("topic", "partition", "offset")})


def _point_at(told: dict[str, Any], row: dict[str, Any]) -> None:
    first = (told["detail"] or {}).get(TOLD_BY) or f"{told['line']}:{told['file']}"
    row["detail"] = {**(row["detail"] or {}), TOLD_BY: first}


TOLD_BY = "told_by"
"""Key of the details of a failure: line and file of the one that says why."""


def share_record_position(rows: Sequence[dict[str, Any]]) -> None:
    """Copy topic, partition and offset to failures with an identical message: of many failures few name the record."""
    named: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        if row["root_message"] and row["partition"] is not None:
            named.setdefault(tuple(row[name] for name in _SAME_WORDS), row)
    for row in rows if named else ():
        told = named.get(tuple(row[name] for name in _SAME_WORDS)) if row["partition"] is None else None
        if told is not None:
            row.update({name: told[name] if row[name] is None else row[name] for name in ("topic", "partition", "offset")})


def _of_its_tasks(told: dict[str, Any], row: dict[str, Any]) -> bool:
    """Whether a task of a query was lost before the query ended of it: Spark tries a task four times, each with its own back-off."""
    lost = told["signature"] == "spark-task-lost" and told["job"] == row["job"] is not None
    return lost and told["at"] is not None and row["at"] is not None and 0 <= (row["at"] - told["at"]).total_seconds() <= _TASK_SECONDS


def _beside(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """By their times where both have one: an export prints a record over any number of lines."""
    return (one["at"] is not None and other["at"] is not None) or abs(one["line"] - other["line"]) <= _BESIDE_LINES


def _together(a: datetime | None, b: datetime | None) -> bool:
    return a is None or b is None or abs((a - b).total_seconds()) <= _BESIDE_SECONDS
