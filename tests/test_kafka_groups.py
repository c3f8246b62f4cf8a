"""What is made of a cluster's answers: lag, assignments, states of partitions; and the two commands against a fake broker."""

from __future__ import annotations

import asyncio
import io
import json
import struct
import time
from types import SimpleNamespace
from typing import Any

import pytest

from cli.collectors.client_properties import ClientProperties
from cli.collectors.consumer_group_describe import ConsumerGroupDescribeRequest
from cli.collectors.kafka_cluster import Cluster, partition_rows
from cli.collectors.kafka_connection import AdvertisedBroker, Metadata
from cli.collectors.kafka_groups import Group, assigned_partitions, fetch_committed, lag
from cli.collectors.kafka_log_ends import LogEnds
from cli.collectors.kafka_session import Limits
from cli.options.kafka import seconds
from cli.runs.lag_report import wanted_groups
from cli.shell.exits import UsageError
from tests import command_line
from tests.kafka_servers import FakeBroker, refusing, serving, silent


@pytest.mark.parametrize(
    ("committed", "log_start", "high_watermark", "behind"),
    [
        (90, 0, 100, 10),
        (100, 0, 100, 0),
        (10, 60, 100, 40),  # retention took 50 of the 90: those are lost, not behind
        (None, 0, 100, None),  # never committed is not 0 and not 100
        (90, 0, None, None),
        (90, None, 100, None),  # without the log start it cannot be told how much of it still exists
        (500, 0, 100, 0),  # the topic was made anew
    ],
)
def test_lag(committed: int | None, log_start: int | None, high_watermark: int | None, behind: int | None) -> None:
    assert lag(committed, LogEnds(log_start, high_watermark, high_watermark)) == behind


def test_records_that_arrive_between_two_questions_are_no_open_transaction() -> None:
    ends = LogEnds(log_start=0, high_watermark=100, last_stable=130)
    ends.settle()
    assert (ends.last_stable, ends.high_watermark) == (100, 100)
    held = LogEnds(log_start=0, high_watermark=100, last_stable=70)
    held.settle()
    assert held.last_stable == 70


def test_assignments_are_read_and_other_protocols_bytes_are_not() -> None:
    topic = struct.pack(">h6sii", 6, b"orders", 2, 3) + struct.pack(">i", 1)
    assert assigned_partitions(struct.pack(">hi", 1, 1) + topic + struct.pack(">i", -1)) == [("orders", 1), ("orders", 3)]
    assert assigned_partitions(b"") == []
    assert assigned_partitions(b"connect: worker-1") == []


def test_members_of_a_kip848_group_are_decoded() -> None:
    def text(value: str | None) -> bytes:
        return b"\0" if value is None else bytes([len(value) + 1]) + value.encode()

    def assignment(*partitions: int) -> bytes:
        numbers = struct.pack(f">{len(partitions)}i", *partitions)
        return b"\2" + b"\7" * 16 + text("orders") + bytes([len(partitions) + 1]) + numbers + b"\0" + b"\0"

    member = text("m-1") + text(None) + text(None) + struct.pack(">i", 3) + text("worker") + text("/10.0.0.7")
    member += b"\2" + text("orders") + text(None) + assignment(0, 2) + assignment(0, 2, 3) + b"\0"
    group = struct.pack(">h", 0) + text(None) + text("g") + text("Stable") + struct.pack(">ii", 3, 3) + text("uniform")
    group += b"\2" + member + struct.pack(">i", -(2**31)) + b"\0"
    body = struct.pack(">i", 0) + b"\2" + group + b"\0"

    request = ConsumerGroupDescribeRequest[0](group_ids=["g"])
    request.with_header(correlation_id=5, client_id="diag")
    framed = request.encode(framed=True, header=True)
    assert struct.unpack_from(">ihhi", framed) == (len(framed) - 4, 69, 0, 5)
    assert request.header is not None
    answers = request.header.get_response_class()
    buffer = io.BytesIO(struct.pack(">i", 5) + b"\0" + body)
    assert answers.parse_header(buffer).correlation_id == 5
    (described,) = answers.decode(buffer).groups
    (told,) = described.members
    assert (described.group_id, described.group_state, told.member_id, told.client_host) == ("g", "Stable", "m-1", "/10.0.0.7")
    assert told.assigned == (("orders", 0), ("orders", 2))


