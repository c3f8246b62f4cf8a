"""Which lines of a block of text begin an event: tested for all lines at once by fixed columns, by expressions only for the rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from analyzers.logs.layouts.layouts import Header, parse_dateless, parse_rare, parse_starter
from analyzers.logs.matching.expressions import expression

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

CONTINUATION, DATED, RARE_DATED, DATELESS, STARTER = 0, 1, 2, 3, 4
BARE = 5

_WIDTH = 19  # yyyy-MM-dd HH:mm:ss
# first bytes of the rarer headers: digits, klog, month and day names, level names (those of .NET are small), '%', '['
_OPENERS = np.zeros(256, bool)
_OPENERS[[ord(c) for c in "0123456789%[IWEFTDCSJMANOVAkswficdt"]] = True
_RARE_HINT = expression(
    rb"[IWEF]\d{4} \d\d:|[DIWEFA], \[\d{4}-|\[\d{1,2}-[A-Z][a-z]{2}-\d{4} |%\d\|"
    rb"|\[?[A-Z][a-z]{2}[a-z]* ([A-Z][a-z]{2}|\d{1,2},) |\d{1,2}[- ][A-Z][a-z]{2}[- ]\d{4} |\[\d{1,2}/[A-Z]|1\d{9}"
    rb"|\[?\d{1,2}[.-]\d\d[.-]\d{4},? \d\d:|\[?\d{1,2}\.? [A-Za-z\x80-\xff]{3,12}\.? \d{4}[, ]"
    rb"|\[?[A-Za-z][\w.-]{1,30}[\]:|]? {1,8}\d{4}/\d\d/\d\d \d\d:"  # Go's log with a prefix
    rb"|\[? ?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL|CRITICAL|SEVERE)(?:ING)? *\]?[ |:,-]+\[?\d{4}[-./]\d\d[-./]\d\d[ T]\d\d:"
)
_DATELESS_HINT = expression(rb"\[?\d\d:\d\d:\d\d|\d+ +\[|\[\d+[.,]\d+s\]|\d+[.,]\d{3}: ")
_STARTER_HINT = expression(
    rb"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL|CRITICAL|SEVERE)|(?:fail|crit|warn|info|dbug|trce): [A-Z]"
    rb"|Exception in thread|Terminating due|Aborting due"
)


class Lines(NamedTuple):
    """The lines of a block: where each starts and ends (without its line break), what it is, and the headers parsed on the way."""

    starts: Ints
    ends: Ints
    kinds: npt.NDArray[np.uint8]
    headers: dict[int, Header]


_PIECE = 256 << 10  # stays in the processor's cache between the two looks at it


def _line_feeds(data: Bytes) -> Ints:
    if len(data) <= _PIECE:
        return np.flatnonzero(data == 10)
    return np.concatenate([np.flatnonzero(data[at : at + _PIECE] == 10) + at for at in range(0, len(data), _PIECE)])


def split_lines(block: bytes) -> tuple[Ints, Ints]:
    """Starts and ends of all lines; a carriage return before the line feed is no part of a line; a last line may lack its end."""
    data = np.frombuffer(block, np.uint8)
    breaks = _line_feeds(data)
    if len(data) and (not len(breaks) or breaks[-1] != len(data) - 1):
        breaks = np.append(breaks, len(data))
    starts = np.empty_like(breaks)
    if len(breaks):
        starts[0] = 0
        starts[1:] = breaks[:-1] + 1
    if b"\r" not in block:
        return starts, breaks
    return starts, breaks - ((data[np.maximum(breaks - 1, 0)] == 13) & (breaks > starts))


def columns(text: bytes, at: Ints, width: int) -> Bytes:
    """The bytes of `text` from each of `at` on, one row each, without a copy of what lies between; all of them lie within."""
    every = np.ndarray(max(len(text) - width + 1, 0), f"V{width}", text, 0, 1)  # one record per byte, no copy
    rows: Bytes = every[at].view(np.uint8).reshape(-1, width)
    return rows


def _heads(block: bytes, starts: Ints) -> Bytes:
    """The first _WIDTH + 1 bytes of every line, one row each: looked at once, not column by column in the whole block."""
    size = _WIDTH + 1
    data = np.frombuffer(block, np.uint8)
    safe = int(np.searchsorted(starts, len(data) - size, "right"))  # of the last lines the block does not hold as many bytes
    heads = np.zeros((len(starts), size), np.uint8)
    if safe:
        heads[:safe] = columns(block, starts[:safe], size)
    for number in range(safe, len(starts)):
        rest = data[starts[number] : starts[number] + size]
        heads[number, : len(rest)] = rest
    return heads


def _fixed_columns(heads: Bytes) -> npt.NDArray[np.bool_]:
    """Whether each line begins with `yyyy-MM-dd HH:mm:ss` or `yy/MM/dd HH:mm:ss`, perhaps behind a bracket."""
    bracketed = heads[:, 0] == 91
    if not bracketed.any():
        return _stamped(heads)
    found = np.empty(len(heads), bool)
    found[~bracketed] = _stamped(heads[~bracketed])
    found[bracketed] = _stamped(np.roll(heads[bracketed], -1, axis=1))  # the bracket in the last column, which may be any byte
    return found


_KINDS = {"d": (ord("0"), 9), "-": (ord("-"), 2), "?": (0, 255)}  # a digit, one of - . /, any byte: the lowest, and how much more it may be
_EVERY_BYTE = 0x01010101  # is true


def _form(columns: str) -> tuple[Bytes, Bytes]:
    """Lowest byte and width of the byte class per column; bytes without a class match only themselves."""
    lowest, more = zip(*(_KINDS.get(column, (ord(column), 0)) for column in columns), strict=True)
    return np.array(lowest, np.uint8), np.array(more, np.uint8)


_LONG_FORM, _SHORT_FORM = _form("dddd-dd-dd?dd:dd:dd?"), _form("dd/dd/dd dd:dd:dd???")


def _stamped(heads: Bytes) -> npt.NDArray[np.bool_]:
    between = heads[:, 10]
    found: npt.NDArray[np.bool_] = _have(heads, _LONG_FORM) & ((between == 32) | (between == 84))
    short: npt.NDArray[np.bool_] = heads[:, 2] == 47
    if short.any():
        found |= _have(heads, _SHORT_FORM)
    return found


def _have(heads: Bytes, form: tuple[Bytes, Bytes]) -> npt.NDArray[np.bool_]:
    """Which rows have a form; four columns are asked at once."""
    lowest, more = form
    fours: npt.NDArray[np.uint32] = ((heads - lowest) <= more).view(np.uint32)  # unsigned: wraps below the lowest
    have: npt.NDArray[np.bool_] = (fours[:, 0] & fours[:, 1] & fours[:, 2] & fours[:, 3] & fours[:, 4]) == _EVERY_BYTE
    return have


def dated_lines(block: bytes, starts: Ints) -> npt.NDArray[np.bool_]:
    """Which of the lines at `starts` begin with a full date and time in a fixed-column form: the only borders of a split."""
    if not len(starts):
        return np.zeros(0, bool)
    return _fixed_columns(_heads(block, starts))


def classify(block: bytes) -> Lines:
    """Every line of `block`, with what kind of event start it is (0 = continuation). A pure function of each line's bytes."""
    starts, ends = split_lines(block)
    if not len(starts):
        return Lines(starts, ends, np.zeros(0, np.uint8), {})
    heads = _heads(block, starts)
    dated = _fixed_columns(heads)
    kinds = dated.astype(np.uint8)
    headers: dict[int, Header] = {}
    for index in np.flatnonzero(_perhaps_rarer(heads) & ~dated & (ends > starts)).tolist():
        kind, header = _rarer(block[starts[index] : min(ends[index], starts[index] + 4096)])
        if header is not None:
            kinds[index] = kind
            headers[index] = header if ends[index] - starts[index] <= 4096 else _whole(kind, block[starts[index] : ends[index]], header)
    return Lines(starts, ends, kinds, headers)


