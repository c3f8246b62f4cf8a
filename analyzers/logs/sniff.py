"""What the first (and last) bytes of a file tell before it is read: text or not, encoding, wrapping, layouts, zone, who wrote it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from analyzers.logs.layouts import dated_layout, dated_time
from analyzers.logs.lines import DATED, DATELESS, RARE_DATED, classified
from analyzers.logs.roles import host_of, role_of
from analyzers.logs.timestamps import EPOCH_IN_MESSAGE, clock_ms, parse
from analyzers.logs.unwrapping import Wrapping, sniff_wrapping, unwrapped_sample

HEAD = 1 << 20
PLAIN_HEAD = 64 << 10  # of a log that is plainly one: no more is to be learnt from its head
TAIL = 256 << 10
_LINES = 60  # looked at one by one

_TRACE = re.compile(rb"^(?:\s+at [\w.$/]+\(|Caused by: |Traceback \(most recent|(?:[a-z_]\w*\.)+\w*(?:Exception|Error)\b)", re.MULTILINE)
_SIGNS = re.compile(_TRACE.pattern + rb"|^\W?(?:INFO|WARN|ERROR|FATAL|DEBUG)\b", re.MULTILINE)
_YEAR = re.compile(rb"20(?<!\w20)\d\d-\d\d-\d\d[T ]\d\d:\d\d")  # begins with fixed bytes, which are found quickly
_EPOCH_WORDS = (b"Triggering checkpoint ", b"Kafka startTimeMs: ")
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
    last_clock_ms: int | None = None  # time of day of the last header, where headers have no date
    yearless: bool = False
    dateless: bool = False
    bare_returns: bool = False  # lines end in a carriage return alone


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
    begins = lines.kinds == DATED
    others = np.flatnonzero(~begins)
    first = np.frombuffer(head, np.uint8)[lines.starts[others]]
    strange = np.count_nonzero((first != 9) & (first != 32) & (first != 67) & (first != 10))  # frames, `Caused by`, empty lines
    between = np.frombuffer(head, np.uint8)[np.minimum(lines.starts[begins] + 10, len(head) - 1)]
    return bool(begins.sum() * 2 > len(begins) and strange * 20 <= len(begins) and not (between == 84).any())


def sniff(name: str, head: bytes, tail: bytes = b"", *, whole: bool = False) -> Sniffed:
    """Everything that can be told from the head (at most 1 MB) and tail of a file. `whole`: the head is all there is."""
    encoding = encoding_of(head)
    if encoding is not None:
        head = head[: len(head) // 2 * 2].decode(encoding, "replace").encode()
        tail = b""
    elif is_binary(head):
        return Sniffed(binary=True)
    bare_returns = has_bare_returns(head)
    if bare_returns:
        head, tail = with_line_feeds(head), b""
    wrapping = sniff_wrapping(head, tail, whole=whole)
    text = head if wrapping is None else unwrapped_sample(name, wrapping, head)
    found = _Found()
    found.read(text if whole or wrapping is not None else text[: text.rfind(b"\n") + 1] or text)
    if tail and wrapping is None:
        found.read(tail[tail.find(b"\n") + 1 :])
    splittable = (
        wrapping is None
        and encoding is None
        and not bare_returns
        and found.dated * 100 >= found.lines
        and not found.dateless
        and found.dated > 0
        and (b"\r" not in head or b"\r" not in head.replace(b"\r\n", b""))
    )
    logs = (
        found.headers > 0 or (wrapping is not None and bool(wrapping.names or wrapping.document)) or bool(_SIGNS.search(text[: 256 << 10]))
    )
    dense = found.headers * 10 >= found.lines or bool(_TRACE.search(text[: 256 << 10]))
    years = [int(y[:4]) for y in _YEAR.findall(text)]
    return Sniffed(
        encoding=encoding, wrapping=wrapping, looks_like_log=logs, dense=dense, splittable=splittable,
        layout=found.layout(), role=role_of(name, text[: 64 << 10]),
        host=host_of(name, text[: 64 << 10]), zoneless=found.zoneless, pairs=tuple(found.pairs), newest_year=max(years, default=None),
        last_clock_ms=found.last_clock_ms, yearless=found.yearless, dateless=found.dateless > 0, bare_returns=bare_returns,
    )  # fmt: skip


@dataclass
class _Found:
    lines: int = 0
    headers: int = 0
    dated: int = 0
    dateless: int = 0
    zoneless: bool = False
    yearless: bool = False
    last_clock_ms: int | None = None
    pairs: list[tuple[int, int]] = field(default_factory=list)
    layouts: Counter[str] = field(default_factory=Counter)

    def read(self, text: bytes) -> None:
        lines = classified(text)
        kinds = lines.kinds
        begins = np.flatnonzero(kinds)
        self.lines += len(kinds)
        self.headers += len(begins)
        self.dated += int((kinds == DATED).sum())
        self.dateless += sum(1 for header in lines.headers.values() if header.layout == "time-only")
        some = begins[:: -(-len(begins) // _LINES)] if len(begins) else begins
        spans = zip(some.tolist(), kinds[some].tolist(), lines.starts[some].tolist(), lines.ends[some].tolist(), strict=True)
        for index, kind, start, end in spans:
            header = lines.headers.get(index)
            if header is None:
                self._dated(text[start:end])
                continue
            self.layouts[header.layout] += 1
            if kind == RARE_DATED:
                stamp = parse(header.time) if header.time else None
                self.zoneless |= stamp is not None and not stamp.stated
                self.yearless |= stamp is None and bool(header.time)
            elif kind == DATELESS:
                self.zoneless = True
        clocks = [header.time for _, header in sorted(lines.headers.items()) if header.layout == "time-only" and header.time]
        if clocks:
            hours, minutes, seconds = clocks[-1][:8].split(":")
            self.last_clock_ms = clock_ms(int(hours), int(minutes), int(seconds), None)
        self._pairs(text, lines.starts, begins)

    def _dated(self, line: bytes) -> None:
        layout = dated_layout(line)
        self.layouts[layout] += 1
        if not self.zoneless and layout != "unknown":
            time = dated_time(line[:64].decode("utf-8", "replace"))
            stamp = parse(time) if time else None
            self.zoneless = stamp is not None and not stamp.stated

    def _pairs(
        self, text: bytes, starts: np.ndarray[tuple[int], np.dtype[np.int64]], begins: np.ndarray[tuple[int], np.dtype[np.int64]]
    ) -> None:
        if not any(word in text for word in _EPOCH_WORDS):
            return
        for m in EPOCH_IN_MESSAGE.finditer(text):
            start = text.rfind(b"\n", 0, m.start()) + 1
            clock = re.search(
                rb"\d\d\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?|\d\d/\d\d/\d\d \d\d:\d\d:\d\d",
                text[start : m.start()],
            )
            stamp = parse(clock[0].decode()) if clock else None
            if stamp is not None and not stamp.stated:
                self.pairs.append((stamp.ms, int(m[1] or m[2])))
            if len(self.pairs) >= 50:
                return

    def layout(self) -> str | None:
        """Layouts by falling share: `flink-log4j 98 %, level-first 2 %`."""
        total = sum(self.layouts.values())
        if not total:
            return None
        ranked = sorted(self.layouts.items(), key=lambda item: (-item[1], item[0]))
        return ", ".join(f"{name} {round(100 * count / total)} %" for name, count in ranked)
