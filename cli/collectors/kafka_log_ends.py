"""Where the logs of partitions begin and end.

Each broker is asked for the partitions that it leads, all brokers at once. One that does not answer makes its partitions unknown, by name,
and nothing else.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka.protocol.consumer.offsets import ListOffsetsRequest

from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_errors import error_says
from cli.collectors.kafka_session import Dead

TopicPartition = tuple[str, int]

PARTITIONS_PER_REQUEST = 5000  # a chunk is answered in a few milliseconds: one request may not hold a broker for long

EARLIEST, LATEST = -2, -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1


@dataclass
class LogEnds:
    """Offsets of one partition; None where its leader did not say, `error` says why."""

    log_start: int | None = None
    last_stable: int | None = None
    high_watermark: int | None = None
    error: str | None = None

    def settle(self) -> None:
        """Records arrive before the last stable offset is asked for, last: up to the high watermark of before everything is stable."""
        if self.last_stable is not None and self.high_watermark is not None:
            self.last_stable = min(self.last_stable, self.high_watermark)

    def columns(self) -> dict[str, int | None]:
        return {"log_start": self.log_start, "last_stable": self.last_stable, "high_watermark": self.high_watermark}


_ENDS = (("log_start", EARLIEST, READ_UNCOMMITTED), ("high_watermark", LATEST, READ_UNCOMMITTED), ("last_stable", LATEST, READ_COMMITTED))


async def ask_log_ends(cluster: Cluster, wanted: Collection[TopicPartition], problems: list[str]) -> dict[TopicPartition, LogEnds]:
    """Log start, high watermark and last stable offset of each of `wanted`, every leader at once.

    Why a leader is silent goes to `problems`.
    """
    leaders = {(t.name, p.partition_index): p.leader_id for t in cluster.topics for p in t.partitions}
    ends = {place: LogEnds() for place in wanted}
    by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
    for place in sorted(wanted):
        if place not in leaders:
            hidden = "" if cluster.sight.unrestricted else f", or {cluster.sight.who} may not DESCRIBE it"
            ends[place].error = f"the topic or partition does not exist (any more){hidden}"
        elif leaders[place] not in cluster.brokers:
            ends[place].error = "the partition has no leader"
        else:
            by_leader[leaders[place]].append(place)

    async def one(node: int, places: Sequence[TopicPartition]) -> None:
        try:
            # before version 2 (Kafka 0.11) there were no transactions, and the isolation level would be ignored
            ends_to_ask = _ENDS if await cluster.newest(node, ListOffsetsRequest) >= 2 else _ENDS[:2]
            for chunk in chunks(places, PARTITIONS_PER_REQUEST):
                for column, timestamp, isolation in ends_to_ask:
                    await _list_offsets(cluster, node, chunk, timestamp, isolation, column, ends)
        except Dead as dead:
            for place in places:
                ends[place].error = ends[place].error or f"its leader {cluster.name(node)} cannot be asked: {dead.says}"
            problems.append(f"log ends of {len(places)} partitions led by {cluster.name(node)} are unknown: {dead.says}")

    await asyncio.gather(*(one(node, places) for node, places in by_leader.items()))
    for end in ends.values():
        end.settle()
    return ends


async def _list_offsets(
    cluster: Cluster,
    node: int,
    places: Sequence[TopicPartition],
    timestamp: int,
    isolation: int,
    column: str,
    ends: Mapping[TopicPartition, LogEnds],
) -> None:
    by_topic: dict[str, list[int]] = defaultdict(list)
    for topic, partition in places:
        by_topic[topic].append(partition)
    of_topic = ListOffsetsRequest.ListOffsetsTopic
    topics = [
        of_topic(name=topic, partitions=[of_topic.ListOffsetsPartition(partition_index=number, timestamp=timestamp) for number in numbers])
        for topic, numbers in by_topic.items()
    ]
    answer = await cluster.ask(node, ListOffsetsRequest, "ListOffsets", newest=7, replica_id=-1, isolation_level=isolation, topics=topics)
    for told in answer.topics:
        for partition in told.partitions:
            end = ends[told.name, partition.partition_index]
            if partition.error_code:
                end.error = error_says(partition.error_code, cluster.sight)
            else:
                setattr(end, column, partition.offset)


def chunks(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    """`items`, `size` at a time."""
    return (items[i : i + size] for i in range(0, len(items), size))
