"""A worker of Kafka Connect that is asked over REST: what it answers is judged as a paste is; everything else that may answer is said."""

from __future__ import annotations

import contextlib
import json
import socket
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from analyzers.bundle.read import read_bundle
from analyzers.derived.lag.connector_stands import connector_stands
from analyzers.diagnosis.coverage import too_short
from analyzers.states.recognise import states_of
from analyzers.tables import COMMITTED_OFFSETS, CONNECTOR_CONFIGS, CONNECTOR_OFFSETS, CONNECTOR_TASKS, LAG_TRUTH, Row
from cli.collectors.beside import beside
from cli.collectors.connect_rest import ConnectAnswers, ask_connect
from cli.collectors.flink_transport import CONNECT, Answer, parse_address, read_login
from cli.shell.exits import CannotLook, ExitCode, UsageError
from cli.shell.signals import Terminated
from tests.command_line import diag
from tests.rest_replay import Replayed, Trouble, serving, slowly

RECORDED = Path(__file__).parent / "data" / "connect" / "worker-4.3.1.json"
LISTED = "/connectors?expand=status&expand=info"
NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


@dataclass
class Worker:
    """A recording of a worker; the offsets of each connector are those of its next look."""

    answers: dict[str, Any] = field(default_factory=lambda: json.loads(RECORDED.read_text(encoding="utf-8")))
    looks: dict[str, int] = field(default_factory=dict)
    name: str = "a worker"

    def ask(self, paths: Sequence[str]) -> dict[str, Answer]:
        return {path: Answer(path, self._of(path), NOON, None if self._of(path) is not None else "not there") for path in paths}

    def _of(self, path: str) -> Any:
        found = self.answers.get(path)
        if path.endswith("/offsets") and isinstance(found, list):
            self.looks[path] = self.looks.get(path, 0) + 1
            return found[min((self.looks[path] - 1) // 2, len(found) - 1)]  # each is asked for twice above
        return found


@contextlib.contextmanager
def worker(**settings: Any) -> Iterator[Replayed]:
    with serving(Worker(), **settings) as server:
        yield server


def asked(server: Replayed, **settings: Any) -> ConnectAnswers:
    where, login = parse_address(server.address, CONNECT), read_login(settings.pop("login", None), CONNECT)
    return ask_connect(where, login, **{"timeout_seconds": 5.0, "sleep": lambda seconds: None, **settings})


def rows(answers: ConnectAnswers, table: str) -> list[dict[str, Any]]:
    return [{"at": state.at, **row} for state in states_of(answers.text.encode()).states for row in state.rows.get(table, ())]


# what it answers --------------------------------------------------------------------------------------------------------------


def test_states_settings_and_offsets_of_two_looks() -> None:
    with worker() as server:
        answers = asked(server)
    assert (answers.source["state"], answers.source["why"]) == ("ok", None)
    states = {(row["connector"], row["task"]): row["state"] for row in rows(answers, "connector_tasks")}
    assert states["bad-to-file", None] == "RUNNING"
    assert states["bad-to-file", 0] == "FAILED"
    assert states["orders-paused", None] == "PAUSED"
    assert states["orders-to-file", 1] == "RUNNING"
    offsets = rows(answers, "connector_offsets")
    assert [row["committed"] for row in offsets if (row["connector"], row["partition"]) == ("orders-to-pipe", 0)] == [343, 343]
    first, last = (row["committed"] for row in offsets if (row["connector"], row["partition"]) == ("orders-to-file", 0))
    assert first < last
    assert all(row["at"] is not None for row in offsets)
    source = next(row for row in offsets if row["connector"] == "lines")
    assert (source["topic"], source["committed"]) == (None, None)
    assert "position" in source["position"]
    assert "orders-paused" not in {row["connector"] for row in offsets}


def test_only_gets_are_sent_few_at_a_time_and_the_second_look_waits() -> None:
    slept: list[float] = []
    with worker() as server:
        asked(server, wait_seconds=7.0, sleep=slept.append)
    assert slept == [7.0]
    assert {method for method, _ in server.asked} == {"GET"}
    assert server.most_at_once <= 4
    assert {path.split("?")[0].split("/")[-1] for _, path in server.asked} == {"", "connectors", "offsets"}


def test_a_failure_that_both_looks_show_is_written_once() -> None:
    with worker() as server:
        assert asked(server).text.count("JsonParseException: Unrecognized token") == 2  # what one trace holds


def test_settings_that_may_be_secrets_are_not_even_written(tmp_path: Path) -> None:
    assert "S3cretPlain" in RECORDED.read_text(encoding="utf-8")
    with worker() as server:
        text = asked(server).text
        bundle = tmp_path / "bundle"
        code, out, err = diag("collect", "--connect-rest", server.address, "--connect-wait", "100ms", "--no-redact", "--save", str(bundle))
    assert code == ExitCode.CLEAN, err
    everything = text + out + err + "".join(path.read_text(encoding="utf-8") for path in bundle.iterdir())
    assert "S3cret" not in everything
    assert "tasks.max" in everything


def test_connectors_of_any_name_are_asked_for() -> None:
    name = "orders to/file?"
    recorded = Worker()
    status = {
        "name": name,
        "connector": {"state": "RUNNING", "worker_id": "a:1"},
        "tasks": [{"id": 0, "state": "RUNNING", "worker_id": "a:1"}],
    }
    recorded.answers[LISTED] = {name: {"status": status}}
    place = {"partition": {"kafka_topic": "orders", "kafka_partition": "3"}, "offset": {"kafka_offset": "12"}}
    recorded.answers["/connectors/orders%20to%2Ffile%3F/offsets"] = [{"offsets": [place]}]
    with serving(recorded) as server:
        found = rows(asked(server), "connector_offsets")
    assert [(row["connector"], row["partition"], row["committed"]) for row in found] == [(name, 3, 12)] * 2


# who else may answer ----------------------------------------------------------------------------------------------------------


def says(status: int, content: bytes, *paths: str) -> Trouble:
    return lambda path: (status, content) if not paths or any(part in path for part in paths) else None


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (says(200, b"<!DOCTYPE html><html>nginx"), "web page instead of JSON"),
        (says(401, b"<html>log in</html>"), "wants a login .--connect-rest-auth FILE"),
        (says(403, b""), "refuses this user"),
        (says(302, b""), "login page"),
        (
            says(409, b'{"error_code":409,"message":"Cannot complete request momentarily due to stale configuration"}'),
            "stale configuration",
        ),
        (says(500, b'{"error_code":500,"message":"Request timed out. The worker is currently reading its topics"}'), "reading its topics"),
        (says(404, b'{"error_code":404,"message":"HTTP 404 Not Found"}'), "another version of Kafka Connect"),
        (says(200, b'{"jobs":[]}'), "no worker of Connect"),
        (says(200, b""), "nothing instead"),
    ],
)
def test_who_is_no_worker_is_said_in_words(trouble: Trouble, words: str) -> None:
    with worker(trouble=trouble) as server, pytest.raises(CannotLook, match=words) as refused:
        asked(server)
    assert "--connect-rest http://HOST:8083" in refused.value.hint


