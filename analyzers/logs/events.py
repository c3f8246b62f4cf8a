"""One event: its parts, parsed when asked for; and the recorder that matches it, counts it and keeps it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from analyzers.logs import exceptions
from analyzers.logs.captures import BANNER_WORDS, ERROR_WORDS, EXCEPTION_WORDS, Catalogue, client_columns, columns
from analyzers.logs.layouts import Header, parse_bare, parse_dated, parse_starter
from analyzers.logs.lines import BARE, DATED, STARTER, Ints
from analyzers.logs.selection import (
    EDGE_KEEP,
    ERROR_LOGGED,
    EXCEPTION_LOGGED,
    GENERIC_GROUPS,
    GENERIC_KEEP,
    SIGNATURE_GROUPS,
    Counts,
    FilePart,
    Groups,
    Key,
    Row,
    mask,
)
from analyzers.logs.timestamps import FLOATING, Zone, to_datetime
from analyzers.tables import LOG_EVENTS

if TYPE_CHECKING:
    from analyzers.logs.kernel import Origin

TEXT_HEAD, TEXT_TAIL = 8 << 10, 2 << 10
MATCHED = 64 << 10  # what an expression over a whole event sees
TRACED = 512 << 10  # what the exception chain is parsed from
_FAULTY = ("ERROR", "FATAL")

_TROUBLE = re.compile(r"fail|error|exception|expir|timed? ?out|refused|lost", re.IGNORECASE)
_BANNER = re.compile(r"Starting ([^(]*?) ?\(Version: ([^,)]+)")
_SPARK = re.compile(r"Running Spark version (\S+)")
_CLIENTS = re.compile(r"Kafka version ?: (\S+)")


class Times(Protocol):
    """Gives the UTC milliseconds of the event at a line of its block, and how the zone is known."""

    def of(self, line: int) -> tuple[int | None, str]: ...


_Value = TypeVar("_Value")


class _lazy(Generic[_Value]):  # used as a decorator
    """`functools.cached_property` without the lock that it takes before Python 3.12: a third of the cost of an event."""

    def __init__(self, make: Callable[[Any], _Value]) -> None:
        self._make, self._name = make, make.__name__

    def __get__(self, owner: Any, _kind: type | None = None) -> _Value:
        value = owner.__dict__[self._name] = self._make(owner)
        return value


class Event:
    """One event inside of its block of text; nothing is decoded before it is asked for."""

    __slots__ = (
        "__dict__",
        "_block",
        "_ends",
        "_header",
        "_kind",
        "_starts",
        "_tail",
        "end",
        "first_line",
        "line",
        "line_count",
        "order",
        "start",
    )

    def __init__(
        self, block: bytes, start: int, end: int, first_line: int, line_count: int, starts: Ints, ends: Ints, kind: int,
        header: Header | None, line: int, order: int, tail: bytes,
    ) -> None:  # fmt: skip
        self._block, self.start, self.end = block, start, end
        self.first_line, self.line_count = first_line, line_count
        self._starts, self._ends, self._kind, self._header = starts, ends, kind, header
        self.line, self.order, self._tail = line, order, tail

    def line_text(self, number: int) -> str:
        """Line `number` of the event (0 = header), decoded."""
        at = self.first_line + number
        return self._block[self._starts[at] : self._ends[at]].decode("utf-8", "replace")

    @_lazy
    def header(self) -> Header:
        if self._header is not None and self._kind != BARE:
            return self._java_util_logging(self._header)
        first = self.line_text(0)[: 64 << 10]
        if self._kind == DATED:
            return parse_dated(first)
        return (parse_starter(first) if self._kind == STARTER else None) or parse_bare(first)

    def _java_util_logging(self, header: Header) -> Header:
        """Its level and message stand on the second line."""
        if header.layout != "java-util-logging" or self.line_count < 2:
            return header
        second = parse_bare(self.line_text(1))
        return header._replace(level=second.level, message=second.message)

    def continuation(self, clip: int) -> str:
        """All lines after the header, at most `clip` bytes of the event."""
        if self.line_count < 2:
            return ""
        return _decode(self._block[int(self._starts[self.first_line + 1]) : min(self.end, self.start + clip)])

    @_lazy
    def trace(self) -> exceptions.Trace:
        message, more = self.header.message, self.continuation(TRACED)
        if exceptions.might_hold(message) or exceptions.might_hold(more):
            return exceptions.parse(message, more)
        return exceptions.Trace()

    def raw(self) -> tuple[bytes, bytes]:
        """The event as written: all of it, or its first 8 kB and its last 2 kB."""
        if self.end - self.start <= TEXT_HEAD + TEXT_TAIL and not self._tail:
            return self._block[self.start : self.end], b""
        last = self._tail or self._block[max(self.end - TEXT_TAIL, self.start + TEXT_HEAD) : self.end]
        return self._block[self.start : self.start + TEXT_HEAD], last


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace").replace("\r\n", "\n")


def _text(first: bytes, last: bytes) -> str:
    whole = _decode(first).rstrip("\n")
    return f"{whole}\n…\n{_decode(last)}".rstrip("\n") if last else whole


class Recorder:
    """Matches the events of one part of a file, counts them, keeps the first and last of each group."""

    def __init__(self, origin: Origin, catalogue: Catalogue, part: int) -> None:
        self.part = FilePart(origin.file, origin.order, part, origin.role, origin.host)
        self._origin, self._catalogue = origin, catalogue
        self._known, self._generic, self._edges = Groups(SIGNATURE_GROUPS), Groups(GENERIC_GROUPS), Groups(1)
        self._errors = range(len(ERROR_WORDS))
        self._exceptions = range(len(ERROR_WORDS), len(ERROR_WORDS) + len(EXCEPTION_WORDS))
        self._banners = range(self._exceptions.stop, self._exceptions.stop + len(BANNER_WORDS))

    def take(self, event: Event, hits: Sequence[tuple[int, int]], times: Times) -> None:
        """One event with its literal hits (literal, line of the event)."""
        found = self._matches(event, hits)
        generic = None
        if not found:
            generic = self._generic_kind(event, hits)
        if any(literal in self._banners for literal, _ in hits):
            self._banner(event)
        if not found and generic is None:
            return
        at, zone = times.of(event.first_line)
        origin = self._origin
        if at is not None and (
            (origin.since_ms is not None and at < origin.since_ms) or (origin.until_ms is not None and at >= origin.until_ms)
        ):
            return
        key: Key = (at is None, at or 0, origin.order, event.line, event.order)
        root = event.trace.root
        root_kind = root.kind if root else None
        for signature, captured in found.items():
            prepared = self._catalogue.prepared[signature]
            values = columns(captured)
            job = values.get("job") or event.header.job
            task = values.get("task")
            row = _Kept(event, prepared.signature.id, values, at, zone)
            self._known.add((prepared.signature.id, job, task, root_kind), prepared.signature.keep, key, row)  # type: ignore[arg-type]  # job and task are text
            self.part.counts.add(prepared.signature.id, job, task, at)  # type: ignore[arg-type]  # likewise
        if generic is not None:
            row = _Kept(event, generic, client_columns(event.header.message), at, zone)
            self._generic.add((generic, event.header.logger, root_kind, mask(event.header.message)), GENERIC_KEEP, key, row)
            self._edges.add((generic,), EDGE_KEEP, key, row) if generic == ERROR_LOGGED else None
            self.part.counts.add(generic, event.header.job, None, at)

    def _matches(self, event: Event, hits: Sequence[tuple[int, int]]) -> dict[int, dict[str, str | None]]:
        """Signatures that match, each with its named groups."""
        found: dict[int, dict[str, str | None]] = {}
        whole: str | None = None
        for literal, line in hits:
            for number in self._catalogue.by_literal[literal]:
                if number in found:
                    continue
                prepared = self._catalogue.prepared[number]
                if not prepared.fits(event.header.level, event.header.logger):
                    continue
                if prepared.pattern is None:
                    found[number] = {}
                    continue
                where = prepared.signature.where
                if where == "event" and whole is None:
                    whole = event.header.message + ("\n" + event.continuation(MATCHED) if event.line_count > 1 else "")
                text = event.header.message if where == "message" else whole if where == "event" else event.line_text(line).strip()
                m = prepared.pattern.search((text or "")[:MATCHED])
                if m is not None:
                    found[number] = m.groupdict()
        return found

    def _generic_kind(self, event: Event, hits: Sequence[tuple[int, int]]) -> str | None:
        """error-logged, exception-logged or None, for an event that no signature knows."""
        literals = {literal for literal, _ in hits}
        errors = any(literal in self._errors for literal in literals)
        level = event.header.level
        if level in _FAULTY and (errors or event._kind != DATED):
            return ERROR_LOGGED
        trace = event.trace if any(literal in self._exceptions for literal in literals) or level is None else exceptions.Trace()
        if level is None and not trace.chain and trace.loose and _TROUBLE.search(event.header.message):
            return ERROR_LOGGED  # a pasted trace whose first line lost its class
        if not trace.chain or not (trace.printed or level == "WARN"):
            return None
        return ERROR_LOGGED if level is None or level in _FAULTY else EXCEPTION_LOGGED

    def _banner(self, event: Event) -> None:
        message = event.header.message
        if m := _BANNER.search(message):
            self.part.version = m[2]
        elif m := _SPARK.search(message):
            self.part.version = m[1]
        elif m := _CLIENTS.search(message):
            self.part.clients.add(f"kafka-clients {m[1]}")

    def finish(self, newlines: int | None, shift: int | None) -> FilePart:
        """The part as plain rows. `shift` (ms) turns times without a day into dates."""
        part = self.part
        part.newlines = part.lines if newlines is None else newlines
        rows: dict[int, Row] = {}
        moved = _Clock(shift, self._origin.zone)
        for groups, target in ((self._known, part.known), (self._generic, part.generic), (self._edges, part.edges)):
            for group, keep, (key, kept) in groups.entries():
                row = rows.get(id(kept))
                if row is None:
                    row = rows[id(kept)] = kept.row(self._origin, moved)
                target.append((group, keep, (key[0], moved.ms(key[1]) or 0, *key[2:]), row))
        if shift is not None:
            counts = Counts()
            for (signature, job, task, minute), (events, first, last) in part.counts.counts.items():
                counts.counts[(signature, job, task, moved.ms(minute))] = [events, moved.ms(first), moved.ms(last)]
            part.counts = counts
            part.first_ms, part.last_ms = moved.ms(part.first_ms), moved.ms(part.last_ms)
        return part


class _Clock:
    """Turns times without a day into dates; leaves all others alone."""

    def __init__(self, shift: int | None, zone: Zone) -> None:
        self._shift, self._zone = shift, zone

    def ms(self, ms: int | None) -> int | None:
        if ms is None or ms >= FLOATING or self._shift is None:
            return ms
        return self._zone.utc(ms + self._shift)


_NAMES = LOG_EVENTS.names


class _Kept:
    """An event that is kept for one signature; becomes a row at the end, if it is still kept then."""

    __slots__ = ("at", "event", "header", "raw", "signature", "trace", "values", "zone")

    def __init__(self, event: Event, signature: str, values: dict[str, object], at: int | None, zone: str) -> None:
        # a copy of its bytes: an event holds on to its whole block
        self.header, self.trace, self.raw = event.header, event.trace, event.raw()
        self.event = (event.line, event.order)
        self.signature, self.values, self.at, self.zone = signature, values, at, zone

    def row(self, origin: Origin, clock: _Clock) -> Row:
        header, trace = self.header, self.trace
        root, line = trace.root, self.event[0]
        row: dict[str, Any] = dict.fromkeys(_NAMES)
        row.update(client_columns(header.message))
        row.update(
            at=to_datetime(clock.ms(self.at)), zone=self.zone, file=origin.file, line=line, role=origin.role, host=origin.host,
            level=header.level, logger=header.logger, thread=header.thread, signature=self.signature, job=header.job, text=_text(*self.raw),
        )  # fmt: skip
        if root is not None:
            row.update(
                exception=trace.chain[0].kind, root_exception=root.kind, root_message=root.message, chain=trace.described(),
                user_frame=trace.user_frame, frames=trace.frames,
            )  # fmt: skip
        elif trace.loose:
            row.update(user_frame=trace.user_frame, frames=trace.frames)
        row.update(self.values)
        return row
