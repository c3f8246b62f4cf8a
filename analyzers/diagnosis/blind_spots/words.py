"""What all clauses share: when an end is near, how long is long, and how many are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_NEAR_SECONDS = 60
_SAID = 2
PENDING_TIMES = 3  # as long as the longest that completed: under load one takes twice as long
PENDING_LEAST = timedelta(minutes=1)


def at_the_end(events: Sequence[Row]) -> bool:
    """Whether the last of `events` stands near the end of what was read."""
    last = max((e["at"] for e in events if e["at"]), default=None)
    end = max((e["as_of"] for e in events if e["as_of"]), default=None)
    return last is None or end is None or (end - last).total_seconds() <= _NEAR_SECONDS


def few(said: list[str], of: str) -> list[str]:
    """The first clauses, and how many more there are `of` the same."""
    return said[:_SAID] + ([f"and the same of {len(said) - _SAID} more {of}"] if len(said) > _SAID else [])
