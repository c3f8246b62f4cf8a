"""What lies at a group's positions: the record at each commit, the open transaction at each last stable offset, and for how long both stay.

All of it is read, bounded, and none of it decides anything: see analyzers/derived/lag/lag_truth.py.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from kafka.protocol.admin.configs import DescribeConfigsRequest

from analyzers.tables import RECORDS, TOPIC_CONFIGS, Row
from cli.collectors.kafka_batches import Batch, moment
from cli.collectors.kafka_cluster import TOPIC_AUTHORIZATION_FAILED, Cluster
from cli.collectors.kafka_permissions import Sight
from cli.collectors.kafka_records import NO_READ, Reading, Want, read_records
from cli.collectors.kafka_session import Dead
from cli.collectors.kafka_transactions import open_transactions

MOST_COMMITS = 200  # partitions whose record at the commit is read, the furthest behind of each group first: 13 MB at most
MOST_STABLE = 50  # partitions with an open transaction that are looked at
MARKERS_BEFORE = 5000  # offsets before the last stable one that are searched for the ends of earlier transactions
MARKER_BYTES = 256 << 10
MOST_MARKERS = 200
MOST_TOPICS = 200

SETTINGS = ("cleanup.policy", "retention.ms", "retention.bytes", "message.timestamp.type", "max.message.bytes")


async def positions(cluster: Cluster, committed: Sequence[Row]) -> tuple[dict[str, list[Row]], list[str]]:
    """Tables ``records`` and ``open_transactions`` for the newest sample in `committed`, and what could not be read, in sentences."""
    at_commits = {_want(row): row for row in _furthest(committed)}
    stable = _open_places(committed)
    before = [_before(want, log_start) for want, log_start in stable.items() if want.offset > log_start]
    readings = await read_records(cluster, dict.fromkeys([*at_commits, *stable, *before]))
    rows = [_row(cluster, readings[want], "committed", row["group"]) for want, row in _per_group(committed, at_commits)]
    problems = _problems(rows, cluster.sight)
    markers = {want.place: reading for want, reading in readings.items() if want.headers}
    producers = {}
    for want in stable:
        reading = readings[want]
        rows.append(_row(cluster, reading, "last-stable", None) | {"markers": _ends(markers.get(want.place))})
        if reading.first is not None and reading.first.transactional:
            producers[want.place] = (want.offset, reading.first.producer)
    return {"records": rows, "open_transactions": await open_transactions(cluster, producers)}, problems


def _furthest(committed: Sequence[Row]) -> list[Row]:
    """Rows whose commit has records behind it, of every group the furthest behind first, at most `MOST_COMMITS` in all."""
    by_group: dict[str, list[Row]] = defaultdict(list)
    for row in committed:
        if row["lag_records"]:
            by_group[row["group"]].append(row)
    share = max(1, MOST_COMMITS // max(1, len(by_group)))
    chosen = [row for rows in by_group.values() for row in sorted(rows, key=lambda row: -row["lag_records"])[:share]]
    return sorted(chosen, key=lambda row: -row["lag_records"])[:MOST_COMMITS]


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


def _open_places(committed: Sequence[Row]) -> dict[Want, int]:
    """One want per partition with an open transaction, the most records behind it first, with its log start."""
    places: dict[tuple[str, int], Row] = {}
    for row in committed:
        if row["last_stable"] is not None and row["high_watermark"] is not None and row["last_stable"] < row["high_watermark"]:
            places[row["topic"], row["partition"]] = row
    widest = sorted(places.values(), key=lambda row: row["last_stable"] - row["high_watermark"])[:MOST_STABLE]
    return {Want(row["topic"], row["partition"], row["last_stable"]): row["log_start"] or 0 for row in widest}


def _before(want: Want, log_start: int) -> Want:
    """The batches just before a last stable offset, for the ends of earlier transactions."""
    start = max(log_start, want.offset - MARKERS_BEFORE)
    return Want(want.topic, want.partition, start, until=want.offset - 1, headers=True, max_bytes=MARKER_BYTES)


def _ends(reading: Reading | None) -> list[str]:
    """When transactions ended that `reading` came by."""
    if reading is None:
        return []
    times = sorted({batch.max_timestamp for batch in reading.batches if batch.control and batch.max_timestamp > 0})
    moments = [at for at in map(moment, times[-MOST_MARKERS:]) if at is not None]
    return [at.isoformat(timespec="milliseconds").replace("+00:00", "Z") for at in moments]


def _row(cluster: Cluster, reading: Reading, why: str, group: str | None) -> Row:
    want = reading.want
    record = reading.records[0] if reading.records else None
    first = reading.first
    values: dict[str, Any] = {
        "scope": "", "as_of": cluster.as_of, "group": group, "why": why, "topic": want.topic, "partition": want.partition,
        "wanted": want.offset, "error": reading.error, "skipped_control": reading.skipped_control, "reached_end": reading.reached_end,
        "header_only": reading.undecoded,
    }  # fmt: skip
    if record is not None:
        values |= {"offset": record.offset, "at": moment(record.timestamp)}
    return RECORDS.row(values | batch_columns(first))


def batch_columns(batch: Batch | None) -> dict[str, Any]:
    """The columns of ``records`` that a batch tells of its records."""
    if batch is None:
        return {}
    return {
        "clock": "log-append-time" if batch.append_time else "create-time",
        "producer": batch.producer if batch.producer >= 0 else None,
        "transactional": batch.transactional,
    }


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


async def topic_settings(cluster: Cluster, topics: Collection[str]) -> tuple[list[Row], list[str]]:
    """Rows of ``topic_configs``, from any broker that answers, and what this user may not be told, in sentences."""
    resource = DescribeConfigsRequest.DescribeConfigsResource
    asked = [resource(resource_type=2, resource_name=name, configuration_keys=list(SETTINGS)) for name in sorted(topics)[:MOST_TOPICS]]
    if not asked:
        return [], []
    for node in cluster.brokers:
        try:
            answer = await cluster.ask(node, DescribeConfigsRequest, "DescribeConfigs", newest=2, resources=asked, include_synonyms=False)
        except Dead:
            continue
        rows = [
            TOPIC_CONFIGS.row(
                {"scope": "", "as_of": cluster.as_of, "topic": result.resource_name, "key": config.name, "value": config.value}
            )
            for result in answer.results
            if not result.error_code
            for config in result.configs
        ]
        refused = [f"--topic {shlex.quote(r.resource_name)}" for r in answer.results if r.error_code == TOPIC_AUTHORIZATION_FAILED]
        needs = cluster.sight.needs("DESCRIBE_CONFIGS", *refused[:5])
        return rows, [f"retention is unknown: {needs}"] if refused else []
    return [], []
