"""Readers whose watermark is far behind the others or ahead of the clock, as saved or pasted metrics show it.

As `watermark_holders`, which needs the vertices of a JobManager: here an operator is what a label or the first column calls it, and what
waits for event time is what its name says, or counts records as late.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from analyzers.derived.flow.marks_at_minimum import SUBTASK, empty_partitions, event_time_by_name, job_id, read_by_job, series_by_job
from analyzers.derived.flow.metric_troubles import Series, label
from analyzers.derived.flow.watermark_holders import AHEAD_MS, BEHIND_MS
from analyzers.logs.layouts.timestamps import to_ms
from analyzers.states.metric_names import HIGHEST, LOWEST, meanings
from analyzers.tables import WATERMARK_HOLDERS, Row

Tables = Mapping[str, Sequence[Row]]
_OPERATOR = ("operator_name", "operator", "task_name", "task_id")


def marks_apart(tables: Tables) -> list[Row]:
    """Rows of ``watermark_holders``. A job reads records and some moment of its metrics is known, else none."""
    out: list[Row] = []
    for scope, job, own in series_by_job(tables):
        vertices = {v["vertex"]: v for v in tables.get("vertices", ()) if v["scope"] == scope}
        for each in _of_job(own, vertices, tables, scope):
            known = {"scope": scope, "job": job_id(scope, job, tables), "as_of": each["captured_at"], "completed_at": each["captured_at"]}
            out.append(WATERMARK_HOLDERS.row(known | each))
    return out


def _of_job(own: Sequence[Series], vertices: Mapping[str, Row], tables: Tables, scope: str) -> Iterator[dict[str, Any]]:
    marks = [s for s in own if s[-1]["counts"] in ("watermark-in", "watermark-out") and LOWEST < s[-1]["value"] < HIGHEST]
    needs = sorted({name for s in own if (name := _name(s, vertices)) and (event_time_by_name(name) or s[-1]["counts"] == "records-late")})
    late = _late(own)
    arrived = {name: min(s[-1]["value"] for s in found) for name, found in _by_operator(marks, "watermark-in", vertices).items()}
    for name, found in _by_operator(marks, "watermark-out", vertices).items():
        yield from _behind(name, found, arrived, own, needs, vertices, tables, scope)
    ahead: dict[str, list[tuple[Series, int]]] = defaultdict(list)
    for series in marks:
        now = to_ms(series[-1]["at"])
        if now is not None and series[-1]["value"] - now >= AHEAD_MS:
            ahead[_name(series, vertices)].append((series, now))
    if ahead:
        # of several operators the first that has it pushes it on
        name, pushed = next(iter(ahead.items()))
        for series, now in pushed:
            mark = series[-1]["value"]
            yield _row(series, name, len(pushed), "future-timestamp", needs or [name]) | {
                "watermark": int(mark), "others": int(mark), "held_seconds": int(mark - now) // 1000, "late_records": late or None,
            }  # fmt: skip


def _behind(
    name: str,
    found: Sequence[Series],
    arrived: Mapping[str, float],
    own: Sequence[Series],
    needs: list[str],
    vertices: Mapping[str, Row],
    tables: Tables,
    scope: str,
) -> Iterator[dict[str, Any]]:
    """Readers far behind the others of their source, where what comes behind waits with them."""
    furthest = max(s[-1]["value"] for s in found)
    least = min((value for other, value in arrived.items() if other != name), default=None)
    if len(found) < 2 or least is None or name in arrived or not any(read_by_job(own, list(vertices.values()))):
        return
    topic, silent = empty_partitions(scope, tables)
    for series in found:
        mark = series[-1]["value"]
        if furthest - mark >= BEHIND_MS and least <= mark:
            rate = _rate(own, series)
            yield _row(series, name, len(found), "idle-split" if silent or rate == 0 else "behind", needs) | {
                "watermark": int(mark), "others": int(furthest), "downstream": int(least), "held_seconds": int(furthest - mark) // 1000,
                "records_per_second": rate, "topic": topic if len(silent) == 1 else None, "partitions": silent,
                "partition": int(silent[0].rpartition("-")[2]) if len(silent) == 1 else None,
            }  # fmt: skip


def _late(own: Sequence[Series]) -> float:
    """Records dropped as late: of each subtask, or the sum that a JobManager made of them, whichever shows more."""
    numbers = [(label(s[-1], *SUBTASK) is None, max(row["value"] for row in s)) for s in own if s[-1]["counts"] == "records-late"]
    return float(max(sum(value for summed, value in numbers if summed is which) for which in (True, False)))


def _row(series: Series, name: str, parallelism: int, reason: str, needs: list[str]) -> dict[str, Any]:
    number = label(series[-1], *SUBTASK)
    at: datetime | None = series[-1]["at"]
    return {
        "task": name, "vertex": label(series[-1], "task_id") or name, "parallelism": parallelism, "captured_at": at,
        "subtask": int(number) if number is not None and number.isdigit() else None, "reason": reason, "event_time": needs,
        "partitions": [],
    }  # fmt: skip


def _by_operator(marks: Sequence[Series], counts: str, vertices: Mapping[str, Row]) -> dict[str, list[Series]]:
    found: dict[str, list[Series]] = defaultdict(list)
    for series in marks:
        if series[-1]["counts"] == counts:
            found[_name(series, vertices)].append(series)
    return found


def _rate(own: Sequence[Series], of: Series) -> float | None:
    """Records each second of the same subtask of the same operator."""
    who = (label(of[-1], *_OPERATOR), label(of[-1], *SUBTASK))
    rates = [
        s[-1]["value"]
        for s in own
        if meanings()[s[-1]["counts"]].kind in ("written-rate", "read-rate") and (label(s[-1], *_OPERATOR), label(s[-1], *SUBTASK)) == who
    ]
    return max(rates, default=None)


def _name(series: Series, vertices: Mapping[str, Row]) -> str:
    name = label(series[-1], *_OPERATOR)
    vertex = vertices.get(name or "")
    return (vertex["task"] if vertex is not None else name) or ""
