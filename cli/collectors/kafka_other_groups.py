"""Groups that librdkafka cannot describe: other classic protocols (Kafka Connect), share groups (KIP-932), streams groups (KIP-1071).

A share group commits no offsets: its records are acknowledged one by one, beyond its start offset in any order. So nothing is subtracted
here; its lag is the broker's own count (KIP-1226, Kafka 4.2), and unknown before that. How often a record was delivered is not shown to one
that only looks: ReadShareGroupState has it, needs the rights of a broker, and writes the leader epoch of who asks.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from kafka.protocol.admin.groups import DescribeGroupsRequest

from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_errors import error_says
from cli.collectors.kafka_group import Group, SharePartition
from cli.collectors.kafka_messages import (
    ConsumerGroupDescribeRequest,
    DescribeShareGroupOffsetsRequest,
    ShareGroupDescribeRequest,
    StreamsGroupDescribeRequest,
)
from cli.collectors.kafka_session import Dead

Groups = Mapping[str, Group]


async def describe_others(cluster: Cluster, names: Sequence[str], groups: Groups) -> None:
    """State and members of those `groups` that `names` has; of share groups their partitions, too."""
    asked = defaultdict[tuple[int, str], list[str]](list)
    for name in names:
        asked[groups[name].coordinator, groups[name].type].append(name)
    await asyncio.gather(*(_one(cluster, node, kind, own, groups) for (node, kind), own in asked.items()))


async def _one(cluster: Cluster, node: int, kind: str, names: Sequence[str], groups: Groups) -> None:
    questions: dict[str, Sequence[Callable[[Cluster, int, Sequence[str], Groups], Awaitable[None]]]] = {
        "share": (_share_members, _share_offsets), "streams": (_streams_members,),
    }  # fmt: skip
    try:
        for question in questions.get(kind, (_classic_members,)):
            await question(cluster, node, names, groups)
    except Dead as dead:
        for name in names:
            groups[name].error = groups[name].error or (
                f"a {kind} group: {dead.says}" if dead.lives else f"its coordinator {cluster.name(node)} cannot be asked: {dead.says}"
            )


async def ask_epochs(cluster: Cluster, groups: Groups) -> None:
    """Epochs of groups with the protocol of KIP-848 and of their members, which librdkafka leaves out; where they are refused, none."""
    asked = defaultdict[int, list[str]](list)
    for name, group in groups.items():
        if group.type == "consumer" and group.error is None:
            asked[group.coordinator].append(name)

    async def one(node: int, names: Sequence[str]) -> None:
        with contextlib.suppress(Dead):
            answer = await cluster.ask(node, ConsumerGroupDescribeRequest, "ConsumerGroupDescribe", newest=1, **_described(names))
            for described in answer.groups:
                if not described.error_code:
                    group = groups[described.group_id]
                    group.epoch, group.assignment_epoch = described.group_epoch, described.assignment_epoch
                    epochs = {member.member_id: member.member_epoch for member in described.members}
                    group.members = [member | {"epoch": epochs.get(member["member"])} for member in group.members]

    await asyncio.gather(*(one(node, names) for node, names in asked.items()))


async def _classic_members(cluster: Cluster, node: int, names: Sequence[str], groups: Groups) -> None:
    answer = await cluster.ask(node, DescribeGroupsRequest, "DescribeGroups", newest=5, groups=names, include_authorized_operations=False)
    for described in answer.groups:
        group = groups[described.group_id]
        if _told(cluster, group, described):
            group.assignor = described.protocol_data or None
            group.members = [_member(member, getattr(member, "group_instance_id", None), []) for member in described.members]


async def _streams_members(cluster: Cluster, node: int, names: Sequence[str], groups: Groups) -> None:
    answer = await cluster.ask(node, StreamsGroupDescribeRequest, "StreamsGroupDescribe", newest=0, **_described(names))
    for described in answer.groups:
        group = groups[described.group_id]
        if not _told(cluster, group, described):
            continue
        topics = {part.subtopology_id: _sources(part) for part in (described.topology.subtopologies if described.topology else None) or ()}
        group.members = [
            _member(member, member.instance_id, [
                (topic, partition)
                for task in member.assignment.active_tasks
                for topic in topics.get(task.subtopology_id, ())
                for partition in task.partitions
            ])
            for member in described.members
        ]  # fmt: skip


def _sources(subtopology: Any) -> list[str]:
    """The topics whose partitions a task of `subtopology` reads."""
    return [*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics)]


async def _share_members(cluster: Cluster, node: int, names: Sequence[str], groups: Groups) -> None:
    answer = await cluster.ask(node, ShareGroupDescribeRequest, "ShareGroupDescribe", newest=1, **_described(names))
    for described in answer.groups:
        group = groups[described.group_id]
        if _told(cluster, group, described):
            group.members = [
                _member(member, None, [(t.topic_name, number) for t in member.assignment.topic_partitions for number in t.partitions])
                for member in described.members
            ]


async def _share_offsets(cluster: Cluster, node: int, names: Sequence[str], groups: Groups) -> None:
    of_group = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
    wanted = [of_group(group_id=name, topics=None) for name in names if groups[name].error is None]
    if not wanted:
        return
    answer = await cluster.ask(node, DescribeShareGroupOffsetsRequest, "DescribeShareGroupOffsets", newest=1, groups=wanted)
    for told in answer.groups:
        group = groups[told.group_id]
        if told.error_code:
            group.error = error_says(told.error_code, cluster.sight, told.error_message)
        for topic in told.topics:
            for place in topic.partitions:
                lag = getattr(place, "lag", -1)
                group.shared[topic.topic_name, place.partition_index] = SharePartition(
                    place.start_offset if place.start_offset >= 0 else None,
                    lag if lag is not None and lag >= 0 else None,
                    error_says(place.error_code, cluster.sight, place.error_message) if place.error_code else None,
                )


def _described(names: Sequence[str]) -> dict[str, Any]:
    return {"group_ids": list(names), "include_authorized_operations": False}


def _told(cluster: Cluster, group: Group, described: Any) -> bool:
    """Note the state of `group`; False when the broker refuses to say it."""
    if described.error_code:
        group.error = error_says(described.error_code, cluster.sight, getattr(described, "error_message", None))
    else:
        group.state = described.group_state
        group.assignor = getattr(described, "assignor_name", None)
        group.epoch, group.assignment_epoch = getattr(described, "group_epoch", None), getattr(described, "assignment_epoch", None)
    return not described.error_code


def _member(member: Any, instance: str | None, assigned: Sequence[tuple[str, int]]) -> dict[str, Any]:
    return {
        "member": member.member_id, "client": member.client_id, "instance": instance, "host": member.client_host.lstrip("/"),
        "assigned": sorted(assigned), "epoch": getattr(member, "member_epoch", None),
    }  # fmt: skip
