"""Texts that look like no log: which of them are read as what a product printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzers.logs.wrappings.connect_status import as_lines
from analyzers.readers.log_plan import LogOptions, plan

TRACE = "org.apache.kafka.connect.errors.ConnectException: gone\n\tat org.apache.kafka.connect.runtime.WorkerTask.run(WorkerTask.java:1)\n"
STATUS = {
    "name": "pay",
    "connector": {"state": "RUNNING", "worker_id": "w:1"},
    "tasks": [{"id": 0, "state": "FAILED", "worker_id": "w:2", "trace": TRACE}],
    "type": "sink",
}
LOG = "2024-03-01 09:00:00,000 INFO  org.apache.flink.runtime.jobmaster.JobMaster [] - Starting execution of job x\n" * 5
QUOTED = "java.lang.RuntimeException: x\n\tat org.apache.flink.streaming.X.run(X.java:10)\n"
PANIC = (
    "panic: kafka server: Request was for a topic or partition that does not exist on this broker.\n\ngoroutine 1 [running]:\nmain.main()\n"
)
CODE = """package com.acme;

public class Loader {
    private void load() {
        log.error("consumer poll timeout has expired. This means the time between subsequent calls to poll()");
        throw new TimeoutException("Timed out waiting for a node assignment. Call: describeTopics");
    }
}
"""
TABLE = "id,owner,message\n1,a,Could not acquire the minimum required resources.\n2,b,Timed out waiting for a node assignment. Call: x\n"
SETTINGS = "# NoResourceAvailableException?\njobmanager.rpc.address: jm\ntaskmanager.numberOfTaskSlots: 2\nrestart-strategy: none\n"
PAGE = f"<!DOCTYPE html><html><body><pre>\n{QUOTED}</pre></body></html>\n"


def read(*paths: Path) -> list[str]:
    return sorted(Path(file.path).name for file in plan([str(path) for path in paths], LogOptions()).files)


@pytest.mark.parametrize("name", ["paste", "ticket.txt", "question.md", "answer.json", "x.out"])
@pytest.mark.parametrize("text", [f"hello, what is this?\n\n{QUOTED}", PANIC, json.dumps(STATUS), json.dumps(STATUS, indent=2)])
def test_a_paste_is_read_whatever_its_name(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read(tmp_path) == [name]


@pytest.mark.parametrize("text", [CODE, TABLE, SETTINGS, PAGE, "Remember to call Anna.\n"])
@pytest.mark.parametrize("name", ["paste", "ticket.txt", "question.md"])
def test_what_is_something_else_is_not_read(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read(tmp_path) == []


@pytest.mark.parametrize("text", [CODE, TABLE, SETTINGS, PAGE])
def test_not_even_if_it_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.txt").write_text(text)
    made = plan([str(tmp_path / "x.txt")], LogOptions())
    assert not made.files
    assert [source["why"] for source in made.sources] == ["holds no log and no shape that diag knows: code, settings, a table or a page"]


def test_beside_logs_notes_and_json_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(LOG)
    (tmp_path / "runbook.md").write_text(QUOTED)
    (tmp_path / "exceptions.json").write_text(json.dumps({"root-exception": QUOTED}))
    (tmp_path / "ticket.txt").write_text(PANIC)
    (tmp_path / "status.json").write_text(json.dumps(STATUS))
    assert read(tmp_path) == ["job.log", "status.json", "ticket.txt"]


def test_a_documentation_is_not_read(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"page-{number}.md").write_text(QUOTED)
    assert read(tmp_path) == []


def test_the_state_of_a_connector_as_lines() -> None:
    text = ["$ curl localhost:8083/connectors/pay/status", *json.dumps(STATUS, indent=2).split("\n"), "that is all"]
    lines = [(line.decode(), number) for line, number in as_lines([(line.encode(), number) for number, line in enumerate(text, 1)])]
    assert lines[0] == (text[0], 1)
    assert lines[1] == ("INFO [pay|worker] Connector pay is RUNNING on worker w:1", 2)
    assert lines[2][0].startswith("ERROR [pay|task-0] WorkerSinkTask{id=pay-0} Task threw an uncaught and unrecoverable exception.")
    assert lines[2][0].endswith("(is FAILED on worker w:2)")
    assert lines[3] == ("org.apache.kafka.connect.errors.ConnectException: gone", 2)
    assert lines[-1] == ("that is all", len(text))


def test_the_state_of_one_task_is_the_connectors_that_was_asked_for() -> None:
    task = json.dumps({"id": 3, "state": "FAILED", "worker_id": "w:2", "trace": TRACE})
    named = as_lines([(b"GET /connectors/pay-in/tasks/3/status", 1), (task.encode(), 2)])
    assert named[1][0].startswith(b"ERROR [pay-in|task-3] Task pay-in-3 Task threw")
    assert as_lines([(task.encode(), 1)])[0][0].startswith(b"ERROR Task 3: Task threw")
