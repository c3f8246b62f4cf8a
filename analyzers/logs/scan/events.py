"""One event: its parts, parsed when asked for."""

from __future__ import annotations

from collections.abc import Sequence

from analyzers.logs.layouts import exceptions
from analyzers.logs.layouts.layouts import Header, dated_header, parse_bare, parse_starter
from analyzers.logs.scan.captures import EXCEPTION
from analyzers.logs.scan.lines import BARE, DATED, STARTER, Ints

TEXT_HEAD, TEXT_TAIL = 8 << 10, 2 << 10
MATCHED = 64 << 10  # what an expression over a whole event sees
TRACED = 512 << 10  # what the exception chain is parsed from
NO_TRACE = exceptions.Trace()  # shared: nothing changes a trace once it is parsed

Places = Ints | Sequence[int]


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
        self, block: bytes, start: int, end: int, first_line: int, line_count: int, starts: Places, ends: Places, kind: int,
        header: Header | None, line: int, order: int, tail: bytes, flags: int = 0,
    ) -> None:  # fmt: skip
        self._block, self.start, self.end = block, start, end
        self.first_line, self.line_count = first_line, line_count
        self._starts, self._ends, self.kind, self._header = starts, ends, kind, header
        self.line, self.order, self._tail, self.flags = line, order, tail, flags
        self._head: Header | None = None
        self._trace: exceptions.Trace | None = None

    def saying(self, text: bytes) -> Event:
        """The event, had it another `text` of the same length whose lines are as long. Only for one that begins with a full date."""
        lines = slice(self.first_line, self.first_line + self.line_count)
        starts, ends = ([int(at) - self.start for at in places[lines]] for places in (self._starts, self._ends))
        return Event(text, 0, len(text), 0, self.line_count, starts, ends, self.kind, None, self.line, self.order, b"", self.flags)

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

    @header.setter
    def header(self, header: Header) -> None:
        self._head = header

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
        return decoded(self._block[int(self._starts[self.first_line + 1]) : min(self.end, self.start + clip)])

    def whole(self) -> str:
        """Message and all continuation lines, clipped."""
        return self.header.message + ("\n" + self.continuation(MATCHED) if self.line_count > 1 else "")

    @property
    def trace(self) -> exceptions.Trace:
        """The exception chain; parsed once."""
        if self._trace is None:
            self._trace = self._parsed_trace()
        return self._trace

    def _parsed_trace(self) -> exceptions.Trace:
        if self.line_count == 1 and not self.flags & EXCEPTION and b"\tat " not in self._block[self.start : self.end]:
            return NO_TRACE  # the words that `might_hold` asks for are literals, and none of them was found
        message, more = self.header.message, self.continuation(TRACED)
        if exceptions.might_hold(message) or exceptions.might_hold(more):
            return exceptions.parse(message, more)
        return NO_TRACE

    def raw(self) -> tuple[bytes, bytes]:
        """The event as written: all of it, or its first 8 kB and its last 2 kB."""
        if self.end - self.start <= TEXT_HEAD + TEXT_TAIL and not self._tail:
            return self._block[self.start : self.end], b""
        last = self._tail or self._block[max(self.end - TEXT_TAIL, self.start + TEXT_HEAD) : self.end]
        return self._block[self.start : self.start + TEXT_HEAD], last


def decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace").replace("\r\n", "\n")


def shown(first: bytes, last: bytes) -> str:
    """The text of an event as `raw` gave it."""
    whole = decoded(first).rstrip("\n")
    return f"{whole}\n…\n{decoded(last)}".rstrip("\n") if last else whole
