"""What a JobManager answers over REST (recordings of 1.12 and 2.3, served again), and everything else that may answer in its place."""

from __future__ import annotations

import contextlib
import copy
import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzers.derived import derive
from analyzers.run import arrow
from analyzers.tables import TABLES
from cli.collectors import flink_rows as rows
from cli.collectors.flink_recording import Recording, names_of, open_recording
from cli.collectors.flink_rest import FLINK_TABLES, _Picture, collect_recorded, flink_collector
from cli.collectors.flink_run_rows import WANTED
from cli.collectors.flink_transport import IN_FLIGHT, Answer, RestClient, parse_address, read_login
from cli.evidence import Evidence
from cli.exits import CannotLook, UsageError
from cli.live_sources import LiveSources
from cli.renderers.acknowledgements import acknowledgements
from tests.rest_replay import RECORDINGS, TLS, Reply, Trouble, replaying, slowly

STUCK, POISON, OLD = "stuck-async-barrier", "poison-record-deserialiser", "broker-shrink-restart-loop"
JOB = "f3d54b20a9f22d8fe2e9a1ef0bd31458"
ENRICH = "d82cd55518806f2ff0834c6144b1f762"


def look(address: str, **settings: object) -> Evidence:
    return flink_collector(address, **{"timeout_seconds": 6.0, **settings})()  # type: ignore[arg-type]


def at(found: Evidence, table: str, **where: object) -> dict[str, object]:
    matching = [row for row in found.tables[table] if all(row[k] == v for k, v in where.items())]
    assert len(matching) == 1, (table, where, matching)
    return matching[0]


def source(found: Evidence) -> dict[str, object]:
    return at(found, "sources", kind="flink-rest")


# what is read ---------------------------------------------------------------------------------------------------------------


def test_a_served_recording_gives_the_rows_of_the_recording() -> None:
    with replaying(STUCK) as server:
        live = look(server.address)
    offline = collect_recorded(RECORDINGS / STUCK)
    assert source(live)["state"] == "ok"
    clock = {"as_of", "captured_at"}
    for table in FLINK_TABLES:
        stripped = [[{k: v for k, v in row.items() if k not in clock} for row in found.tables[table]] for found in (live, offline)]
        assert stripped[0] == stripped[1], table
        assert all(row["as_of"] for row in live.tables[table])


def test_only_get_is_ever_asked_and_never_more_than_a_few_at_once() -> None:
    with replaying(STUCK, trouble=slowly(0.02)) as server:
        look(server.address)
        assert {method for method, _ in server.asked} == {"GET"}
        assert 1 < server.most_at_once <= IN_FLIGHT


def test_graph_subtasks_and_acknowledgements_of_2_3() -> None:
    found = collect_recorded(RECORDINGS / STUCK)
    assert [v["task"] for v in found.tables["vertices"]] == [
        "Source: orders", "validate -> enrich-profile", "totals -> db-writer -> archive: Writer",
    ]  # fmt: skip
    assert at(found, "vertices", vertex=ENRICH)["inputs"] == ["bc4197a480c92c793190a9f8c0afc54c"]
    busy = at(found, "subtasks", vertex=ENRICH, subtask=1)
    assert (busy["busy"], busy["backpressured"], busy["idle"], busy["resource"]) == (1.0, 0.0, 0.0, "tm-1")
    acks = {row["subtask"]: row for row in found.tables["checkpoint_acks"] if row["vertex"] == ENRICH and row["checkpoint"] == 8}
    assert [acks[n]["status"] for n in range(4)] == ["completed", "pending", "completed", "completed"]
    assert (acks[0]["start_delay_ms"], acks[0]["alignment_ms"], acks[0]["sync_ms"], acks[0]["async_ms"]) == (34, 10, 5, 17)
    assert acks[1]["acknowledged_at"] is None
    job = at(found, "jobs", job=JOB)
    assert (job["name"], job["engine_version"], job["checkpoints_failed"]) == ("orders-totals", "2.3.0", 4)


def test_only_the_workers_of_suspects_are_asked_for_their_threads() -> None:
    with replaying(STUCK) as server:
        found = look(server.address)
        assert [path for _, path in server.asked if "thread-dump" in path] == ["/taskmanagers/tm-1/thread-dump"]
    stack = at(found, "stack_samples", resource="tm-1")
    assert (stack["thread"], stack["state"]) == ("validate -> enrich-profile (2/4)#0", "TIMED_WAITING")
    assert stack["user_frame"] == "lab.Job$Validate.processElement"
    with replaying(POISON) as server:
        look(server.address)
        assert not [path for _, path in server.asked if "thread-dump" in path]


