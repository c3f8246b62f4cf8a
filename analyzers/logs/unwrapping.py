"""From a wrapped file to canonical lines per stream, each stream read by a scanner of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import cast

from analyzers.logs import documents, pasted
from analyzers.logs.captures import Catalogue
from analyzers.logs.envelopes import BY_NAME, ENVELOPES, Syslog, wrappings_of
from analyzers.logs.kernel import LINE_LIMIT, Origin, Scanner
from analyzers.logs.lines import split_lines
from analyzers.logs.quick_peeling import NAMES, Quick, Quickly
from analyzers.logs.records import Record
from analyzers.logs.roles import host_of, role_of
from analyzers.logs.sections import has_sections, heading
from analyzers.logs.selection import FilePart
from analyzers.logs.silent_records import Form, raw_matcher, stretches

_SAMPLE_LINES = 300
_ROLE_SAMPLE = 64 << 10
_BUFFERED = 8 << 20
_LINE_FEED, _RETURN = 10, 13
_MUCH = 256 << 10  # of a text in which records are worth a search for those that say nothing
_WORTHWHILE = 4  # such a search has to spare one in so many lines; else the file is read without it
_FEW = 4  # lines that are put one by one
_BATCH = 64  # lines that are handed on together if they have one stream


@dataclass(frozen=True)
class Wrapping:
    """How a file is wrapped: envelopes outermost first, what pasting did, whether it is one document, newest line first."""

    names: tuple[str, ...] = ()
    cleaning: pasted.Cleaning | None = None
    document: str | None = None
    sections: bool = False  # `yarn logs` and `tail` name the file above its lines
    descending: bool = False

    @property
    def shown(self) -> tuple[str, ...]:
        """For `log_files.wrapping`."""
        own = (f"{self.document} export",) if self.document else ()
        return own + (("sections",) if self.sections else ()) + self.names + (self.cleaning.names if self.cleaning else ())


def sniff_wrapping(head: bytes, tail: bytes, *, whole: bool) -> Wrapping | None:
    """How the file that begins with `head` is wrapped; None = not at all."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    start = head[:4096].lstrip()
    if start[:1] in (b"{", b"[") and whole and not _is_json_lines(head) and documents.is_json_export(head.decode("utf-8", "replace")):
        return Wrapping(document="json")
    if start[:1] in (b"{", b"[") and not whole and not _is_json_lines(head) and _EXPORT.search(head):
        return Wrapping(document="json")
    first = head.split(b"\n", 1)[0].rstrip(b"\r").decode("utf-8", "replace")
    if len(first) < 4096 and documents.csv_columns(first):
        return Wrapping(document="csv")
    lines = _sample(head, whole) + (_sample(tail, False) if tail else [])
    names = wrappings_of(lines)
    sections = has_sections(head)
    cleaning = None
    if whole and len(head) <= pasted.LIMIT and "json" not in names:
        every = _peel_all(head.split(b"\n"), [name for name in names if name in _OUTER])
        cleaning = pasted.examine(every[:-1] if len(every) > 1 and not every[-1] else every)
        if set(names) - _OUTER:
            cleaning = replace(cleaning, indent=0, wrap=0)
        if not cleaning.names:
            cleaning = None
        elif not names:
            names = wrappings_of([line for line, _ in pasted.undo(every, cleaning)])  # a quoted or indented paste of a wrapped log
    if not names and not sections and cleaning is None:
        return None
    return Wrapping(names, cleaning, None, sections, _descending(lines, names))


_OUTER = frozenset(("quote", "numbered"))  # what stands outside of what pasting did
_EXPORT = re.compile(rb'"(?:hits|_source|events|logStreamName|resultType|values|textPayload|jsonPayload)"\s*:')


def _is_json_lines(head: bytes) -> bool:
    lines = [line for line in head.split(b"\n")[:3] if line.strip()]
    return len(lines) > 1 and all(line.lstrip()[:1] == b"{" and line.rstrip()[-1:] == b"}" for line in lines[:2])


