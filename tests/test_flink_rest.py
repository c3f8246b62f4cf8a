"""What is read of a JobManager over REST: recordings of 1.12 and 2.3, served again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from analyzers.derived import derive
from analyzers.states import flink_rows as rows
from analyzers.states.flink_run_rows import WANTED
from cli.collectors.flink_recording import names_of
from cli.collectors.flink_rest import FLINK_TABLES, collect_recorded, flink_collector
from cli.collectors.flink_transport import IN_FLIGHT
from cli.shell.exits import CannotLook, UsageError
from tests.rest_replay import OLD, POISON, RECORDINGS, STUCK, Reply, look, one_row, replaying, rest_source, slowly

JOB = "f3d54b20a9f22d8fe2e9a1ef0bd31458"
ENRICH = "d82cd55518806f2ff0834c6144b1f762"


# what is read ---------------------------------------------------------------------------------------------------------------


def test_a_served_recording_gives_the_rows_of_the_recording() -> None:
    with replaying(STUCK) as server:
        live = look(server.address)
    offline = collect_recorded(RECORDINGS / STUCK)
    assert rest_source(live)["state"] == "ok"
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
    assert one_row(found, "vertices", vertex=ENRICH)["inputs"] == ["bc4197a480c92c793190a9f8c0afc54c"]
    busy = one_row(found, "subtasks", vertex=ENRICH, subtask=1)
    assert (busy["busy"], busy["backpressured"], busy["idle"], busy["resource"]) == (1.0, 0.0, 0.0, "tm-1")
    acks = {row["subtask"]: row for row in found.tables["checkpoint_acks"] if row["vertex"] == ENRICH and row["checkpoint"] == 8}
    assert [acks[n]["status"] for n in range(4)] == ["completed", "pending", "completed", "completed"]
    assert (acks[0]["start_delay_ms"], acks[0]["alignment_ms"], acks[0]["sync_ms"], acks[0]["async_ms"]) == (34, 10, 5, 17)
    assert acks[1]["acknowledged_at"] is None
    job = one_row(found, "jobs", job=JOB)
    assert (job["name"], job["engine_version"], job["checkpoints_failed"]) == ("orders-totals", "2.3.0", 4)


def test_only_the_workers_of_suspects_are_asked_for_their_threads() -> None:
    with replaying(STUCK) as server:
        found = look(server.address)
        assert [path for _, path in server.asked if "thread-dump" in path] == ["/taskmanagers/tm-1/thread-dump"]
    stack = one_row(found, "stack_samples", resource="tm-1")
    assert (stack["thread"], stack["state"]) == ("validate -> enrich-profile (2/4)#0", "TIMED_WAITING")
    assert stack["user_frame"] == "lab.Job$Validate.processElement"
    with replaying(POISON) as server:
        look(server.address)
        assert not [path for _, path in server.asked if "thread-dump" in path]


def test_names_of_1_12_are_read_too() -> None:
    found = collect_recorded(RECORDINGS / OLD)
    failure = one_row(found, "exceptions", root=True)
    assert (failure["task"], failure["subtask"], failure["address"]) == ("Source: orders -> parse", 2, "localhost:35997")
    assert failure["root_exception"] == "org.apache.kafka.common.errors.TimeoutException"
    subtask = one_row(found, "subtasks", task="Source: orders -> parse", subtask=0)
    assert (subtask["host"], subtask["resource"], subtask["attempt"], subtask["busy"]) == ("localhost", "tm-2", 5, None)
    assert one_row(found, "job_config", key="tolerable_failed_checkpoints")["value"] == "0"


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


# recordings -----------------------------------------------------------------------------------------------------------------


def test_a_directory_without_answers_is_no_recording(tmp_path: Path) -> None:
    with pytest.raises(CannotLook, match="no jobs_overview"):
        flink_collector(str(tmp_path))()


def test_every_path_that_is_asked_has_a_name_in_a_recording() -> None:
    with replaying(STUCK) as server:
        look(server.address)
        unnamed = {re.sub(r"\?.*", "", path) for _, path in server.asked if not names_of(path.partition("?")[0])}
    assert not unnamed
