"""What the first (and last) bytes of a file tell before it is read: text or not, encoding, wrapping, layouts, zone, who wrote it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from analyzers.logs.layouts.layouts import dated_layout, dated_time, layout_of_head
from analyzers.logs.layouts.roles import host_of, role_of
from analyzers.logs.layouts.sections import OPENERS, is_named
from analyzers.logs.layouts.timestamps import DAY, EPOCH_IN_MESSAGE, Stamp, parse, run_on, time_of_day
from analyzers.logs.matching.expressions import expression
from analyzers.logs.scan.lines import DATED, DATELESS, RARE_DATED, Ints, Lines, classified
from analyzers.logs.wrappings import documents, pasted
from analyzers.logs.wrappings.no_output import is_page, is_something_else
from analyzers.logs.wrappings.unwrapping import Sample, unwrapped_sample
from analyzers.logs.wrappings.wrappings import Wrapping, sniff_wrapping

HEAD = 1 << 20
PLAIN_HEAD = 64 << 10  # of a log that is plainly one: no more is to be learnt from its head
TAIL = 256 << 10
_LINES = 60  # looked at one by one

_TRACE = expression(
    rb"^(?:[^\S\n]+at [\w.$/]+\(|at [\w.$/<>]+\([\w$]+\.(?:java|scala|kt):\d+\)|Caused by: |Traceback \(most recent"
    rb"|(?:[a-z_]\w*\.)+\w*(?:Exception|Error)\b)",
    re.MULTILINE,
)
_SIGNS = expression(_TRACE.pattern + rb"|^\W?(?:INFO|WARN|ERROR|FATAL|DEBUG)\b", re.MULTILINE)
_EVENTS = expression(
    rb"^(?:NAMESPACE +)?(?:LAST SEEN +(?:FIRST SEEN +|COUNT +)?(?:TYPE|NAME) |NAME +READY +STATUS +RESTARTS )"
    rb"|^ +Last State: +Terminated\b|^ *Type +Reason +Age +From +Message *\r?$"
    rb"|^ *(?:\d+[smhd]\d*[smhd]?(?: \(x\d+ over \w+\))? +)?(?:Warning|Normal) +"
    rb"(?:Failed\w*|BackOff|Unhealthy|Evicted|Killing|Scheduled|Started|Pull\w+|NodeNotReady|\w*ScaleUp) ",
    re.MULTILINE,
)
"""What `kubectl get events`, `kubectl get pods` and `kubectl describe pod` print."""
_YEAR = expression(rb"20(?<!\w20)\d\d-\d\d-\d\d[T ]\d\d:\d\d")  # begins with fixed bytes, which are found quickly
_YEAR_COLUMNS, _THOUSANDS = np.arange(5), np.array([1000, 100, 10, 1])
_EPOCH_WORDS = (b"Triggering checkpoint ", b"Kafka startTimeMs: ")
_STRANGE = np.ones(256, bool)
_STRANGE[[ord(c) for c in "\t C\n"]] = False  # frames, `Caused by`, empty lines
_HEADING = np.zeros(256, bool)
_HEADING[list(OPENERS)] = True
_OPENS_ENVELOPE = np.zeros(256, bool)
_OPENS_ENVELOPE[list(b"0123456789{[<| \t-")] = True
_INDENTED_JSON = expression(rb"\s{1,64}\{")
_OPENS_JSON = np.zeros(256, bool)
_OPENS_JSON[list(b" \t\n\r\f\v{")] = True  # behind the first blank of such a line
_STAMP_COLUMNS = np.array([0, 19, 20, 21, 22, 23])  # of `yyyy-MM-dd HH:mm:ss,SSS `: its fraction, what stands around it
_LAYOUTS = 4096
_layouts: dict[bytes, str] = {}  # by what stands between the stamp and the first byte of the message
_NO_CONTROL = bytes(byte for byte in range(256) if byte >= 32 or byte in b"\t\n\r\x1b\x0c")


@dataclass(frozen=True)
class Sniffed:
    """What a look at the head and tail of a file found out."""

    binary: bool = False
    encoding: str | None = None
    wrapping: Wrapping | None = None
    looks_like_log: bool = False
    dense: bool = False  # so many headers, or a stack trace, that it is a log whatever its name
    splittable: bool = False
    layout: str | None = None
    role: str | None = None
    host: str | None = None
    zoneless: bool = False  # some headers have no zone
    pairs: tuple[tuple[int, int], ...] = ()  # (local, epoch) milliseconds stated on the same line
    newest_year: int | None = None
    last: Stamp | None = None  # time of the last line with a full date
    last_clock_ms: int | None = None  # time of day of the last header seen, where headers have no date
    dated_line: tuple[int, int] | None = (
        None  # where headers have no date: how many midnights after the first a line states its epoch, and that
    )
    midnights: int = 0  # the same: between the first header and the last one seen
    timed: bool = False  # a wrapping says when each line was written
    whole: bool = False  # all of the file was looked at
    yearless: bool = False
    dateless: bool = False  # headers have times, and none has a date
    bare_returns: bool = False  # lines end in a carriage return alone
    foreign: bool = False  # plainly a page, source code, settings or a table


def encoding_of(head: bytes) -> str | None:
    """utf-16-le / utf-16-be (by mark or by the zeros in Western text), utf-8-sig is left to the scanner; None = bytes as they are."""
    if head.startswith(b"\xff\xfe") and not head.startswith(b"\xff\xfe\x00\x00"):
        return "utf-16"
    if head.startswith(b"\xfe\xff"):
        return "utf-16"
    sample = np.frombuffer(head[:4096], np.uint8)
    if len(sample) >= 64 and b"\0" in head[:4096]:
        even, odd = float((sample[0::2] == 0).mean()), float((sample[1::2] == 0).mean())
        if odd > 0.8 and even < 0.1:
            return "utf-16-le"
        if even > 0.8 and odd < 0.1:
            return "utf-16-be"
    return None


def with_line_feeds(text: bytes) -> bytes:
    """The same text with a line feed where a line ends in a bare carriage return."""
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def has_bare_returns(head: bytes) -> bool:
    """Whether lines end in a carriage return alone; a few of them, as a progress bar prints, say nothing."""
    if b"\r" not in head:
        return False
    bare, feeds = head.count(b"\r") - head.count(b"\r\n"), head.count(b"\n")
    if bare <= feeds or b"[Stage " in head:
        return False
    return int((classified(with_line_feeds(head)).kinds != 0).sum()) > int((classified(head).kinds != 0).sum())


def is_binary(head: bytes) -> bool:
    """Whether bytes are no text: many control bytes. Leading zeros are allowed, as a truncated log that is still open has them."""
    sample = head.lstrip(b"\0")[:8192]
    if not sample:
        return bool(head)
    return len(sample.translate(None, _NO_CONTROL)) / len(sample) > 0.1


def is_plain(head: bytes) -> bool:
    """Whether nearly all lines are headers with a full date, or what stands below one: nothing is wrapped around such lines."""
    if b"\0" in head or b"\r" in head or b"\x1b" in head:
        return False
    lines = classified(head)
    dated = np.count_nonzero(lines.kinds == DATED)
    if dated * 2 <= len(lines.kinds):
        return False
    data = np.frombuffer(head, np.uint8)
    others = lines.starts[lines.kinds != DATED]
    strange = np.count_nonzero(_STRANGE[data[others]])
    between = data[np.minimum(lines.starts[lines.kinds == DATED] + 10, len(head) - 1)]
    return bool(strange * 20 <= len(lines.kinds) and not (between == 84).any())


def _is_bare(head: bytes, tail: bytes, *, whole: bool) -> bool:
    """Whether a glance shows that `sniff_wrapping` would find nothing around a log whose head is plain; `tail` = lines."""
    lines = classified(head)
    starts, data = lines.starts[lines.kinds != DATED], np.frombuffer(head, np.uint8)
    firsts = data[starts]
    if lines.kinds[0] != DATED or any(is_named(head, start) for start in starts[_HEADING[firsts]].tolist()):
        return False  # perhaps the first line of a table; files with their names
    indented = starts[(firsts == 32) | (firsts == 9)]
    perhaps = indented[_OPENS_JSON[data[np.minimum(indented + 1, len(data) - 1)]]].tolist()
    if len(indented) * 10 > len(lines.starts) and any(_INDENTED_JSON.match(head, start) for start in perhaps):
        return False
    if whole and not (len(head) <= pasted.LIMIT and pasted.is_untouched(head, lines)):
        return False
    return not tail or is_plain(tail)


def _is_no_table(text: bytes) -> bool:
    """Whether the first line of a text is neither the head of a table nor the beginning of a document."""
    first = text[: text.find(b"\n")]
    return len(first) < 4096 and first[:1].isalpha() and documents.csv_columns(first.decode("utf-8", "replace")) is None


def _is_indented(text: bytes) -> bool:
    """Whether a glance shows that `sniff_wrapping` would find nothing around a whole text that is mostly traces and settings: no envelope
    fits a line that a tab begins, and too few others are left for any."""
    if b"\r" in text or len(text) > pasted.LIMIT:
        return False
    lines, data = classified(text), np.frombuffer(text, np.uint8)
    solid = lines.ends > lines.starts
    starts, dated = lines.starts[solid], lines.kinds[solid] == DATED
    if not len(dated) or np.count_nonzero(dated) * 2 > len(dated) or not (dated[0] or _is_no_table(text)):
        return False
    firsts, seconds = data[starts], data[np.minimum(starts + 1, len(data) - 1)]
    plain = dated | ((firsts == ord("\t")) & ~_OPENS_ENVELOPE[seconds]) | ((firsts == ord("C")) & (seconds == ord("a")))  # Caused by
    if any(is_named(text, start) for start in starts[_HEADING[firsts] & ~plain].tolist()):
        return False
    if np.count_nonzero(~plain) * 20 > len(plain) or _OPENS_ENVELOPE[firsts[~plain]].any() or (data[starts[dated] + 10] == ord("T")).any():
        return False
    return pasted.is_untouched(text, lines)


def sniff(name: str, head: bytes, tail: bytes = b"", *, whole: bool = False, plain: bool = False) -> Sniffed:
    """Everything that can be told from the head (at most 1 MB) and tail of a file. `whole`: the head is all there is.

    `plain`: it is known to be.
    """
    plain = plain or is_plain(head)
    encoding = None if plain else encoding_of(head)
    if encoding is not None:
        head = head[: len(head) // 2 * 2].decode(encoding, "replace").encode()
        tail = b""
    elif not plain and is_binary(head):
        return Sniffed(binary=True)
    bare_returns = not plain and has_bare_returns(head)
    if bare_returns:
        head, tail = with_line_feeds(head), b""
    end = tail[tail.find(b"\n") + 1 :]
    bare = plain and _is_bare(head, end, whole=whole)
    wrapping = None if bare or (whole and not plain and _is_indented(head)) else sniff_wrapping(head, tail, whole=whole)
    sample = Sample(head, timed=False) if wrapping is None else unwrapped_sample(name, wrapping, head)
    text = sample.text
    found = _Found()
    found.read(text if whole or wrapping is not None else text[: text.rfind(b"\n") + 1] or text)
    if end and wrapping is None:
        found.read(end)
    splittable = (
        wrapping is None
        and encoding is None
        and not bare_returns
        and found.dated * 100 >= found.lines
        and not found.dateless
        and found.dated > 0
        and (b"\r" not in head or b"\r" not in head.replace(b"\r\n", b""))
    )
    beginning = text[: 256 << 10]
    full = found.headers > 0 and found.headers * 10 >= found.lines  # nothing else decides then, and the expressions are slow
    events = not full and bool(_EVENTS.search(beginning))
    wrapped = wrapping is not None and bool(wrapping.names or wrapping.document)
    logs = found.headers > 0 or events or wrapped or bool(_SIGNS.search(beginning))
    foreign = is_page(head) or (whole and wrapping is None and not found.headers and not events and is_something_else(text))
    dense = full or events or not found.lines or bool(_TRACE.search(beginning))
    return Sniffed(
        encoding=encoding, wrapping=wrapping, looks_like_log=logs, dense=dense, splittable=splittable,
        layout=found.layout(), role=role_of(name, text[: 64 << 10]),
        host=host_of(name, text[: 64 << 10]), zoneless=found.zoneless, pairs=tuple(found.pairs),
        newest_year=_newest_year(text, plain=bare), last=found.last,
        last_clock_ms=found.last_clock_ms, dated_line=found.dated_line, midnights=found.midnights,
        timed=sample.timed, whole=whole, yearless=found.yearless, dateless=found.dateless > 0 and not found.dated + found.rarely_dated,
        bare_returns=bare_returns, foreign=foreign,
    )  # fmt: skip


def _newest_year(text: bytes, *, plain: bool) -> int | None:
    """The latest year of a date in `text`; of a log that is plainly one only its headers are looked at, which is quicker."""
    if plain:
        lines, data = classified(text), np.frombuffer(text, np.uint8)
        at = lines.starts[lines.kinds == DATED]
        digits = data[(at + (data[at] == 91))[:, None] + _YEAR_COLUMNS]
        years = digits[digits[:, 4] == 45][:, :4].astype(np.int64) - 48
        if len(years):
            return int((years @ _THOUSANDS).max())
    newest = max(_YEAR.findall(text), default=None)  # the latest also in the order of bytes
    return None if newest is None else int(newest[:4])


def _epochs(text: bytes) -> Iterator[re.Match[bytes]]:
    """`EPOCH_IN_MESSAGE.finditer(text)`, quicker: only where its fixed bytes stand it is tried."""
    places = []
    for word in _EPOCH_WORDS:
        at = text.find(word)
        while at >= 0:
            places.append(at)
            at = text.find(word, at + 1)
    for at in sorted(places):
        if m := EPOCH_IN_MESSAGE.match(text, at):
            yield m


def _midnights(clocks: dict[int, str], line: int) -> int:
    """How many there were between the first of `clocks` and that of `line`."""
    local: int | None = None
    for now in (time_of_day(time) for at, time in clocks.items() if at <= line):
        if now is not None:
            local = now if local is None else run_on(local, now)
    return (local or 0) // DAY


@dataclass
class _Found:
    lines: int = 0
    headers: int = 0
    dated: int = 0
    rarely_dated: int = 0
    dateless: int = 0
    zoneless: bool = False
    yearless: bool = False
    last: Stamp | None = None
    last_clock_ms: int | None = None
    dated_line: tuple[int, int] | None = None
    midnights: int = 0
    pairs: list[tuple[int, int]] = field(default_factory=list)
    layouts: Counter[str] = field(default_factory=Counter)

    def read(self, text: bytes) -> None:
        lines = classified(text)
        kinds = lines.kinds
        begins = np.flatnonzero(kinds)
        self.lines += len(kinds)
        self.headers += len(begins)
        dated = np.flatnonzero(kinds == DATED)
        self.dated += len(dated)
        self.rarely_dated += np.count_nonzero(kinds == RARE_DATED)
        if len(dated):
            time = dated_time(text[lines.starts[dated[-1]] : lines.starts[dated[-1]] + 64].decode("utf-8", "replace"))
            self.last = (parse(time) if time else None) or self.last
        self.dateless += sum(1 for header in lines.headers.values() if header.layout == "time-only")
        some = begins[:: -(-len(begins) // _LINES)] if len(begins) else begins
        if len(some) and not lines.headers:
            self._dated(text, lines.starts[some], lines.ends[some])
            some = some[:0]
        for index, kind in zip(some.tolist(), kinds[some].tolist(), strict=True):
            header = lines.headers.get(index)
            if header is None:
                self._dated(text, lines.starts[index : index + 1], lines.ends[index : index + 1])
                continue
            self.layouts[header.layout] += 1
            if kind == RARE_DATED:
                stamp = parse(header.time) if header.time else None
                self.zoneless |= stamp is not None and not stamp.stated
                self.yearless |= stamp is None and bool(header.time)
            elif kind == DATELESS:
                self.zoneless = True
        clocks = {line: header.time for line, header in sorted(lines.headers.items()) if header.layout == "time-only" and header.time}
        begins_file = self.lines == len(kinds)
        if clocks:
            self.last_clock_ms = time_of_day(clocks[max(clocks)])
            self.midnights = _midnights(clocks, max(clocks)) if begins_file else 0
        self._pairs(text, lines, clocks if begins_file else {})

    def _dated(self, text: bytes, starts: Ints, ends: Ints) -> None:
        """Lines that begin with a full date, with a look at the form of all their stamps at once."""
        data = np.frombuffer(text, np.uint8)
        heads = data[np.minimum(starts[:, None] + _STAMP_COLUMNS, len(data) - 1)]
        usual = (heads[:, 0] != 91) & ((heads[:, 1] == 44) | (heads[:, 1] == 46)) & (heads[:, 5] == 32)
        usual &= ((heads[:, 2:5] - 48) <= 9).all(axis=1)  # unsigned: wraps below '0'
        found = []
        for start, end, is_usual in zip(starts.tolist(), ends.tolist(), usual.tolist(), strict=True):
            at = text.find(b" - ", start + 23, end) + 3 if is_usual else 0
            layout = _layouts.get(text[start + 23 : at + 1]) if at else None
            if layout is None:
                layout = dated_layout(text[start:end])
                if start < at < end and text[at] not in b" -" and layout_of_head(text[start + 23 : at]) == layout:
                    if len(_layouts) >= _LAYOUTS:
                        _layouts.clear()
                    _layouts[text[start + 23 : at + 1]] = layout
            if not self.zoneless and layout != "unknown":
                time = dated_time(text[start : min(end, start + 64)].decode("utf-8", "replace"))
                stamp = parse(time) if time else None
                self.zoneless = stamp is not None and not stamp.stated
            found.append(layout)
        self.layouts.update(found)

    def _pairs(self, text: bytes, lines: Lines, clocks: dict[int, str]) -> None:
        """Lines that state their moment twice; `clocks`: times of headers without a date, by line, where these begin the file."""
        for m in _epochs(text):
            start, epoch = text.rfind(b"\n", 0, m.start()) + 1, int(m[1] or m[2])
            line = int(np.searchsorted(lines.starts, start))
            if line in clocks and (at := time_of_day(clocks[line])) is not None:
                self.pairs.append((epoch + (at - epoch + DAY // 2) % DAY - DAY // 2, epoch))
                self.dated_line = self.dated_line or (_midnights(clocks, line), epoch)
                continue
            clock = re.search(
                rb"\d\d\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?|\d\d/\d\d/\d\d \d\d:\d\d:\d\d",
                text[start : m.start()],
            )
            stamp = parse(clock[0].decode()) if clock else None
            if stamp is not None and not stamp.stated:
                self.pairs.append((stamp.ms, epoch))
            if len(self.pairs) >= 50:
                return

    def layout(self) -> str | None:
        """Layouts by falling share: `flink-log4j 98 %, level-first 2 %`."""
        total = sum(self.layouts.values())
        if not total:
            return None
        ranked = sorted(self.layouts.items(), key=lambda item: (-item[1], item[0]))
        return ", ".join(f"{name} {round(100 * count / total)} %" for name, count in ranked)
