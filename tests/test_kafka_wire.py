"""The prober against servers that are dead in every way a broker can be: it must name the way, and never wait longer than it was told."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin.transactions import ListTransactionsRequest

from cli.collectors import kafka_cluster
from cli.collectors.client_properties import ClientProperties, translate
from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_connection import Talk
from cli.collectors.kafka_session import READ_ONLY, Dead, Limits, Session
from cli.collectors.kafka_wire import Resolved, Survey, parse_entries, survey
from cli.shell.exits import CannotLook, UsageError
from tests.kafka_servers import TLS, FakeBroker, black_hole, by_lines, closing, refusing, saying, serving, silent


def probe(*entries: str, client: ClientProperties | None = None, timeout: float = 2.0) -> Survey:
    client = client or ClientProperties()
    tls = client.tls_context() if client.uses_tls else None
    return asyncio.run(survey(parse_entries(entries), client, tls, Limits.within(timeout)))


def states(seen: Survey) -> dict[str, str | None]:
    return {row["entry"]: row["state"] for row in seen.bootstrap_servers}


def only(seen: Survey) -> dict[str, Any]:
    (row,) = seen.bootstrap_servers
    return row


@contextlib.contextmanager
def broker(**settings: Any) -> Iterator[tuple[FakeBroker, str]]:
    fake = FakeBroker(**settings)
    with serving(fake.talk) as address:
        yield fake, address


def test_a_living_broker_is_known_by_its_answers() -> None:
    with broker() as (_, address):
        seen = probe(address)
    row = only(seen)
    assert (row["state"], row["why"], row["broker"], seen.cluster_id) == ("alive", None, 1, "fake")
    assert all(row[column] >= 0 for column in ("connect_ms", "api_versions_ms", "metadata_ms"))
    assert [(b["broker"], b["address"], b["state"]) for b in seen.brokers] == [(1, address, "alive")]
    assert seen.dead_brokers == {}


def test_every_kind_of_death_at_once_within_the_time_out() -> None:
    with broker() as (_, alive), refusing() as refused, black_hole() as hole, serving(silent) as hung, serving(by_lines) as http:
        started = time.monotonic()
        seen = probe(alive, refused, hole, hung, http, "no-such-host.invalid:9092", timeout=3.0)
        took = time.monotonic() - started
    assert states(seen) == {
        alive: "alive", refused: "refused", hole: "black-hole", hung: "hung", http: "not-kafka", "no-such-host.invalid:9092": "dns",
    }  # fmt: skip
    assert took < 3.0
    assert seen.complete


def test_a_server_that_reads_lines_is_not_taken_for_hung() -> None:
    with serving(by_lines) as http:
        row = only(probe(http))
    assert row["state"] == "not-kafka"
    assert "HTTP/1.1 400" in row["why"]


@pytest.mark.parametrize(
    "words", [b"SSH-2.0-OpenSSH_9.2\r\n", b"\0\0\0\x08\0\0\0\0\0\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\x06\x0d\x0a\x0d\x0a\0\0"]
)
def test_an_answer_that_is_not_kafkas(words: bytes) -> None:
    with serving(saying(words)) as address:
        assert only(probe(address))["state"] == "not-kafka"


def test_a_server_that_hangs_up_when_asked_may_be_a_broker() -> None:
    with serving(closing) as address:
        row = only(probe(address))
    assert row["state"] == "closed"
    assert "closed without an answer to ApiVersions, with TLS and without" in row["why"]


def test_a_server_that_hangs_up_unasked_may_be_full() -> None:
    """As a broker does to the connections beyond max.connections.per.ip."""
    with serving(lambda connection: connection.close()) as address:
        row = only(probe(address))
        over_tls = only(probe(address, client=trusting()))
    assert (row["state"], over_tls["state"]) == ("closed", "closed")
    assert "before anything was asked" in row["why"]
    assert "max.connections.per.ip" in over_tls["why"]


def test_a_broker_that_has_answered_is_never_called_another_thing() -> None:
    """It answers ApiVersions and hangs up at the next question: a login that it wants, or a limit; it is a Kafka broker."""
    with broker(login=("doctor", "right"), mechanisms=["PLAIN"], spoken={3: (0, 12), 18: (0, 0)}) as (_, address):
        row = only(probe(address))
    assert row["state"] == "auth"


def test_one_connection_however_many_entries_name_the_broker() -> None:
    """A stopped process becomes a black hole when its accept queue is full: the doctor must not fill it."""
    with broker() as (fake, address):
        seen = probe(",".join([address] * 30))
    assert [row["position"] for row in seen.bootstrap_servers] == list(range(30))
    assert set(states(seen).values()) == {"alive"}
    assert fake.connections == 1


def test_advertised_brokers_are_probed_where_they_say_they_are() -> None:
    with refusing() as gone, broker() as (fake, address):
        host, _, port = gone.partition(":")
        fake.advertised = {7: (host, int(port)), 8: ("no-such-host.invalid", 9092)}
        seen = probe(address)
    assert [(b["broker"], b["state"]) for b in seen.brokers] == [(7, "refused"), (8, "dns")]
    assert only(seen)["state"] == "alive"


def test_a_name_server_that_never_answers_costs_its_share_only(monkeypatch: pytest.MonkeyPatch) -> None:
    real, released = socket.getaddrinfo, threading.Event()

    def slow(host: str, *arguments: Any, **named: Any) -> Any:
        if host == "slow.invalid":
            released.wait(20)
            raise socket.gaierror(socket.EAI_AGAIN, "late")
        return real(host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    with broker() as (_, address):
        started = time.monotonic()
        seen = probe(f"slow.invalid:9092,{address}", timeout=2.0)
        took = time.monotonic() - started
        released.set()
    assert states(seen) == {"slow.invalid:9092": "dns", address: "alive"}
    assert "did not answer" in seen.bootstrap_servers[0]["why"]
    assert took < 2.0


def test_all_addresses_of_a_name_are_probed_and_one_that_lives_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    with broker() as (fake, address), refusing():
        port = int(address.partition(":")[2])
        here = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ("127.0.0.99", "127.0.0.1")]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **named: here)
        fake.advertised = {1: ("kafka", port)}
        seen = probe(f"kafka:{port}")
    assert [(row["ip"], row["state"]) for row in seen.bootstrap_servers] == [("127.0.0.99", "refused"), ("127.0.0.1", "alive")]
    (row,) = seen.brokers
    assert row["state"] == "alive"
    assert "127.0.0.99: refused" in row["why"]


# TLS and login ----------------------------------------------------------------------------------------------------------


def trusting(**more: str) -> ClientProperties:
    return translate({"security.protocol": "SSL", "ssl.ca.location": str(TLS / "certificate.pem")} | more, "test")


def test_tls_with_a_trusted_certificate_tells_the_days_left() -> None:
    with serving(FakeBroker().talk, tls=True) as address:
        row = only(probe(address, client=trusting()))
    assert row["state"] == "alive"
    assert 36000 < row["tls_days_left"] < 36500


def test_a_certificate_that_nobody_vouches_for() -> None:
    with serving(FakeBroker().talk, tls=True) as address:
        row = only(probe(address, client=ClientProperties(protocol="SSL")))
    assert row["state"] == "tls"
    assert "self-signed" in row["why"]


def test_a_certificate_of_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(FakeBroker().talk, tls=True) as address:
        port = int(address.partition(":")[2])
        here = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **named: here)
        row = only(probe(f"kafka.example:{port}", client=trusting()))
        unchecked = only(probe(f"kafka.example:{port}", client=trusting(**{"ssl.endpoint.identification.algorithm": ""})))
    assert row["state"] == "tls"
    assert "kafka.example" in row["why"]
    assert unchecked["state"] == "alive"


def test_plaintext_to_a_tls_port_and_the_reverse_name_the_setting() -> None:
    with serving(FakeBroker().talk, tls=True) as tls, serving(FakeBroker().talk) as plain:
        to_tls = only(probe(tls))
        to_plain = only(probe(plain, client=trusting()))
    assert (to_tls["state"], to_plain["state"]) == ("tls", "tls")
    assert "security.protocol=SSL" in to_tls["why"]
    assert "security.protocol=PLAINTEXT" in to_plain["why"]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_listener_that_wants_a_client_certificate_is_named(version: ssl.TLSVersion) -> None:
    """With TLS 1.3 it says so only after the client's handshake is over."""
    with serving(FakeBroker().talk, tls=True, wants_certificate=version) as address:
        without = only(probe(address, client=trusting()))
        plain = only(probe(address))
        own = {"ssl.certificate.location": str(TLS / "certificate.pem"), "ssl.key.location": str(TLS / "key.pem")}
        with_one = only(probe(address, client=trusting(**own)))
    assert without["state"] == "tls"
    assert "requires a client certificate" in without["why"]
    assert "ssl.keystore.location" in without["why"]
    assert (plain["state"], "security.protocol=SSL" in plain["why"]) == ("tls", True)
    assert with_one["state"] == "alive"


