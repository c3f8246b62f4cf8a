"""Metadata lead to other brokers: to which of them a password goes, and which are never asked; how many rounds of SCRAM are made."""

from __future__ import annotations

import asyncio

import pytest

from analyzers.tables import Row
from cli.collectors.client_properties import ClientProperties
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_login import login_dance
from cli.collectors.kafka_reach import withheld
from cli.collectors.kafka_session import Limits
from cli.collectors.kafka_wire import parse_entries, survey
from cli.runs.broker_health import collect
from cli.shell.exits import CannotLook
from tests.kafka_servers import FakeBroker, serving


def logging_in(*named: str, protocol: str = "SASL_PLAINTEXT", mechanism: str = "PLAIN") -> ClientProperties:
    return ClientProperties(protocol=protocol, mechanism=mechanism, username="u", password="p", named=set(named))


@pytest.mark.parametrize(
    ("named", "host"),
    [
        ("kafka-1.prod.example", "kafka-2.prod.example"),
        ("kafka-1.prod.example", "b3.kafka-1.prod.example"),
        ("kafka-1", "kafka-2"),
        ("10.1.2.3", "10.1.9.9"),
        ("127.0.0.1", "127.0.0.9"),
        ("fd00:1:2::7", "fd00:1:2:9::1"),
        ("10.9.9.9", "10.9.9.9"),
    ],
)
def test_neighbours_of_bootstrap_servers_are_logged_in_to(named: str, host: str) -> None:
    assert withheld(host, 9092, logging_in(named)) is None


@pytest.mark.parametrize(
    ("named", "host"),
    [
        ("kafka-1.prod.example", "kafka-1.prod.example.evil.net"),
        ("kafka-1.prod.example", "evilprod.example"),
        ("kafka-1.prod.example", "10.1.2.3"),
        ("kafka.example", "other.example"),
        ("kafka-1", "kafka-1.evil.net"),
        ("10.1.2.3", "10.2.2.3"),
        ("10.1.2.3", "evil.net"),
        ("127.0.0.1", "8.8.8.8"),
        ("fd00:1:2::7", "10.1.2.3"),
    ],
)
def test_no_password_goes_elsewhere_in_the_clear(named: str, host: str) -> None:
    assert "not sent without TLS" in (withheld(host, 9092, logging_in(named)) or "")
    assert withheld(host, 9092, logging_in(named, protocol="SASL_SSL")) is None
    assert withheld(host, 9092, logging_in(named, mechanism="SCRAM-SHA-512")) is None
    assert withheld(host, 9092, logging_in(named, host)) is None


@pytest.mark.parametrize("host", ["169.254.169.254", "fe80::1%eth0", "metadata.google.internal", "100.100.100.200", "fd00:ec2::254"])
def test_metadata_services_are_never_asked(host: str) -> None:
    assert "metadata service" in (withheld(host, 9092, ClientProperties(named={"kafka-1"})) or "")
    assert "metadata service" in (withheld("kafka-2", 9092, ClientProperties(named={"kafka-1"}), "169.254.169.254") or "")
    assert withheld(host, 9092, ClientProperties(named={host})) is None


def test_a_name_for_a_neighbour_that_is_looked_up_elsewhere_is_as_near_as_its_name() -> None:
    assert withheld("kafka-2.prod.example", 9092, logging_in("kafka-1.prod.example"), "10.1.2.3") is None


def test_of_a_cluster_of_very_many_brokers_the_first_are_asked_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metadata may name 20,000, each of which would be looked up by a thread of its own."""
    monkeypatch.setattr("cli.collectors.kafka_connection._MOST_BROKERS", 3)
    fake = FakeBroker(advertised=dict.fromkeys((9, 4, 7, 1, 6), ("127.0.0.1", 1)))
    with serving(fake.talk) as address:
        entries = parse_entries([address])
        seen = asyncio.run(survey(entries, ClientProperties(), None, Limits.within(3)))
        cut = "the metadata name 5 brokers: the 3 with the lowest ids were asked, no other"
        assert [row["broker"] for row in seen.brokers] == [1, 4, 6]
        assert seen.cut == cut

        async def source() -> Row:
            cluster = await Cluster.connect(entries, ClientProperties(), None, Limits.within(3))
            try:
                return cluster.source("consumer groups", [])
            finally:
                cluster.close()

        row = asyncio.run(source())
        tables = collect([address], timeout_seconds=3)().tables
    assert (row["state"], row["why"]) == ("partial", cut)
    assert cut in next(iter(tables["sources"]))["why"]


def test_a_cluster_that_leads_elsewhere_gets_no_password() -> None:
    fake = FakeBroker(login=("u", "p"), advertised={1: ("198.51.100.7", 9092)})
    with serving(fake.talk) as address:
        entries = parse_entries([address])
        client = logging_in(*(entry.host for entry in entries))
        with pytest.raises(CannotLook, match=r"not sent without TLS to 198\.51\.100\.7"):
            asyncio.run(Cluster.connect(entries, client, None, Limits.within(3)))
        seen = asyncio.run(survey(entries, client, None, Limits.within(3)))
    (broker,) = seen.brokers
    assert broker["state"] is None
    assert "198.51.100.7" in broker["why"]


@pytest.mark.parametrize(
    ("rounds", "taken"), [(1, False), (4095, False), (4096, True), (16_384, True), (100_001, False), (1_000_000, False)]
)
def test_rounds_of_scram_are_those_of_kafka(rounds: int, taken: bool) -> None:
    dance = asyncio.run(login_dance(logging_in(mechanism="SCRAM-SHA-256"), "kafka-1", 1))
    nonce = dance.auth_bytes().decode().rpartition("r=")[2]
    answer = f"r={nonce}x,s=c2FsdA==,i={rounds}".encode()
    if taken:
        dance.receive(answer)
        assert not dance.is_done()
    else:
        with pytest.raises(ValueError, match="rounds of SCRAM"):
            dance.receive(answer)
