"""A broker is killed between two samples: the series goes on, its groups and partitions come back with their new brokers."""

from __future__ import annotations

import contextlib
import re
import threading
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from fixtures.lab.kafka import KafkaCluster
from fixtures.lab.processes import wait_until
from tests.live.conftest import KafkaStarter
from tests.live.test_kafka_live import QUIET, diag

GROUPS = [f"spread-{number}" for number in range(8)]


@pytest.fixture(scope="module")
def kafka(kafka_cluster: KafkaStarter) -> KafkaCluster:
    """Three brokers, a topic on all of them, and groups that each of them coordinates some of."""
    kafka = kafka_cluster(brokers=3)
    settings: dict[str, Any] = {"bootstrap.servers": kafka.bootstrap, **QUIET}
    admin = AdminClient(settings)
    admin.create_topics([NewTopic("orders", 6, 3)])["orders"].result(timeout=60)
    producer = Producer(settings)
    for number in range(60):
        producer.produce("orders", b"record", partition=number % 6)
    assert producer.flush(60) == 0
    for group in GROUPS:
        consumer = Consumer({**settings, "group.id": group, "enable.auto.commit": False})

        def committed(consumer: Consumer = consumer) -> bool:
            with contextlib.suppress(KafkaException):
                consumer.commit(offsets=[TopicPartition("orders", number, 4) for number in range(6)], asynchronous=False)
                return True
            return False

        wait_until(committed, f"a commit of {group}")
        consumer.close()
    return kafka


def test_a_series_lives_through_a_failover(kafka: KafkaCluster) -> None:
    _, before = diag("lag-report", "-b", kafka.bootstrap)
    of_two = {row["group"] for row in before["facts"]["groups"] if row["coordinator"] == 2}
    assert of_two
    killing = threading.Timer(8.0, kafka.kill, (2,))
    killing.start()
    # its coordinators move when its session ends, 9 s after the kill
    code, report = diag("lag-report", "-b", kafka.bootstrap, "--samples", "7", "--every", "6s", "--timeout", "8s")
    killing.join()
    assert code == 0, report
    groups = {row["group"]: row for row in report["facts"]["groups"]}
    last = max(row["as_of"] for row in report["facts"]["committed_offsets"])
    assert {row["as_of"] for row in groups.values()} == {last}
    assert {name: row["error"] for name, row in groups.items()} == dict.fromkeys(GROUPS)
    assert all(groups[name]["coordinator"] in (1, 3) for name in of_two)
    rows = report["facts"]["committed_offsets"]
    assert {(row["group"], row["partition"]) for row in rows} == {(group, number) for group in GROUPS for number in range(6)}
    assert {(row["as_of"], row["lag_records"], row["error"]) for row in rows} == {(last, 6, None)}
    (source,) = report["sources"]
    assert source["state"] == "partial"
    # what it names hangs on where in the outage a sample fell
    assert re.search(r"not whole, the last is: .*broker 2|broker 2 .*(refused|closed|hung)", source["why"]), source["why"]
