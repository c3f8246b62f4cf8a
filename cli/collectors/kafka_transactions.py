"""The transaction that holds a last stable offset: which producer, since when, and does its coordinator still know it? Looks only."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from kafka.protocol.admin.transactions import DescribeProducersRequest, DescribeTransactionsRequest, ListTransactionsRequest

from analyzers.tables import OPEN_TRANSACTIONS, TRANSACTIONAL_IDS, Row
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_errors import error_says
from cli.collectors.kafka_session import Dead, moment

_ENDED = frozenset({"Empty", "CompleteCommit", "CompleteAbort", "Dead"})
"""States in which a coordinator knows of no open transaction: a partition that has one all the same is hanging (KIP-664)."""
_NOT_COORDINATOR, _NOT_FOUND, _REFUSED = 16, 105, 53
_IDS_AT_ONCE = 500


async def open_transactions(cluster: Cluster, producers: Mapping[tuple[str, int], tuple[int, int]]) -> list[Row]:
    """Rows of ``open_transactions``. `producers`: by topic and partition the last stable offset and the producer id of its first batch."""
    if not producers:
        return []
    known, unasked = await _listed(cluster, sorted({producer for _, producer in producers.values()}))
    # the leaders last: what they still hold open after its coordinator has forgotten it is not a transaction that ends just now
    described = await _active(cluster, list(producers))
    rows = []
    for (topic, partition), (offset, producer) in sorted(producers.items()):
        at_leader = described.get((topic, partition, producer))
        transaction = known.get(producer, {})
        error = None if transaction or not unasked else f"not every coordinator could be asked: {'; '.join(unasked)}"
        if at_leader is not None and at_leader.current_txn_start_offset != offset:
            error = "it ended while it was looked at"
        values = {
            "scope": "", "as_of": cluster.as_of, "topic": topic, "partition": partition, "offset": offset, "producer": producer,
            "producer_epoch": getattr(at_leader, "producer_epoch", None),
            "coordinator_epoch": getattr(at_leader, "coordinator_epoch", None), "error": error,
        }  # fmt: skip
        rows.append(OPEN_TRANSACTIONS.row(values | transaction))
    return rows


async def _active(cluster: Cluster, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int, int], Any]:
    """What the leaders of `places` know of their producers, by topic, partition and producer id."""
    by_leader: dict[int, dict[str, list[int]]] = {}
    for topic, partition in places:
        by_leader.setdefault(cluster.leaders.get((topic, partition), -1), {}).setdefault(topic, []).append(partition)
    found: dict[tuple[str, int, int], Any] = {}

    async def one(node: int, topics: Mapping[str, list[int]]) -> None:
        of_topic = DescribeProducersRequest.TopicRequest
        asked = [of_topic(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
        try:
            answer = await cluster.ask(node, DescribeProducersRequest, "DescribeProducers", newest=0, topics=asked)
        except Dead:
            return  # the log ends already say that this leader is silent
        for topic in answer.topics:
            for partition in topic.partitions:
                for producer in partition.active_producers:
                    found[topic.name, partition.partition_index, producer.producer_id] = producer

    await asyncio.gather(*(one(node, topics) for node, topics in by_leader.items()))
    return found


async def _listed(cluster: Cluster, producers: Sequence[int]) -> tuple[dict[int, dict[str, Any]], list[str]]:
    """What the coordinators know of the transactions of `producers`, by producer id; and which could not be asked, in words."""
    found: dict[int, dict[str, Any]] = {}
    unasked: list[str] = []

    async def one(node: int) -> None:
        try:
            listed = await cluster.ask(
                node, ListTransactionsRequest, "ListTransactions", newest=0, state_filters=[], producer_id_filters=list(producers)
            )
            ids = [state.transactional_id for state in listed.transaction_states]
            if listed.error_code:
                unasked.append(f"{cluster.name(node)} answers with error {listed.error_code}")
            if not ids:
                return
            answer = await cluster.ask(node, DescribeTransactionsRequest, "DescribeTransactions", newest=0, transactional_ids=ids)
        except Dead as dead:
            unasked.append(f"{cluster.name(node)}: {dead.why}")
            return
        for state in answer.transaction_states:
            if not state.error_code:
                found[state.producer_id] = {
                    "transactional_id": state.transactional_id,
                    "state": None if state.transaction_state in _ENDED else state.transaction_state,
                    "started_at": moment(state.transaction_start_time_ms),
                    "timeout_ms": state.transaction_timeout_ms,
                }

    await asyncio.gather(*(one(node) for node in cluster.brokers))
    return found, unasked


async def transactional_ids(cluster: Cluster, ids: Sequence[str], problems: list[str]) -> list[Row]:
    """Rows of ``transactional_ids``, one per id: as its coordinator describes it (each broker is asked, and those that are not say so).

    Why an id is unknown goes to its row, and what this user may not see to `problems`.
    """
    found: dict[str, dict[str, Any]] = {}
    silent: list[str] = []

    async def one(node: int, asked: Sequence[str]) -> None:
        try:
            answer = await cluster.ask(node, DescribeTransactionsRequest, "DescribeTransactions", newest=0, transactional_ids=list(asked))
        except Dead as dead:
            silent.append(f"{cluster.name(node)}: {dead.why}")
            return
        for state in answer.transaction_states:
            if state.error_code == _NOT_FOUND:
                found[state.transactional_id] = {"known": False}
            elif state.error_code == _NOT_COORDINATOR:
                continue
            elif state.error_code:
                found.setdefault(state.transactional_id, {"error": error_says(state.error_code, cluster.sight)})
            else:
                found[state.transactional_id] = {
                    "known": True, "state": state.transaction_state, "producer": state.producer_id, "producer_epoch": state.producer_epoch,
                    "started_at": moment(state.transaction_start_time_ms), "timeout_ms": state.transaction_timeout_ms,
                }  # fmt: skip
            if state.error_code == _REFUSED:
                grant = "--transactional-id " + shlex.quote(state.transactional_id)
                problems.append(f"transactional id {state.transactional_id}: {cluster.sight.needs('DESCRIBE', grant)}")

    parts = [ids[at : at + _IDS_AT_ONCE] for at in range(0, len(ids), _IDS_AT_ONCE)]
    for part in parts:
        await asyncio.gather(*(one(node, part) for node in cluster.brokers))
    why = f"not every coordinator could be asked: {'; '.join(dict.fromkeys(silent))}" if silent else "no broker is its coordinator"
    head = {"scope": "", "as_of": cluster.as_of}
    return [TRANSACTIONAL_IDS.row({**head, "transactional_id": name, **found.get(name, {"error": why})}) for name in ids]
