"""Failures that no signature knows: every row of kinds, phases and decisions; traces of six languages; labelled failures as the measure."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzers.components import table as component_table
from analyzers.inference import Inference, advice_of, decisive, decisive_in, infer, infer_chain
from analyzers.inference.chains import HEAD, TAIL, read
from analyzers.inference.data import table
from analyzers.inference.decisions import EFFECTS, decide, rows
from analyzers.inference.entities import entities_of
from analyzers.inference.kinds import kind_of, kinds
from analyzers.inference.link import Failure, Link
from analyzers.inference.phases import phase_of, phases
from analyzers.report.finding import CAUSES

LABELLED = [
    json.loads(line) for line in (Path(__file__).parent / "data" / "inferred_failures.jsonl").read_text(encoding="utf-8").splitlines()
]
KINDS = table("kinds")
PHASES = table("phases")

# --- kinds --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", kinds())
def test_each_name_of_a_kind_is_read_as_that_kind(kind: str) -> None:
    """As a class of its own, and as an error code in capitals."""
    earlier = dict.fromkeys(kinds()[: kinds().index(kind)])
    for name in (*KINDS[kind].get("names", ()), *KINDS[kind].get("vague", ())):
        found = kind_of(Link(f"com.acme.{name}Exception", ""))
        assert found is not None, name
        assert found.name == kind or found.name in earlier, f"{name} is read as {found.name}"


@pytest.mark.parametrize("kind", kinds())
def test_each_code_of_a_kind_decides(kind: str) -> None:
    for state in KINDS[kind].get("sql", ()):
        found = kind_of(Link("java.sql.SQLException", f"it failed, SQLSTATE: {state:0<5}"))
        assert found is not None
        assert found.name == kind, f"{state} is read as {found.name}"
    for status in KINDS[kind].get("http", ()):
        found = kind_of(Link("com.acme.CallException", f"status code: {status}"))
        assert found is not None
        assert found.name == kind, f"{status} is read as {found.name}"
    for errno in KINDS[kind].get("errno", ()):
        found = kind_of(Link("Error", f"connect {errno} 10.0.0.1:80"))
        assert found is not None
        assert found.name == kind, f"{errno} is read as {found.name}"


def test_no_name_or_code_belongs_to_two_kinds() -> None:
    for column in ("names", "vague", "sql", "http", "errno"):
        given = [name for row in KINDS.values() for name in row.get(column, ())]
        assert sorted({name for name in given if given.count(name) > 1}) == [], column


@pytest.mark.parametrize(
    ("name", "message", "kind"),
    [
        # refused is not down
        ("java.net.ConnectException", "Connection refused", "unavailable"),
        ("com.acme.StoreException", "connection rejected: user not authorized", "access"),
        ("com.acme.StoreException", "the table is in read-only mode", "refused"),
        ("com.acme.StoreException", "no response received from node 3", "unanswered"),
        ("com.acme.StoreException", "too many open transactions: rate limit of 10 exceeded", "exhausted"),
        ("io.grpc.StatusRuntimeException", "UNAVAILABLE: io exception", "unavailable"),
        ("io.grpc.StatusRuntimeException", "RESOURCE_EXHAUSTED: quota", "exhausted"),
        ("io.grpc.StatusRuntimeException", "ALREADY_EXISTS: stream", "conflict"),
        # a vague name gives way to a telling message, a telling name does not
        ("java.util.concurrent.TimeoutException", "Timeout waiting for connection from pool", "exhausted"),
        ("java.lang.IllegalArgumentException", "bucket does not exist", "missing"),
        ("java.io.FileNotFoundException", "/data/a (Permission denied)", "access"),
        # a class that is named after its library says nothing
        ("org.apache.kafka.connect.errors.ConnectException", "row 7: null value in column", "data"),
        ("org.apache.kafka.connect.errors.ConnectException", "Exiting", None),
        # a vague status gives way to words
        ("com.acme.HttpException", "status code: 400, rate limit exceeded", "exhausted"),
        ("com.acme.HttpException", "status code: 400", "data"),
        ("java.lang.ClassCastException", "class a.B cannot be cast to class a.B (a.B is in loader x)", "program"),
        ("java.lang.ClassCastException", "class a.B cannot be cast to class java.lang.String", "data"),
        ("com.acme.Odd", "something", None),
    ],
)
def test_kinds_of_failures(name: str, message: str, kind: str | None) -> None:
    found = kind_of(Link(name, message))
    assert (found.name if found else None) == kind


# --- phases -------------------------------------------------------------------------------------------------------------------------

PHASE_EXAMPLES = {
    "restore": [
        ["com.acme.Fn.initializeState", "org.apache.flink.streaming.api.operators.StreamOperatorStateHandler.initializeOperatorState"]
    ],
    "commit": [["org.apache.flink.connector.kafka.sink.KafkaCommitter.commit"], ["com.acme.Sink.notifyCheckpointComplete"]],
    "snapshot": [["com.acme.Fn.snapshotState"], ["org.apache.flink.streaming.runtime.tasks.AsyncCheckpointRunnable.run"]],
    "enumerate": [["org.apache.flink.runtime.source.coordinator.SourceCoordinator.lambda$start$1"]],
    "transport": [["org.apache.flink.runtime.io.network.netty.CreditBasedPartitionRequestClientHandler.channelInactive"]],
    "main": [["com.acme.Job.main", "org.apache.flink.client.program.PackagedProgram.callMainMethod"]],
    "open": [["com.acme.Fn.open", "org.apache.flink.api.common.functions.util.FunctionUtils.openFunction"]],
    "record": [["com.acme.Fn.flatMap"], ["com.acme.Fn.apply", "org.apache.flink.streaming.api.operators.StreamMap.processElement"]],
}


@pytest.mark.parametrize("phase", phases())
def test_each_phase_is_read_off_frames(phase: str) -> None:
    for frames in PHASE_EXAMPLES[phase]:
        found = phase_of(Failure("java", [Link("java.lang.Error", "x", frames)], ""))
        assert found is not None
        assert found[0] == phase, found


@pytest.mark.parametrize(
    ("thread", "phase"),
    [
        ("Window(Collect) -> Sink: out (1/4)#0", "record"),
        ("AsyncOperations-thread-3", "snapshot"),
        ("SourceCoordinator-Source: orders", "enumerate"),
        ("Flink Netty Client (0) Thread 2", "transport"),
        ("main", "main"),
        ("Reference Handler", None),
    ],
)
def test_a_thread_says_the_phase_where_no_frame_does(thread: str, phase: str | None) -> None:
    found = phase_of(Failure("java", [Link("java.lang.Error", "x")], ""), thread)
    assert (found[0] if found else None) == phase


def test_the_frames_of_the_root_count_before_those_of_who_reports_it() -> None:
    chain = [Link("a.B", "x", ["com.acme.Job.main"]), Link("a.C", "y", ["com.acme.Fn.flatMap"])]
    found = phase_of(Failure("java", chain, ""))
    assert found is not None
    assert found[0] == "record"


# --- decisions ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(rows())))
def test_each_decision_can_be_reached_and_says_something_known(number: int) -> None:
    roles, of_kinds, of_phases, of_thread, of_words, decision = rows()[number]
    assert roles <= {*component_table.ROLES, "user"}
    assert of_kinds <= set(kinds())
    assert of_phases <= set(phases())
    assert decision.cause is None or decision.cause in CAUSES
    assert decision.effect in EFFECTS
    assert decision.why.endswith(".")
    thread = "jobmanager-io-thread-1" if of_thread else None
    said = "Heartbeat of JobManager" if of_words else ""
    anything: tuple[str, ...] = ("service", "user", "engine")
    reached = [
        (role, kind, phase)
        for role in roles or anything
        for kind in of_kinds or (None, *kinds())
        for phase in of_phases or (None, "record")
        if decide(role, kind, phase, thread, said) is decision
    ]
    assert reached, "earlier rows take all of it"


@pytest.mark.parametrize(
    ("role", "kind", "phase", "cause", "effect"),
    [
        ("service", "unavailable", "record", "external-system", "call-unanswered"),
        ("service", "unanswered", "open", "external-system", "call-unanswered"),
        ("service", "access", "record", "external-system", "call-refused"),
        ("service", "conflict", "record", "external-system", "call-refused"),
        ("service", "data", "record", "poison-record", "record-fails"),
        ("service", "gone", None, "offset-reset", "position-gone"),
        ("kafka", "unavailable", "record", "broker-unreachable", "call-unanswered"),
        ("kafka", "access", None, "broker-unreachable", "call-refused"),
        ("kafka", "fenced", "commit", "offset-commit", "commit-missing"),
        ("kafka", "missing", "enumerate", "other", "call-refused"),
        ("codec", "data", "record", "poison-record", "record-fails"),
        ("codec", "unavailable", "record", "external-system", "call-unanswered"),
        ("storage", "access", "snapshot", "checkpoint-storage", "snapshot-fails"),
        ("storage", "missing", "restore", "checkpoint-storage", "restore-fails"),
        ("storage", "access", "commit", "external-system", "call-refused"),
        ("cloud", "access", "snapshot", "checkpoint-storage", "snapshot-fails"),
        ("table", "missing", "restore", "other", "call-refused"),
        ("table", "conflict", "commit", "other", "commit-missing"),
        ("disk", "full", None, "taskmanager-lost", "worker-gone"),
        ("state", "full", "snapshot", "taskmanager-lost", "worker-gone"),
        ("peer", "unavailable", "transport", "taskmanager-lost", "worker-gone"),
        ("ha", "unavailable", None, "jobmanager-lost", "leader-gone"),
        ("engine", "exhausted", None, "taskmanager-lost", "never-running"),
        ("user", "program", "open", "other", "never-running"),
        ("user", "data", "record", "poison-record", "record-fails"),
        ("user", "data", "open", "other", "never-running"),
        ("user", "memory", "record", "taskmanager-lost", "worker-gone"),
        ("user", "stopped", "record", None, "none"),
    ],
)
def test_decisions(role: str, kind: str, phase: str | None, cause: str | None, effect: str) -> None:
    decision = decide(role, kind, phase)
    assert (decision.cause, decision.effect) == (cause, effect)


# --- labelled failures --------------------------------------------------------------------------------------------------------------


def _inferred(row: dict[str, Any]) -> Inference:
    found = infer(row["text"], thread=row.get("thread"))
    assert found is not None, row["id"]
    return found


@pytest.mark.parametrize("row", LABELLED, ids=[row["id"] for row in LABELLED])
def test_cause_and_decisive_words_of_a_labelled_failure(row: dict[str, Any]) -> None:
    found = _inferred(row)
    assert found.cause == row["cause"]
    if row["says"]:
        assert found.decisive is not None
        assert row["says"] in " ".join(found.decisive[1].split())
    if "advice" in row:
        assert any(row["advice"] in said for said in found.advice)
    for kind, name in row.get("entities", {}).items():
        assert name in found.entities[kind]
    if "user_frame" in row:
        assert found.user_frame == row["user_frame"]
    if "connector" in row:
        assert found.connector == tuple(row["connector"])
    assert 1 <= len(found.clues) <= 3


@pytest.mark.parametrize(("field", "at_least"), [("system", 0.95), ("kind", 0.97), ("phase", 0.96), ("role", 0.9)])
def test_systems_kinds_and_phases_of_the_labelled_failures(field: str, at_least: float) -> None:
    mine = [row for row in LABELLED if field in row]
    wrong = [row["id"] for row in mine if (getattr(_inferred(row), field) or "") not in (row[field] or "", f"the {row[field]}")]
    assert len(wrong) <= (1 - at_least) * len(mine), wrong


def test_confidence_is_no_promise_that_is_not_kept() -> None:
    """Of all that is inferred with a confidence at least as many are right: fault classes' chains are labelled, too."""
    bins: dict[float, list[bool]] = defaultdict(list)
    for confidence, right in [*_of_labelled(), *_of_fault_classes()]:
        bins[min(0.9, int(confidence * 10) / 10)].append(right)
    shown = {low: (sum(each), len(each)) for low, each in sorted(bins.items())}
    print("confidence: right, all", shown)
    for low, (right, number) in shown.items():
        assert number < 10 or right / number >= low - 0.1, f"of those with a confidence of {low} only {right} of {number} are right"
    assert sum(right for right, _ in shown.values()) >= 270