def test_a_client_certificate_that_nobody_trusts_is_named(tmp_path: Path) -> None:
    with serving(FakeBroker().talk, tls=True, wants_certificate=ssl.TLSVersion.TLSv1_3, trusted=False) as address:
        own = {"ssl.certificate.location": str(TLS / "certificate.pem"), "ssl.key.location": str(TLS / "key.pem")}
        row = only(probe(address, client=trusting(**own)))
    assert row["state"] == "tls"
    assert "the broker refuses the client certificate" in row["why"]


def plain_login(user: str, password: str) -> ClientProperties:
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": user, "sasl.password": password}
    return translate(given, "test")


def test_a_login_is_really_tried() -> None:
    with broker(login=("doctor", "right")) as (_, address):
        assert only(probe(address, client=plain_login("doctor", "right")))["state"] == "alive"
        wrong = only(probe(address, client=plain_login("doctor", "wrong")))
        without = only(probe(address))
    assert (wrong["state"], without["state"]) == ("auth", "auth")
    assert "refused: Invalid username or password" in wrong["why"]
    assert "wants a login" in without["why"]


def login_of(mechanism: str, **more: str) -> ClientProperties:
    return translate({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, **more}, "file")


def test_a_mechanism_that_cannot_be_spoken_from_here_says_what_is_missing() -> None:
    with broker(login=("doctor", "right"), mechanisms=["GSSAPI", "AWS_MSK_IAM"]) as (_, address):
        for mechanism, needs in (("GSSAPI", "kinit"), ("AWS_MSK_IAM", "botocore")):
            row = only(probe(address, client=login_of(mechanism)))
            assert row["state"] == "alive"
            assert "not tried" in row["why"]
            assert needs in row["why"]