class OldBroker:
    """Stands for a cluster of one broker before Kafka 3.0; notes the questions."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    async def newest(self, node: int, request: Any) -> int:
        return 7

    async def ask(self, node: int, request: Any, name: str, *, newest: int, **fields: Any) -> Any:
        self.asked.append(fields | {"newest": newest})
        partition = SimpleNamespace(partition_index=0, committed_offset=5 if fields["group_id"] == "a" else -1, error_code=0)
        return SimpleNamespace(error_code=0, topics=[SimpleNamespace(name="orders", partitions=[partition])])


def test_an_old_broker_is_asked_for_one_group_at_a_time() -> None:
    """Version 7 has no list of groups: encoded for it, the list would silently become a question about the group without a name."""
    old = OldBroker()
    groups = {"a": Group(1), "b": Group(1)}
    asyncio.run(fetch_committed(old, 1, ["a", "b"], groups))  # type: ignore[arg-type]  # the part of a cluster that is used
    assert [(q["group_id"], q["newest"]) for q in old.asked] == [("a", 7), ("b", 7)]
    assert groups["a"].committed == {("orders", 0): 5}
    assert groups["b"].committed == {("orders", 0): None}


def test_states_of_partitions() -> None:
    def partition(number: int, leader: int, replicas: list[int], isr: list[int]) -> Any:
        return SimpleNamespace(partition_index=number, leader_id=leader, replica_nodes=replicas, isr_nodes=isr)

    brokers = tuple(AdvertisedBroker(node, f"kafka-{node}", 9092, None) for node in (1, 2))
    parts = [partition(0, 1, [1, 2], [1, 2]), partition(1, 1, [1, 3], [1]), partition(2, -1, [3], [3]), partition(3, 3, [3], [3])]
    parts.append(partition(4, 2, [2], [2]))
    cluster = Cluster(ClientProperties(), None, Limits.within(1), Metadata("c", None, brokers))
    cluster.topics = [SimpleNamespace(name="orders", partitions=parts, error_code=0)]
    rows = partition_rows(cluster, {2: "black-hole"})
    assert [row["state"] for row in rows] == ["ok", "under-replicated", "leaderless", "leaderless", "leader-unreachable"]
    assert [row["leader"] for row in rows] == [1, 1, None, None, 2]
    assert rows[1]["offline"] == ["3"]


def test_groups_are_chosen_by_id_or_expression() -> None:
    wants = wanted_groups(["orders.v2", "pay-.*"])
    assert [name for name in ("orders.v2", "pay-eu", "xpay-eu", "pay") if wants(name)] == ["orders.v2", "pay-eu"]
    assert wanted_groups([])("anything")
    with pytest.raises(UsageError, match="--group"):
        wanted_groups(["odd(name"])


@pytest.mark.parametrize(("text", "value"), [("10s", 10.0), ("500ms", 0.5), ("1m", 60.0), ("2", 2.0), ("1.5 s", 1.5)])
def test_times(text: str, value: float) -> None:
    assert seconds(text, "--timeout") == value


@pytest.mark.parametrize("text", ["", "0", "-1s", "10 years", "50ms"])
def test_times_that_make_no_sense(text: str) -> None:
    with pytest.raises(UsageError, match="--timeout"):
        seconds(text, "--timeout")


# The commands -----------------------------------------------------------------------------------------------------------


def diag(*arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that prints its facts; tests/test_judging.py has what rules make of them."""
    return command_line.diag(*arguments, "--facts-only")


def test_broker_health_of_a_living_cluster_is_clean() -> None:
    with serving(FakeBroker().talk) as address:
        code, out, _ = diag("broker-health", "-b", address, "-o", "json", "--timeout", "2s")
    report = json.loads(out)
    assert code == 0
    assert report["facts"]["bootstrap_servers"][0]["state"] == "alive"
    assert report["facts"]["brokers"][0]["broker"] == 1
    assert {source["state"] for source in report["sources"]} == {"ok"}


def test_topics_that_are_not_shown_are_not_taken_for_an_empty_cluster() -> None:
    with serving(FakeBroker(operations=frozenset()).talk) as address:
        code, out, _ = diag("broker-health", "-b", address, "-o", "json", "--timeout", "2s")
    (topics,) = (source for source in json.loads(out)["sources"] if source["name"] == "topics")
    assert (code, topics["state"]) == (3, "failed")
    assert "there is none, or this user may not DESCRIBE it – grant: kafka-acls" in topics["why"]


def test_a_dead_broker_is_a_finding_and_names_the_odds() -> None:
    with serving(FakeBroker().talk) as alive, serving(silent) as hung, refusing() as gone:
        started = time.monotonic()
        code, out, _ = diag(
            "broker-health", "-b", f"{alive},{hung},{gone}", "--client-version", "2.4.1", "--parallelism", "8", "--timeout", "2s"
        )
        took = time.monotonic() - started
    assert code == 1
    assert took < 3.0
    assert f"\t{hung}\t1\t127.0.0.1\thung\t" in out
    assert f"\t{gone}\t2\t127.0.0.1\trefused\t" in out
    assert "kafka-clients 2.4.1, 2 of 3 entries dead (1 hung, 1 refused), 8 clients must all start" in out


def test_a_cluster_that_is_gone_altogether_is_a_finding_too() -> None:
    with refusing() as gone:
        health, out, _ = diag("broker-health", "-b", gone, "-o", "json", "--timeout", "2s")
        lag_code, told, complaint = diag("lag-report", "-b", gone, "-o", "json", "--timeout", "2s")
    assert health == 1
    assert json.loads(out)["facts"]["bootstrap_servers"][0]["state"] == "refused"
    assert lag_code == 3
    assert "refused" in complaint
    assert "diag broker-health" in complaint
    (source,) = json.loads(told)["sources"]  # a program that reads the report learns it, too
    assert (source["state"], "refused" in source["why"]) == ("failed", True)


@pytest.mark.parametrize(
    "arguments", [("-b", "kafka"), (), ("-b", "a:1", "--timeout", "never"), ("-b", "a:1", "-o", "poem"), ("--command-config", "/none")]
)
@pytest.mark.parametrize("command", ["broker-health", "lag-report"])
def test_wrong_options(command: str, arguments: tuple[str, ...]) -> None:
    code, out, complaint = diag(command, *arguments)
    assert (code, out) == (2, "")
    assert complaint


def test_a_connector_that_does_not_exist_is_refused_with_those_there_are() -> None:
    code, _, complaint = diag("broker-health", "--connector", "camel", "--what-if", "entries=3 dead=1")
    assert code == 2
    assert "Choose from legacy, kafka-source, beam, spark, plain" in complaint
