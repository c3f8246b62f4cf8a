"""Each lag truth made on a real broker and named; records read by offset; nothing that is looked at changes."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from analyzers.derived.lag import lag_transactions
from fixtures.lab.kafka import KafkaCluster
from fixtures.lab.processes import wait_until
from tests.live.conftest import KafkaStarter
from tests.live.test_kafka_live import QUIET, diag

TOPICS = {"orders": {}, "markers": {}, "cut": {}, "open": {}, "steady": {}, "poison": {}, "wide": {"max.message.bytes": "30000000"}}
APPENDED = {"message.timestamp.type": "LogAppendTime"}


@dataclass
class Scene:
    """One broker with what was put into it, and producers that stay open."""

    kafka: KafkaCluster
    clients: list[Any] = field(default_factory=list)

    def settings(self, **more: Any) -> dict[str, Any]:
        return {"bootstrap.servers": self.kafka.bootstrap, **QUIET, **more}

    def commit(self, group: str, topic: str, offset: int) -> None:
        """As Flink does: assign(), then commit; nobody joins."""
        consumer = Consumer(self.settings(**{"group.id": group, "enable.auto.commit": False}))

        def committed() -> bool:
            try:
                consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
            except KafkaException:  # the coordinator of a young cluster is still loading
                return False
            return True

        wait_until(committed, f"a commit of {group}")
        consumer.close()

    def produce(self, topic: str, *values: bytes | None, **settings: Any) -> None:
        producer = Producer(self.settings(**settings))
        for value in values:
            producer.produce(topic, value, key=b"k", partition=0)
        assert producer.flush(60) == 0

    def writer(self, name: str) -> Producer:
        producer = Producer(self.settings(**{"transactional.id": name, "transaction.timeout.ms": 3_600_000}))
        producer.init_transactions(60)
        self.clients.append(producer)
        return producer

    def report(self, group: str, *more: str) -> dict[str, Any]:
        code, report = diag("lag-report", "-b", self.kafka.bootstrap, "--group", group, *more)
        assert code == 0, report
        return report

    def truth(self, group: str, *more: str) -> dict[str, Any]:
        (row,) = self.report(group, *more)["facts"]["lag_truth"]
        assert isinstance(row, dict)
        return row


@pytest.fixture(scope="module")
def scene(kafka_cluster: KafkaStarter) -> Iterator[Scene]:
    scene = Scene(kafka_cluster(brokers=1))
    admin = AdminClient(scene.settings())
    topics = [NewTopic(name, 1, 1, config=config) for name, config in {**TOPICS, "appended": APPENDED}.items()]
    for created in admin.create_topics(topics).values():
        created.result(timeout=60)
    scene.produce("orders", *(b"record" for _ in range(100)))
    scene.produce("cut", *(b"record" for _ in range(100)))
    for deleted in admin.delete_records([TopicPartition("cut", 0, 60)]).values():
        deleted.result(timeout=60)
    yield scene
    for client in scene.clients:
        with contextlib.suppress(KafkaException):  # only some have one open
            client.abort_transaction(60)


def transaction(producer: Producer, topic: str, records: int) -> None:
    producer.begin_transaction()
    for _ in range(records):
        producer.produce(topic, b"in a transaction", partition=0)
    producer.flush(60)


def test_position_unknown_has_bounds_and_a_lag_in_time(scene: Scene) -> None:
    scene.commit("job", "orders", 40)
    report = scene.report("job", "--samples", "2", "--every", "1s")
    (row,) = report["facts"]["lag_truth"]
    (status,) = report["facts"]["lag_status"]
    assert (row["truth"], row["at_least"], row["at_most"]) == ("unknown", 0, 60)
    assert (status["status"], status["samples"], status["history"]) == ("not-enough-samples", 2, ["60", "60"])
    assert 0 <= status["time_lag_seconds"] < 600
    assert status["clock"] == "create-time"


def test_caught_up_beyond_the_end_and_below_retention(scene: Scene) -> None:
    scene.commit("well", "orders", 100)
    scene.commit("of-an-older-topic", "orders", 900)
    scene.commit("overtaken", "cut", 10)
    assert scene.truth("well")["truth"] == "caught-up"
    assert scene.truth("of-an-older-topic")["truth"] == "beyond-end"
    lost = scene.truth("overtaken")
    assert (lost["truth"], lost["lost_records"], lost["at_most"]) == ("below-retention", 50, 40)


def test_append_time_is_told_from_create_time(scene: Scene) -> None:
    producer = Producer(scene.settings())
    for _ in range(10):
        producer.produce("appended", b"record", partition=0, timestamp=1000)  # the producer says 1970, the broker knows better
    assert producer.flush(60) == 0
    scene.commit("reads-appended", "appended", 5)
    (status,) = scene.report("reads-appended")["facts"]["lag_status"]
    assert (status["clock"], status["time_doubt"]) == ("log-append-time", None)
    assert 0 <= status["time_lag_seconds"] < 600


def test_transaction_markers_are_no_lag(scene: Scene) -> None:
    writer = scene.writer("marks")
    for end in ("commit", "abort"):
        transaction(writer, "markers", 10)
        writer.commit_transaction(60) if end == "commit" else writer.abort_transaction(60)
    scene.commit("behind-a-marker", "markers", 10)
    row = scene.truth("behind-a-marker")
    # behind the commit: the first marker, ten aborted records, the second marker
    assert (row["truth"], row["lag_records"], row["behind_records"]) == ("transaction-markers", 12, 0)
    scene.clients.remove(writer)


def test_a_hanging_transaction_is_named_and_a_writer_in_its_rhythm_is_not(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag_transactions, "TRANSACTION_SECONDS", 5.0)  # the rhythm of minutes, made in seconds
    hanging, steady = scene.writer("hanging-writer"), scene.writer("steady-writer")
    for _ in range(12):
        for writer, topic in ((hanging, "open"), (steady, "steady")):
            transaction(writer, topic, 10)
            writer.commit_transaction(60)
        time.sleep(0.7)  # what is made here is the time between transactions
    transaction(hanging, "open", 30)
    scene.commit("reads-open", "open", 132)
    report = scene.report("reads-open")
    (found,) = report["facts"]["open_transactions"]
    assert (found["offset"], found["transactional_id"], found["state"]) == (132, "hanging-writer", "Ongoing")
    assert found["started_at"] is not None

    def blocked() -> bool:
        return bool(scene.truth("reads-open")["truth"] == "blocked")

    wait_until(blocked, "the transaction to be open for longer than three of its writer's steps", patience_seconds=90)
    transaction(steady, "steady", 30)
    scene.commit("reads-steady", "steady", 132)
    assert scene.truth("reads-steady")["truth"] == "in-transaction"


def test_a_poison_record_is_found_by_its_offset(scene: Scene) -> None:
    usual = [json.dumps({"id": number, "amount": 1.5}).encode() for number in range(10)]
    scene.produce("poison", *usual[:5], b'{"id": 5, "amount": "n/a"}', *usual[5:], None, **{"compression.type": "snappy"})
    scene.commit("fails", "poison", 3)
    records = scene.report("fails", "--peek-at", "poison:0:5")["facts"]["records"]
    (suspect,) = (row for row in records if row["why"] == "suspect")
    assert (suspect["offset"], suspect["decodes"], suspect["content"]) == (5, ["utf-8", "json"], None)
    assert suspect["differs"] == "field amount is text, in its neighbours number"
    assert [row["offset"] for row in records if row["why"] == "neighbour"] == [3, 4, 6, 7]
    shown = scene.report("fails", "--peek-at", "poison:0:5", "--show-content")["facts"]["records"]
    assert '{"id": 5, "amount": "n/a"}' in {row["content"] for row in shown}


def test_a_record_of_20_mb_is_read_and_a_place_that_is_not_there_is_said(scene: Scene) -> None:
    scene.produce("wide", *(b'{"a": 1}' for _ in range(3)))
    scene.produce("wide", b"z" * 20_000_000, **{"message.max.bytes": 30_000_000})
    scene.produce("wide", *(b'{"a": 1}' for _ in range(3)))
    scene.commit("reads-wide", "wide", 3)
    report = scene.report("reads-wide", "--peek-at", "wide:0:3", "--peek-at", "wide:0:999")
    suspects = {row["wanted"]: row for row in report["facts"]["records"] if row["why"] == "suspect"}
    assert suspects[3]["value_bytes"] == 20_000_000
    assert "20,000,000 bytes" in suspects[3]["differs"]
    assert "OFFSET_OUT_OF_RANGE" in suspects[999]["error"]
    (status,) = report["facts"]["lag_status"]
    assert status["record_at"] is not None


@pytest.mark.parametrize("group", ["gruppe-ß", "a b/c", "x" * 200, "per%cent", "orders[blue", "app(1)+"])
def test_odd_group_ids(scene: Scene, group: str) -> None:
    scene.commit(group, "orders", 99)
    assert scene.truth(group)["lag_records"] == 1


def test_samples_of_several_runs_are_kept(scene: Scene, tmp_path: Any) -> None:
    scene.commit("kept", "orders", 50)
    bundle = str(tmp_path / "bundle")
    scene.report("kept", "--save", bundle, "--no-redact")
    scene.commit("kept", "orders", 60)
    scene.report("kept", "--save", bundle, "--no-redact")
    code, report = diag("lag-report", "--bundle", bundle)
    assert code == 0
    (status,) = report["facts"]["lag_status"]
    assert status["history"] == ["50", "40"]


def test_partitions_without_a_commit_are_shown_in_a_group_without_members(scene: Scene) -> None:
    admin = AdminClient(scene.settings())
    admin.create_topics([NewTopic("parts", 2, 1)])["parts"].result(timeout=60)
    producer = Producer(scene.settings())
    for partition in (0, 1):
        producer.produce("parts", b"record", partition=partition)
    assert producer.flush(60) == 0
    scene.commit("reads-half", "parts", 1)
    rows = {row["partition"]: (row["truth"], row["lag_records"]) for row in scene.report("reads-half")["facts"]["lag_truth"]}
    assert rows == {0: ("caught-up", 0), 1: ("never-committed", None)}


def test_peek_alone_reads_the_record_at_a_commit_that_stands_still(scene: Scene) -> None:
    scene.commit("stands", "orders", 70)
    records = scene.report("stands", "--peek", "--samples", "2", "--every", "300ms")["facts"]["records"]
    assert [(row["topic"], row["partition"], row["offset"]) for row in records if row["why"] == "suspect"] == [("orders", 0, 70)]


def test_looking_commits_nothing_and_joins_nothing(scene: Scene) -> None:
    def picture() -> list[tuple[Any, ...]]:
        _, report = diag("lag-report", "-b", scene.kafka.bootstrap, "--samples", "2", "--every", "500ms")
        facts = report["facts"]
        states = [(row["group"], row["state"], row["members"]) for row in facts["groups"]]
        return states + [(row["group"], row["topic"], row["committed"], row["high_watermark"]) for row in facts["committed_offsets"]]

    before = picture()
    assert picture() == before
