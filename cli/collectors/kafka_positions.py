"""What lies at a group's positions: the record at each commit, the open transaction at each last stable offset, and for how long both stay.

All of it is read, bounded, and none of it decides anything: see analyzers/derived/lag/lag_truth.py.
"""

from __future__ import annotations

import asyncio
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from analyzers.budget import BUDGET
from analyzers.tables import RECORDS, Row
from cli.collectors.kafka_batches import Batch, Seen, Stretch, read_batches
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_permissions import Sight
from cli.collectors.kafka_records import NO_READ, Reading, Want, read_records
from cli.collectors.kafka_session import moment
from cli.collectors.kafka_topics import topic_configs
from cli.collectors.kafka_transactions import open_transactions

MOST_COMMITS = BUDGET.commits
MOST_STABLE = BUDGET.open_transactions
MARKERS_BEFORE = 5000  # offsets before the last stable one that are searched for the ends of earlier transactions
MARKER_BYTES = BUDGET.marker_bytes
MOST_MARKERS = BUDGET.markers
MOST_TOPICS = 200

SETTINGS = ("cleanup.policy", "retention.ms", "retention.bytes", "message.timestamp.type", "max.message.bytes")


async def positions(cluster: Cluster, samples: Sequence[Row]) -> tuple[dict[str, list[Row]], list[str]]:
    """Tables ``records`` and ``open_transactions`` for the newest of the `samples` of commits, and what could not be read, in sentences."""
    last = max((row["as_of"] for row in samples), default=None)
    committed = [row for row in samples if row["as_of"] == last]
    still = Still(samples)
    at_commits = {_want(row): row for row in _oldest(committed, still)}
    stable = _open_places(committed, still)
    before = {at: _before(at, log_start) for at, log_start in stable.items() if at.offset > log_start}
    readings, seen = await asyncio.gather(read_records(cluster, at_commits), read_batches(cluster, [*stable, *before.values()]))
    skipped = await _skipped(cluster, readings)
    rows = [_committed_row(cluster, readings[want], row["group"], skipped.get(want)) for want, row in _per_group(committed, at_commits)]
    problems = _problems(rows, cluster.sight) + _unlooked(committed, at_commits, stable)
    producers = {}
    for at in stable:
        first = next((batch for batch in seen[at].batches if not batch.control), None)
        rows.append(_stable_row(cluster, at, first, seen[at].error) | {"markers": _ends(seen[before[at]]) if at in before else []})
        if first is not None and first.transactional:
            producers[at.topic, at.partition] = (at.offset, first.producer)
    return {"records": rows, "open_transactions": await open_transactions(cluster, producers)}, problems


async def _skipped(cluster: Cluster, readings: Mapping[Want, Reading]) -> dict[Want, int]:
    """Of wants with no record up to the end, how many offsets hold markers and aborted records: the others were compacted away."""
    bare = {Stretch(want.topic, want.partition, want.offset): want for want, reading in readings.items() if reading.reached_end}
    seen = await read_batches(cluster, bare)
    return {
        want: sum(
            batch.last_offset - max(batch.base_offset, want.offset) + 1
            for batch in seen[stretch].batches
            # of a transaction that has ended, and its records were not shown: it was aborted
            if batch.control or batch.transactional
        )
        for stretch, want in bare.items()
    }


class Still:
    """For how long commits and last stable offsets have not moved over the samples: before a record is read, the only age that is known."""

    def __init__(self, samples: Sequence[Row]) -> None:
        self._since: dict[tuple[Any, ...], datetime] = {}
        self._now: dict[tuple[Any, ...], tuple[datetime, Any]] = {}
        if len({row["at"] for row in samples}) < 2:
            return  # nothing has stood for any time yet
        for row in sorted(samples, key=lambda row: row["at"]):
            place = (row["topic"], row["partition"])
            self._take(("commit", row["group"], *place), row["at"], row["committed"])
            self._take(("stable", *place), row["at"], row["last_stable"])

    def _take(self, key: tuple[Any, ...], at: datetime, value: Any) -> None:
        if key not in self._now or self._now[key][1] != value:
            self._since[key] = at
        self._now[key] = (at, value)

    def commit(self, row: Row) -> timedelta:
        return self._for("commit", row["group"], row["topic"], row["partition"])

    def stable(self, row: Row) -> timedelta:
        return self._for("stable", row["topic"], row["partition"])

    def _for(self, *key: Any) -> timedelta:
        return self._now[key][0] - self._since[key] if key in self._now else timedelta(0)


