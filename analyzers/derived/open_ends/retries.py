"""What was still tried again, every minute, when its log ended: levels say nothing of it, only that it goes on."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

from analyzers.derived.open_ends.ends import Tables, last_of, open_end
from analyzers.tables import Row
from analyzers.tables.by_column import column, where

_TRIED_AGAIN = ("client-retry", "partition-commit-failed", "binding-coordinator-refused", "rdkafka-coordinator-refused")
_LEAST_MINUTES = 5  # a broker or a service that restarts is back by then
_SHARE = 0.8  # of the minutes: retries back off
_AT_THE_END = timedelta(minutes=2)


def of_retries(tables: Tables) -> list[Row]:
    """Per log: retries in nearly each of its last minutes, up to its end."""
    ends = {(row["scope"], row["file"]): row["last_at"] for row in tables.get("log_files", ()) if row["last_at"]}
    counts = tables.get("log_counts", ())
    minutes: dict[tuple[str, str, str], dict[datetime, int]] = defaultdict(lambda: defaultdict(int))
    wanted = ("scope", "file", "signature", "minute", "events")
    again = where(counts, "signature", _TRIED_AGAIN)
    for scope, file, signature, minute, events in zip(*(column(again, name) for name in wanted), strict=True):
        if minute is not None:
            minutes[scope, file, signature][minute] += events
    shown: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if (event["scope"], event["file"], event["signature"]) in minutes:
            shown[event["scope"], event["file"], event["signature"]].append(event)
    found = []
    for (scope, file, signature), seen in sorted(minutes.items()):
        begin, end, events = _spell(seen), ends.get((scope, file)), shown[scope, file, signature]
        if end is None or end - max(seen) > _AT_THE_END or max(seen) - begin < timedelta(minutes=_LEAST_MINUTES) or not events:
            continue
        newest = last_of(events)
        number = sum(many for minute, many in seen.items() if minute >= begin)
        name = _name(signature, newest)
        if name:
            kept = {key: newest[key] for key in ("address", "topic", "partition") if newest[key] is not None}
            found.append(open_end("retries", newest, name=name, number=number, lasted=end - begin, **kept))
    return found


def _name(signature: str, newest: Row) -> str | None:
    """What is tried again; None where the line does not say."""
    if signature == "client-retry":
        return str(newest["address"]) if newest["address"] else None
    if not newest["group"]:
        return None
    return f"the {'coordinator' if 'coordinator' in signature else 'commits'} of group {newest['group']}"


def _spell(seen: dict[datetime, int]) -> datetime:
    """When the retries began that go on to the last minute: back from there, nearly every minute has some."""
    newest = begin = max(seen)
    for number, minute in enumerate(sorted(seen, reverse=True), start=1):
        if number < _SHARE * ((newest - minute) / timedelta(minutes=1) + 1):
            break
        begin = minute
    return begin
