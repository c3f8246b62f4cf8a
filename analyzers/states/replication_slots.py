"""Replication slots of PostgreSQL as psql prints pg_replication_slots, whichever columns were asked for; aligned or expanded (``\\x``).

Where the log ends then is what pg_current_wal_lsn() printed before or within the table, or the farthest position of any slot there.
Source: psql's aligned and expanded formats; pg_replication_slots and pg_size_pretty of PostgreSQL 10 to 18.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analyzers.logs.matching.expressions import expression
from analyzers.states import psql
from analyzers.states.clocks import Clock, clock_of
from analyzers.states.state import State, Text, Values

SHAPE = "table of replication slots"
SIGNS = (b"slot_name",)
_HEAD = expression(r"^[\s|]*(?:\w[\w. ]{0,62}\|)*\s*slot_name\s*(?:\|[\s\w.?()]{1,64}){1,30}\|?\s*$")
_RECORD = expression(r"^-\[ RECORD \d+ \][-+]*\s*$")
_LSN = expression(r"[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}")
_SIZE = expression(r"(?P<number>\d{1,15}(?:\.\d{1,6})?)\s*(?P<unit>bytes|kB|KB|MB|GB|TB|PB)")
_END = expression(r"^\s*(?:pg_current_wal_lsn|pg_current_xlog_location|pg_current_wal_flush_lsn|pg_current_wal_insert_lsn)\s*$")
_UNITS = {"bytes": 0, "kB": 10, "KB": 10, "MB": 20, "GB": 30, "TB": 40, "PB": 50}
_BOOLEAN = {"t": True, "true": True, "f": False, "false": False}
_ROOM = ("safe", "max")
"""Beginnings of names of columns that tell what is left, not what is kept."""
_LONGEST = psql.LONGEST


def read(text: Text) -> Iterator[State]:
    """Every table of slots of a text, in its order."""
    lines, clock, end, at = text.lines, Clock(), None, 0
    while at < len(lines):
        line = lines[at][:_LONGEST]
        if (found := clock_of(line)) is not None:
            clock = found
        if _END.match(line) and at + 2 < len(lines) and _LSN.fullmatch(lines[at + 2].strip()[:20]):
            end = lines[at + 2].strip()
        table = psql.table_at(lines, at) if _HEAD.match(line) or _RECORD.match(line) else None
        if table is None:
            at += 1
            continue
        rows, stop = table
        if slots := [_slot(row, end) | {"line": number} for row, number in rows if row.get("slot_name")]:
            state = State(SHAPE, at, stop, at=clock.at)
            far = max((each["end_bytes"] or each["confirmed_bytes"] or each["restart_bytes"] or 0 for each in slots), default=0) or None
            for each in slots:
                state.add("replication_slots", {**each, "end_bytes": each["end_bytes"] or far})
            yield state
        at = stop


def _slot(row: dict[str, str], end: str | None) -> Values:
    """Of one row. What is kept: the largest size that a column of a difference shows."""
    sizes = [_bytes(value) for name, value in row.items() if not name.startswith(_ROOM) and name not in ("slot_name", "database", "plugin")]
    restart, confirmed = row.get("restart_lsn"), row.get("confirmed_flush_lsn")
    here = next((value for name, value in row.items() if "current" in name and _LSN.fullmatch(value)), end)
    return {
        "slot": row["slot_name"], "plugin": row.get("plugin") or None, "database": row.get("database") or row.get("datname") or None,
        "active": _BOOLEAN.get(row.get("active", "").lower()), "wal_status": row.get("wal_status") or None,
        "restart_lsn": restart or None, "confirmed_lsn": confirmed or None, "restart_bytes": _position(restart),
        "confirmed_bytes": _position(confirmed), "end_bytes": _position(here), "kept_bytes": max(filter(None, sizes), default=None),
    }  # fmt: skip


def _bytes(value: str) -> int | None:
    found = _SIZE.fullmatch(value)
    return None if found is None else int(float(found["number"]) * (1 << _UNITS[found["unit"]]))


def _position(lsn: Any) -> int | None:
    """A log sequence number as bytes since the beginning of the log."""
    if not isinstance(lsn, str) or not _LSN.fullmatch(lsn):
        return None
    high, _, low = lsn.partition("/")
    return (int(high, 16) << 32) + int(low, 16)
