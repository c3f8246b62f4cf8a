"""Consumer groups and what they committed; groups without members (assign(): Flink, Spark, Beam) included.

Each broker is asked for the groups that it coordinates, all brokers at once. One that does not answer makes its groups unknown, by name,
and nothing else.
"""

from __future__ import annotations

import asyncio
import shlex
import struct
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.admin.groups import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer.group import OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from analyzers.tables import COMMITTED_OFFSETS, GROUPS, LOG_OFFSETS, MEMBERS, Row
from cli.collectors.consumer_group_describe import ConsumerGroupDescribeRequest
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_errors import error_says
from cli.collectors.kafka_log_ends import LogEnds, TopicPartition, ask_log_ends, chunks
from cli.collectors.kafka_session import Dead

GROUPS_PER_REQUEST = 100  # a chunk is answered in a few milliseconds: one request may not hold a broker for long


@dataclass
class GroupAnswers:
    """Rows of four tables; `problems`: what stayed unknown, in sentences; `listed`: ids of all groups; `found`: the wanted ones."""

    groups: list[Row] = field(default_factory=list)
    members: list[Row] = field(default_factory=list)
    committed_offsets: list[Row] = field(default_factory=list)
    log_offsets: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    found: dict[str, Group] = field(default_factory=dict)


@dataclass
class Group:
    """What is known of one group while its brokers are asked; `committed` holds None where it is certain that there is no commit."""

    coordinator: int
    type: str = "unknown"
    protocol_type: str | None = None
    state: str | None = None
    error: str | None = None
    members: list[dict[str, Any]] = field(default_factory=list)
    committed: dict[TopicPartition, int | None] = field(default_factory=dict)
    refused: dict[TopicPartition, str] = field(default_factory=dict)


async def ask_groups(
    cluster: Cluster, wants_group: Callable[[str], bool], named: Collection[str], wants_topic: Callable[[str], bool]
) -> GroupAnswers:
    """Everything about the groups that `wants_group` takes.

    `named` are group ids asked for by name: they are looked up even when no broker lists them.
    """
    answers = GroupAnswers()
    groups = await _list(cluster, answers.problems)
    answers.listed = sorted(groups)
    groups = {name: group for name, group in groups.items() if wants_group(name)}
    await _find(cluster, [name for name in named if name not in groups], groups, answers.problems)
    answers.found = groups
    await _look(cluster, groups, wants_topic, answers)
    return answers


async def ask_again(cluster: Cluster, before: GroupAnswers, wants_topic: Callable[[str], bool]) -> None:
    """One more sample of the groups that `before` holds; its rows are added."""
    groups = {
        name: Group(group.coordinator, group.type, group.protocol_type, group.state, group.error) for name, group in before.found.items()
    }
    await _look(cluster, groups, wants_topic, before)


async def _look(cluster: Cluster, groups: dict[str, Group], wants_topic: Callable[[str], bool], answers: GroupAnswers) -> None:
    by_coordinator: dict[int, list[str]] = defaultdict(list)
    for name in sorted(groups):
        by_coordinator[groups[name].coordinator].append(name)
    await asyncio.gather(*(_ask_coordinator(cluster, node, names, groups) for node, names in by_coordinator.items()))
    for group in groups.values():
        # a partition that is read and was never committed belongs into the report: its lag is unknown, not 0
        places = [*group.committed, *(tp for member in group.members for tp in member["assigned"])]
        group.committed = {tp: group.committed.get(tp) for tp in places if wants_topic(tp[0])}
    ends = await ask_log_ends(cluster, {tp for group in groups.values() for tp in group.committed}, answers.problems)
    answers.log_offsets += [_row(LOG_OFFSETS, cluster, {"at": cluster.as_of} | _place(tp) | ends[tp].columns()) for tp in sorted(ends)]
    for name, group in sorted(groups.items()):
        _report(cluster, name, group, ends, answers)


# Who is there -----------------------------------------------------------------------------------------------------------


async def _list(cluster: Cluster, problems: list[str]) -> dict[str, Group]:
    found: dict[str, Group] = {}

    async def one(node: int) -> None:
        try:
            answer = await cluster.ask(node, ListGroupsRequest, "ListGroups", newest=5, states_filter=[], types_filter=[])
        except Dead as dead:
            problems.append(f"groups coordinated by {cluster.name(node)} are unknown: {dead.says}")
            return
        if answer.error_code:
            problems.append(f"groups coordinated by {cluster.name(node)} are unknown: {error_says(answer.error_code, cluster.sight)}")
        for listed in answer.groups:
            kind = (getattr(listed, "group_type", None) or "classic").lower()
            found[listed.group_id] = Group(node, kind, listed.protocol_type, getattr(listed, "group_state", None) or None)

    await asyncio.gather(*(one(node) for node in cluster.brokers))
    return found


