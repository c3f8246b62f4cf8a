"""Which reader holds back the watermark of a job that is otherwise well, or pushes it ahead of the clock.

A task's watermark is the least of its inputs'. A reader without a record (an empty partition, no partition at all) gives none, so that
no window behind it ever ends; one record with a wrong date moves the watermark past everything that comes after it. Flink's operator
metrics ``currentInputWatermark`` and ``currentOutputWatermark``; Long.MIN = none yet, Long.MAX = the source has ended.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from analyzers.logs.layouts.timestamps import to_ms
from analyzers.states.flink_rows import watermark
from analyzers.tables import WATERMARK_HOLDERS, Row
from analyzers.tables.snapshots import newest_looks

Tables = Mapping[str, Sequence[Row]]

_READ = ("vertices", "subtasks", "metrics", "watermarks", "checkpoints", "jobs")
_MARK = "currentOutputWatermark"
_ENDED = (1 << 63) // 1000 - 1  # Flink: Long.MAX; Beam: less than its thousandth
BEHIND_MS = 300_000
"""Readers of one topic are seldom five minutes apart while all of them read."""
AHEAD_MS = 3_600_000
"""An hour: clocks and zones are off by less, or by hours."""
_SETTLED_SECONDS = 30
_EMPTY_SECONDS = 60
"""A source that runs for that long beside one with records, and has none itself, is no slow start."""
_EITHER_TIME = re.compile(r"(?<![a-z])WindowAggregate")
"""SQL's window aggregate over processing time, too: the planner splits it in a local and a global one over event time only."""
_EVENT_TIME = re.compile(
    r"(?<![a-z])windows?(?![a-z])|window(?:ed|ing|s?\()|windows?(?:aggregate|join|rank|dedup|operator)|eventtime|interval[ _-]?join"
    r"|temporal[ _-]?(?:join|sort)|over[ _-]?aggregate|\bmatch(?:\[|\(|_recognize)|\bcep|cep(?:operator|\b)",
    re.I,
)
"""Names of tasks that wait for the watermark: what Flink's DataStream, SQL and CEP operators are called, and what people call theirs."""
_OTHER_TIME = re.compile(r"processing[ _-]?time|proctime|global[ _-]?windows?\b", re.I)
"""Windows that close by the clock of the machine, or by a count."""


def watermark_holders(tables: Tables) -> list[Row]:
    """Rows of ``watermark_holders``, by job, vertex and subtask; none for jobs without watermarks."""
    out: list[Row] = []
    for look in newest_looks({name: tables.get(name, ()) for name in _READ}, "vertices").values():
        for vertex in look["vertices"]:
            if not vertex["inputs"]:
                out.extend(_of_source(vertex, look) if _tells_marks(look) else _without_marks(vertex, look))
    splits = tables.get("splits", ())
    return [row | _read_by(row, splits) if row["reason"] == "empty-source" else row for row in out]


def _tells_marks(look: Tables) -> bool:
    return any(row["name"] == _MARK for row in look["metrics"])


def _read_by(row: Row, splits: Sequence[Row]) -> Row:
    """What a source reads, as a checkpoint knows it: the id of a vertex is that of its first operator."""
    own = [s for s in splits if s["operator"] == row["vertex"] and s["job"] == row["job"] and s["topic"] and s["role"] == "reader"]
    topics = {split["topic"] for split in own}
    return {
        "topic": next(iter(topics)) if len(topics) == 1 else None,
        "partitions": sorted({f"{split['topic']}-{split['partition']}" for split in own}) or row["partitions"],
    }


def _without_marks(source: Row, look: Tables) -> list[Row]:
    """Of answers without metrics: a source without any record beside one that has some, and a vertex without a watermark behind both."""
    ran = source["captured_at"] - source["started_at"] if source.get("started_at") else None
    if ran is None or ran.total_seconds() < _EMPTY_SECONDS or not _is_empty(source) or source["status"] != "RUNNING":
        return []
    below, without = _below(source["vertex"], look["vertices"]), {row["vertex"] for row in look["watermarks"] if row["watermark"] is None}
    known = {row["vertex"] for row in look["watermarks"] if row["watermark"] is not None}
    fed = [
        other
        for other in look["vertices"]
        if not other["inputs"] and other.get("records_out") and (without - known) & below & _below(other["vertex"], look["vertices"])
    ]
    if not fed or not [task for task in _event_time(source, look) if not _EITHER_TIME.search(task)]:
        return []
    held = int(ran.total_seconds())
    return [_row(source, look, subtask, "empty-source", None, None, None, held) for subtask in range(source["parallelism"] or 1)]


