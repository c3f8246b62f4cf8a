"""Older and newer Kafka, each with classic and KIP-848 groups, a transaction that hangs, share and streams groups, and a broker that dies.

Minutes, so only where they are asked for: ``DIAG_VERSIONS=1``.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from fixtures.lab.artifacts import LabUnavailable, class_path, java
from fixtures.lab.kafka import KAFKA, OLDER, KafkaCluster
from fixtures.lab.processes import spawn, wait_until
from tests.live.conftest import unavailable
from tests.live.kafka_requests import Member
from tests.live.test_kafka_live import QUIET, diag, rows

pytestmark = pytest.mark.skipif(not os.environ.get("DIAG_VERSIONS"), reason="DIAG_VERSIONS=1 asks for it: brokers of three versions")

NEW_PROTOCOL = {"kafka-3.9.2": {"group.coordinator.rebalance.protocols": "classic,consumer"}}  # there it is a preview


@pytest.fixture(scope="module", params=[KAFKA, *OLDER])
def kafka(request: pytest.FixtureRequest) -> Iterator[KafkaCluster]:
    with contextlib.ExitStack() as running:
        try:
            yield running.enter_context(KafkaCluster(2, NEW_PROTOCOL.get(request.param, {}), request.param))
        except LabUnavailable as reason:
            unavailable(reason)


@contextlib.contextmanager
def played(kafka: KafkaCluster, directory: Path, name: str, source: str) -> Iterator[None]:
    """A Java client of the brokers' own version, from when it says ``ready``."""
    (directory / f"{name}.java").write_text(source)
    jars = ":".join(map(str, class_path(kafka.version)))
    ecj = ["-cp", str(class_path("ecj-3.37.0")[0]), "org.eclipse.jdt.internal.compiler.batch.Main", "-source", "17", "-target", "17"]
    subprocess.run([java(), *ecj, "-nowarn", "-cp", jars, "-d", str(directory), str(directory / f"{name}.java")], check=True)
    log = directory / f"{name}.log"
    client = spawn([java(), "-Xmx128m", "-cp", f"{directory}:{jars}", name, kafka.bootstrap], log)
    try:
        wait_until(lambda: "ready" in log.read_text(), f"{name} to be ready")
        yield
    finally:
        client.kill()
        client.wait()


@pytest.fixture(scope="module")
def clients(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Any]]:
    """A topic with 40 records, a group of each kind of protocol that commits 4 of 10 per partition, and a transaction left open."""
    settings: dict[str, Any] = {"bootstrap.servers": kafka.bootstrap, **QUIET}
    admin = AdminClient(settings)
    for created in admin.create_topics([NewTopic("orders", 4, 2), NewTopic("held", 1, 2)]).values():
        created.result(timeout=60)
    producer = Producer(settings)
    for number in range(40):
        producer.produce("orders", b"record", partition=number % 4)
    assert producer.flush(60) == 0
    protocols = {"assigned": None, "classic": "classic"}
    kept: list[Any] = []
    for group, protocol in protocols.items():
        more = {"group.protocol": protocol} if protocol else {}
        consumer = Consumer({**settings, "group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest", **more})
        if protocol:
            consumer.subscribe(["orders"])
            wait_until(lambda c=consumer: (c.poll(0.1), len(c.assignment()) == 4)[1], f"members of {group}")  # type: ignore[misc]

        def committed(consumer: Consumer = consumer) -> bool:
            consumer.poll(0)
            with contextlib.suppress(KafkaException):
                consumer.commit(offsets=[TopicPartition("orders", number, 4) for number in range(4)], asynchronous=False)
                return True
            return False

        wait_until(committed, f"a commit of {group}")
        kept.append(consumer)
    writer = Producer({**settings, "transactional.id": "hanging", "transaction.timeout.ms": 3_600_000})
    writer.init_transactions(60)
    writer.begin_transaction()
    for _ in range(5):
        writer.produce("held", b"record", partition=0)
    writer.flush(60)
    kept[0].commit(offsets=[TopicPartition("held", 0, 0)], asynchronous=False)
    with contextlib.ExitStack() as running:
        if "2.8" not in kafka.version:
            running.enter_context(played(kafka, tmp_path_factory.mktemp("member"), "Member", MEMBER))
        yield [*kept, writer]
    for consumer in kept:
        consumer.close()


def test_groups_members_and_lag(kafka: KafkaCluster, clients: list[Any]) -> None:
    code, report = diag("lag-report", "-b", kafka.bootstrap)
    assert code == 0, report
    groups = {row["group"]: row for row in report["facts"]["groups"]}
    types = {"assigned": ("classic", 0), "classic": ("classic", 1), "consumer": ("consumer", 1)}
    if "2.8" in kafka.version:
        del types["consumer"]
    assert {name: (row["type"], row["members"], row["error"]) for name, row in groups.items()} == {
        name: (*expected, None) for name, expected in types.items()
    }
    for name in types:
        found = rows(report, "committed_offsets", group=name, topic="orders")
        assert [row["lag_records"] for row in found] == [6] * 4
        assert all((row["client"] is not None) == (name != "assigned") for row in found)
    assert report["sources"][0]["state"] == "ok", report["sources"]


