"""Who reads a group's partitions, and how far: checkpoints and the Flink REST interface beside what Kafka was told.

A checkpoint does not carry the group id. A job is joined to the group that commits on its partitions when there is one such group, or one
that was asked for, or one whose commits are offsets of the job's checkpoints; else it is joined to none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]
Place = tuple[str, int]

_IN_DIRECTORY = re.compile(r"(.*)/chk-\d+(?:/_metadata)?\Z", re.S)


class Held(NamedTuple):
    """The offset of one partition in one completed checkpoint; `completed_at` None where nothing tells it."""

    checkpoint: int
    offset: int
    completed_at: datetime | None


class Read(NamedTuple):
    """The next offset that a running reader takes, and when it said so."""

    position: int
    at: datetime


@dataclass
class Reader:
    """One job as a reader of partitions. `interval_seconds` between its checkpoints; None when fewer than two are known."""

    scope: str
    job: str | None
    held: dict[Place, list[Held]] = field(default_factory=lambda: defaultdict(list))
    read: dict[Place, Read] = field(default_factory=dict)
    reads: dict[Place, list[Read]] = field(default_factory=lambda: defaultdict(list))
    says_committed: dict[Place, int] = field(default_factory=dict)
    interval_seconds: float | None = None
    newest: int | None = None
    newest_at: datetime | None = None
    seen_at: datetime | None = None
    expired_since: datetime | None = None
    completed: list[tuple[datetime, datetime]] = field(default_factory=list)  # triggered, last acknowledged; as the JobManager tells

    @property
    def places(self) -> set[Place]:
        return {*self.held, *self.read}


def readers_by_group(tables: Tables) -> dict[tuple[str, str], Reader]:
    """The reader of each (scope, group) that one can be joined to."""
    readers = _readers(tables)
    if not readers:
        return {}
    commits: dict[tuple[str, str], dict[Place, set[int]]] = defaultdict(lambda: defaultdict(set))
    for row in tables.get("committed_offsets", ()):
        place = (row["topic"], row["partition"])
        commits[row["scope"], row["group"]][place].update({row["committed"]} - {None})
    asked = {(row["scope"], row["group"]) for row in tables.get("groups", ()) if row.get("asked")}
    found: dict[tuple[str, str], Reader] = {}
    for reader in sorted(readers, key=lambda r: (r.scope, r.newest_at or _LONG_AGO, r.job or "")):
        able = [key for key, places in commits.items() if key[0] == reader.scope and reader.places & places.keys()]
        for choice in (able, [key for key in able if key in asked], [key for key in able if _commits_of(reader, commits[key])]):
            if len(choice) == 1:
                found[choice[0]] = reader  # of several jobs on one group the one with the newest checkpoint
                break
    return found


_LONG_AGO = datetime.min.replace(tzinfo=timezone.utc)


def _commits_of(reader: Reader, commits: Mapping[Place, set[int]]) -> bool:
    """Whether most of what was committed are offsets of the reader's checkpoints (0 and empty partitions say nothing)."""
    told = {place: offsets - {0} for place, offsets in commits.items() if place in reader.held and offsets - {0}}
    fits = [place for place, offsets in told.items() if offsets & {held.offset for held in reader.held[place]}]
    return bool(told) and len(fits) * 2 > len(told)


def _readers(tables: Tables) -> list[Reader]:
    readers: dict[tuple[str, str], Reader] = {}

    def reader(scope: str, job: str | None, series: str) -> Reader:
        return readers.setdefault((scope, job or series), Reader(scope, job))

    for row in tables.get("checkpoint_files", ()):
        if row.get("checkpoint") is None or row.get("state") != "complete":
            continue
        own = reader(row["scope"], row.get("job"), _series(row["path"]))
        own.seen_at = max(filter(None, (own.seen_at, row["as_of"])), default=None)
        if own.newest is None or row["checkpoint"] >= own.newest:
            own.newest, own.newest_at = row["checkpoint"], row.get("mtime")
    completed = {(r["scope"], r["path"]): r.get("mtime") for r in tables.get("checkpoint_files", ())}
    for row in tables.get("splits", ()):
        if row["role"] == "reader" and row.get("topic") is not None and row.get("offset") is not None and row.get("status") != "retained":
            own = reader(row["scope"], row.get("job"), _series(row["path"]))
            held = Held(row["checkpoint"], row["offset"], completed.get((row["scope"], row["path"])))
            own.held[row["topic"], row["partition"]].append(held)
    for row in tables.get("metrics", ()):
        if row.get("topic") is None or (-1 if row.get("exact") is None else row["exact"]) < 0:
            continue
        own = reader(row["scope"], row.get("job"), "")
        if row["name"] == "committedOffset":
            own.says_committed[row["topic"], row["partition"]] = row["exact"]
        if row["name"] == "currentOffset":  # of the last record that was handed on
            read = own.read[row["topic"], row["partition"]] = Read(row["exact"] + 1, row.get("captured_at") or row["as_of"])
            own.reads[row["topic"], row["partition"]].append(read)
            own.seen_at = max(filter(None, (own.seen_at, row.get("captured_at"))), default=None)
    _add_history(tables, readers)
    for own in readers.values():
        for offsets in own.held.values():
            offsets.sort()
    return [own for own in readers.values() if own.places]


