"""One byte changed on a broker's disk: the batch is named as damaged, with its place, and no other."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # it is there, and not in its __all__

from fixtures.lab.kafka import KafkaCluster
from tests.live.conftest import KafkaStarter
from tests.live.test_kafka_live import QUIET, diag

AT = 5


@pytest.fixture(scope="module")
def kafka(kafka_cluster: KafkaStarter) -> KafkaCluster:
    """A batch for each record, the one at offset 5 damaged."""
    kafka = kafka_cluster(brokers=1)
    settings = {"bootstrap.servers": kafka.bootstrap, **QUIET}
    admin = AdminClient(settings)
    admin.create_topics([NewTopic("orders", 1)])["orders"].result(timeout=60)
    producer = Producer(settings)
    for number in range(10):
        producer.produce("orders", f"c{number:05d},12,{number}".encode())
        assert producer.flush(60) == 0  # one by one: a batch of its own
    kafka.damage(1, "orders-0", b"c00005,12,5", b"c00005,72,5")
    return kafka


def test_the_damaged_batch_is_named(kafka: KafkaCluster) -> None:
    _, report = diag("lag-report", "-b", kafka.bootstrap, "--peek-at", f"orders:0:{AT}")
    (suspect,) = (row for row in report["facts"]["records"] if row["why"] == "suspect")
    assert (suspect["topic"], suspect["partition"], suspect["wanted"]) == ("orders", 0, AT)
    assert "damaged" in suspect["error"]
    assert suspect["content"] is None


def test_the_batches_beside_it_are_whole(kafka: KafkaCluster) -> None:
    for offset in (AT - 3, AT + 2):
        _, report = diag("lag-report", "-b", kafka.bootstrap, "--peek-at", f"orders:0:{offset}")
        (suspect,) = (row for row in report["facts"]["records"] if row["why"] == "suspect")
        assert (suspect["offset"], suspect["error"]) == (offset, None)
