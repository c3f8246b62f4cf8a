"""A job that was submitted again and failed of the same has one verdict."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from analyzers.diagnosis.resubmissions import one_per_name
from analyzers.report.report import Verdict
from analyzers.tables import JOBS_SEEN, Row

AT = datetime(2026, 11, 21, 9, 30, tzinfo=timezone.utc)


def minutes(number: int) -> datetime:
    return AT + timedelta(minutes=number)


def verdict(job: str, since: int = 0, **values: Any) -> Verdict:
    fields: dict[str, Any] = {"cause": "poison-record", "reason": "user-code", "code": "RST203", "subject": {"task": "map"}}
    rest = {"trigger": None, "says": f"{job} fails.", "fix": "", "confidence": 1.0, "chain": (), "timeline": ()}
    return Verdict(job=job, since=minutes(since), **{**fields, **rest, **values})


def job(name: str | None, of: str, first: int, last: int) -> Row:
    return JOBS_SEEN.row({"scope": "", "job": of, "name": name, "first_at": minutes(first), "last_at": minutes(last)})


def jobs_of(*verdicts: Verdict, seen: list[Row]) -> list[str | None]:
    return [each.job for each in one_per_name(verdicts, seen)]


TWO = [job("orders", "a", 0, 5), job("orders", "b", 6, 9)]


def test_the_last_submission_speaks_for_all() -> None:
    for order in ((verdict("a"), verdict("b", 7)), (verdict("b", 7), verdict("a"))):
        (one,) = one_per_name(order, TWO)
        assert (one.job, one.since) == ("b", minutes(0))
        assert one.says == "b fails. Before that it ran as job a and failed of the same, until 2026-11-21 09:35:00 UTC"


def test_jobs_that_run_at_once_or_differ_keep_their_own() -> None:
    both = (verdict("a"), verdict("b", 7))
    assert jobs_of(*both, seen=[job("orders", "a", 0, 8), job("orders", "b", 6, 9)]) == ["a", "b"]
    assert jobs_of(*both, seen=[job("orders", "a", 0, 5), job("payments", "b", 6, 9)]) == ["a", "b"]
    assert jobs_of(*both, seen=[job("Flink Streaming Job", "a", 0, 5), job("Flink Streaming Job", "b", 6, 9)]) == ["a", "b"]
    assert jobs_of(*both, seen=[]) == ["a", "b"]


def test_another_cause_task_or_scope_is_another_verdict() -> None:
    for other in ({"cause": "other"}, {"reason": "x"}, {"subject": {"task": "sink"}}, {"scope": "elsewhere"}):
        assert jobs_of(verdict("a"), verdict("b", 7, **other), seen=TWO) == ["a", "b"]


def test_three_submissions_are_one_too() -> None:
    (one,) = one_per_name([verdict("a"), verdict("b", 7), verdict("c", 11)], [*TWO, job("orders", "c", 10, 12)])
    assert (one.job, one.since) == ("c", minutes(0))
