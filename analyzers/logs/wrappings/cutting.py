"""Wrappings that stand in the same columns of many lines are cut off all at once: container runtimes, `kubectl --prefix`, Docker's records.

What is taken for such a line says just what peeling it (`quick_peeling.py`) would say; all others are left to that: pieces of a line,
tags, what may be wrapped once more, escapes but those of tabs and quotes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analyzers.logs.scan.event_times import NO_TIME
from analyzers.logs.scan.kernel import LINE_LIMIT
from analyzers.logs.scan.lines import Bytes, Ints, columns
from analyzers.logs.wrappings.json_templates import Seconds, is_text
from analyzers.logs.wrappings.streams import Run

FEW = 4  # lines one after the other: fewer are no gain
_SAMPLES = 8  # lines, one of which has the wrapping that the others are compared with
_STREAMS = 16  # that are told apart in one text
_POD, _DOCKER = b"[pod/", b'{"log":"'
_QUOTED, _QUOTE, _TAB = b'\\"', b'"', b"\\t"
_CHANNELS = ("stdout", "stderr")
_TAGS = [f" {channel} F ".encode() for channel in _CHANNELS]
_DOCKER_ENDS = [b'\\n","stream":"%b","time":"' % channel.encode() for channel in _CHANNELS]
_CLOSING = b'Z"}'
_MINUTE, _SECOND = len("yyyy-MM-ddTHH:mm:"), len("yyyy-MM-ddTHH:mm:ss.")
_LONGEST = 9  # digits of a fraction
_FEWEST = 3
_DIGITS = b"0123456789"
_MILLIS = np.array([10_000, 1_000, 100, 10, 1])  # of two digits of the second and three behind it

# what a text may begin with around which nothing is wrapped: a letter or sign; a blank or a bracket before one
_BARE, _BLANK, _BRACKET = 1, 2, 4
_KINDS = np.zeros(256, np.uint8)
_KINDS[33:127] = _BARE
_KINDS[list(b"{\\")] = 0
_KINDS[ord("[")] = _BRACKET
_KINDS[list(b" \t\x0b\x0c")] = _BLANK

Mask = npt.NDArray[np.bool_]


class _Spans(NamedTuple):
    """Of each line where its text begins and ends, the time of the wrapping, and its stream: a number, 0 = it takes a closer look."""

    begins: Ints
    ends: Ints
    times: Ints
    codes: Ints
    streams: dict[int, tuple[str | None, str]]  # name and channel
    escaped: Sequence[int] | None = None  # of Docker's records: those with escapes in their text


def _same(rows: Bytes, text: bytes) -> Mask:
    same: Mask = (rows == np.frombuffer(text, np.uint8)).all(axis=1)
    return same


def _digits(rows: Bytes) -> Mask:
    digits: Mask = np.all((rows - 48) <= 9, axis=1)  # unsigned: wraps below '0'
    return digits


class Cutter:
    """Cuts the lines of one file. `pod_of`: the name of the stream of a prefix, None where it is none."""

    def __init__(self, pod_of: Callable[[bytes], str | None]) -> None:
        self._pod_of = pod_of
        self._seconds = Seconds()

    def runs(self, text: bytes, breaks: Ints) -> Iterator[Run]:
        """Of a text without carriage returns that ends with a line break, the lines that are cut; `breaks`: where its lines end."""
        starts = np.append(0, breaks[:-1] + 1)
        spans = self._spans(text, starts, breaks)
        if spans is None:
            return
        borders = np.flatnonzero(spans.codes[1:] != spans.codes[:-1]) + 1
        for start, stop in zip([0, *borders.tolist()], [*borders.tolist(), len(starts)], strict=True):
            code = int(spans.codes[start])
            if not code or stop - start < FEW:
                continue
            bounds = zip(spans.begins[start:stop].tolist(), spans.ends[start:stop].tolist(), strict=True)
            lines = [text[begin:end] for begin, end in bounds]
            if spans.escaped is None:
                yield Run(start, stop, *spans.streams[code], b"\n".join(lines), spans.times[start:stop])
            elif plain := _unescaped(lines, spans.escaped[bisect_left(spans.escaped, start) : bisect_left(spans.escaped, stop)], start):
                yield Run(start, stop, *spans.streams[code], plain, spans.times[start:stop])

    def _spans(self, text: bytes, starts: Ints, ends: Ints) -> _Spans | None:
        """None: no wrapping that stands in columns is around the first lines."""
        for start, end in zip(starts[:_SAMPLES].tolist(), ends[:_SAMPLES].tolist(), strict=True):
            line = text[start:end]
            if line.startswith(_POD):
                return _bare(text, self._pods(text, starts, ends))
            if line.startswith(_DOCKER):
                return _bare(text, self._docker(text, starts, ends)) if text.isascii() or is_text(text) else None
            if _stamp_in(line):
                return _bare(text, self._runtime(text, starts, ends, line))
        return None

    def _pods(self, text: bytes, starts: Ints, ends: Ints) -> _Spans:
        """Lines behind prefixes of pods."""
        found = _Spans(starts.copy(), ends, np.full(len(starts), NO_TIME), np.zeros(len(starts), np.int64), {})
        left = np.arange(len(starts))
        for _ in range(_STREAMS):
            if not len(left):
                break
            first = int(starts[left[0]])
            prefix = text[first : text.find(b"] ", first, int(ends[left[0]])) + 2]
            name = self._pod_of(prefix) if prefix else None
            if name is None:
                left = left[1:]
                continue
            long = ends[left] - starts[left] >= len(prefix)
            fits = np.zeros(len(left), bool)
            fits[long] = _same(columns(text, starts[left[long]], len(prefix)), prefix)
            fits[0] = True
            code = len(found.streams) + 1
            found.streams[code] = (name, "")
            found.begins[left[fits]] += len(prefix)
            found.codes[left[fits]] = code
            left = left[~fits]
        enough = np.flatnonzero(found.ends - found.begins > 10)
        heads = columns(text, found.begins[enough], 11)
        found.codes[enough[(heads[:, 4] == ord("-")) & (heads[:, 10] == ord("T"))]] = 0  # perhaps a container runtime's within
        return found

    def _runtime(self, text: bytes, starts: Ints, ends: Ints, sample: bytes) -> _Spans:
        """Lines of a container runtime whose times have the form of that of `sample`."""
        stamp = sample[: sample.find(b" ")]
        zone = stamp[_SECOND:].lstrip(_DIGITS)
        width = len(stamp) + len(_TAGS[0])
        chosen = np.flatnonzero(ends - starts >= width)
        ok, times = self._stamped(text, starts[chosen], len(stamp) - _SECOND - len(zone), zone)
        tags = columns(text, starts[chosen] + len(stamp), len(_TAGS[0]))
        codes = np.zeros(len(starts), np.int64)
        every = np.full(len(starts), NO_TIME)
        for code, tag in enumerate(_TAGS, 1):
            codes[chosen[ok & _same(tags, tag)]] = code
        every[chosen] = times
        return _Spans(starts + width, ends, every, codes, {code: (None, channel) for code, channel in enumerate(_CHANNELS, 1)})

    def _docker(self, text: bytes, starts: Ints, ends: Ints) -> _Spans:
        """Docker's records, whose times have as many digits as they need."""
        begins = starts + len(_DOCKER)
        left = np.flatnonzero(ends > begins)
        left = left[_same(columns(text, starts[left], len(_DOCKER)), _DOCKER)]
        codes, times, stops = np.zeros(len(starts), np.int64), np.full(len(starts), NO_TIME), ends.copy()
        for digits in range(_LONGEST, _FEWEST - 1, -1):
            if not len(left):
                break
            stamp = _SECOND + digits + len(_CLOSING)
            width = len(_DOCKER_ENDS[0]) + stamp
            chosen = left[ends[left] - begins[left] >= width]
            ok, ms = self._stamped(text, ends[chosen] - stamp, digits, _CLOSING)
            tags = columns(text, ends[chosen] - width, len(_DOCKER_ENDS[0]))
            for code, tag in enumerate(_DOCKER_ENDS, 1):
                found = ok & _same(tags, tag)
                codes[chosen[found]], times[chosen[found]], stops[chosen[found]] = code, ms[found], ends[chosen[found]] - width
            left = left[codes[left] == 0]
        spans = _Spans(begins, stops, times, codes, {code: (None, channel) for code, channel in enumerate(_CHANNELS, 1)})
        return spans._replace(escaped=_escaped(text, ends, spans))

    def _stamped(self, text: bytes, at: Ints, digits: int, behind: bytes) -> tuple[Mask, Ints]:
        """Which texts are `yyyy-MM-ddTHH:mm:ss.` with so many digits and `behind` them, and their times (UTC milliseconds)."""
        end = _SECOND + digits
        rows = columns(text, at, end + len(behind))
        second = rows[:, _MINUTE:_SECOND]
        ok = _same(rows[:, end:], behind) & _digits(rows[:, _SECOND:end]) & _digits(second[:, :2]) & (second[:, 0] <= ord("5"))
        ok &= ((second[:, 2] == ord(".")) | (second[:, 2] == ord(","))) & (rows[:, 10] == ord("T"))
        numbers = rows[:, [_MINUTE, _MINUTE + 1, _SECOND, _SECOND + 1, _SECOND + 2]].astype(np.int64) - 48
        minutes = self._minutes(rows[ok, :_MINUTE], behind.removesuffix(b'"}'))
        times = np.full(len(at), NO_TIME)
        times[ok] = np.where(minutes == NO_TIME, NO_TIME, minutes + numbers[ok] @ _MILLIS)
        return times != NO_TIME, times

    def _minutes(self, rows: Bytes, zone: bytes) -> Ints:
        """UTC milliseconds at which minutes begin, NO_TIME where they are none; each is asked for once while it lasts."""
        if not len(rows):
            return np.zeros(0, np.int64)
        new = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
        known = [self._seconds.ms(row.tobytes() + b"00.000" + zone) for row in rows[new]]
        minutes: Ints = np.array([NO_TIME if ms is None else ms for ms in known])[np.cumsum(new) - 1]
        return minutes


