"""What all open ends share: when an end is near, how long is long, and how a row of them is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from analyzers.tables import OPEN_ENDS, Row

Tables = Mapping[str, Sequence[Row]]

_NEAR_SECONDS = 60
PENDING_TIMES = 3  # as long as the longest that completed: under load one takes twice as long
PENDING_LEAST = timedelta(minutes=1)


def at_the_end(events: Sequence[Row]) -> bool:
    """Whether the last of `events` stands near the end of what was read."""
    last = max((e["at"] for e in events if e["at"]), default=None)
    end = max((e["as_of"] for e in events if e["as_of"]), default=None)
    return last is None or end is None or (end - last).total_seconds() <= _NEAR_SECONDS


def open_end(kind: str, shown_by: Row, **known: Any) -> Row:
    """A row of ``open_ends``: what `kind` of thing is open, as the row of an event or fault `shown_by` shows it."""
    place = {name: shown_by.get(name) for name in ("scope", "as_of", "job", "at", "file", "line", "text")}
    lasted = known.pop("lasted", None)
    return OPEN_ENDS.row({**place, "kind": kind, "lasted_seconds": lasted and lasted.total_seconds(), **known})


def last_of(events: Sequence[Row]) -> Row:
    """The newest of `events`, which are in the order of their table where they have no time."""
    return max(enumerate(events), key=lambda each: (each[1]["at"] or datetime.min.replace(tzinfo=_zone(events)), each[0]))[1]


def _zone(events: Sequence[Row]) -> Any:
    return next((event["at"].tzinfo for event in events if event["at"]), None)
