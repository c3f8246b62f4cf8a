"""Lengths of time, numbers and lists in words, the same in findings and reports."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta


def span(length: timedelta) -> str:
    """A duration in at most two units: 45 s, 1 min 56 s, 12 min, 3 h 20 min, 4 d 2 h."""
    seconds = round(length.total_seconds())
    if seconds < 90:
        return f"{seconds} s"
    minutes, rest = divmod(seconds, 60)
    if minutes < 10 and rest:
        return f"{minutes} min {rest} s"
    if minutes < 90:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def few(names: Sequence[str], most: int = 3) -> str:
    """``a, b, c and 4 more``."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 rule``, ``14 rules``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