def test_an_older_worker_has_no_offsets() -> None:
    gone = says(404, b'{"error_code":404,"message":"HTTP 404 Not Found"}', "/offsets")
    with worker(trouble=gone) as server:
        answers = asked(server, sleep=lambda seconds: pytest.fail("there is nothing to wait for"))
    assert answers.source["state"] == "partial"
    assert "before Kafka 3.6" in answers.source["why"]
    assert len(rows(answers, "connector_tasks")) > 6


def test_a_worker_before_2_3_lists_names_only() -> None:
    recorded = Worker()
    listed = recorded.answers[LISTED]
    recorded.answers[LISTED] = list(listed)
    recorded.answers |= {f"/connectors/{name}/status": of["status"] for name, of in listed.items()}
    recorded.answers |= {f"/connectors/{name}": of["info"] for name, of in listed.items()}
    with serving(recorded) as server:
        answers = asked(server)
    assert {row["connector"] for row in rows(answers, "connector_tasks")} == set(listed)
    assert "S3cret" not in answers.text


def test_a_worker_that_rebalances_is_partial_and_the_states_are_kept() -> None:
    busy = says(
        409,
        b'{"error_code":409,"message":"Cannot complete request because of a conflicting operation (e.g. worker rebalance)"}',
        "/offsets",
    )
    with worker(trouble=busy) as server:
        answers = asked(server)
    assert "worker rebalance" in answers.source["why"]
    assert rows(answers, "connector_offsets") == []
    assert len(rows(answers, "connector_tasks")) > 6


