"""Consumer groups, what they committed, and where the logs begin and end; groups without members (assign(): Flink, Spark, Beam) included.

Each broker is asked for the groups that it coordinates and for the partitions that it leads, all brokers at once. One that does not answer
makes its groups and partitions unknown, by name, and nothing else.
"""

from __future__ import annotations

import asyncio
import shlex
import struct
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.admin.groups import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer.group import OffsetFetchRequest
from kafka.protocol.consumer.offsets import ListOffsetsRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from analyzers.tables import COMMITTED_OFFSETS, GROUPS, LOG_OFFSETS, MEMBERS, Row
from cli.collectors.consumer_group_describe import ConsumerGroupDescribeRequest
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_connection import Dead

TopicPartition = tuple[str, int]

# One request may not hold a broker for long: a chunk is answered in a few milliseconds.
GROUPS_PER_REQUEST = 100
PARTITIONS_PER_REQUEST = 5000

EARLIEST, LATEST = -2, -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1

# Error codes of the protocol that a row can carry (org.apache.kafka.common.protocol.Errors)
ERRORS: Mapping[int, str] = {
    3: "UNKNOWN_TOPIC_OR_PARTITION: the topic was deleted",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER: the leader is moving",
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR: the coordinator is moving",
    29: "TOPIC_AUTHORIZATION_FAILED: {who} needs DESCRIBE on the topic",
    30: "GROUP_AUTHORIZATION_FAILED: {who} needs DESCRIBE on the group",
    69: "GROUP_ID_NOT_FOUND: no such group",
    78: "OFFSET_NOT_AVAILABLE: the leader was just elected",
}


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
            problems.append(f"groups coordinated by {cluster.name(node)} are unknown: {_says(dead)}")
            return
        if answer.error_code:
            problems.append(f"groups coordinated by {cluster.name(node)} are unknown: {_error(cluster, answer.error_code)}")
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
                    problems.append(f"group {name}: its coordinator is unknown: {_error(cluster, answer.error_code)}")
                break
            if answer.node_id in cluster.silent:
                why = f"its coordinator {cluster.name(answer.node_id)} cannot be asked: {_says(cluster.silent[answer.node_id])}"
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
    for chunk in _chunks(answering, GROUPS_PER_REQUEST):
        try:
            await _describe(cluster, node, [name for name in chunk if groups[name].type != "consumer"], groups)
            await _describe_kip848(cluster, node, [name for name in chunk if groups[name].type == "consumer"], groups)
            await fetch_committed(cluster, node, chunk, groups)
        except Dead as dead:
            for name in chunk:
                groups[name].error = f"its coordinator {cluster.name(node)} cannot be asked: {_says(dead)}"


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
            group.error = _error(cluster, described.error_code)
            continue
        group.state, group.protocol_type = described.group_state, described.protocol_type
        if group.state == "Dead":
            group.error = ERRORS[69]
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
            group.error = _error(cluster, described.error_code)
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
            group.error = group.error or _error(cluster, one.error_code)
        for topic in one.topics:
            for partition in topic.partitions:
                place = (topic.name, partition.partition_index)
                group.committed[place] = partition.committed_offset if partition.committed_offset >= 0 else None
                if partition.error_code:
                    group.refused[place] = _error(cluster, partition.error_code)


async def _fetch_committed_of_one(cluster: Cluster, node: int, name: str) -> Any:
    """The same before Kafka 3.0: one group per request."""
    return await cluster.ask(node, OffsetFetchRequest, "OffsetFetch", newest=7, group_id=name, topics=None, require_stable=False)


# Where the logs begin and end -------------------------------------------------------------------------------------------


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
            for chunk in _chunks(places, PARTITIONS_PER_REQUEST):
                for column, timestamp, isolation in ends_to_ask:
                    await _list_offsets(cluster, node, chunk, timestamp, isolation, column, ends)
        except Dead as dead:
            for place in places:
                ends[place].error = ends[place].error or f"its leader {cluster.name(node)} cannot be asked: {_says(dead)}"
            problems.append(f"log ends of {len(places)} partitions led by {cluster.name(node)} are unknown: {_says(dead)}")

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
                end.error = _error(cluster, partition.error_code)
            else:
                setattr(end, column, partition.offset)


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


def _says(dead: Dead) -> str:
    return f"{dead.state}, {dead.why}" if dead.state else dead.why


def _error(cluster: Cluster, code: int) -> str:
    return ERRORS.get(code, f"error {code}").replace("{who}", cluster.sight.who)


def _chunks(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    return (items[i : i + size] for i in range(0, len(items), size))
