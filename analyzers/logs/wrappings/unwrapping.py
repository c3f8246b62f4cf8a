"""From a wrapped file to canonical lines per stream: lines are peeled many at a time, or one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple, cast

from analyzers.logs.layouts.sections import heading
from analyzers.logs.scan.captures import Catalogue
from analyzers.logs.scan.lines import split_lines
from analyzers.logs.scan.origin import Origin
from analyzers.logs.scan.selection import FilePart
from analyzers.logs.wrappings import cluster_events, documents, pasted
from analyzers.logs.wrappings.envelopes import BY_NAME, ENVELOPES, Syslog
from analyzers.logs.wrappings.quick_peeling import NAMES, Quick, Quickly
from analyzers.logs.wrappings.records import Record
from analyzers.logs.wrappings.silent_records import Form, raw_matcher, silent_runs
from analyzers.logs.wrappings.streams import Streams
from analyzers.logs.wrappings.wrappings import OUTER, Wrapping, peel_all

_LINE_FEED, _RETURN = 10, 13
_MUCH = 16 << 10  # of a text in which many lines at a time are worth a try
_WORTHWHILE = 4  # such a try has to spare one in so many lines; else the file is read without it
_FEW = 4  # lines that are put one by one
_BATCH = 64  # lines that are handed on together if they have one stream
_READERS = {"csv": documents.read_csv, cluster_events.DOCUMENT: cluster_events.read}


class Unwrapper:
    """Takes the lines of one wrapped file; `finish` gives a part for each of its streams."""

    def __init__(self, origin: Origin, wrapping: Wrapping, catalogue: Catalogue) -> None:
        self.cut = False  # whether an export had more records than are read
        self._origin, self._wrapping, self._catalogue = origin, wrapping, catalogue
        self._streams = Streams(origin, catalogue)
        self._section: list[str] = []
        self._singly = False  # no more tries to take many lines at a time
        chosen = [BY_NAME[name] for name in dict.fromkeys(wrapping.names)]
        envelopes = [*chosen, *(e for e in ENVELOPES if e.always and e.name not in wrapping.names)]
        quick = not wrapping.sections and NAMES.issuperset(wrapping.names)
        self._quick = Quick(origin.zone) if quick else None
        self._peels = [(e.name, Syslog(origin.year, origin.newest_ms) if e.name == "syslog" else e.peel) for e in envelopes]

    # ---- many lines at a time ------------------------------------------------------------------------------------

    def lines(self, lines: Iterable[tuple[bytes, int]]) -> None:
        """Raw lines with their numbers."""
        if self._quick is None:
            for line, number in lines:
                self._line(line, number)
            return
        source = iter(lines)
        while batch := list(islice(source, _BATCH)):
            raw, numbers = zip(*batch, strict=True)
            self._peel_together(raw, numbers)

    def runs(self, runs: Iterable[bytes]) -> None:
        """The raw text of a file, in pieces of whole lines."""
        first = 1
        for text in runs:
            if first == 1:  # what is told of the others by the first ones
                first += self._peel_text(text[: (cut := _after(text, _BATCH))], first)
                text = text[cut:]
            form = None if self._singly or self._quick is None or self._streams.last is not None else self._quick.form
            if form is None or len(text) < _MUCH or _RETURN in text:
                first += self._peel_text(text, first)
            else:
                first += self._peel_records(text, first, form)

    def _peel_text(self, text: bytes, first: int) -> int:
        """Gives how many lines it has."""
        lines = text.split(b"\n")
        if not lines[-1]:
            lines.pop()
        if self._quick is None:
            self.lines(zip(lines, range(first, first + len(lines)), strict=True))
        else:
            for at in range(0, len(lines), _BATCH):
                raw = lines[at : at + _BATCH]
                self._peel_together(raw, range(first + at, first + at + len(raw)))
        return len(lines)

    def _peel_records(self, text: bytes, first: int, form: Form) -> int:
        """Records of `form`, most of which need not be looked at one by one; gives how many lines they are."""
        breaks = split_lines(text)[1]
        at, spared, count = 0, 0, len(breaks)

        def between(start: int, stop: int) -> bytes:
            return text[int(breaks[start - 1]) + 1 if start else 0 : int(breaks[stop - 1]) + 1]

        for run in silent_runs(text, breaks, form, raw_matcher(self._catalogue.matcher.literals)):
            if run.start > at:
                self._peel_text(between(at, run.start), first + at)
            start, silent = run.start, run.text
            if self._streams.has_partial(*self._streams.place(None, "")):
                self._peel_text(between(start, start + 1), first + start)
                start, silent = start + 1, silent.partition(b"\n")[2]
            self._streams.put_silent(silent, run.stop - start, first + start)
            at, spared = run.stop, spared + run.stop - start
        if at < count:
            self._peel_text(between(at, count), first + at)
        self._singly = spared * _WORTHWHILE < count
        return count

    def _peel_together(self, raw: Sequence[bytes], numbers: Sequence[int]) -> None:
        assert self._quick is not None
        found = self._quick.peel_all(raw)
        if self._put_together(found, numbers):
            return
        begun = 0
        for at, peeled in enumerate((*found, None)):
            if peeled is not None and _LINE_FEED not in peeled[2]:
                continue
            if at - begun < _FEW or not self._put_together(found[begun:at], numbers[begun:at]):
                for place in range(begun, at):
                    self._put_peeled(found[place], raw[place], numbers[place])
            if at < len(found):
                self._put_peeled(peeled, raw[at], numbers[at])
            begun = at + 1

    def _put_together(self, found: Sequence[Quickly | None], numbers: Sequence[int]) -> bool:
        """Lines of one stream that were all peeled; False where that is not what they are, then nothing was done."""
        if None in found:
            return False
        names, channels, texts, times = zip(*cast("Sequence[Quickly]", found), strict=True)
        count, name = len(texts), names[0]
        if names.count(name) < count or channels.count(channels[0]) < count or _LINE_FEED in b"".join(texts):
            return False
        return self._streams.put_together(texts, numbers, times, *self._streams.place(name, channels[0]))

    def _put_peeled(self, peeled: Quickly | None, line: bytes, number: int) -> None:
        """A line as it was peeled quickly, if it was."""
        if peeled is None:
            self._line(line, number)
            return
        name, channel, text, time_ms = peeled
        name, channel = self._streams.place(name, channel)
        self._streams.put_lines(text.split(b"\n"), number, name, time_ms, channel)

    # ---- one by one --------------------------------------------------------------------------------------------

    def document(self, text: str) -> None:
        """A whole export. Raises ``ValueError`` where it is no JSON after all."""
        found = _READERS.get(self._wrapping.document or "", documents.read_json)(text)
        records = list(islice(found, documents.MOST_RECORDS))
        self.cut = next(found, None) is not None
        times = [record.time_ms for record, _ in records if record.time_ms is not None]
        if len(times) > 1 and times[0] > times[-1]:
            records.reverse()
        for record, number in records:
            self._record(record, number, [], None, "")

    def _line(self, line: bytes, number: int) -> None:
        line = line.rstrip(b"\r")
        if self._wrapping.sections and (section := heading(line, self._section)) is not None:
            self._section = section
            return
        streams: list[str] = []
        time_ms: int | None = None
        channel = ""
        used: set[str] = set()
        partial = False
        peeling = True
        while peeling and len(used) < 6:
            peeling = False
            for kind, peel in self._peels:
                peeled = None if kind in used else peel(line)
                if peeled is None:
                    continue
                if isinstance(peeled, Record):
                    if not peeled.docker:
                        self._record(peeled, number, streams, time_ms, channel)
                        return
                    line, partial = peeled.message.encode("utf-8", "replace"), not peeled.message.endswith("\n")
                    line = line.rstrip(b"\r\n")
                    used.clear()  # JSON within JSON
                    used.update(("cri", "kubectl-timestamps"))
                    stream, found, local, channel = peeled.stream, peeled.time_ms, False, peeled.channel or channel
                else:
                    if peeled.stream == "":
                        return  # a note of the wrapping itself
                    used.add(kind)
                    line, stream, found, local = peeled.text, peeled.stream, peeled.time_ms, peeled.local
                    channel, partial = peeled.channel or channel, partial or peeled.partial
                if stream:
                    streams.append(stream)
                if found is not None:
                    time_ms = self._origin.zone.utc(found) if local else found
                    self._streams.local |= local
                peeling = True
                break
        self._put([line], number, streams, time_ms, channel, partial=partial)

    def _record(self, record: Record, number: int, streams: list[str], time_ms: int | None, channel: str) -> None:
        if record.stream and (not streams or record.stream not in streams):
            streams = [*streams, record.stream]
        if record.time_ms is not None and record.local:
            moment: int | None = self._origin.zone.utc(record.time_ms)
        else:
            moment = record.time_ms if record.time_ms is not None else time_ms
        record.time_ms, record.local = moment, False
        self._put(record.lines(), number, streams, moment, channel)

    def _put(
        self, lines: Sequence[bytes], number: int, streams: list[str], time_ms: int | None, channel: str, *, partial: bool = False
    ) -> None:
        name = "/".join(dict.fromkeys((*self._section, *streams))) or None
        if name is None and not self._section:
            name, channel = (
                self._streams.last,
                channel or self._streams.last_channel,
            )  # a line that lacks the prefix belongs to the one before
        if partial:
            self._streams.put(lines[0], number, name, time_ms, channel, partial=True)
        else:
            self._streams.put_lines(lines, number, name, time_ms, channel)

    # ---- out ---------------------------------------------------------------------------------------------------

    def finish(self) -> list[FilePart]:
        """The parts of all streams. Their lines are counted from the start of the file already."""
        return self._streams.finish()


def _after(text: bytes, lines: int) -> int:
    """Where so many lines end, or all."""
    at = 0
    for _ in range(lines):
        at = text.find(b"\n", at) + 1
        if not at:
            return len(text)
    return at


def _read_pasted(text: bytes, wrapping: Wrapping, take: Callable[[Iterable[tuple[bytes, int]]], None]) -> None:
    """A small text whose pasting is undone before anything else: envelopes that stand outside of it are peeled first."""
    outer = [name for name in wrapping.names if name in OUTER]
    lines = text.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    peeled = peel_all(lines, outer) if outer else [line.rstrip(b"\r") for line in lines]
    assert wrapping.cleaning is not None
    take((line, number + 1) for line, number in pasted.undo(peeled, wrapping.cleaning))


class Sample(NamedTuple):
    """What a wrapping holds: its lines, and whether it says when each was written."""

    text: bytes
    timed: bool


def unwrapped_sample(origin_name: str, wrapping: Wrapping, head: bytes) -> Sample:
    """The canonical text of a head, all streams in one: for zone, layouts and role."""
    collected: list[bytes] = []
    timed = False

    class Collector(Unwrapper):
        def _peel_together(self, raw: Sequence[bytes], numbers: Sequence[int]) -> None:
            nonlocal timed
            assert self._quick is not None
            for found, line, number in zip(self._quick.peel_all(raw), raw, numbers, strict=True):
                if found is None:
                    self._line(line, number)
                else:
                    collected.append(found[2])
                    timed = timed or found[3] is not None

        def _put(
            self, lines: Sequence[bytes], number: int, streams: list[str], time_ms: int | None, channel: str, *, partial: bool = False
        ) -> None:
            nonlocal timed
            collected.extend(lines)
            timed = timed or time_ms is not None

    collector = Collector(Origin(origin_name, 0), wrapping, Catalogue(()))
    pour(collector, wrapping, head)
    return Sample(b"\n".join(collected) + b"\n", timed)


def pour(unwrapper: Unwrapper, wrapping: Wrapping, text: bytes) -> None:
    """A whole text, for wrappings that must be seen whole (documents, pasted text, newest first)."""
    text = text.removeprefix(b"\xef\xbb\xbf")
    if wrapping.document:
        try:
            unwrapper.document(text.decode("utf-8", "replace"))
        except ValueError:
            unwrapper.lines((line, number) for number, line in enumerate(text.split(b"\n"), 1))
    elif wrapping.cleaning is not None:
        _read_pasted(text, wrapping, unwrapper.lines)
    else:
        lines = text.split(b"\n")
        if lines and not lines[-1]:
            lines.pop()
        numbered: Iterable[tuple[bytes, int]] = zip(lines, range(1, len(lines) + 1), strict=True)
        unwrapper.lines(reversed(list(numbered)) if wrapping.descending else numbered)


def needs_whole(wrapping: Wrapping) -> bool:
    """Whether the file cannot be read line by line."""
    return wrapping.document is not None or wrapping.cleaning is not None or wrapping.descending