def _sample(text: bytes, whole: bool) -> list[bytes]:
    lines = text.split(b"\n")
    if not whole:
        lines = lines[1:-1] if len(lines) > 2 else lines
    if len(lines) <= _SAMPLE_LINES:
        return [line[:65536] for line in lines]
    step = _SAMPLE_LINES // 3
    middle = len(lines) // 2
    return [line[:65536] for part in (lines[:step], lines[middle : middle + step], lines[-step:]) for line in part]


def _peel_all(lines: Iterable[bytes], names: Sequence[str]) -> list[bytes]:
    result = []
    for line in lines:
        line = line.rstrip(b"\r")
        for name in names:
            peeled = BY_NAME[name].peel(line)
            if peeled is not None and not isinstance(peeled, Record):
                line = peeled.text
        result.append(line)
    return result


def _descending(lines: Sequence[bytes], names: Sequence[str]) -> bool:
    """Whether an export has its newest line first."""
    times = []
    for line in lines:
        for name in names:
            peeled = BY_NAME[name].peel(line)
            if peeled is not None:
                if peeled.time_ms is not None:
                    times.append(peeled.time_ms)
                break
    if len(times) < 2 or times[0] <= times[-1]:
        return False
    falls = sum(1 for a, b in pairwise(times) if b < a)
    rises = sum(1 for a, b in pairwise(times) if b > a)
    return falls > 0 and rises == 0


@dataclass
class _Stream:
    """Lines of one stream that wait to be scanned."""

    name: str | None
    part: int
    texts: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    orders: list[int] = field(default_factory=list)
    times: list[int | None] = field(default_factory=list)
    scanner: Scanner | None = None
    partial: bytes = b""
    partial_at: tuple[int, int | None] = (0, None)


