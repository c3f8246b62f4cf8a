"""One event: its parts, parsed when asked for; and the recorder that matches it, counts it and keeps it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

from analyzers.logs import exceptions
from analyzers.logs.captures import ERROR, EXCEPTION, SIGNED, START, Catalogue, Prepared, client_columns, columns
from analyzers.logs.layouts import Header, dated_header, parse_bare, parse_starter
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
    GroupKey,
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
WAITING = 4096  # events whose fate is not decided yet
_FAULTY = ("ERROR", "FATAL")
_NO_TRACE = exceptions.Trace()  # shared: nothing changes a trace once it is parsed

_TROUBLE = re.compile(r"fail|error|exception|expir|timed? ?out|refused|lost", re.IGNORECASE)
_BANNER = re.compile(r"Starting ([^(]*?) ?\(Version: ([^,)]+)")
_SPARK = re.compile(r"Running Spark version (\S+)")
_CLIENTS = re.compile(r"Kafka version ?: (\S+)")


class Times(Protocol):
    """Gives the UTC milliseconds of the event at a line of its block, and how the zone is known."""

    def of(self, line: int) -> tuple[int | None, str]: ...


class Event:
    """One event inside of its block of text; nothing is decoded before it is asked for."""

    __slots__ = (
        "_block",
        "_ends",
        "_head",
        "_header",
        "_starts",
        "_tail",
        "_trace",
        "end",
        "first_line",
        "flags",
        "kind",
        "line",
        "line_count",
        "order",
        "start",
    )

    def __init__(
        self, block: bytes, start: int, end: int, first_line: int, line_count: int, starts: Ints, ends: Ints, kind: int,
        header: Header | None, line: int, order: int, tail: bytes, flags: int = 0,
    ) -> None:  # fmt: skip
        self._block, self.start, self.end = block, start, end
        self.first_line, self.line_count = first_line, line_count
        self._starts, self._ends, self.kind, self._header = starts, ends, kind, header
        self.line, self.order, self._tail, self.flags = line, order, tail, flags
        self._head: Header | None = None
        self._trace: exceptions.Trace | None = None

    def line_text(self, number: int) -> str:
        """Line `number` of the event (0 = header), decoded."""
        at = self.first_line + number
        return self._block[self._starts[at] : self._ends[at]].decode("utf-8", "replace")

    @property
    def header(self) -> Header:
        """What the first line says; parsed once."""
        if self._head is None:
            self._head = self._parsed_header()
        return self._head

    def _parsed_header(self) -> Header:
        if self._header is not None and self.kind != BARE:
            return self._java_util_logging(self._header)
        first = self.line_text(0)[: 64 << 10]
        if self.kind == DATED:
            return dated_header(first)
        return (parse_starter(first) if self.kind == STARTER else None) or parse_bare(first)

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

    @property
    def trace(self) -> exceptions.Trace:
        """The exception chain; parsed once."""
        if self._trace is None:
            self._trace = self._parsed_trace()
        return self._trace

    def _parsed_trace(self) -> exceptions.Trace:
        if self.line_count == 1 and not self.flags & EXCEPTION and b"\tat " not in self._block[self.start : self.end]:
            return _NO_TRACE  # the words that `might_hold` asks for are literals, and none of them was found
        message, more = self.header.message, self.continuation(TRACED)
        if exceptions.might_hold(message) or exceptions.might_hold(more):
            return exceptions.parse(message, more)
        return _NO_TRACE

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


class Source(Protocol):
    """Makes the events of one block when they are asked for: most are only counted."""

    def event(self, number: int) -> Event: ...


class Outcome:
    """What the text of an event, all but its time stamp, says: the groups in which it counts. The same for every event of that text."""

    __slots__ = ("generic", "header", "known", "trace")

    def __init__(self, event: Event, known: tuple[Known, ...], generic: tuple[str, GroupKey] | None) -> None:
        self.header, self.trace, self.known, self.generic = event.header, event.trace, known, generic


Known = tuple[Prepared, GroupKey, "re.Match[str] | None"]


class _Seen:
    """An event that a signature, or none, knows; it waits until the block is done: only then is it clear which ones stay."""

    __slots__ = ("_kept", "at", "key", "match", "number", "outcome", "signature", "source", "zone")

    def __init__(
        self,
        key: Key,
        source: Source,
        number: int,
        outcome: Outcome,
        signature: str,
        match: re.Match[str] | None,
        at: int | None,
        zone: str,
    ) -> None:
        self.key, self.source, self.number, self.outcome = key, source, number, outcome
        self.signature, self.match, self.at, self.zone = signature, match, at, zone
        self._kept: _Kept | None = None

    def kept(self) -> _Kept:
        """What a group keeps of it: the same for all groups."""
        if self._kept is None:
            values = columns(self.match.groupdict()) if self.match is not None else {}
            self._kept = _Kept(self.source.event(self.number), self.outcome, self.signature, values, self.at, self.zone)
        return self._kept


_Waiting = dict[GroupKey, list[_Seen]]


class Recorder:
    """Matches the events of one part of a file, counts them, keeps the first and last of each group.

    Events wait, by group, until `flush`: of a group with many events in a block all but a few are only counted.
    """

    def __init__(self, origin: Origin, catalogue: Catalogue, part: int) -> None:
        self.part = FilePart(origin.file, origin.order, part, origin.role, origin.host)
        self._origin, self._catalogue = origin, catalogue
        self._known, self._generic, self._edges = Groups(SIGNATURE_GROUPS), Groups(GENERIC_GROUPS), Groups(1)
        self._waiting_known: dict[GroupKey, tuple[Prepared, list[_Seen]]] = {}
        self._waiting_generic: _Waiting = {}
        self._waiting = 0
        self._bounded = origin.since_ms is not None or origin.until_ms is not None

    def judge(self, event: Event, hits: Iterable[tuple[int, int]]) -> Outcome | None:
        """What an event with these literal hits (literal, line of the event) says; None if nobody wants it."""
        flags = event.flags
        found = self._matches(event, hits) if flags & SIGNED else None
        generic = None if found else self._generic_kind(event)
        if flags & START:
            self._banner(event)
        if not found and generic is None:
            return None
        root = event.trace.root
        root_kind = root.kind if root else None
        if generic is not None:
            header = event.header
            return Outcome(event, (), (generic, (generic, header.logger, root_kind, mask(header.message), header.job)))
        known: list[Known] = []
        for prepared, match in (found or {}).values():
            names, job, task = prepared.names, None, None
            if match is not None:
                job = match["job"] if "job" in names else None
                task = match["task"] if "task" in names else None
            known.append((prepared, (prepared.signature.id, job or event.header.job, task, root_kind), match))
        return Outcome(event, tuple(known), None)

    def take(self, outcome: Outcome, source: Source, number: int, line: int, order: int, at: int | None, zone: str) -> None:
        """One event: number `number` of `source`, at `at` (UTC ms)."""
        if self._bounded and at is not None and self._outside(at):
            return
        key: Key = (at is None, at or 0, self._origin.order, line, order)
        self._waiting += 1
        for prepared, group, match in outcome.known:
            seen = _Seen(key, source, number, outcome, prepared.signature.id, match, at, zone)
            waiting = self._waiting_known.get(group)
            if waiting is None:
                self._waiting_known[group] = (prepared, [seen])
            else:
                waiting[1].append(seen)
        if outcome.generic is not None:
            kind, group = outcome.generic
            self._waiting_generic.setdefault(group, []).append(_Seen(key, source, number, outcome, kind, None, at, zone))
        if self._waiting >= WAITING:
            self.flush()

    def _outside(self, at: int) -> bool:
        since, until = self._origin.since_ms, self._origin.until_ms
        return (since is not None and at < since) or (until is not None and at >= until)

    def flush(self) -> None:
        """Counts what waits, and keeps what is to be kept: no event holds on to its block of text any longer."""
        counts = self.part.counts
        for group, (prepared, waiting) in self._waiting_known.items():
            counts.add(prepared.signature.id, group[1], group[2], [seen.at for seen in waiting])
            self._known.group(group, prepared.signature.keep).add_all(waiting)
        errors: list[_Seen] = []
        for (*group_key, job), waiting in self._waiting_generic.items():
            kind = waiting[0].signature
            counts.add(kind, job, None, [seen.at for seen in waiting])
            if kind == ERROR_LOGGED:
                errors += waiting
            self._generic.group(tuple(group_key), GENERIC_KEEP).add_all(waiting)
        if errors:
            self._edges.group((ERROR_LOGGED,), EDGE_KEEP).add_all(errors)
        self._waiting_known, self._waiting_generic, self._waiting = {}, {}, 0

    def _matches(self, event: Event, hits: Iterable[tuple[int, int]]) -> dict[int, tuple[Prepared, re.Match[str] | None]]:
        """Signatures that match, each with its match where it has an expression."""
        found: dict[int, tuple[Prepared, re.Match[str] | None]] = {}
        failed: set[int] | None = None  # in a text that is the same for all hits
        header = event.header
        whole: str | None = None
        by_literal = self._catalogue.by_literal
        for literal, line in hits:
            for number, prepared in by_literal[literal]:
                if number in found or (failed and number in failed):
                    continue
                if prepared.picky and not prepared.fits(header.level, header.logger):
                    continue
                if prepared.pattern is None:
                    found[number] = (prepared, None)
                    continue
                where = prepared.signature.where
                if where == "message":
                    text = header.message
                elif where == "event":
                    if whole is None:
                        whole = header.message + ("\n" + event.continuation(MATCHED) if event.line_count > 1 else "")
                    text = whole
                else:
                    text = event.line_text(line).strip()
                match = prepared.pattern.search(text if len(text) <= MATCHED else text[:MATCHED])
                if match is not None:
                    found[number] = (prepared, match)
                elif where != "line":
                    failed = {number} if failed is None else failed | {number}
        return found

    def _generic_kind(self, event: Event) -> str | None:
        """error-logged, exception-logged or None, for an event that no signature knows."""
        level = event.header.level
        if level in _FAULTY and (event.flags & ERROR or event.kind != DATED):
            return ERROR_LOGGED
        trace = event.trace if event.flags & EXCEPTION or level is None else _NO_TRACE
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
        self.flush()
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

    def __init__(self, event: Event, outcome: Outcome, signature: str, values: dict[str, object], at: int | None, zone: str) -> None:
        # a copy of its bytes: an event holds on to its whole block
        self.header, self.trace, self.raw = outcome.header, outcome.trace, event.raw()
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
