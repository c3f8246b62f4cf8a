"""The offset for a time: the first record of each partition that is not older."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from analyzers.tables import OFFSETS_AT, Row
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_errors import error_says
from cli.collectors.kafka_leaders import NO_LEADER, TopicPartition, cannot_be_asked, leaders_of
from cli.collectors.kafka_session import moment


async def ask_offsets_at(cluster: Cluster, wanted: Collection[TopicPartition], at: datetime) -> list[Row]:
    """Rows of ``offsets_at`` of `wanted`: the broker looks it up in its index of time stamps, which are the producers' own by default."""
    found: dict[TopicPartition, dict[str, Any]] = {place: {} for place in wanted}
    leaders = await leaders_of(cluster, wanted)
    for place in (*leaders.unknown, *leaders.leaderless):
        found[place]["error"] = NO_LEADER
    for node, (places, why) in leaders.silent.items():
        for place in places:
            found[place]["error"] = cannot_be_asked(cluster, node, why)

    def take(row: dict[str, Any]) -> None:
        for topic, partition, offset, error, *stamp in row["places"]:
            known = found[topic, partition]
            if error:
                known["error"] = error_says(error[0], cluster.sight, error[1])
            elif row["offset"] == "high_watermark":
                known["high_watermark"] = offset
            else:
                known |= {"offset": offset, "record_at": moment(stamp[0])} if offset is not None else {"older": True}

    if leaders.reachable:
        time = int(at.timestamp() * 1000)
        missing = await cluster.ask_library(
            "log_ends", take, leaders=list(leaders.reachable.values()), first=["at", "high_watermark"], then=[], at=time
        )
        for place, known in found.items():
            if known.pop("older", False):  # every record is older: what comes next is not
                known["offset"] = known.get("high_watermark")
            if known.get("offset") is None and "error" not in known:
                known["error"] = cannot_be_asked(cluster, cluster.leaders[place], missing)
    head = {"scope": "", "as_of": cluster.as_of, "at": at}
    return [OFFSETS_AT.row({**head, "topic": topic, "partition": number, **known}) for (topic, number), known in sorted(found.items())]