class Unwrapper:
    """Takes the lines of one wrapped file; `finish` gives a part for each of its streams."""

    def __init__(self, origin: Origin, wrapping: Wrapping, catalogue: Catalogue) -> None:
        self._origin, self._wrapping, self._catalogue = origin, wrapping, catalogue
        self._streams: dict[tuple[str | None, str], _Stream] = {}
        self._section: list[str] = []
        self._last: str | None = None
        self._order = 0
        self._buffered = 0
        self._local = False
        self._listening = False  # every record is looked at
        chosen = [BY_NAME[name] for name in dict.fromkeys(wrapping.names)]
        envelopes = [*chosen, *(e for e in ENVELOPES if e.always and e.name not in wrapping.names)]
        quick = not wrapping.sections and NAMES.issuperset(wrapping.names)
        self._quick = Quick(origin.zone) if quick else None
        self._peels = [(e.name, Syslog(origin.year, origin.newest_ms) if e.name == "syslog" else e.peel) for e in envelopes]

    # ---- in ----------------------------------------------------------------------------------------------------

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
            form = self._form() if len(text) >= _MUCH and _RETURN not in text else None
            if form is None:
                lines = text.split(b"\n")
                if not lines[-1]:
                    lines.pop()
                self._peel_run(lines, first)
                first += len(lines)
            else:
                first += self._peel_silent(text, first, form)

    def _peel_run(self, lines: Sequence[bytes], first: int) -> None:
        if self._quick is None or len(lines) == 1:
            self.lines(zip(lines, range(first, first + len(lines)), strict=True))
            return
        for at in range(0, len(lines), _BATCH):
            raw = lines[at : at + _BATCH]
            self._peel_together(raw, range(first + at, first + at + len(raw)))

    def _form(self) -> Form | None:
        """Of records that need no closer look where nothing is found in them; None if each of them is looked at."""
        return None if self._listening or self._quick is None or self._last is not None else self._quick.form

    def _peel_silent(self, text: bytes, first: int, form: Form) -> int:
        """Lines of records, most of which say nothing; gives how many lines they were."""
        breaks = split_lines(text)[1]
        ends = [-1, *breaks.tolist()]
        matcher = raw_matcher(self._catalogue.matcher.literals)
        at, silent, count = 0, 0, len(ends) - 1
        for start, stop, moments in () if matcher is None else stretches(text, breaks, ends, form, matcher):
            if start > at:
                self._peel_run(text[ends[at] + 1 : ends[start]].split(b"\n"), first + at)
            at = start
            times: list[int | None] | None = [None] * len(moments)
            if form.channel and self._quick is not None:
                times = self._quick.moments(text, ends[start + 1 : stop + 1])
            if times is None:
                continue
            if self._put_silent(moments, times, form.channel, first + start):
                at, silent = stop, silent + stop - start
        if at < count:
            self._peel_run(text[ends[at] + 1 : ends[count]].split(b"\n"), first + at)
        self._listening = silent * _WORTHWHILE < count
        return count

    def _put_silent(self, moments: list[bytes], times: list[int | None], channel: str, number: int) -> bool:
        """Canonical lines of times that stand for records from `number` on; False where those have no stream yet, then nothing was done."""
        stream = self._streams.get((None, channel))
        if self._last is not None or stream is None or stream.partial:
            return False
        count = len(moments)
        stream.texts += moments
        stream.numbers += range(number, number + count)
        stream.orders += range(self._order, self._order + count)
        stream.times += times
        self._order += count
        self._buffered += count * (len(moments[0]) + 1)
        if self._buffered > _BUFFERED:
            self._flush()
        return True

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
        if names.count(name) < count or channels.count(channels[0]) < count:
            return False
        name = self._last if name is None else name
        stream = self._streams.get((name, channels[0]))
        joined = b"".join(texts)
        if stream is None or stream.partial or _LINE_FEED in joined or self._buffered + len(joined) + count > _BUFFERED:
            return False
        self._last = name
        stream.texts += texts
        stream.numbers += numbers
        stream.orders += range(self._order, self._order + count)
        stream.times += times
        self._order += count
        self._buffered += len(joined) + count
        return True

    def _put_peeled(self, peeled: Quickly | None, line: bytes, number: int) -> None:
        """A line as it was peeled quickly, if it was."""
        if peeled is None:
            self._line(line, number)
            return
        name, channel, text, time_ms = peeled
        if name is None:
            name = self._last
        stream = self._streams.get((name, channel))
        if stream is None or stream.partial or _LINE_FEED in text:
            for piece in text.split(b"\n"):
                self._put(piece, number, [name] if name else [], time_ms, channel, False)
            return
        self._last = name
        stream.texts.append(text)
        stream.numbers.append(number)
        stream.orders.append(self._order)
        stream.times.append(time_ms)
        self._order += 1
        self._buffered += len(text) + 1
        if self._buffered > _BUFFERED:
            self._flush()

    def document(self, text: str) -> None:
        """A whole export. Raises ``ValueError`` where it is no JSON after all."""
        records = list(documents.read_csv(text) if self._wrapping.document == "csv" else documents.read_json(text))
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
                    self._local |= local
                peeling = True
                break
        self._put(line, number, streams, time_ms, channel, partial)

    def _record(self, record: Record, number: int, streams: list[str], time_ms: int | None, channel: str) -> None:
        if record.stream and (not streams or record.stream not in streams):
            streams = [*streams, record.stream]
        if record.time_ms is not None and record.local:
            moment: int | None = self._origin.zone.utc(record.time_ms)
        else:
            moment = record.time_ms if record.time_ms is not None else time_ms
        record.time_ms, record.local = moment, False
        for line in record.lines():
            self._put(line, number, streams, moment, channel, False)

    def _put(self, line: bytes, number: int, streams: list[str], time_ms: int | None, channel: str, partial: bool) -> None:
        name = "/".join(dict.fromkeys((*self._section, *streams))) or None
        if name is None and not self._section:
            name = self._last  # a line that lacks the prefix belongs to the one before it
        self._last = name
        stream = self._streams.get((name, channel))
        if stream is None:
            stream = self._streams[name, channel] = _Stream(name, len(self._streams))
        if partial:
            if not stream.partial:
                stream.partial_at = (number, time_ms)
            stream.partial = (stream.partial + line)[:LINE_LIMIT]
            return
        if stream.partial:
            line, stream.partial = stream.partial + line, b""
            begun = stream.partial_at
            number, time_ms = begun[0], begun[1]
        for piece in line.split(b"\n"):
            stream.texts.append(piece)
            stream.numbers.append(number)
            stream.orders.append(self._order)
            stream.times.append(time_ms)
            self._order += 1
        self._buffered += len(line) + 1
        if self._buffered > _BUFFERED:
            self._flush()

    # ---- out ---------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        for stream in self._streams.values():
            if not stream.texts:
                continue
            if stream.scanner is None:
                stream.scanner = self._scanner(stream)
            stream.scanner.feed_lines(stream.texts, stream.numbers, stream.orders, stream.times)
            stream.texts, stream.numbers, stream.orders, stream.times = [], [], [], []
        self._buffered = 0

    def _scanner(self, stream: _Stream) -> Scanner:
        origin = self._origin
        if stream.name:
            head = b""
            for text in stream.texts:
                head += text + b"\n"
                if len(head) > _ROLE_SAMPLE:
                    break
            host = host_of(stream.name, head) or stream.name.split("/", 1)[0]
            origin = replace(origin, file=f"{origin.file}!{stream.name}", role=role_of(stream.name, head) or origin.role, host=host)
        scanner = Scanner(origin, self._catalogue, stream.part)
        scanner.envelope_zone = origin.zone.kind if self._local else "stated"
        return scanner

    def finish(self) -> list[FilePart]:
        """The parts of all streams. Their lines are counted from the start of the file already."""
        for stream in self._streams.values():
            if stream.partial:
                rest, stream.partial = stream.partial, b""
                stream.texts.append(rest)
                stream.numbers.append(stream.partial_at[0])
                stream.orders.append(self._order)
                stream.times.append(stream.partial_at[1])
                self._order += 1
        self._flush()
        return [stream.scanner.finish(0) for stream in self._streams.values() if stream.scanner is not None]


