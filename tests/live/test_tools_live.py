"""The tools of `diag mcp` on two real brokers: what they say of a group, of the brokers, and of a removal; and one that is not allowed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # it is there, and not in its __all__

from cli.options.shared import RunOptions
from cli.tools.answers import MOST_BYTES
from cli.tools.calls import Calls
from cli.tools.permitted import Permitted, allow
from fixtures.lab.kafka import KafkaCluster
from tests.live.conftest import KafkaStarter


@pytest.fixture(scope="module")
def kafka(kafka_cluster: KafkaStarter) -> KafkaCluster:
    """``orders`` lies on both brokers, with 100 records in its one partition; ``readers`` has committed 40 of them."""
    kafka = kafka_cluster(2)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    made = admin.create_topics([NewTopic("orders", 1, replica_assignment=[[1, 2]], config={"min.insync.replicas": "2"})])
    made["orders"].result(timeout=60)
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for number in range(100):
        producer.produce("orders", str(number).encode())
    producer.flush(60)
    reader = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "readers"})
    reader.commit(offsets=[TopicPartition("orders", 0, 40)], asynchronous=False)
    reader.close()
    return kafka


@pytest.fixture
def calls() -> Iterator[Calls]:
    made = Calls(Permitted(), RunOptions(spark_master="local[1]"), "0.0.1")
    yield made
    made.close()


def ask(calls: Calls, tool: str, **arguments: Any) -> dict[str, Any]:
    text, _ = calls.call(tool, arguments)
    assert len(text.encode()) <= MOST_BYTES
    answer: dict[str, Any] = json.loads(text)
    return answer


def test_group_brokers_and_a_removal(kafka: KafkaCluster, calls: Calls) -> None:
    servers = kafka.bootstrap.split(",")
    allow([], servers)
    lag = ask(calls, "lag_report", bootstrap_servers=servers, groups=["readers"], samples=2)
    [row] = lag["quoted"]["tables"]["lag_truth"]["first"]
    assert (row["group"], row["topic"], row["partition"], row["lag_records"]) == ("readers", "orders", 0, 60)
    health = ask(calls, "broker_health", bootstrap_servers=servers)
    assert (health["outcome"], health["exit_code"]) == ("nothing-found", 0)
    assert {row["state"] for row in health["quoted"]["tables"]["brokers"]["first"]} == {"alive"}
    removal = ask(calls, "preflight", change="broker-removal", brokers=[2], bootstrap_servers=servers, groups=["readers"])
    assert removal["exit_code"] == 1
    assert removal["quoted"]["tables"]["preflight"]["first"][0]["answer"] == "breaks"
    together = ask(calls, "triage", bootstrap_servers=servers, groups=["readers"])
    assert together["counts"]["sources_failed"] == 0


def test_a_broker_that_is_not_on_the_list_is_not_asked(kafka: KafkaCluster, calls: Calls) -> None:
    first = kafka.bootstrap.split(",")[0]
    allow([], [first])
    health = ask(calls, "broker_health", bootstrap_servers=[first])
    unasked = [row for row in health["quoted"]["tables"]["brokers"]["first"] if "state" not in row]
    assert ["--allow-address" in row["why"] for row in unasked] == [True]
    assert "verdict" not in health
    lag = ask(calls, "lag_report", bootstrap_servers=[first], groups=["readers"], samples=1)
    assert lag["outcome"] == "could-not-look"
    assert "--allow-address" in lag["quoted"]["sources"][0]["why"]
