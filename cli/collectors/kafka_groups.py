"""Consumer groups and what they committed; groups without members (assign(): Flink, Spark, Beam) included.

Each broker lists the groups that it coordinates, all brokers at once, over our own connections: librdkafka would not name the one that is
silent, and lists no groups of other kinds. One that does not answer makes its groups unknown, by name, and nothing else.
"""

from __future__ import annotations

import asyncio
import shlex
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.admin.groups import ListGroupsRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from analyzers.tables import COMMITTED_OFFSETS, GROUPS, LOG_OFFSETS, MEMBERS, SHARE_OFFSETS, Row
from analyzers.tables.memory import gc_paused
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_errors import error_says
from cli.collectors.kafka_group import Group
from cli.collectors.kafka_leaders import TopicPartition
from cli.collectors.kafka_log_ends import LogEnds, ask_log_ends
from cli.collectors.kafka_other_groups import ask_epochs, describe_others
from cli.collectors.kafka_session import Dead

OFFSETS = "__consumer_offsets"


@dataclass
class GroupAnswers:
    """Rows of five tables; `problems`: what stayed unknown, in sentences; `listed`: ids of all groups; `found`: the wanted ones.

    `gaps` earlier samples had problems, those of the last of them in `last_gap`. `unlisted`: the first of `problems`, about groups that
    could not be listed or found.
    """

    groups: list[Row] = field(default_factory=list)
    members: list[Row] = field(default_factory=list)
    committed_offsets: list[Row] = field(default_factory=list)
    share_offsets: list[Row] = field(default_factory=list)
    log_offsets: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    found: dict[str, Group] = field(default_factory=dict)
    gaps: int = 0
    last_gap: list[str] = field(default_factory=list)
    epochs: bool = False
    unlisted: list[str] = field(default_factory=list)

    @property
    def passed(self) -> list[str]:
        """What was unknown in earlier samples only, in a sentence: the last one is whole again, and the series has a gap."""
        if len(self.problems) > len(self.unlisted) or not self.gaps:
            return []
        samples = "one earlier sample was" if self.gaps == 1 else f"{self.gaps} earlier samples were"
        return [f"{samples} not whole, the last is: {'; '.join(sorted(set(self.last_gap))[:3])}"]


async def ask_groups(
    cluster: Cluster,
    wants_group: Callable[[str], bool],
    named: Collection[str],
    wants_topic: Callable[[str], bool],
    *,
    epochs: bool = False,
    others: bool = True,
) -> GroupAnswers:
    """Everything about the groups that `wants_group` takes; with `epochs` those of groups and members, too.

    `named` are group ids asked for by name: they are looked up even when no broker lists them. `others`: more than these are wanted.
    """
    answers = GroupAnswers(epochs=epochs)
    groups = await _list(cluster, answers.problems)
    if others:
        answers.problems += [
            f"groups coordinated by the leader of {OFFSETS}-{number} are unknown: {cluster.leaderless(OFFSETS, number)}"
            for topic, number in sorted(cluster.leaders)
            if topic == OFFSETS and cluster.leaderless(OFFSETS, number)
        ]
    answers.listed = sorted(groups)
    groups = {name: group for name, group in groups.items() if wants_group(name)}
    await _find(cluster, [name for name in named if name not in groups], groups, answers.problems)
    answers.found, answers.unlisted = groups, list(answers.problems)
    with gc_paused():
        await _look(cluster, groups, wants_topic, answers)
    return answers


async def ask_again(cluster: Cluster, before: GroupAnswers, wants_topic: Callable[[str], bool]) -> None:
    """One more sample of the groups that `before` holds; its rows are added, and its problems take the place of the earlier ones, but for
    those of groups that the first sample could not list: they are looked at by none.

    Coordinators are looked up anew: after a failover the group is with another broker.
    """
    passing = before.problems[len(before.unlisted) :]
    before.gaps += bool(passing)
    before.last_gap = passing or before.last_gap
    before.problems = list(before.unlisted)
    listed = await _list(cluster, [])
    groups = {}
    for name, was in before.found.items():
        now = listed.get(name, was)
        groups[name] = Group(now.coordinator, now.type, now.protocol_type, now.state)
    if any(group.coordinator != before.found[name].coordinator for name, group in groups.items()):
        cluster.renew_library()
    before.found = groups
    with gc_paused():
        await _look(cluster, groups, wants_topic, before)