def test_a_worker_that_hangs_costs_the_time_that_was_given() -> None:
    with worker(trouble=slowly(30)) as server, pytest.raises(CannotLook, match="did not answer within 1 s"):
        asked(server, timeout_seconds=1.0)


def test_a_login_out_of_a_file(tmp_path: Path) -> None:
    login = tmp_path / "login.properties"
    login.write_text("username=ann\npassword=b:c=d\n")
    with worker(wants="Basic YW5uOmI6Yz1k") as server:
        assert rows(asked(server, login=login), "connector_tasks")
    with pytest.raises(UsageError, match="--connect-rest holds a user name or password") as refused:
        parse_address("http://ann:S3cret@connect:8083", CONNECT)
    assert "--connect-rest-auth FILE" in refused.value.hint
    assert "S3cret" not in str(refused.value)
    login.write_text("abcdefS3cret\n")
    with pytest.raises(UsageError, match="--connect-rest-auth"):
        read_login(login, CONNECT)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("connect", "http://connect:8083"),
        ("https://proxy/team/a/connectors/orders/status", "https://proxy:443/team/a"),
        ("http://connect:8083/connectors?expand=status", "http://connect:8083"),
    ],
)
def test_addresses(given: str, url: str) -> None:
    assert parse_address(given, CONNECT).url == url


# commands -----------------------------------------------------------------------------------------------------------------------


