"""Partitions of a job's topics that none of its readers has: added while it runs, and not discovered.

What exists is known from brokers that were asked and from what they log (``Created log for partition``); what the job reads from its
newest checkpoint and from the assignments in its logs. KafkaSource looks for partitions once at its start, and again every
``partition.discovery.interval.ms``: off by default up to connector 3.0, every 5 minutes from 3.1 on. FlinkKafkaConsumer does so only with
``flink.partition-discovery.interval-millis``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from analyzers.derived.checkpoints.checkpoint_lineage import checkpoints_of, last_written
from analyzers.derived.checkpoints.split_audit import of_one_cluster
from analyzers.tables import UNREAD_PARTITIONS, Row

Tables = Mapping[str, Sequence[Row]]

_CREATED = "partition-log-created"
_GONE = ("partition-log-deleted", "topic-deleted")
_ENUMERATOR = "kafka-enumerator-started"
_ENDED = frozenset({"CANCELED", "FINISHED", "FAILED", "SUSPENDED"})
_LEGACY = "kafka-legacy"
_DISCOVERS = ("kafka", _LEGACY)
"""Connectors that can look for partitions while the job runs."""
DEFAULT_INTERVAL_MS = 300_000
"""Of KafkaSource from connector 3.1 on: where nothing shows whether a job discovers, it has had its chance after two of these."""


@dataclass
class _Source:
    """What is known of one job's reading of one topic."""

    known: set[int] = field(default_factory=set)
    since: datetime | None = None
    """First assignment in the logs."""
    split: Row | None = None
    """One of its splits in the newest checkpoint."""


def unread_partitions(tables: Tables) -> list[Row]:
    """One row per job and partition that none of its readers has."""
    scopes = {row["scope"] or "" for name in ("splits", "split_claims") for row in tables.get(name, ())}
    return [UNREAD_PARTITIONS.row(row) for scope in sorted(scopes) for row in _of_scope(scope, tables)]


def _of_scope(scope: str, tables: Tables) -> Iterator[Mapping[str, Any]]:
    events = [event for event in tables.get("log_events", ()) if (event["scope"] or "") == scope]
    created = _created(events)
    existing: dict[str, set[int]] = defaultdict(set)
    for topic, partition in created:
        existing[topic].add(partition)
    for row in _own(tables, "partitions", scope):
        existing[row["topic"]].add(row["partition"])
    ends = {(row["topic"], row["partition"]): row for row in _own(tables, "log_offsets", scope)}
    state = {row["job"]: row for row in _own(tables, "job_state", scope)}
    newest = max((event["at"] for event in events if event["at"] is not None), default=None)
    for (job, topic), source in sorted(_sources(scope, tables).items(), key=str):
        missing = sorted(existing[topic] - source.known) if topic in existing else []
        if not missing or (state.get(job) or {}).get("state") in _ENDED:
            continue
        interval, is_off = _discovery([event for event in events if event["signature"] == _ENUMERATOR and event["job"] == job])
        lines = {partition: created.get((topic, partition)) for partition in missing}
        records = _records(ends, topic, missing)
        reason = _reason(source, missing, lines, newest, interval, is_off, records, _are_younger(ends, topic, source.known, missing))
        for partition in missing if reason else ():
            line, split = lines[partition] or {}, source.split or {}
            yield {
                **{name: line.get(name) for name in ("at", "line")},
                "file": line.get("file") or split.get("path"),
                "text": line.get("text") or f"checkpoint {split.get('checkpoint')} has no reader of {topic}-{partition}",
                **{name: split.get(name) for name in ("operator", "connector", "path", "checkpoint")},
                "scope": scope,
                "as_of": line.get("as_of") or split.get("as_of") or newest,
                "job": job,
                "topic": topic,
                "partition": partition,
                "known": len(source.known),
                "existing": len(source.known | existing[topic]),
                "records": _records(ends, topic, [partition]),
                "interval_ms": interval,
                "reason": reason,
            }


def _own(tables: Tables, name: str, scope: str) -> Iterator[Row]:
    return (row for row in tables.get(name, ()) if (row["scope"] or "") == scope)


