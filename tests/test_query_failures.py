"""A query that fails is told twice, by itself and by the program that waits for it: one failure, with its deepest cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzers.derived import derive
from analyzers.derived.failures.attempts import attempts_of
from analyzers.derived.failures.fault_attempts import one_line
from analyzers.derived.failures.jobs import with_jobs
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.tables import LOG_EVENTS

INCIDENTS = Path(__file__).parent.parent / "fixtures" / "incidents" / "ill"


def faults(incident: str) -> list[tuple[str, str | None, int]]:
    tables = derive(scan(plan([str(INCIDENTS / incident / "raw")], LogOptions()), None))
    return sorted({(f["fault"], f["root_exception"], f["attempt"]) for f in tables["faults"] if f["fatal"]})


@pytest.mark.parametrize(
    ("incident", "fault", "exception"),
    [
        ("lab-spark-truncated-offsets", "log-unreadable", "com.fasterxml.jackson.core.io.JsonEOFException"),
        ("lab-spark-empty-commit", "log-damaged", "java.lang.IllegalStateException"),
        ("lab-spark-other-sources", "other-query", "java.lang.AssertionError"),
    ],
)
def test_a_start_that_fails_is_one_failure(incident: str, fault: str, exception: str) -> None:
    assert faults(incident) == [(fault, exception, 1)]


def test_the_state_file_that_is_missing_is_the_cause_and_not_the_call_that_met_it() -> None:
    assert ("checkpoint-missing", "org.apache.spark.SparkException", 1) in faults("lab-spark-state-missing")
    assert not any("Py4J" in str(exception) for _, exception, _ in faults("lab-spark-state-missing"))


def test_an_executor_is_called_one() -> None:
    tables = derive(scan(plan([str(INCIDENTS.parents[1] / "RST410" / "fires" / "raw")], LogOptions()), None))
    named = {one_line(f).partition(":")[0] for f in tables["faults"] if f["resource"]}
    assert named == {f"executor {number}" for number in range(1, 6)}


def test_each_start_fails_on_the_record_and_the_worker_says_why() -> None:
    assert {exception for _, exception, _ in faults("lab-spark-failing-batch")} == {"ValueError"}
    assert {attempt for _, _, attempt in faults("lab-spark-failing-batch")} == {0, 1, 2}


def test_the_batch_of_a_failure_is_the_one_that_the_next_run_resumes_at() -> None:
    """Of a long log the first and the last hundred batches are rows: the newest row before a failure may be hours older."""
    kept = [
        ("query-started", None, "run-1"),
        ("batch-planned", 99, None),
        ("query-failed", None, "run-1"),
        ("query-started", None, "run-2"),
        ("query-resumed", 240, None),
        ("batch-planned", 241, None),
    ]
    both = {"scope": "", "as_of": None, "job": "j", "at": None, "seq": None, "file": "driver.log", "text": ""}
    rows = [both | {"line": n, "signature": s, "checkpoint": c, "detail": {"run": r}} for n, (s, c, r) in enumerate(kept)]
    assert [(a["ended"], a["batch"]) for a in attempts_of(rows)] == [("failed", 240), ("running", None)]


def jobs_of(*told: tuple[str, str | None, str | None]) -> list[str | None]:
    """The job of each line of a driver with several queries, of signature, job and directory."""
    same = {"scope": "", "file": "driver.log", "role": "spark-driver", "text": ""}
    rows = [{**same, "line": n, "seq": n, "signature": s, "job": j, "detail": {"path": path}} for n, (s, j, path) in enumerate(told)]
    return [row["job"] for row in with_jobs([LOG_EVENTS.row(row) for row in rows])]


def test_of_several_queries_the_directory_tells_whose_batch_is_written() -> None:
    started = [("query-started", "p", "file:/cp/p"), ("query-started", "q", "file:/cp/q/")]
    assert jobs_of(*started, ("batch-written", None, "file:/cp/q"), ("batch-written", None, "file:/cp/r"))[2:] == ["q", None]
    assert jobs_of(*started, ("query-started", "r", "file:/cp/q"), ("batch-written", None, "file:/cp/q"))[3:] == [None]


def test_a_query_says_where_it_goes_on_behind_its_start() -> None:
    p, q, place = ("query-started", "p", "/cp/p"), ("query-started", "q", "/cp/q"), ("query-resumed", None, None)
    assert jobs_of(p, place, q, place) == ["p", "p", "q", "q"]
    assert jobs_of(p, q, place, place, p, place) == ["p", "q", None, None, "p", "p"]  # of two that start at once nobody knows whose it is
    assert jobs_of(p, ("query-failed", "p", None), q, place)[3] == "q"
