"""What is made of a cluster's answers: lag, assignments, states of partitions; and the two commands against a fake broker."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli.collectors import kafka_groups
from cli.collectors.client_properties import ClientProperties
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_connection import AdvertisedBroker, Metadata
from cli.collectors.kafka_group import Group
from cli.collectors.kafka_groups import ask_members_and_commits, coordinated_by, lag
from cli.collectors.kafka_log_ends import LogEnds, ask_log_ends
from cli.collectors.kafka_permissions import Sight
from cli.collectors.kafka_session import Dead, Limits
from cli.collectors.kafka_topics import partition_rows
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


class Answering:
    """Stands for a cluster whose brokers in `dead` cannot be reached and whose library gives `rows`; notes the questions."""

    def __init__(self, rows: Sequence[dict[str, Any]], dead: Collection[int] = ()) -> None:
        self.rows, self.dead, self.asked, self.sight = rows, dead, list[dict[str, Any]](), Sight()
        self.leaders: Mapping[tuple[str, int], int] = {}
        self.brokers: Mapping[int, Any] = {}

    async def reach(self, node: int) -> None:
        if node in self.dead:
            raise Dead("refused", "Connection refused")

    def name(self, node: int) -> str:
        return f"broker {node}"

    async def ask_library(self, ask: str, take: Any, **question: Any) -> str:
        self.asked.append(question)
        for row in self.rows:
            take(row)
        return "no answer in 4.0 s"


def answered(group: str, *, state: str = "EMPTY", committed: Sequence[Any] = (), members: Sequence[Any] = ()) -> list[dict[str, Any]]:
    described = {"state": state, "simple": not members, "members": list(members)}
    return [{"group": group, "error": None, "committed": committed}, {"group": group, "error": None, "described": described}]


def test_a_silent_coordinator_costs_its_own_groups() -> None:
    groups = {name: Group(node, "classic", "") for name, node in (("a", 1), ("b", 2), ("c", 1))}
    cluster = Answering(answered("a", committed=[["orders", 0, 5, None], ["orders", 1, None, None]]), dead={2})
    asyncio.run(ask_members_and_commits(cast(Cluster, cluster), groups))
    assert [question["groups"] for question in cluster.asked] == [["a", "c"]]  # nobody waits for broker 2
    assert groups["a"].committed == {("orders", 0): 5, ("orders", 1): None}
    assert (groups["a"].error, groups["a"].state) == (None, "Empty")
    assert groups["b"].error == "its coordinator broker 2 cannot be asked: refused, Connection refused"
    assert groups["c"].error == "its coordinator broker 1 cannot be asked: no answer in 4.0 s"


def test_members_and_states_that_the_library_does_not_know() -> None:
    member = {"member": "m-1", "client": "worker", "instance": None, "host": "/10.0.0.7", "assigned": [["orders", 0], ["orders", 2]]}
    groups = {"g": Group(1, "consumer", "consumer", state="Reconciling")}  # as it was listed
    cluster = Answering(answered("g", state="UNKNOWN", members=[member]))
    asyncio.run(ask_members_and_commits(cast(Cluster, cluster), groups))
    assert groups["g"].state == "Reconciling"
    assert groups["g"].members == [member | {"host": "10.0.0.7", "assigned": [("orders", 0), ("orders", 2)]}]


def test_a_group_that_is_not_there_and_one_that_may_not_be_seen() -> None:
    groups = {"gone": Group(1, "classic"), "hidden": Group(1, "classic"), "new": Group(1, "unheard-of")}
    refused = {"group": "hidden", "error": [30, "Broker: Group authorization failed"]}
    cluster = Answering([*answered("gone", state="DEAD"), {**refused, "committed": None}, {**refused, "described": None}])
    asyncio.run(ask_members_and_commits(cast(Cluster, cluster), groups))
    assert (groups["gone"].state, groups["gone"].error) == ("Dead", "GROUP_ID_NOT_FOUND: no such group")
    assert groups["hidden"].error == "GROUP_AUTHORIZATION_FAILED: this user needs DESCRIBE on the group"
    assert groups["new"].error == "this diag does not know groups of type unheard-of"


def test_a_share_group_has_the_lag_of_its_broker_and_nothing_is_subtracted() -> None:
    def place(number: int, start: int, lag: int, error: int = 0) -> SimpleNamespace:
        return SimpleNamespace(partition_index=number, start_offset=start, lag=lag, error_code=error, error_message=None)

    owned = SimpleNamespace(topic_name="orders", partitions=[1, 0])
    member = {
        "member_id": "m-1",
        "client_id": "worker",
        "client_host": "/10.0.0.7",
        "assignment": SimpleNamespace(topic_partitions=[owned]),
    }
    described = SimpleNamespace(group_id="jobs", error_code=0, group_state="Stable", members=[SimpleNamespace(**member)])
    places = [place(0, 4, 6), place(1, 0, 6), place(2, -1, -1), place(3, -1, -1, 29)]
    offsets = SimpleNamespace(group_id="jobs", error_code=0, topics=[SimpleNamespace(topic_name="orders", partitions=places)])

    class Sharing(Answering):
        async def ask(self, node: int, request: Any, name: str, **fields: Any) -> SimpleNamespace:
            if node == 2:
                raise Dead(None, f"the broker is too old for {name}", lives=True)
            return SimpleNamespace(groups=[described if name == "ShareGroupDescribe" else offsets])

    groups = {"jobs": Group(1, "share", "share"), "early": Group(2, "share", "share")}
    cluster = Sharing([])
    asyncio.run(ask_members_and_commits(cast(Cluster, cluster), groups))
    jobs = groups["jobs"]
    assert (jobs.error, jobs.state, jobs.members[0]["assigned"]) == (None, "Stable", [("orders", 0), ("orders", 1)])
    denied = "TOPIC_AUTHORIZATION_FAILED: this user needs DESCRIBE on the topic"
    assert [(at[1], told.start, told.lag, told.error) for at, told in sorted(jobs.shared.items())] == [
        (0, 4, 6, None), (1, 0, 6, None), (2, None, None, None), (3, None, None, denied),
    ]  # fmt: skip
    assert groups["early"].error == "a share group: the broker is too old for ShareGroupDescribe"
    assert cluster.asked == []  # librdkafka would be refused


def test_log_ends_of_leaders_that_answer_in_part() -> None:
    rows = [
        {"offset": "log_start", "places": [["orders", 0, 0, None], ["orders", 1, 3, None]]},
        {"offset": "high_watermark", "places": [["orders", 0, 100, None], ["orders", 2, None, [6, "not leader"]]]},
        {"offset": "last_stable", "places": [["orders", 0, 130, None]]},
    ]
    cluster = Answering(rows, dead={2})
    cluster.leaders, cluster.brokers = {("orders", number): 2 if number == 3 else 1 for number in range(4)}, {1: None, 2: None}
    problems: list[str] = []
    ends = asyncio.run(ask_log_ends(cast(Cluster, cluster), [("orders", number) for number in range(5)], problems))
    assert ends["orders", 0] == LogEnds(0, 100, 100)
    assert (ends["orders", 1].log_start, ends["orders", 1].error) == (3, "its leader broker 1 cannot be asked: no answer in 4.0 s")
    assert ends["orders", 2].error == "NOT_LEADER_OR_FOLLOWER: the leader is moving"
    assert ends["orders", 3].error == "its leader broker 2 cannot be asked: refused, Connection refused"
    assert "does not exist" in (ends["orders", 4].error or "")
    assert len(problems) == 2


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
    odd = wanted_groups(["odd(name", "app[1]"])  # what is no expression is an id, and an id comes before the expression that it is, too
    assert [name for name in ("odd(name", "app[1]", "app1", "odd") if odd(name)] == ["odd(name", "app[1]", "app1"]


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


@pytest.mark.parametrize(("group", "number"), [("billing-0", 2), ("billing-3", 1), ("g", 3), ("gruppe-ß", 1), ("", 0)])
def test_the_partition_of_a_groups_commits_is_javas(group: str, number: int) -> None:
    assert coordinated_by(group, 4) == number


def test_a_partition_of_the_commits_without_a_leader_is_named() -> None:
    def partition(number: int, leader: int, replicas: list[int]) -> Any:
        return SimpleNamespace(partition_index=number, leader_id=leader, replica_nodes=replicas, isr_nodes=replicas)

    parts = [partition(0, 1, [1]), partition(1, -1, [3]), partition(2, 3, [3])]
    topics = [SimpleNamespace(name="__consumer_offsets", partitions=parts)]
    leaders = {("__consumer_offsets", part.partition_index): part.leader_id for part in parts}
    cluster = cast(Cluster, SimpleNamespace(topics=topics, leaders=leaders, brokers={1: None}))
    assert [Cluster.leaderless(cluster, "__consumer_offsets", number) for number in range(3)] == [
        None,
        *["it has no leader (its replicas are on broker 3, which left the cluster)"] * 2,
    ]


def test_groups_that_could_not_be_listed_stay_unknown_over_all_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any) -> dict[str, Group]:
        return {}

    monkeypatch.setattr(kafka_groups, "_list", nothing)
    monkeypatch.setattr(kafka_groups, "_look", nothing)
    silent_broker = "groups coordinated by broker 3 are unknown: hung"
    answers = kafka_groups.GroupAnswers(problems=[silent_broker, "log ends are unknown"], unlisted=[silent_broker])
    for _ in range(2):
        asyncio.run(kafka_groups.ask_again(cast(Cluster, None), answers, bool))
    assert answers.problems == [silent_broker]
    assert answers.passed == ["one earlier sample was not whole, the last is: log ends are unknown"]
