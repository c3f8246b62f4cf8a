"""One event is several rows where several signatures know it, and one failure several events where a program repeats its query's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from analyzers.derived.failures.failure_signs import FATAL
from analyzers.tables import Row


def by_event(events: Iterable[Row]) -> Iterable[list[Row]]:
    """The rows of one event (several signatures) together, most telling signature first."""
    groups: dict[tuple[str, str, int], list[Row]] = defaultdict(list)
    for event in events:
        groups[event["scope"], event["file"], event["line"]].append(event)
    for rows in groups.values():
        if len(rows) > 1:
            rows.sort(key=lambda r: (-FATAL.get(r["signature"], 0), r["signature"]))
        yield rows


def without_echoes(groups: Iterable[list[Row]]) -> Iterator[list[Row]]:
    """Leave out what awaitTermination raised in the driver's own program when the query itself has printed its failure, with its trace."""
    every = list(groups)
    printed = {(r["scope"], _run(r)) for group in every for r in group if r["signature"] == "query-failed" and r["chain"]}
    if not printed:
        yield from every
        return
    for group in every:
        signatures = {row["signature"] for row in group}
        echo = "query-exception" in signatures and "query-failed" not in signatures
        if not (echo and any(_run(row) and (row["scope"], _run(row)) in printed for row in group)):
            yield group


def _run(event: Row) -> str | None:
    return (event["detail"] or {}).get("run")
