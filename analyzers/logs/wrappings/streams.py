"""The streams of one wrapped file: their canonical lines wait here until they are scanned, each stream by a scanner of its own."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from analyzers.logs.layouts.roles import host_of, role_of
from analyzers.logs.scan.captures import Catalogue
from analyzers.logs.scan.event_times import NO_TIME
from analyzers.logs.scan.kernel import LINE_LIMIT, Scanner
from analyzers.logs.scan.lines import split_lines
from analyzers.logs.scan.origin import Origin
from analyzers.logs.scan.selection import FilePart

_ROLE_SAMPLE = 64 << 10
_BUFFERED = 8 << 20


def _numbers() -> array[int]:
    return array("q")


@dataclass
class Stream:
    """Lines of one stream that wait to be scanned; each text is one of them or many. `times`: UTC milliseconds, NO_TIME = none."""

    name: str | None
    part: int
    texts: list[bytes] = field(default_factory=list)
    numbers: array[int] = field(default_factory=_numbers)
    orders: array[int] = field(default_factory=_numbers)
    times: array[int] = field(default_factory=_numbers)
    scanner: Scanner | None = None
    partial: bytes = b""
    partial_at: tuple[int, int | None] = (0, None)

    def add(self, text: bytes, numbers: Iterable[int], orders: Iterable[int], time_ms: int | None) -> None:
        """Lines of one record."""
        before = len(self.numbers)
        self.texts.append(text)
        self.numbers.extend(numbers)
        self.orders.extend(orders)
        self.times.extend([NO_TIME if time_ms is None else time_ms] * (len(self.numbers) - before))

    def scan(self) -> None:
        """Hands what waits to the scanner."""
        assert self.scanner is not None
        text = b"\n".join((*self.texts, b"")).replace(b"\r", b"")
        numbers, orders, times = (np.frombuffer(of, np.int64) for of in (self.numbers, self.orders, self.times))
        self.texts, self.numbers, self.orders, self.times = [], _numbers(), _numbers(), _numbers()
        self.scanner.feed_text(text, numbers, orders, times)


class Streams:
    """All streams of one file. `last`, `last_channel`: name and channel of that of the last line."""

    def __init__(self, origin: Origin, catalogue: Catalogue) -> None:
        self._origin, self._catalogue = origin, catalogue
        self._known: dict[tuple[str | None, str], Stream] = {}
        self.last: str | None = None
        self.last_channel = ""
        self.local = False  # some envelope times have no zone
        self._order = 0
        self._buffered = 0

    def all(self) -> list[Stream]:
        """In the order in which they were first met."""
        return list(self._known.values())

    def _stream(self, name: str | None, channel: str) -> Stream:
        self.last, self.last_channel = name, channel
        stream = self._known.get((name, channel))
        if stream is None:
            stream = self._known[name, channel] = Stream(name, len(self._known))
        return stream

    def place(self, name: str | None, channel: str) -> tuple[str | None, str]:
        """Name and channel of the stream that a line belongs to: what lacks its prefix belongs to that of the line before."""
        return (self.last, channel or self.last_channel) if name is None else (name, channel)

    def has_partial(self, name: str | None, channel: str) -> bool:
        """Whether the stream's next line continues a piece."""
        stream = self._known.get((name, channel))
        return stream is not None and bool(stream.partial)

    # ---- in ----------------------------------------------------------------------------------------------------

    def put(self, line: bytes, number: int, name: str | None, time_ms: int | None, channel: str, *, partial: bool = False) -> None:
        """A line, or all lines that one record has. `partial`: the next line of the stream continues it."""
        stream = self._stream(name, channel)
        if partial:
            if not stream.partial:
                stream.partial_at = (number, time_ms)
            stream.partial = (stream.partial + line)[:LINE_LIMIT]
            return
        if stream.partial:
            line, stream.partial = stream.partial + line, b""
            number, time_ms = stream.partial_at
        self._add(stream, line, number, time_ms)

    def put_lines(self, lines: Sequence[bytes], number: int, name: str | None, time_ms: int | None, channel: str) -> None:
        """The lines of one record, the first of which may continue a piece."""
        text = b"\n".join(lines)
        if self.has_partial(name, channel) or self._buffered + len(text) + len(lines) > _BUFFERED:
            for line in lines:
                self.put(line, number, name, time_ms, channel)
        else:
            self._add(self._stream(name, channel), text, number, time_ms)

    def _add(self, stream: Stream, text: bytes, number: int, time_ms: int | None) -> None:
        count = text.count(b"\n") + 1
        if len(text) > LINE_LIMIT:
            text = b"\n".join(line[:LINE_LIMIT] for line in text.split(b"\n"))
        stream.add(text, [number] * count, range(self._order, self._order + count), time_ms)
        self._order += count
        self._note(len(text) + 1)

    def put_together(
        self, texts: Sequence[bytes], numbers: Sequence[int], times: Iterable[int | None], name: str | None, channel: str
    ) -> bool:
        """Lines of one stream; False where they have to be put one by one, then nothing was done."""
        size = sum(map(len, texts)) + len(texts)
        if self.has_partial(name, channel) or self._buffered + size > _BUFFERED or size > LINE_LIMIT:
            return False
        stream = self._stream(name, channel)
        stream.texts += texts
        stream.numbers.extend(numbers)
        stream.orders.extend(range(self._order, self._order + len(texts)))
        stream.times.extend([NO_TIME if time_ms is None else time_ms for time_ms in times])
        self._order += len(texts)
        self._buffered += size
        return True

    def put_silent(self, text: bytes, count: int, number: int) -> None:
        """`count` lines without a time around them in the stream of the last line; none continues a piece. `number` = of the first."""
        stream = self._stream(self.last, self.last_channel)
        while self._buffered + len(text) + 1 > _BUFFERED:  # scanned where it would be line by line: streams are known by their beginning
            ends = split_lines(text)[1] + 1
            fit = min(int(np.searchsorted(ends, _BUFFERED - self._buffered, "right")) + 1, count)
            cut = int(ends[fit - 1])
            self._add_many(stream, text[: cut - 1], fit, number)
            text, number, count = text[cut:], number + fit, count - fit
            if not count:
                return
        self._add_many(stream, text, count, number)

    def _add_many(self, stream: Stream, text: bytes, count: int, number: int) -> None:
        stream.add(text, range(number, number + count), range(self._order, self._order + count), None)
        self._order += count
        self._note(len(text) + 1)

    def _note(self, size: int) -> None:
        self._buffered += size
        if self._buffered > _BUFFERED:
            self._flush()

    # ---- out ---------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        for stream in self._known.values():
            if not stream.texts:
                continue
            if stream.scanner is None:
                stream.scanner = self._scanner(stream)
            stream.scan()
        self._buffered = 0

    def _scanner(self, stream: Stream) -> Scanner:
        origin = self._origin
        if stream.name:
            head = _beginning(stream.texts)
            host = host_of(stream.name, head) or stream.name.split("/", 1)[0]
            origin = replace(origin, file=f"{origin.file}!{stream.name}", role=role_of(stream.name, head) or origin.role, host=host)
        scanner = Scanner(origin, self._catalogue, stream.part)
        scanner.clock.envelope_zone = origin.zone.kind if self.local else "stated"
        return scanner

    def finish(self) -> list[FilePart]:
        """The parts of all streams. Their lines are counted from the start of the file already."""
        for stream in self._known.values():
            if stream.partial:
                rest, stream.partial = stream.partial, b""
                stream.add(rest, [stream.partial_at[0]], [self._order], stream.partial_at[1])
                self._order += 1
        self._flush()
        return [stream.scanner.finish(0) for stream in self._known.values() if stream.scanner is not None]


def _beginning(texts: Sequence[bytes]) -> bytes:
    """The first lines, until they are enough to know a stream by."""
    head = b""
    for text in texts:
        head += text + b"\n"
        if len(head) > _ROLE_SAMPLE:
            return head[: head.index(b"\n", _ROLE_SAMPLE) + 1]
    return head