async def _find(cluster: Cluster, missing: Sequence[str], groups: dict[str, Group], problems: list[str]) -> None:
    """Groups that were named but that no broker lists: with a coordinator that does not answer, or not there at all."""
    for name in missing:
        for node in cluster.brokers:
            try:
                # version 3: the last with a single key, spoken by every broker since 2.4
                answer = await cluster.ask(node, FindCoordinatorRequest, "FindCoordinator", newest=3, key=name, key_type=0)
            except Dead:
                continue
            if answer.error_code:
                if answer.error_code == 30:
                    problems.append(f"group {name} is not shown: {cluster.sight.needs('DESCRIBE', '--group ' + shlex.quote(name))}")
                else:
                    problems.append(f"group {name}: its coordinator is unknown: {error_says(answer.error_code, cluster.sight)}")
                break
            if answer.node_id in cluster.silent:
                why = f"its coordinator {cluster.name(answer.node_id)} cannot be asked: {cluster.silent[answer.node_id].says}"
                groups[name] = Group(answer.node_id, error=why)
            else:
                # not there, or not loaded yet by a coordinator that has just taken over: asked by name it says which
                groups[name] = Group(answer.node_id, type="classic")
            break
        else:
            problems.append(f"group {name}: no broker answers who coordinates it")


async def _ask_coordinator(cluster: Cluster, node: int, names: Sequence[str], groups: Mapping[str, Group]) -> None:
    for name in names:
        if groups[name].type not in (
            "classic",
            "consumer",
        ):  # KIP-932 share groups acknowledge records, KIP-1071 streams groups have own calls
            groups[name].error = groups[name].error or f"a {groups[name].type} group: its offsets cannot be read yet"
    answering = [name for name in names if groups[name].error is None]
    for chunk in chunks(answering, GROUPS_PER_REQUEST):
        try:
            await _describe(cluster, node, [name for name in chunk if groups[name].type != "consumer"], groups)
            await _describe_kip848(cluster, node, [name for name in chunk if groups[name].type == "consumer"], groups)
            await fetch_committed(cluster, node, chunk, groups)
        except Dead as dead:
            for name in chunk:
                groups[name].error = f"its coordinator {cluster.name(node)} cannot be asked: {dead.says}"


async def _describe(cluster: Cluster, node: int, names: Sequence[str], groups: Mapping[str, Group]) -> None:
    if not names:
        return
    answer = await cluster.ask(
        node, DescribeGroupsRequest, "DescribeGroups", newest=5, groups=list(names), include_authorized_operations=False
    )
    for described in answer.groups:
        group = groups[described.group_id]
        if described.error_code:
            group.state = "Dead" if described.error_code == 69 else group.state
            group.error = error_says(described.error_code, cluster.sight)
            continue
        group.state, group.protocol_type = described.group_state, described.protocol_type
        if group.state == "Dead":
            group.error = error_says(69, cluster.sight)
            continue
        group.members = [
            {
                "member": member.member_id, "client": member.client_id, "instance": getattr(member, "group_instance_id", None),
                "host": member.client_host.lstrip("/"), "assigned": assigned_partitions(bytes(member.member_assignment or b"")),
            }
            for member in described.members
        ]  # fmt: skip


async def _describe_kip848(cluster: Cluster, node: int, names: Sequence[str], groups: Mapping[str, Group]) -> None:
    if not names:
        return
    answer = await cluster.ask(node, ConsumerGroupDescribeRequest, "ConsumerGroupDescribe", newest=0, group_ids=list(names))
    for described in answer.groups:
        group = groups[described.group_id]
        if described.error_code:
            group.error = error_says(described.error_code, cluster.sight)
            continue
        group.state = described.group_state
        group.members = [
            {
                "member": member.member_id, "client": member.client_id, "instance": member.instance_id,
                "host": member.client_host.lstrip("/"), "assigned": list(member.assigned),
            }
            for member in described.members
        ]  # fmt: skip


