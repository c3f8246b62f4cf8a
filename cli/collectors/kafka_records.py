"""Single records at known offsets: read with bounded Fetch requests that join no group and commit nothing.

One Fetch asks a broker for the batches of many partitions. A broker gives the first batch of the first partition whole, however large, and
of the others only what fits (KIP-74); those are asked again, each as the first of a request, until the budget of bytes is used up.
"""

from __future__ import annotations

import asyncio
import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.consumer.fetch import FetchRequest

from cli.collectors.kafka_batches import Batch, Record, Unreadable, batches, damage, records
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_session import Dead

PARTITION_BYTES = 64 << 10  # holds the first batch of most producers (batch.size is 16 KB by default)
PARTITIONS_PER_FETCH = 64  # with the line above: 4 MB in one answer
BUDGET_BYTES = 96 << 20
ROUNDS = 8  # answers for one partition: a hole of compaction ends before that, or is said to be too long
HEADER_ANSWERS = 2  # of a search through headers: what it finds there is enough

OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"
NO_READ = "TOPIC_AUTHORIZATION_FAILED"

_ERRORS: Mapping[int, str] = {
    1: f"{OUT_OF_RANGE}: the log does not hold this offset (any more)",
    2: "CORRUPT_MESSAGE: the broker finds the batch damaged",
    3: "UNKNOWN_TOPIC_OR_PARTITION: the topic was deleted",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER: the leader is moving",
    10: "MESSAGE_TOO_LARGE",
    29: f"{NO_READ}: READ on the topic is needed",
    76: "UNSUPPORTED_COMPRESSION_TYPE",
    87: "INVALID_RECORD",
}


@dataclass(frozen=True)
class Want:
    """Records of one partition from `offset` on: `most` of them, not beyond `until`. `committed`: only what a read_committed reader gets.

    `headers` asks for the batches as such (their times, producers and markers) up to `until`, and for no record.
    """

    topic: str
    partition: int
    offset: int
    most: int = 1
    until: int | None = None
    committed: bool = False
    headers: bool = False
    whole: bool = False
    max_bytes: int = PARTITION_BYTES

    @property
    def place(self) -> tuple[str, int]:
        return self.topic, self.partition


@dataclass
class Reading:
    """What was found for a `Want`. `first` is the batch of the first record; `undecoded` when only its header was needed or possible.

    `damaged` tells for records of a `whole` want what is wrong with their batch: they read well and are not what was written.
    """

    want: Want
    records: list[Record] = field(default_factory=list)
    damaged: dict[int, str] = field(default_factory=dict)
    first: Batch | None = None
    batches: list[Batch] = field(default_factory=list)
    skipped_control: int = 0
    reached_end: bool = False
    undecoded: bool = False
    error: str | None = None
    at: int = 0
    done: bool = False
    aborting: set[int] = field(default_factory=set)
    alone: bool = False
    answers: int = 0


async def read_records(cluster: Cluster, wants: Iterable[Want], *, budget_bytes: int = BUDGET_BYTES) -> dict[Want, Reading]:
    """Each of `wants`, answered or with the reason why not; every leader at once, within `budget_bytes` altogether."""
    leaders = {(topic.name, p.partition_index): p.leader_id for topic in cluster.topics for p in topic.partitions}
    readings = {want: Reading(want, at=want.offset) for want in wants}
    by_leader: dict[int, list[Reading]] = defaultdict(list)
    for want, reading in readings.items():
        leader = leaders.get(want.place)
        if leader is None or leader not in cluster.brokers:
            reading.error = "the partition has no leader" if leader is not None else _ERRORS[3]
        else:
            by_leader[leader].append(reading)
    share = budget_bytes // max(1, len(by_leader))
    await asyncio.gather(*(_read_from(cluster, node, own, share) for node, own in by_leader.items()))
    return readings


async def _read_from(cluster: Cluster, node: int, readings: Sequence[Reading], budget: int) -> None:
    pending = list(readings)
    try:
        for _ in range(ROUNDS):
            for asked in _requests(pending):
                if budget <= 0:
                    break
                budget -= await _fetch(cluster, node, asked)
            pending = [reading for reading in pending if not reading.done and reading.error is None]
            if not pending or budget <= 0:
                break
    except Dead as dead:
        for reading in pending:
            if not reading.done and reading.error is None:
                reading.error = f"its leader {cluster.name(node)} cannot be asked: {dead.says}"
        return
    for reading in pending:
        if not reading.done and reading.error is None:
            reading.error = "not read: the budget of bytes was used up" if budget <= 0 else f"no record in the first {ROUNDS} answers"


def _requests(pending: Sequence[Reading]) -> list[list[Reading]]:
    """Requests with each partition at most once; a batch that did not fit gets a request of its own."""
    alone = [[reading] for reading in pending if reading.alone]
    shared: list[dict[tuple[str, int], Reading]] = []
    for reading in (each for each in pending if not each.alone):
        want = reading.want
        for request in shared:
            like = next(iter(request.values())).want.committed == want.committed  # one request has one isolation level
            if like and len(request) < PARTITIONS_PER_FETCH and want.place not in request:
                request[want.place] = reading
                break
        else:
            shared.append({want.place: reading})
    return alone + [list(request.values()) for request in shared]


