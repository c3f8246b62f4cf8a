"""Time stamps of log lines: text to milliseconds, zones, and the zone that a line with an epoch betrays.

All functions are pure. Milliseconds are since 1970-01-01; ``stated`` says whether the text itself names its zone (or is an epoch).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from analyzers.logs.matching.expressions import expression

ZoneKind = Literal["stated", "option", "inferred", "assumed-utc", "unknown"]
MINUTE = 60_000
DAY = 86_400_000
FLOATING = 3650 * DAY  # times below this count from the midnight before a file's first line, whose date is not known yet
AGREEING = 0.9  # of the lines that betray a zone; old epochs (a checkpoint of yesterday, a replayed line) betray another one
QUARTER = 15 * MINUTE  # every civil time zone is a multiple of this away from UTC
OFFSETS = frozenset(
    int(hours * 60) * MINUTE for hours in (*range(-12, 15), -9.5, -3.5, -2.5, 3.5, 4.5, 5.5, 5.75, 6.5, 8.75, 9.5, 10.5, 12.75, 13.75)
)
"""Offsets of civil clocks, summer time included (IANA tz database)."""
_NO_OFFSET = 1

_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=timezone.utc)
_MONTHS = {name: n for n, name in enumerate(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)}

# A line that states the same moment twice: in its header (local) and as an epoch in the message.
# Sources: CheckpointCoordinator (Flink), AppInfoParser (Kafka).
EPOCH_IN_MESSAGE = expression(rb"Triggering checkpoint \d+ (?:\(type=[^\n]*?\) )?@ (\d{13}) for job|Kafka startTimeMs: (\d{13})\b")


class Stamp(NamedTuple):
    """Milliseconds, and whether the zone was stated (else they are local time counted as if it were UTC)."""

    ms: int
    stated: bool


@dataclass(frozen=True)
class Zone:
    """How local times of a file become UTC: a fixed offset, or an IANA zone."""

    kind: ZoneKind = "assumed-utc"
    offset_ms: int = 0
    name: str | None = None

    def utc(self, local_ms: int) -> int:
        """UTC milliseconds of a local time; of an ambiguous one (DST) always the earlier reading, so that order is deterministic."""
        if self.name is None:
            return local_ms - self.offset_ms
        local = (_EPOCH + timedelta(milliseconds=local_ms)).replace(tzinfo=_zone_info(self.name), fold=0)
        offset = local.utcoffset()
        return local_ms - int(offset.total_seconds() * 1000) if offset is not None else local_ms

    def minutes_at(self, utc_ms: int) -> int:
        """Minutes that its clocks are ahead of UTC at that time."""
        if self.name is None:
            return self.offset_ms // MINUTE
        offset = (_EPOCH_UTC + timedelta(milliseconds=utc_ms)).astimezone(_zone_info(self.name)).utcoffset()
        return int(offset.total_seconds()) // 60 if offset is not None else 0


UTC_ASSUMED = Zone()


@lru_cache(maxsize=32)
def _zone_info(name: str) -> ZoneInfo:
    return ZoneInfo(name)


_LONGEST_NAME = 64
_LARGEST_OFFSET = 18 * 60 * MINUTE  # java.time.ZoneOffset.MAX


def zone_from_option(text: str) -> Zone:
    """The zone that ``--log-timezone`` names: an IANA name, ``UTC``, ``Z`` or an offset. Raises ``ValueError`` with a sentence."""
    plain = text.strip()
    if plain.upper() in ("Z", "UTC", "GMT"):
        return Zone("option")
    offset = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", plain)
    if offset:
        ms = (int(offset[2]) * 60 + int(offset[3] or 0)) * MINUTE
        if ms > _LARGEST_OFFSET:
            raise ValueError(f"'{text}' is no time zone: no offset is larger than 18 hours")
        return Zone("option", ms if offset[1] == "+" else -ms)
    try:
        if len(plain) > _LONGEST_NAME:  # zoneinfo imports a package for each part of it
            raise ValueError
        _zone_info(plain)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(f"'{text}' is no time zone: give an IANA name (Europe/Berlin) or an offset (+02:00)") from error
    return Zone("option", 0, plain)


def to_datetime(ms: int | None) -> datetime | None:
    """An aware UTC datetime with millisecond precision; None where there is none or it lies outside of the calendar."""
    if ms is None:
        return None
    try:
        return _EPOCH_UTC + timedelta(milliseconds=ms)
    except OverflowError:
        return None


def to_ms(moment: datetime | None) -> int | None:
    """UTC milliseconds of an aware datetime; None where there is none."""
    return None if moment is None else int(moment.timestamp() * 1000)


@lru_cache(maxsize=4096)
def midnight(year: int, month: int, day: int) -> int | None:
    """Local milliseconds of the midnight before a day; None if it is no day of the calendar."""
    try:
        return int((datetime(year, month, day) - _EPOCH).total_seconds()) * 1000
    except ValueError:
        return None


def clock_ms(hour: int, minute: int, second: int, fraction: str | None) -> int | None:
    """Milliseconds of a day; the fraction (1 to 9 digits) is cut, not rounded. A leap second counts as the second before it."""
    if hour > 23 or minute > 59 or second > 60:
        return None
    return ((hour * 60 + minute) * 60 + min(second, 59)) * 1000 + (int((fraction + "00")[:3]) if fraction else 0)


_CLOCK = expression(r"(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")


def time_of_day(text: str) -> int | None:
    """Milliseconds of ``09:41:12.108``; None where no clock shows that."""
    m = _CLOCK.fullmatch(text)
    return clock_ms(int(m[1]), int(m[2]), int(m[3]), m[4]) if m else None


def run_on(before: int, clock: int) -> int:
    """Local milliseconds of a line with this time of day that follows one at `before`: a jump of half a day back is midnight."""
    local = before // DAY * DAY + clock
    return local + (DAY if local < before - DAY // 2 else -DAY if local > before + DAY // 2 and local >= DAY else 0)


def offset_ms(text: str | None) -> int | None:
    """``Z``, ``UTC``, ``+02:00``, ``-0500``, ``+02``: milliseconds east of UTC; None for no text."""
    if not text:
        return None
    if text[0] in "ZUG":
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    ms = (int(digits[:2]) * 60 + int(digits[2:4])) * MINUTE
    return ms if text[0] == "+" else -ms


ISO = r"\d{4}[-/.]\d\d[-/.]\d\d[ T]\d\d:\d\d:\d\d(?:[.,:]\d{1,9})?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)(?=[\s\]|:,;-]|$))?"
_ISO = expression(r"(\d{4})[-/.](\d\d)[-/.](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,:](\d{1,9}))? ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?$")
SHORT = r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_SHORT = expression(r"(\d\d)/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?$")
LEADING_STAMP = expression(rf"\A\[?({ISO}|{SHORT})\]?")
# day and month by name, in the orders that occur:
# "Nov 21, 2026 @ 09:32:59.991" (Kibana), "21-Nov-2026 09:32:59.991", "Nov 21, 2026 9:32:59 AM",
# "Sun Dec 04 04:47:44 2005", "21/Nov/2026:09:32:59 +0000"
_DAY_FIRST = expression(
    r"(\d{1,2})[-/ ]([A-Za-z]{3})[a-z]*[-/ ](\d{4})[ :](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))? ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?$"
)
_MONTH_FIRST = expression(r"([A-Za-z]{3})[a-z]* (\d{1,2}), (\d{4}),?(?: @)? (\d{1,2}):(\d\d):(\d\d)(?:[.,](\d{1,9}))? ?([AaPp][Mm])?$")
_CTIME = expression(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? (?:([A-Z]{3,4}) )?(\d{4})$")
_KLOG = expression(r"(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{1,9})$")
_SYSLOG = expression(r"([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?$")
_SECONDS = expression(r"(\d{9,10})(?:[.,](\d{1,9}))?$")
_MILLIS = expression(r"(\d{13})$")


def _stamp(day: int | None, clock: int | None, zone: str | None) -> Stamp | None:
    if day is None or clock is None:
        return None
    offset = offset_ms(zone)
    return Stamp(day + clock, False) if offset is None else Stamp(day + clock - offset, True)


def parse(text: str, year: int | None = None, newest_ms: int | None = None) -> Stamp | None:
    """The stamp of a whole time text (any form of this module); None if it is none or no day of the calendar.

    `year` and `newest_ms` (local milliseconds, e.g. of the file's last change) serve texts without a year: the year is the
    latest one that does not lie more than a day after `newest_ms`.
    """
    if m := _ISO.match(text):
        return _stamp(midnight(int(m[1]), int(m[2]), int(m[3])), clock_ms(int(m[4]), int(m[5]), int(m[6]), m[7]), m[8])
    if m := _SHORT.match(text):
        short_year = int(m[1])
        return _stamp(
            midnight(short_year + (2000 if short_year < 70 else 1900), int(m[2]), int(m[3])),
            clock_ms(int(m[4]), int(m[5]), int(m[6]), m[7]),
            None,
        )
    return _parse_rare(text, year, newest_ms)


def _parse_rare(text: str, year: int | None, newest_ms: int | None) -> Stamp | None:
    if m := _MILLIS.match(text):
        return Stamp(int(m[1]), True)
    if m := _SECONDS.match(text):
        return Stamp(int(m[1]) * 1000 + int(((m[2] or "") + "000")[:3]), True)
    if m := _DAY_FIRST.match(text):
        return _stamp(midnight(int(m[3]), _month(m[2]), int(m[1])), clock_ms(int(m[4]), int(m[5]), int(m[6]), m[7]), m[8])
    if m := _MONTH_FIRST.match(text):
        hour = int(m[4])
        if m[8]:
            hour = hour % 12 + (12 if m[8].lower() == "pm" else 0)
        return _stamp(midnight(int(m[3]), _month(m[1]), int(m[2])), clock_ms(hour, int(m[5]), int(m[6]), m[7]), None)
    if m := _CTIME.match(text):
        zone = m[7] if m[7] in ("UTC", "GMT") else None
        return _stamp(midnight(int(m[8]), _month(m[1]), int(m[2])), clock_ms(int(m[3]), int(m[4]), int(m[5]), m[6]), zone)
    if m := _KLOG.match(text):
        return _yearless(int(m[1]), int(m[2]), clock_ms(int(m[3]), int(m[4]), int(m[5]), m[6]), year, newest_ms)
    if m := _SYSLOG.match(text):
        return _yearless(_month(m[1]), int(m[2]), clock_ms(int(m[3]), int(m[4]), int(m[5]), m[6]), year, newest_ms)
    return None


def _month(name: str) -> int:
    return _MONTHS.get(name[:3].lower(), 0)


def _yearless(month: int, day: int, clock: int | None, year: int | None, newest_ms: int | None) -> Stamp | None:
    if year is None or clock is None:
        return None
    this = midnight(year, month, day)
    if newest_ms is not None and (this is None or this + clock > newest_ms + DAY):
        this = midnight(year - 1, month, day)  # December lines of a file that was last written in January
    return None if this is None else Stamp(this + clock, False)


def infer_offset(pairs: Iterable[tuple[int, int]]) -> int | None:
    """The offset (ms east of UTC) in which the (local, epoch) pairs agree; None where they do not, or where no clock on earth has it.

    A line is printed a moment after the epoch it carries, so the difference is rounded to the quarter hour and must be near it.
    """
    votes: Counter[int] = Counter()
    for local, epoch in pairs:
        rounded = round((local - epoch) / QUARTER) * QUARTER
        if rounded in OFFSETS and abs(local - epoch - rounded) <= 2 * MINUTE:
            votes[rounded] += 1
        else:
            votes[_NO_OFFSET] += 1
    offset, agree = min(votes.items(), key=lambda item: (-item[1], abs(item[0]), item[0]), default=(_NO_OFFSET, 0))
    return offset if offset != _NO_OFFSET and agree >= AGREEING * votes.total() else None