def assigned_partitions(assignment: bytes) -> list[TopicPartition]:
    """Topic-partitions of a member's assignment (ConsumerProtocolAssignment, all versions begin alike); empty for other bytes.

    Kafka Connect and schema registries put bytes of their own there.
    """
    try:
        (topics,) = struct.unpack_from(">i", assignment, 2)
        at, partitions = 6, []
        for _ in range(topics):
            (length,) = struct.unpack_from(">h", assignment, at)
            topic = assignment[at + 2 : at + 2 + length].decode("utf-8")
            (count,) = struct.unpack_from(">i", assignment, at + 2 + length)
            partitions += [(topic, number) for number in struct.unpack_from(f">{count}i", assignment, at + 6 + length)]
            at += 6 + length + 4 * count
    except (struct.error, UnicodeDecodeError):
        return []
    return sorted(partitions)


# What was committed -----------------------------------------------------------------------------------------------------


async def fetch_committed(cluster: Cluster, node: int, names: Sequence[str], groups: Mapping[str, Group]) -> None:
    """All committed offsets of `names`. Null topics = every topic; -1 = no commit (an expired or deleted one)."""
    # 8 takes many groups at once (KIP-709, Kafka 3.0); 10 names topics by id only
    if await cluster.newest(node, OffsetFetchRequest) >= 8:
        wanted = [OffsetFetchRequest.OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
        # require_stable would refuse partitions with a pending transactional commit instead of telling the last one
        answer = await cluster.ask(node, OffsetFetchRequest, "OffsetFetch", newest=9, groups=wanted, require_stable=False)
        told = [(group.group_id, group) for group in answer.groups]
    else:
        told = [(name, await _fetch_committed_of_one(cluster, node, name)) for name in names]
    for name, one in told:
        group = groups[name]
        if getattr(one, "error_code", 0):
            group.error = group.error or error_says(one.error_code, cluster.sight)
        for topic in one.topics:
            for partition in topic.partitions:
                place = (topic.name, partition.partition_index)
                group.committed[place] = partition.committed_offset if partition.committed_offset >= 0 else None
                if partition.error_code:
                    group.refused[place] = error_says(partition.error_code, cluster.sight)


async def _fetch_committed_of_one(cluster: Cluster, node: int, name: str) -> Any:
    """The same before Kafka 3.0: one group per request."""
    return await cluster.ask(node, OffsetFetchRequest, "OffsetFetch", newest=7, group_id=name, topics=None, require_stable=False)


# Rows -------------------------------------------------------------------------------------------------------------------


def _report(
    cluster: Cluster,
    name: str,
    group: Group,
    ends: Mapping[TopicPartition, LogEnds],
    answers: GroupAnswers,
) -> None:
    simple = None if group.error or group.protocol_type is None else group.protocol_type == "" and not group.members
    answers.groups.append(
        _row(GROUPS, cluster, {
            "group": name, "type": group.type, "state": group.state, "coordinator": group.coordinator, "simple": simple,
            "error": group.error, "members": None if group.error else len(group.members),
        })
    )  # fmt: skip
    if group.error:
        answers.problems.append(f"group {name}: {group.error}")
    owners: dict[TopicPartition, dict[str, Any]] = {}
    for member in group.members:
        owners.update(dict.fromkeys(member["assigned"], member))
        assigned = [f"{topic}-{partition}" for topic, partition in member["assigned"]]
        answers.members.append(_row(MEMBERS, cluster, {"group": name} | member | {"assigned": assigned}))
    for place, committed in sorted(group.committed.items()):
        end, owner = ends[place], owners.get(place, {})
        answers.committed_offsets.append(
            _row(COMMITTED_OFFSETS, cluster, {
                "at": cluster.as_of, "group": name, "committed": committed, "lag_records": lag(committed, end),
                "member": owner.get("member"), "client": owner.get("client"), "host": owner.get("host"),
                "error": group.refused.get(place) or end.error,
            } | _place(place) | end.columns())
        )  # fmt: skip


def lag(committed: int | None, ends: LogEnds) -> int | None:
    """Records between the commit and the high watermark that still exist.

    A commit below the log start counts from there (retention took the rest), one beyond the end as 0 (the topic was made anew). None
    without a commit: nothing is known then, which is not the same as 0.
    """
    if committed is None or ends.high_watermark is None or ends.log_start is None:
        return None
    return max(0, ends.high_watermark - max(committed, ends.log_start))


def _place(place: TopicPartition) -> dict[str, Any]:
    return {"topic": place[0], "partition": place[1]}


def _row(table: Any, cluster: Cluster, values: Mapping[str, Any]) -> Row:
    row: Row = table.row({"scope": "", "as_of": cluster.as_of} | dict(values))
    return row
