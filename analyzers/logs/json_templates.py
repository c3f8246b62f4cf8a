"""JSON records by their template: what is the same in all lines that one layout prints is compared, not parsed, and looked up once.

A template is an expression made of one line: keys, punctuation, true, false and null stay as they are, each text or number becomes a place.
A line that has the form of a template and nothing unusual at its places says the same as if it had been parsed; all others are.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the stubs; documented by its use as JSONDecoder.parse_string
from typing import Any

from analyzers.logs.records import (
    is_continued,
    job_in,
    level_in,
    logger_in,
    named,
    origin_text,
    second_text,
    stamp_of,
    stream_name,
)
from analyzers.logs.timestamps import Zone, parse

_TOKEN = re.compile(rb'[ \t]*(?:("(?:[^"\\]|\\.)*")([ \t]*:)?|(-?(?:0|[1-9]\d*)(\.\d+)?)(?![.\deE])|true|false|null|[{}\[\],])')
_LEARNT_FROM = 16 << 10  # longer lines are no samples
_PLACES = 80
_TEMPLATES = 12
_TRIALS = 300  # lines that gave no template: then there is no layout to be learnt
_CACHED = 4096
_INTEGER, _FRACTION = 10**30, 2.0**40  # marks of numbers: place n is _INTEGER + n
_PLAIN_STARTS = frozenset(range(128)) - frozenset(b"0123456789[{ \t\n\r\x0b\x0c\x1c\x1d\x1e\x1fC.S")
_SECOND = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:Z|[+-]\d\d:?\d\d)?")


class Seconds:
    """Milliseconds of `yyyy-MM-ddTHH:mm:ss.SSS…` texts, UTC; what a second is, is parsed once. `zone` = of texts without one."""

    def __init__(self, zone: Zone | None = None) -> None:
        self._zone = zone
        self._known: dict[bytes, int | None] = {}

    def ms(self, text: bytes) -> int | None:
        """None: the text has another form, or is no time."""
        fraction, zone = text[20:23], text[23:].lstrip(b"0123456789")
        if text[19:20] not in (b".", b",") or len(fraction) != 3 or not fraction.isdigit() or len(text) - len(zone) > 29:
            return None
        second = text[:19] + zone
        if second not in self._known:
            if len(self._known) >= _CACHED:
                self._known.clear()
            self._known[second] = self._parsed(second)
        base = self._known[second]
        return None if base is None else base + int(fraction)

    def _parsed(self, second: bytes) -> int | None:
        stamp = parse(second.decode()) if _SECOND.fullmatch(second) else None
        if stamp is None or stamp.stated:
            return None if stamp is None else stamp.ms
        return None if self._zone is None else self._zone.utc(stamp.ms)


Said = tuple[bytes, "str | None", "int | None"]  # canonical line, stream, time (UTC milliseconds)


class _Places:
    """A sample line on its way to a template."""

    def __init__(self, line: bytes) -> None:
        self.numbers: list[str] = []  # of each place: "" = text, else the expression of a number
        self.pieces: list[bytes | int] = []  # what stays as it is, and the places
        self.marked = bytearray()  # the same line with a mark at each place
        at = 0
        while at < len(line):
            m = _TOKEN.match(line, at)
            if m is None or len(self.numbers) > _PLACES:
                raise ValueError
            text, colon, number, fraction = m.group(1, 2, 3, 4)
            if number is not None:
                blank = m[0][: m.start(3) - m.start()]
                self._place(blank, b"%r" % (_FRACTION + len(self.numbers)) if fraction else b"%d" % (_INTEGER + len(self.numbers)))
                self.numbers[-1] = r"-?(?:0|[1-9][0-9]*)" + (r"\.[0-9]+" if fraction else "")
            elif text is None or colon is not None or text == b'""':
                self.pieces.append(m[0])
                self.marked += m[0]
            else:
                self._place(m[0][: m.start(1) - m.start()], b'"\\u0000%d"' % len(self.numbers))
            at = m.end()

    def _place(self, blank: bytes, mark: bytes) -> None:
        self.pieces += [blank, len(self.numbers)]
        self.marked += blank + mark
        self.numbers.append("")

    @staticmethod
    def of(found: Any) -> int | None:
        """The place whose mark was found."""
        if isinstance(found, str):
            return int(found[1:]) if found[:1] == "\0" else None
        if isinstance(found, float):
            return int(found - _FRACTION)
        return found - _INTEGER if isinstance(found, int) and found >= _INTEGER else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError
    return value


_MARKED = json.JSONDecoder(object_pairs_hook=_unique, strict=False)


class Template:
    """The form of the lines of one layout. Raises ``ValueError`` where `line` is no sample of any."""

    def __init__(self, line: bytes, zone: Zone) -> None:
        places = _Places(line)
        found = named(_MARKED.decode(places.marked.decode()))
        if found is None:
            raise ValueError
        parts = (found.message, found.time, found.level, found.logger, found.thread, found.job, *found.streams)
        roles = [_Places.of(value) for value in parts]
        if (found.time is None and found.logger is None) or any(p is None and v is not None for p, v in zip(roles, parts, strict=True)):
            raise ValueError
        groups: dict[int, int] = {}
        expression = b""
        for piece in places.pieces:
            if isinstance(piece, bytes):
                expression += re.escape(piece)
                continue
            number = places.numbers[piece].encode()
            inner = rb'[^"\\]*(?:\\.[^"\\]*)*' if piece == roles[0] else number or rb'[^"\\]+'
            if piece in roles:
                groups[piece] = len(groups)
                inner = b"(%s)" % inner
            expression += inner if number else b'"%s"' % inner
        self._match = re.compile(expression + rb"[ \t]*\Z").match
        self._groups = [-1 if place is None else groups[place] for place in roles]
        self._numeric = [place is not None and bool(places.numbers[place]) for place in roles]
        self._streamed = any(place is not None for place in roles[6:])
        self._seconds = Seconds(zone)
        self._zone = zone
        self._levels: dict[bytes, bytes | None] = {}
        self._origins: dict[tuple[bytes | None, ...], bytes] = {}
        self._streams: dict[tuple[bytes | None, ...], str | None] = {}

    def said(self, line: bytes, time_ms: int | None) -> Said | None:
        """What `line` says; None: it has another form, or says something unusual. `time_ms` = of a wrapping around it."""
        m = self._match(line)
        if m is None:
            return None
        values = m.groups()
        at_message, at_time, at_level, at_logger, at_thread, at_job, *at_streams = self._groups
        message = values[at_message]
        if b"\\" in message:
            try:
                plain, _ = scanstring(message.decode() + '"', 0, False)
            except ValueError:
                return None
            message = plain.encode("utf-8", "replace").rstrip(b"\r\n")
            if b"\n" in message or b"\r" in message:
                return None
        if not message or message[0] == 123:  # an empty one is none; JSON within JSON
            return None
        if at_time >= 0:
            time_ms = self._moment(values[at_time])
            if time_ms is None:
                return None
        stream = self._stream([values[at] if at >= 0 else None for at in at_streams]) if self._streamed else None
        level = self._level(values[at_level]) if at_level >= 0 else None
        if level is None or (message[0] not in _PLAIN_STARTS and is_continued(message.decode())):
            return message, stream, time_ms
        key = (
            values[at_logger] if at_logger >= 0 else None,
            values[at_thread] if at_thread >= 0 else None,
            values[at_job] if at_job >= 0 else None,
        )
        origin = self._origins.get(key) or self._origin(key)
        if time_ms is None:
            return b"%b %b- %b" % (level, origin, message), stream, None
        second = second_text(time_ms // 1000)
        if second is None:
            return None
        return b"%b%03dZ %b %b- %b" % (second.encode(), time_ms % 1000, level, origin, message), stream, time_ms

    def _moment(self, found: bytes) -> int | None:
        if not self._numeric[1]:
            ms = self._seconds.ms(found)
            if ms is not None:
                return ms
        text = found.decode()
        stamp = stamp_of((float(text) if "." in text else int(text)) if self._numeric[1] else text)
        if stamp is None:
            return None
        return self._zone.utc(stamp[0]) if stamp[1] else stamp[0]

    def _level(self, found: bytes) -> bytes | None:
        if found not in self._levels:
            _bound(self._levels)
            level = level_in(int(found) if self._numeric[2] else found.decode())
            self._levels[found] = None if level is None else level.encode()
        return self._levels[found]

    def _origin(self, found: tuple[bytes | None, ...]) -> bytes:
        logger, thread, job = (None if part is None else part.decode() for part in found)
        _bound(self._origins)
        origin = self._origins[found] = origin_text(logger_in(logger), thread, job_in(job)).encode()
        return origin

    def _stream(self, found: list[bytes | None]) -> str | None:
        key = tuple(found)
        if key not in self._streams:
            pod, container, stream, host = (None if part is None else part.decode() for part in found)
            _bound(self._streams)
            self._streams[key] = stream_name(pod, container, stream, host)
        return self._streams[key]


def _bound(known: dict[Any, Any]) -> None:
    if len(known) >= _CACHED:
        known.clear()


class Templates:
    """The templates of one file, learnt from its lines."""

    def __init__(self, zone: Zone) -> None:
        self._zone = zone
        self._known: list[Template] = []
        self._trials = 0

    def said(self, line: bytes, time_ms: int | None) -> Said | None:
        """What a line of JSON says; None: it has to be parsed. `time_ms` = of a wrapping around it."""
        if b"\r" in line or (not line.isascii() and not is_text(line)):
            return None
        for place, template in enumerate(self._known):
            said = template.said(line, time_ms)
            if said is not None:
                if place:
                    self._known.insert(0, self._known.pop(place))
                return said
        if self._trials < _TRIALS and len(line) <= _LEARNT_FROM:
            self._trials += 1
            try:
                template = Template(line, self._zone)
            except ValueError:
                return None
            said = template.said(line, time_ms)
            if said is not None:
                self._known.insert(0, template)
                del self._known[_TEMPLATES:]
            return said
        return None


def is_text(line: bytes) -> bool:
    try:
        line.decode()
    except ValueError:
        return False
    return True
