"""Batches of a query: of progress that was pasted, and of the progress that the driver logs at each batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from analyzers.states.query_progress import row_of
from analyzers.states.state import closed
from analyzers.tables import QUERY_BATCHES, Row

_NAMES = QUERY_BATCHES.names


def query_batches(tables: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Rows of ``query_batches``: one per query, run and batch, the pasted ones first: a file of progress is read as a log, too."""
    rows = [QUERY_BATCHES.row({name: row.get(name) for name in _NAMES}) for row in tables.get("query_progress", ())]
    found: dict[tuple[object, ...], Row] = {}
    for row in (*rows, *_logged(tables.get("log_events", ()))):
        found.setdefault(tuple(row[name] for name in ("scope", "query", "run", "batch", "at")), row)
    return list(found.values())


def _logged(events: Sequence[Row]) -> Iterator[Row]:
    for event in events:
        text = event["text"] or "" if event["signature"] == "query-progress" else ""
        begin = text.find("{")
        if begin < 0:
            continue
        try:
            value = json.JSONDecoder(strict=False).raw_decode(text, begin)[0]
        except (ValueError, RecursionError):
            value = closed(text, begin)[0]  # of a query that reads many partitions the end was cut off
        row = row_of(value, event["line"])
        if row is not None:
            common = {name: event[name] for name in ("scope", "as_of", "file", "job")}
            yield QUERY_BATCHES.row({**row, **common, "at": row["at"] or event["at"]})
