"""When an incident counts as passed, and when it is only said that the job came back: on findings, attempts and jobs made by hand."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from analyzers.diagnosis.recovered import weigh_passed
from analyzers.report.finding import Evidence, Finding, Severity
from analyzers.tables import ATTEMPTS, JOBS_SEEN, LOG_COUNTS, Row

T0 = datetime(2026, 11, 21, 9, 0, tzinfo=timezone.utc)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def attempt(number: int, begun: float, ended: float | None, how: str, completed: int = 0) -> Row:
    times = {"started_at": at(begun), "ended_at": None if ended is None else at(ended)}
    return ATTEMPTS.row({"scope": "", "job": "j", "attempt": number, "ended": how, "checkpoints_completed": completed, **times})


def job(name: str, state: str, first: float, last: float, completed: int, restarts: int = 0) -> Row:
    times = {"first_at": at(first), "last_at": at(last)}
    told = {"name": "orders", "state": state, "checkpoints_completed": completed, "restarts": restarts}
    return JOBS_SEEN.row({"scope": "", "job": name, **times, **told})


def weighed(
    tables: dict[str, list[Row]],
    until: float,
    cause: str | None = "broker-unreachable",
    end: float | None = None,
    more: str | None = None,
    **other: Any,
) -> Finding:
    """The finding of job j, weighed beside one of the same cause of the job `more`."""
    values: dict[str, Any] = {"code": "BRK101", "cause": cause, "reason": None, "stage": "access", "severity": Severity.CRITICAL}
    values |= {"confidence": 1.0, "job": "j", "subject": {}, "since": at(20), "until": at(until), "says": "It fails"}
    shown = (Evidence("log_events", "taskmanager.log", 7, at(until), "it fails"),)
    values |= {"inferred": None, "fix": "Remove the dead entries.", "evidence": shown, "page": "", **other}
    others = [Finding(**{**values, "job": more})] if more else []
    return weigh_passed([Finding(**values), *others], tables, {} if end is None else {"": at(end)})[0]


FAILED = [attempt(0, 0, 21, "failed"), attempt(1, 27, 50, "failed", 5)]


def test_a_job_that_outlasts_its_failures_came_back() -> None:
    found = weighed({"attempts": [*FAILED, attempt(2, 52, None, "running", 18)], "jobs_seen": [job("j", "RUNNING", 0, 142, 23, 2)]}, 50)
    assert (found.severity, found.says) == (Severity.CRITICAL, "It fails. The job came back and completed 18 checkpoints since.")


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (attempt(2, 52, 70, "cancelled", 4), "no longer than the attempt that failed: a reader without splits acknowledges too"),
        (attempt(2, 52, None, "running", 2), "two checkpoints prove little"),
        (attempt(2, 52, 142, "failed", 18), "it failed again"),
        (attempt(2, 40, None, "running", 18), "the fault was seen after its start"),
    ],
)
def test_no_job_comes_back_too_early(last: Row, why: str) -> None:
    found = weighed({"attempts": [*FAILED, last], "jobs_seen": [job("j", "RUNNING", 0, 142, 23, 2)]}, 50)
    assert found.says == "It fails", why


@pytest.mark.parametrize(
    ("before", "completed", "passed", "why"),
    [
        ([attempt(0, 0, 3600, "failed", 59)], 3, True, "one failure after an hour"),
        (
            [attempt(0, 0, 1900, "failed", 30), attempt(1, 1910, 3600, "failed", 28)],
            3,
            False,
            "the second attempt ran for less than half an hour",
        ),
        ([attempt(0, 0, 1800, "failed", 30), attempt(1, 1810, 3620, "failed", 28)], 3, False, "two have a pause, which is to be outlasted"),
        ([attempt(0, 0, 3600, "failed", 59)], 3, True, "one, after an hour of work"),
        ([attempt(0, 0, 3600, "failed", 59)], 2, False, "two checkpoints prove little"),
        ([attempt(0, 0, 3600, "failed", 5)], 3, False, "it hardly worked before it failed"),
        ([attempt(n, 1900 * n, 1900 * n + 1890, "failed", 30) for n in range(3)], 3, False, "three have a usual pause"),
    ],
)
def test_failures_far_apart_are_single_ones(before: list[Row], completed: int, passed: bool, why: str) -> None:
    end = max(row["ended_at"] for row in before)
    since = (end - T0).total_seconds()
    rows = [*before, attempt(len(before), since + 10, None, "running", completed)]
    seen = [job("j", "RUNNING", 0, since + 200, 99, len(before))]
    found = weighed({"attempts": rows, "jobs_seen": seen}, since)
    assert (found.severity is Severity.WARNING) is passed, why


@pytest.mark.parametrize(("restarts", "completed"), [(0, 12), (1, 12), (0, 2)])
def test_a_job_stopped_and_submitted_again_came_back_if_the_new_one_is_well(restarts: int, completed: int) -> None:
    jobs = [job("j", "FINISHED", 0, 70, 7, 2), job("new", "RUNNING", 75, 110, completed, restarts)]
    found = weighed({"attempts": [*FAILED, attempt(2, 52, 70, "planned", 2)], "jobs_seen": jobs}, 50)
    assert found.severity is Severity.CRITICAL
    assert ("submitted again as new, which completed 12 checkpoints" in found.says) == (restarts == 0 and completed == 12)


def test_records_read_twice_stay_read_twice() -> None:
    running = {"attempts": [*FAILED, attempt(2, 52, None, "running", 18)], "jobs_seen": [job("j", "RUNNING", 0, 142, 23, 2)]}
    assert weighed(running, 50, cause="duplicate-split").says == "It fails"


def test_a_finding_of_a_job_that_never_failed_says_nothing_of_coming_back() -> None:
    running = {"attempts": [attempt(0, 0, None, "running", 18)], "jobs_seen": [job("j", "RUNNING", 0, 142, 18)]}
    assert weighed(running, 50).says == "It fails"


def test_what_has_passed_is_not_to_be_mended_now() -> None:
    """To restart a job that runs, or to take away brokers that answer again, would be harm."""
    many = LOG_COUNTS.row({"scope": "", "job": "j", "signature": "checkpoint-completed", "events": 300, "last_at": at(4000)})
    found = weighed({"log_counts": [many], "jobs_seen": [job("j", "RUNNING", 0, 4000, 300, 2)]}, 50)
    assert found.severity is Severity.WARNING
    assert found.fix == "Nothing for now: the job runs. Should it come back: Remove the dead entries."


@pytest.mark.parametrize(
    ("asked", "then"),
    [
        (
            "diag triage --flink-rest http://JOBMANAGER:8081 --job j   # who holds the barrier",
            "zless +7 taskmanager.log   # the lines that",
        ),
        ("diag broker-health --bootstrap-server a:9092", "diag broker-health --bootstrap-server a:9092"),
    ],
)
def test_of_what_has_passed_a_live_jobmanager_is_not_asked(asked: str, then: str) -> None:
    many = LOG_COUNTS.row({"scope": "", "job": "j", "signature": "checkpoint-completed", "events": 300, "last_at": at(4000)})
    tables = {"log_counts": [many], "jobs_seen": [job("j", "RUNNING", 0, 4000, 300, 2)]}
    assert weighed(tables, 50, detail={"next_command": asked}).detail["next_command"].startswith(then)


def test_a_restart_loop_that_ended_is_told_as_such() -> None:
    """Beside a cause that has passed a warning of a job that "failed 9 times" would read as if it went on."""
    many = LOG_COUNTS.row({"scope": "", "job": "j", "signature": "checkpoint-completed", "events": 300, "last_at": at(4000)})
    tables = {"log_counts": [many], "jobs_seen": [job("j", "RUNNING", 0, 4000, 300, 2)]}
    found = weighed(tables, 50, None, code="RST101", stage="restart", severity=Severity.WARNING)
    assert (found.severity, found.says) == (Severity.INFO, "It fails. It has passed: 300 checkpoints were completed since.")
    risk = weighed(tables, 50, None, code="CFG101", stage="risk", severity=Severity.WARNING)
    assert (risk.severity, risk.says) == (Severity.WARNING, "It fails")


@pytest.mark.parametrize(
    ("end", "told"),
    [(18_650, "It fails. The last sign of it is of 2026-11-21 09:00:50 UTC, 5 h 10 min before these logs end"), (1800, "It fails")],
)
def test_lines_that_go_on_for_long_without_it_are_told(end: float, told: str) -> None:
    """A TaskManager's log alone completes no checkpoint: whether the job runs again it does not say."""
    assert weighed({}, 50, end=end).says == told


