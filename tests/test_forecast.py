"""The forecast against what real clients did, against a simulation of their rules, and against common sense."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.derived.forecast import forecast

# client, kind, entries, dead, other settings, failures, fresh clients; KafkaConsumer.partitionsFor and AdminClient.describeTopics
MEASURED = [
    ("2.4.1", "black-hole", 12, 4, {}, 37, 120),
    ("2.4.1", "black-hole", 12, 8, {}, 80, 120),
    ("2.7.2", "black-hole", 12, 4, {}, 0, 120),
    ("3.4.1", "black-hole", 12, 4, {}, 0, 120),
    ("2.7.2", "black-hole", 12, 8, {}, 6, 300),
    ("3.4.1", "black-hole", 12, 8, {}, 10, 300),
    ("2.7.2", "black-hole", 4, 3, {}, 0, 100),
    ("3.4.1", "black-hole", 4, 3, {}, 0, 100),
    ("3.4.1", "black-hole", 12, 4, {"timeout_seconds": 15.0}, 9, 120),
    # 2 sigma off the model, unexplained: 16.7 % where 11.1 % was expected
    ("2.4.1", "black-hole", 12, 4, {"timeout_seconds": 180.0}, 20, 120),
    ("2.4.1", "hung", 12, 4, {}, 7, 120),
    ("2.7.2", "hung", 12, 4, {}, 12, 120),
    ("3.4.1", "hung", 12, 4, {}, 4, 120),
    ("2.4.1", "refused", 12, 4, {}, 0, 120),
    ("3.4.1", "refused", 12, 4, {}, 0, 120),
    ("2.4.1", "black-hole", 12, 4, {"timeout_seconds": 120.0}, 40, 120),  # AdminClient: request.timeout.ms was 120 s
    ("2.7.2", "black-hole", 12, 4, {}, 0, 120),
    ("3.4.1", "black-hole", 12, 8, {}, 5, 150),
]


@pytest.mark.parametrize(("version", "kind", "entries", "dead", "settings", "failures", "clients"), MEASURED)
def test_measured_failures_lie_within_their_statistical_error(
    version: str, kind: str, entries: int, dead: int, settings: dict[str, float], failures: int, clients: int
) -> None:
    expected = forecast(entries=entries, dead=dead, kind=kind, client_version=version, **settings).p_fail_client
    assert expected is not None
    sigma = math.sqrt(expected * (1 - expected) / clients)
    assert abs(failures / clients - expected) <= 2.2 * sigma + 1e-12


@pytest.mark.parametrize(
    ("entries", "dead", "old", "new", "hung"),
    [
        (3, 1, 33.3, 0, 0), (4, 3, 75, 0, 50), (5, 2, 40, 0, 10), (12, 4, 33.3, 0, 9.1), (12, 6, 50, 0.06, 22.7), (12, 8, 66.7, 2.2, 42.4),
        (12, 9, 75, 7.3, 54.5), (30, 15, 50, 0.6, 24),
    ],
)  # fmt: skip
def test_reference_table(entries: int, dead: int, old: float, new: float, hung: float) -> None:
    def percent(version: str, kind: str) -> float:
        p = forecast(entries=entries, dead=dead, kind=kind, client_version=version).p_fail_client
        assert p is not None
        return 100 * p

    assert percent("2.6.0", "black-hole") == pytest.approx(old, abs=0.05)
    assert percent("3.8.0", "black-hole") == pytest.approx(new, abs=0.2)
    assert percent("3.8.0", "hung") == pytest.approx(hung, abs=0.25)


@pytest.mark.parametrize(("retries", "picks"), [(6, 1), (5, 1), (4, 2), (3, 4), (2, 9)])
def test_fewer_syn_retries_give_an_old_client_more_picks(retries: int, picks: int) -> None:
    p = forecast(entries=12, dead=4, kind="black-hole", client_version="2.4.1", tcp_syn_retries=retries).p_fail_client
    assert p == pytest.approx((4 / 12) ** picks)


def test_the_incident_of_four_removed_brokers_cannot_restart() -> None:
    """12 bootstrap servers, 4 gone; Flink 1.12.2 with kafka-clients 2.4.1 and 64 source subtasks: an hour of restarts, none succeeds."""
    now = forecast(entries=12, dead=4, kind="black-hole", client_version="2.4.1", clients=64)
    assert now.p_fail_start == pytest.approx(1.0)
    assert now.expected_starts == pytest.approx(1.5**64, rel=1e-6)
    assert forecast(entries=8, dead=0, kind="black-hole", client_version="2.4.1", clients=64).p_fail_start == 0
    assert forecast(entries=12, dead=4, kind="black-hole", client_version="2.8.1", clients=64).p_fail_start == 0


def test_what_was_not_measured_is_not_forecast() -> None:
    assert forecast(entries=3, dead=1, kind="black-hole", client_version="2.2.0").p_fail_client is None
    assert forecast(entries=3, dead=1, kind="auth", client_version="3.4.1").p_fail_start is None


@pytest.mark.parametrize("wrong", [{"dead": 4}, {"kind": "sleepy"}, {"client_version": "new"}, {"clients": 0}, {"entries": 0, "dead": 0}])
def test_impossible_input_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"impossible|unknown|not a kafka"):
        forecast(**({"entries": 3, "dead": 1, "kind": "hung", "client_version": "3.4.1"} | wrong))  # type: ignore[arg-type]  # on purpose


def simulated(entries: int, dead: int, version: tuple[int, int], kind: str, timeout: float, rounds: int, dice: random.Random) -> float:
    """Share of fresh clients that fail, by playing the selection rules of section "node selection" step by step."""
    failures = 0
    for _ in range(rounds):
        nodes = list(range(entries))  # the first `dead` are dead
        dice.shuffle(nodes)
        clock, tried = 0.0, set[int]()
        while clock < timeout:
            if kind == "black-hole" and version < (2, 7):
                node, cost = dice.choice(nodes), 127.0
            else:
                node = next(n for n in nodes if n not in tried)
                cost = 30.0 if kind == "hung" else 10 * dice.uniform(0.8, 1.2)
            if node >= dead:
                break
            tried.add(node)
            clock += cost + 0.1
        else:
            failures += 1
    return failures / rounds


def test_agrees_with_a_simulation_at_inputs_that_stand_in_no_table() -> None:
    dice = random.Random(601)
    for _ in range(40):
        entries = dice.randint(2, 30)
        dead = dice.randint(1, entries - 1)
        version, spelled = dice.choice([((2, 4), "2.4.1"), ((3, 4), "3.4.1")])
        kind = dice.choice(["black-hole", "hung"])
        timeout = dice.choice([15.0, 30.0, 60.0, 120.0, 180.0])
        expected = forecast(entries=entries, dead=dead, kind=kind, client_version=spelled, timeout_seconds=timeout).p_fail_client
        played = simulated(entries, dead, version, kind, timeout, 3000, dice)
        assert expected is not None
        # four sigma of 3000 rounds
        assert played == pytest.approx(expected, abs=4 * math.sqrt(max(expected * (1 - expected), 1e-4) / 3000) + 0.002)


KINDS = st.sampled_from(["black-hole", "hung", "refused"])
VERSIONS = st.sampled_from(["2.3.0", "2.6.3", "2.7.0", "3.4.1", "4.2.0"])


@given(st.integers(2, 300), st.data(), KINDS, VERSIONS, st.floats(1, 600))
def test_more_dead_entries_and_more_clients_never_help(entries: int, data: st.DataObject, kind: str, version: str, timeout: float) -> None:
    dead = data.draw(st.integers(0, entries - 1))
    less = forecast(entries=entries, dead=dead, kind=kind, client_version=version, clients=3, timeout_seconds=timeout)
    more = forecast(entries=entries, dead=dead + 1, kind=kind, client_version=version, clients=3, timeout_seconds=timeout)
    crowd = forecast(entries=entries, dead=dead, kind=kind, client_version=version, clients=4, timeout_seconds=timeout)
    assert less.p_fail_client is not None
    assert more.p_fail_client is not None
    assert crowd.p_fail_start is not None
    assert less.p_fail_start is not None
    assert 0 <= less.p_fail_client <= more.p_fail_client + 1e-9 <= 1 + 1e-9
    assert less.p_fail_start <= crowd.p_fail_start + 1e-12