def _oldest(committed: Sequence[Row], still: Still) -> list[Row]:
    """Rows whose commit has records behind it, of every group that which has stood for longest first, then the furthest behind, at most
    `MOST_COMMITS` in all: a share of each group, and what small groups leave of theirs goes to the others."""
    by_group: dict[str, list[Row]] = defaultdict(list)
    for row in committed:
        if row["lag_records"]:
            by_group[row["group"]].append(row)
    share = max(1, MOST_COMMITS // max(1, len(by_group)))

    def worst_first(row: Row) -> tuple[timedelta, int]:
        return -still.commit(row), -row["lag_records"]

    ranked = [sorted(rows, key=worst_first) for rows in by_group.values()]
    chosen = sorted((row for rows in ranked for row in rows[:share]), key=worst_first)[:MOST_COMMITS]
    left = sorted((row for rows in ranked for row in rows[share:]), key=worst_first)
    return sorted([*chosen, *left[: MOST_COMMITS - len(chosen)]], key=worst_first)


def _want(row: Row) -> Want:
    # a reader of committed records gets nothing beyond the last stable offset; there everything is looked at
    stable = row["last_stable"]
    offset = max(row["committed"], row["log_start"])
    return Want(row["topic"], row["partition"], offset, committed=stable is not None and offset < stable)


def _per_group(committed: Sequence[Row], at_commits: Mapping[Want, Row]) -> Iterator[tuple[Want, Row]]:
    """Two groups may stand at one offset: each gets its row."""
    for row in committed:
        if row["lag_records"]:
            want = _want(row)
            if want in at_commits:
                yield want, row


def _open_places(committed: Sequence[Row], still: Still) -> dict[Stretch, int]:
    """The last stable offset of each partition with an open transaction, that which has stood for longest first, then the one with the most
    records behind it; with its log start."""
    places: dict[tuple[str, int], Row] = {}
    for row in committed:
        if _held_open(row):
            places[row["topic"], row["partition"]] = row
    worst = sorted(places.values(), key=lambda row: (-still.stable(row), row["last_stable"] - row["high_watermark"]))[:MOST_STABLE]
    return {Stretch(row["topic"], row["partition"], row["last_stable"]): row["log_start"] or 0 for row in worst}


def _unlooked(committed: Sequence[Row], at_commits: Mapping[Want, Row], stable: Mapping[Stretch, int]) -> list[str]:
    """What was left out because there is so much of it, in sentences."""
    behind = [row for row in committed if row["lag_records"]]
    unread = sum(_want(row) not in at_commits for row in behind)
    held = {(row["topic"], row["partition"]) for row in committed if _held_open(row)}
    unseen = len(held - {(at.topic, at.partition) for at in stable})
    said = (
        [f"the record at the commit was not read on {unread:,} of {len(behind):,} partitions: --group, --topic narrow them"]
        if unread
        else []
    )
    return said + ([f"the open transaction was not looked at on {unseen:,} of {len(held):,} partitions"] if unseen else [])


def _held_open(row: Row) -> bool:
    return row["last_stable"] is not None and row["high_watermark"] is not None and bool(row["last_stable"] < row["high_watermark"])


def _before(at: Stretch, log_start: int) -> Stretch:
    """The batches just before a last stable offset, for the ends of earlier transactions."""
    start = max(log_start, at.offset - MARKERS_BEFORE)
    return Stretch(at.topic, at.partition, start, until=at.offset - 1, max_bytes=MARKER_BYTES)


def _ends(seen: Seen) -> list[str]:
    """When transactions ended, by their markers."""
    times = sorted({batch.ends_at for batch in seen.batches if batch.control and batch.ends_at > 0})
    moments = [at for at in map(moment, times[-MOST_MARKERS:]) if at is not None]
    return [at.isoformat(timespec="milliseconds").replace("+00:00", "Z") for at in moments]


def _committed_row(cluster: Cluster, reading: Reading, group: str, skipped: int | None) -> Row:
    want = reading.want
    values: dict[str, Any] = {
        "scope": "", "as_of": cluster.as_of, "group": group, "why": "committed", "topic": want.topic, "partition": want.partition,
        "wanted": want.offset, "error": reading.error, "reached_end": reading.reached_end, "skipped_control": skipped or 0,
        "header_only": False,
    }  # fmt: skip
    if reading.records:
        record = reading.records[0]
        values |= {"offset": record.offset, "at": moment(record.timestamp), "clock": record.clock}
    return RECORDS.row(values)


def _stable_row(cluster: Cluster, at: Stretch, first: Batch | None, error: str | None) -> Row:
    """The first batch of the transaction that holds a last stable offset."""
    values: dict[str, Any] = {
        "scope": "", "as_of": cluster.as_of, "why": "last-stable", "topic": at.topic, "partition": at.partition, "wanted": at.offset,
        "error": error, "skipped_control": 0, "reached_end": False, "header_only": first is not None,
    }  # fmt: skip
    if first is not None:
        values |= {
            "offset": max(first.base_offset, at.offset), "at": moment(first.begins_at), "transactional": first.transactional,
            "clock": "log-append-time" if first.append_time else "create-time", "producer": first.producer if first.producer >= 0 else None,
        }  # fmt: skip
    return RECORDS.row(values)


def _problems(rows: Sequence[Row], sight: Sight) -> list[str]:
    """Each reason why records could not be read, once, with how many partitions it was."""
    reasons: dict[str, set[str]] = defaultdict(set)
    refused: set[str] = set()
    for row in rows:
        if row["error"] and row["offset"] is None:
            if row["error"].startswith(NO_READ):
                refused.add(row["topic"])
            else:
                reasons[row["error"]].add(f"{row['topic']}-{row['partition']}")
    needs = sight.needs("READ", *(f"--topic {shlex.quote(topic)}" for topic in sorted(refused)[:5]))
    return ([f"no record may be read, so the lag in time is unknown: {needs}"] if refused else []) + [
        f"the record at the commit could not be read on {', '.join(sorted(places)[:3])}"
        + (f" and {len(places) - 3} more" if len(places) > 3 else "")
        + f": {why}"
        for why, places in sorted(reasons.items())
    ]


def topics_by_age(committed: Sequence[Row], records: Sequence[Row]) -> list[str]:
    """Topics of `committed`, the one with the oldest record at a commit first: retention comes to it first."""
    oldest: dict[str, float] = {row["topic"]: float("inf") for row in committed}
    for row in records:
        if row["why"] == "committed" and row["at"] is not None:
            oldest[row["topic"]] = min(oldest[row["topic"]], row["at"].timestamp())
    return sorted(oldest, key=lambda topic: (oldest[topic], topic))


async def topic_settings(cluster: Cluster, topics: Sequence[str]) -> tuple[list[Row], list[str]]:
    """Rows of ``topic_configs`` of the first `MOST_TOPICS` of `topics`, and why retention is unknown, in sentences."""
    chosen = list(topics)[:MOST_TOPICS]
    rows, refused, missing = await topic_configs(cluster, chosen, SETTINGS)
    needs = cluster.sight.needs("DESCRIBE_CONFIGS", *(f"--topic {shlex.quote(name)}" for name in sorted(refused)[:5]))
    problems = [f"retention is unknown: {needs}"] if refused else []
    problems += (
        [f"retention was not asked for {len(topics) - len(chosen):,} of {len(topics):,} topics"] if len(topics) > len(chosen) else []
    )
    return rows, problems + ([f"retention of some topics is unknown: {missing}"] if missing else [])
