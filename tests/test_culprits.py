"""The culprit by name: what the lines of a finding name stands in its subject."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from analyzers.diagnosis.culprits import _OF_ANY_MACHINE, named_by, owner_words

if TYPE_CHECKING:
    from analyzers.report.report import Report

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
IDENTIFYING = {
    "run of a query": rf"runId = ({_UUID})\]",
    "query": rf"\[id = ({_UUID}), runId",
    "connector": r"\[([^\[\]|\s]+)\|task-\d+\]",
    "deployment": r"\[(?:INFO|WARN|ERROR) *\]\[([\w.-]+/[\w.-]+)\]",
    "executor": r" executor (\d+)\)",
    "host of an executor": r"\(TID \d+\) \((\S+) executor \d+\)",
    "TaskManager": r" on (\S+) @ \S+ \(dataPort=",
    "host of a TaskManager": r" @ (\S+) \(dataPort=",
    "container": r"\b(container_(?:e\d+_)?\d{4,}_\d+_\d+_\d+)\b",
    "group": r"groupId=([^,\]\s]+)",
    "checkpoint's path": r"\b((?:s3|hdfs|file)://?\S*/chk-\d+)\b",
}


def test_what_the_evidence_of_a_verdict_names_stands_in_its_subject(grid: Report) -> None:
    found, missing = 0, []
    findings = {(f.scope, f.code, f.job, f.says): f for f in grid.findings}
    for verdict in grid.verdicts:
        finding = next((f for key, f in findings.items() if key[:3] == (verdict.scope, verdict.code, verdict.job)), None)
        for name, pattern in IDENTIFYING.items() if finding is not None else ():
            assert finding is not None
            values = {value for each in finding.evidence for value in re.findall(pattern, each.text)}
            if len(values) != 1:
                continue
            (value,) = values
            if name.startswith("host") and value in _OF_ANY_MACHINE:
                continue
            found += 1
            known = f"{verdict.job} {' '.join(str(each) for each in finding.subject.values())} {finding.says}"
            if value not in known:
                missing.append((verdict.scope, name, value, finding.subject))
    assert not missing, missing[:10]
    assert found > 50, "the patterns find nothing any more"


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("[2026-11-20 08:00:00,000] ERROR [pay|sink|task-0] x", "connector", None),  # a bar is no part of a name
        ("[2026-11-20 08:00:00,000] ERROR [pay-sink|task-3] WorkerSinkTask{id=pay-sink-3} x", "connector_task", 3),
        ("[2026-11-20 08:00:00,000] ERROR [pay-db|task-0|offsets] WorkerSourceTask{id=pay-db-0} Failed", "connector", "pay-db"),
        ("ERROR stream-thread [totals-0f8e7d6c-5b4a-4392-8170-6f5e4d3c2b1a-StreamThread-2] x", "application", "totals"),
        ("2026-11-20 08:00:00,1 o.a.f.k.o.l.AuditUtils [INFO ][shop/orders] x", "deployment", "shop/orders"),
        ("ERROR 1 --- [org.springframework.kafka.KafkaListenerEndpointContainer#fraud-0-C-1] x", "group", "fraud"),
        ("ERROR 1 --- [org.springframework.kafka.KafkaListenerEndpointContainer#0-0-C-1] x", "group", None),  # no id was given
        ("Lost task 1.3 in stage 8.0 (TID 9) (ip-10-0-7-12 executor 4): x", "host", "ip-10-0-7-12"),
        ("Lost task 1.3 in stage 8.0 (TID 9) (localhost executor driver): x", "host", None),  # of any machine
        ("ERROR Task pay-sink-0 threw an uncaught and unrecoverable exception", "connector", "pay-sink"),
        ("- Exception in task 0.3\n    with batch_id=42, executor_id=3, task_id=31", "batch", 42),
        ("- Exception in task 0.3\n    with batch_id=42, executor_id=3, task_id=31", "executor", "3"),
        ("- [Connection] Connection timeout\n    with broker=kafka-1:9092, clientId=shop", "address", "kafka-1:9092"),
        ("Parse (3/8) (a_b_2_1422) switched from RUNNING to FAILED on c_1 @ tm-7 (dataPort=1).", "attempt", 1422),
        ("Error converting message value in topic 'pay' partition 2 at offset 48 and timestamp 1", "offset", 48),
    ],
)
def test_a_line_names(line: str, key: str, value: object) -> None:
    assert named_by([line], {}).get(key) == value


def test_what_lines_do_not_agree_on_is_not_named() -> None:
    lines = ["Lost task 1.0 in stage 8.0 (TID 9) (a executor 4)", "Lost task 1.1 in stage 8.0 (TID 10) (b executor 5)"]
    assert named_by(lines, {}) == {}


def test_what_a_rule_says_stays() -> None:
    assert "topic" not in named_by(["topic: clicks, partition: 1, offset: 990"], {"topic": "orders", "partition": 3})
    assert "host" not in named_by(["Lost task 1.0 in stage 8.0 (TID 9) (a executor 4)"], {"host": "b"})


def test_whose_fault_it_is_in_words() -> None:
    assert owner_words({"connector": "pay", "connector_task": 0}) == "connector pay, task 0"
    assert owner_words({"deployment": "shop/orders"}) == "deployment shop/orders"
    assert owner_words({"group": "g"}) is None
