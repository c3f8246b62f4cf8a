"""Answers about log directories, reassignments, the quorum and quotas, as brokers of several versions give them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.admin.client_quotas import DescribeClientQuotasResponse
from kafka.protocol.admin.cluster import DescribeLogDirsResponse, DescribeQuorumResponse
from kafka.protocol.admin.topics import ListPartitionReassignmentsResponse

from analyzers.tables import MEMBERS, PARTITIONS
from cli.collectors.kafka_operations import Move, Operations, ask_operations, with_moves
from cli.collectors.kafka_permissions import Sight
from cli.collectors.kafka_quotas import ask_quotas
from cli.collectors.kafka_session import Dead, now

HUNG = Dead("hung", "accepts the connection, no answer to DescribeLogDirs in 4.0 s")
TOO_OLD = Dead(None, "the broker is too old for it", lives=True)


class Brokers:
    """Stands for a cluster of brokers 1 and 2 that give prepared answers, by request and, where there are several, by broker."""

    def __init__(self, answers: Mapping[Any, Any]) -> None:
        self.answers, self.as_of, self.silent, self.sight = answers, now(), {}, Sight("diag", frozenset())
        self.brokers = {1: SimpleNamespace(host="kafka-1", port=9092), 2: SimpleNamespace(host="kafka-2", port=9092)}
        self.metadata = SimpleNamespace(controller=1)

    def name(self, node: int) -> str:
        return f"broker {node}"

    async def ask(self, node: int, request: Any, name: str, **_: Any) -> Any:
        answer = self.answers.get((name, node), self.answers.get(name, TOO_OLD))
        if isinstance(answer, Dead):
            raise answer
        return answer

    async def ask_first(self, request: Any, name: str, **fields: Any) -> Any:
        return await self.ask(2, request, name, **fields)


def operations(answers: Mapping[Any, Any]) -> Operations:
    return asyncio.run(ask_operations(Brokers(answers)))  # type: ignore[arg-type]  # it has what is asked of it


def log_dirs(version: int, *dirs: Any, **more: Any) -> Any:
    return DescribeLogDirsResponse[version](throttle_time_ms=0, results=list(dirs), **more)


def log_dir(path: str, code: int = 0, **sizes: int) -> Any:
    of = DescribeLogDirsResponse.DescribeLogDirsResult
    topic = of.DescribeLogDirsTopic
    held = [(0, 100, False), (1, 50, False), (2, 30, True)]
    partitions = [topic.DescribeLogDirsPartition(partition_index=n, partition_size=s, offset_lag=0, is_future_key=f) for n, s, f in held]
    return of(error_code=code, log_dir=path, topics=[] if code else [topic(name="orders", partitions=partitions)], **sizes)


def test_log_directories_with_one_offline_and_one_broker_that_hangs() -> None:
    first = log_dirs(4, log_dir("/b", 56, total_bytes=-1, usable_bytes=-1), log_dir("/a", total_bytes=1000, usable_bytes=300), error_code=0)
    found = operations({("DescribeLogDirs", 1): first, ("DescribeLogDirs", 2): HUNG})
    columns = ("broker", "path", "state", "total_bytes", "usable_bytes", "replicas", "size_bytes", "moving_replicas")
    assert [tuple(row[c] for c in columns) for row in found.log_dirs] == [
        (1, "/a", "ok", 1000, 300, 2, 180, 1),
        (1, "/b", "offline", None, None, None, None, None),
        (2, None, "unknown", None, None, None, None, None),
    ]
    assert found.log_dirs[1]["why"] == "KAFKA_STORAGE_ERROR: the log directory is offline"
    assert found.log_dirs[2]["why"] == HUNG.says


@pytest.mark.parametrize("answer", [log_dirs(4, error_code=31), log_dirs(1)], ids=["said", "before version 3: nothing"])
def test_log_directories_that_this_user_may_not_see(answer: Any) -> None:
    found = operations({"DescribeLogDirs": answer})
    assert found.log_dirs == []
    assert found.absent["log_dirs"].startswith("User:diag needs DESCRIBE – grant: kafka-acls")
    assert found.absent["log_dirs"].endswith("--operation Describe --cluster")


def quorum(version: int, voters: list[tuple[int, int, int]], **more: Any) -> Any:
    of = DescribeQuorumResponse.TopicData.PartitionData
    stamped = version > 0

    def replica(node: int, end: int, caught_up: int) -> Any:
        times = {"last_fetch_timestamp": caught_up, "last_caught_up_timestamp": caught_up} if stamped else {}
        return of.ReplicaState(replica_id=node, log_end_offset=end, **times)

    state = of(
        partition_index=0, error_code=0, leader_id=101, leader_epoch=7, high_watermark=90,
        current_voters=[replica(*each) for each in voters], observers=[replica(1, 80, 1_000_000)],
    )  # fmt: skip
    topic = DescribeQuorumResponse.TopicData(topic_name="__cluster_metadata", partitions=[state])
    return DescribeQuorumResponse[version](error_code=0, topics=[topic], **more)


def test_the_quorum_is_measured_by_its_leaders_clock() -> None:
    found = operations({"DescribeQuorum": quorum(1, [(101, 100, 1_090_000), (102, 40, 1_000_000), (103, -1, -1)])})
    seen = [(row["node"], row["role"], row["log_end_offset"], row["lag_offsets"], row["behind_seconds"]) for row in found.quorum]
    assert seen == [
        (101, "leader", 100, 0, 0.0), (102, "voter", 40, 60, 90.0), (103, "voter", None, None, None), (1, "observer", 80, 20, 90.0),
    ]  # fmt: skip


def test_a_quorum_without_time_stamps_has_no_seconds() -> None:
    found = operations({"DescribeQuorum": quorum(0, [(101, 100, 0), (102, 40, 0)])})
    assert [(row["lag_offsets"], row["behind_seconds"], row["last_caught_up_at"]) for row in found.quorum[:2]] == [
        (0, None, None),
        (60, None, None),
    ]


def test_a_cluster_without_a_quorum_says_so() -> None:
    found = operations({})
    assert found.absent["metadata_quorum"] == "this cluster has no KRaft quorum, or is too old to describe it"
    assert found.moves is None


def test_a_controller_that_dies_is_replaced_by_the_broker_that_answered_first() -> None:
    found = operations({("DescribeQuorum", 1): Dead("refused", "refused"), ("DescribeQuorum", 2): quorum(1, [(101, 100, 1)])})
    assert [row["node"] for row in found.quorum] == [101, 1]


def test_a_replica_that_is_only_being_added_is_not_missing() -> None:
    of = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    moving = [
        of.OngoingPartitionReassignment(partition_index=n, replicas=[1, 2, 3], adding_replicas=[3], removing_replicas=[1]) for n in (0, 1)
    ]
    answer = ListPartitionReassignmentsResponse[0](
        throttle_time_ms=0, error_code=0, error_message=None, topics=[of(name="orders", partitions=moving)]
    )
    found = operations({"ListPartitionReassignments": answer})
    assert found.moves == {("orders", n): Move((3,), (1,)) for n in (0, 1)}
    short = {"topic": "orders", "replicas": ["1", "2", "3"], "state": "under-replicated"}
    rows = [PARTITIONS.row({**short, "partition": n, "isr": isr}) for n, isr in ((0, ["1", "2"]), (1, ["2"]), (2, ["1", "2"]))]
    with_moves(rows, found.moves)
    assert [(row["state"], row["adding"], row["removing"]) for row in rows] == [
        ("ok", ["3"], ["1"]), ("under-replicated", ["3"], ["1"]), ("under-replicated", [], []),
    ]  # fmt: skip


def test_quotas_are_those_that_may_be_for_a_member() -> None:
    of = DescribeClientQuotasResponse.EntryData

    def entry(**entity: str | None) -> Any:
        parts = [of.EntityData(entity_type=kind.replace("_", "-"), entity_name=name) for kind, name in entity.items()]
        return of(
            entity=parts, values=[of.ValueData(key="consumer_byte_rate", value=1024.0), of.ValueData(key="producer_byte_rate", value=1.0)]
        )

    entries = [
        entry(client_id="reader"),
        entry(client_id=None),
        entry(client_id="other"),
        entry(user="eve", client_id="reader"),
        entry(ip="10.0.0.1"),
    ]
    answer = DescribeClientQuotasResponse[1](throttle_time_ms=0, error_code=0, error_message=None, entries=entries)
    members = [MEMBERS.row({"group": "g", "client": "reader"}), MEMBERS.row({"group": "h", "client": "else"})]
    rows, why = asyncio.run(ask_quotas(Brokers({"DescribeClientQuotas": answer}), members))  # type: ignore[arg-type]  # as above
    assert why is None
    assert [(row["user"], row["client_id"], row["key"], row["groups"]) for row in rows] == [
        (None, "<default>", "consumer_byte_rate", ["h"]),
        (None, "reader", "consumer_byte_rate", ["g"]),
        ("eve", "reader", "consumer_byte_rate", ["g"]),
    ]
    refused = DescribeClientQuotasResponse[1](throttle_time_ms=0, error_code=31, error_message=None, entries=None)
    rows, why = asyncio.run(ask_quotas(Brokers({"DescribeClientQuotas": refused}), members))  # type: ignore[arg-type]  # as above
    assert (rows, why is not None and "needs DESCRIBE_CONFIGS" in why) == ([], True)