def _add_history(tables: Tables, readers: Mapping[tuple[str, str], Reader]) -> None:
    """Intervals and newest checkpoints: from the JobManager's history, else from the times of the files."""
    triggered: dict[tuple[str, str], dict[int, datetime]] = defaultdict(dict)
    for row in tables.get("checkpoints", ()):
        key = (row["scope"], row.get("job") or "")
        own = readers.get(key)
        if own is None or row.get("savepoint"):
            continue
        if row.get("triggered_at"):
            triggered[key][row["checkpoint"]] = row["triggered_at"]
        if row["status"] == "COMPLETED" and (own.newest is None or row["checkpoint"] >= own.newest):
            own.newest, own.newest_at = row["checkpoint"], row.get("last_ack_at") or own.newest_at
        if row["status"] == "COMPLETED" and row.get("triggered_at") and row.get("last_ack_at"):
            own.completed.append((row["triggered_at"], row["last_ack_at"]))
        if row["status"] == "FAILED" and "expired" in (row.get("failure") or "").lower():
            at = row.get("triggered_at")
            own.expired_since = min(filter(None, (own.expired_since, at)), default=None)
    written: dict[tuple[str, str], dict[int, datetime]] = defaultdict(dict)
    for row in tables.get("checkpoint_files", ()):
        if row.get("mtime") and row.get("checkpoint") is not None and row.get("state") == "complete" and row.get("kind") != "savepoint":
            written[row["scope"], row.get("job") or _series(row["path"])][row["checkpoint"]] = row["mtime"]
    for key, own in readers.items():
        # checkpoints that expire are triggered a time-out apart, not an interval
        own.interval_seconds = _configured(tables, own) or _steps(triggered.get(key, {})) or _steps(written.get(key, {}))
        if own.newest_at and own.expired_since and own.newest_at > own.expired_since:
            own.expired_since = None


def _configured(tables: Tables, reader: Reader) -> float | None:
    for row in tables.get("job_config", ()):
        if row["scope"] == reader.scope and row.get("job") == reader.job and row["source"] == "checkpoints" and row["key"] == "interval":
            text = str(row["value"] or "")
            return int(text) / 1000 if text.isdigit() and 0 < int(text) < 1 << 40 else None
    return None


def _steps(times: Mapping[int, datetime]) -> float | None:
    """Median seconds between neighbouring checkpoints."""
    gaps = [
        (times[after] - times[before]) / timedelta(seconds=1) / (after - before)
        for before, after in pairwise(sorted(times))
        if times[after] > times[before]
    ]
    return median(gaps) if gaps else None


def _series(path: str) -> str:
    directory = _IN_DIRECTORY.match(path)
    return directory[1] if directory else path


def client_versions(tables: Tables) -> dict[str, str]:
    """By scope: the version of kafka-clients, where all that was seen agree."""
    seen: dict[str, set[str]] = defaultdict(set)
    for row in _version_rows(tables):
        seen[row[0]].add(row[1])
    return {scope: next(iter(versions)) for scope, versions in seen.items() if len(versions) == 1}


def _version_rows(tables: Tables) -> Iterable[tuple[str, str]]:
    for row in tables.get("log_events", ()):
        if row["signature"] == "kafka-clients-version" and (row.get("detail") or {}).get("version"):
            yield row["scope"], row["detail"]["version"]
    for row in tables.get("client_configs", ()):
        if row.get("client_version"):
            yield row["scope"], row["client_version"]


COMMIT_BUG = r"^(?:2\.7\.[12]|2\.8\.\d+|3\.0\.\d+|3\.1\.0)(?!\d)"
"""Versions of kafka-clients with KAFKA-13563: an assign() client that lost its coordinator never commits again."""


def has_commit_bug(version: str | None) -> bool:
    """Whether `version` of kafka-clients has KAFKA-13563."""
    return version is not None and re.match(COMMIT_BUG, version) is not None
