"""A second, slow reading of logs, line by line with nothing but `re`: what the kernel's rows are compared with. Shares no code with it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import NamedTuple

from analyzers.logs.signatures.signature import Signature

_LONG = re.compile(rb"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
_SHORT = re.compile(rb"(\d\d/\d\d/\d\d \d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
_LEVEL = re.compile(r"^\S+ \S+ +(?:(?:\d+ +)?\[[^\]]*\] +)?(?:[a-z][^:]*? )?(TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +(.*)$", re.DOTALL)
_MESSAGE = (
    re.compile(r"(?P<logger>[\w.$]+) +(?:\[[^\]]*\] +)?- ?(?P<message>.*)", re.DOTALL),
    re.compile(r"(?P<logger>[A-Z]\w+): (?P<message>.*)", re.DOTALL),
    re.compile(r"(?P<message>.*?) \((?P<logger>[\w.$]+)\)", re.DOTALL),
)


class Seen(NamedTuple):
    """One event that a signature knows, or an error that none does."""

    line: int
    at: datetime | None
    signature: str
    level: str | None
    text: str


def _time(line: bytes) -> datetime | None:
    for pattern, form in ((_LONG, "%Y-%m-%d %H:%M:%S"), (_SHORT, "%y/%m/%d %H:%M:%S")):
        m = pattern.match(line)
        if m:
            try:
                at = datetime.strptime(m[1].decode().replace("T", " "), form).replace(tzinfo=timezone.utc)
            except ValueError:
                return None
            return at.replace(microsecond=int(((m[2] or b"") + b"000")[:3]) * 1000)
    return None


def _header(line: bytes) -> bool:
    return bool(_LONG.match(line) or _SHORT.match(line))


def read(data: bytes, signatures: Sequence[Signature]) -> list[Seen]:
    """Every event of a log whose first line is a header with a full date."""
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    lines = [line.removesuffix(b"\r").replace(b"\0", b"") for line in lines]
    starts = [n for n, line in enumerate(lines) if _header(line)]
    found: list[Seen] = []
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        found += _event(start, lines[start:stop], signatures)
    return found


def _event(start: int, lines: list[bytes], signatures: Sequence[Signature]) -> list[Seen]:
    text = [line.decode("utf-8", "replace") for line in lines]
    m = _LEVEL.match(text[0])
    level, rest = (m[1], m[2]) if m else (None, text[0])
    message = next((found["message"] for pattern in _MESSAGE if (found := pattern.fullmatch(rest))), rest) if m else rest
    known = []
    for signature in signatures:
        on = [n for n, line in enumerate(text) if any(literal in line for literal in signature.literals)]
        if not on:
            continue
        places = {"message": [message], "line": [text[n].strip() for n in on], "event": ["\n".join([message, *text[1:]])]}[signature.where]
        if signature.pattern is None or any(re.search(signature.pattern, place) for place in places):
            known.append(signature.id)
    if not known and level in ("ERROR", "FATAL"):
        known = ["error-logged"]
    return [Seen(start + 1, _time(lines[0]), name, level, "\n".join(text)) for name in known]


def counts(seen: Sequence[Seen]) -> Counter[tuple[str, datetime | None]]:
    """Events per signature and minute."""
    return Counter((one.signature, one.at.replace(second=0, microsecond=0) if one.at else None) for one in seen)
