"""Traces that were printed line by line, so that each of their lines has a header or a stamp of its own: they lose it.

Those of a JVM are known by each line; those of Python and Go by where they begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from analyzers.logs.layouts.layouts import dated_header
from analyzers.logs.matching.expressions import expression
from analyzers.logs.scan.lines import DATED, Lines, classify

_FRAMES = 3  # one may be quoted by a message
_OF_TRACE = expression(rb"\s*(?:at (?:[\w.@-]+/{1,2})?[\w$<>]+(?:\.[\w$<>-]+)+\(|\.\.\. \d+ (?:more|common frames)|Caused by: )")
_BEHIND_STAMP = expression(rb"[\s\]:-](?=at [\w$<.@/-]+\(|\.\.\. \d|Caused by: )")
_LOCAL_STAMP = expression(
    rb"\d{4}/\d{1,2}/\d{1,2} (?:[\x80-\xff]{2,12}|[AP]M )?\d{1,2}:\d\d:\d\d(?: [AP]M)?(?=\s*(?:at |Caused by: |\.\.\. ))"
)
_STAMP = rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_SCRIPT_FRAME = expression(
    _STAMP + rb"[ \t](?:Traceback \(most recent|[ \t]+File \"[^\"]{1,300}\", line \d|\t\S{1,300}\.go:\d|goroutine \d+ \[)"
)
_STAMPED = expression(rb"(" + _STAMP + rb")[ \t]?")
_OPENS = expression(rb"\s*Traceback \(most recent call last\)|goroutine \d+ \[[^\]]{1,60}\]:")
_GOES_ON = expression(
    rb"\s|$|Traceback \(most recent|During handling of the above|The above exception was"
    rb"|goroutine \d+ \[|created by |[\w./*()-]+\([^()]*\)$"
)
_CALLS_BACK = expression(rb"$|During handling of the above|The above exception was|Traceback \(most recent")
_LEVEL = expression(rb"\W*(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b")


def _of_a_trace(line: bytes) -> bytes | None:
    """The line of a stack trace behind a header or stamp of its own; None if it is none."""
    if (b"at " not in line and b"Caused by: " not in line and b"... " not in line) or not _BEHIND_STAMP.search(line, 1):
        return None
    if local := _LOCAL_STAMP.match(line):
        return line[local.end() :] if _OF_TRACE.match(line, local.end()) else None
    if _OF_TRACE.match(line) or not (classify(line + b"\n").kinds == DATED).any():
        return None
    message = dated_header(line.decode("utf-8", "surrogateescape")).message.encode("utf-8", "surrogateescape")
    return message if _OF_TRACE.match(message) else None


def _with_stamps(lines: Sequence[bytes], block: bytes, found: Lines) -> Iterator[bytes]:
    """Those of the lines of a block that begin with a date: of no other one `_of_a_trace` leaves anything."""
    data = np.frombuffer(block, np.uint8)
    slashed = data[np.minimum(found.starts + 4, len(data) - 1)] == ord("/")  # as in _LOCAL_STAMP
    return (lines[number] for number in np.flatnonzero((found.kinds == DATED) | slashed).tolist())


def may_be_in(text: bytes) -> bool:
    """Whether a frame may stand behind something else on its line: a glance; a tab is rare, and found quickly."""
    if b" at " in text and (b"- at " in text or b"] at " in text):
        return True
    if b"\tat " in text and text.count(b"\tat ") > text.count(b"\n\tat "):
        return True
    return any(_SCRIPT_FRAME.match(text, text.rfind(b"\n", 0, at) + 1) is not None for at in _first(text, b'  File "', b".go:"))


def _first(text: bytes, *signs: bytes) -> Iterator[int]:
    """Where each of `signs` that a text holds stands first."""
    return (at for sign in signs if (at := text.find(sign)) >= 0)


def are_in(lines: Sequence[bytes], block: bytes, found: Lines) -> bool:
    """Whether `lines`, which are those of `block` and were `found` in it, hold such traces."""
    behind = (True for line in _with_stamps(lines, block, found) if _of_a_trace(line) is not None or _SCRIPT_FRAME.match(line))
    return len(list(islice(behind, _FRAMES))) == _FRAMES


def joined(lines: Sequence[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
    """`lines`, each with its place in the text, of which those of traces have lost their headers and stamps."""
    return list(_whole_scripts([_unstamped(line, number, first=not place) for place, (line, number) in enumerate(lines)]))


def _unstamped(line: bytes, number: int, *, first: bool) -> tuple[bytes, int]:
    """`line` without its stamp if it continues a trace; the `first` one of a text continues none."""
    inner = None if first else _of_a_trace(line)
    if inner is None:
        return line, number
    inner = inner.lstrip()
    return inner if inner.startswith(b"Caused by: ") else b"\t" + inner, number


def _whole_scripts(lines: Sequence[tuple[bytes, int]]) -> Iterator[tuple[bytes, int]]:
    """Lines of which those of a trace of Python or Go, each of which has a stamp, have lost it. The first one keeps it unless it has that
    of the line before, which then reports the failure; a trace of Python ends behind its first line that is not indented."""
    before, within, closed, script = b"", False, False, False
    for line, number in lines:
        stamp = _STAMPED.match(line)
        rest = line[stamp.end() :] if stamp else line
        if stamp is None:
            within = False
        elif not within and _OPENS.match(rest):
            within, closed, script = True, False, b"Traceback" in rest
            if stamp[1] == before:
                line = rest
        elif within:
            goes_on = (_CALLS_BACK if closed else _GOES_ON).match(rest) is not None
            last = not goes_on and not closed and script and not _LEVEL.match(rest)
            within = goes_on or last
            closed = last or (closed and not rest.startswith(b"Traceback"))
            line = rest if within else line
        before = stamp[1] if stamp else b""
        yield line, number
