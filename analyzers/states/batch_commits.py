"""Which batch of Structured Streaming a table holds as committed: commits of Delta (``txn``), listings of ``_spark_metadata``.

Delta adds a batch only if its number is above the version that it holds for the application id; the file sink only if it is above the
newest number in ``_spark_metadata``. Source: DeltaSink.addBatch, OptimisticTransaction.txnVersion, FileStreamSink.addBatch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from analyzers.logs.matching.expressions import expression
from analyzers.states.state import State, Text, Values

SHAPE = "list of commits"
SIGNS = (b'"txn"', b"_spark_metadata")
_TXN = expression(
    r'"txn"\s{0,4}:\s{0,4}\{\s{0,4}"appId"\s{0,4}:\s{0,4}"(?P<app>[^"\n]{1,300})"\s{0,4},\s{0,4}"version"\s{0,4}:\s{0,4}(?P<number>\d{1,18})'
    r'(?:\s{0,4},\s{0,4}"lastUpdated"\s{0,4}:\s{0,4}(?P<at>\d{12,14}))?'
)
_TABLE = expression(r"(?P<table>[\w.:/@-]{1,400}?)/_delta_log\b")
_LISTED = expression(
    r"(?:[-dl][rwxsStT-]{9}\S*\s.{0,200}?)?(?:(?P<at>\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?)\s+)?(?:\d+\s+)?"
    r"(?P<path>\S{1,400}/_spark_metadata/)?(?P<number>\d{1,18})(?:\.compact)?\s*"
)
_FOLDER = expression(r"(?P<path>[\w.:/@=-]{1,400}?)/_spark_metadata/?(?=[\s'\":]|$)")
_NEAR, _LONGEST, _MOST_LINES = 12, 4_000, 100_000


def read(text: Text) -> Iterator[State]:
    """A state for the newest transaction of each application, and one for each listing."""
    yield from _transactions(text.lines)
    yield from _listings(text.lines)


def _transactions(lines: Sequence[str]) -> Iterator[State]:
    newest: dict[str, tuple[int, Values]] = {}
    for at, line in enumerate(lines):
        if '"txn"' not in line[:_LONGEST]:
            continue
        for m in _TXN.finditer(line[:_LONGEST]):
            number = int(m["number"])
            if m["app"] not in newest or number >= newest[m["app"]][1]["committed"]:
                newest[m["app"]] = at, {
                    "writer": "delta", "application": m["app"], "committed": number, "committed_at": _millis(m["at"]),
                    "table_name": _table(lines[max(0, at - _NEAR) : at + 1]), "line": at + 1,
                }  # fmt: skip
    for at, values in newest.values():
        yield _state(at, at + 1, values)


def _listings(lines: Sequence[str]) -> Iterator[State]:
    number = 0
    while number < min(len(lines), _MOST_LINES):
        if "_spark_metadata" in lines[number][:_LONGEST] and (answer := _listing(lines, number)):
            stop, values = answer
            yield _state(number, stop, values)
            number = stop
        number += 1


def _listing(lines: Sequence[str], first: int) -> tuple[int, Values] | None:
    """The numbers of a listing that begins here, or below the command that asked for it."""
    asked = _FOLDER.search(lines[first][:_LONGEST])
    found: list[tuple[int, str | None, str | None, int]] = []
    number = first if _LISTED.fullmatch(lines[first][:_LONGEST]) else first + 1
    while number < min(len(lines), first + _MOST_LINES):
        m = _LISTED.fullmatch(lines[number][:_LONGEST].rstrip())
        if m is None or not (m["path"] or (m["at"] and asked)):
            break
        path = m["path"].removesuffix("/_spark_metadata/") if m["path"] else asked and asked["path"]
        found.append((int(m["number"]), m["at"], path, number + 1))
        number += 1
    if not found:
        return None
    committed, at, path, line = max(found, key=lambda each: each[0])
    return number, {"writer": "files", "committed": committed, "committed_at": _moment(at), "table_name": path, "line": line}


def _state(first: int, last: int, values: Values) -> State:
    state = State(SHAPE, first, last, at=values["committed_at"], also_log=True)
    state.add("sink_commits", values)
    return state


def _table(lines: Sequence[str]) -> str | None:
    return next((m["table"] for line in reversed(lines) if (m := _TABLE.search(line[:_LONGEST]))), None)


def _millis(text: str | None) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(text) / 1000, timezone.utc) if text else None
    except (ValueError, OverflowError, OSError):
        return None


def _moment(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(text.replace("T", " ")).replace(tzinfo=timezone.utc) if text else None
    except ValueError:
        return None
