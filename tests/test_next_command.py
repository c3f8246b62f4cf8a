"""The next command can be typed as it stands wherever the evidence names what it needs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

import pytest
import typer

from analyzers.diagnosis.next_commands import Places
from analyzers.report.report import Verdict
from analyzers.rules.catalogue import load_rules
from analyzers.tables import TABLES, Row
from cli.main import app

JOB = "f83dbb7e04f400ccfd1258d03b96d7ad"
OTHER = "ac145ede1e7620813f8ec41fdf4f6fb8"
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group, as it has subcommands
OWN = [
    (rule.code, text)
    for rule in load_rules()
    for text in (rule.next_command.values() if isinstance(rule.next_command, Mapping) else [rule.next_command or ""])
    if text.startswith("diag ")
]


def next_of(command: str, **tables: list[dict[str, Any]]) -> str | None:
    verdict = Verdict("other", None, "RST001", JOB, None, None, {}, "", "", 1.0, (), (), scope="s")
    rows: dict[str, list[Row]] = {name: [TABLES[name].row({"scope": "s", **row}) for row in own] for name, own in tables.items()}
    return Places(rows).completed(command, verdict)


@pytest.mark.parametrize(("code", "text"), OWN)
def test_a_command_of_ours_takes_the_options_that_it_is_given(code: str, text: str) -> None:
    filled = re.sub(r"<[^>]*>|{\w+}", "1", re.sub(r"\[\[|]]", "", text))
    _, command, *options = shlex.split(filled, comments=True)
    COMMANDS[command].make_context(command, options)  # raises what a user would be told


def config(bootstrap: str, role: str = "taskmanager") -> dict[str, Any]:
    return {"signature": "kafka-client-config", "role": role, "detail": {"bootstrap": bootstrap}}


def store(path: str) -> dict[str, Any]:
    return {"signature": "checkpoint-storage", "detail": {"storage": "filesystem", "path": path}}


@pytest.mark.parametrize("placeholder", ["HOST:PORT", "HOST:PORT,…", "ADDRESS"])
def test_the_list_that_clients_print_is_named(placeholder: str) -> None:
    asked = f"diag lag-report --bootstrap-server {placeholder} --group g"
    assert next_of(asked, log_events=[config("a:9092, b:9092"), config("c:9092", "kafka-broker")]) == asked.replace(
        placeholder, "a:9092,b:9092"
    )
    assert next_of(asked, log_events=[config("a:9092"), config("b:9092")]) == asked, "two lists: nobody can say which"
    assert next_of(asked) == asked


def test_of_probed_entries_those_that_answered_are_named() -> None:
    probed = [{"entry": entry, "position": n, "state": state} for n, (entry, state) in enumerate((("a:1", "black-hole"), ("b:1", "alive")))]
    asked = "kafka-topics.sh --bootstrap-server HOST:PORT --describe"
    assert next_of(asked, bootstrap_servers=probed, log_events=[config("a:1,b:1")]) == "kafka-topics.sh --bootstrap-server b:1 --describe"
    assert next_of(asked, bootstrap_servers=probed[:1]) == asked


def test_the_list_that_brokers_were_asked_with_is_named() -> None:
    """`lag-report` probes no entries; its bundle still knows what it was given."""
    asked = [{"kind": "kafka", "name": "consumer groups", "state": "failed", "asked": "a:1,b:1"}]
    wanted = "diag broker-health --bootstrap-server HOST:PORT"
    assert next_of(wanted, sources=asked, log_events=[config("c:1")]) == "diag broker-health --bootstrap-server a:1,b:1"
    assert next_of(wanted, sources=[*asked, {**asked[0], "asked": "z:1"}]) == wanted


def test_the_jobmanager_that_was_asked_is_named() -> None:
    asked = f"curl -s http://JOBMANAGER:8081/jobs/{JOB}/checkpoints"
    live = {"kind": "flink-rest", "state": "ok", "name": "http://jm.flink:8081/"}
    assert next_of(asked, sources=[live]) == f"curl -s http://jm.flink:8081/jobs/{JOB}/checkpoints"
    assert next_of(asked, sources=[{**live, "name": "incident/rest"}]) == asked, "saved answers have no address"
    assert next_of(asked, sources=[{**live, "state": "failed"}]) == asked


def test_where_the_checkpoints_of_the_job_lie_is_named() -> None:
    asked = "diag checkpoint-inspect CHECKPOINT_DIRECTORY   # why"
    told = "diag checkpoint-inspect {}   # why"
    assert next_of(asked, log_events=[store("file:/ckpt/orders")]) == told.format(f"/ckpt/orders/{JOB}")
    assert next_of(asked, log_events=[store("s3://state/orders/")]) == told.format(f"s3://state/orders/{JOB}")
    assert next_of(asked, log_events=[store("s3://a"), store("s3://b")]) == asked
    restored = {"job": JOB, "restored_from": "s3://state/orders/0123/chk-41"}
    assert next_of(asked, log_events=[store("s3://state/orders")], attempts=[restored]) == told.format("s3://state/orders/0123")
    read = {"job": JOB, "path": "/srv/ck/4567/chk-7/_metadata"}
    assert next_of(asked, attempts=[restored], checkpoint_files=[read]) == told.format("/srv/ck/4567")


def test_the_directory_of_another_job_is_told_by_the_storage_alone() -> None:
    asked = f"diag checkpoint-inspect CHECKPOINT_DIRECTORY/{OTHER}"
    restored = {"job": JOB, "restored_from": "s3://elsewhere/0123/chk-41"}
    assert next_of(asked, attempts=[restored], log_events=[store("s3://state")]) == f"diag checkpoint-inspect s3://state/{OTHER}"
    assert next_of(asked, attempts=[restored]) == asked


def test_a_path_is_no_address() -> None:
    assert next_of("diag checkpoint-inspect file:///srv/q/checkpoint # x") == "diag checkpoint-inspect /srv/q/checkpoint # x"


@pytest.mark.parametrize(
    ("named", "read", "told"),
    [
        (f"/opt/flink/ck/{JOB}", f"/tmp/inc/{JOB}/chk-7/_metadata", f"/tmp/inc/{JOB}"),
        (f"hdfs://nn/ck/{JOB}/chk-7", f"/tmp/inc/{JOB}/chk-7/_metadata", f"/tmp/inc/{JOB}/chk-7"),
        (f"/ck/{JOB}/chk-7", f"inc/{JOB}/chk-7/_metadata", f"inc/{JOB}/chk-7"),
        (f"/opt/flink/ck/{JOB}", f"/tmp/my inc/{JOB}/chk-7/_metadata", f"'/tmp/my inc/{JOB}'"),
        (f"/ck/{JOB}", f"/ck/{JOB}/chk-7/_metadata", f"/ck/{JOB}"),
        (f"/ck/{JOB}/chk-7", f"/tmp/inc/{OTHER}/chk-7/_metadata", f"/ck/{JOB}/chk-7"),
        (f"/ck/{JOB}", f"/tmp/inc/{OTHER}/chk-7/_metadata", f"/ck/{JOB}"),
    ],
)
def test_what_was_read_is_named_and_not_what_the_logs_call_it(named: str, read: str, told: str) -> None:
    asked = "diag checkpoint-inspect --strict {}   # see /the/manual"
    assert next_of(asked.format(named), checkpoint_files=[{"path": read}]) == asked.format(told)


def test_two_copies_are_no_answer() -> None:
    copies = [{"path": f"/{where}/{JOB}/chk-7/_metadata"} for where in ("a", "b")]
    assert next_of(f"diag checkpoint-inspect /ck/{JOB}", checkpoint_files=copies) == f"diag checkpoint-inspect /ck/{JOB}"


def test_the_old_place_that_a_rebase_names_stays() -> None:
    asked = f"diag checkpoint-inspect --rebase s3://old/{JOB}=NEW /tmp/inc/{JOB}"
    assert next_of(asked, checkpoint_files=[{"path": f"/tmp/inc/{JOB}/chk-7/_metadata"}]) == asked


def test_the_directory_of_a_query_is_named() -> None:
    asked = "diag checkpoint-inspect CHECKPOINT_DIRECTORY"
    started = {"signature": "query-started", "job": JOB, "detail": {"path": "file:/srv/q/checkpoint"}}
    assert next_of(asked, log_events=[started]) == "diag checkpoint-inspect /srv/q/checkpoint"
    read = {"path": "/tmp/inc/checkpoint", "query": JOB}
    assert next_of(asked, log_events=[started], batches=[read]) == "diag checkpoint-inspect /tmp/inc/checkpoint"
    assert next_of("diag checkpoint-inspect file:/srv/q/checkpoint", batches=[read]) == "diag checkpoint-inspect /tmp/inc/checkpoint"
    assert next_of(asked, batches=[{**read, "query": OTHER}]) == asked


def test_where_the_logs_lie_is_named() -> None:
    asked = "diag triage LOG_DIRECTORY   # why"
    logs = [{"file": "/tmp/my inc/jobmanager.log"}, {"file": "/tmp/my inc/logs.tar!taskmanager.log"}]
    assert next_of(asked, log_files=logs) == "diag triage '/tmp/my inc'   # why"
    assert next_of(asked, log_files=[*logs, {"file": "/elsewhere/taskmanager.log"}]) == asked


def test_one_thing_has_one_placeholder() -> None:
    assert [(code, text) for code, text in OWN if re.search(r"<[a-z ]+>|\bLOGS\b|\bCHECKPOINT_DIR\b", text)] == []


def test_what_was_read_inside_of_an_archive_is_named_by_the_archive() -> None:
    inside = "/tmp/my inc/cp.tar.gz!job/chk-7/_metadata"
    asked = f"diag checkpoint-inspect --strict {shlex.quote(inside)}   # where it breaks"
    wanted = "diag checkpoint-inspect --strict '/tmp/my inc/cp.tar.gz'   # where it breaks"
    assert next_of(asked, checkpoint_files=[{"path": inside}]) == wanted
    plain = "diag checkpoint-inspect '/tmp/what!a name/chk-7'"
    assert next_of(plain, checkpoint_files=[{"path": "/tmp/other/chk-7/_metadata"}]) == plain