def test_a_token_comes_from_where_the_properties_say(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("header.claims.signature\n")
    with broker(login=("", "header.claims.signature"), mechanisms=["OAUTHBEARER"]) as (_, address):
        good = login_of("OAUTHBEARER", **{"sasl.oauthbearer.token.endpoint.url": token.as_uri()})
        assert only(probe(address, client=good))["state"] == "alive"
        row = only(probe(address, client=login_of("OAUTHBEARER", **{"sasl.oauthbearer.token.endpoint.url": "file:///no/such/token"})))
        assert (row["state"], "token file" in row["why"]) == ("auth", True)
        row = only(probe(address, client=login_of("OAUTHBEARER")))
        assert (row["state"], "sasl.oauthbearer.token.endpoint.url" in row["why"]) == ("auth", True)
        with refusing() as nobody:
            settings = {"sasl.oauthbearer.client.id": "job", "sasl.oauthbearer.client.secret": "s"}
            url = {"sasl.oauthbearer.token.endpoint.url": f"http://{nobody}/token"}
            row = only(probe(address, client=login_of("OAUTHBEARER", **settings, **url)))
        assert (row["state"], "gives no token" in row["why"]) == ("auth", True)


def with_secret(url: str) -> ClientProperties:
    secret = {"sasl.oauthbearer.client.id": "job", "sasl.oauthbearer.client.secret": "s"}
    return login_of("OAUTHBEARER", **secret, **{"sasl.oauthbearer.token.endpoint.url": url})


def test_the_client_secret_is_never_sent_in_the_clear_to_another_host() -> None:
    with broker(mechanisms=["OAUTHBEARER"]) as (_, address):
        row = only(probe(address, client=with_secret("http://id.example:8080/token")))
    # the broker lives, and the properties may be right for the job: nothing is wrong but that diag refuses to try
    assert (row["state"], "not tried" in row["why"], "in the clear to http://id.example:8080/token" in row["why"]) == ("alive", True, True)


def test_the_client_secret_follows_no_redirect() -> None:
    asked: list[bytes] = []

    def elsewhere(connection: socket.socket) -> None:
        asked.append(connection.recv(1 << 16))
        body = b'{"access_token": "a.b.c"}'
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    with serving(elsewhere) as thief, broker(mechanisms=["OAUTHBEARER"]) as (_, address):

        def redirecting(connection: socket.socket) -> None:
            connection.recv(1 << 16)
            head = f"HTTP/1.1 302 Found\r\nLocation: http://{thief}/token\r\nContent-Length: 0\r\n\r\n"
            connection.sendall(head.encode())

        with serving(redirecting) as endpoint:
            row = only(probe(address, client=with_secret(f"http://{endpoint}/token")))
    assert asked == []
    assert (row["state"], f"redirects to http://{thief}/token" in row["why"]) == ("alive", True), row["why"]


def test_a_mechanism_that_is_not_enabled() -> None:
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "a", "sasl.password": "b"}
    with broker(login=("doctor", "right")) as (_, address):
        row = only(probe(address, client=translate(given, "test")))
    assert row["state"] == "auth"
    assert "offers PLAIN" in row["why"]


