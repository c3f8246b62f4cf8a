"""Which query of a Spark driver with several ones a line belongs to: those that tell of a batch name none.

Ties, each only where one query is left: the checkpoint directory, which a query names when it starts and which stands before each file that
is written there; and the start, behind which the query says where it goes on.
Source: Spark's StreamExecution (start), MicroBatchExecution (populateStartOffsets), CheckpointFileManager.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from analyzers.derived.failures.failure_signs import QUERY_OVER
from analyzers.tables import Row

_PLACES = ("query-resumed", "query-fresh")


def by_the_query(rows: Sequence[Row]) -> None:
    """Fill in ``job`` of the lines of queries among `rows`, all of one scope with several jobs."""
    starts = [row for row in rows if row["signature"] == "query-started" and row["job"]]
    if not starts:
        return
    owners: dict[str, set[str]] = defaultdict(set)
    for row in starts:
        owners[_directory(row)].add(row["job"])
    files: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["signature"] == "batch-written" and row["job"] is None:
            named = owners.get(_directory(row), set())
            row["job"] = next(iter(named)) if len(named) == 1 else None
        elif row["signature"] in ("query-started", *_PLACES, *QUERY_OVER):
            files[row["file"]].append(row)
    for lines in files.values():
        lines.sort(key=lambda row: row["line"])
        _by_the_start(lines)
        _by_the_end(lines)


def _by_the_end(lines: Sequence[Row]) -> None:
    """A query that has read all says so without its name; right behind, it names itself when its last thread ends."""
    for row, behind in pairwise(lines):
        if row["signature"] == "query-read-all" and row["job"] is None and behind["signature"] == "query-cleaned-up":
            row["job"] = behind["job"]


def _directory(row: Row) -> str:
    return str((row["detail"] or {}).get("path") or "").rstrip("/")


def _by_the_start(lines: Sequence[Row]) -> None:
    """Of the queries of a file that have started and not yet said where they go on, where there is one."""
    waiting: set[str] = set()
    nobodys = 0  # places told while several waited
    for row in lines:
        if row["signature"] == "query-started":
            waiting.add(row["job"])
        elif row["signature"] in QUERY_OVER:
            waiting.discard(row["job"])
        elif row["job"] is None and "Stream started from" not in row["text"]:  # the second line of a fresh query
            if len(waiting) == 1:
                row["job"] = waiting.pop()
            else:
                nobodys += 1
        if 0 < nobodys >= len(waiting):  # each has told by now
            waiting.clear()
            nobodys = 0
