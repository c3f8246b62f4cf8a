"""Failures that a source only logs: its enumerator tries again while the job stays RUNNING, and reads nothing as long as each try fails.
A client of Kafka does so for a topic that is not there: for a moment at the first start of what makes it, else it stays missing.

Source: ContinuousFileSplitEnumerator (Flink's file source, Paimon, Delta, LakeSoul), Iceberg's ContinuousIcebergEnumerator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from analyzers.tables import Row

GOES_ON = "goes_on"
"""In the detail of a fault: it was only logged, again and again up to the end of its log."""

_POSITION = frozenset({"source-history-gone", "source-recreated", "source-files-gone"})
"""What no further try can repair."""
_MISSING = frozenset({"topic-missing"})
"""What may still come: a fault where it has been missing for so long."""
_LONG = timedelta(minutes=2)
_ENUMERATOR = re.compile(r"Failed to (?:enumerate (?:files|sql splits)|discover (?:new )?splits)\b")
_ENOUGH = 3
_FRESH = timedelta(minutes=1)
_LONGEST = timedelta(minutes=10)


def repeated_to_the_end(rows: Iterable[dict[str, Any]], events: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Those of `rows`, which are faults, that failed nothing and were logged as errors up to the end: what stopped earlier is over."""
    candidates = [row for row in rows if _may_be(row)]
    ends: dict[tuple[str, str], datetime] = {}
    for event in events if candidates else ():
        log, newest = (event["scope"], event["file"]), event["as_of"] or event["at"]
        if newest is not None:
            ends[log] = max(newest, ends.get(log, newest))
    for row in candidates:
        first, last, end = row["at"], row["_last_at"], ends.get((row["scope"], row["file"]))
        if first is None or last is None or end is None:
            continue
        if row["fault"] in _MISSING and last - first < _LONG:
            continue
        pause = (last - first) / (row["occurrences"] - 1)
        if end - last <= max(_FRESH, min(2 * pause, _LONGEST)):
            yield row


def _may_be(row: dict[str, Any]) -> bool:
    logged = not row["fatal"] and not row["consequence"] and row["level"] == "ERROR" and row["occurrences"] >= _ENOUGH
    of_source = row["fault"] in _POSITION | _MISSING or (
        row["cause"] is not None and _ENUMERATOR.search((row["text"] or "").partition("\n")[0])
    )
    return logged and bool(of_source)