def test_a_controllers_listener_is_no_bootstrap_server() -> None:
    with broker(spoken={18: (0, 0)}) as (_, address):
        row = only(probe(address))
        connected = Cluster.connect(parse_entries([address]), ClientProperties(), None, Limits.within(2.0))
        with pytest.raises(CannotLook, match=r"not-kafka \(.* controller, no broker's\)"):
            asyncio.run(connected)
    assert row["state"] == "not-kafka"
    assert "controller" in row["why"]


def test_a_question_that_a_broker_is_too_old_for_is_not_asked_and_it_lives() -> None:
    async def ask(address: str) -> Cluster:
        cluster = await Cluster.connect(parse_entries([address]), ClientProperties(), None, Limits.within(2.0))
        try:
            with pytest.raises(Dead, match="too old for ListTransactions") as raised:
                await cluster.ask(1, ListTransactionsRequest, "ListTransactions", newest=0, state_filters=[], producer_id_filters=[7])
            assert raised.value.lives
        finally:
            cluster.close()
        return cluster

    with broker() as (fake, address):
        assert asyncio.run(ask(address)).silent == {}
    assert ListTransactionsRequest.API_KEY not in fake.asked


# What it must never do ------------------------------------------------------------------------------------------------------


def test_a_session_refuses_every_request_that_could_change_something() -> None:
    from kafka.protocol.admin import topics
    from kafka.protocol.consumer.group import JoinGroupRequest, OffsetCommitRequest

    changing = [topics.CreateTopicsRequest, topics.DeleteTopicsRequest, JoinGroupRequest, OffsetCommitRequest]

    async def ask(request: Any) -> None:
        session = Session.__new__(Session)  # refused before anything of it is used
        await session.exchange(request, "test")

    for request in changing:
        assert request.API_KEY not in READ_ONLY
        with pytest.raises(AssertionError, match="may change the cluster"):
            asyncio.run(ask(request))


