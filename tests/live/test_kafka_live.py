"""Three real brokers; one is killed, one is stopped. What diag says must equal what was done and what was produced."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from cli.main import run
from cli.shell.environment import Environment
from fixtures.lab.kafka import KafkaCluster, wait_until
from tests.live.conftest import KafkaStarter

QUIET = {"log_level": 0, "allow.auto.create.topics": False}
RECORDS_PER_PARTITION = {0: 25, 1: 40, 2: 0, 3: 7}


def diag(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON report of a command; facts only, as what rules make of them has tests without a cluster."""
    environment = Environment(stdout=io.StringIO(), stderr=io.StringIO())
    code = run([*arguments, "-o", "json", "--facts-only"], environment)
    assert isinstance(environment.stdout, io.StringIO)
    assert isinstance(environment.stderr, io.StringIO)
    text = environment.stdout.getvalue()
    return code, json.loads(text) if text else {"complaint": environment.stderr.getvalue()}


def rows(report: dict[str, Any], table: str, **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in report["facts"][table] if all(row[key] == value for key, value in wanted.items())]


def lags(report: dict[str, Any], group: str) -> dict[int, int | None]:
    return {row["partition"]: row["lag_records"] for row in rows(report, "committed_offsets", group=group)}


@dataclass
class Scene:
    """The cluster with what was put into it, and clients that stay open."""

    kafka: KafkaCluster
    clients: list[Any] = field(default_factory=list)
    coordinators: dict[str, int] = field(default_factory=dict)
    """Of the groups, before a broker died."""

    def settings(self, **more: Any) -> dict[str, Any]:
        return {"bootstrap.servers": self.kafka.bootstrap, **QUIET, **more}

    def commit(self, group: str, offsets: dict[int, int], topic: str = "orders") -> None:
        """As Flink, Spark and Beam do: assign(), then commit; no member ever joins."""
        consumer = Consumer(self.settings(**{"group.id": group, "enable.auto.commit": False}))
        consumer.commit(offsets=[TopicPartition(topic, p, o) for p, o in offsets.items()], asynchronous=False)
        consumer.close()

    def join(self, group: str, client: str, **more: Any) -> Consumer:
        """A member that holds all partitions of orders."""
        consumer = Consumer(self.settings(**{"group.id": group, "client.id": client, "enable.auto.commit": False, **more}))
        self.clients.append(consumer)
        consumer.subscribe(["orders"])

        def assigned() -> bool:
            consumer.poll(0.1)
            return len(consumer.assignment()) == len(RECORDS_PER_PARTITION)

        wait_until(assigned, f"{client} to get its partitions", patience_seconds=60)
        return consumer


@pytest.fixture(scope="module")
def scene(kafka_cluster: KafkaStarter) -> Iterator[Scene]:
    # a stopped broker stays what it was for the cluster until all questions about it are asked
    kafka = kafka_cluster(brokers=3, **{"broker.session.timeout.ms": "30000"})
    scene = Scene(kafka)
    admin = AdminClient(scene.settings())
    topics = [
        NewTopic("orders", 4, 3),
        NewTopic("alone", 3, replica_assignment=[[1], [2], [3]]),
        NewTopic("open", 1, 3),
        NewTopic("cut", 1, 3),
    ]
    for created in admin.create_topics(topics).values():
        created.result(timeout=60)
    producer = Producer(scene.settings())
    for partition, count in RECORDS_PER_PARTITION.items():
        for number in range(count):
            producer.produce("orders", f"record {number}".encode(), partition=partition)
    for number in range(100):
        producer.produce("cut", f"record {number}".encode(), partition=0)
    assert producer.flush(60) == 0
    scene.commit("flink-job", {0: 5, 1: 40, 2: 0})
    scene.commit("behind-retention", {0: 10}, topic="cut")
    for deleted in admin.delete_records([TopicPartition("cut", 0, 60)]).values():
        deleted.result(timeout=60)
    yield scene
    for client in scene.clients:
        if isinstance(client, Consumer):
            client.close()