_latest: tuple[tuple[bytes, Lines], ...] = ()


def classified(block: bytes) -> Lines:
    """`classify` for those who only look: the head and the tail of a file are looked at more than once, one after the other."""
    global _latest
    for known, found in _latest:
        if known == block:  # to compare costs less than the hash of a cache
            return found
    found = classify(block)
    _latest = ((block, found), *_latest[:1])
    return found


_CAUSED = np.frombuffer(b"Caused by", np.uint8)


def _perhaps_rarer(heads: Bytes) -> npt.NDArray[np.bool_]:
    """Lines whose first byte may begin a rarer header, without the causes that stack traces are full of."""
    found = _OPENERS[heads[:, 0]]
    where = np.flatnonzero(heads[:, 0] == _CAUSED[0])
    if len(where):
        found[where] = ~(heads[where, : len(_CAUSED)] == _CAUSED).all(axis=1)
    return found


def _whole(kind: int, line: bytes, clipped: Header) -> Header:
    text = line[:65536].decode("utf-8", "replace")
    parsed = parse_rare(text) if kind == RARE_DATED else parse_dateless(text) if kind == DATELESS else parse_starter(text)
    return parsed or clipped


def _rarer(line: bytes) -> tuple[int, Header | None]:
    if _RARE_HINT.match(line):
        header = parse_rare(line.decode("utf-8", "replace"))
        if header is not None:
            return RARE_DATED, header
    if _DATELESS_HINT.match(line):
        header = parse_dateless(line.decode("utf-8", "replace"))
        if header is not None:
            return DATELESS, header
    if _STARTER_HINT.match(line):
        header = parse_starter(line.decode("utf-8", "replace"))
        if header is not None:
            return STARTER, header
    return CONTINUATION, None


