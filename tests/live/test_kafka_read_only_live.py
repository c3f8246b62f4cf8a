"""Read-only, proven on the wire: every request of every command passes a proxy in front of a real broker, and nothing there changes."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
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
from tests.live.kafka_requests import Member, set_quota
from tests.live.test_kafka_live import QUIET, diag

# Requests that change nothing at a broker: those that diag sends, by its own connections and by librdkafka. With a login there are
# SaslHandshake and SaslAuthenticate, too.
LOOKS = {
    1: "Fetch", 2: "ListOffsets", 3: "Metadata", 9: "OffsetFetch", 10: "FindCoordinator", 15: "DescribeGroups", 16: "ListGroups",
    18: "ApiVersions", 32: "DescribeConfigs", 35: "DescribeLogDirs", 46: "ListPartitionReassignments", 48: "DescribeClientQuotas",
    55: "DescribeQuorum", 61: "DescribeProducers", 65: "DescribeTransactions", 66: "ListTransactions", 69: "ConsumerGroupDescribe",
    77: "ShareGroupDescribe", 89: "StreamsGroupDescribe", 90: "DescribeShareGroupOffsets",
}  # fmt: skip
CHECKPOINTS = Path(__file__).parent.parent.parent / "fixtures" / "checkpoints" / "recorded"


@dataclass
class Scene:
    """One broker that is reached through the proxy alone."""

    kafka: KafkaCluster
    proxy: KafkaProxy
    members: list[Member] = field(default_factory=list)
    reader: Any = None

    def leave(self) -> None:
        """No member is left: what they say to the broker is no work of diag's."""
        self.reader.close()
        for member in self.members:
            member.leave()

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
        broker = (member.host, member.port)
        set_quota(broker, "test-slow", "consumer_byte_rate", 1048576.0)
        scene.members = [Member([broker], kind, kind) for kind in ("share", "streams")]
        for joining in scene.members:
            wait_until(joining.beat, f"a member of a {joining.kind} group")
        slow = Consumer(scene.settings(**{"group.id": "held", "client.id": "test-slow", "group.protocol": "consumer"}))
        slow.subscribe(["orders"])
        wait_until(lambda: slow.poll(0.2) is not None or bool(slow.assignment()), "an assignment")
        scene.reader = slow
        yield scene
        writer.abort_transaction(60)


COMMANDS: dict[str, tuple[list[str], set[str]]] = {
    # the command without -b, and requests without which it would not have asked what it is for
    "broker-health": (["broker-health"], {"Metadata", "DescribeConfigs", "DescribeLogDirs", "ListPartitionReassignments",
                                         "DescribeQuorum"}),
    "broker-health of a topic": (["broker-health", "--topic", "orders", "--topic", "never-made"], {"Metadata"}),
    "lag-report": (
        ["lag-report", "--samples", "2", "--every", "1s"],
        {"ListGroups", "DescribeGroups", "ConsumerGroupDescribe", "OffsetFetch", "ListOffsets", "Fetch", "DescribeConfigs",
         "DescribeProducers", "ListTransactions", "DescribeTransactions", "DescribeClientQuotas", "ShareGroupDescribe",
         "StreamsGroupDescribe", "DescribeShareGroupOffsets"},
    ),
    "lag-report of members": (["lag-report", "--group", "held", "--members", "--at", "1h"], {"ConsumerGroupDescribe", "ListOffsets"}),
    "lag-report of a group": (["lag-report", "--group", "new-group"], {"ConsumerGroupDescribe", "OffsetFetch"}),
    "lag-report of no group": (["lag-report", "--group", "nobody"], {"FindCoordinator"}),
    "peek": (["lag-report", "--peek-at", "orders:0:5", "--show-content"], {"Fetch"}),
    "collect": (["collect"], {"ListGroups", "OffsetFetch", "ListOffsets"}),
    "preflight restore": (
        ["preflight", "restore", str(CHECKPOINTS / "lab-restore" / "savepoint-4aa847-8ad2880fa3e0")],
        {"ListOffsets", "DescribeTransactions"},
    ),
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
        own = {key for key, _, client in passed if not client.startswith(("test", "broker-1-", "Persister-client-"))}
        assert own <= set(LOOKS), (name, [p for p in passed if p[0] not in LOOKS])
        assert {client for key, _, client in passed if key in own and key not in (18, 3)} <= {"diag", "test", "test-slow"}, name
        assert needed <= {LOOKS[key] for key in own}, name
        seen |= own
    assert seen == set(LOOKS), "what is not sent by any command need not be allowed"


def test_members_quotas_and_offsets_at_a_time(scene: Scene) -> None:
    _, report = diag("lag-report", "--group", "held", "--members", "--at", "1h", "-b", scene.bootstrap, "--timeout", "20s")
    assert "facts" in report, report
    facts = report["facts"]
    (group,), (member,), (quota,) = facts["groups"], facts["members"], facts["client_quotas"]
    assert (group["assignor"], group["epoch"] >= 1, group["assignment_epoch"] == group["epoch"]) == ("uniform", True, True)
    assert (member["client"], member["epoch"], member["assigned"]) == ("test-slow", group["epoch"], [f"orders-{n}" for n in range(3)])
    assert [quota[name] for name in ("user", "client_id", "key", "value")] == [None, "test-slow", "consumer_byte_rate", 1048576.0]
    assert [(row["offset"], row["record_at"] is not None, row["error"]) for row in facts["offsets_at"]] == [(0, True, None)] * 3
    _, later = diag("lag-report", "--group", "held", "--at", "2999-01-01T00:00Z", "-b", scene.bootstrap, "--timeout", "20s")
    assert [(row["offset"], row["record_at"], row["error"]) for row in later["facts"]["offsets_at"]] == [(30, None, None)] * 3
    assert {row["epoch"] for row in later["facts"]["members"]} == {None}  # asked for with --members alone


def test_log_directories_and_the_quorum(scene: Scene) -> None:
    _, report = diag("broker-health", "-b", scene.bootstrap, "--timeout", "20s")
    (held,), (node,) = report["facts"]["log_dirs"], report["facts"]["metadata_quorum"]
    assert (held["broker"], held["state"], held["moving_replicas"]) == (1, "ok", 0)
    assert 0 < held["size_bytes"] < held["usable_bytes"] < held["total_bytes"]
    assert (node["node"], node["role"], node["lag_offsets"], node["behind_seconds"]) == (1, "leader", 0, 0.0)
    assert all(row["adding"] == [] == row["removing"] for row in report["facts"]["partitions"])


def test_nothing_is_changed_by_looking(scene: Scene, tmp_path: Path) -> None:
    scene.leave()
    wait_until(lambda: scene.picture() == scene.picture(), "the coordinator to come to rest")
    before = scene.picture()
    for arguments, _ in COMMANDS.values():
        ask(scene, arguments, tmp_path)
    assert scene.picture() == before
    assert "never-made" not in before[0]


def test_a_group_that_never_was_leaves_an_empty_cluster_empty(kafka_cluster: KafkaStarter) -> None:
    """Asked for a coordinator a broker creates the topic of the commits, where nobody has committed before."""
    kafka = kafka_cluster(brokers=1)
    code, report = diag("lag-report", "-b", kafka.bootstrap, "--group", "absent")
    (source,) = report["sources"]
    assert (code, source["state"]) == (3, "failed")
    assert "no group has ever committed here" in source["why"]
    assert not AdminClient({"bootstrap.servers": kafka.bootstrap, **QUIET}).list_topics(timeout=30).topics