def test_all_alive(scene: Scene) -> None:
    code, report = diag("broker-health", "-b", scene.kafka.bootstrap)
    assert code == 0
    assert [(row["broker"], row["state"]) for row in report["facts"]["bootstrap_servers"]] == [(1, "alive"), (2, "alive"), (3, "alive")]
    assert [row["address"] for row in report["facts"]["brokers"]] == scene.kafka.bootstrap.split(",")
    assert {row["state"] for row in rows(report, "partitions", topic="orders")} == {"ok"}
    assert [row["leader"] for row in rows(report, "partitions", topic="alone")] == [1, 2, 3]
    admin = AdminClient(scene.settings())
    assert {row["topic"] for row in report["facts"]["partitions"]} == set(admin.list_topics(timeout=30).topics)


def test_lag_equals_what_was_produced(scene: Scene) -> None:
    code, report = diag("lag-report", "-b", scene.kafka.bootstrap, "--group", "flink-job")
    assert code == 0
    assert lags(report, "flink-job") == {0: 20, 1: 0, 2: 0, 3: None}, "nobody committed 3, and nobody reads it: its lag is not 0"
    (group,) = report["facts"]["groups"]
    assert (group["state"], group["type"], group["members"], group["simple"], group["error"]) == ("Empty", "classic", 0, True, None)
    ends = {row["partition"]: (row["log_start"], row["last_stable"], row["high_watermark"]) for row in report["facts"]["log_offsets"]}
    assert ends == {0: (0, 25, 25), 1: (0, 40, 40), 2: (0, 0, 0), 3: (0, 7, 7)}


def test_lag_is_counted_from_the_log_start_when_retention_overtook_the_commit(scene: Scene) -> None:
    _, report = diag("lag-report", "-b", scene.kafka.bootstrap, "--group", "behind-retention")
    (row,) = report["facts"]["committed_offsets"]
    assert (row["committed"], row["log_start"], row["high_watermark"], row["lag_records"]) == (10, 60, 100, 40)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_and_partitions_without_a_commit(scene: Scene, protocol: str) -> None:
    group = f"members-{protocol}"
    consumer = scene.join(group, f"worker-{protocol}", **{"group.protocol": protocol})
    consumer.commit(offsets=[TopicPartition("orders", 0, 24)], asynchronous=False)
    _, report = diag("lag-report", "-b", scene.kafka.bootstrap, "--group", group)
    (described,) = report["facts"]["groups"]
    assert (described["type"], described["state"], described["members"], described["simple"]) == (protocol, "Stable", 1, False)
    (member,) = report["facts"]["members"]
    assert (member["client"], member["host"], member["assigned"]) == (
        f"worker-{protocol}", "127.0.0.1", ["orders-0", "orders-1", "orders-2", "orders-3"],
    )  # fmt: skip
    assert lags(report, group) == {0: 1, 1: None, 2: None, 3: None}
    assert {row["client"] for row in report["facts"]["committed_offsets"]} == {f"worker-{protocol}"}


def test_an_open_transaction_holds_the_last_stable_offset(scene: Scene) -> None:
    producer = Producer(scene.settings(**{"transactional.id": "hanging", "transaction.timeout.ms": 600000}))
    scene.clients.append(producer)
    producer.init_transactions(60)
    producer.begin_transaction()
    for number in range(30):
        producer.produce("open", f"unseen {number}".encode(), partition=0)
    producer.flush(60)
    scene.commit("reads-committed", {0: 0}, topic="open")
    _, report = diag("lag-report", "-b", scene.kafka.bootstrap, "--group", "reads-committed")
    (row,) = report["facts"]["committed_offsets"]
    assert (row["last_stable"], row["high_watermark"], row["lag_records"]) == (0, 30, 30)
    producer.abort_transaction(60)


def test_a_mistyped_group_or_topic_gets_a_proposal(scene: Scene) -> None:
    code, report = diag("lag-report", "-b", scene.kafka.bootstrap, "--group", "flink-jib")
    assert code == 2
    assert "flink-job" in report["complaint"]
    code, report = diag("lag-report", "-b", scene.kafka.bootstrap, "--topic", "order")
    assert code == 2
    assert "orders" in report["complaint"]


def test_looking_changes_nothing(scene: Scene) -> None:
    def picture() -> tuple[Any, ...]:
        _, lag = diag("lag-report", "-b", scene.kafka.bootstrap)
        _, health = diag("broker-health", "-b", scene.kafka.bootstrap, "--topic", "never-created")
        offsets = [(r["group"], r["topic"], r["partition"], r["committed"]) for r in lag["facts"]["committed_offsets"]]
        topics = sorted(AdminClient(scene.settings()).list_topics(timeout=30).topics)
        return offsets, topics, [(r["group"], r["state"]) for r in lag["facts"]["groups"]], health["sources"]

    before = picture()
    assert picture() == before
    assert "never-created" not in before[1]


