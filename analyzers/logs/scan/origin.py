"""What is known of a file or stream before it is read, and the clock that runs along while it is."""

from __future__ import annotations

from dataclasses import dataclass, field

from analyzers.logs.layouts.timestamps import UTC_ASSUMED, Stamp, Zone
from analyzers.logs.scan.selection import EDGE_KEEP, Window


@dataclass(frozen=True)
class Origin:
    """What is known of a file or stream before it is read."""

    file: str
    order: int
    role: str | None = None
    host: str | None = None
    zone: Zone = UTC_ASSUMED
    year: int | None = None  # for stamps without a year
    newest_ms: int | None = None  # local; for stamps without a year
    date_ms: int | None = None  # local midnight of the first line, for stamps without a date
    last_date_ms: int | None = None  # the same of the last line
    since_ms: int | None = None
    until_ms: int | None = None
    inside: Window | None = None  # what lies in it is kept apart from all else
    edges: tuple[int, int] = EDGE_KEEP  # how many first and last errors are kept whatever they say


@dataclass
class Clock:
    """What the times of one stretch of lines hand on from block to block."""

    origin: Origin
    now: Stamp | None = None
    """Local time of the last header with one."""
    floats: bool = False
    """Whether some times have no day yet."""
    envelope_zone: str = "stated"
    """How the zone of the times of a wrapping is known."""
    seconds: dict[bytes, int | None] = field(default_factory=dict)
    """UTC milliseconds of stamps without their fraction; None = no day of the calendar."""
