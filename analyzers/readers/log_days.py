"""On which day a log was written whose lines have a time and no date, and how that is known.

From the surest to the least: a line states its moment as an epoch; the file's name holds a date; the file was changed when its last line
says; dated logs beside it end about then; it ends before it was saved. Where none of these holds, its times stay unknown: a wrong day
would order its lines wrongly among those of other logs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from analyzers.logs.layouts.timestamps import DAY, MINUTE, Zone, midnight

_AT_ONCE = 2 * MINUTE  # between the last line and the change of its file
_TOGETHER = 120 * MINUTE  # logs of one incident end within it
_SAVED_SINCE = 946_684_800_000  # 2000-01-01: an archive without times of its members says 1970 or 1980
_NAMED = re.compile(r"(?<!\d)(20\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)(?!\d)")


class Written(NamedTuple):
    """What is known of one log. Milliseconds; `dateless`: its lines have times without dates, and nothing around them says when.

    `last`: UTC of its last line with a date; `last_clock`: time of day of its last line; both None where the end was not looked at.
    """

    name: str
    zone: Zone
    dateless: bool
    dated_line: tuple[int, int] | None
    last: int | None
    last_clock: int | None
    saved: int
    midnights: int | None = None
    """Between its first and its last line; None where not all of it was looked at."""


class Days(NamedTuple):
    """Local midnights before the first or last line, milliseconds; None: not known."""

    first: int | None = None
    last: int | None = None


def days_of(logs: Sequence[Written]) -> tuple[list[Days], list[str]]:
    """The days of logs that lie together, and notes for the report on what was taken for granted."""
    days = [_own(log) for log in logs]
    unknown = [number for number, log in enumerate(logs) if log.dateless and days[number] == Days()]
    ends = [log.last for log in logs if log.last is not None]
    ends += [end for log, day in zip(logs, days, strict=True) if (end := _end(log, day)) is not None]
    found: dict[int, int] = {}
    how = "taken as those of the logs beside, which end then"
    if ends:
        found = _beside(logs, unknown, max(ends))
    elif all(day == Days() for day in days):
        found, how = _before_saved(logs, unknown), "taken as written just before the file was saved"
    for number, day in found.items():
        days[number] = Days(last=day)
    notes = [_note(len(found), how)] if found else []
    if len(unknown) > len(found):
        notes.append(_note(len(unknown) - len(found), "on which day is not known, so how long something took is not judged there"))
    return days, notes


def _note(logs: int, what: str) -> str:
    return f"{'1 log file has' if logs == 1 else f'{logs} log files have'} times without dates: {what}"


def _own(log: Written) -> Days:
    """What the log itself proves."""
    if not log.dateless:
        return Days()
    if log.dated_line is not None:
        midnights, epoch = log.dated_line
        local = epoch + log.zone.minutes_at(epoch) * MINUTE
        return Days(first=local // DAY * DAY - midnights * DAY)
    date = _NAMED.search(os.path.basename(log.name))
    if date is not None and (named := midnight(int(date[1]), int(date[2]), int(date[3]))) is not None:
        return Days(first=named)
    if log.last_clock is not None and abs(_near(log.saved, log.last_clock) - log.saved) < _AT_ONCE:
        return Days(last=_near(log.saved, log.last_clock) // DAY * DAY)
    return Days()


def _near(moment: int, clock: int) -> int:
    """The moment nearest to `moment` at which a clock shows `clock`."""
    return moment + (clock - moment + DAY // 2) % DAY - DAY // 2


def _end(log: Written, day: Days) -> int | None:
    """UTC of the last line, where its day is known."""
    before = day.last if day.first is None or log.midnights is None else day.first + log.midnights * DAY
    return None if log.last_clock is None or before is None else log.zone.utc(before + log.last_clock)


def _beside(logs: Sequence[Written], numbers: Iterable[int], newest: int) -> dict[int, int]:
    """Local midnights of logs that end when others do, of which the last does so at `newest`."""
    found: dict[int, int] = {}
    for number in numbers:
        zone, clock = logs[number].zone, logs[number].last_clock
        local = newest + zone.minutes_at(newest) * MINUTE
        if clock is not None and abs(_near(local, clock) - local) <= _TOGETHER:
            found[number] = _near(local, clock) // DAY * DAY
    return found


def _before_saved(logs: Sequence[Written], numbers: Sequence[int]) -> dict[int, int]:
    """Local midnights of logs where nothing else has a date, if they end together: each ends before it was saved."""
    found: dict[int, int] = {}
    ends = []
    for number in numbers:
        log = logs[number]
        if log.last_clock is None or log.saved < _SAVED_SINCE:
            return {}
        saved = log.saved + log.zone.minutes_at(log.saved) * MINUTE + _AT_ONCE
        ends.append(saved - (saved - log.last_clock) % DAY)
        found[number] = ends[-1] // DAY * DAY
    return found if ends and max(ends) - min(ends) <= _TOGETHER else {}
