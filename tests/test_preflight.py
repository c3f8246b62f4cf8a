"""`diag preflight broker-removal`: what is asked, what is answered, and how a run ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzers.derived.planned.broker_removal import broker_removal, coordinator_partition, plan_row
from analyzers.tables import BOOTSTRAP_SERVERS, BROKERS, PARTITIONS, Row
from cli.runs.preflight import node_ids
from cli.shell.exits import UsageError
from tests.command_line import diag

FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.mark.parametrize(
    ("group", "partitions", "kept_in"),
    [
        ("a", 50, 97 % 50),
        ("hello", 50, 99162322 % 50),
        ("polygenelubricants", 50, 0),  # its hash code is the smallest number of all
        ("", 50, 0),
        ("größe", 4, coordinator_partition("größe", 4)),
    ],
)
def test_a_group_is_kept_where_java_puts_it(group: str, partitions: int, kept_in: int) -> None:
    """``String.hashCode`` of "hello" is 99162322."""
    assert coordinator_partition(group, partitions) == kept_in


@pytest.mark.parametrize(("text", "ids"), [("5", [5]), ("6, 5,5", [5, 6])])
def test_node_ids(text: str, ids: list[int]) -> None:
    assert node_ids(text) == ids


@pytest.mark.parametrize("text", ["", "5,", "kafka-5", "-1", "5;6", "²", "9" * 12])
def test_what_is_no_list_of_node_ids_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        node_ids(text)


def _broker(node: int, state: str = "alive") -> Row:
    return BROKERS.row({"scope": "", "broker": node, "address": f"k{node}:9092", "state": state, "in_metadata": True})


def _partition(number: int, replicas: list[int], in_sync: list[int] | None = None) -> Row:
    own = {"replicas": [str(node) for node in replicas], "isr": [str(node) for node in in_sync or replicas], "adding": [], "removing": []}
    return PARTITIONS.row({"scope": "", "topic": "orders", "partition": number, "leader": replicas[0], **own})


def _answers(tables: dict[str, list[Row]], *brokers: int) -> dict[str, tuple[str, str]]:
    rows = broker_removal({**tables, "planned_changes": [plan_row(brokers, ())]})
    return {row["question"]: (row["answer"], row["says"]) for row in rows}


def test_a_broker_that_is_dead_already_keeps_nothing_in_sync() -> None:
    """The metadata may still name it as in sync for some seconds."""
    alive = {"brokers": [_broker(1), _broker(2), _broker(3)], "partitions": [_partition(0, [3, 2])]}
    assert _answers(alive, 3)["in-sync"][0] == "goes"
    dead = {**alive, "brokers": [_broker(1), _broker(2, "black-hole"), _broker(3)]}
    assert _answers(dead, 3)["in-sync"][0] == "breaks"


def test_an_entry_is_known_by_its_address_where_it_did_not_tell_its_id() -> None:
    entries = [BOOTSTRAP_SERVERS.row({"scope": "", "entry": f"k{node}:9092", "position": node, "state": "alive"}) for node in (2, 3)]
    tables = {"brokers": [_broker(1), _broker(2), _broker(3)], "partitions": [_partition(0, [1])], "bootstrap_servers": entries}
    assert _answers(tables, 2, 3)["bootstrap"] == (
        "breaks", "every entry of the bootstrap list goes (k2:9092, k3:9092): no client of it starts again",
    )  # fmt: skip
    assert _answers(tables, 1)["bootstrap"][0] == "goes"


def test_a_redacted_name_tells_no_coordinator() -> None:
    rows = [_partition(number, [1, 2]) for number in range(2)]
    offsets = [{**row, "topic": "__consumer_offsets"} for row in rows]
    tables = {"brokers": [_broker(1), _broker(2), _broker(3)], "partitions": offsets}
    for group, answer in (("orders-totals", "goes"), ("group-0a1b2c3d", "unknown")):
        asked = broker_removal({**tables, "planned_changes": [plan_row([3], [group])]})
        assert [row["answer"] for row in asked if row["question"] == "coordinator"] == [answer]


def test_without_any_partition_nothing_is_promised() -> None:
    said = _answers({"brokers": [_broker(1), _broker(2)], "partitions": []}, 2)
    assert said["replicas"][0] == "unknown"
    assert "goes" not in {answer for answer, _ in said.values()}


@pytest.mark.jvm
@pytest.mark.parametrize(("bundle", "code"), [("PRE101/quiet", 0), ("PRE101/fires-min-isr", 1), ("PRE901/fires-space", 0)])
def test_what_breaks_makes_the_exit_code_1(bundle: str, code: int) -> None:
    ended, out, err = diag("preflight", "broker-removal", "--brokers", "5,6", "--bundle", str(FIXTURES / bundle), "-o", "json")
    assert ended == code, err
    report = json.loads(out)
    answers = {row["answer"] for row in report["facts"]["preflight"]}
    assert ("breaks" in answers) == (code == 1)
    assert report["command"] == "preflight broker-removal"
    assert not {"PRE102", "PRE902"} & set(report["clean"])  # nothing is restored


@pytest.mark.jvm
def test_the_brokers_of_the_command_line_are_asked_about_not_those_of_the_bundle() -> None:
    ended, out, err = diag(
        "preflight", "broker-removal", "--brokers", "4", "--bundle", str(FIXTURES / "PRE101/fires-min-isr"), "-o", "json"
    )
    assert ended == 0, err
    assert {row["answer"] for row in json.loads(out)["facts"]["preflight"]} == {"goes"}


def test_no_cluster_is_wrong_usage() -> None:
    ended, _, err = diag("preflight", "broker-removal", "--brokers", "5")
    assert (ended, "no cluster is named" in err) == (2, True)