_CONTINUES = expression(
    rb"\s|$|Caused by: |at [\w.$/]+\(|\.\.\. \d+ (?:more|common frames)|Suppressed: |Wrapped by: |\[CIRCULAR REFERENCE"
    rb"|During handling of the above|The above exception was|[)}\]]"
    rb"|Some data may have been (?:lost|missed) because "  # second line of what Spark's Kafka source throws
    # a Go panic: its goroutines and their calls, which begin in the first column
    rb"|goroutine \d+ \[|created by [\w./-]+|exit status \d+\s*$|\[signal SIG"
    rb"|(?:[\w.-]+/)*\w+\.(?:\(\*?\w+\)\.)?[\w.]+\((?:0x[0-9a-f]+|[{}?,. ])*\)\s*$"
    rb"|=== Streaming Query ===|Identifier: [^\n]*\[id = |Current (?:Committed Offsets|Available Offsets|State): |Thread State: "
)
_EXCEPTION_LINE = expression(rb"(?:[A-Za-z_$][\w$]*\.)*[A-Z][\w$]*(?:Exception|Error|Throwable|Interrupt|Timeout)(?:\$\w+)?(?::|\s*$)")
_LEVEL_START = expression(rb"\[? ?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL|CRITICAL|SEVERE)\b")


class BareLines:
    """Which lines begin an event where no header is around (a pasted fragment, console output). Remembers the event it is in."""

    def __init__(self) -> None:
        self._line_of_event = -1  # how many lines the current event has, -1 before the first
        self._trace = False  # the event has had an exception or a frame
        self._python = False  # within a Python traceback: its last line is not indented
        self._open = False  # an exception's line breaks off: what it says stands below

    def begins(self, line: bytes) -> bool:
        """Whether `line` begins an event; the first line ever does, whatever it is."""
        if not line and self._line_of_event >= 0:  # of a file of line breaks only there may be millions
            self._line_of_event, self._open = self._line_of_event + 1, False
            return False
        starts = self._line_of_event < 0 or (self._is_start(line) and not (self._open and not _LEVEL_START.match(line)))
        if starts:
            self._line_of_event, self._trace, self._python = 0, False, False
        self._line_of_event += 1
        if line.startswith(b"Traceback (most recent call last)"):
            self._python = True
        elif not line[:1].isspace() and self._python and line and not _CONTINUES.match(line):
            self._python = False
        if _EXCEPTION_LINE.match(line) or line.lstrip().startswith((b"at ", b"Caused by: ")):
            self._trace = True
        named = _EXCEPTION_LINE.match(line) or line.lstrip().startswith(b"Caused by: ")
        self._open = bool(named or self._open) and line.rstrip().endswith((b":", b"{", b"[", b"(", b","))
        return starts

    def _is_start(self, line: bytes) -> bool:
        if _CONTINUES.match(line):
            return False
        if line.startswith(b"Traceback (most recent call last)"):
            return self._trace or self._line_of_event > 1
        if self._python:
            return bool(_LEVEL_START.match(line))
        # an exception right below the message that announces it
        return not (_EXCEPTION_LINE.match(line) and self._line_of_event == 1 and not self._trace)
