"""What a cluster is busy with beside serving: log directories, replicas that move, the quorum of its controllers. Read-only requests.

librdkafka has no call for any of these, so our own sessions ask: log directories each broker, the rest one of them. All of it needs
DESCRIBE on the cluster; without that it is absent, for one reason, and everything else is judged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.admin.cluster import DescribeLogDirsRequest, DescribeQuorumRequest
from kafka.protocol.admin.topics import ListPartitionReassignmentsRequest

from analyzers.tables import LOG_DIRS, METADATA_QUORUM, Row
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_errors import CLUSTER_AUTHORIZATION_FAILED, error_says
from cli.collectors.kafka_session import Dead, moment

_STORAGE_ERROR = 56
_METADATA_TOPIC = "__cluster_metadata"

Place = tuple[str, int]


@dataclass(frozen=True)
class Move:
    """Replicas that a reassignment adds and removes."""

    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass
class Operations:
    """Rows of ``log_dirs`` and ``metadata_quorum``, `absent`: why one is not there; `moves` None where reassignments are unknown."""

    log_dirs: list[Row] = field(default_factory=list)
    quorum: list[Row] = field(default_factory=list)
    moves: Mapping[Place, Move] | None = None
    absent: dict[str, str] = field(default_factory=dict)


async def ask_operations(cluster: Cluster) -> Operations:
    """All of it at once."""
    found = Operations()
    await asyncio.gather(_ask_log_dirs(cluster, found), _ask_quorum(cluster, found), _ask_moves(cluster, found))
    return found


def _refused(cluster: Cluster, code: int, words: str | None = None) -> str | None:
    if code == CLUSTER_AUTHORIZATION_FAILED:
        return cluster.sight.needs("DESCRIBE", "--cluster")
    return error_says(code, cluster.sight, words) if code else None


async def _ask_log_dirs(cluster: Cluster, found: Operations) -> None:
    refusals: list[str] = []

    async def one(node: int) -> None:
        head = {"scope": "", "as_of": cluster.as_of, "broker": node}
        try:
            answer = await cluster.ask(node, DescribeLogDirsRequest, "DescribeLogDirs", newest=5, topics=None)
        except Dead as dead:
            if dead.state == "hung":  # the probe has just called it alive: a disk that hangs looks like this
                found.log_dirs.append(LOG_DIRS.row({**head, "state": "unknown", "why": dead.says}))
            else:
                refusals.append(f"{cluster.name(node)}: {dead.says}")
            return
        # before version 3 a refusal is an empty answer
        code = getattr(answer, "error_code", None) or (0 if answer.results else CLUSTER_AUTHORIZATION_FAILED)
        if why := _refused(cluster, code):
            refusals.append(why)
            return
        found.log_dirs.extend(LOG_DIRS.row({**head, **_log_dir(result, cluster)}) for result in answer.results)

    await asyncio.gather(*(one(node) for node in cluster.brokers))
    found.log_dirs.sort(key=lambda row: (row["broker"], row["path"] or ""))
    if refusals and not found.log_dirs:
        found.absent["log_dirs"] = sorted(refusals)[0]


def _log_dir(result: Any, cluster: Cluster) -> dict[str, Any]:
    replicas = [replica for topic in result.topics for replica in topic.partitions]
    total, usable = getattr(result, "total_bytes", None), getattr(result, "usable_bytes", None)
    code = result.error_code
    return {
        "path": result.log_dir,
        "state": "offline" if code == _STORAGE_ERROR else "unknown" if code else "ok",
        "why": error_says(code, cluster.sight) if code else None,
        "total_bytes": total if total is not None and total >= 0 else None,  # Kafka 3.3
        "usable_bytes": usable if usable is not None and usable >= 0 else None,
        "replicas": None if code else sum(not replica.is_future_key for replica in replicas),
        "size_bytes": None if code else sum(replica.partition_size for replica in replicas),
        "moving_replicas": None if code else sum(replica.is_future_key for replica in replicas),
    }


async def _ask_one(cluster: Cluster, request: Any, name: str, **fields: Any) -> Any:
    """The answer of the controller that the metadata name, which ZooKeeper clusters want; else of the broker that answered first."""
    controller = cluster.metadata.controller
    if controller is not None and controller in cluster.brokers and controller not in cluster.silent:
        try:
            return await cluster.ask(controller, request, name, **fields)
        except Dead as dead:
            if dead.lives:
                raise
    return await cluster.ask_first(request, name, **fields)


async def _ask_quorum(cluster: Cluster, found: Operations) -> None:
    topic = DescribeQuorumRequest.TopicData
    asked = [topic(topic_name=_METADATA_TOPIC, partitions=[topic.PartitionData(partition_index=0)])]
    try:
        answer = await _ask_one(cluster, DescribeQuorumRequest, "DescribeQuorum", newest=2, topics=asked)
    except Dead as dead:
        found.absent["metadata_quorum"] = "this cluster has no KRaft quorum, or is too old to describe it" if dead.lives else dead.says
        return
    states = [state for topic in answer.topics for state in topic.partitions]
    code = answer.error_code or next((state.error_code for state in states if state.error_code), 0)
    if (why := _refused(cluster, code, getattr(answer, "error_message", None))) or not states:
        found.absent["metadata_quorum"] = why or "no broker described it"
        return
    state = states[0]
    addresses = {
        node.node_id: f"{node.listeners[0].host}:{node.listeners[0].port}"
        for node in getattr(answer, "nodes", None) or ()
        if node.listeners
    }
    leader = next((voter for voter in state.current_voters if voter.replica_id == state.leader_id), None)
    for role, replicas in (("voter", state.current_voters), ("observer", state.observers)):
        for replica in sorted(replicas, key=lambda replica: replica.replica_id):
            values = {
                "scope": "", "as_of": cluster.as_of, "node": replica.replica_id, "address": addresses.get(replica.replica_id),
                "role": "leader" if replica is leader else role, "leader_epoch": state.leader_epoch,
                **_behind(replica, leader),
            }  # fmt: skip
            found.quorum.append(METADATA_QUORUM.row(values))


def _behind(replica: Any, leader: Any) -> dict[str, Any]:
    """How far `replica` is behind the `leader`, all by the leader's clock: no clock of this host is compared."""
    end = replica.log_end_offset if replica.log_end_offset >= 0 else None
    caught_up, now = getattr(replica, "last_caught_up_timestamp", -1), getattr(leader, "last_caught_up_timestamp", -1)
    lag = None if leader is None or end is None else max(0, leader.log_end_offset - end)
    return {
        "log_end_offset": end,
        "lag_offsets": lag,
        "last_fetch_at": moment(getattr(replica, "last_fetch_timestamp", -1)),
        "last_caught_up_at": moment(caught_up),
        "behind_seconds": round(max(0, now - caught_up) / 1000, 1) if caught_up >= 0 and now >= 0 else None,
    }


async def _ask_moves(cluster: Cluster, found: Operations) -> None:
    try:
        answer = await _ask_one(
            cluster, ListPartitionReassignmentsRequest, "ListPartitionReassignments", newest=0, timeout_ms=10_000, topics=None
        )
    except Dead:
        return
    if not answer.error_code:
        found.moves = {
            (topic.name, moving.partition_index): Move(tuple(moving.adding_replicas), tuple(moving.removing_replicas))
            for topic in answer.topics
            for moving in topic.partitions
        }


def with_moves(partitions: Sequence[Row], moves: Mapping[Place, Move] | None) -> None:
    """Fill ``adding`` and ``removing``. A replica that is only being added is not missing: then its partition is not under-replicated.

    As Kafka's own tools and metrics count: in-sync replicas against those of before the reassignment.
    """
    for row in partitions:
        if moves is None:
            continue
        move = moves.get((row["topic"], row["partition"]), _NO_MOVE)
        row["adding"], row["removing"] = [str(node) for node in move.adding], [str(node) for node in move.removing]
        if move.adding and row["state"] == "under-replicated" and len(row["isr"]) >= len(row["replicas"]) - len(move.adding):
            row["state"] = "ok"


_NO_MOVE = Move((), ())
