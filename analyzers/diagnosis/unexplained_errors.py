"""Errors that no rule took for a fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyzers.logs.layouts.timestamps import LEADING_STAMP
from analyzers.logs.scan.selection import ERROR_LOGGED
from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_QUOTED = 160


def untold_errors(tables: Tables) -> list[str]:
    """Number and newest of the errors that no signature knows, and of those that no rule reported."""
    count = sum(row["events"] for row in tables.get("log_counts", ()) if row["signature"] == ERROR_LOGGED)
    events = tables.get("log_events", ())
    unknown = [e for e in events if e["signature"] == ERROR_LOGGED]
    known = {(e["scope"], e["file"], e["line"]): e for e in events if e["signature"] != ERROR_LOGGED and _is_error(e)}
    said = []
    if count and unknown:
        said.append(f"{'1 unknown error' if count == 1 else f'{count:,} unknown errors'}; {_newest(unknown)}")
    if known:
        one = len(known) == 1
        which = "1 known error, below the threshold of its rule" if one else f"{len(known):,} known errors, below the thresholds of rules"
        said.append(f"{which}; {_newest(list(known.values()))}")
    return said


def _is_error(event: Row) -> bool:
    return event["level"] in ("ERROR", "FATAL") or (event["level"] is None and bool(event["chain"]))


def _newest(events: Sequence[Row]) -> str:
    """The last of `events`: when, where, and the line that says what: of a trace without a header the exception."""
    last = max(events, key=lambda e: (e["at"] is not None, e["at"] and e["at"].timestamp(), e["seq"] or 0))
    when = f" at {last['at']:%Y-%m-%d %H:%M:%S} UTC" if last["at"] else ""
    first = LEADING_STAMP.sub("", last["text"].splitlines()[0])
    if not last["logger"] and last["chain"] and last["root_exception"] and last["root_exception"] not in first:
        first = ": ".join(each for each in (last["root_exception"], last["root_message"]) if each)
    words = " ".join(first.split())
    said = words if len(words) <= _QUOTED else words[: _QUOTED - 1] + "…"
    return f"the last{when} ({last['file']}:{last['line']}): {said}"
