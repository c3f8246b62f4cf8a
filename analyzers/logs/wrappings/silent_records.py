"""JSON records in which nobody finds anything: of them only the time is put into canonical lines, which is what they count for.

Most records of a log hold no literal of any signature. Whether one does is seen in the JSON itself, as long as a record has the form of
its layout (`json_templates.py`) and no escapes but those of quotes and backslashes: then every literal in its canonical line stands in
the JSON too, escaped in the same way, or crosses the border of two fields. What such a one leaves in the JSON is searched as well.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from analyzers.logs.matching.expressions import expression
from analyzers.logs.matching.matcher import Matcher
from analyzers.logs.scan.lines import Ints, columns

LEVELS = (b"INFO", b"WARN", b"DEBUG", b"TRACE")  # as records print them and canonical lines state them
SHORTEST_RUN = 4  # records one after the other: fewer are no gain
_SEPARATORS = expression(rb"[ \-\[\]]+")  # of which all borders of fields are made: see `records.origin_text`
_BORDERS = (b" [", b" - ", b"] - ")
_PLAIN = rb'[^"\\\0-\x1f]'
_ENDS = rb"[!#-,./0-Z^-~]"  # no separators, no quote
_FIELDS = {
    "time": rb"[12]\d{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
            rb"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.",
    "level": b"(?:" + b"|".join(LEVELS) + b")",
    "logger": rb"[A-Za-z0-9_$.@/]+",
    # what is printed as it stands: no two blanks, no separator at its ends
    "thread": _ENDS + rb"[!#-\[\]-~]*(?: [!#-\[\]-~]+)*(?<![\[\]-])",
}  # fmt: skip
_BODY = rb'[^"\\\0-\x1f]*(?:\\["\\][^"\\\0-\x1f]*)*'
_PLAIN_BODY = rb'[^"]*(?:(?<=\\)"[^"]*)*(?<!\\)'  # the same in plain lines (see `_odd`), in two thirds of the time
_NOT_KEYS = b" \t,}"  # no key begins with one of them: so no body of a plain line goes on in the next one


def field(role: str, text: str = "", *, plain: bool = False) -> bytes:
    """The expression of a place of that role; `text`: of a time its fraction, of a message what one of its own begins with.

    `plain`: in plain lines only.
    """
    if role == "time":
        return _FIELDS[role] + rb"\d{%d}Z" % len(text)
    if role == "message":  # not an empty one; one that begins with a brace and ends otherwise is no JSON within JSON
        body = _PLAIN_BODY if plain else _BODY
        return rb"(?:(?!\")(?=%b)%b|\{%b(?<![} \t]))" % (text.encode(), body, body)
    return _FIELDS.get(role, _PLAIN + b"+")


class Form(NamedTuple):
    """Of the records of one layout: an expression of many that follow each other, and what of each is its canonical line: the time.

    `plain`: the same expression for plain lines, which begin with `prefix` and have no escapes but those of quotes.
    """

    records: re.Pattern[bytes]
    plain: re.Pattern[bytes]
    prefix: bytes
    width: int


class Run(NamedTuple):
    """Records that follow each other: the lines of the first and behind the last of them, and their canonical lines."""

    start: int
    stop: int
    text: bytes


def escaped(text: bytes) -> bytes:
    return text.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def raw_literals(literals: Sequence[bytes]) -> set[bytes]:
    """What is to be searched in the JSON to find all records in whose canonical lines any of `literals` stands, and perhaps some more.

    Raises ``ValueError`` where that cannot be said.
    """
    found = {escaped(literal) for literal in literals}
    for literal in literals:
        for run in _SEPARATORS.finditer(literal):
            left, gap, right = literal[: run.start()], run[0], literal[run.end() :]
            if left:  # the end of a field, if the border begins here
                if b'"' not in left and b"\\" not in left and _is_border(left, gap, whole=bool(right)):
                    found.add(left + b'"')
            elif right:
                found.update(b'"' + escaped(literal[at:]) for at in range(1, run.end() + 1))
            else:
                raise ValueError(f"{literal!r} stands in every line")
    return found


def _is_border(left: bytes, gap: bytes, *, whole: bool) -> bool:
    """Whether a border may look like `gap` behind `left`; `whole`: it ends where the gap ends. Messages may begin with separators."""
    if gap.startswith((b" - ", b"] - ")):
        return True
    if not whole:
        return any(border.startswith(gap) for border in _BORDERS)
    return gap == b" [" or (gap == b" " and (left[-1:] == b"Z" or any(level.endswith(left) for level in LEVELS)))


@lru_cache(maxsize=4)
def raw_matcher(literals: tuple[bytes, ...]) -> Matcher | None:
    """The matcher of `raw_literals`; None where there is none."""
    try:
        return Matcher(sorted(raw_literals(literals)))
    except ValueError:
        return None


def silent_runs(text: bytes, breaks: Ints, form: Form, matcher: Matcher | None) -> Iterator[Run]:
    """Records that follow each other and in which nothing is found, as the canonical lines of their times; `breaks`: where the lines end.

    The record above one that has another form is left out: what comes then may be more of the same event.
    """
    if matcher is None or not text.isascii():
        return
    ends = [-1, *breaks.tolist()]
    loud, odd = np.searchsorted(breaks, matcher.scan(text)[1]), _odd(text, breaks, form)
    moments, size = _moments(text, breaks, form), form.width + 1
    match, line = (form.records if odd is None else form.plain).match, 0
    for stop in (*np.unique(loud if odd is None else np.append(loud, odd)).tolist(), len(breaks)):
        while stop - line > SHORTEST_RUN:
            found = match(text, ends[line] + 1, ends[stop] + 1)
            after = line if found is None else bisect_left(ends, found.end() - 1, line)
            if after - 1 - line >= SHORTEST_RUN:
                said = moments[line * size : (after - 1) * size - 1]
                yield Run(line, after - 1, said)
            line = after + 1
        line = stop + 1


def _odd(text: bytes, breaks: Ints, form: Form) -> Ints | None:
    """The lines that are not plain; None if backslashes are escaped in some, or there are control codes: then none is taken for plain."""
    data = np.frombuffer(text, np.uint8)
    at = np.flatnonzero(data == ord("\\"))
    behind = data[np.minimum(at + 1, len(data) - 1)]
    key = form.prefix.find(b'"') + 1
    if (behind == ord("\\")).any() or b"\0" in text or b"\x1b" in text or key > 3 or form.prefix[key] in _NOT_KEYS or len(text) < 4:
        return None
    starts = np.append(0, breaks[:-1] + 1)
    heads = columns(text, np.minimum(starts, len(text) - 4), 4).view(np.uint32)[:, 0]  # four bytes compared at once
    others = np.flatnonzero(heads != np.frombuffer(form.prefix[:4], np.uint32))
    return np.append(np.searchsorted(breaks, at[behind != ord('"')]), others)


def _moments(text: bytes, breaks: Ints, form: Form) -> bytes:
    """A line of the time of each record; of what is none it is something else, which nobody looks at."""
    if len(text) < form.width:
        return b""
    starts = np.append(0, breaks[:-1] + 1)
    moments = np.full((len(breaks), form.width + 1), ord("\n"), np.uint8)
    moments[:, :-1] = columns(text, np.minimum(starts + len(form.prefix), len(text) - form.width), form.width)
    return moments.tobytes()
