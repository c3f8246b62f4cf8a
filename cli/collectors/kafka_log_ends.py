"""Where the logs of partitions begin and end.

The leaders are asked all at once. One that does not answer makes its partitions unknown, by name, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_errors import error_says
from cli.collectors.kafka_leaders import NO_LEADER, TopicPartition, cannot_be_asked, leaders_of


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

    @property
    def complete(self) -> bool:
        return None not in self.columns().values()


async def ask_log_ends(cluster: Cluster, wanted: Collection[TopicPartition], problems: list[str]) -> dict[TopicPartition, LogEnds]:
    """Log start, high watermark and last stable offset of each of `wanted`, every leader at once.

    Why a leader is silent goes to `problems`.
    """
    ends = {place: LogEnds() for place in wanted}
    leaders = await leaders_of(cluster, wanted)
    hidden = "" if cluster.sight.unrestricted else f", or {cluster.sight.who} may not DESCRIBE it"
    for place in leaders.unknown:
        ends[place].error = f"the topic or partition does not exist (any more){hidden}"
    for topic, number in leaders.leaderless:
        ends[topic, number].error = NO_LEADER
        problems.append(f"log ends of {topic}-{number} are unknown: {cluster.leaderless(topic, number)}")

    def silent(node: int, places: Sequence[TopicPartition], says: str | None) -> None:
        for place in places:
            ends[place].error = cannot_be_asked(cluster, node, says)
        problems.append(f"log ends of {len(places)} partitions led by {cluster.name(node)} are unknown: {says}")

    for node, (places, says) in leaders.silent.items():
        silent(node, places, says)

    def take(row: dict[str, Any]) -> None:
        for topic, partition, offset, error in row["places"]:
            end = ends[topic, partition]
            if error:
                end.error = error_says(error[0], cluster.sight, error[1])
            else:
                setattr(end, row["offset"], offset)

    if leaders.reachable:
        missing = await cluster.ask_library(
            "log_ends", take, leaders=list(leaders.reachable.values()), first=["log_start", "high_watermark"], then=["last_stable"]
        )
        for node, places in leaders.reachable.items():
            unanswered = [place for place in places if not ends[place].complete and ends[place].error is None]
            if unanswered:
                silent(node, unanswered, missing)
    for end in ends.values():
        end.settle()
    return ends