def _stamp_in(line: bytes) -> bool:
    """Whether a container runtime's time stands before a line."""
    end = line.find(b" ", _SECOND, 40)
    stamp = line[:end]
    digits = len(stamp) - _SECOND - len(stamp[_SECOND:].lstrip(_DIGITS))
    return line[10:11] == b"T" and line[end : end + len(_TAGS[0])] in _TAGS and _FEWEST <= digits <= _LONGEST


def _bare(text: bytes, spans: _Spans) -> _Spans:
    """Without the lines around which more may be wrapped, and those that are too long."""
    begins, ends = spans.begins, spans.ends
    data = np.frombuffer(text, np.uint8)
    first, second = (_KINDS[data[np.minimum(begins + place, len(data) - 1)]] for place in (0, 1))
    blank = (first == _BLANK) & (second == _BARE)
    bracket = (first == _BRACKET) & (second == _BARE) & (data[np.minimum(begins + 1, len(data) - 1)] != ord("p"))
    tab = data[np.minimum(begins, len(data) - 1)] == ord("\\")  # of Docker's: see `_escaped`
    long = ends - begins
    spans.codes[~((first == _BARE) | blank | bracket | tab) | (long < 1) | (long > LINE_LIMIT)] = 0
    return spans


def _escaped(text: bytes, ends: Ints, spans: _Spans) -> list[int]:
    """Docker's records whose texts have escapes, but none that take a closer look: they are those of quotes, and of tabs; such a record
    begins with a tab and a word, if with any. All others are left to the closer look.
    """
    data = np.frombuffer(text, np.uint8)
    at = np.flatnonzero(data == ord("\\"))
    line_of = np.searchsorted(ends, at)
    within = at < spans.ends[line_of]
    at, line_of = at[within], line_of[within]
    behind = data[np.minimum(at + 1, len(data) - 1)]
    word = (behind == ord("t")) & (_KINDS[data[np.minimum(at + 2, len(data) - 1)]] == _BARE)
    usual = np.where(at == spans.begins[line_of], word, (behind == ord('"')) | (behind == ord("t")))
    spans.codes[line_of[~usual]] = 0
    found: list[int] = np.unique(line_of[usual]).tolist()
    return found


def _unescaped(lines: list[bytes], escaped: Sequence[int], first: int) -> bytes | None:
    """Texts out of Docker's records, of which those have escapes (numbers from `first` on); None if one ends before its record says so."""
    quotes = 0
    for number in escaped:
        line = lines[number - first]
        lines[number - first] = line.replace(_QUOTED, _QUOTE).replace(_TAB, b"\t")
        quotes += line.count(_QUOTED)
    joined = b"\n".join(lines)
    return joined if joined.count(_QUOTE) == quotes else None
