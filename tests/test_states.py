# ruff: noqa: E501 -- frames and tables are what they are
"""States of other tools: recognised by content wherever they lie, as far as they are whole, and nothing else is taken for one."""

from __future__ import annotations

import io
import json
import random
import tarfile
from html import escape
from pathlib import Path

import pytest

from analyzers.logs.matching.matcher import Backend, Presence, available
from analyzers.logs.wrappings import connect_status, plain_yaml
from analyzers.readers.log_plan import LogOptions
from analyzers.readers.log_scan import plan, scan
from analyzers.states import operators
from analyzers.states.clocks import clock_of
from analyzers.states.frames import Frame, waits
from analyzers.states.recognise import states_of

STATES = Path(__file__).parent / "data" / "states"
DUMPS = (STATES / "jstack-sink-in-database-read" / "stacks.txt").read_text(encoding="utf-8")
GROUPS = (STATES / "groups-one-partition-stands" / "describe.txt").read_text(encoding="utf-8")
CHECKPOINTS = (STATES / "flink-checkpoints-complete" / "download (1)").read_text(encoding="utf-8")
POD = (STATES / "get-pod-json-oomkilled" / "pod.json").read_text(encoding="utf-8")


def shapes(text: str) -> list[str]:
    return [state.shape for state in states_of(text.encode()).states]


def test_several_shapes_in_one_paste() -> None:
    paste = f"Hello,\nsince 3 a.m. nothing moves.\n\n{GROUPS}\nand the dump:\n{DUMPS}\n{CHECKPOINTS}\nThanks\n"
    found = states_of(paste.encode())
    assert sorted(state.shape for state in found.states) == [*["Flink REST answer"], *["consumer-group table"] * 2, *["thread dump"] * 3]
    assert "Hello," in found.rest
    assert "Full thread dump" not in found.rest
    assert "CURRENT-OFFSET" not in found.rest


