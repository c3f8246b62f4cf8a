"""The culprit by name: what the lines of a finding name stands in its subject."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from analyzers.diagnosis.culprits import _OF_ANY_MACHINE, named_by, owner_words
from analyzers.diagnosis.error_tokens import error_tokens
from analyzers.diagnosis.headlines import MOST_WORDS, with_place
from analyzers.diagnosis.line_names import names_in
from analyzers.diagnosis.user_lines import place_of, user_line

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
    "quota": r"exceeded quota: ([\w.-]+),",
    "limit": r"limited: ([\w.]+=\w+)",
    "image": r"Back-off pulling image \"([^\"\s]+)\"",
    "version of a table": r"expecting process data from version (\d+)",
    "word of Elasticsearch": r"\btype=(\w+_exception)\b",
    "word of a container": r"\b(OOMKilled|ImagePullBackOff)\b",
    "worker of a connector": r"is FAILED on worker ([\w.-]+:\d+)\)",
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


_JAVA = """2024-01-02 03:04:05,000 WARN  o.a.f.Task [] - Parse (1/2)#0 (ab) switched from RUNNING to FAILED
java.lang.RuntimeException: bad
\tat org.apache.flink.streaming.X.run(X.java:10)
\tat com.acme.Job.map(Job.java:19)
Caused by: java.lang.NumberFormatException: N/A
\tat java.base/java.lang.Double.parseDouble(Double.java:651)
\tat com.acme.Parse.map(Parse.java:61)
\tat com.acme.Parse.map(Parse.java:12)"""
_PYTHON = """Traceback (most recent call last):
  File "/app/load.py", line 47, in <module>
    main()
  File "/app/load.py", line 31, in main
    consumer.poll()
  File "/usr/lib/python3/site-packages/kafka/consumer.py", line 9, in poll
kafka.errors.NoBrokersAvailable: NoBrokersAvailable"""


@pytest.mark.parametrize(
    ("text", "line", "place"),
    [
        (_JAVA, "com.acme.Parse.map(Parse.java:61)", "Parse.java:61"),
        (_PYTHON, 'File "/app/load.py", line 31, in main', "load.py:31"),
        (
            "fail: x\n   at Confluent.Kafka.Consumer`2.Consume(Int32 ms)\n   at Acme.Worker.Run() in /src/Acme/Worker.cs:line 94",
            "/src/Acme/Worker.cs:line 94",
            "Worker.cs:line 94",
        ),
        (
            "KafkaJSProtocolError: x\n    at create (/app/node_modules/kafkajs/src/error.js:581:10)\n    at async run (/app/ship.js:33:7)",
            "/app/ship.js:33:7",
            "ship.js:33:7",
        ),
        (
            "panic: x\n\ngoroutine 1 [running]:\nr.x()\n\t/usr/local/go/src/r/p.go:1 +0x1\nmain.main()\n\t/app/cmd/main.go:88 +0x1d5",
            "/app/cmd/main.go:88",
            "main.go:88",
        ),
        ("org.postgresql.util.PSQLException: x\n\tat org.postgresql.Driver.connect(Driver.java:297)", None, None),
    ],
)
def test_the_line_of_the_users_own_code(text: str, line: str | None, place: str | None) -> None:
    assert user_line(text) == line
    assert line is None or place_of(line) == place


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("KafkaError{code=UNKNOWN_MEMBER_ID,val=25}", "UNKNOWN_MEMBER_ID"),
        ("ORA-12514: TNS:listener does not currently know of service", "ORA-12514"),
        ("Service: Amazon S3; Status Code: 403; Error Code: AccessDenied; Request ID: 1", "AccessDenied"),
        ("[Error 25] UnknownMemberIdError: media", "UnknownMemberIdError"),
        ("[STREAM_FAILED] Query x terminated: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] y", "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"),
        ("NOT_ENOUGH_REPLICAS, then UNKNOWN_TOPIC_OR_PARTITION", None),  # which of the two
        ("MY_OWN_CONSTANT", None),
    ],
)
def test_the_decisive_word(text: str, error: str | None) -> None:
    found = error_tokens(text)
    assert (found.pop() if len(found) == 1 else None) == error


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("Sink: ledger (2/2) (ab4f0e19) switched from RUNNING to FAILED on tm-1 @ h (dataPort=1).", "subtask", 1),
        ("x [] - Map -> Sink (3/8)#5 (8e1d0b0a) switched from RUNNING to FAILED", "task", "Map -> Sink"),
        ("java.io.FileNotFoundException: File s3://b/state/0/3/11.delta does not exist", "path", "s3://b/state/0/3/11.delta"),
        ("[thrd:ssl://kafka.corp:9093/bootstrap]: SSL handshake failed", "address", "kafka.corp:9093"),
        ("(configured via 'offsets.topic.replication.factor')", "setting", "offsets.topic.replication.factor"),
        ("broker certificate could not be verified, verify that ssl.ca.location is correctly configured", "setting", "ssl.ca.location"),
        ("%4|1.2|MAXPOLL|quote-1#consumer-1| [thrd:main]: x", "client", "quote-1"),
        ("%4|1.2|MAXPOLL|rdkafka#consumer-1| [thrd:main]: x", "client", None),  # no client.id was set
        ("[Consumer clientId=c-1, groupId=null] x", "group", None),
        ("23/11/02 14:07:30 INFO Task: Map (1/2) (ab4f0e19) switched from RUNNING to FAILED", "task", None),  # where its name begins
        ("GET /connectors/crm-mysql/status => FAILED", "connector", "crm-mysql"),
        ("the connectors of crm", "connector", None),
        ('Back-off pulling image "reg.acme/app:1"', "image", "reg.acme/app:1"),
    ],
)
def test_a_message_names(line: str, key: str, value: object) -> None:
    assert names_in([line], {}).get(key) == value


def test_a_headline_has_room_for_25_words() -> None:
    subject = {"task": "Parse", "subtask": 1, "parallelism": 4, "user_line": "com.acme.Parse.map(Parse.java:61)", "error": "OOMKilled"}
    assert with_place("The job fails: x.", subject) == "The job fails: x (Parse (2/4), Parse.java:61)."
    full = " ".join(["word"] * MOST_WORDS)
    assert with_place(full, subject) == full
    assert with_place("Parse fails at Parse.java:61", {**subject, "error": None}) == "Parse fails at Parse.java:61"