def _of_labelled() -> Iterator[tuple[float, bool]]:
    for row in LABELLED:
        found = _inferred(row)
        yield found.confidence, found.cause == row["cause"]


def _of_fault_classes() -> Iterator[tuple[float, bool]]:
    from analyzers.derived.failures.fault_classes import FAULT_CLASSES
    from tests.test_fault_classes import CASES

    causes = {each.id: each.cause for each in FAULT_CLASSES}
    for name, chain, frames in CASES:
        if name not in causes:
            continue
        found = infer_chain([_parted(each) for each in chain], frames.split("\n") if frames else None)
        if found is not None:
            yield found.confidence, found.cause == causes[name]


def _parted(text: str) -> tuple[str, str]:
    name, colon, message = text.partition(": ")
    return (name, message) if " " not in name and (colon or name.endswith(("Exception", "Error"))) else ("", text)


SYSTEMS = ("MySQL", "PostgreSQL", "Redis", "S3", "Elasticsearch", "Doris", "MongoDB", "ClickHouse", "Cassandra", "Oracle")


def test_causes_without_the_rows_of_a_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the table says of one system is left out: identity is lost, the cause is not."""
    full = component_table._table()
    right, number = [], 0
    for system in SYSTEMS:
        cut = {column: {name: each for name, each in index.items() if each.called != system} for column, index in full.items()}
        assert cut != full
        with monkeypatch.context() as without:
            without.setattr(component_table, "_table", lambda cut=cut: cut)
            _forget()
            for row in LABELLED:
                if row["system"] == system:
                    number += 1
                    found = infer(row["text"], thread=row.get("thread"))
                    if found is not None and found.cause == row["cause"]:
                        right.append(row["id"])
        _forget()
    assert number >= 40
    assert len(right) >= 0.9 * number, sorted({row["id"] for row in LABELLED if row["system"] in SYSTEMS} - set(right))


def _forget() -> None:
    from analyzers.inference import kinds as kinds_module
    from analyzers.inference.infer import _infer

    component_table.component_of.cache_clear()
    component_table._beginnings.cache_clear()
    kinds_module._kind_of.cache_clear()
    _infer.cache_clear()


def test_systems_that_no_table_names_are_services_by_their_place() -> None:
    unlisted = [row for row in LABELLED if row.get("unlisted")]
    assert len(unlisted) >= 8
    for row in unlisted:
        assert not any((component.called or "") == row["system"] for component in component_table.components())
        found = _inferred(row)
        assert (found.system, found.role) == (row["system"], "service"), row["id"]


def test_who_prints_a_line_says_the_component_where_nothing_else_does() -> None:
    said = "Connection to node 3 could not be established. Broker may not be available."
    parted = infer(said, logger="org.apache.kafka.clients.NetworkClient")
    whole = infer(f"2024-05-01 10:00:00,000 WARN  org.apache.kafka.clients.NetworkClient [] - {said}")
    for found in (parted, whole):
        assert found is not None
        assert (found.system, found.cause) == ("Kafka", "broker-unreachable")
    thrown = infer(
        "a.b.C: x\nCaused by: com.mysql.cj.exceptions.CJException: Communications link failure", logger="org.apache.kafka.clients.X"
    )
    assert thrown is not None
    assert thrown.system == "MySQL"


def test_refused_is_not_down() -> None:
    of = {row["id"]: _inferred(row) for row in LABELLED}
    assert of["postgres-starting-up"].answered is False
    assert of["frobnicator"].answered is False
    assert of["clickhouse-readonly"].answered is True
    assert of["doris-label"].answered is True
    assert of["user-npe"].answered is True  # nobody was asked: the record itself fails
    assert of["heap"].answered is None


# --- decisive words, advice, entities -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chain", "chosen"),
    [
        ([("a.JobException", "Job execution failed."), ("a.b.C", "null"), ("java.io.IOException", "disk 3 is gone")], "disk 3 is gone"),
        ([("a.B", "table [t] in use: quota of 7 reached"), ("java.lang.InterruptedException", "sleep interrupted")], "table [t] in use: quota of 7 reached"),
        ([("a.B", "Connect to es-1:9200 failed: Connection refused"), ("java.net.ConnectException", "Connection refused")], "Connect to es-1:9200 failed: Connection refused"),
        ([("a.B", "label x is used"), ("java.util.concurrent.TimeoutException", "Futures timed out after [10000 ms]")], "label x is used"),
        ([("a.B", "cannot use x"), ("java.io.NotSerializableException", "com.acme.db.Pool")], "cannot use x"),
        ([("org.apache.flink.X", "Could not forward element to next operator"), ("java.lang.NullPointerException", None)], None),
    ],
)  # fmt: skip
def test_the_decisive_message_is_the_deepest_that_says_something(chain: list[tuple[str, str | None]], chosen: str | None) -> None:
    found = decisive(chain)
    assert found is not None
    if chosen is None:
        assert found == ("java.lang.NullPointerException", "")
    else:
        assert found[1] == chosen


def test_a_message_of_several_lines_is_whole() -> None:
    text = (
        'org.postgresql.util.PSQLException: ERROR: duplicate key value violates unique constraint "t_pkey"\n'
        "  Detail: Key (id)=(7) already exists.\n\tat org.postgresql.core.v3.QueryExecutorImpl.x(QueryExecutorImpl.java:1)"
    )
    assert decisive_in(text) == (
        "org.postgresql.util.PSQLException",
        'ERROR: duplicate key value violates unique constraint "t_pkey"\nDetail: Key (id)=(7) already exists.',
    )


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("Sum exceeds the limit. Please increase taskmanager.memory.flink.size.", ["Please increase taskmanager.memory.flink.size."]),
        ("load job finished, change you label prefix or restore from latest savepoint!", ["change you label prefix or restore from latest savepoint!"]),
        ("The value is too small. You can raise it by setting 'a.b'.", ["You can raise it by setting 'a.b'."]),
        ("Deadlock found when trying to get lock; try restarting transaction", ["try restarting transaction"]),
        ("The timeout should be increased to 60 s.", ["The timeout should be increased to 60 s."]),
        ("Use of closed network connection", []),
        ("Connection refused: db-1:5432", []),
        ("Failed to update table. Check constraint violated", []),
        ("READONLY You can't write against a read only replica.", []),
        ("Could not use the pool, run 3 failed", []),
        ("See the inner exception for details.", []),
    ],
)  # fmt: skip
def test_advice_is_what_the_product_asks_for(message: str, advice: list[str]) -> None:
    assert advice_of(message) == advice


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("Connection to db-1.prod/10.0.0.4:5432 refused", "address", ("db-1.prod/10.0.0.4:5432",)),
        ("HTTPConnectionPool(host='geo', port=8080): Max retries", "address", ("geo:8080",)),
        ("at com.acme.Job.map(Job.java:61)", "address", None),
        ("Exception at 12:30:15 on 2024-01-01", "address", None),
        ("offset=42 of partition orders-3 in topic orders", "partition", ("orders-3",)),
        ("offset=42 of partition orders-3 in topic orders", "offset", ("42",)),
        ("offset=42 of partition orders-3 in topic orders", "topic", ("orders",)),
        ("Not authorized to access group: settle-eu", "group", ("settle-eu",)),
        ("transactionalId='tx-1-0', inTransaction=true", "transactional_id", ("tx-1-0",)),
        ("Label [load_7] has already been used", "label", ("load_7",)),
        ("binlog 'mysql-bin.000123:4' purged", "binlog", ("mysql-bin.000123:4",)),
        ('relation "public.orders" does not exist', "table", ("public.orders",)),
        ("Data too long for column 'note' at row 1", "column", ("note",)),
        ("File does not exist: /flink/chk-7/_metadata", "path", ("/flink/chk-7/_metadata",)),
        ("ORA-01400: cannot insert NULL", "code", ("ORA-01400",)),
        ("Error code: 1236; SQLSTATE: HY000.", "sqlstate", ("HY000",)),
        ("server answered 503 Service Unavailable", "http", ("503",)),
        ("jdbc:postgresql://db:5432/x failed", "url", ("jdbc:postgresql://db:5432/x",)),
    ],
)
def test_entities_are_taken_from_messages(text: str, kind: str, names: tuple[str, ...] | None) -> None:
    assert entities_of(text).get(kind) == names


# --- languages ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "language", "chain"),
    [
        ("panic: boom\n\ngoroutine 1 [running]:\nmain.f(0x1)\n\t/src/a.go:3 +0x1\n", "go", [("panic", "boom")]),
        ("goroutine 7 [running]:\nmain.f(0x1)\n\t/src/a.go:3 +0x1\n", "go", [("", "goroutine 7 [running]:")]),
        ("thread 'main' panicked at 'it broke', src/main.rs:3:5", "rust", [("panic", "it broke")]),
        ("thread 'main' panicked at src/main.rs:3:5:\nit broke\nnote: run with", "rust", [("panic", "it broke")]),
        ("Error: outer\n\nCaused by:\n    0: middle\n    1: deep\n", "rust", [("", "outer"), ("", "middle"), ("", "deep")]),
        ("Error: outer\n    at f (/a/b.js:1:2) {\n  [cause]: TypeError: inner\n      at g (/a/c.js:3:4)\n}", "node", [("Error", "outer"), ("TypeError", "inner")]),
        ("A.B.OuterException: o\n ---> C.D.InnerException: i\n   at C.D.E() in /s/e.cs:line 4\n   --- End of inner exception stack trace ---\n   at A.B.F()", "dotnet",
         [("A.B.OuterException", "o"), ("C.D.InnerException", "i")]),
        (("Traceback (most recent call last):\n  File \"/a.py\", line 1, in f\nKeyError: 'q'\n\nDuring handling of the above exception, another exception occurred:\n\n"
         "Traceback (most recent call last):\n  File \"/a.py\", line 3, in g\nValueError: bad\n"), "python", [("ValueError", "bad"), ("KeyError", "'q'")]),
        ("java.lang.RuntimeException: o\n\tat a.B.c(B.java:1)\nCaused by: java.io.IOException: i\n\tat a.D.e(D.java:2)", "java",
         [("java.lang.RuntimeException", "o"), ("java.io.IOException", "i")]),
    ],
)  # fmt: skip
def test_traces_of_other_languages(text: str, language: str, chain: list[tuple[str, str]]) -> None:
    failure = read(text)
    assert failure.language == language
    assert [(link.kind, link.message) for link in failure.chain] == chain


def test_frames_of_inner_and_outer_exceptions_stay_apart() -> None:
    text = "A.B.OuterException: o\n ---> C.D.InnerException: i\n   at C.D.E() in /s/e.cs:line 4\n   --- End of inner exception stack trace ---\n   at A.B.F()"
    assert [link.frames for link in read(text).chain] == [["A.B.F"], ["C.D.E"]]


# --- bounds -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "x " * 50_000,
        "a." * 50_000,
        "(" * 100_000,
        "java.lang.E: " + "at a.b.c(D.java:1) " * 8_000,
        "java.lang.RuntimeException: " * 4_000,
        "Caused by: a.b.C: d\n" * 6_000,
        "\n at x.y(z.java:1)" * 8_000,
        " ---> " * 20_000,
        "panic: " + "x\n" * 50_000,
        "Error: " + "\nCaused by:\n" + "  a\n" * 30_000,
        "Error: x\n    at f (/a.js:1:1)\n" * 4_000,
        "1.1.1.1:" * 12_000,
        "topic [ " * 12_000,
        "A_" * 50_000,
        "thread 'a' panicked at '" + "\\" * 50_000,
        "goroutine 1 [running]:\n" + "(" * 50_000,
    ],
    ids=lambda text: repr(text[:20]),
)
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    infer(text)
    assert time.process_time() - started < 5  # what takes exponential time takes hours


def test_beginning_and_end_of_a_long_text_are_read() -> None:
    frames = "\tat org.apache.flink.X.y(X.java:1)\n" * 4_000
    assert len(frames) > HEAD + TAIL
    text = f"java.lang.RuntimeException: outer\n{frames}Caused by: java.net.ConnectException: Connection refused: db-9:5432\n\tat com.acme.A.map(A.java:1)"
    found = infer(text)
    assert found is not None
    assert found.kind == "unavailable"
    assert found.entities["address"] == ("db-9:5432",)


@pytest.mark.parametrize("text", ["", "   \n", "Job 7 is running", "2024-01-01 INFO Completed checkpoint 7 (12 bytes in 3 ms)."])
def test_what_is_no_failure_infers_nothing(text: str) -> None:
    assert infer(text) is None


ANSWERS = [(kind, texts) for kind, codes in table("kafka_errors").items() for texts in codes.values()]


@pytest.mark.parametrize(("kind", "texts"), ANSWERS, ids=[texts[0] for _, texts in ANSWERS])
def test_an_answer_of_a_broker_is_of_one_kind_in_the_words_of_each_client(kind: str, texts: list[str]) -> None:
    for text in texts:
        found = infer(f"2026-03-24T14:26:50.818Z ERROR - - poll failed\n    with topic=a, error=try 2: {text}")
        assert found is not None
        assert (found.kind, found.role) == (kind, "kafka"), text


def test_the_error_codes_are_of_known_kinds_and_named_once() -> None:
    assert set(table("kafka_errors")) <= set(kinds())
    names = [text for _, texts in ANSWERS for text in texts]
    assert len({name.lower() for name in names}) == len(names)
