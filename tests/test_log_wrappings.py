# ruff: noqa: E501 -- log lines are what they are
"""Every wrapping that people have: the same events come out, whatever the lines were wrapped in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analyzers.logs.wrappings.documents import read_json
from analyzers.logs.wrappings.records import from_dict, named
from analyzers.readers.log_scan import LogOptions, Tables, plan, scan
from tests.wrapped_logs import PLAIN, SIGNATURES, WRAPPED, ecs, hard_wrapped, moments, plain, text

_COMPARED = (
    "at", "level", "logger", "signature", "job", "task", "subtask", "parallelism", "execution", "checkpoint", "topic", "partition", "offset", "from_state", "to_state", "client", "group",
    "exception", "root_exception", "root_message", "chain", "user_frame", "frames",
)  # fmt: skip


def scanned(data: bytes, folder: Path, name: str = "jobmanager.log", **options: Any) -> Tables:
    (folder / name).write_bytes(data)
    return scan(plan([str(folder / name)], LogOptions(log_timezone="UTC", **options)), None, SIGNATURES)


def comparable(tables: Tables) -> list[dict[str, Any]]:
    return [{column: row[column] for column in _COMPARED} for row in tables["log_events"]]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    rows = comparable(scanned(PLAIN, tmp_path_factory.mktemp("plain")))
    assert [row["signature"] for row in rows] == [
        "job-state",
        "checkpoint-expired",
        "deserialise",
        "task-failed",
        "job-state",
        "error-logged",
    ]
    assert rows[2]["offset"] == 4711
    assert rows[2]["topic"] == "orders-eu"
    assert rows[3]["subtask"] == 1
    assert rows[3]["root_exception"] == "java.lang.IllegalArgumentException"
    assert rows[3]["user_frame"] == "com.acme.orders.Currency.of"
    return rows


@pytest.mark.parametrize("wrapping", WRAPPED)
def test_same_events_in_every_wrapping(wrapping: str, expected: list[dict[str, Any]], tmp_path: Path) -> None:
    tables = scanned(WRAPPED[wrapping](), tmp_path)
    rows = comparable(tables)
    if wrapping == "spark-layout":  # prints the class name of a logger only
        expected = [{**row, "logger": row["logger"].rsplit(".", 1)[-1]} for row in expected]
    assert rows == expected
    assert [row["state"] for row in tables["sources"]] == ["ok"] * len(tables["sources"])


@pytest.mark.parametrize(
    ("wrapping", "stream"),
    [
        ("kubectl-prefix", "flink-jm-0/main"),
        ("yarn", "container_e08_1700000000000_0001_01_000001/jobmanager.log"),
        ("stern", "flink-jm-0/main"),
    ],
)
def test_stream_is_part_of_the_file_and_names_the_host(wrapping: str, stream: str, tmp_path: Path) -> None:
    row = scanned(WRAPPED[wrapping](), tmp_path)["log_events"][0]
    assert row["file"].endswith(f"jobmanager.log!{stream}")
    assert row["host"] == stream.split("/")[0]


def test_a_thread_in_brackets_behind_the_time_is_no_stream(tmp_path: Path) -> None:
    """As Pulsar and BookKeeper log; `aws logs tail` puts the name of a stream there."""
    threads = ("metadata-store-6-1", "pulsar-io-4-10", "bookie-io-1/2")
    lines = [f"2026-11-20T22:40:{at:02},000+0000 [{threads[at % 3]}] INFO  org.apache.pulsar.Broker - step {at}" for at in range(40)]
    (read,) = scanned("\n".join(lines).encode(), tmp_path, "broker-2.log")["log_files"]
    assert (read["file"].endswith("broker-2.log"), read["wrapping"], read["host"]) == (True, None, None)


def test_line_is_counted_in_the_file_as_stored(tmp_path: Path) -> None:
    wrapped = scanned(WRAPPED["yarn"](), tmp_path)["log_events"]
    stored = WRAPPED["yarn"]().decode().split("\n")
    for row in wrapped:
        assert row["text"].split("\n")[0] == stored[row["line"] - 1]
    for row in scanned(hard_wrapped(), tmp_path)["log_events"]:
        assert row["text"].startswith(hard_wrapped().decode().split("\n")[row["line"] - 1])


def test_wrapping_may_change_inside_of_a_file(expected: list[dict[str, Any]], tmp_path: Path) -> None:
    before, after = plain()[:4], list(moments())[4:]
    data = text([line for _, line in before]) + text([json.dumps(ecs(*event)) for event in after])
    assert comparable(scanned(data, tmp_path)) == expected


def test_the_banner_that_begins_with_a_blank_is_an_event_of_json_too(tmp_path: Path) -> None:
    record = '{"@timestamp":"2024-12-03T02:18:0%d.000Z","log.level":"INFO","log.logger":"org.apache.flink.runtime.taskexecutor.TaskManagerRunner","message":"%s"}\n'
    banner = " Starting TaskManager (Version: 1.20.0, Scala: 2.12, Rev:b1fe7b4, Date:2024-07-25T05:13:11+02:00)"
    (tmp_path / "taskmanager.json").write_text("".join(record % (n, text) for n, text in enumerate(("-----", banner, "  JVM: x", "end"))))
    found = scan(plan([str(tmp_path)]))
    assert [row["signature"] for row in found["log_events"]] == ["flink-banner"]
    assert found["log_files"][0]["version"] == "1.20.0"


@pytest.mark.parametrize("instant", [{"epochSecond": 10**18, "nanoOfSecond": 0}, {"epochSecond": 1795469130, "nanoOfSecond": "late"}])
def test_an_instant_that_is_none_is_no_time_or_a_whole_second(instant: dict[str, Any]) -> None:
    record = from_dict({"instant": instant, "level": "INFO", "message": "says something"})
    assert record is not None
    assert record.time_ms in (None, 1795469130_000)


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        (  # Spark's structured logging: its MDC stands in `context`
            {"ts": "2026-03-01T10:00:00.100Z", "level": "ERROR", "logger": "Executor", "msg": "Exception in task 0.3 in stage 8.0 (TID 31)",
             "context": {"query_id": "6c2b9f4e-0d1a-4b7c-8e5f-3a9d7c1b2e40", "run_id": "0f8e7d6c-5b4a-4392-8170-6f5e4d3c2b1a",
                         "batch_id": "42", "executor_id": "3", "task_id": "31"}},
            "run_id=0f8e7d6c-5b4a-4392-8170-6f5e4d3c2b1a, batch_id=42, executor_id=3, task_id=31",
        ),
        (  # kafkajs
            {"level": "ERROR", "timestamp": "2026-03-01T10:00:00.100Z", "logger": "kafkajs", "message": "[Connection] Connection timeout",
             "broker": "kafka-1:9092", "clientId": "shop"},
            "broker=kafka-1:9092, clientId=shop",
        ),
        (  # franz-go with zerolog
            {"level": "error", "time": "2026-03-01T10:00:00.100Z", "message": "join and sync loop errored", "group": "shop",
             "err": "UNKNOWN_MEMBER_ID: The coordinator is not aware of this member."},
            "group=shop, err=UNKNOWN_MEMBER_ID: The coordinator is not aware of this member.",
        ),
        (  # logrus
            {"level": "error", "time": "2026-03-01T10:00:00Z", "msg": "consume", "error": "kafka: broker not connected"},
            "error=kafka: broker not connected",
        ),
        (  # what any program may log
            {"level": "ERROR", "timestamp": "2026-03-01T10:00:00.100Z", "logger": "shop", "message": "gone", "broker": "x", "error": "y"},
            None,
        ),
    ],
)  # fmt: skip
def test_what_a_record_names_beside_its_message(record: dict[str, Any], shown: str | None) -> None:
    found = from_dict(record)
    assert found is not None
    assert found.about == shown
    lines = found.lines()
    assert lines[0].decode().endswith(f"- {record.get('msg') or record['message']}")
    assert [line.decode() for line in lines[1:]] == ([f"    with {shown}"] if shown else [])
    assert named(record) is None or shown is None, "its template would leave out what it names"


@pytest.mark.parametrize(
    "record",
    [
        {"Timestamp": "2026-03-01T10:00:00.100Z", "Level": "Error", "MessageTemplate": "{Facility:l} {Message}",
         "Properties": {"SourceContext": "Shop.Worker", "Facility": "FAIL", "Message": "gone"}},
        {"@t": "2026-03-01T10:00:00.100Z", "@l": "Error", "@mt": "FAIL {Message}", "Message": "gone", "SourceContext": "Shop.Worker"},
        {"@t": "2026-03-01T10:00:00.100Z", "@l": "Error", "@m": "FAIL gone", "SourceContext": "Shop.Worker"},
        {"Timestamp": "2026-03-01T10:00:00.100Z", "LogLevel": "Error", "Category": "Shop.Worker", "Message": "FAIL gone"},
    ],
)  # fmt: skip
def test_records_of_dot_net(record: dict[str, Any]) -> None:
    found = from_dict(record)
    assert found is not None
    assert found.lines() == [b"2026-03-01T10:00:00.100Z ERROR Shop.Worker - FAIL gone"]


def test_a_record_stands_where_its_own_string_is_not_where_another_holds_its_words() -> None:
    records = [
        {"message": "cleanup of task Window (3/8) failed", "thread": "Window (3/8)", "level": "ERROR"},
        {"message": "Window (3/8) switched from RUNNING to FAILED", "thread": "main", "level": "INFO"},
    ]
    text = json.dumps([{"@timestamp": "2026-04-27T10:14:02Z", **record} for record in records], indent=1)
    lines = text.split("\n")
    assert [line for _, line in read_json(text)] == [1 + n for n, each in enumerate(lines) if '"message"' in each]