async def _look(cluster: Cluster, groups: dict[str, Group], wants_topic: Callable[[str], bool], answers: GroupAnswers) -> None:
    await ask_members_and_commits(cluster, groups)
    if answers.epochs:
        await ask_epochs(cluster, groups)
    numbers = {topic.name: [partition.partition_index for partition in topic.partitions] for topic in cluster.topics}
    for group in groups.values():
        # a partition that is read and was never committed belongs into the report: its lag is unknown, not 0
        places = [*group.committed, *(tp for member in group.members for tp in member["assigned"])]
        if not group.members and group.error is None and group.type != "share":
            # nobody says what is read: of a topic with a commit, all partitions may be
            topics = {topic for (topic, _), offset in group.committed.items() if offset is not None}
            places += [(topic, number) for topic in sorted(topics) for number in numbers.get(topic, ())]
        group.committed = {tp: group.committed.get(tp) for tp in places if wants_topic(tp[0]) and group.type != "share"}
        group.shared = {tp: where for tp, where in group.shared.items() if wants_topic(tp[0])}
    missing = {topic for group in groups.values() for topic, _ in group.committed} - numbers.keys()
    for topic in await cluster.refused_topics(sorted(missing)):
        own = ", ".join(name for name, group in sorted(groups.items()) if any(place[0] == topic for place in group.committed))
        answers.problems.append(f"group {own} reads topic {topic}: {cluster.sight.needs('DESCRIBE', '--topic ' + shlex.quote(topic))}")
    ends = await ask_log_ends(cluster, {tp for group in groups.values() for tp in group.committed}, answers.problems)
    answers.log_offsets += [_row(LOG_OFFSETS, cluster, {"at": cluster.as_of} | _place(tp) | ends[tp].columns()) for tp in sorted(ends)]
    failed: dict[str, list[str]] = defaultdict(list)
    for name, group in sorted(groups.items()):
        _report(cluster, name, group, ends, answers)
        if group.error:
            failed[group.error].append(name)
    for error, names in failed.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        answers.problems.append(f"group{'s' * (len(names) > 1)} {', '.join(names[:3])}{more}: {error}")


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
    """Groups that were named but that no broker lists: with a coordinator that does not answer, or not there at all.

    A broker that is asked for a coordinator creates the topic of the commits where there is none: then none is asked.
    """
    if missing and await cluster.lacks(OFFSETS):
        problems += [f"group {name}: no broker has it: there is no topic {OFFSETS}, no group has ever committed here" for name in missing]
        return
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
                    why = _without_coordinator(cluster, name) or error_says(answer.error_code, cluster.sight)
                    problems.append(f"group {name}: its coordinator is unknown: {why}")
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


def _without_coordinator(cluster: Cluster, group: str) -> str | None:
    """Which partition of the commits holds those of `group`, where that has no leader."""
    partitions = sum(topic == OFFSETS for topic, _ in cluster.leaders)
    if not partitions:
        return None
    number = coordinated_by(group, partitions)
    why = cluster.leaderless(OFFSETS, number)
    return f"its commits are on {OFFSETS}-{number}, and {why}" if why else None


def coordinated_by(group: str, partitions: int) -> int:
    """The partition of ``__consumer_offsets`` that holds the commits of `group`: Java's hash of its id, without the sign."""
    units, code = group.encode("utf-16-be", "surrogatepass"), 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return (code & 0x7FFFFFFF) % partitions


