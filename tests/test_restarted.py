"""What was killed or replaced and works again, as the logs show it: which lines prove that, and for how long it has to last."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzers.derived.failures.requests import of_request
from analyzers.derived.failures.restarted import SINCE
from analyzers.tables import LOG_EVENTS
from tests.test_failure_signs import derived

KILLED = "Task threw an uncaught and unrecoverable exception. Task is being killed and will not recover until manually restarted"
TRACE = "org.apache.kafka.connect.errors.ConnectException: java.net.ConnectException: Connection refused"


def clock(minute: int) -> str:
    return f"2026-03-11 {9 + minute // 60:02d}:{minute % 60:02d}:00,000"


def killed(minute: int, task: str = "orders-0") -> str:
    return f"[{clock(minute)}] ERROR WorkerSinkTask{{id={task}}} {KILLED} (org.apache.kafka.connect.runtime.WorkerTask:231)\n{TRACE}"


def works(*minutes: int, task: str = "orders-0") -> tuple[str, ...]:
    told = f"WorkerSinkTask{{id={task}}} Committing offsets asynchronously using sequence number"
    return tuple(f"[{clock(m)}] INFO {told} {m}: {{}} (org.apache.kafka.connect.runtime.WorkerSinkTask:404)" for m in minutes)


@pytest.mark.parametrize(
    ("lines", "back", "why"),
    [
        ((killed(1), *works(5, 10, 16)), True, "it commits offsets since"),
        ((killed(1), *works(5)), False, "once may be the last commit of a task that is being closed"),
        ((killed(1), *works(5, 6, task="orders-1")), False, "another task commits"),
        ((killed(1), *works(5, 6), killed(7)), False, "it was killed again"),
        ((killed(1), *works(5, 6), killed(31), *works(35, 60)), False, "no longer than between the two failures"),
        ((killed(1), *works(5, 6), killed(31), *works(35, 95)), True, "for twice as long as between the two failures"),
    ],
)
def test_a_killed_task_is_back_once_it_outlasts_its_failures(tmp_path: Path, lines: tuple[str, ...], back: bool, why: str) -> None:
    faults = [fault for fault in derived(tmp_path, *lines, name="connect.log")["faults"] if fault["fatal"]]
    assert faults
    assert all(bool((fault["detail"] or {}).get(SINCE)) is back for fault in faults), why


def streams(minute: int, of: str, message: str, level: str = "INFO", trace: str = "") -> str:
    logger = "KafkaStreams" if of.startswith("stream-client") else "processor.internals.StreamThread"
    return f"{clock(minute)} {level} org.apache.kafka.streams.{logger} - {of} {message}{trace}"


def client(uuid: str) -> str:
    return f"stream-client [totals-{uuid * 8}-{uuid * 4}-{uuid * 4}-{uuid * 4}-{uuid * 12}]"


def thread(uuid: str, number: int) -> str:
    return client(uuid).replace("stream-client", "stream-thread").removesuffix("]") + f"-StreamThread-{number}]"


FAILS = "\norg.apache.kafka.streams.errors.StreamsException: task 0_2 failed\nCaused by: java.lang.IllegalStateException: no rate"
REPLACED = streams(1, client("a"), "Replacing thread in the streams uncaught exception handler", "ERROR", FAILS)
ENDED = streams(1, client("a"), "State transition from RUNNING to PENDING_ERROR")
OPTED = "Encountered the following exception during processing and the registered exception handler opted to SHUTDOWN_CLIENT."
SHUT = streams(1, client("a"), OPTED, "ERROR", FAILS)


def begins(minute: int, of: str) -> str:
    return streams(minute, of, "State transition from CREATED to STARTING")


def runs(minute: int, of: str) -> str:
    return streams(minute, of, "State transition from PARTITIONS_ASSIGNED to RUNNING")


def counts(minute: int, of: str, records: int = 412) -> str:
    return streams(minute, of, f"Processed {records} total records, ran 0 punctuators, and committed 3 total tasks since the last update")


@pytest.mark.parametrize(
    ("lines", "back", "why"),
    [
        ((REPLACED, begins(1, thread("a", 2)), counts(12, thread("a", 2))), True, "the new thread processes records"),
        ((REPLACED, begins(1, thread("a", 2)), counts(3, thread("a", 2), 0)), False, "none"),
        ((REPLACED, begins(1, thread("a", 2)), runs(1, thread("a", 2)), counts(3, thread("a", 2), 0)), False, "none, for two minutes"),
        ((REPLACED, begins(1, thread("a", 2)), runs(1, thread("a", 2)), counts(12, thread("a", 2), 0)), True, "none, but it does not fail"),
        ((REPLACED, runs(1, thread("a", 3)), counts(3, thread("a", 3))), False, "a thread that ran before, after the rebalance"),
        ((SHUT, ENDED, begins(2, thread("b", 1)), counts(4, thread("b", 1))), False, "another instance; this one is still down"),
        (
            (SHUT, ENDED, streams(2, client("b"), "State transition from CREATED to REBALANCING"),
             begins(2, thread("b", 1)), counts(14, thread("b", 1))),
            True, "the application was started again",
        ),
    ],
)  # fmt: skip
def test_only_a_thread_that_began_since_proves_that_records_are_processed(
    tmp_path: Path, lines: tuple[str, ...], back: bool, why: str
) -> None:
    faults = [fault for fault in derived(tmp_path, *lines, name="app.log")["faults"] if fault["fatal"]]
    assert faults
    assert all(bool((fault["detail"] or {}).get(SINCE)) is back for fault in faults), why


@pytest.mark.parametrize(
    ("logger", "chain", "expected"),
    [
        ("org.apache.kafka.connect.runtime.rest.errors.ConnectExceptionMapper:67", ["java.lang.RuntimeException: x"], True),
        ("org.eclipse.jetty.server.HttpChannel:776", ["javax.servlet.ServletException: x"], True),
        ("org.sparkproject.jetty.server.HttpChannel", [], True),
        ("HttpChannel", [], True),
        ("o.e.jetty.server.HttpChannel", [], True),
        ("o.e.j.s.HttpChannel", [], True),
        ("o.a.k.c.r.rest.errors.ConnectExceptionMapper", [], True),
        ("o.a.f.r.r.h.j.JobExceptionsHandler", [], True),
        ("o.a.f.r.w.h.JarRunHandler", [], False),
        ("org.eclipse.jetty.server.HttpChannel", ["a.B: x", "java.lang.OutOfMemoryError: Java heap space"], False),
        ("org.apache.flink.runtime.rest.handler.job.JobExceptionsHandler", [], True),
        ("org.apache.flink.runtime.rest.handler.job.savepoints.SavepointHandlers$SavepointTriggerHandler", [], True),
        ("org.apache.flink.runtime.rest.handler.job.JobSubmitHandler", [], False),
        ("org.apache.flink.runtime.webmonitor.handlers.JarRunHandler", [], False),
        ("com.example.shop.HttpChannelSink", [], False),
        (None, [], False),
    ],
)
def test_a_request_that_failed_is_known_by_who_logs_it(logger: str | None, chain: list[str], expected: bool) -> None:
    assert of_request(LOG_EVENTS.row({"logger": logger, "chain": chain})) is expected