def failing_every(minutes: float, times: int, well: float) -> tuple[dict[str, list[Row]], float]:
    """A job that failed so often, and completes a checkpoint each minute in between; and when it last failed. It runs on for `well` min."""
    each = 60 * minutes
    runs = [attempt(n, n * each + 30, (n + 1) * each, "failed", int(minutes) - 1) for n in range(times)]
    last, end = times * each, times * each + 60 * well
    done = [
        LOG_COUNTS.row({"scope": "", "job": "j", "signature": "checkpoint-completed", "events": 1, "last_at": at(second)})
        for second in range(60, int(end), 60)
    ]
    tables = {
        "attempts": [*runs, attempt(times, last + 30, None, "running", int(well))],
        "jobs_seen": [job("j", "RUNNING", 0, end, len(done), times)],
        "log_counts": done,
    }
    return tables, last


@pytest.mark.parametrize(
    ("minutes", "well", "passed"),
    [
        (38, 28, False),  # a barrier that is stuck again and again, with its time-out and half an hour of good checkpoints in between
        (38, 80, True),
        (8, 12, False),
        (0.5, 12, True),
    ],
)
def test_what_comes_back_in_its_own_time_has_not_passed_before(minutes: float, well: float, passed: bool) -> None:
    tables, last = failing_every(minutes, 6, well)
    assert (weighed(tables, last).severity is Severity.WARNING) is passed