async def ask_members_and_commits(cluster: Cluster, groups: Mapping[str, Group]) -> None:
    """Members and committed offsets of those `groups` whose coordinator can be reached."""
    for group in groups.values():
        if group.type not in KNOWN_TYPES:
            group.error = group.error or f"this diag does not know groups of type {group.type}"

    async def reach(node: int) -> None:
        try:
            await cluster.reach(node)
        except Dead as dead:
            for group in groups.values():
                if group.coordinator == node:
                    group.error = group.error or f"its coordinator {cluster.name(node)} cannot be asked: {dead.says}"

    await asyncio.gather(*(reach(node) for node in sorted({group.coordinator for group in groups.values()})))
    asked = [name for name in sorted(groups) if groups[name].error is None]
    others = [
        name for name in asked if groups[name].protocol_type not in (None, "", "consumer") or groups[name].type in ("share", "streams")
    ]
    committing = [name for name in asked if groups[name].type != "share"]
    told: set[tuple[str, str]] = set()

    def take(row: dict[str, Any]) -> None:
        _take(row, groups[row["group"]], cluster)
        told.add((row["group"], "committed" if "committed" in row else "described"))

    described = [name for name in asked if name not in others]

    async def ask_library() -> str:
        return await cluster.ask_library("groups", take, keep=_FOR_LOG_ENDS, groups=committing, described=described) if committing else ""

    missing, _ = await asyncio.gather(ask_library(), describe_others(cluster, others, groups))
    for name in committing:
        if (name, "committed") not in told or (name in described and (name, "described") not in told):
            group = groups[name]
            group.error = group.error or f"its coordinator {cluster.name(group.coordinator)} cannot be asked: {missing}"


_FOR_LOG_ENDS = 0.25  # of the time: the second question that a lag consists of
KNOWN_TYPES = frozenset({"classic", "consumer", "share", "streams"})

# ConsumerGroupState of librdkafka, as brokers spell it; those of KIP-848 that it does not know stay as they were listed
_STATES: Mapping[str, str] = {
    "STABLE": "Stable", "EMPTY": "Empty", "DEAD": "Dead",
    "PREPARING_REBALANCING": "PreparingRebalance", "COMPLETING_REBALANCING": "CompletingRebalance",
}  # fmt: skip
_NO_SUCH_GROUP = 69


def _take(row: Mapping[str, Any], group: Group, cluster: Cluster) -> None:
    """Note what librdkafka received about `group`: its committed offsets, or its members."""
    if row["error"]:
        code, words = row["error"]
        group.state = "Dead" if code == _NO_SUCH_GROUP else group.state
        group.error = group.error or error_says(code, cluster.sight, words)
    elif "committed" in row:
        for topic, partition, offset, error in row["committed"]:
            group.committed[topic, partition] = offset  # None is no commit: an expired or deleted one
            if error:
                group.refused[topic, partition] = error_says(error[0], cluster.sight, error[1])
    else:
        described = row["described"]
        group.state = _STATES.get(described["state"], group.state)
        if group.state == "Dead":
            group.error = error_says(_NO_SUCH_GROUP, cluster.sight)
            return
        if group.protocol_type is None:  # looked up by name: no broker has listed it
            group.protocol_type = "" if described["simple"] else "consumer"
        group.assignor = described.get("assignor")
        group.members = [
            member | {"host": member["host"].lstrip("/"), "assigned": [(topic, number) for topic, number in member["assigned"]]}
            for member in described["members"]
        ]


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
            "error": group.error, "members": None if group.error else len(group.members), "assignor": group.assignor, "epoch": group.epoch,
            "assignment_epoch": group.assignment_epoch,
        })
    )  # fmt: skip
    owners: dict[TopicPartition, dict[str, Any]] = {}
    for member in group.members:
        owners.update(dict.fromkeys(member["assigned"], member))
        assigned = [f"{topic}-{partition}" for topic, partition in member["assigned"]]
        answers.members.append(_row(MEMBERS, cluster, {"group": name} | member | {"assigned": assigned}))
    for place, shared in sorted(group.shared.items()):
        values = {"start_offset": shared.start, "lag_records": shared.lag, "error": shared.error}
        answers.share_offsets.append(_row(SHARE_OFFSETS, cluster, {"at": cluster.as_of, "group": name} | _place(place) | values))
    head = _row(COMMITTED_OFFSETS, cluster, {"at": cluster.as_of, "group": name})
    for place, committed in sorted(group.committed.items()):
        end, owner = ends[place], owners.get(place, _NOBODY)
        answers.committed_offsets.append({
            **head, "topic": place[0], "partition": place[1], "committed": committed, "log_start": end.log_start,
            "last_stable": end.last_stable, "high_watermark": end.high_watermark, "lag_records": lag(committed, end),
            "member": owner.get("member"), "client": owner.get("client"), "host": owner.get("host"),
            "error": group.refused.get(place) or end.error,
        })  # fmt: skip


_NOBODY: Mapping[str, Any] = {}


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
    row: Row = table.row({"scope": "", "as_of": cluster.as_of, **values})
    return row
