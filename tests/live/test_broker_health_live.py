"""Six real brokers that die in every way, in a network of their own: each kind of death by its name, in time, and the rest still told."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # it is there, and not in its __all__

from fixtures.lab.artifacts import LabUnavailable, class_path
from fixtures.lab.kafka import KAFKA, KafkaCluster
from fixtures.lab.network import black_hole, private_network
from tests.live.conftest import unavailable

ROOT = Path(__file__).parent.parent.parent
TIMEOUT_SECONDS = 10.0
START_SECONDS = 20.0  # of Python, on a busy machine


@dataclass
class Answer:
    """What one run said; `asking_seconds` is its time on the network."""

    code: int
    report: dict[str, Any]
    seconds: float
    stderr: str = field(repr=False)

    def states(self, table: str = "bootstrap_servers", key: str = "entry") -> dict[Any, str]:
        return {row[key]: row["state"] for row in self.report["facts"][table]}


def diag(*arguments: str, command: Sequence[str] = ("broker-health",)) -> Answer:
    """In a process of its own: it must be inside the private network from its first thread on."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "cli", *command, *arguments, "--facts-only", "-o", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout, done.stderr
    return Answer(done.returncode, json.loads(done.stdout), time.monotonic() - begun, done.stderr)


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    """``orders`` has three replicas, ``alone`` one on each broker, ``sink`` lives on 4, 5, 6 and wants two in sync."""
    with ExitStack() as stack:
        try:
            class_path(KAFKA)  # from inside there is no way to where jars come from
            stack.enter_context(private_network())
            kafka = stack.enter_context(KafkaCluster(6))
        except LabUnavailable as reason:
            unavailable(reason)
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        rings = [[(first + step) % 6 + 1 for step in range(3)] for first in range(6)]
        topics = [
            NewTopic("orders", 6, replica_assignment=rings),
            NewTopic("alone", 6, replica_assignment=[[node] for node in range(1, 7)]),
            NewTopic("sink", 1, replica_assignment=[[4, 5, 6]], config={"min.insync.replicas": "2"}),
        ]
        for made in admin.create_topics(topics).values():
            made.result(timeout=60)
        yield kafka


def test_six_alive_run_the_same_software(kafka: KafkaCluster) -> None:
    answer = diag("-b", kafka.bootstrap)
    assert answer.code == 0
    assert set(answer.states().values()) == {"alive"}
    brokers = answer.report["facts"]["brokers"]
    assert len({row["speaks"] for row in brokers}) == 1
    assert {"metadata.version 30"} == {name for row in brokers for name in row["finalized"] if name.startswith("metadata.version")}
    assert sum(row["preferred"] for row in brokers) == 13
    assert answer.report["facts"]["forecast"] == []


def test_what_would_be_if_three_were_removed(kafka: KafkaCluster) -> None:
    asked = ("--client-version", "2.4.1", "--connector", "legacy", "--parallelism", "64", "--what-if", "remove=4,5,6")
    (row,) = diag("-b", kafka.bootstrap, *asked).report["forecast"]
    assert (row["dead"], row["entries"], row["p_fail_client"], row["clients"]) == (3, 6, 0.5, 64)
    assert "every replica gone: alone-3, alone-4, alone-5 and 2 more" in row["says"]  # orders-3 and sink-0
    assert row["fixes"][0]["lines"][0] == f"SQL: 'properties.bootstrap.servers' = '{','.join(kafka.bootstrap.split(',')[:3])}'"


@pytest.fixture(scope="module")
def foretold(kafka: KafkaCluster) -> dict[str, dict[str, Any]]:
    """What `preflight` answers, while all six are well, about the three brokers that die below."""
    asked = ("--brokers", "4,5,6", "-b", kafka.bootstrap, "--client-version", "2.4.1", "--connector", "legacy", "--parallelism", "64")
    answer = diag(*asked, "--group", "totals", command=("preflight", "broker-removal"))
    assert answer.code == 0, answer.stderr  # facts alone are no findings
    return {row["question"]: row for row in answer.report["facts"]["preflight"]}


def test_a_removal_is_asked_about_before_it_is_made(kafka: KafkaCluster, foretold: dict[str, dict[str, Any]]) -> None:
    said = {question: row["answer"] for question, row in foretold.items()}
    assert said == {
        "replicas": "breaks", "in-sync": "goes", "min-isr": "goes", "replication-factor": "goes", "leaders": "goes",
        "reassignments": "goes", "space": said["space"], "quorum": "goes", "coordinator": "unknown", "bootstrap": "breaks",
    }  # fmt: skip
    assert set(foretold["replicas"]["partitions"]) == {"alone-3", "alone-4", "alone-5", "orders-3", "sink-0"}
    ours = ("--topic", "orders", "--topic", "sink", "-b", ",".join(kafka.bootstrap.split(",")[:3]))
    one = diag("--brokers", "6", *ours, command=("preflight", "broker-removal")).report["facts"]["preflight"]
    assert {row["answer"] for row in one if row["question"] not in ("space",)} == {"goes"}


def test_each_kind_of_death_by_its_name_within_the_time_out(kafka: KafkaCluster, foretold: dict[str, dict[str, Any]]) -> None:
    """The story goes on from here: 4 is stopped, the host of 5 is gone, 6 is killed; half of the cluster."""
    kafka.pause(4)
    black_hole(kafka.members[5].host)
    kafka.kill(6)
    answer = diag("-b", kafka.bootstrap + ",no-such-host.invalid:9092", "--client-version", "2.4.1", "--parallelism", "64")
    assert answer.code == 1
    assert answer.seconds < TIMEOUT_SECONDS + START_SECONDS
    assert list(answer.states().values()) == ["alive", "alive", "alive", "hung", "black-hole", "refused", "dns"]
    partitions = {(row["topic"], row["partition"]): row["state"] for row in answer.report["facts"]["partitions"]}
    assert [partitions["alone", n] for n in range(3)] == ["ok"] * 3
    dead = {f"{topic}-{number}" for (topic, number), state in partitions.items() if state in ("leaderless", "leader-unreachable")}
    assert dead >= set(foretold["replicas"]["partitions"])
    assert {partitions["alone", n] for n in (3, 4, 5)} <= {"leaderless", "leader-unreachable"}
    (row,) = answer.report["forecast"]
    # refused and unresolved entries are left at once: 2 silent against 3 living ones
    assert (row["kind"], row["dead"], row["skipped"], row["p_fail_client"]) == ("black-hole+hung", 2, 2, pytest.approx(0.25))
    assert row["smallest_change"] == "drop the 4 dead entries from bootstrap.servers"


def test_nobody_left_is_a_finding(kafka: KafkaCluster) -> None:
    for node in (1, 2, 3):
        kafka.kill(node)
    answer = diag("-b", kafka.bootstrap, "--client-version", "3.4.0", "--timeout", "4s")
    assert answer.code == 1
    assert answer.seconds < 4 + START_SECONDS
    assert "alive" not in answer.states().values()
    (row,) = answer.report["forecast"]
    assert (row["p_fail_start"], row["expected_starts"]) == (1, None)