async def _fetch(cluster: Cluster, node: int, asked: Sequence[Reading]) -> int:
    """One request; the bytes of records that came back."""
    by_topic: dict[str, list[Reading]] = defaultdict(list)
    for reading in asked:
        by_topic[reading.want.topic].append(reading)
    of_topic = FetchRequest.FetchTopic
    topics = [
        of_topic(topic=topic, partitions=[
            of_topic.FetchPartition(
                partition=reading.want.partition, current_leader_epoch=-1, fetch_offset=reading.at, log_start_offset=-1,
                partition_max_bytes=reading.want.max_bytes,
            )
            for reading in own
        ])
        for topic, own in by_topic.items()
    ]  # fmt: skip
    # version 11: the last that names topics without the compact encoding; a session id would make the broker remember us
    answer = await cluster.ask(
        node, FetchRequest, "Fetch", newest=11, replica_id=-1, max_wait_ms=50, min_bytes=1,
        max_bytes=sum(reading.want.max_bytes for reading in asked),
        isolation_level=1 if asked[0].want.committed else 0,
        session_id=0, session_epoch=-1, topics=topics, forgotten_topics_data=[], rack_id="",
    )  # fmt: skip
    readings = {reading.want.place: reading for reading in asked}
    size = 0
    for topic in answer.responses:
        for partition in topic.partitions:
            data = bytes(partition.records or b"")
            size += len(data)
            reading = readings[topic.topic, partition.partition_index]
            if partition.error_code:
                reading.error = _ERRORS.get(partition.error_code, f"error {partition.error_code}")
                continue
            try:
                _take(reading, data, partition)
            except Unreadable as unreadable:
                reading.error = unreadable.why
    return max(size, 1 << 10)


def _take(reading: Reading, data: bytes, partition: Any) -> None:
    """Note what one answer holds, and where to go on."""
    want = reading.want
    end = partition.last_stable_offset if want.committed else partition.high_watermark
    aborted = sorted((t.first_offset, t.producer_id) for t in getattr(partition, "aborted_transactions", None) or ())
    reading.answers += 1
    seen = False
    for batch in batches(data):
        if batch.last_offset < reading.at:
            continue
        if batch.body is None and not want.headers:
            break  # cut off: asked for again, as the first
        if want.until is not None and batch.base_offset > want.until:
            reading.done = True
            return
        seen = True
        reading.batches.append(batch)
        while aborted and aborted[0][0] <= batch.last_offset:
            reading.aborting.add(aborted.pop(0)[1])
        _note(reading, batch)
        reading.at = batch.last_offset + 1
        if reading.done:
            return
    if reading.at >= end:
        reading.done, reading.reached_end = True, True
    elif (want.until is not None and reading.at > want.until) or (want.headers and reading.answers >= HEADER_ANSWERS):
        reading.done = True
    elif not seen:
        reading.alone = True


def _note(reading: Reading, batch: Batch) -> None:
    want = reading.want
    if batch.control:
        reading.skipped_control += batch.last_offset - max(batch.base_offset, reading.at) + 1
        if _aborts(batch):
            reading.aborting.discard(batch.producer)
        return
    if want.headers:
        return
    if want.committed and batch.transactional and batch.producer in reading.aborting:
        reading.skipped_control += batch.last_offset - max(batch.base_offset, reading.at) + 1
        return
    if want.most == 1 and not want.whole and batch.base_offset >= want.offset and batch.begins_at >= 0:
        # the header has it all: nothing needs to be decompressed
        reading.first = batch
        reading.records.append(Record(batch.base_offset, batch.begins_at, None, None, ()))
        reading.undecoded = reading.done = True
        return
    why = damage(batch) if want.whole else None
    try:
        own = [r for r in records(batch, since=want.offset) if want.until is None or r.offset <= want.until]
    except Unreadable as unreadable:
        reading.first = reading.first or batch
        reading.error = why or unreadable.why
        if batch.begins_at >= 0:
            reading.undecoded = True
            reading.records.append(Record(max(batch.base_offset, want.offset), batch.begins_at, None, None, ()))
        return
    if own:
        reading.first = reading.first or batch
        if why is not None:
            reading.damaged |= {record.offset: why for record in own}
        reading.records += own[: want.most - len(reading.records)]
        reading.done = len(reading.records) >= want.most


def _aborts(batch: Batch) -> bool:
    """Whether a marker ends its transaction by an abort. Its one record has the key (version int16, type int16), type 0 = abort."""
    body = batch.body
    if body is None or len(body) < 12:
        return False
    # length, attributes, time delta, offset delta, key length: one byte each in a marker as brokers write it
    at = next((i for i in range(3, 9) if body[i] == 8), None)
    return at is not None and len(body) >= at + 5 and struct.unpack_from(">hh", body, at + 1)[1] == 0
