"""What failures tell of each other: one that was cut off, or whose telling line was left out, takes it from another one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from analyzers.derived.failures.fault_classes import UNKNOWN

_SAME_WORDS = ("scope", "job", "fault", "task", "subtask", "root_exception", "root_message")
_BESIDE_LINES = 30
_BESIDE_SECONDS = 5


def adopt_causes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A failure without a trace of its own (cut, or printed a line earlier) takes the fault that the same file tells right beside it."""
    for row in rows:
        if row["fatal"] and row["fault"] == UNKNOWN.id and not row["chain"]:
            same = [r for r in rows if r is not row and row["execution"] and r["execution"] == row["execution"]]
            near = same + [r for r in rows if r is not row and r["file"] == row["file"] and _beside(r, row)]
            # Spark's "aborting job" says nothing itself, and the query right behind has the trace, of whatever class it is
            waits = row["signature"] == "spark-job-aborted"
            told = next(
                (
                    r
                    for r in near
                    if (r["fault"] != UNKNOWN.id or (waits and r["chain"])) and not r["consequence"] and _together(r["at"], row["at"])
                ),
                None,
            )
            if told is not None:
                row.update(
                    {
                        k: told[k]
                        for k in ("fault", "cause", "reason", "exception", "root_exception", "root_message", "chain", "fingerprint")
                    }
                )
    return rows


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


def _beside(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """By their times where both have one: an export prints a record over any number of lines."""
    return (one["at"] is not None and other["at"] is not None) or abs(one["line"] - other["line"]) <= _BESIDE_LINES


def _together(a: datetime | None, b: datetime | None) -> bool:
    return a is None or b is None or abs((a - b).total_seconds()) <= _BESIDE_SECONDS