def test_the_probe_asks_nothing_but_versions_login_and_metadata() -> None:
    with broker(login=("doctor", "right")) as (fake, address):
        probe(address, client=plain_login("doctor", "right"))
    assert set(fake.asked) == {3, 17, 18, 36}
    assert set(fake.asked) <= set(READ_ONLY)


_READING = ("kafka.protocol.", "kafka.errors", "kafka.net.sasl", "kafka.record.memory_records")


def test_no_kafka_client_that_could_write_is_used_by_the_commands() -> None:
    """What is asked over our own connections goes through a session, which is the one place that knows what is allowed there."""
    root = Path(__file__).parent.parent
    for file in sorted([*(root / "cli").rglob("*.py"), *(root / "analyzers").rglob("*.py")]):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else []
            )
            for module in modules:
                # tests/test_kafka_worker.py holds what that one may call
                assert module.partition(".")[0] != "confluent_kafka" or file.name == "kafka_worker.py", file
                assert not module.startswith("kafka") or module.startswith(_READING), file


def test_a_silent_address_of_a_name_costs_the_others_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first address of a name drops every packet; the question is answered by the second at once."""
    with broker() as (_, address), black_hole() as hole:
        (lost, lost_port), (host, port) = (place.rpartition(":")[::2] for place in (hole, address))
        both = Resolved(((socket.AF_INET, (lost, int(lost_port))), (socket.AF_INET, (host, int(port)))))

        async def known(*_: Any) -> Resolved:
            return both

        monkeypatch.setattr(kafka_cluster, "look_up", known)

        async def ask() -> float:
            started = time.monotonic()
            cluster = await Cluster.connect(parse_entries(["kafka:9092"]), ClientProperties(), None, Limits.within(20.0))
            cluster.close()
            return time.monotonic() - started

        assert asyncio.run(ask()) < 8.0  # one silent address alone would be waited for 9 s


def test_without_time_there_is_no_judgement() -> None:
    """A state that time did not allow to see is unknown, never a kind of death."""

    async def late() -> None:
        limits = Limits(1.0, 1.0, 1.0, time.monotonic() - 1, Limits.within(1).as_of)
        await Talk(("127.0.0.1", 9), socket.AF_INET, "127.0.0.1", ClientProperties(), limits).open(None)

    with pytest.raises(Dead) as raised:
        asyncio.run(late())
    assert raised.value.state is None


# Entries ----------------------------------------------------------------------------------------------------------------


def test_entries_are_read_as_clients_read_them() -> None:
    entries = parse_entries(["a:1, b.example:9092,", "[::1]:9093,PLAINTEXT://c:2"])
    assert [(e.host, e.port) for e in entries] == [("a", 1), ("b.example", 9092), ("::1", 9093), ("c", 2)]


@pytest.mark.parametrize("wrong", ["kafka", "kafka:", ":9092", "kafka:0", "kafka:70000", "kafka:9092/x", "", " , "])
def test_an_entry_without_host_and_port_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError):
        parse_entries([wrong])


def test_the_library_has_the_time_that_is_left_and_never_less_than_a_step() -> None:
    limits = Limits.within(4.0)
    assert 3.7 < limits.rest("groups were asked", keep=0.0) <= 3.8
    assert 2.8 < limits.rest("groups were asked", keep=0.25) <= 2.85
    late = replace(limits, deadline=time.monotonic() + 1.0)
    assert 0.9 < late.rest("log ends were asked", keep=0.25) <= 1.0  # all of it: a share of so little is too little
    with pytest.raises(Dead, match="--timeout ended before log ends were asked"):
        replace(limits, deadline=time.monotonic()).rest("log ends were asked", keep=0.0)
