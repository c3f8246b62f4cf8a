"""Open transactions as the coordinators and the leaders tell them, one after the other."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from analyzers.tables import Row
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_session import now
from cli.collectors.kafka_transactions import open_transactions

ANSWERS: dict[str, Any] = {
    "ListTransactions": SimpleNamespace(error_code=0, transaction_states=[SimpleNamespace(transactional_id="sink-0")]),
    "DescribeTransactions": SimpleNamespace(
        transaction_states=[
            SimpleNamespace(
                error_code=0, producer_id=7, transactional_id="sink-0", transaction_state="CompleteCommit",
                transaction_start_time_ms=1_800_000_000_000, transaction_timeout_ms=900_000,
            )
        ]
    ),
}  # fmt: skip


def looked(still_open_from: int) -> Row:
    """The transaction that began at offset 100 and that its coordinator holds for ended."""
    asked: list[str] = []

    async def ask(node: int, request: Any, name: str, **fields: Any) -> Any:
        asked.append(name)
        producer = SimpleNamespace(producer_id=7, producer_epoch=1, coordinator_epoch=2, current_txn_start_offset=still_open_from)
        partition = SimpleNamespace(partition_index=0, active_producers=[producer])
        return ANSWERS.get(name) or SimpleNamespace(topics=[SimpleNamespace(name="orders", partitions=[partition])])

    cluster = cast(Cluster, SimpleNamespace(leaders={("orders", 0): 1}, brokers=[1], as_of=now(), ask=ask))
    (row,) = asyncio.run(open_transactions(cluster, {("orders", 0): (100, 7)}))
    assert asked[-1] == "DescribeProducers"
    return row


@pytest.mark.parametrize(
    ("still_open_from", "error"),
    [
        (100, None),  # open at its leader, ended for its coordinator: it hangs
        (-1, "it ended while it was looked at"),
        (164, "it ended while it was looked at"),  # and the next one has begun
    ],
)
def test_a_transaction_that_ends_just_now_does_not_hang(still_open_from: int, error: str | None) -> None:
    row = looked(still_open_from)
    assert (row["state"], row["transactional_id"], row["error"]) == (None, "sink-0", error)
