"""Read-only, proven on the wire: every request of every command passes a proxy in front of a real broker, and nothing there changes."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from cli.main import run
from cli.shell.environment import Environment
from fixtures.lab.kafka import KafkaCluster
from fixtures.lab.processes import wait_until
from tests.live.conftest import KafkaStarter
from tests.live.kafka_proxy import KafkaProxy
from tests.live.test_kafka_live import QUIET, diag

# Requests that change nothing at a broker: those that diag sends, by its own connections and by librdkafka. With a login there are
# SaslHandshake and SaslAuthenticate, too.
LOOKS = {
    1: "Fetch", 2: "ListOffsets", 3: "Metadata", 9: "OffsetFetch", 10: "FindCoordinator", 15: "DescribeGroups", 16: "ListGroups",
    18: "ApiVersions", 32: "DescribeConfigs", 61: "DescribeProducers", 65: "DescribeTransactions", 66: "ListTransactions",
    69: "ConsumerGroupDescribe",
}  # fmt: skip
CHECKPOINTS = Path(__file__).parent.parent.parent / "fixtures" / "checkpoints" / "recorded"


@dataclass
class Scene:
    """One broker that is reached through the proxy alone."""

    kafka: KafkaCluster
    proxy: KafkaProxy

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.proxy.port}"

    def settings(self, **more: Any) -> dict[str, Any]:
        return {"bootstrap.servers": self.bootstrap, "client.id": "test", **QUIET, **more}

    def picture(self) -> tuple[Any, ...]:
        """Topics, groups with their states, committed offsets, and the ends of all logs, those of Kafka's own topics included."""
        admin = AdminClient(self.settings())
        topics = admin.list_topics(timeout=30).topics
        listed = admin.list_consumer_groups(request_timeout=30).result(30).valid
        groups = sorted((group.group_id, str(group.state)) for group in listed)
        reader = Consumer(self.settings(**{"group.id": "test-ends"}))
        ends = {
            (name, number): reader.get_watermark_offsets(TopicPartition(name, number), timeout=30)
            for name, topic in sorted(topics.items())
            for number in topic.partitions
        }
        reader.close()
        return sorted(topics), groups, ends


@pytest.fixture(scope="module")
def scene(kafka_cluster: KafkaStarter) -> Iterator[Scene]:
    with KafkaProxy() as proxy:
        kafka = kafka_cluster(brokers=1, **{"advertised.listeners": f"PLAINTEXT://127.0.0.1:{proxy.port}"})
        member = kafka.members[1]
        proxy.broker = (member.host, member.port)
        scene = Scene(kafka, proxy)
        admin = AdminClient(scene.settings())
        for made in admin.create_topics([NewTopic("orders", 3, 1), NewTopic("open", 1, 1)]).values():
            made.result(timeout=60)
        producer = Producer(scene.settings())
        for number in range(90):
            producer.produce("orders", json.dumps({"id": number}).encode(), partition=number % 3)
        assert producer.flush(60) == 0
        writer = Producer(scene.settings(**{"transactional.id": "hanging", "transaction.timeout.ms": 600000}))
        writer.init_transactions(60)
        writer.begin_transaction()
        for _ in range(10):
            writer.produce("open", b"unseen", partition=0)
        assert writer.flush(60) == 0
        for group, protocol in (("classic-group", "classic"), ("new-group", "consumer")):
            consumer = Consumer(scene.settings(**{"group.id": group, "enable.auto.commit": False, "group.protocol": protocol}))
            consumer.subscribe(["orders"])
            wait_until(lambda consumer=consumer: consumer.poll(0.2) is not None or bool(consumer.assignment()), "an assignment")
            places = [TopicPartition("orders", number, 10) for number in range(3)] + [TopicPartition("open", 0, 0)]

            def committed(consumer: Consumer = consumer, places: list[TopicPartition] = places) -> bool:
                with contextlib.suppress(KafkaException):
                    consumer.commit(offsets=places, asynchronous=False)
                    return True
                return False

            wait_until(committed, f"a commit of {group}")
            consumer.close()
        yield scene
        writer.abort_transaction(60)


COMMANDS: dict[str, tuple[list[str], set[str]]] = {
    # the command without -b, and requests without which it would not have asked what it is for
    "broker-health": (["broker-health"], {"Metadata", "DescribeConfigs"}),
    "broker-health of a topic": (["broker-health", "--topic", "orders", "--topic", "never-made"], {"Metadata"}),
    "lag-report": (
        ["lag-report", "--samples", "2", "--every", "1s"],
        {"ListGroups", "DescribeGroups", "ConsumerGroupDescribe", "OffsetFetch", "ListOffsets", "Fetch", "DescribeConfigs",
         "DescribeProducers", "ListTransactions", "DescribeTransactions"},
    ),
    "lag-report of a group": (["lag-report", "--group", "new-group"], {"ConsumerGroupDescribe", "OffsetFetch"}),
    "lag-report of no group": (["lag-report", "--group", "nobody"], {"FindCoordinator"}),
    "peek": (["lag-report", "--peek-at", "orders:0:5", "--show-content"], {"Fetch"}),
    "collect": (["collect"], {"ListGroups", "OffsetFetch", "ListOffsets"}),
    "checkpoint-inspect": (["checkpoint-inspect", str(CHECKPOINTS / "lab-beam-duplicate-kafka-rescaled")], {"ListOffsets"}),
}  # fmt: skip


def ask(scene: Scene, arguments: list[str], folder: Path) -> None:
    if arguments[0] == "collect":
        run([*arguments, "-b", scene.bootstrap, "--save", str(folder / "bundle")], Environment(stdout=io.StringIO(), stderr=io.StringIO()))
    else:
        diag(*arguments, "-b", scene.bootstrap, "--timeout", "20s")


def test_every_request_of_every_command_only_looks(scene: Scene, tmp_path: Path) -> None:
    seen: set[int] = set()
    for name, (arguments, needed) in COMMANDS.items():
        with scene.proxy.watching() as passed:
            ask(scene, arguments, tmp_path)
        # what the test's own clients keep alive, and the broker says to itself by its advertised address
        own = {key for key, _, client in passed if not client.startswith(("test", "broker-1-"))}
        assert own <= set(LOOKS), (name, passed)
        assert {client for key, _, client in passed if key in own and key not in (18, 3)} <= {"diag"} | {"test"}, name
        assert needed <= {LOOKS[key] for key in own}, name
        seen |= own
    assert seen == set(LOOKS), "what is not sent by any command need not be allowed"


def test_nothing_is_changed_by_looking(scene: Scene, tmp_path: Path) -> None:
    before = scene.picture()
    for arguments, _ in COMMANDS.values():
        ask(scene, arguments, tmp_path)
    assert scene.picture() == before
    assert "never-made" not in before[0]
