"""Single records at known offsets: read by librdkafka in its own process, which joins no group and commits nothing."""

from __future__ import annotations

import asyncio
import base64
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_leaders import NO_LEADER, cannot_be_asked, leaders_of

OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"
NO_READ = "TOPIC_AUTHORIZATION_FAILED"

_ERRORS: Mapping[int, str] = {
    -140: f"{OUT_OF_RANGE}: the log does not hold this offset (any more)",  # auto.offset.reset=error
    1: f"{OUT_OF_RANGE}: the log does not hold this offset (any more)",
    2: "CORRUPT_MESSAGE: the broker finds the batch damaged",
    3: "UNKNOWN_TOPIC_OR_PARTITION: the topic was deleted",
    10: "MESSAGE_TOO_LARGE",
    29: f"{NO_READ}: READ on the topic is needed",
    76: "UNSUPPORTED_COMPRESSION_TYPE",
    87: "INVALID_RECORD",
}
_CLOCKS: Mapping[int, str] = {1: "create-time", 2: "log-append-time"}


@dataclass(frozen=True)
class Want:
    """Records of one partition from `offset` on: `most` of them, not beyond `until`. `committed`: only what a read_committed reader gets.

    `whole` asks for keys, values and headers, too, and for what damaged batches hold all the same.
    """

    topic: str
    partition: int
    offset: int
    most: int = 1
    until: int | None = None
    committed: bool = False
    whole: bool = False

    @property
    def place(self) -> tuple[str, int]:
        return self.topic, self.partition


@dataclass(frozen=True)
class Record:
    """One record; `value` None is a tombstone (or was not asked for). The time is epoch milliseconds, -1 = none."""

    offset: int
    timestamp: int
    clock: str | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


@dataclass
class Reading:
    """What was found for a `Want`. `damaged` says of records what is wrong with their batch: they read well and are not what was written.

    `reached_end` when there is no record from its offset to the end of what may be read.
    """

    want: Want
    records: list[Record] = field(default_factory=list)
    damaged: dict[int, str] = field(default_factory=dict)
    reached_end: bool = False
    error: str | None = None
    done: bool = False
    damaged_batch: int | None = None


async def read_records(cluster: Cluster, wants: Iterable[Want]) -> dict[Want, Reading]:
    """Each of `wants`, answered or with the reason why not."""
    readings = {want: Reading(want) for want in wants}
    await _find_leaders(cluster, readings.values())
    kinds: dict[tuple[bool, bool], list[Reading]] = defaultdict(list)
    for reading in readings.values():
        if reading.error is None:
            kinds[reading.want.committed, reading.want.whole].append(reading)
    await asyncio.gather(*(_ask(cluster, own) for own in kinds.values()))
    for reading in readings.values():
        if reading.damaged_batch is not None and reading.want.whole:
            await _read_damaged(cluster, reading)
    return readings


async def _find_leaders(cluster: Cluster, readings: Collection[Reading]) -> None:
    leaders = await leaders_of(cluster, (reading.want.place for reading in readings))
    errors = dict.fromkeys(leaders.unknown, _ERRORS[3]) | dict.fromkeys(leaders.leaderless, NO_LEADER)
    for node, (places, why) in leaders.silent.items():
        errors |= dict.fromkeys(places, cannot_be_asked(cluster, node, why))
    for reading in readings:
        reading.error = errors.get(reading.want.place)


async def _ask(cluster: Cluster, readings: list[Reading], *, checked: bool = True) -> None:
    """Ask for `readings`, which are alike in what of a record they want."""
    first = readings[0].want
    wants = [[n, r.want.topic, r.want.partition, r.want.offset, r.want.most, r.want.until] for n, r in enumerate(readings)]

    def take(row: dict[str, Any]) -> None:
        _take(readings[row["want"]], row)

    missing = await cluster.ask_library("records", take, wants=wants, committed=first.committed, checked=checked, contents=first.whole)
    for reading in readings:
        if not reading.done and reading.error is None:
            reading.error = cannot_be_asked(cluster, cluster.leaders[reading.want.place], missing)


def _take(reading: Reading, row: Mapping[str, Any]) -> None:
    if "offset" in row:
        headers = tuple((name, _bytes(held)) for name, held in row.get("headers", ()))
        key, value = _bytes(row.get("key")), _bytes(row.get("value"))
        reading.records.append(Record(row["offset"], row["at"], _CLOCKS.get(row["clock"]), key, value, headers))
        reading.done = len(reading.records) >= reading.want.most
        return
    reading.done = True
    if "log_end" in row:
        reading.reached_end = not reading.records
    elif "error" in row:
        code, words = row["error"]
        reading.error = _ERRORS.get(code, words)
        if row["damaged"]:
            reading.damaged_batch = row["batch"]
            reading.error = f"the batch at offset {row['batch']} is damaged: {words}"


async def _read_damaged(cluster: Cluster, reading: Reading) -> None:
    """Add what the damaged batch holds all the same, read without the check of its checksum, and what stands behind it."""
    batch, why, want = reading.damaged_batch, reading.error, reading.want
    assert batch is not None
    assert why is not None
    since = max(want.offset, batch)
    unchecked = Reading(replace(want, offset=since, most=want.most - len(reading.records)))
    await _ask(cluster, [unchecked], checked=False)
    reading.error = unchecked.error and why
    held = [record for record in unchecked.records if record.offset >= since]

    async def in_batch(record: Record) -> bool:
        probe = Reading(replace(want, offset=record.offset, most=1, whole=False))
        await _ask(cluster, [probe])
        return probe.damaged_batch == batch

    reading.damaged |= {record.offset: why for record in held[: await _count(held, in_batch)]}
    reading.records += held


async def _count(records: list[Record], in_batch: Callable[[Record], Any]) -> int:
    """How many of `records`, the first ones, lie in the batch: halved again and again, since each step asks a broker."""
    low, high = 0, len(records)
    while low < high:
        middle = (low + high) // 2
        if await in_batch(records[middle]):
            low = middle + 1
        else:
            high = middle
    return low


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
