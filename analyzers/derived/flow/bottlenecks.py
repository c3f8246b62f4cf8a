"""Which vertex keeps the sources waiting while checkpoints complete: too slow as a whole, or in a few subtasks that get most records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from statistics import mean, median
from typing import Any

from analyzers.derived.checkpoints.barrier_frontier import PRESSED
from analyzers.derived.checkpoints.stuck_checkpoint import stuck_checkpoint
from analyzers.tables import BOTTLENECKS, Row
from analyzers.tables.snapshots import newest_looks

Tables = Mapping[str, Sequence[Row]]

FULL = 0.9
"""Busy share from which a subtask has nothing left to give."""
_SPARE = 0.6
_SKEWED = 3.0
_SETTLED_SECONDS = 60
"""A job that has just begun catches up, and busy shares are means over a minute."""
_READ = ("vertices", "subtasks", "checkpoints", "metrics")


def bottlenecks(tables: Tables) -> list[Row]:
    """Rows of ``bottlenecks``: where sources are back-pressured, the first vertices downstream that are busy and not pressed."""
    pending = _pending(tables.get("metrics", ()))
    out: list[Row] = []
    for key, look in newest_looks({name: tables.get(name, ()) for name in _READ}, "vertices").items():
        completes = any(c["status"] == "COMPLETED" for c in look["checkpoints"]) and stuck_checkpoint(look["checkpoints"], {}) is None
        if completes:
            out.extend(_of_job(look, pending.get(key, {})))
    return out


def has_shares(tables: Tables) -> bool:
    """Whether a JobManager told how busy or back-pressured any subtask is."""
    return any(row["busy"] is not None or row["backpressured"] is not None for row in tables.get("subtasks", ()))


def _of_job(look: Tables, pending: Mapping[datetime, int]) -> list[Row]:
    subtasks: dict[str, list[Row]] = defaultdict(list)
    for row in look["subtasks"]:
        subtasks[row["vertex"]].append(row)
    vertices = {v["vertex"]: v for v in look["vertices"]}
    behind: dict[str, list[str]] = defaultdict(list)
    for vertex in look["vertices"]:
        for before in vertex["inputs"] or ():
            behind[before].append(vertex["vertex"])
    pressed = [
        v for v, row in vertices.items() if not row["inputs"] and _settled(subtasks[v]) and _mean(subtasks[v], "backpressured") >= PRESSED
    ]
    found: dict[str, list[str]] = defaultdict(list)
    for source in pressed:
        for slow in _first_busy(source, behind, subtasks):
            found[slow].append(source)
    rows = (_row(vertices[slow], sources, vertices, subtasks, look, pending) for slow, sources in found.items())
    return [row for row in rows if row is not None]


def _settled(rows: Sequence[Row]) -> bool:
    return bool(rows) and all(
        row["status"] == "RUNNING" and row["started_at"] and (row["captured_at"] - row["started_at"]).total_seconds() >= _SETTLED_SECONDS
        for row in rows
    )


def _mean(rows: Iterable[Row], column: str) -> float:
    values = [row[column] for row in rows if row[column] is not None]
    return mean(values) if values else 0.0


def _full(rows: Iterable[Row]) -> list[Row]:
    return [r for r in rows if r["busy"] is not None and r["busy"] >= FULL and (r["backpressured"] or 0.0) < PRESSED]


def _first_busy(source: str, behind: Mapping[str, list[str]], subtasks: Mapping[str, list[Row]]) -> list[str]:
    seen, level = {source}, list(dict.fromkeys(behind.get(source, ())))  # two ways lead to one vertex: it counts once
    while level:
        busy = [v for v in level if _full(subtasks.get(v, ()))]
        if busy:
            return busy
        seen.update(level)
        level = list(dict.fromkeys(n for v in level for n in behind.get(v, ()) if n not in seen))
    return []


def _row(
    vertex: Row, sources: list[str], vertices: Mapping[str, Row], subtasks: Mapping[str, list[Row]], look: Tables,
    pending: Mapping[datetime, int],
) -> Row | None:  # fmt: skip
    own = subtasks[vertex["vertex"]]
    full = _full(own)
    rest = [row for row in own if row not in full]
    read = [row["records_in"] or 0 for row in own]
    share = sum(row["records_in"] or 0 for row in full) / sum(read) if sum(read) else None
    if not rest:
        reason = "overload"
    elif _mean(rest, "busy") <= _SPARE and max(row["records_in"] or 0 for row in full) >= _SKEWED * max(1, median(read)):
        reason = "skew"
    else:
        return None
    looks = sorted(pending)
    times = [c["last_ack_at"] for c in look["checkpoints"] if c["status"] == "COMPLETED" and c["last_ack_at"]]
    rates = [
        m["value"]
        for m in look["metrics"]
        if m["vertex"] in sources and m["operator"] is None and m["name"] == "numRecordsOutPerSecond" and m["value"] is not None
    ]
    if sum(rates) < 1:
        looks = []  # a reader that stands still does not renew what it says of waiting records: 0 may be thousands
    values: dict[str, Any] = {
        **{name: vertex[name] for name in ("scope", "as_of", "job", "vertex", "task", "parallelism", "captured_at")},
        "reason": reason,
        "subtasks": [str(row["subtask"]) for row in full],
        "busy": mean(row["busy"] for row in full),
        "share": share,
        "sources": [vertices[v]["task"] for v in sources],
        "waiting": mean(_mean(subtasks[v], "backpressured") for v in sources),
        "pending_records": pending[looks[-1]] if looks else None,
        "records_per_second": sum(rates) if rates else None,
        "grew_records": pending[looks[-1]] - pending[looks[0]] if len(looks) > 1 else None,
        "grew_seconds": (looks[-1] - looks[0]).total_seconds() if len(looks) > 1 else None,
        "completed_at": max(times, default=None),
    }
    return BOTTLENECKS.row(values)


def _pending(metrics: Sequence[Row]) -> dict[tuple[str, str | None], dict[datetime, int]]:
    """Records that the sources have not read yet, per job and look."""
    out: dict[tuple[str, str | None], dict[datetime, int]] = defaultdict(dict)
    for row in metrics:
        if row["name"] == "pendingRecords" and row["exact"] is not None and row["exact"] >= 0 and row["as_of"] is not None:
            looks = out[row["scope"], row["job"]]
            looks[row["as_of"]] = looks.get(row["as_of"], 0) + row["exact"]
    return out
