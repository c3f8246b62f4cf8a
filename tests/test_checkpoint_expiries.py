"""How often the checkpoints of a job expire, from rows and from counts."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from analyzers.derived.checkpoints.checkpoint_expiries import Ending as E
from analyzers.derived.checkpoints.checkpoint_expiries import Spell, checkpoint_expiries, expiry_spells, least_seconds, shortest_timeout
from analyzers.tables import TABLES, Row

T0 = datetime(2026, 11, 20, 20, 0, tzinfo=timezone.utc)


def at(minutes: float) -> datetime:
    return T0 + timedelta(minutes=minutes)


def log(*lines: tuple[float, str, int | None], **more: Any) -> list[Row]:
    """Lines (minute, signature without "checkpoint-", checkpoint) of one job."""
    known = {"job-state"}
    return [
        TABLES["log_events"].row(
            {"scope": "", "job": "a", "at": at(minute), "line": number, "signature": kind if kind in known else f"checkpoint-{kind}"}
            | {"checkpoint": checkpoint}
            | more
        )
        for number, (minute, kind, checkpoint) in enumerate(lines, start=1)
    ]


def counted(minute: float, kind: str, events: int, lasting: float = 0.5) -> Row:
    times = {"minute": at(minute), "first_at": at(minute), "last_at": at(minute + lasting)}
    return TABLES["log_counts"].row({"scope": "", "job": "a", "signature": f"checkpoint-{kind}", "events": events} | times)


def only(events: list[Row], counts: list[Row] | None = None) -> Row:
    (row,) = checkpoint_expiries(events, counts)
    return row


def test_a_job_whose_checkpoints_complete_has_no_row() -> None:
    assert checkpoint_expiries(log((0, "triggered", 1), (1, "completed", 1)), None) == []
    assert checkpoint_expiries(log((0, "failed", 1), root_message="Checkpoint was declined"), None) == []


def test_the_newest_of_a_job() -> None:
    row = only(
        log((0, "triggered", 1), (1, "completed", 1), (2, "triggered", 2), (12, "expired", 2), (12, "failed", 2), (22, "expired", 3))
    )
    known = {"expired": 2, "seen": 3, "in_a_row": 2, "in_a_row_or_more": False, "still": True, "completed": 1, "completed_since": 0}
    assert {name: row[name] for name in known} == known
    assert (row["last_completed"], row["last_completed_at"], row["since"], row["until"]) == (1, at(1), at(12), at(22))
    assert (row["timeout_seconds"], row["ended"]) == (600, False)


def test_the_failure_managers_line_is_an_expiry_where_it_says_so() -> None:
    assert only(log((0, "failed", 1), root_message="Checkpoint expired before completing."))["expired"] == 1


@pytest.mark.parametrize(("state", "ended"), [("CANCELLING", True), ("RESTARTING", False)])
def test_a_job_that_was_cancelled_after_its_expiry_has_ended(state: str, ended: bool) -> None:
    assert only(log((0, "expired", 1), (1, "job-state", None), to_state=state))["ended"] is ended


def test_an_expiry_before_its_trigger_says_nothing_of_the_time_out() -> None:
    assert shortest_timeout([E(1, 1, True, at(1), at(2)), E(2, 2, True, at(12), at(2)), E(3, 3, False, at(3), at(2))]) == 600
    assert shortest_timeout([E(1, 1, True, at(1), at(2))]) is None


def test_spells_are_what_expired_between_two_that_completed() -> None:
    endings = [E(n, n, n != 3, at(n), None) for n in range(1, 5)]
    assert expiry_spells(endings, []) == [Spell(2, at(1), at(2), over=True), Spell(1, at(4), at(4), over=False)]
    row = only(log((1, "expired", 1), (2, "expired", 2), (3, "completed", 3), (4, "expired", 4), (5, "completed", 5), (6, "completed", 6)))
    assert (row["spell"], row["spell_since"], row["spell_until"], row["completed_since_spell"]) == (2, at(1), at(2), 3)
    assert (row["in_all"], row["of_all"], row["first_at"], row["longest"], row["completed_since"]) == (3, 6, at(1), 2, 2)


def test_how_close_together_five_lie() -> None:
    assert least_seconds([at(n) for n in (0, 60, 61, 62, 63, 64, 200)]) == 240
    assert least_seconds([at(n) for n in range(4)]) is None


def test_completed_ones_that_are_no_rows_are_counted() -> None:
    counts = [counted(0, "expired", 1), counted(5, "completed", 40), counted(9, "expired", 1)]
    row = only(log((0, "expired", 1), (9, "expired", 50)), [*counts, counts[1]])  # a copy of a log counts again
    assert (row["in_all"], row["of_all"], row["longest"], row["dropped"]) == (2, 42, 1, False)


def test_expiries_in_a_row_that_are_no_rows_are_counted() -> None:
    rows = log((0, "completed", 1), (10, "expired", 2), (200, "expired", 21))
    row = only(rows, [counted(0, "completed", 1), *(counted(10 * n, "expired", 1) for n in range(1, 21))])
    assert (row["in_a_row"], row["in_a_row_or_more"], row["dropped"], row["since"]) == (20, False, True, at(10))


def test_a_few_more_than_there_are_rows_may_be_those_of_a_minute_that_was_cut() -> None:
    rows = log((0, "completed", 1), (10, "expired", 2), (50, "expired", 6))
    row = only(rows, [counted(10 * n, "expired", 1) for n in range(1, 6)])
    assert (row["in_a_row"], row["in_a_row_or_more"], row["dropped"]) == (2, True, True)


def test_of_a_minute_in_which_one_completed_nobody_knows_how_many_expired_later() -> None:
    rows = log((0.2, "completed", 1), (0.4, "expired", 2), (50, "expired", 40))
    row = only(rows, [counted(0, "expired", 20), counted(50, "expired", 1)])
    assert (row["in_a_row"], row["in_a_row_or_more"]) == (2, True)


def test_jobs_are_counted_apart() -> None:
    both = [*log((0, "expired", 1)), *log((0, "expired", 1), (1, "expired", 2), job="b"), *log((0, "expired", 1), job=None)]
    assert {row["job"]: row["expired"] for row in checkpoint_expiries(both, [])} == {"a": 1, "b": 2}