def test_a_transaction_that_hangs(kafka: KafkaCluster, clients: list[Any]) -> None:
    _, report = diag("lag-report", "-b", kafka.bootstrap, "--group", "assigned")
    (row,) = report["facts"]["open_transactions"]
    assert (row["topic"], row["offset"], row["producer"] is not None) == ("held", 0, True)
    if "2.8" in kafka.version:  # KIP-664 came in part: DescribeProducers in 2.8, ListTransactions in 3.0
        assert "too old for ListTransactions" in row["error"]
    else:
        assert (row["transactional_id"], row["state"], row["timeout_ms"], row["error"]) == ("hanging", "Ongoing", 3_600_000, None)


MEMBER = """
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;

public class Member {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", "consumer");
        settings.put("group.protocol", "consumer");
        settings.put("client.id", "member");
        settings.put("enable.auto.commit", "false");
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings);
        consumer.subscribe(List.of("orders"));
        while (consumer.assignment().size() < 4) consumer.poll(Duration.ofMillis(200));
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (TopicPartition place : consumer.assignment()) offsets.put(place, new OffsetAndMetadata(4));
        consumer.commitSync(offsets);
        System.out.println("ready");
        while (true) consumer.poll(Duration.ofMillis(200));
    }
}
"""

SHARE = """
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.config.ConfigResource;

public class Share {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        try (Admin admin = Admin.create(settings)) {
            ConfigEntry earliest = new ConfigEntry("share.auto.offset.reset", "earliest");
            admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, "workers"),
                List.of(new AlterConfigOp(earliest, AlterConfigOp.OpType.SET)))).all().get();
        }
        settings.put("group.id", "workers");
        settings.put("client.id", "worker");
        settings.put("share.acknowledgement.mode", "explicit");
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(settings);
        consumer.subscribe(List.of("orders"));
        for (int accepted = 0; accepted < 16; ) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                consumer.acknowledge(record, record.offset() < 4 ? AcknowledgeType.ACCEPT : AcknowledgeType.RELEASE);
                accepted += record.offset() < 4 ? 1 : 0;
            }
            consumer.commitSync();
        }
        System.out.println("ready");
        Thread.sleep(600000);
    }
}
"""


def test_a_share_group_has_the_lag_that_the_broker_counts(kafka: KafkaCluster, clients: list[Any], tmp_path: Path) -> None:
    if kafka.version != KAFKA:
        pytest.skip("share groups came with 4.1")
    with played(kafka, tmp_path, "Share", SHARE):
        code, report = diag("lag-report", "-b", kafka.bootstrap, "--group", "workers")
    assert code == 0, report
    (group,) = report["facts"]["groups"]
    assert (group["type"], group["state"], group["members"], group["error"]) == ("share", "Stable", 1, None)
    (member,) = report["facts"]["members"]
    assert (member["client"], len(member["assigned"])) == ("worker", 4)
    shared = report["facts"]["share_offsets"]
    assert [(row["lag_records"], row["error"]) for row in shared] == [(6, None)] * 4
    assert all(0 <= row["start_offset"] <= 4 for row in shared)  # it follows the acknowledgements late: 10 - start would be false
    assert report["facts"]["committed_offsets"] == []
    assert report["sources"][0]["state"] == "ok", report["sources"]


def test_a_streams_group_has_members_with_their_tasks(kafka: KafkaCluster, clients: list[Any]) -> None:
    if kafka.version != KAFKA:
        pytest.skip("streams groups came with 4.1")
    member = Member([(broker.host, broker.port) for broker in kafka.members.values()], "totals", "streams")
    reports: list[dict[str, Any]] = []

    def has_tasks() -> bool:
        if member.beat():
            reports.append(diag("lag-report", "-b", kafka.bootstrap, "--group", "totals")[1])
        return bool(reports and reports[-1].get("facts", {}).get("committed_offsets"))

    wait_until(has_tasks, "tasks of a streams group")
    report = reports[-1]
    (group,) = report["facts"]["groups"]
    assert (group["type"], group["members"], group["error"]) == ("streams", 1, None)
    (told,) = report["facts"]["members"]
    assert (told["member"], told["assigned"]) == (member.name, [f"orders-{number}" for number in range(4)])
    assert [row["lag_records"] for row in report["facts"]["committed_offsets"]] == [None] * 4  # it has not committed yet


def test_health_names_the_broker_that_dies_and_the_others_go_on(kafka: KafkaCluster, clients: list[Any]) -> None:
    kafka.kill(2)
    _, report = diag("broker-health", "-b", kafka.bootstrap)
    assert {row["broker"]: row["state"] for row in report["facts"]["brokers"]}.get(2, "refused") == "refused"
    wait_until(lambda: diag("lag-report", "-b", kafka.bootstrap, "--timeout", "8s")[1]["facts"]["groups"] != [], "groups")

    def whole() -> bool:
        _, report = diag("lag-report", "-b", kafka.bootstrap, "--timeout", "8s")
        groups = report["facts"]["groups"]
        return len(groups) >= 2 and all(row["error"] is None and row["coordinator"] == 1 for row in groups)

    wait_until(whole, "all groups with broker 1")