def test_collect_from_a_dead_worker_is_exit_code_3_and_says_where(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code, out, _ = diag("collect", "--connect-rest", f"http://127.0.0.1:{port}", "--save", str(tmp_path / "bundle"))
    assert code == ExitCode.CANNOT_LOOK
    assert f"failed\tconnect-rest\thttp://127.0.0.1:{port}" in out
    assert "refuses the connection" in out


@pytest.mark.parametrize("stop", [KeyboardInterrupt, Terminated])
def test_who_stops_the_wait_loses_nothing_of_the_first_look(
    stop: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(seconds: float) -> None:
        raise stop

    with worker() as server:
        answers = asked(server, sleep=stopped)
        assert isinstance(answers.stop, stop)
        assert "stopped before the second look" in answers.source["why"]
        assert len(rows(answers, "connector_offsets")) > 6
        monkeypatch.setattr("cli.collectors.connect_rest.ask_connect", lambda *_, **__: answers)
        dead = ["-b", "127.0.0.1:9", "--connect-rest", server.address]
        code, _, err = diag("collect", *dead, "--save", str(tmp_path / "bundle"))
        assert code in (130, 143), err
        tables = read_bundle(tmp_path / "bundle").tables
        assert {row["kind"] for row in tables["sources"]} == {"connect-rest", "logs", "states"}, "Kafka is not asked any more"
        for command in ("triage", "lag-report"):
            code, out, err = diag(command, *dead, "--facts-only", "-o", "json")
            assert code in (130, 143), err
            assert json.loads(out)["facts"]["connector_tasks"]


def test_a_bundle_holds_what_was_answered(tmp_path: Path) -> None:
    with worker() as server:
        code, _, err = diag("collect", "--connect-rest", server.address, "--connect-wait", "100ms", "--save", str(tmp_path / "bundle"))
    assert code == ExitCode.CLEAN, err
    tables = read_bundle(tmp_path / "bundle").tables
    assert {"connector_tasks", "connector_offsets", "connector_configs", "log_events"} <= set(tables)
    assert "connect-task-killed" in {row["signature"] for row in tables["log_events"]}
    assert {row["kind"] for row in tables["sources"]} == {"connect-rest", "logs", "states"}


def test_the_directory_of_the_answers_is_private_and_gone_afterwards() -> None:
    with contextlib.suppress(KeyboardInterrupt), beside() as found:
        found.add("../../etc/pass wd", b"x")
        assert stat.S_IMODE(found.directory.stat().st_mode) == 0o700
        assert [Path(path).parent for path in found.names] == [found.directory]
        assert found.paths == [str(found.directory)]
        assert list(found.names.values()) == ["../../etc/pass wd"]
        raise KeyboardInterrupt
    assert not found.directory.exists()


# whether a sink stands -----------------------------------------------------------------------------------------------------------


def tables(**changed: Any) -> dict[str, list[Row]]:
    """A sink that stands at 100 over three minutes, 40 records of 140 wait; `changed` is what differs."""
    given = {"state": "RUNNING", "task": "RUNNING", "type": "sink", "offsets": (100, 100), "committed": 100, "end": 140, "stable": 140,
             "healthy": False, "group": "connect-orders"} | changed  # fmt: skip
    at = [NOON, NOON + timedelta(minutes=3)]
    head = {"scope": "", "connector": "orders", "moment": 1, "file": "f", "line": 1}
    place = {"topic": "orders", "partition": 0}
    group = {"scope": "", "group": given["group"], **place}
    return {
        "connector_tasks": [
            CONNECTOR_TASKS.row({**head, "as_of": at[0], "type": given["type"], "task": task, "state": state})
            for task, state in ((None, given["state"]), (0, given["task"]))
        ],
        "connector_offsets": [
            CONNECTOR_OFFSETS.row({**head, **place, "as_of": when, "committed": offset, "moment": number})
            for number, (when, offset) in enumerate(zip(at, given["offsets"], strict=True), start=2)
        ],
        "committed_offsets": [
            COMMITTED_OFFSETS.row({**group, "at": at[1] + timedelta(seconds=5), "committed": given["committed"], "log_start": 0,
                                   "high_watermark": given["end"], "last_stable": given["stable"]})
        ],
        "lag_truth": [LAG_TRUTH.row({**group, "healthy": given["healthy"]})],
        "connector_configs": [
            CONNECTOR_CONFIGS.row({"scope": "", "connector": "orders", **setting}) for setting in changed.get("configs", ())
        ],
    }  # fmt: skip


def test_a_sink_that_stands_while_records_wait() -> None:
    (row,) = connector_stands(tables())
    assert (row["committed"], row["lag_records"], row["stands_seconds"], row["tasks"]) == (100, 40, 185.0, 1)
    override = {"key": "consumer.override.group.id", "value": "of-my-own"}
    assert connector_stands(tables(group="of-my-own", configs=[override]))[0]["group"] == "of-my-own"


@pytest.mark.parametrize(
    "healthy",
    [
        {"offsets": (90, 100)},
        {"end": 100, "stable": 100},
        {"stable": 100},
        {"healthy": True},
        {"state": "PAUSED", "task": "PAUSED"},
        {"state": "STOPPED"},
        {"task": "FAILED"},
        {"type": "source"},
        {"committed": 130},
        {"group": "another"},
    ],
    ids=[
        "moves",
        "idle",
        "all that is stable is read",
        "markers",
        "paused",
        "stopped",
        "failed",
        "source",
        "moved since",
        "of another cluster",
    ],
)
def test_a_sink_that_does_not_stand(healthy: dict[str, Any]) -> None:
    assert [row for row in connector_stands(tables(**healthy)) if row["stands_seconds"] > 60] == []


def test_a_sink_that_was_watched_too_briefly_or_without_a_broker_is_not_clean() -> None:
    def because(found: dict[str, list[Row]]) -> list[str]:
        return [each.because for each in too_short(["LAG511"], {**found, "connector_stands": connector_stands(found)})]

    brief = tables()
    brief["connector_offsets"][0]["as_of"] = brief["connector_offsets"][1]["as_of"] - timedelta(seconds=5)
    assert because(brief) == ["orders stood for 10 s while records waited, and a worker commits once a minute: --connect-wait 150s"]
    (unknown,) = because({**tables(), "committed_offsets": []})
    assert "no broker was asked (--bootstrap-server)" in unknown
    assert because(tables(offsets=(90, 100))) == []
    assert because({**tables(state="PAUSED"), "committed_offsets": []}) == []
    assert because(tables()) == [], "the rule itself speaks of it"


def test_a_paste_without_times_and_names_shows_nothing_of_that() -> None:
    paste = json.dumps({"offsets": [{"partition": {"kafka_topic": "orders", "kafka_partition": 0}, "offset": {"kafka_offset": 5}}]})
    (state,) = states_of(paste.encode()).states
    assert state.shape == "list of connector offsets"
    assert state.rows["connector_offsets"][0]["connector"] is None
    assert connector_stands({**tables(), "connector_offsets": [CONNECTOR_OFFSETS.row({"scope": "", "committed": 5})]}) == []