def _is_empty(source: Row) -> bool:
    """Whether it has handed on no record in this attempt; unknown where the answers have no counts."""
    return source.get("records_out") == 0 and not source.get("records_in")


def has_marks(tables: Tables) -> bool:
    """Whether a JobManager told how far event time is at any operator."""
    return any(row["name"] == _MARK for row in tables.get("metrics", ()))


def _of_source(source: Row, look: Tables) -> list[Row]:
    marks = _marks(source, look["metrics"])
    known = [mark for mark in marks.values() if mark is not None]
    now = to_ms(source["captured_at"])
    if now is None or len(marks) < (source["parallelism"] or 0) or not _settled(source, look["subtasks"]):
        return []  # half a picture, or a job that has only just begun
    if not known:
        others = _where_joined(source, look)
        why = "empty-source" if _is_empty(source) else "silent-source"
        return [_row(source, look, subtask, why, None, others, None, None) for subtask in sorted(marks)] if others else []
    furthest = max(known)
    arrived = _arrived(source, look)
    if not arrived:
        return []  # one vertex alone: whether a reader was declared idle can only be seen behind it
    least = None if None in arrived else min(mark for mark in arrived if mark is not None)
    out = []
    for subtask, mark in sorted(marks.items()):
        reason, held = None, None
        if mark is not None and mark - now >= AHEAD_MS:
            reason, held = "future-timestamp", (mark - now) // 1000
        elif mark is None and least is None:
            reason = _why(source, look, subtask)
        elif mark is not None and min(furthest, now) - mark >= BEHIND_MS and (least is None or least <= mark):
            reason, held = _why(source, look, subtask), (min(furthest, now) - mark) // 1000
        if reason is not None:
            out.append(_row(source, look, subtask, reason, mark, furthest, least, held))
    return out


def _arrived(source: Row, look: Tables) -> list[int | None]:
    """The watermarks at the inputs right behind a source. A reader that was declared idle (withIdleness) holds none of them back."""
    behind = {vertex["vertex"] for vertex in look["vertices"] if source["vertex"] in (vertex["inputs"] or ())}
    return [row["watermark"] for row in look["watermarks"] if row["vertex"] in behind]


def _where_joined(source: Row, look: Tables) -> int | None:
    """The furthest watermark of another source, where a vertex that both feed has none: this one, without event time, holds it."""
    below = _below(source["vertex"], look["vertices"])
    without = {row["vertex"] for row in look["watermarks"] if row["watermark"] is None}
    known: list[int] = []
    for other in look["vertices"]:
        if not other["inputs"] and other["vertex"] != source["vertex"] and without & below & _below(other["vertex"], look["vertices"]):
            known += [mark for mark in _marks(other, look["metrics"]).values() if mark is not None]
    return max(known, default=None)


def _below(vertex: str, vertices: Sequence[Row]) -> set[str]:
    """All vertices that get records of `vertex`."""
    found: set[str] = set()
    level = {vertex}
    while level:
        level = {row["vertex"] for row in vertices if level.intersection(row["inputs"] or ())} - found
        found |= level
    return found


def _event_time(source: Row, look: Tables) -> list[str]:
    """Tasks at or behind `source` that need the watermark, by their names or because they count what comes too late.

    ``numLateRecordsDropped`` is a metric of operators that work over time only: WindowOperator, SQL's window and OVER aggregates, CEP.
    """
    reached = {source["vertex"]} | _below(source["vertex"], look["vertices"])
    counting = {row["vertex"] for row in look["metrics"] if row["name"] == "numLateRecordsDropped"}
    tasks = (row for row in look["vertices"] if row["vertex"] in reached)
    return sorted({row["task"] for row in tasks if _needs_watermark(row["task"] or "", row["vertex"] in counting)})


def _keyed(source: Row, look: Tables) -> list[str]:
    """Tasks behind `source` that work by key: timers and process functions stand in no name."""
    reached = _below(source["vertex"], look["vertices"])
    return sorted({row["task"] for row in look["vertices"] if row["vertex"] in reached and "HASH" in (row["exchanges"] or ())})


def waits_for_event_time(task: str) -> bool:
    """Whether an operator of a chain waits for the watermark, by its name; one that names another time does not."""
    return any(_EVENT_TIME.search(name) and not _OTHER_TIME.search(name) for name in re.split(r" -> |, ", task))


