"""Failures of source tasks that Kafka Connect and Debezium retry by themselves: over as soon as the source reads on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from analyzers.tables import Row

RETRIED, WORKS = "connect-source-retried", "connect-source-works"
Place = tuple[str, str]


def retried_and_over(rows: Iterable[dict[str, Any]], events: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Those of `rows`, which are faults, that were retried in a log whose source reads on behind the last of them."""
    retried = _last_lines(events, RETRIED)
    works = _last_lines(events, WORKS)
    lines = {(event["scope"], event["file"], event["line"]) for event in events if event["signature"] == RETRIED}
    for row in rows:
        where = (row["scope"], row["file"])
        if (*where, row["line"]) in lines and works.get(where, -1) > retried[where]:
            yield row


def _last_lines(events: Sequence[Row], signature: str) -> dict[Place, int]:
    """Line of the last event of `signature` in each log."""
    last: dict[Place, int] = {}
    for event in events:
        if event["signature"] == signature:
            where = (event["scope"], event["file"])
            last[where] = max(event["line"], last.get(where, -1))
    return last