def read_pasted(text: bytes, wrapping: Wrapping, take: Callable[[Iterable[tuple[bytes, int]]], None]) -> None:
    """A small text whose pasting is undone before anything else: envelopes that stand outside of it are peeled first."""
    outer = [name for name in wrapping.names if name in _OUTER]
    lines = text.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    peeled = _peel_all(lines, outer) if outer else [line.rstrip(b"\r") for line in lines]
    assert wrapping.cleaning is not None
    take((line, number + 1) for line, number in pasted.undo(peeled, wrapping.cleaning))


def unwrapped_sample(origin_name: str, wrapping: Wrapping, head: bytes) -> bytes:
    """The canonical text of a head, all streams in one: for zone, layouts and role."""
    collected: list[bytes] = []

    class Collector(Unwrapper):
        def lines(self, lines: Iterable[tuple[bytes, int]]) -> None:
            for line, number in lines:
                found = self._quick.peel(line) if self._quick is not None else None
                if found is None:
                    self._line(line, number)
                else:
                    collected.append(found[2])

        def _put(self, line: bytes, number: int, streams: list[str], time_ms: int | None, channel: str, partial: bool) -> None:
            collected.append(line)

    collector = Collector(Origin(origin_name, 0), wrapping, Catalogue(()))
    pour(collector, wrapping, head)
    return b"\n".join(collected) + b"\n"


def pour(unwrapper: Unwrapper, wrapping: Wrapping, text: bytes) -> None:
    """A whole text, for wrappings that must be seen whole (documents, pasted text, newest first)."""
    text = text.removeprefix(b"\xef\xbb\xbf")
    if wrapping.document:
        try:
            unwrapper.document(text.decode("utf-8", "replace"))
        except ValueError:
            unwrapper.lines((line, number) for number, line in enumerate(text.split(b"\n"), 1))
    elif wrapping.cleaning is not None:
        read_pasted(text, wrapping, unwrapper.lines)
    else:
        lines = text.split(b"\n")
        if lines and not lines[-1]:
            lines.pop()
        numbered: Iterable[tuple[bytes, int]] = zip(lines, range(1, len(lines) + 1), strict=True)
        unwrapper.lines(reversed(list(numbered)) if wrapping.descending else numbered)


def needs_whole(wrapping: Wrapping) -> bool:
    """Whether the file cannot be read line by line."""
    return wrapping.document is not None or wrapping.cleaning is not None or wrapping.descending
