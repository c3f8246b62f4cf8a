"""How a file is wrapped, as its head and tail tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from analyzers.logs.layouts.sections import has_sections
from analyzers.logs.matching.expressions import expression
from analyzers.logs.wrappings import cluster_events, documents, pasted
from analyzers.logs.wrappings.envelopes import BY_NAME, wrappings_of
from analyzers.logs.wrappings.records import Record, record_of

_SAMPLE_LINES = 300
OUTER = frozenset(("quote", "numbered"))  # what stands outside of what pasting did
_EXPORT = expression(rb'"(?:hits|_source|events|logStreamName|resultType|values|textPayload|jsonPayload|logRecords|@?message)"\s*:')


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
    if cluster_events.are_in(head):
        return Wrapping(document=cluster_events.DOCUMENT)
    in_brackets = start[:1] in (b"{", b"[") and not _is_json_lines(head)
    if in_brackets and (documents.is_json_export(head.decode("utf-8", "replace")) if whole else _EXPORT.search(head)):
        return Wrapping(document="json")
    first = head.split(b"\n", 1)[0].rstrip(b"\r").decode("utf-8", "replace")
    if len(first) < 4096 and documents.csv_columns(first):
        return Wrapping(document="csv")
    lines = _sample(head, whole) + (_sample(tail, False) if tail else [])
    names = wrappings_of(lines)
    sections = has_sections(head)
    cleaning = None
    if whole and len(head) <= pasted.LIMIT and not {"json", "logfmt"} & set(names):
        every = peel_all(head.split(b"\n"), [name for name in names if name in OUTER])
        cleaning = pasted.examine(every[:-1] if len(every) > 1 and not every[-1] else every)
        if set(names) - OUTER:
            cleaning = replace(cleaning, indent=0, wrap=0)
        if not cleaning.names:
            cleaning = None
        elif not names:
            names = wrappings_of([line for line, _ in pasted.undo(every, cleaning)])  # a quoted or indented paste of a wrapped log
    if not names and not sections and cleaning is None:
        return None
    return Wrapping(names, cleaning, None, sections, _descending(lines, names))


def _is_json_lines(head: bytes) -> bool:
    """Whether each line is a record; what an API answers, or a collector writes, on one line holds several."""
    lines = [line for line in head.split(b"\n")[:3] if line.strip()]
    are_objects = len(lines) > 1 and all(line.lstrip()[:1] == b"{" and line.rstrip()[-1:] == b"}" for line in lines[:2])
    return are_objects and not (record_of(lines[0]) is None and documents.holds_many(lines[0].decode("utf-8", "replace")))


def _sample(text: bytes, whole: bool) -> list[bytes]:
    lines = text.split(b"\n")
    if not whole:
        lines = lines[1:-1] if len(lines) > 2 else lines
    if len(lines) <= _SAMPLE_LINES:
        return [line[:65536] for line in lines]
    step = _SAMPLE_LINES // 3
    middle = len(lines) // 2
    return [line[:65536] for part in (lines[:step], lines[middle : middle + step], lines[-step:]) for line in part]


def peel_all(lines: Iterable[bytes], names: Sequence[str]) -> list[bytes]:
    """Lines without those envelopes."""
    if not names:
        return [line.rstrip(b"\r") for line in lines]
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
    first, last = next(_times(lines, names), None), next(_times(reversed(lines), names), None)
    if first is None or last is None or first <= last:
        return False
    times = list(_times(lines, names))
    falls = sum(1 for a, b in pairwise(times) if b < a)
    rises = sum(1 for a, b in pairwise(times) if b > a)
    return falls > 0 and rises == 0


def _times(lines: Iterable[bytes], names: Sequence[str]) -> Iterator[int]:
    """The times that the wrapping gives, of the lines that have one."""
    for line in lines:
        for name in names:
            peeled = BY_NAME[name].peel(line)
            if peeled is not None:
                if peeled.time_ms is not None:
                    yield peeled.time_ms
                break
