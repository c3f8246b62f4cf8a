"""Headers of record batches: who wrote them, and where transactions ended. librdkafka shows records alone, no batch and no marker.

Read with bounded Fetch requests over our own sessions and parsed by kafka-python, which decompresses and decodes nothing here.
"""

from __future__ import annotations

import asyncio
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.errors import KafkaError
from kafka.protocol.consumer.fetch import FetchRequest
from kafka.record.memory_records import MemoryRecords

from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_errors import error_says
from cli.collectors.kafka_leaders import NO_LEADER, cannot_be_asked
from cli.collectors.kafka_session import Dead

PARTITIONS_PER_FETCH = 16
_DELETE_HORIZON = 64  # KIP-534: the log cleaner keeps its delete horizon where the first time stamp was


@dataclass(frozen=True)
class Batch:
    """One batch of a log. Times are epoch milliseconds, -1 = none."""

    base_offset: int
    last_offset: int
    begins_at: int
    ends_at: int
    append_time: bool
    transactional: bool
    control: bool
    producer: int


@dataclass(frozen=True)
class Stretch:
    """A part of one partition's log: from `offset`, not beyond `until`, at most `max_bytes` of it."""

    topic: str
    partition: int
    offset: int
    until: int | None = None
    max_bytes: int = 64 << 10


@dataclass
class Seen:
    """The batches of a stretch, or why there are none."""

    batches: list[Batch] = field(default_factory=list)
    error: str | None = None


async def read_batches(cluster: Cluster, stretches: Iterable[Stretch]) -> dict[Stretch, Seen]:
    """Each of `stretches`; every leader at once."""
    seen = {stretch: Seen() for stretch in stretches}
    by_leader: dict[int, list[Stretch]] = defaultdict(list)
    for stretch in seen:
        leader = cluster.leaders.get((stretch.topic, stretch.partition))
        if leader is None or leader not in cluster.brokers:
            seen[stretch].error = NO_LEADER
        else:
            by_leader[leader].append(stretch)

    async def one(node: int, own: Sequence[Stretch]) -> None:
        try:
            for asked in _requests(own):
                await _fetch(cluster, node, asked, seen)
        except Dead as dead:
            for stretch in own:
                seen[stretch].error = seen[stretch].error or cannot_be_asked(cluster, node, dead.says)

    await asyncio.gather(*(one(node, own) for node, own in by_leader.items()))
    return seen


def _requests(stretches: Sequence[Stretch]) -> list[dict[tuple[str, int], Stretch]]:
    """Requests with each partition at most once."""
    requests: list[dict[tuple[str, int], Stretch]] = []
    for stretch in stretches:
        place = (stretch.topic, stretch.partition)
        for request in requests:
            if place not in request and len(request) < PARTITIONS_PER_FETCH:
                request[place] = stretch
                break
        else:
            requests.append({place: stretch})
    return requests


async def _fetch(cluster: Cluster, node: int, asked: Mapping[tuple[str, int], Stretch], seen: Mapping[Stretch, Seen]) -> None:
    of_topic = FetchRequest.FetchTopic
    topics = [
        of_topic(topic=stretch.topic, partitions=[
            of_topic.FetchPartition(
                partition=stretch.partition, current_leader_epoch=-1, fetch_offset=stretch.offset, log_start_offset=-1,
                partition_max_bytes=stretch.max_bytes,
            )
        ])
        for stretch in asked.values()
    ]  # fmt: skip
    # version 11: the last that names topics without the compact encoding; a session id would make the broker remember us
    answer = await cluster.ask(
        node, FetchRequest, "Fetch", newest=11, replica_id=-1, max_wait_ms=50, min_bytes=1,
        max_bytes=sum(stretch.max_bytes for stretch in asked.values()), isolation_level=0,
        session_id=0, session_epoch=-1, topics=topics, forgotten_topics_data=[], rack_id="",
    )  # fmt: skip
    for topic in answer.responses:
        for partition in topic.partitions:
            stretch = asked[topic.topic, partition.partition_index]
            if partition.error_code:
                seen[stretch].error = error_says(partition.error_code, cluster.sight)
                continue
            seen[stretch].batches += batches(bytes(partition.records or b""), stretch.offset, stretch.until)


def batches(data: bytes, offset: int = 0, until: int | None = None) -> Iterator[Batch]:
    """The whole batches in `data` that hold something from `offset` to `until`; what is damaged, and what follows, is left out."""
    try:
        held = MemoryRecords(data)
        while held.has_next():
            batch = held.next_batch()
            if batch.magic < 2 or (until is not None and batch.base_offset > until):
                return
            if batch.last_offset >= offset:
                yield _header(batch)
    except (KafkaError, struct.error, ValueError, IndexError):
        return


def _header(batch: Any) -> Batch:
    append_time = bool(batch.timestamp_type)
    begins_at = batch.max_timestamp if append_time else -1 if batch.attributes & _DELETE_HORIZON else batch.first_timestamp
    return Batch(
        batch.base_offset, batch.last_offset, begins_at, batch.max_timestamp, append_time, batch.is_transactional, batch.is_control_batch,
        batch.producer_id,
    )  # fmt: skip
