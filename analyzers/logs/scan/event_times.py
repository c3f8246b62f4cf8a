"""When events happened: times of one stretch of lines, parsed only where somebody asks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from analyzers.logs.layouts.layouts import dated_time
from analyzers.logs.layouts.timestamps import FLOATING, Stamp, parse, run_on, time_of_day
from analyzers.logs.matching.expressions import expression
from analyzers.logs.scan.lines import DATED, DATELESS, RARE_DATED, Ints
from analyzers.logs.scan.origin import Clock
from analyzers.logs.scan.selection import FilePart

if TYPE_CHECKING:
    from analyzers.logs.scan.blocks import Block

Bools = npt.NDArray[np.bool_]

NO_TIME = np.iinfo(np.int64).min
_BEHIND_SECOND = expression(rb"(?:[.,:](\d{1,9}))?( ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)(?=[\s\]|:,;-]|$))?")  # as in `timestamps.ISO`
_LOOKED_AT = 64  # of the beginning of a line
_ZONE_STARTS = (b"Z", b"U", b"G", b"+", b"-", b"")
_SECONDS_KEPT = 4096
_ZONE_BYTES = np.zeros(256, bool)
_ZONE_BYTES[[ord(c) for c in "ZUG+-"]] = True
# of a stamp: where a two-digit year has its slash, the fraction, what follows, the second, that of a short one, what is before the hour
_PLAIN_COLUMNS = np.array([2, 19, 20, 21, 22, 23, 24, 17, 18, 15, 16, 10])
_LOCAL, _STATED, _BESIDE = range(3)  # how the zone of a stamp is known: as all of the file, by the stamp, by the time of a wrapping
_QUARTER = 900_000  # of an hour, in milliseconds: zones differ by so much
_PLAIN_WIDTH = 25
_SECOND = len("yyyy-MM-dd HH:mm:ss")
_STAMP, _SHORT_STAMP = len("yyyy-MM-dd HH:mm:ss,SSS"), len("yy/MM/dd HH:mm:ss")
BRACKET, SHORT = 1, 2  # how a stamp is written
_DECIMALS = np.array([100, 10, 1])
_TENS = np.array([10, 1])


def _beside(local_ms: int, envelope: int) -> int:
    """UTC milliseconds of a local time, by the time of the wrapping around it."""
    return local_ms - round((local_ms - envelope) / _QUARTER) * _QUARTER


class EventTimes:
    """Times of the events of one stretch of lines, parsed only where somebody asks."""

    def __init__(self, clock: Clock, block: Block, begins: Ints) -> None:
        self._clock, self._block, self._begins = clock, block, begins
        kinds = block.kinds[begins]
        self._timed = begins[(kinds == DATED) | (kinds == RARE_DATED)]
        self._floating: dict[int, Stamp] = {}
        self._cache: dict[int, tuple[int | None, str]] = {}
        self.zone: str = clock.origin.zone.kind  # of the times that `plain` gave
        dateless = begins[kinds == DATELESS]
        if len(dateless):
            self._run_clock(dateless.tolist())

    def _run_clock(self, dateless: list[int]) -> None:
        """Gives each time without a date the day that follows from the line before it: a jump of half a day back is midnight."""
        clock = self._clock.now
        seen = -1
        for line in dateless:
            header = self._block.headers[line]
            before = int(np.searchsorted(self._timed, line)) - 1
            if before > seen:
                clock, seen = self._stamp(int(self._timed[before])), before
            ms = time_of_day(header.time) if header.time else None
            if ms is None:
                continue
            local = ms + (self._clock.origin.date_ms or 0) if clock is None else run_on(clock.ms, ms)
            clock = self._floating[line] = Stamp(local, False if clock is None else clock.stated)

    def _header_time(self, line: int) -> str | None:
        header = self._block.headers.get(line)
        if header is not None:
            return header.time
        start = int(self._block.starts[line])
        return dated_time(self._block.text[start : min(int(self._block.ends[line]), start + 64)].decode("utf-8", "replace"))

    def _stamp(self, line: int) -> Stamp | None:
        if line in self._floating:
            return self._floating[line]
        if self._block.kinds[line] not in (DATED, RARE_DATED):
            return None
        text = self._header_time(line)
        return parse(text, self._clock.origin.year, self._clock.origin.newest_ms) if text else None

    def _before(self, line: int) -> Stamp | None:
        """Of the nearest header with a time above `line`."""
        at = int(np.searchsorted(self._timed, line)) - 1
        above = int(self._timed[at]) if at >= 0 else -1
        floating = max((n for n in self._floating if above < n < line), default=-1)
        if floating >= 0:
            return self._floating[floating]
        return self._stamp(above) if above >= 0 else self._clock.now

    def of(self, line: int) -> tuple[int | None, str]:
        """UTC milliseconds of the event at `line` (without any date: since midnight of the first line), and how the zone is known."""
        found = self._cache.get(line)
        if found is None:
            found = self._cache[line] = self._of(line)
        return found

    def plain(self, lines: Ints) -> tuple[list[int | None], list[int], list[int]]:
        """Of the events at `lines`: UTC milliseconds where the stamp is a full date, or `yy/MM/dd HH:mm:ss` (None: ask `of`), the offset
        behind the stamp but before its zone, and how it is written (BRACKET, SHORT). The zones of all are known in the same way:
        `self.zone`. Stamps `yyyy-MM-dd HH:mm:ss,SSS` and `yyyy-MM-ddTHH:mm:ss.SSSZ` are looked at together, for a tenth of what one after
        the other costs; others with a fraction or an offset of their own one by one, for a third.
        """
        block, text = self._block, self._block.text
        data = np.frombuffer(text, np.uint8)
        starts = block.starts[lines]
        bracketed = (data[starts] == 91).astype(np.int64)
        at, written = starts + bracketed, bracketed * BRACKET
        good = (block.kinds[lines] == DATED) & (at + _PLAIN_WIDTH <= len(data))
        found: list[int | None] = [None] * len(lines)
        after = at + _STAMP
        chosen = np.flatnonzero(good)
        if len(chosen):
            heads = data[at[chosen][:, None] + _PLAIN_COLUMNS]
            behind, short = heads[:, 5], heads[:, 0] == 47
            fraction = (heads[:, 1] == 44) | (heads[:, 1] == 46)
            full = ~short & fraction & ((heads[:, 2:5] - 48) <= 9).all(axis=1)
            stated = full & (behind == 90) & (heads[:, 6] == 32) & (heads[:, 11] == 84)  # its Z counts as part of what stands behind it
            fits = stated | (full & ((behind == 93) | ((behind == 32) & ~_ZONE_BYTES[heads[:, 6]])))
            seconds = (heads[:, 7:9].astype(np.int64) - 48) @ _TENS
            millis = (heads[:, 2:5].astype(np.int64) - 48) @ _DECIMALS
            if short.any():
                fits |= short & (heads[:, 7] != 44) & (heads[:, 7] != 46)
                seconds[short] = (heads[short, 9:11].astype(np.int64) - 48) @ _TENS
                millis[short] = 0
                after[chosen[short]] -= _STAMP - _SHORT_STAMP
                written[chosen[short]] += SHORT
            fits &= seconds <= 60
            millis += np.minimum(seconds, 59) * 1000
            envelopes = block.times[lines[chosen]]
            way, fits = self._of_one_zone(fits, stated, envelopes)
            widths = np.where(short, _SHORT_STAMP - 3, _STAMP - 7)
            minutes: dict[bytes, int | None] = {}
            for number, ms, offset, width, envelope in zip(
                *(column[fits].tolist() for column in (chosen, millis, at[chosen], widths, envelopes)), strict=True
            ):
                stamp = text[offset : offset + width]
                if stamp not in minutes:
                    minutes[stamp] = self._second(stamp + (b":00" if way == _LOCAL else b":00Z"))
                minute = minutes[stamp]
                if minute is not None:
                    found[number] = _beside(minute + ms, envelope) if way == _BESIDE else minute + ms
            unusual = chosen[~short & ~fits]
            if len(unusual):
                self._unusual(unusual.tolist(), at, lines, found, after, way if fits.any() else self._way_of(unusual, at, lines))
        return found, after.tolist(), written.tolist()

    def _behind_second(self, at: int) -> re.Match[bytes] | None:
        return _BEHIND_SECOND.match(self._block.text, at + _SECOND, at + _LOOKED_AT)

    def _way_of(self, numbers: Ints, at: Ints, lines: Ints) -> int:
        """How the times of events without any usual stamp know their zone, as the first of them shows."""
        m = self._behind_second(int(at[numbers[0]]))
        if m is not None and m[2]:
            self.zone = "stated"
            return _STATED
        beside = self._infers and self._block.times[lines[numbers[0]]] != NO_TIME
        self.zone = "inferred" if beside else self._clock.origin.zone.kind
        return _BESIDE if beside else _LOCAL

    def _unusual(self, numbers: list[int], at: Ints, lines: Ints, found: list[int | None], after: Ints, way: int) -> None:
        """Fills in, one by one, those of `numbers` whose stamp is a full date with any fraction, and whose zone is known in that `way`."""
        text, envelopes = self._block.text, self._block.times
        for number in numbers:
            start = int(at[number])
            m = self._behind_second(start)
            envelope = int(envelopes[lines[number]])
            if m is None or way != (_STATED if m[2] else _BESIDE if envelope != NO_TIME and self._infers else _LOCAL):
                continue
            second = self._second(text[start : start + _SECOND] + (m[2] or (b"" if way == _LOCAL else b"Z")))
            if second is None:
                continue
            ms = second + int((m[1] + b"00")[:3]) if m[1] else second
            found[number] = _beside(ms, envelope) if way == _BESIDE else ms
            after[number] = m.end(1) if m[1] else start + _SECOND

    def _of_one_zone(self, fits: Bools, stated: Bools, envelopes: Ints) -> tuple[int, Bools]:
        """How most of the times know their zone, and which do so."""
        beside = ~stated & (envelopes != NO_TIME) & self._infers
        ways = {_LOCAL: ~stated & ~beside, _STATED: stated, _BESIDE: beside}
        most = max(ways, key=lambda way: int(np.count_nonzero(ways[way] & fits)))
        self.zone = self._clock.origin.zone.kind if most == _LOCAL else "stated" if most == _STATED else "inferred"
        return most, fits & ways[most]

    @property
    def _infers(self) -> bool:
        """Whether times of a wrapping tell the zone of stamps without one."""
        return self._clock.origin.zone.kind != "option" and self._clock.envelope_zone == "stated"

    def _second(self, stamp: bytes) -> int | None:
        """UTC milliseconds of a stamp without its fraction; None if it is no day of the calendar, or has no day yet."""
        seconds = self._clock.seconds
        if stamp not in seconds:
            parsed = parse(stamp.decode())
            if parsed is not None and parsed.ms < FLOATING:
                return None
            if len(seconds) >= _SECONDS_KEPT:
                seconds.clear()
            seconds[stamp] = None if parsed is None else parsed.ms if parsed.stated else self._clock.origin.zone.utc(parsed.ms)
        return seconds[stamp]

    def _quick(self, line: int) -> tuple[int | None, str] | None:
        """The time of a stamp in one of the usual forms without a zone; None for all others. What a second is, is parsed once."""
        text, start = self._block.text, int(self._block.starts[line])
        at = start + (text[start] == 91)
        short = text[at + 2] == 47
        stamp = text[at : at + (17 if short else 19)]
        rest, ms = text[at + len(stamp) : at + len(stamp) + 7], 0
        if rest[:1] in (b",", b"."):
            if short or not rest[1:4].isdigit() or len(rest) < 6:
                return None
            ms, rest = int(rest[1:4]), rest[4:]
        if not short and rest[:1] != b"]" and (rest[:1] != b" " or rest[1:2] in _ZONE_STARTS):
            return None
        second = self._second(stamp)
        if second is None:
            return (None, "unknown") if stamp in self._clock.seconds else None
        return second + ms, self._clock.origin.zone.kind

    def _of(self, line: int) -> tuple[int | None, str]:
        origin, envelope = self._clock.origin, int(self._block.times[line])
        if envelope == NO_TIME and self._block.kinds[line] == DATED and (quick := self._quick(line)) is not None:
            return quick
        stamp = self._stamp(line)
        if stamp is None and envelope != NO_TIME:
            return envelope, self._clock.envelope_zone
        if stamp is None and self._block.kinds[line] not in (DATED, RARE_DATED):
            stamp = self._before(line)
        if stamp is None:
            return None, "unknown"
        if stamp.stated:
            return stamp.ms, "stated"
        if stamp.ms < FLOATING and envelope != NO_TIME:
            return envelope, self._clock.envelope_zone
        if stamp.ms < FLOATING:
            if origin.last_date_ms is None:
                return None, "unknown"
            self._clock.floats = True
            return stamp.ms, origin.zone.kind
        if envelope != NO_TIME and self._infers:
            return _beside(stamp.ms, envelope), "inferred"
        return origin.zone.utc(stamp.ms), origin.zone.kind

    def note_edges(self, part: FilePart) -> None:
        """First and last time of the file, by place."""
        if not len(self._timed) and not self._floating and not (self._block.times[self._begins] != NO_TIME).any():
            return
        if part.first_ms is None:
            begins = map(int, self._begins)
            part.first_ms, part.zone = next((found for found in map(self.of, begins) if found[0] is not None), (None, "unknown"))
        last = next((ms for ms, _ in map(self.of, map(int, self._begins[::-1])) if ms is not None), None)
        part.last_ms = part.last_ms if last is None else last

    def clock_after(self) -> Stamp | None:
        return self._before(int(self._begins[-1]) + 1) if len(self._begins) else self._clock.now