def test_names_of_1_12_are_read_too() -> None:
    found = collect_recorded(RECORDINGS / OLD)
    failure = at(found, "exceptions", root=True)
    assert (failure["task"], failure["subtask"], failure["address"]) == ("Source: orders -> parse", 2, "localhost:35997")
    assert failure["root_exception"] == "org.apache.kafka.common.errors.TimeoutException"
    subtask = at(found, "subtasks", task="Source: orders -> parse", subtask=0)
    assert (subtask["host"], subtask["resource"], subtask["attempt"], subtask["busy"]) == ("localhost", "tm-2", 5, None)
    assert at(found, "job_config", key="tolerable_failed_checkpoints")["value"] == "0"


def test_failures_that_only_the_jobmanager_tells_become_attempts_and_faults() -> None:
    whole = derive(collect_recorded(RECORDINGS / POISON).tables)
    assert [a["ended"] for a in whole["attempts"]].count("failed") == 9
    assert {f["cause"] for f in whole["faults"] if f["fatal"]} == {"poison-record"}
    assert whole["attempts"][0]["checkpoints_completed"] == 4
    assert "log_events" not in whole  # nobody read a line: rules about lines are not checked


def test_a_name_with_dots_and_the_numbers_behind_it() -> None:
    found = WANTED.match("3.Source__in.KafkaSourceReader.topic.a.b-c.partition.12.currentOffset")
    assert found is not None
    assert (found["subtask"], found["topic"], found["partition"], found["name"]) == ("3", "a.b-c", "12", "currentOffset")


@pytest.mark.parametrize(
    ("value", "number", "whole", "share"),
    [
        ("NaN", None, None, None),
        (float("nan"), None, None, None),
        (-(1 << 63), -9.223372036854776e18, None, None),
        ("9007199254740993", 9007199254740992.0, 9007199254740993, 1.0),  # beyond 2^53 only the integer is exact
        (None, None, None, None),
        (-1, -1.0, -1, None),
        (0.25, 0.25, 0, 0.25),
        ({}, None, None, None),
    ],
)
def test_numbers(value: object, number: float | None, whole: int | None, share: float | None) -> None:
    assert (rows.number(value), rows.whole(value), rows.ratio(value)) == (number, whole, share)


# which job ------------------------------------------------------------------------------------------------------------------


def _two_jobs(path: str) -> Reply | None:
    if path != "/jobs/overview":
        return None
    jobs = [
        {"jid": JOB, "name": "orders-totals", "state": "RUNNING", "start-time": 2, "last-modification": 5},
        {"jid": "a" * 32, "name": "orders-totals", "state": "CANCELED", "start-time": 1, "last-modification": 9},
    ]
    return 200, json.dumps({"jobs": jobs}).encode()


@pytest.mark.parametrize("name", [JOB, "orders-totals", JOB[:6]])
def test_a_job_is_named_by_id_name_or_the_start_of_its_id(name: str) -> None:
    with replaying(STUCK, trouble=_two_jobs) as server:
        found = look(server.address, job=[name])
        assert {row["job"] for row in found.tables["vertices"]} == {JOB}
        assert {row["job"] for row in found.tables["jobs"]} == {JOB, "a" * 32}


def test_an_unknown_job_is_a_usage_error_that_names_the_nearest() -> None:
    with replaying(STUCK) as server, pytest.raises(UsageError, match="Did you mean orders-totals"):
        look(server.address, job=["orders-total"])


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


@pytest.mark.parametrize("address", [f"http://{'a' * 70}:8081", "http://127.0.0.1:9/pr\u00e9fixe"])
def test_an_address_that_no_request_can_be_written_to(address: str) -> None:
    with pytest.raises(CannotLook, match="no request to"):
        flink_collector(address, timeout_seconds=5.0)()


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
    assert source(found)["state"] == "partial"
    assert "y.Z: no space" in str(source(found)["why"])
    assert len(found.tables["checkpoints"]) == 8
    assert found.tables["subtasks"] == []


