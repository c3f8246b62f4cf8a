"""JSON records by their template: what is the same in all lines that one layout prints is compared, not parsed, and looked up once.

A template is an expression made of one line: keys, punctuation, true, false and null stay as they are, each text or number becomes a place.
A line that has the form of a template and nothing unusual at its places says the same as if it had been parsed; all others are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the stubs; documented by its use as JSONDecoder.parse_string
from typing import Any, TypeVar

from analyzers.logs.layouts.timestamps import Zone, parse
from analyzers.logs.wrappings.records import (
    Record,
    is_continued,
    job_in,
    level_in,
    logger_in,
    named,
    origin_text,
    record_of,
    second_text,
    stack_text,
    stamp_of,
    stream_name,
)
from analyzers.logs.wrappings.silent_records import Form, field

_TOKEN = re.compile(rb'[ \t]*(?:("(?:[^"\\]|\\.)*")([ \t]*:)?|(-?(?:0|[1-9]\d*)(\.\d+)?)(?![.\deE])|true|false|null|[{}\[\],])')
_LEARNT_FROM = 16 << 10  # longer lines are no samples
_PLACES = 80
_STREAMS, _TRACE = 6, 10  # of the parts of a record: where those begin that tell its stream, its trace
_BRACE, _BRACKET, _BACKSLASH, _LINE_FEED, _RETURN = b"{[\\\n\r"  # a number is found four times as quickly as bytes
_TEMPLATES = 12
_TRIALS = 300  # lines that gave no template: then there is no layout to be learnt
_CACHED = 4096
_INTEGER, _FRACTION = 10**30, 2.0**40  # marks of numbers: place n is _INTEGER + n
_PLAIN_START = re.compile(rb"[!-+\-/:-BD-RT-Z\\^-z|}~]|C(?!aused by: )|S(?!uppressed: )|\[[A-Za-z]|\d{1,2}[^\d/]")
_SECOND = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:Z|[+-]\d\d:?\d\d)?")

_FRACTION_UTC = re.compile(rb".{10}T.{8}\.[0-9]{3,9}Z\Z")
_FIXED = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{3,9}(Z|[+-]\d\d:?\d\d|)")


class Seconds:
    """Times of the form `yyyy-MM-ddTHH:mm:ss.SSS…`; what a second is, is parsed once. `zone` = of texts without one."""

    def __init__(self, zone: Zone | None = None) -> None:
        self._stated_by = zone
        self.known: dict[bytes, tuple[int, bytes] | None] = {}
        self.length, self.end, self.zone = 0, 0, b"-"  # of the last text: mostly those of the next one too

    def ms(self, text: bytes) -> int | None:
        """UTC milliseconds; None: the text has another form, or is no time."""
        if len(text) == self.length and text[self.end :] == self.zone and text[20 : self.end].isdigit():
            known = self.known.get(text[:20])
            if known is not None:
                return known[0] + int(text[20:23])
        second = self._second(text)
        return None if second is None else second[0] + int(text[20:23])

    def _second(self, text: bytes) -> tuple[int, bytes] | None:
        if not self._fits(text):
            return None
        key = text[:20]
        if key not in self.known:
            if len(self.known) >= _CACHED:
                self.known.clear()
            self.known[key] = parsed_second(key[:-1] + self.zone, self._stated_by)
        return self.known[key]

    def _fits(self, text: bytes) -> bool:
        """Takes over the length and zone of a text that has the form."""
        zone = text[20:].lstrip(b"0123456789")
        if text[19:20] not in (b".", b",") or not 3 <= len(text) - 20 - len(zone) <= 9:
            return False
        if zone != self.zone:
            self.known.clear()
        self.length, self.end, self.zone = len(text), len(text) - len(zone), zone
        return True


def parsed_second(second: bytes, zone: Zone | None) -> tuple[int, bytes] | None:
    """UTC milliseconds of `yyyy-MM-ddTHH:mm:ss` with or without its zone, and how it is printed; None if it is no time."""
    stamp = parse(second.decode()) if _SECOND.fullmatch(second) else None
    if stamp is None or not (stamp.stated or zone is not None):
        return None
    ms = stamp.ms if stamp.stated or zone is None else zone.utc(stamp.ms)
    printed = second_text(ms // 1000)
    return None if printed is None or ms % 1000 else (ms, printed.encode())


def _zone_of(time: bytes) -> bytes | None:
    """What stands behind the fraction of a time with fixed columns; None if it has another form."""
    m = _FIXED.fullmatch(time)
    return m[1] if m else None


Peeled = TypeVar("Peeled")
Said = tuple[bytes, "str | None", "int | None"]  # canonical line, stream, time (UTC milliseconds)


class _Places:
    """A sample line on its way to a template."""

    def __init__(self, line: bytes) -> None:
        self.texts: dict[int | None, bytes] = {}
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
                self.texts[len(self.numbers)] = text[1:-1]
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
        parts = (found.message, found.time, found.level, found.logger, found.thread, found.job, *found.streams, *found.trace)
        roles = [_Places.of(value) for value in parts]
        if (found.time is None and found.logger is None) or any(p is None and v is not None for p, v in zip(roles, parts, strict=True)):
            raise ValueError
        if len({place for place in roles if place is not None}) != len(roles) - roles.count(None):
            raise ValueError
        self._zone_text = _zone_of(places.texts.get(roles[1], b""))  # of times with fixed columns; None: of any form
        free = {roles[0], *roles[_TRACE:]} - {None}  # texts that have escapes, as others do not
        groups: dict[int | None, int] = {}
        expression = b""
        for piece in places.pieces:
            if isinstance(piece, bytes):
                expression += re.escape(piece)
                continue
            number = places.numbers[piece].encode()
            inner = rb'[^"\\]*(?:\\.[^"\\]*)*' if piece in free else number or rb'[^"\\]+'
            if piece == roles[1] and self._zone_text is not None:
                groups[piece] = len(groups) + 1
                inner = rb"([^\"\\]{20}[0-9]{3})[0-9]{0,6}" + re.escape(self._zone_text)
            elif piece in roles:
                groups[piece] = len(groups) + 1
                inner = b"(%s)" % inner
            expression += inner if number else b'"%s"' % inner
        self._match = re.compile(expression + rb"[ \t]*\Z(.)?").match
        order = [groups.get(place, len(groups) + 1) for place in roles]  # the last group is the value of what there is not
        self._said, self._where, self._traced = order[:_STREAMS], order[_STREAMS:_TRACE], order[_TRACE:]
        self._timed = roles[1] is not None
        self._streamed = any(place is not None for place in roles[_STREAMS:_TRACE])
        self.traced = roles[_TRACE] is not None
        self._numeric = [place is not None and bool(places.numbers[place]) for place in roles]
        self._seconds: dict[bytes, tuple[int, bytes] | None] = {}
        self._zone = zone
        self._silent = self._silent_record(places, roles)
        self._form: Form | None = None
        self._heads: dict[tuple[bytes | None, ...], bytes | None] = {}
        self._streams: dict[tuple[bytes | None, ...], str | None] = {}

    def _silent_record(self, places: _Places, roles: list[int | None]) -> tuple[bytes, bytes, bytes, int] | None:
        """Of records of which nothing but the time may matter both expressions, what stands before the time, and its width."""
        named = dict(zip(roles[:_STREAMS], ("message", "time", "level", "logger", "thread"), strict=False))
        time = places.texts.get(roles[1], b"")
        first = next((piece for piece in places.pieces if isinstance(piece, int)), None)
        stated = None not in roles[:4] and roles[5] is None and not any(self._numeric)
        if not self.simple or not stated or first is None or first != roles[1] or not _FRACTION_UTC.match(time):
            return None
        expressions = []
        for plain in (False, True):
            expression = b""
            for piece in places.pieces:
                if isinstance(piece, bytes):
                    expression += re.escape(piece)
                elif places.numbers[piece]:
                    expression += places.numbers[piece].encode()
                else:
                    text = time[20:-1].decode() if piece == roles[1] else _PLAIN_START.pattern.decode()
                    expression += b'"%b"' % field(named.get(piece, ""), text, plain=plain)
            expressions.append(b"(?:%b\n)+" % expression)
        before = b"".join(piece for piece in places.pieces[: places.pieces.index(first)] if isinstance(piece, bytes))
        return expressions[0], expressions[1], before + b'"', len(time)

    @property
    def form(self) -> Form | None:
        """Of records that need no closer look where nothing is found in them."""
        if self._form is None and self._silent is not None:
            records, plain, prefix, width = self._silent
            self._form = Form(re.compile(records), re.compile(plain), prefix, width)
        return self._form

    def said(self, line: bytes, time_ms: int | None) -> Said | None:
        """What `line` says; None: it has another form, or says something unusual. `time_ms` = of a wrapping around it."""
        m = self._match(line)
        if m is None:
            return None
        found = m.group(*self._said)
        message, time, key = found[0], found[1], found[2:]
        second = None
        if self._zone_text is not None:
            second = self._seconds.get(time[:20]) or self._second(time[:20])
            if second is None:
                return None
            time_ms = second[0] + int(time[20:])
        elif self._timed:
            time_ms = self._moment(time)
            if time_ms is None:
                return None
        stream = self._stream(m.group(*self._where)) if self._streamed else None
        if self.traced:
            return self._traced_said(message, key, m.group(*self._traced), stream, time_ms)
        if _BACKSLASH in message:
            try:
                message = scanstring(message.decode() + '"', 0, False)[0].encode("utf-8", "replace")
            except ValueError:
                return None
            if _LINE_FEED in message:
                return None if message[0] == _BRACE else self._traced_said(m.group(self._said[0]), key, (), stream, time_ms)
        if not message or (message[0] == _BRACE and record_of(message) is not None):  # an empty one is none; JSON within JSON
            return None
        head = self._heads.get(key) or self._head(key)
        if head is None or (not _PLAIN_START.match(message) and is_continued(message.decode())):
            return message, stream, time_ms
        if second is not None:
            return b"%b%bZ %b%b" % (second[1], time[20:], head, message), stream, time_ms
        printed = None if time_ms is None else second_text(time_ms // 1000)
        if time_ms is None or printed is None:
            return head + message, stream, time_ms
        return b"%b%03dZ %b%b" % (printed.encode(), time_ms % 1000, head, message), stream, time_ms

    @property
    def simple(self) -> bool:
        """Whether `many` is of use: times with fixed columns, no streams, no traces."""
        return self._zone_text is not None and not self._streamed and not self.traced

    def many(self, lines: Iterable[bytes], otherwise: Callable[[bytes], Peeled]) -> list[Peeled | tuple[None, str, bytes, int]]:
        """What each of `lines` (text without carriage returns) says, as `Quick.peel` puts it; `otherwise` is asked of the unusual ones."""
        match, order, second_of, head_of = self._match, self._said, self._seconds.get, self._heads.get
        said: list[Peeled | tuple[None, str, bytes, int]] = []
        for line in lines:
            m = match(line)
            if m is not None:
                found = m.group(*order)
                message, time = found[0], found[1]
                second, head = second_of(time[:20]), head_of(found[2:])
                if second is not None and head is not None and message and _BACKSLASH not in message and _PLAIN_START.match(message):
                    millis = time[20:]
                    said.append((None, "", b"%b%bZ %b%b" % (second[1], millis, head, message), second[0] + int(millis)))
                    continue
            said.append(otherwise(line))
        return said

    def _traced_said(
        self, message: bytes, key: tuple[bytes, ...], trace: tuple[bytes, ...], stream: str | None, time_ms: int | None
    ) -> Said | None:
        """Of records of more than one line."""
        try:
            text, *traced = (None if part is None else scanstring(part.decode() + '"', 0, False)[0] for part in (message, *trace))
        except ValueError:
            return None
        if not text or "" in traced or text[0] == "{":
            return None
        level, logger, thread, job = (None if part is None else part.decode() for part in key)
        known = None if level is None else level_in(int(level) if self._numeric[2] else level)
        record = Record(text, time_ms, known, logger_in(logger), thread, stack_text(*traced) if traced else None, job=job_in(job))
        return b"\n".join(record.lines()), stream, time_ms

    def _second(self, text: bytes) -> tuple[int, bytes] | None:
        _bound(self._seconds)
        second = self._seconds[text] = (
            parsed_second(text[:-1] + (self._zone_text or b""), self._zone) if text[-1:] in (b".", b",") else None
        )
        return second

    def _moment(self, found: bytes) -> int | None:
        text = found.decode()
        stamp = stamp_of((float(text) if "." in text else int(text)) if self._numeric[1] else text)
        if stamp is None:
            return None
        return self._zone.utc(stamp[0]) if stamp[1] else stamp[0]

    def _head(self, key: tuple[bytes | None, ...]) -> bytes | None:
        """Level, logger and thread as the canonical line states them; None of what has no level."""
        if key not in self._heads:
            level, logger, thread, job = (None if part is None else part.decode() for part in key)
            known = None if level is None else level_in(int(level) if self._numeric[2] else level)
            _bound(self._heads)
            self._heads[key] = None if known is None else f"{known} {origin_text(logger_in(logger), thread, job_in(job))}- ".encode()
        return self._heads[key]

    def _stream(self, key: tuple[bytes | None, ...]) -> str | None:
        if key not in self._streams:
            pod, container, stream, host = (None if part is None else part.decode() for part in key)
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

    @property
    def form(self) -> Form | None:
        """Of the layout that most lines have."""
        return self._known[0].form if self._known else None

    def many(self, lines: Sequence[bytes], otherwise: Callable[[bytes], Peeled]) -> list[Peeled | tuple[None, str, bytes, int]] | None:
        """`Template.many` of lines that begin with one of a known layout; None of all others."""
        if not self._known or lines[0][:1] != b"{" or not self._known[0].simple:
            return None
        joined = b"".join(lines)
        return self._known[0].many(lines, otherwise) if joined.isascii() and _RETURN not in joined else None

    def said(self, line: bytes, time_ms: int | None) -> Said | None:
        """What a line of JSON says; None: it has to be parsed. `time_ms` = of a wrapping around it."""
        if _RETURN in line or not (line.isascii() or is_text(line)):
            return None
        known = self._known
        said = known[0].said(line, time_ms) if known else None
        if said is not None:
            return said
        for place in range(1, len(known)):
            said = known[place].said(line, time_ms)
            if said is not None:
                if not known[place].traced:
                    known.insert(0, known.pop(place))
                return said
        if self._trials < _TRIALS and len(line) <= _LEARNT_FROM:
            self._trials += 1
            try:
                template = Template(line, self._zone)
            except ValueError:
                return None
            said = template.said(line, time_ms)
            if said is not None:
                self._known.insert(len(self._known) if template.traced else 0, template)
                del self._known[_TEMPLATES:]
            return said
        return None


def is_text(line: bytes) -> bool:
    try:
        line.decode()
    except ValueError:
        return False
    return True
