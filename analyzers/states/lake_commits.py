"""Which checkpoint of a Flink job a table of Iceberg holds as committed: snapshots as JSON, or what a query of them printed.

The sink writes ``flink.job-id`` and ``flink.max-committed-checkpoint-id`` into the summary of each snapshot, and skips a checkpoint of that
job whose number is not above it. Source: SinkUtil.getMaxCommittedCheckpointId, IcebergFilesCommitter, IcebergCommitter of iceberg-flink.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from analyzers.logs.matching.expressions import expression
from analyzers.states.state import State, Text, Values

SHAPE = "list of snapshots"
SIGNS = (b"max-committed-checkpoint-id",)
_NUMBER = expression(r"max-committed-checkpoint-id[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?P<number>\d{1,18})")
_JOB = expression(r"flink\.job-id[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?P<job>[0-9a-f]{32})")
_AT = expression(r"(?P<at>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.\d{1,9})?")
_FROM = expression(r"\bfrom\s+(?P<table>[\w.\"`]{1,200}?)[.\"`$]+snapshots\b", re.IGNORECASE)
_SELECT = expression(r"\bselect\b(?P<columns>.{1,2000}?)\bfrom\b", re.IGNORECASE)
_ASKED = expression(r"max-committed-checkpoint-id'\](?:\s+(?:as\s+)?\"?(?P<alias>\w{1,60})\"?)?", re.IGNORECASE)
_JOB_ID = expression(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_CELLS = expression(r"\s*\|\s*|\t+")
_COMMA = expression(r",(?![^\[(]*[\])])")
_NEAR, _MOST_LINES, _LONGEST = 8, 400, 4_000


def read(text: Text) -> Iterator[State]:
    """A state for each document and each answer that shows such a number: the largest one."""
    of_documents = set[int]()
    for document in text.documents:
        of_documents.update(range(document.first, document.last))
        own = text.lines[document.first : document.last]
        if found := _of_lines(own, document.first):
            yield _state(document.first, document.last, found, text)
    number = 0
    while number < len(text.lines):
        if (
            number not in of_documents
            and "max-committed-checkpoint-id" in text.lines[number][:_LONGEST]
            and (answer := _of_query(text.lines, number))
        ):
            stop, found = answer
            yield _state(number, stop, found, text)
            number = stop
        number += 1


def _state(first: int, last: int, values: Values, text: Text) -> State:
    asked = " ".join(text.lines[max(0, first - 3) : min(last, first + 6)])
    table = _FROM.search(asked[:_LONGEST]) or _FROM.search(text.whole[:_LONGEST])
    state = State(SHAPE, first, last, at=values.get("committed_at"))
    name = table["table"].strip('"`').replace('"', "").replace("`", "") if table is not None else None
    state.add("sink_commits", {"table_name": name, "writer": "flink", **values})
    return state


def _of_lines(lines: Sequence[str], first: int) -> Values | None:
    """Of snapshots as JSON."""
    found: tuple[int, int] | None = None
    for at, line in enumerate(lines):
        for m in _NUMBER.finditer(line[:_LONGEST]):
            found = max(found or (-1, 0), (int(m["number"]), at))
    if found is None:
        return None
    number, at = found
    near = "\n".join(line[:_LONGEST] for line in lines[max(0, at - _NEAR) : at + _NEAR])
    job, moment = _JOB.search(near), _AT.search(near)
    return {
        "committed": number, "job": job["job"] if job else None, "committed_at": _moment(moment), "line": first + at + 1,
    }  # fmt: skip


def _of_query(lines: Sequence[str], first: int) -> tuple[int, Values] | None:
    """Of the rows below a query the largest number of the column that was asked for, which a table without a head has in its order."""
    query = " ".join(line[:_LONGEST] for line in lines[first : first + 6])
    asked, select = _ASKED.search(query), _SELECT.search(query)
    if asked is None or select is None:
        return None
    place = next((n for n, each in enumerate(_COMMA.split(select["columns"])) if "max-committed-checkpoint-id" in each), None)
    found: list[tuple[int, datetime | None, str | None, int]] = []
    number = first + 1
    while number < len(lines) and number - first < _MOST_LINES:
        cells = [cell.strip() for cell in _CELLS.split(lines[number][:_LONGEST].strip().strip("|"))]
        if asked["alias"] in cells and len(cells) > 1:
            place = cells.index(asked["alias"])
        elif place is not None and len(cells) > place and len(cells) > 1 and cells[place].isdigit():
            job, moment = _JOB_ID.search(lines[number][:_LONGEST]), _AT.search(lines[number][:_LONGEST])
            found.append((int(cells[place]), _moment(moment), job.group() if job else None, number + 1))
        elif found:
            break
        number += 1
    if not found:
        return None
    committed, at, job_id, line = max(found, key=lambda each: each[0])
    return number, {"committed": committed, "job": job_id or _other_job(lines, number), "committed_at": at, "line": line}


def _other_job(lines: Sequence[str], after: int) -> str | None:
    """The only job id that a query of ``flink.job-id`` printed near by."""
    near = lines[after : after + 12]
    if not any("flink.job-id" in line for line in near):
        return None
    ids = {m.group() for line in near for m in _JOB_ID.finditer(line[:_LONGEST])}
    asked = [m for m in ids if any(line.lstrip().startswith(m) for line in near)]
    return asked[0] if len(asked) == 1 else None


def _moment(found: re.Match[str] | None) -> datetime | None:
    if found is None:
        return None
    try:
        return datetime.fromisoformat(found["at"].replace("T", " ")).replace(tzinfo=timezone.utc)
    except ValueError:
        return None