def test_a_checkpoint_evicted_between_two_questions_is_survived() -> None:
    gone = says(404, b'{"errors":["Could not find checkpoint statistics for checkpoint 8."]}', "/details/")
    with replaying(STUCK, trouble=gone) as server:
        found = look(server.address)
    assert source(found)["state"] == "ok"
    assert found.tables["checkpoint_acks"] == []
    assert len(found.tables["subtasks"]) == 12


def test_a_slow_server_gives_what_fits_into_the_budget() -> None:
    with replaying(STUCK, trouble=slowly(30, "/vertices/")) as server:
        begin = time.monotonic()
        found = look(server.address, timeout_seconds=2.0)
        assert time.monotonic() - begin < 25
    assert source(found)["state"] == "partial"
    assert "--timeout" in str(source(found)["why"]) or "did not answer" in str(source(found)["why"])
    assert len(found.tables["checkpoints"]) == 8


def test_a_kept_open_connection_that_was_closed_meanwhile_is_replaced() -> None:
    with replaying(STUCK) as server, RestClient(parse_address(server.address), budget_seconds=10) as client:
        assert client.ask(["/overview"])["/overview"].ok
        assert client._idle[0].sock is not None
        client._idle[0].sock.shutdown(socket.SHUT_RDWR)
        assert client.ask(["/overview"])["/overview"].ok


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


# recordings -----------------------------------------------------------------------------------------------------------------


def test_a_directory_without_answers_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(CannotLook, match="no jobs_overview"):
        flink_collector(str(tmp_path))()


def test_every_path_that_is_asked_has_a_name_in_a_recording() -> None:
    with replaying(STUCK) as server:
        look(server.address)
        unnamed = {re.sub(r"\?.*", "", path) for _, path in server.asked if not names_of(path.partition("?")[0])}
    assert not unnamed


# answers that make no sense --------------------------------------------------------------------------------------------------

NONSENSE = [None, "", "NaN", "x", -1, 0, 1 << 70, 1.5, float("nan"), True, [], {}, [None], [[]], {"id": []}, ["a", {}]]


@dataclass(frozen=True)
class Garbling:
    """A recording in which some values of each answer are something else."""

    recording: Recording
    random: Random

    @property
    def name(self) -> str:
        return "garbled"

    def ask(self, paths: Sequence[str]) -> dict[str, Answer]:
        return {path: replace(answer, body=self._garbled(answer.body)) for path, answer in self.recording.ask(paths).items()}

    def _garbled(self, body: Any) -> Any:
        places = list(_places(body))
        if not places or self.random.random() < 0.5:
            return body
        body = copy.deepcopy(body)
        for place in self.random.choices(places, k=2):
            inside = body
            for key in place[:-1]:
                inside = inside[key] if isinstance(inside, (dict, list)) and _has(inside, key) else None
            if isinstance(inside, (dict, list)) and _has(inside, place[-1]):
                inside[place[-1]] = self.random.choice(NONSENSE)
        return body


def _has(inside: dict[Any, Any] | list[Any], key: Any) -> bool:
    return key in inside if isinstance(inside, dict) else isinstance(key, int) and key < len(inside)


def _places(body: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = body.items() if isinstance(body, dict) else enumerate(body[:3]) if isinstance(body, list) else ()
    for key, value in items:
        yield (*above, key)
        yield from _places(value, (*above, key))


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from([STUCK, POISON, OLD]), seed=st.integers(0, 1 << 32))
def test_no_answer_whatever_it_says_is_a_crash(name: str, seed: int) -> None:
    recording = open_recording(RECORDINGS / name)
    picture = _Picture(Garbling(recording, Random(seed)), now=recording.captured_at, settle_seconds=0.0)
    try:
        found = picture.taken()
    except CannotLook:
        return
    whole = derive(found.tables)
    for table, rows_found in whole.items():
        arrow(TABLES[table], rows_found)  # every value is of its column's type
    acknowledgements(whole)


def test_the_jobmanager_gets_no_more_than_the_time_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """``--timeout`` is for everything on the network together, and all is asked at once."""
    given: list[float] = []
    monkeypatch.setattr("cli.collectors.flink_rest.flink_collector", lambda address, **settings: given.append(settings["timeout_seconds"]))
    LiveSources(flink_rest="http://127.0.0.1:8081", timeout_seconds=7.0).collectors()
    assert given == [7.0]
