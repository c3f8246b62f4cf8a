"""Topics as the cluster shows them: the state of each partition, and the settings that decide about its records."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from analyzers.budget import BUDGET
from analyzers.tables import PARTITIONS, TOPIC_CONFIGS, Row
from cli.collectors.kafka_cluster import TOPIC_AUTHORIZATION_FAILED, Cluster

MIN_ISR = "min.insync.replicas"
MOST_TOPICS = BUDGET.kafka_topics


async def min_isr_rows(cluster: Cluster, named: Collection[str] = ()) -> list[Row]:
    """Rows of ``topic_configs`` with min.insync.replicas, of `named` topics and of those that miss a replica first.

    Empty where this user may not see it (DESCRIBE_CONFIGS on the topic), or nobody answers.
    """

    def waits(topic: Any) -> bool:
        return not (topic.name in named or any(len(p.isr_nodes) < len(p.replica_nodes) for p in topic.partitions))

    names = [topic.name for topic in sorted(cluster.topics, key=waits) if topic.name][:MOST_TOPICS]
    rows, _, _ = await topic_configs(cluster, names, [MIN_ISR])
    return rows


async def topic_configs(cluster: Cluster, topics: Sequence[str], keys: Sequence[str]) -> tuple[list[Row], list[str], str | None]:
    """Rows of ``topic_configs``, the topics hidden from this user, and why others have none (None: all have)."""
    rows: list[Row] = []
    refused: list[str] = []
    told: set[str] = set()

    def take(answer: dict[str, Any]) -> None:
        told.add(answer["topic"])
        if answer["error"] and answer["error"][0] == TOPIC_AUTHORIZATION_FAILED:
            refused.append(answer["topic"])
        head = {"scope": "", "as_of": cluster.as_of, "topic": answer["topic"]}
        rows.extend(TOPIC_CONFIGS.row({**head, "key": key, "value": value}) for key, value in answer["configs"].items())

    node = await cluster.any_broker() if topics else None
    if node is None:
        return [], [], "no broker can be reached" if topics else None
    missing = await cluster.ask_library("configs", take, topics=list(topics), keys=list(keys), broker=node)
    return rows, refused, None if told.issuperset(topics) else missing


def partition_rows(cluster: Cluster, dead_brokers: Mapping[int, str]) -> list[Row]:
    """Rows of ``partitions``, by topic and number. `dead_brokers` are kinds of death by node id, from the probe.

    A partition is leaderless when the metadata name no leader or one that left (as ``kafka-topics --unavailable-partitions``); its leader
    is unreachable when the cluster believes in it and this host cannot talk to it: a black-holed broker whose own connections work stays
    leader.
    """
    rows = []
    members = frozenset(cluster.brokers)
    empty = PARTITIONS.row({"scope": "", "as_of": cluster.as_of})
    for topic in cluster.topics:
        of_topic = {**empty, "topic": topic.name, "topic_id": _spelled(getattr(topic, "topic_id", None))}
        for partition in topic.partitions:
            leader = partition.leader_id if partition.leader_id in members else None
            offline = [node for node in partition.replica_nodes if node not in members]
            if leader is None:
                state = "leaderless"
            elif leader in dead_brokers:
                state = "leader-unreachable"
            else:
                state = "under-replicated" if len(partition.isr_nodes) < len(partition.replica_nodes) else "ok"
            nodes = {"replicas": partition.replica_nodes, "isr": partition.isr_nodes, "offline": offline}
            lists = {key: [str(node) for node in listed] for key, listed in nodes.items()}
            rows.append({**of_topic, "partition": partition.partition_index, "leader": leader, "state": state, **lists})
    return sorted(rows, key=lambda row: (str(row["topic"]), int(row["partition"])))


def _spelled(topic_id: uuid.UUID | None) -> str | None:
    """As Kafka's own tools print it: base64 for URLs without padding; None where the broker is too old to have one (before 2.8)."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=") if topic_id else None
