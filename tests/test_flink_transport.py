"""The way to a JobManager: addresses, logins, TLS, and everything else that may answer in its place, badly, slowly or not at all."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.collectors.flink_rest import flink_collector
from cli.collectors.flink_transport import RestClient, parse_address, read_login
from cli.runs.live_sources import LiveSources
from cli.shell.exits import CannotLook, UsageError
from tests.rest_replay import STUCK, TLS, Trouble, look, replaying, rest_source, slowly

# the way there --------------------------------------------------------------------------------------------------------------


def test_a_proxy_prefix_and_the_address_of_the_web_ui_as_copied() -> None:
    with replaying(STUCK, prefix="/proxy/application_1_0001") as server:
        for address in (server.address, server.address + "/", server.address + "/#/overview", server.address + "/index.html"):
            assert len(look(address).tables["vertices"]) == 3


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("jobmanager", "http://jobmanager:8081"),
        ("jobmanager:80", "http://jobmanager:80"),
        ("https://flink.example/team/a/#/job/1", "https://flink.example:443/team/a"),
        ("http://[::1]:8081/v1", "http://[::1]:8081"),
        ("http://jm:8081/jobs/abc/checkpoints", "http://jm:8081"),
        ("https://flink.example/team/a/v1/overview", "https://flink.example:443/team/a"),
    ],
)
def test_addresses(text: str, url: str) -> None:
    assert parse_address(text).url == url


@pytest.mark.parametrize("text", ["ftp://x", "http://", "http://x:y", "http://user:secret@x"])
def test_what_is_no_address_is_refused_and_no_secret_is_repeated(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_address(text)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("written", "header"),
    [("username=ann\npassword=b:c=d\n", "Basic YW5uOmI6Yz1k"), ("# team\ntoken = abc.def\n", "Bearer abc.def")],
)
def test_a_login_comes_out_of_a_file(tmp_path: Path, written: str, header: str) -> None:
    file = tmp_path / "login.properties"
    file.write_text(written)
    with replaying(STUCK, wants=header) as server:
        assert len(look(server.address, login=read_login(file)).tables["vertices"]) == 3
        with pytest.raises(CannotLook, match="--flink-rest-auth"):
            look(server.address)


def test_a_file_that_holds_something_else_is_not_repeated(tmp_path: Path) -> None:
    file = tmp_path / "login.properties"
    file.write_text("abcdefSECRET\n")
    with pytest.raises(UsageError) as refused:
        read_login(file)
    assert "SECRET" not in str(refused.value)


def test_tls_is_verified_and_a_certificate_authority_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "login.properties"
    file.write_text(f"ssl.ca.location={TLS / 'certificate.pem'}\n")
    with replaying(STUCK, tls=True) as server:
        assert len(look(server.address, login=read_login(file)).tables["vertices"]) == 3
        with pytest.raises(CannotLook, match="not trusted"):
            look(server.address)
        with pytest.raises(CannotLook, match="https"):
            look(server.address.replace("https:", "http:"))
        file.write_text("enable.ssl.certificate.verification=false\n")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(look(server.address, login=read_login(file)).tables["vertices"]) == 3


# unfriendly servers ---------------------------------------------------------------------------------------------------------


def says(status: int, content: bytes, *paths: str) -> Trouble:
    return lambda path: (status, content) if not paths or any(part in path for part in paths) else None


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (says(200, b"<!DOCTYPE html><html>nginx"), "web page"),
        (says(404, b"<html>404</html>"), "HTTP 404"),
        (says(302, b""), "login page"),
        (says(403, b""), "refuses this user"),
        (
            says(503, b'{"errors":["Service temporarily unavailable due to an ongoing leader election. Please refresh."]}'),
            "leader election",
        ),
        (says(200, b'{"cluster_name":"elastic"}'), "not Flink"),
        (says(200, b""), "nothing instead"),
        (says(200, b'{"jobs": [' + b"[" * 100_000), "no JSON"),
    ],
)
def test_who_is_no_jobmanager_is_said_in_words(trouble: Trouble, words: str) -> None:
    with replaying(STUCK, trouble=trouble) as server, pytest.raises(CannotLook, match=words):
        look(server.address)


def test_an_address_that_no_request_can_be_written_to() -> None:
    with pytest.raises(UsageError, match="no address of a REST interface"):  # a label has 63 characters at most
        flink_collector(f"http://{'a' * 70}:8081", timeout_seconds=5.0)


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(CannotLook, match="refuses the connection"):
        look(f"http://127.0.0.1:{port}")


@contextlib.contextmanager
def talking(content: bytes, *, then_silent: bool = False) -> Iterator[str]:
    """A server that says `content` to whatever is asked, and nothing more."""
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with contextlib.suppress(OSError), connection:
                    connection.recv(65536)
                    connection.sendall(content)
                    if then_silent:
                        done.wait(30)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        done.set()
        listener.close()


@pytest.mark.parametrize(
    ("content", "silent", "words"),
    [
        (b"", False, "without an answer"),
        (b"", True, "did not answer within"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", False, "does not speak HTTP"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"jobs": [', False, "ended too early"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"jobs": [', True, "did not answer within"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99000000000\r\n\r\n" + b" " * 65536, True, "did not answer within"),
    ],
)
def test_servers_that_break_off_or_hang_cost_the_time_budget_at_most(content: bytes, silent: bool, words: str) -> None:
    begin = time.monotonic()
    with talking(content, then_silent=silent) as address, pytest.raises(CannotLook, match=words):
        look(address, timeout_seconds=1.0)
    assert time.monotonic() - begin < 20


def test_an_answer_beyond_the_limit_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.collectors.flink_transport.MOST_BYTES", 1000)
    with replaying(STUCK) as server, RestClient(parse_address(server.address), budget_seconds=5) as client:
        answer = client.ask(["/jobmanager/config"])["/jobmanager/config"]
    assert "larger than" in str(answer.why)


def test_half_of_the_answers_missing_is_partial_and_the_rest_is_kept() -> None:
    broken = says(
        500, b'{"errors":["Internal server error.","<Exception on server side:\\njava.lang.X: a\\nCaused by: y.Z: no space"]}', "/vertices/"
    )
    with replaying(STUCK, trouble=broken) as server:
        found = look(server.address)
    assert rest_source(found)["state"] == "partial"
    assert "y.Z: no space" in str(rest_source(found)["why"])
    assert len(found.tables["checkpoints"]) == 8
    assert found.tables["subtasks"] == []


def test_a_checkpoint_evicted_between_two_questions_is_survived() -> None:
    gone = says(404, b'{"errors":["Could not find checkpoint statistics for checkpoint 8."]}', "/details/")
    with replaying(STUCK, trouble=gone) as server:
        found = look(server.address)
    assert rest_source(found)["state"] == "ok"
    assert found.tables["checkpoint_acks"] == []
    assert len(found.tables["subtasks"]) == 12


def test_a_slow_server_gives_what_fits_into_the_budget() -> None:
    with replaying(STUCK, trouble=slowly(30, "/vertices/")) as server:
        begin = time.monotonic()
        found = look(server.address, timeout_seconds=2.0)
        assert time.monotonic() - begin < 25
    assert rest_source(found)["state"] == "partial"
    assert "--timeout" in str(rest_source(found)["why"]) or "did not answer" in str(rest_source(found)["why"])
    assert len(found.tables["checkpoints"]) == 8


def test_a_kept_open_connection_that_was_closed_meanwhile_is_replaced() -> None:
    with replaying(STUCK) as server, RestClient(parse_address(server.address), budget_seconds=10) as client:
        assert client.ask(["/overview"])["/overview"].ok
        connection = client._pool._get_conn()
        connection.sock.shutdown(socket.SHUT_RDWR)
        client._pool._put_conn(connection)
        assert client.ask(["/overview"])["/overview"].ok


def test_the_jobmanager_gets_no_more_than_the_time_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """``--timeout`` is for everything on the network together, and all is asked at once."""
    given: list[float] = []
    monkeypatch.setattr("cli.collectors.flink_rest.flink_collector", lambda address, **settings: given.append(settings["timeout_seconds"]))
    LiveSources(flink_rest="http://127.0.0.1:8081", timeout_seconds=7.0).collectors()
    assert given == [7.0]
