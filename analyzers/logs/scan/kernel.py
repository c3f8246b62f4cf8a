"""The kernel: canonical log text in, events and counts out. Pure: no files, no Spark, any block sizes give the same result.

A `Scanner` is fed the text of one file (or of one split of it, or of one stream inside of a wrapping) in pieces. It finds where
events begin (`lines.py`), searches all literals of all signatures in the raw bytes at once (`matcher.py`), and parses only the
events in which one was found. An event is complete when the next one begins.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from analyzers.budget import BUDGET
from analyzers.logs.layouts.timestamps import DAY
from analyzers.logs.matching.expressions import expression
from analyzers.logs.scan.blocks import EMPTY, Block, Hits
from analyzers.logs.scan.captures import DIGITS, DIRTY, STAMPED, START, Catalogue
from analyzers.logs.scan.event_times import NO_TIME, EventTimes
from analyzers.logs.scan.events import Event
from analyzers.logs.scan.lines import BARE, STARTER, BareLines, Ints, Lines, classify, split_lines
from analyzers.logs.scan.memo import UNSEEN
from analyzers.logs.scan.origin import Clock, Origin
from analyzers.logs.scan.recorder import Outcome, Recorder, Stretch
from analyzers.logs.scan.selection import FilePart

WINDOW = 2 << 20
LINE_LIMIT = BUDGET.line_bytes
EVENT_LIMIT = BUDGET.event_bytes
HEADER_CLIP = 64 << 10
TAIL = 2 << 10
MEMO_EVENT = 8 << 10  # of a longer event what it says is not remembered
TO_THE_DIGIT = DIGITS | START  # a text with such a literal is the same only if all its digits are
_WRITTEN = (b"", b"[", b"/", b"[/")  # how a stamp is written: the same words behind another form may be read otherwise

_COLOURS = expression(rb"\x1b\[[0-9;?]*[ -/]*[@-~]")
# What Spark's console redraws in place, without a line break: the next event is glued to it.
_PROGRESS = expression(rb"^(?:[\r ]*\[Stage \d+:[=> ]*\(\d+ \+ \d+\) / \d+\])+[\r ]*(?=\S|$)", re.MULTILINE)
_CALM = expression(
    rb"\b(?:INFO|INFORMATION|DEBUG|TRACE|FINE|CONFIG|NOTICE|[Ii]nfo(?:rmation)?|[Dd]ebug|INF|DBG)\b|^[ID]\d{4} |%[67]\|", re.MULTILINE
)
_LOUD = expression(rb"^.{0,200}?\b(?:WARN(?:ING)?|ERROR|FATAL|SEVERE|CRITICAL|[Ww]arn(?:ing)?|[Ee]rror|[Ff]atal)\b", re.MULTILINE)


class TooManyLines(ValueError):
    """A text that would take minutes and says nothing: the message is a clause about it."""


class Scanner:
    """Reads one contiguous stretch of canonical text. Feed it, then `finish()`."""

    def __init__(self, origin: Origin, catalogue: Catalogue, part: int = 0) -> None:
        self.origin = origin
        self._matcher, self._flags = catalogue.matcher, catalogue.flags
        self._memo = catalogue.memo
        self._out = Recorder(origin, catalogue, part)
        self._partial = b""
        self._skipping = False  # the rest of a line that is too long
        self._line = 1
        self._block = EMPTY
        self._dropped: bytes | None = None  # the last bytes of what an event that is too large has lost
        self._bare: BareLines | None = BareLines()  # until the first header
        self.clock = Clock(origin)
        self._begun = False
        self._weight = self._size = 0
        self._unended = 0  # lines without a line break that were counted already

    # ---- raw text ---------------------------------------------------------------------------------------------

    def feed(self, chunk: bytes, *, last: bool = False) -> None:
        """More raw text, cut anywhere. `last`: nothing follows, so that the last event need not wait (small files are read in one go)."""
        if not self._begun and (self._partial or len(chunk) >= 3):
            self._begun = True
            chunk = (self._partial + chunk).removeprefix(b"\xef\xbb\xbf")
            self._partial = b""
        if last and not self._skipping:
            text = self._partial + chunk
            if not _has_long_line(text):
                self._partial = b""
                self._take(text, last=True)
                self._unended = int(bool(text) and not text.endswith(b"\n"))
                return
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            self._hold(chunk)
            return
        if self._skipping:
            whole = self._partial + chunk[chunk.index(b"\n") : cut]
        else:
            # one copy of what is held back, the lines of the last event among it: they are looked at once more, which costs less
            whole = b"".join((self._held_back(), self._partial, memoryview(chunk)[:cut]))
        self._partial, self._skipping = b"", False
        self._hold(chunk[cut:])
        self._whole_lines(whole)

    def window(self, text: bytes, *, last: bool = False) -> int:
        """How much of `text` was read: whole events, so that what is fed next begins with the first byte that was not. No byte is copied.

        0 where that is not possible (an event larger than `text`, a header of no fixed form, colours): then `feed` has to be used.
        """
        if (self._begun and (self._bare is not None or len(self._block.starts) or self._partial)) or b"\0" in text or b"\x1b" in text:
            return 0
        which, where = self._matcher.scan(text)
        if _has_long_line(text) or (self._flags[which] & DIRTY).any():
            return 0
        found = classify(text)
        begins = np.flatnonzero(found.kinds)
        if not last and len(begins) and begins[-1] == len(found.starts) - 1 and not text.endswith(b"\n"):
            begins = begins[:-1]  # of a line that is not whole nobody knows what it is
        if not len(begins) or begins[0] or found.kinds[0] == STARTER:
            return 0
        stop = len(found.starts) if last else int(begins[-1])
        if not stop:
            return 0
        count = len(found.starts)
        lines = np.arange(self._line, self._line + count, dtype=np.int64)
        block = Block(
            text, found.starts, found.ends, found.kinds, found.headers, lines, np.zeros(count, np.int64), np.full(count, NO_TIME, np.int64),
            which, where,
        )  # fmt: skip
        self._begun, self._bare = True, None
        self._line += stop
        self._out.part.lines += stop
        self._events(block, begins if last else begins[:-1], stop)
        if last:
            self._unended = int(not text.endswith(b"\n"))
        self._within(stop, int(found.starts[stop]) if stop < count else len(text))
        return int(found.starts[stop]) if stop < count else len(text)

    def _held_back(self) -> bytes:
        """The text of the last event, taken back as if it had never come; empty where that cannot be."""
        block = self._block
        if self._bare is not None or self._dropped is not None or len(block.text) > HEADER_CLIP:
            return b""
        self._block = EMPTY
        self._line -= len(block.starts)
        self._out.part.lines -= len(block.starts)
        return block.text

    def _hold(self, piece: bytes) -> None:
        if self._skipping:
            return
        self._partial += piece
        if len(self._partial) > LINE_LIMIT:
            self._partial, self._skipping = self._partial[:LINE_LIMIT], True
            self._out.part.cut += 1

    def _whole_lines(self, text: bytes) -> None:
        if _has_long_line(text):
            starts, ends = split_lines(text)
            self._out.part.cut += int((ends - starts > LINE_LIMIT).sum())
            text = b"".join(text[s : min(e, s + LINE_LIMIT)] + b"\n" for s, e in zip(starts.tolist(), ends.tolist(), strict=True))
        self._take(text)

    # ---- normalised text ---------------------------------------------------------------------------------------

    def feed_text(self, text: bytes, numbers: Ints, orders: Ints, times: Ints) -> None:
        """More whole lines out of a wrapping, none longer than the limit: of each its source line, order in the file, and the time of the
        envelope (UTC ms, NO_TIME = none)."""
        self._begun = True
        self._take(text, (numbers, orders, times))

    # ---- events ------------------------------------------------------------------------------------------------

    def _take(self, text: bytes, places: tuple[Ints, Ints, Ints] | None = None, *, last: bool = False) -> None:
        """Whole lines; `places` = their numbers, orders and envelope times, where they come out of a wrapping."""
        text, which, where = self._searched(text)
        found = classify(text)
        count = len(found.starts)
        if not count:
            return
        if places is None:
            numbers = np.arange(self._line, self._line + count, dtype=np.int64)
            places = (numbers, np.zeros(count, np.int64), np.full(count, NO_TIME, np.int64))
            self._line += count
        bare = self._out.part.unparsed
        kinds = self._bare_starts(text, found)
        self._within(count + 7 * (self._out.part.unparsed - bare), len(text))
        self._out.part.lines += len(found.starts)
        more = Block(text, found.starts, found.ends, kinds, found.headers, *places, which, where)
        if self._dropped is not None:
            more = self._drop(more)
        block = self._block.join(more)
        begins = np.flatnonzero(block.kinds)
        if last:
            self._events(block, begins, len(block.starts))
            self._dropped, self._block = None, EMPTY
            return
        newest = int(begins[-1])
        if newest:
            self._events(block, begins[:-1], newest)
            self._dropped = None
        rest = block.after(newest)
        if self._dropped is None and len(rest.text) > EVENT_LIMIT:
            kept = rest.after(0, EVENT_LIMIT)
            self._dropped = rest.text[len(kept.text) :][-TAIL:] if len(kept.text) < len(rest.text) else None
            rest = kept
        self._block = rest

    def _within(self, lines: int, size: int) -> None:
        """Raises `TooManyLines` where there is more to do than the bytes are worth."""
        self._weight += lines
        self._size += size
        count = max(1, self._out.part.lines)
        if self._weight > BUDGET.short_lines and self._size < BUDGET.short_line_bytes * count:
            self._partial = b""
            raise TooManyLines(f"has {count:,} lines of {self._size // count} characters, as no log has; what follows was not read")

    def _searched(self, text: bytes) -> tuple[bytes, Ints, Ints]:
        """The text as it is to be read, and where which literals end in it."""
        if b"\0" in text or b"\x1b" in text:
            text = clean(text)
        which, where = self._matcher.scan(text)
        dirty = self._flags[which] & DIRTY != 0
        if dirty.any():
            plain = clean(text)
            if plain != text:
                text = plain
                which, where = self._matcher.scan(text)
                dirty = self._flags[which] & DIRTY != 0
            which, where = which[~dirty], where[~dirty]
        return text, which, where

    def _drop(self, more: Block) -> Block:
        """Without the lines that belong to an event which is too large already."""
        begins = np.flatnonzero(more.kinds)
        kept = more.after(int(begins[0])) if len(begins) else EMPTY
        self._dropped = ((self._dropped or b"") + more.text[: len(more.text) - len(kept.text)])[-TAIL:]
        return kept

    def _bare_starts(self, text: bytes, found: Lines) -> npt.NDArray[np.uint8]:
        """Adds the events of lines before the first header; below a header only headers begin events."""
        kinds = found.kinds
        if self._bare is None:
            return kinds
        timed = np.flatnonzero((kinds != 0) & (kinds != STARTER))
        until = int(timed[0]) if len(timed) else len(kinds)
        for number in range(until):
            begins = self._bare.begins(text[found.starts[number] : min(found.ends[number], found.starts[number] + 512)])
            if begins and not kinds[number]:
                kinds[number] = BARE
        self._out.part.unparsed += until
        if len(timed):
            self._bare = None
        return kinds

    def finish(self, newlines: int | None = None) -> FilePart:
        """No more text: the last event is complete. `newlines` = line breaks of the part, where its lines do not tell them."""
        newlines = self._out.part.lines - self._unended if newlines is None else newlines
        if self._partial:
            rest, self._partial = self._partial, b""
            self._whole_lines(rest)
        if len(self._block.starts):
            self._events(self._block, np.flatnonzero(self._block.kinds), len(self._block.starts))
            self._block = EMPTY
        shift = None
        if self.clock.floats and self.origin.last_date_ms is not None and self.clock.now is not None:
            shift = self.origin.last_date_ms - self.clock.now.ms // DAY * DAY
        return self._out.finish(newlines, shift)

    def _events(self, block: Block, begins: Ints, stop: int) -> None:
        """The events that begin at lines `begins`; the last of them ends before line `stop`."""
        out = self._out
        out.part.events += len(begins)
        end = int(block.starts[stop]) if stop < len(block.starts) else len(block.text)
        if not out.part.calm:
            out.part.calm = _CALM.search(block.text, 0, end) is not None
            out.part.loud += 0 if out.part.calm else sum(1 for _ in _LOUD.finditer(block.text, int(block.starts[begins[0]]), end))
        times = EventTimes(self.clock, block, begins)
        hits = int(np.searchsorted(block.where, end))
        if hits:
            self._hit_events(block, begins, stop, end, block.which[:hits], block.where[:hits], times)
        times.note_edges(out.part)
        self.clock.now = times.clock_after()

    def _hit_events(self, block: Block, begins: Ints, stop: int, end: int, which: Ints, where: Ints, times: EventTimes) -> None:
        """Hands over the events in which a literal stands, each with its hits; of a text that was seen before, without looking again."""
        out, text, memo = self._out, block.text, self._memo
        hit = Hits(block, begins, stop, end, which, where, self._flags)
        ats, afters, written = times.plain(hit.firsts)
        stretch = Stretch(hit, ats, times.zone)
        said = stretch.said
        for i, (at, offset, finish, after, how, flags) in enumerate(
            zip(ats, hit.offsets, hit.finishes, afters, written, hit.flags, strict=True)
        ):
            if finish - offset > EVENT_LIMIT or (hit.first_of[i] == 0 and self._dropped):
                self._large(stretch, hit, i, times)
                continue
            if at is None or finish - after > MEMO_EVENT or (out.bounded and flags & START):
                outcome = self._unknown(stretch, hit, i, None, times)
            else:
                if out.bounded and out.outside(at):
                    continue
                by_shape = not flags & TO_THE_DIGIT
                # who looks at the stamp and sees no digits: of one shape with it all are the same
                words = text[offset:finish] if by_shape and flags & STAMPED else _WRITTEN[how] + text[after:finish]
                outcome = memo.of(words, by_shape)
                if outcome is UNSEEN:
                    outcome = self._unknown(stretch, hit, i, words, times)
            if outcome is not None:
                said[outcome].append(i)
        out.take(stretch)

    def _unknown(self, stretch: Stretch, hit: Hits, i: int, words: bytes | None, times: EventTimes) -> Outcome | None:
        """What an event says whose text was not seen before; `words` = its text, to be remembered, if it is worth that."""
        event, hits, flags = hit.event(i), hit.hits(i), hit.flags[i]
        reading = self._out.read(event, hits)
        outcome = None if reading is None else Outcome(reading)
        if words is not None:
            if flags & TO_THE_DIGIT:
                if not (flags & STAMPED and any(not place and self._flags[literal] & STAMPED for literal, place in hits)):
                    self._memo.remember(words, outcome)
            elif outcome is not None and outcome.parts is None:
                self._memo.own(words, outcome)
            else:
                parts, renamed = (outcome.parts or (), outcome.renamed) if outcome is not None else ((), None)
                any_ids = self._memo.holds_for_any_ids(words) or self._out.says_with_other_ids(event, hits, outcome)
                self._memo.remember_shape(words, outcome, parts, renamed, any_ids=any_ids)
        if reading is not None:
            stretch.readings[i] = reading
            if stretch.ats[i] is None:
                stretch.ats[i], stretch.zones[i] = times.of(event.first_line)
            if self._out.bounded and self._out.outside(stretch.ats[i]):
                self._out.note(reading.banner)
                return None
        return outcome

    def _large(self, stretch: Stretch, hit: Hits, i: int, times: EventTimes) -> None:
        """Hands over an event of which only the beginning is looked at."""
        event = self._large_event(hit.block, hit.first_of[i], hit.stops[i], hit.end)
        hits = [(literal, place) for literal, place in hit.hits(i) if place < event.line_count]
        event.flags = int(np.bitwise_or.reduce(self._flags[[literal for literal, _ in hits]])) if hits else 0
        reading = self._out.read(event, hits)
        if reading is not None:
            stretch.events[i], stretch.readings[i] = event, reading
            stretch.ats[i], stretch.zones[i] = times.of(event.first_line)
            if self._out.outside(stretch.ats[i]):
                self._out.note(reading.banner)
            else:
                stretch.said[Outcome(reading)].append(i)

    def _large_event(self, block: Block, first: int, stop: int, end: int) -> Event:
        """An event of which only the beginning is looked at."""
        offset = int(block.starts[first])
        finish = int(block.starts[stop]) if stop < len(block.starts) else end
        tail = b""
        if finish - offset > EVENT_LIMIT:
            clipped = max(int(np.searchsorted(block.starts, offset + EVENT_LIMIT, "right")) - 1, first + 1)
            tail = block.text[int(block.starts[clipped]) : finish][-TAIL:] if clipped < stop else b""
            stop = clipped
            finish = int(block.starts[stop]) if stop < len(block.starts) else end
        elif self._dropped and first == 0:
            tail = self._dropped
        return Event(
            block.text, offset, finish, first, stop - first, block.starts, block.ends, int(block.kinds[first]), block.headers.get(first),
            int(block.lines[first]), int(block.orders[first]), tail,
        )  # fmt: skip


def _has_long_line(text: bytes) -> bool:
    """Whether a line is longer than the limit: it then lies across a multiple of the limit."""
    for at in range(LINE_LIMIT, len(text), LINE_LIMIT):
        start, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
        if (len(text) if end < 0 else end) - start > LINE_LIMIT:
            return True
    return False


def clean(text: bytes) -> bytes:
    """Without terminal colours, Spark's progress bars and NUL bytes (what a truncated, still open file begins with); no line break is lost.

    What is clean stays as it is, however often it is cleaned: text that is looked at twice says the same.
    """
    if b"\0" in text:
        text = text.replace(b"\0", b"")
    if b"\x1b" in text:  # one byte is found ten times as quickly as two
        while b"\x1b[" in text and (plain := _COLOURS.sub(b"", text)) != text:
            text = plain
    return _without_progress(text) if b"[Stage " in text else text


def _without_progress(text: bytes) -> bytes:
    """Looks at the lines that hold a bar, not at the beginning of each: a hundredth of the time."""
    kept, done, at = [], 0, text.find(b"[Stage ")
    while at >= 0:
        start = text.rfind(b"\n", 0, at) + 1
        if bar := _PROGRESS.match(text, start):
            kept.append(text[done:start])
            done = bar.end()
        end = text.find(b"\n", at)
        at = text.find(b"[Stage ", end) if end >= 0 else -1
    return b"".join((*kept, text[done:]))