STOPPED = job("j", "CANCELED", 0, 7200, 7)


@pytest.mark.parametrize(
    ("new", "severity", "says"),
    [
        (job("new", "RUNNING", 7300, 18_000, 180), Severity.WARNING, "It has passed: the job was submitted again as new and completes"),
        (job("new", "RUNNING", 7300, 7500, 4), Severity.CRITICAL, "It fails. The job came back: it was submitted again as new"),
        (job("new", "RUNNING", 7300, 18_000, 180, 3), Severity.CRITICAL, "It fails"),
    ],
)
def test_a_job_that_somebody_stopped_has_passed_when_the_new_one_proved_itself(new: Row, severity: Severity, says: str) -> None:
    """One that was stuck never failed; it was cancelled."""
    found = weighed({"attempts": [attempt(0, 0, 7200, "cancelled", 7)], "jobs_seen": [STOPPED, new]}, 7000)
    assert found.severity is severity
    assert says in found.says


def test_what_a_stopped_job_wrote_twice_stays_and_the_new_job_need_not_be_stopped() -> None:
    tables = {"jobs_seen": [STOPPED, job("new", "RUNNING", 7300, 18_000, 180)]}
    found = weighed(tables, 50, cause="duplicate-split")
    assert found.severity is Severity.CRITICAL, "the records are still there twice"
    assert found.says.endswith(
        "That job ran until 2026-11-21 11:00:00 UTC; it was submitted again as new, which shows nothing of the kind."
    )
    assert "the running job new need not be stopped for it" in found.fix
    assert weighed(tables, 50, cause="duplicate-split", more="new").says == "It fails"