def _created(events: Sequence[Row]) -> dict[tuple[str, int], Row]:
    """Partitions whose creation a broker has logged, and that were not deleted later, with the first such line."""
    found: dict[tuple[str, int], Row] = {}
    for event in sorted(events, key=lambda e: (e["line"] if e["seq"] is None else e["seq"], e["file"], e["line"])):
        place = event["topic"], event["partition"]
        if event["signature"] == _CREATED and None not in place:
            found.setdefault(place, event)
        elif event["signature"] in _GONE:
            topic = event["topic"] or (event["detail"] or {}).get("deleted")
            found = {key: line for key, line in found.items() if key != place and (event["partition"] is not None or key[0] != topic)}
    return found


def _sources(scope: str, tables: Tables) -> dict[tuple[str | None, str], _Source]:
    """By job and topic. Splits of KafkaSource's enumerator count: what it has not assigned yet it knows all the same."""
    found: dict[tuple[str | None, str], _Source] = defaultdict(_Source)
    checkpoints = [c for c in checkpoints_of(tables) if c.scope == scope]
    latest = last_written(checkpoints)
    for checkpoint in checkpoints:
        for split in checkpoint.splits if (scope, checkpoint.path) in latest else ():
            if split["topic"] is not None and of_one_cluster(split):
                source = found[checkpoint.job, split["topic"]]
                source.known.add(split["partition"])
                source.split = split
    for claim in _own(tables, "split_claims", scope):
        if claim["topic"] is not None and claim["partition"] is not None:
            source = found[claim["job"], claim["topic"]]
            source.known.add(claim["partition"])
            if claim["at"] is not None:
                source.since = min(claim["at"], source.since or claim["at"])
    return found


def _discovery(starts: Sequence[Row]) -> tuple[int | None, bool]:
    """How often the job's sources look for partitions, in ms, and whether none of them does; neither where they differ."""
    intervals = {(event["detail"] or {}).get("interval_ms") for event in starts}
    if len(intervals) != 1:
        return None, False
    (interval,) = intervals
    return (None, True) if interval is None else (int(interval), False)


def _records(ends: Mapping[tuple[str, int], Row], topic: str, partitions: Sequence[int]) -> int | None:
    """How many records lie in these partitions; None where that is not known of all."""
    total = 0
    for partition in partitions:
        end = ends.get((topic, partition)) or {}
        if end.get("high_watermark") is None:
            return None
        total += end["high_watermark"] - (end["log_start"] or 0)
    return total


def _are_younger(ends: Mapping[tuple[str, int], Row], topic: str, known: Collection[int], missing: Collection[int]) -> bool:
    """Whether fewer records were ever written to each of `missing` than to any that the job reads: they were added later."""
    marks: dict[int, int] = {
        p: end["high_watermark"] for (name, p), end in ends.items() if name == topic and end["high_watermark"] is not None
    }
    if not marks.keys() >= {*known, *missing}:
        return False
    return max(marks[p] for p in missing) < min(marks[p] for p in known)


def _reason(
    source: _Source, missing: Sequence[int], lines: Mapping[int, Row | None], newest: datetime | None, interval: int | None, is_off: bool,
    records: int | None, younger: bool,
) -> str | None:  # fmt: skip
    """Why no reader has these partitions; None where they may be found yet, or where only some lines of the job are known."""
    at = [line["at"] for line in lines.values() if line is not None and line["at"] is not None]
    # a reader that was restored is named with the partitions that are new to it alone
    from_all = source.known == set(range(len(source.known)))
    connector = (source.split or {}).get("connector") or "kafka"
    later = len(at) == len(missing) and source.since is not None and min(at) > source.since
    if not from_all or connector not in _DISCOVERS or not (later or younger):
        return "chosen" if source.split is not None else None
    if records == 0:
        return "empty"
    if is_off:
        return "discovery-off"
    waited = newest - max(at) if at and newest is not None else None
    long = waited is not None and waited >= 2 * timedelta(milliseconds=interval or DEFAULT_INTERVAL_MS)
    if long:
        return "overdue"
    return "records-wait" if records and interval is None and waited is None else None