@pytest.mark.parametrize(
    "around",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\x1b[1m" + text.replace("\n", "\x1b[0m\n\x1b[32m"),
        lambda text: "\ufeff" + text,
        lambda text: f"<!DOCTYPE html><html><body><h1>Threads</h1><pre>\n{escape(text, quote=False)}</pre></body></html>",
    ],
    ids=["crlf", "colours", "mark", "page"],
)
def test_what_terminals_and_pages_put_around_a_dump(around) -> None:  # type: ignore[no-untyped-def]  # a lambda of each case
    plain, wrapped = states_of(DUMPS.encode()).states, states_of(around(DUMPS).encode()).states
    told = [[(row["thread"], row["call"], row["waits"]) for row in state.rows["stack_samples"]] for state in plain]
    assert [[(row["thread"], row["call"], row["waits"]) for row in state.rows["stack_samples"]] for state in wrapped] == told


def test_half_a_dump_is_read_as_far_as_it_goes() -> None:
    whole = states_of(DUMPS.encode()).states
    half = states_of(DUMPS[: len(DUMPS) * 2 // 3 + 400].encode()).states
    assert 2 <= len(half) <= len(whole)
    assert half[0].rows == whole[0].rows


def test_a_table_that_a_terminal_of_80_columns_wrapped() -> None:
    wrapped = "\n".join(
        piece
        for line in GROUPS.split("\n")
        for piece in ([line[:80], " " + line[80:]] if line.startswith("mail") and len(line) > 80 else [line])
    )
    plain, broken = (
        [(row["partition"], row["committed"], row["high_watermark"]) for state in states_of(text.encode()).states for row in state.rows.get("pasted_offsets", ())]
        for text in (GROUPS, wrapped)
    )  # fmt: skip
    assert broken == plain
    assert len(plain) == 10


def test_json_that_is_cut_in_the_middle_says_so() -> None:
    found = states_of(CHECKPOINTS[: len(CHECKPOINTS) * 3 // 4].encode()).states
    assert [state.shape for state in found] == ["Flink REST answer"]
    assert found[0].trouble is not None
    assert 3 <= len(found[0].rows["checkpoints"]) < 10


STATISTICS = (STATES / "rdkafka-nothing-committed" / "stats.jsonl").read_text(encoding="utf-8").split("\n")[0]
DESCRIBED = (STATES / "flink-operator-described" / "ticket.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [DUMPS, GROUPS, CHECKPOINTS, POD, STATISTICS, DESCRIBED],
    ids=["dumps", "groups", "checkpoints", "pod", "statistics", "described"],
)
def test_damaged_bytes_raise_nothing(text: str) -> None:
    chance = random.Random(7)
    data = text.encode()
    for _ in range(150):
        broken = bytearray(data[chance.randrange(len(data) // 2) :][: chance.randrange(20, len(data))])
        for _ in range(chance.randrange(12)):
            if broken:
                broken[chance.randrange(len(broken))] = chance.choice(b'{}[]",:\n\t 0-\xff')
        states_of(bytes(broken))


@pytest.mark.parametrize(
    "text",
    [
        "The jstack shows nothing: everybody sleeps.\n",
        json.dumps({"jobs": [{"id": 1, "name": "nightly"}], "status": "ok"}),
        json.dumps([{"id": "a", "subtasks": [{"index": 1}]}]),
        'apiVersion: v1\nkind: ConfigMap\ndata:\n  a: "1"\n',
        "GROUP  OF PEOPLE\nfirst  second\n",
        "Topic: holidays\nPartition: the flat\n",
    ],
)
def test_what_is_no_state_is_none(text: str) -> None:
    assert shapes(text) == []


def test_wherever_a_state_lies_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "notes.dat").write_text(GROUPS, encoding="utf-8")
    archive = tmp_path / "case.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        info = tarfile.TarInfo("ticket/attachment")
        info.size = len(DUMPS.encode())
        packed.addfile(info, io.BytesIO(DUMPS.encode()))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "x").write_text(CHECKPOINTS, encoding="utf-8")
    tables = scan(plan([str(tmp_path / "notes.dat"), str(archive), str(folder)]))
    held = {Path(row["name"].split("!")[0]).name: row["shapes"] for row in tables["sources"] if row["kind"] == "states"}
    assert held == {"notes.dat": "2 consumer-group table", "case.tar.gz": "3 thread dump", "x": "1 Flink REST answer"}
    assert "log_events" not in tables, "rules of logs must not call this clean"
    stdin = scan(plan(["-"], LogOptions(stdin=io.BytesIO(POD.encode()))))
    assert [row["pod"] for row in stdin["pod_containers"]] == ["settle-streams-0"]


def test_answers_that_are_recorded_together_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "jobs_overview.json").write_text('{"jobs": []}', encoding="utf-8")
    (tmp_path / "job_checkpoints.json").write_text(CHECKPOINTS, encoding="utf-8")
    assert plan([str(tmp_path)]).states == []


@pytest.mark.parametrize(
    ("frames", "state", "kind", "system"),
    [
        (["sun.nio.ch.Net.poll", "redis.clients.jedis.Jedis.get", "com.a.B.c"], "RUNNABLE", "socket", "Redis"),
        (["sun.nio.ch.EPoll.wait", "org.apache.kafka.common.network.Selector.poll", "org.apache.kafka.clients.consumer.KafkaConsumer.poll", "com.a.B.c"], "RUNNABLE", "idle", "Kafka"),
        (["jdk.internal.misc.Unsafe.park", "java.util.concurrent.LinkedBlockingQueue.take", "com.a.B.c"], "WAITING", "idle", None),
        (["jdk.internal.misc.Unsafe.park", "java.util.concurrent.ArrayBlockingQueue.put", "com.a.B.c"], "WAITING", "full", None),
        (["jdk.internal.misc.Unsafe.park", "org.apache.flink.runtime.io.network.buffer.LocalBufferPool.requestMemorySegmentBlocking", "com.a.B.c"], "WAITING", "downstream", None),
        (["java.lang.Thread.sleep", "com.a.B.c"], "TIMED_WAITING", "sleep", None),
        (["com.a.B.c"], "BLOCKED", "lock", None),
        (["com.a.B.c"], "RUNNABLE", "running", None),
        (["java.net.SocketInputStream.socketRead0", "org.apache.http.impl.io.X.read", "org.elasticsearch.client.RestClient.send", "com.a.B.c"], "RUNNABLE", "socket", "Elasticsearch"),
    ],
)  # fmt: skip
def test_what_a_thread_waits_for(frames: list[str], state: str, kind: str, system: str | None) -> None:
    doing = waits([Frame(name, "X.java:1") for name in frames], state)
    assert (doing.kind, doing.system, doing.user and doing.user.name) == (kind, system, "com.a.B.c")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Mon Jul  6 10:00:01 UTC 2026", "2026-07-06T10:00:01+00:00"),
        ("Mon  6 Jul 12:00:01 CEST 2026", "2026-07-06T10:00:01+00:00"),
        ("2026-07-06T11:03:00Z", "2026-07-06T11:03:00+00:00"),
        ("=== 2026-07-06 11:03:00 ===", "2026-07-06T11:03:00+00:00"),
        ("03:12:05", "11525.0"),
        ("a 2026-07-06 11:03:00 INFO x", "None"),
    ],
)
def test_the_clock_of_a_paste(line: str, shown: str) -> None:
    clock = clock_of(line)
    assert str(clock and (clock.at.isoformat() if clock.at else float(clock.of_day or 0))) == shown


def test_yaml_as_kubectl_prints_it() -> None:
    text = "a:\n  b: 'x: y'\n  c:\n  - d: 1\n    e: |-\n      first\n      second\n  - plain\n  f: {}\n  g: true\nh: null\n"
    assert plain_yaml.read(text.split("\n")) == {
        "a": {"b": "x: y", "c": [{"d": 1, "e": "first\nsecond"}, "plain"], "f": {}, "g": True},
        "h": None,
    }


def test_a_resource_of_strimzi_holds_the_state_of_its_connectors() -> None:
    text = """$ kubectl get kafkamirrormaker2 dc-a-to-dc-b -o yaml
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaMirrorMaker2
metadata:
  name: dc-a-to-dc-b
status:
  conditions:
  - status: "True"
    type: Ready
  connectors:
  - connector:
      state: RUNNING
      worker_id: mm2-0:8083
    name: dc-a->dc-b.MirrorSourceConnector
    tasks:
    - id: 0
      state: FAILED
      trace: |-
        org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception
        Caused by: org.apache.kafka.common.errors.RecordTooLargeException: too large
      worker_id: mm2-1:8083
    type: source
  observedGeneration: 6
$ kubectl get pods
"""
    lines = [(line, number) for number, line in enumerate(text.encode().split(b"\n"), 1)]
    assert connect_status.has_status(text.encode())
    assert [line.decode() for line, _ in connect_status.as_lines(lines)] == [
        "$ kubectl get kafkamirrormaker2 dc-a-to-dc-b -o yaml",
        "INFO [dc-a->dc-b.MirrorSourceConnector|worker] Connector dc-a->dc-b.MirrorSourceConnector is RUNNING on worker mm2-0:8083",
        (
            "ERROR [dc-a->dc-b.MirrorSourceConnector|task-0] WorkerSourceTask{id=dc-a->dc-b.MirrorSourceConnector-0} Task threw an uncaught "
            "and unrecoverable exception. Task is being killed and will not recover until manually restarted (is FAILED on worker mm2-1:8083)"
        ),
        "org.apache.kafka.connect.errors.ConnectException: Unrecoverable exception",
        "Caused by: org.apache.kafka.common.errors.RecordTooLargeException: too large",
        "$ kubectl get pods",
    ]
    assert not connect_status.has_status(text.replace("strimzi.io", "example.io").encode())


@pytest.mark.parametrize("backend", available())
def test_signs_are_found_by_any_back_end(backend: Backend) -> None:
    """Also those that begin, end or hold another, at both ends of a text, and bytes that are no text."""
    signs = [b"abc", b"ab", b"bc", b"\xff\x00", b"zz"]
    looked_for = Presence(signs, backend)
    assert looked_for.of(b"abc..\xff\x00") == {b"abc", b"ab", b"bc", b"\xff\x00"}
    assert looked_for.of(b"a b c z") == frozenset()
    assert looked_for.of(b"") == Presence([], backend).of(b"ab") == frozenset()


@pytest.mark.parametrize(
    ("around", "logged"),
    [
        (lambda text: text, False),
        (lambda text: f"[{text},\n{text}]", False),
        (lambda text: json.dumps(json.loads(text), indent=2), False),
        (lambda text: f"2026-07-06 10:00:01,204 INFO [billing] stats: {text}", True),
        (lambda text: json.dumps({"level": "info", "message": f"stats {text}"}), True),
        (lambda text: json.dumps({"level": "info", "stats": json.loads(text)}), True),
    ],
    ids=["line", "array", "pretty", "log-line", "string-of-a-record", "member-of-a-record"],
)
def test_statistics_of_a_client_wherever_they_stand(around, logged: bool) -> None:  # type: ignore[no-untyped-def]  # a lambda of each case
    found = states_of(around(STATISTICS).encode()).states
    assert {state.shape for state in found} == {"snapshot of a client's statistics"}
    assert all(state.also_log is logged for state in found), "what stands beside them in a log is read, too"
    (row,) = found[0].rows["client_states"]
    assert (row["client"], row["group_state"], row["join_state"], row["queue_limit"]) == ("billing", "up", "steady", None)
    positions = [each for each in found[0].rows["client_partitions"] if each["partition"] == 0]
    assert (positions[0]["position"], positions[0]["stored"], positions[0]["committed"], positions[0]["lag_records"]) == (
        53,
        53,
        None,
        None,
    )
    assert {each["state"] for each in found[0].rows["client_brokers"]} == {"UP"}


def test_statistics_that_are_cut_off_or_of_no_client_are_none() -> None:
    assert shapes(f"2026-07-06 10:00:01,204 INFO stats: {STATISTICS[:3000]}") == []
    assert shapes(json.dumps({"client_id": "a", "type": "consumer", "msg_size_max": 0, "brokers": [], "topics": {}, "time": 1})) == []
    assert shapes(STATISTICS.replace('"time": 17', '"time": -17')) == []


def test_of_many_moments_of_a_client_the_first_and_the_last_are_read() -> None:
    first = json.loads(STATISTICS)
    moments = [
        json.dumps({**first, "time": first["time"] + 5 * n, "ts": first["ts"] + 5_000_000 * n, "age": first["age"] + 5_000_000 * n})
        for n in range(1000)
    ]
    found = states_of("\n".join(moments).encode()).states
    assert len(found) <= 48
    assert (found[0].first, found[-1].first) == (0, 999)


STABLE = (STATES / "flink-operator-stable-not-running" / "get.txt").read_text(encoding="utf-8")


def test_a_resource_of_an_operator_with_its_conditions() -> None:
    (state,) = states_of(STABLE.encode()).states
    (row,), (condition,) = state.rows["custom_resources"], state.rows["resource_conditions"]
    assert (row["kind"], row["namespace"], row["name"], row["state"], row["job_state"]) == (
        "FlinkDeployment",
        "shop",
        "pricing",
        "STABLE",
        "RESTARTING",
    )
    assert (condition["type"], condition["status"], f"{condition['since']:%H:%M}") == ("Running", "False", "08:31")
    assert f"{row['shown_at']:%Y-%m-%d %H:%M}" == "2026-11-20 09:14", "the clock above it"
    assert state.also_log, "the status is a line of the operator's log, too"


def test_of_a_serialized_exception_the_deepest_message_is_said() -> None:
    error = {
        "type": "org.apache.flink.util.SerializedThrowable",
        "message": "a.b.JobException: Recovery is suppressed",
        "throwableList": [{"type": "com.shop.PriceMissing", "message": "no price for article 7"}],
    }
    item = {
        "apiVersion": "flink.apache.org/v1beta1",
        "kind": "FlinkSessionJob",
        "metadata": {"name": "pricing"},
        "status": {"error": json.dumps(error)},
    }
    (state,) = states_of(json.dumps(item).encode()).states
    assert state.rows["custom_resources"][0]["error"] == "PriceMissing: no price for article 7"
    item["status"] = {"error": "cannot log in with password=hunter2-of-shop"}
    (secret,) = states_of(json.dumps(item).encode()).states
    assert "hunter2" not in secret.rows["custom_resources"][0]["error"]
    assert state.at is None


@pytest.mark.parametrize(
    "item",
    [
        {"apiVersion": "flink.apache.org/v1beta1", "kind": "FlinkDeployment", "metadata": {"name": "a"}},
        {"apiVersion": "flink.apache.org/v1beta1", "kind": "FlinkDeployment", "metadata": [], "status": {}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "flink.apache.org/a"}, "status": {"conditions": [{}]}},
    ],
)
def test_a_resource_without_a_status_or_of_others_is_none(item: dict[str, object]) -> None:
    assert shapes(json.dumps(item)) == []


def test_exceptions_of_an_application_name_their_job_each() -> None:
    job = "5f0e64a1c3d2b7980e1f2a3b4c5d6e7f"
    entries = [
        {
            "exceptionName": "java.lang.IllegalStateException",
            "stacktrace": "java.lang.IllegalStateException: of the job\n\tat c.D.e(D.java:1)\n",
            "timestamp": 1795161602512,
            "jobId": job,
        },
        {
            "exceptionName": "java.lang.IllegalStateException",
            "stacktrace": "java.lang.IllegalStateException: of main\n\tat c.D.main(D.java:2)\n",
            "timestamp": 1795161603512,
        },
    ]
    (state,) = states_of(json.dumps({"exceptionHistory": {"entries": entries}}).encode()).states
    assert [(row["job"], row["root_message"]) for row in state.rows["exceptions"]] == [(job, "of the job"), (None, "of main")]


def test_a_described_resource_is_that_of_the_api() -> None:
    (described,), (shown,) = states_of(DESCRIBED.encode()).states, states_of(STABLE.encode()).states
    own, same = described.rows["custom_resources"][0], shown.rows["custom_resources"][0]
    assert {name: value for name, value in own.items() if name != "line"} == {name: value for name, value in same.items() if name != "line"}
    assert [(row["type"], row["status"]) for row in described.rows["resource_conditions"]] == [("Other", "True"), ("Running", "False")]
    assert "Job status changed" in states_of(DESCRIBED.encode()).rest, "the events below are lines of a log"


@pytest.mark.parametrize(("kind", "read_on"), [("KafkaMirrorMaker2", True), ("KafkaConnector", True), ("KafkaTopic", False)])
def test_the_states_of_connectors_within_a_resource_are_read_as_a_log_too(kind: str, read_on: bool) -> None:
    trace = "org.apache.kafka.common.errors.RecordTooLargeException: The message is 1391022 bytes"
    task = {"id": 0, "state": "FAILED", "worker_id": "w-1:8083", "trace": trace}
    body = {
        "apiVersion": "kafka.strimzi.io/v1beta2", "kind": kind, "metadata": {"name": "dc-a"},
        "status": {"connectors": [{"name": "source", "connector": {"state": "RUNNING"}, "tasks": [task]}]},
    }  # fmt: skip
    (state,) = (each for each in states_of(json.dumps(body, indent=1).encode()).states if each.shape == operators.SHAPE)
    assert state.also_log is read_on
