"""Stacks of threads in a form that no other shape reads: it has to be said that they were not read, so that no all-clear covers them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyzers.logs.matching.expressions import expression
from analyzers.states.state import State, Text

SHAPE = "dump of stacks in an unknown form"
SIGNS = (b"hread", b"iber", b"outine")
GLANCE = re.compile(rb"(?m)^\W{0,4}(?:[Tt]hread|[Ff]iber|[Cc]oroutine)[ #:(<][^\n]{0,200}\n(?:[ \t]+[^\s][^\n]{2,300}\n){2}")
_HEAD = expression(r"^\W{0,4}(?:[Tt]hread|[Ff]iber|[Cc]oroutine)[ #:(<]\S*")
_FRAME = expression(
    r"^\s+(?:at |from |in |\d+[ :]|#\d+ )?[^\s=:][^=]{0,300}?(?:[(:@ ]\S*\.\w{1,5}:\d+|:\d+:in |\+0x[0-9a-f]+|\+\d+\)?$|!\S+\()"
)
_FAILURE = expression(r"Exception|\bError\b|Traceback|panic|Caused by")
_HEADS, _FRAMES = 2, 6


def read(text: Text) -> Iterator[State]:
    """One state without rows for a text that holds nothing else."""
    heads = frames = first = last = 0
    others = 0
    for number, line in enumerate(text.lines):
        if _HEAD.match(line):
            first = first if heads else number
            heads += 1
            last = number + 1
        elif heads and _FRAME.match(line):
            frames += 1
            last = number + 1
        elif line.strip():
            others += 1
            if _FAILURE.search(line):
                return
    if heads >= _HEADS and frames >= _FRAMES and frames > others:
        yield State(SHAPE, first, last, trouble="holds stacks of threads in a form that diag does not read")
