"""Which broker leads which partition, and which of these brokers can be reached: what every question about partitions begins with."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_session import Dead

TopicPartition = tuple[str, int]

NO_LEADER = "the partition has no leader"


@dataclass
class Leaders:
    """Partitions by leader: `reachable` and `silent`, with why; `leaderless`, and `unknown` to the metadata."""

    reachable: dict[int, list[TopicPartition]] = field(default_factory=dict)
    silent: dict[int, tuple[list[TopicPartition], str]] = field(default_factory=dict)
    leaderless: list[TopicPartition] = field(default_factory=list)
    unknown: list[TopicPartition] = field(default_factory=list)


def cannot_be_asked(cluster: Cluster, node: int, why: str | None) -> str:
    """What a row says of a partition whose leader is silent."""
    return f"its leader {cluster.name(node)} cannot be asked: {why}"


async def leaders_of(cluster: Cluster, places: Iterable[TopicPartition]) -> Leaders:
    """`places` by leader, in order; every leader is reached for at once."""
    found, by_leader = Leaders(), defaultdict[int, list[TopicPartition]](list)
    for place in sorted(set(places)):
        leader = cluster.leaders.get(place)
        if leader is None:
            found.unknown.append(place)
        elif leader not in cluster.brokers:
            found.leaderless.append(place)
        else:
            by_leader[leader].append(place)

    async def reach(node: int) -> None:
        try:
            await cluster.reach(node)
        except Dead as dead:
            found.silent[node] = (by_leader[node], dead.says)

    await asyncio.gather(*(reach(node) for node in by_leader))
    found.reachable = {node: own for node, own in by_leader.items() if node not in found.silent}
    return found