def _needs_watermark(task: str, counts_late: bool) -> bool:
    """Whether some operator of a chain does; one that names another time does not."""
    if waits_for_event_time(task):
        return True
    return counts_late and not _OTHER_TIME.search(task)


def _marks(source: Row, metrics: Sequence[Row]) -> dict[int, int | None]:
    """The watermark that leaves each subtask: operators of its chain before the one that assigns watermarks tell none.

    A source that has ended is left out.
    """
    marks: dict[int, list[int | None]] = {}
    for row in metrics:
        if row["vertex"] == source["vertex"] and row["name"] == _MARK and (row["exact"] is None or row["exact"] < _ENDED):
            marks.setdefault(row["subtask"], []).append(watermark(row["exact"]))
    return {subtask: max((f for f in found if f is not None), default=None) for subtask, found in marks.items()}


def _settled(source: Row, subtasks: Sequence[Row]) -> bool:
    """The readers run long enough to have read something."""
    own = [row for row in subtasks if row["vertex"] == source["vertex"]]
    starts = [row["started_at"] for row in own if row["started_at"] is not None]
    running = all(row["status"] == "RUNNING" for row in own)
    return bool(starts) and running and (source["captured_at"] - max(starts)).total_seconds() >= _SETTLED_SECONDS


def _splits(source: Row, look: Tables, subtask: int) -> dict[tuple[str, int], int | None]:
    """Position of each split of a reader; None = it never gave a record."""
    return {
        (row["topic"], row["partition"]): row["exact"] if (row["exact"] or -1) >= 0 else None
        for row in look["metrics"]
        if row["name"] == "currentOffset" and row["vertex"] == source["vertex"] and row["subtask"] == subtask and row["topic"]
    }


def _why(source: Row, look: Tables, subtask: int) -> str:
    splits = _splits(source, look, subtask)
    of_kafka = any(row["name"] == "currentOffset" and row["vertex"] == source["vertex"] for row in look["metrics"])
    if not splits and of_kafka:
        return "reader-without-split"
    if any(at is None for at in splits.values()) or not _rate(source, look, subtask):
        return "idle-split"
    return "behind"


def _rate(source: Row, look: Tables, subtask: int) -> float | None:
    own = (r for r in look["metrics"] if r["vertex"] == source["vertex"] and r["subtask"] == subtask and r["operator"] is None)
    rates = [r["value"] for r in own if r["name"] == "numRecordsOutPerSecond" and r["value"] is not None]
    return max(rates, default=None)


def _row(
    source: Row, look: Tables, subtask: int, reason: str, mark: int | None, furthest: int | None, least: int | None, held: int | None
) -> Row:
    silent = sorted(place for place, at in _splits(source, look, subtask).items() if at is None)
    known: Row = next((s for s in look["subtasks"] if (s["vertex"], s["subtask"]) == (source["vertex"], subtask)), {})
    late = [r["value"] for r in look["metrics"] if r["name"] == "numLateRecordsDropped" and r["value"] is not None]
    drift = [
        r["value"]
        for r in look["metrics"]
        if r["name"] == "watermarkAlignmentDrift" and (r["vertex"], r["subtask"]) == (source["vertex"], subtask)
    ]
    completed = (c["last_ack_at"] for c in look["checkpoints"] if c["status"] == "COMPLETED")
    one = silent[0] if len(silent) == 1 and reason == "idle-split" else (None, None)
    values: dict[str, Any] = {
        **{name: source[name] for name in ("scope", "as_of", "job", "vertex", "task", "parallelism", "captured_at")},
        "subtask": subtask,
        "reason": reason,
        "topic": one[0],
        "partition": one[1],
        "partitions": [f"{topic}-{partition}" for topic, partition in silent],
        "watermark": mark,
        "others": furthest,
        "downstream": least,
        "held_seconds": held,
        "records_per_second": _rate(source, look, subtask),
        "late_records": sum(late) if late else None,
        # a silent split is nobody's habit: who keys by something behind an assigned watermark may well wait for it with a timer
        "event_time": _event_time(source, look) or (_keyed(source, look) if reason == "idle-split" else []),
        "drift_ms": drift[0] if drift else None,
        "completed_at": max((at for at in completed if at is not None), default=None),
        "host": known.get("host"),
        "resource": known.get("resource"),
    }
    return WATERMARK_HOLDERS.row(values)
