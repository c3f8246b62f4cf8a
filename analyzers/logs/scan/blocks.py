"""A stretch of lines in memory, and the events in it in which literals stand: columns, and an `Event` of those that somebody looks at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analyzers.logs.layouts.layouts import Header
from analyzers.logs.scan.events import TEXT_HEAD, Event
from analyzers.logs.scan.hits import Hit
from analyzers.logs.scan.lines import DATED, Ints


@dataclass
class Block:
    """Lines that wait for the end of their event: text, per line kind, place and envelope time; which literals end where in the text."""

    text: bytes
    starts: Ints
    ends: Ints
    kinds: npt.NDArray[np.uint8]
    headers: dict[int, Header]
    lines: Ints
    orders: Ints
    times: Ints
    which: Ints
    where: Ints

    def after(self, line: int, limit: int | None = None) -> Block:
        """From `line` on, at most `limit` bytes of whole lines."""
        if line >= len(self.starts):
            return EMPTY
        offset = int(self.starts[line])
        stop = len(self.starts)
        if limit is not None and len(self.text) - offset > limit:
            stop = max(int(np.searchsorted(self.starts, offset + limit, "right")) - 1, line + 1)
        end = int(self.starts[stop]) if stop < len(self.starts) else len(self.text)
        part = slice(line, stop)
        headers = {number - line: header for number, header in self.headers.items() if line <= number < stop}
        low, high = np.searchsorted(self.where, (offset, end)).tolist()
        return Block(
            self.text[offset:end], self.starts[part] - offset, self.ends[part] - offset, self.kinds[part], headers,
            self.lines[part], self.orders[part], self.times[part], self.which[low:high], self.where[low:high] - offset,
        )  # fmt: skip

    def join(self, more: Block) -> Block:
        if not len(self.starts):
            return more
        size, count = len(self.text), len(self.starts)
        return Block(
            self.text + more.text, np.concatenate((self.starts, more.starts + size)), np.concatenate((self.ends, more.ends + size)),
            np.concatenate((self.kinds, more.kinds)), {**self.headers, **{n + count: h for n, h in more.headers.items()}},
            np.concatenate((self.lines, more.lines)), np.concatenate((self.orders, more.orders)), np.concatenate((self.times, more.times)),
            np.concatenate((self.which, more.which)), np.concatenate((self.where, more.where + size)),
        )  # fmt: skip


class Hits:
    """The events of a block in which literals stand, as columns; an `Event` is made only of those that somebody looks at."""

    def __init__(self, block: Block, begins: Ints, stop: int, end: int, which: Ints, where: Ints, flags: npt.NDArray[np.uint8]) -> None:
        line_of = np.searchsorted(block.starts, where, "right") - 1
        event_of = np.searchsorted(begins, line_of, "right") - 1
        self.block, self.end = block, end
        self._lows = np.append(0, np.flatnonzero(np.diff(event_of)) + 1)
        numbers = event_of[self._lows]
        self.firsts = firsts = begins[numbers]
        stops = np.append(begins[1:], stop)[numbers]
        finishes = np.append(block.starts, end)[stops] if stop == len(block.starts) else block.starts[stops]
        self._which, self._places = which, line_of - begins[event_of]
        self._listed: list[Hit] | None = None
        self._bounds: list[int] = []
        self.first_of, self.stops, self.offsets, self.finishes = (
            firsts.tolist(),
            stops.tolist(),
            block.starts[firsts].tolist(),
            finishes.tolist(),
        )
        self.lines, self.orders = block.lines[firsts].tolist(), block.orders[firsts].tolist()
        self._kinds = block.kinds[firsts].tolist()
        self.flags = np.bitwise_or.reduceat(flags[which], self._lows).tolist()

    def event(self, number: int) -> Event:
        block, first = self.block, self.first_of[number]
        return Event(
            block.text, self.offsets[number], self.finishes[number], first, self.stops[number] - first, block.starts, block.ends,
            self._kinds[number], block.headers.get(first), self.lines[number], self.orders[number], b"", self.flags[number],
        )  # fmt: skip

    def short_text(self, number: int) -> bytes | None:
        """The text of an event that begins with a full date and is no long one; None of all others."""
        offset, finish = self.offsets[number], self.finishes[number]
        return self.block.text[offset:finish] if finish - offset <= TEXT_HEAD and self._kinds[number] == DATED else None

    def hits(self, number: int) -> list[Hit]:
        """Which literals stand on which of the event's lines."""
        if self._listed is None:
            self._listed = list(zip(self._which.tolist(), self._places.tolist(), strict=True))
            self._bounds = [*self._lows.tolist(), len(self._listed)]
        return self._listed[self._bounds[number] : self._bounds[number + 1]]


_NONE = np.zeros(0, np.int64)
EMPTY = Block(b"", _NONE, _NONE, np.zeros(0, np.uint8), {}, _NONE, _NONE, _NONE, _NONE, _NONE)
