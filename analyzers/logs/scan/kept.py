"""What is kept of an event until it is clear which ones stay, and the row of `log_events` that it becomes then.

Of most only the text is kept: what it says is read from it once more, of those that stay when all parts are put together.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, NamedTuple

from analyzers.logs.layouts import exceptions
from analyzers.logs.layouts.layouts import Header, dated_header
from analyzers.logs.layouts.timestamps import to_datetime
from analyzers.logs.scan.captures import EXCEPTION, Prepared, client_columns, columns, prepare, task_columns
from analyzers.logs.scan.events import MATCHED, NO_TRACE, Event, shown
from analyzers.logs.scan.lines import DATED
from analyzers.logs.scan.memo import NO_DIGITS
from analyzers.logs.scan.selection import FilePart, Key, Row
from analyzers.logs.signatures.signature import Signature
from analyzers.tables import LOG_EVENTS

_BLANK = dict.fromkeys(LOG_EVENTS.names)


class Reading(NamedTuple):
    """What an event says: the signatures that know it, or else what kind of trouble it is; and who says which version it is."""

    header: Header
    trace: exceptions.Trace
    known: tuple[tuple[Prepared, re.Match[str] | None], ...]
    generic: str | None
    banner: tuple[str, str] | None


class Kept(NamedTuple):
    """An event that is kept for one signature (`by`; None = none knows it): its `text`, of a long one the beginning, and `tail`, the end.

    `header` and `said` (exception chain, columns) stand for what its text alone does not tell.
    """

    name: str
    by: Signature | None
    text: bytes
    tail: bytes
    flags: int
    zone: str
    header: Header | None
    said: tuple[exceptions.Trace, dict[str, object]] | None


def kept_of(event: Event, reading: Reading | None, by: Signature | None, name: str, zone: str) -> Kept:
    """`event`, with copies of its bytes: an event holds on to its whole block. `reading` may be None if `event.raw` is all of it."""
    text, tail = event.raw()
    said = None
    if tail or event.end - event.start > len(text):
        assert reading is not None  # a long event is read each time
        said = (reading.trace, _columns(next((match for prepared, match in reading.known if prepared.signature is by), None)))
    return Kept(name, by, text, tail, event.flags, zone, event.header if said is not None or event.kind != DATED else None, said)


def _columns(match: re.Match[str] | None) -> dict[str, object]:
    return columns(match.groupdict()) if match is not None else {}


class Rows:
    """Makes rows of what was kept; a text is read once, and values that rows have in common are held once. `head`: what all rows say."""

    def __init__(self, **head: object) -> None:
        self._blank = {**_BLANK, **head}
        self._prepared: dict[int, Prepared] = {}
        self._read: dict[tuple[bytes, str], Row] = {}
        self._moments: dict[int, datetime | None] = {}
        self._values: dict[object, Any] = {}

    def row(self, file: FilePart, key: Key, kept: Kept) -> Row:
        """The row of an event of `file`; its place is that of its key. What rows of one text say they share: it is not to be changed."""
        text = shown(kept.text, kept.tail)
        row: dict[str, Any] = self._said(kept, text).copy()
        row["at"], row["zone"] = None if key[0] else self._moment(key[1]), kept.zone
        row["file"], row["line"] = file.file, key[3]
        row["role"], row["host"] = row["role"] or file.role, row["host"] or file.host  # its own words come first
        row["text"] = text
        return row

    def _said(self, kept: Kept, text: str) -> Row:
        """What does not depend on when and where a text was written."""
        if kept.said is not None:
            return self._row(kept.name, _event(kept).header, *kept.said)
        by = kept.by
        # who searches whole lines may see the stamp; a header that is known was none of the usual form
        words = kept.text if kept.header is not None or (by is not None and by.where == "line") else _but_for_time(kept.text)
        said = self._read.get((words, kept.name))
        if said is None:
            if _is_plain(kept):  # an `Event` would say the same
                header, trace = dated_header(text), NO_TRACE
                pattern = self._prepare(by).pattern if by is not None else None
                match = pattern.search(header.message) if pattern is not None else None
            else:
                event = _event(kept)
                header, trace = event.header, event.trace
                match = _match(event, self._prepare(by)) if by is not None else None
            said = self._row(kept.name, header, trace, self._held_once(_columns(match)))
            if header.time is not None:  # else its message is all of the line
                self._read[words, kept.name] = said
        return said

    def _row(self, name: str, header: Header, trace: exceptions.Trace, values: dict[str, object]) -> Row:
        row: dict[str, Any] = self._blank.copy()
        if "clientId=" in header.message:
            row.update(client_columns(header.message))
        row["signature"] = name
        row["level"], row["logger"], row["thread"], row["job"] = header.level, header.logger, header.thread, header.job
        if header.thread is not None and "/" in header.thread:
            row.update(task_columns(header.thread))
        root = trace.root
        if root is not None:
            row.update(
                exception=trace.chain[0].kind, root_exception=root.kind, root_message=root.message, chain=trace.described(),
                user_frame=trace.user_frame, frames=trace.frames,
            )  # fmt: skip
        elif trace.loose:
            row.update(user_frame=trace.user_frame, frames=trace.frames)
        row.update(values)
        return row

    def _moment(self, ms: int) -> datetime | None:
        if ms not in self._moments:
            self._moments[ms] = to_datetime(ms)
        return self._moments[ms]

    def _held_once(self, values: dict[str, object]) -> dict[str, object]:
        for name, value in values.items():
            if isinstance(value, str):
                values[name] = self._values.setdefault(value, value)
            elif isinstance(value, dict):
                values[name] = self._values.setdefault(tuple(value.items()), value)
        return values

    def _prepare(self, signature: Signature) -> Prepared:
        known = self._prepared.get(id(signature))  # to compare signatures takes longer than to prepare one
        if known is None or known.signature is not signature:
            known = self._prepared[id(signature)] = prepare(signature)
        return known


def _is_plain(kept: Kept) -> bool:
    """Whether it is one line without an exception, of which a signature sees the message: what most are."""
    text, by = kept.text, kept.by
    return (
        kept.header is None
        and not kept.flags & EXCEPTION
        and text.find(b"\n") in (-1, len(text) - 1)
        and b"\r" not in text
        and b"\tat " not in text
        and (by is None or by.where != "line")
    )


def _but_for_time(text: bytes) -> bytes:
    """The text of an event that begins with a full date and time, all digits of which are made the same."""
    at = text[0] == 91
    end = at + (len("yy/MM/dd HH:mm:ss") if text[at + 2] == 47 else len("yyyy-MM-dd HH:mm:ss"))
    if text[end : end + 1] in (b",", b".") and text[end + 1 : end + 4].isdigit():
        end += 4
    return text[:end].translate(NO_DIGITS) + text[end:]


def _event(kept: Kept) -> Event:
    text, first = kept.text, kept.text.find(b"\n")
    if first < 0 or first == len(text) - 1:  # what most are: one line
        starts, ends, count = [0], [len(text) if first < 0 else first], 1
    elif kept.by is not None and kept.by.where == "line":
        starts, ends = [0], []
        for line in text.removesuffix(b"\n").split(b"\n"):
            ends.append(starts[-1] + len(line))
            starts.append(starts[-1] + len(line) + 1)
        count = len(ends)
    else:  # nobody looks at the lines behind the second one by one
        second = text.find(b"\n", first + 1)
        starts, ends = [0, first + 1], [first, len(text) if second < 0 else second]
        count = text.count(b"\n", 0, len(text) - 1) + 1
    if b"\r" in text:
        ends = [end - (end > start and text[end - 1] == 13) for start, end in zip(starts, ends, strict=False)]
    event = Event(text, 0, len(text), 0, count, starts, ends, DATED, None, 0, 0, kept.tail, kept.flags)
    if kept.header is not None:
        event.header = kept.header
    return event


def _match(event: Event, known: Prepared) -> re.Match[str] | None:
    """How the expression of a signature fits an event of which that is known."""
    by, pattern = known.signature, known.pattern
    if pattern is None:
        return None
    if by.where == "message":
        return pattern.search(event.header.message[:MATCHED])
    if by.where == "event":
        return pattern.search(event.whole()[:MATCHED])
    lines = (event.line_text(number) for number in range(event.line_count))
    matches = (pattern.search(line.strip()[:MATCHED]) for line in lines if any(literal in line for literal in by.literals))
    return next((match for match in matches if match is not None), None)