# From here on brokers die; the order of the tests is the story ------------------------------------------------------------


def test_one_killed_and_one_stopped(scene: Scene) -> None:
    for number in range(12):  # so many groups that every broker coordinates some
        scene.commit(f"spread-{number}", {0: 1})
    _, whole = diag("lag-report", "-b", scene.kafka.bootstrap)
    scene.coordinators = coordinators = {row["group"]: row["coordinator"] for row in whole["facts"]["groups"]}
    assert set(coordinators.values()) == {1, 2, 3}

    scene.kafka.kill(2)
    scene.kafka.pause(3)
    started = time.monotonic()
    code, report = diag("broker-health", "-b", scene.kafka.bootstrap, "--timeout", "4s")
    assert time.monotonic() - started < 5
    assert code == 1
    assert [row["state"] for row in report["facts"]["bootstrap_servers"]] == ["alive", "refused", "hung"]
    states = {row["partition"]: row["state"] for row in rows(report, "partitions", topic="alone")}
    assert states[0] == "ok"
    # whether the cluster has noticed yet does not matter: nobody can read them from here
    assert {states[1], states[2]} <= {"leaderless", "leader-unreachable"}

    started = time.monotonic()
    # the living broker's groups are asked for in two fifths of it, by a library in a process that has only begun
    code, report = diag("lag-report", "-b", scene.kafka.bootstrap, "--timeout", "8s")
    assert time.monotonic() - started < 9
    assert code == 0, json.dumps(report["sources"])
    (source,) = report["sources"]
    assert source["state"] == "partial"
    for node, how in ((2, "refused"), (3, "hung")):
        assert f"groups coordinated by broker {node} ({scene.kafka.members[node].address}) are unknown: {how}" in source["why"]
    seen = {row["group"] for row in report["facts"]["groups"]}
    assert {group for group, node in coordinators.items() if node == 1} <= seen
    for row in report["facts"]["committed_offsets"]:
        assert (
            row["lag_records"] is not None or row["committed"] is None or "cannot be asked" in row["error"] or "no leader" in row["error"]
        )


def test_a_group_whose_coordinator_is_silent_is_unknown_not_absent(scene: Scene) -> None:
    """Broker 3 is still stopped: a group that it coordinates is not listed by anybody."""
    silent = next(group for group, node in scene.coordinators.items() if node == 3)
    code, report = diag("lag-report", "-b", scene.kafka.bootstrap, "--group", silent, "--timeout", "4s")
    assert code == 3
    assert silent in report["sources"][0]["why"]
    assert report["facts"]["committed_offsets"] == []


def test_a_stopped_broker_that_goes_on_is_alive_again(scene: Scene) -> None:
    scene.kafka.resume(3)
    scene.kafka.start(2)

    def alive() -> bool:
        code, report = diag("broker-health", "-b", scene.kafka.bootstrap, "--timeout", "4s")
        return code == 0 and {row["state"] for row in report["facts"]["partitions"]} == {"ok"}

    wait_until(alive, "all partitions to be in sync again", patience_seconds=60)


def test_no_broker_survives_a_killed_driver(scene: Scene, tmp_path: Path) -> None:
    program = (
        "import signal, sys\nfrom fixtures.lab.kafka import KafkaCluster\n"
        "with KafkaCluster(1) as kafka:\n    print(kafka.members[1].pid, flush=True)\n    signal.pause()"
    )
    # its files cannot be removed by a driver that is killed: they go where pytest cleans up
    surroundings = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=surroundings) as driver:
        assert driver.stdout is not None
        line = driver.stdout.readline()
        assert line, "the driver could not start a broker"
        broker = int(line)
        os.kill(broker, 0)
        driver.send_signal(signal.SIGKILL)

    def gone() -> bool:
        try:
            os.kill(broker, 0)
        except ProcessLookupError:
            return True
        # a container without an init leaves it as a zombie, which holds nothing
        with open(f"/proc/{broker}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"

    if sys.platform.startswith("linux"):
        wait_until(gone, "the broker to die with its driver", patience_seconds=30)
    else:
        os.kill(broker, signal.SIGKILL)
