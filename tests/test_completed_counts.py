"""What a job completed is told in full where only some of the lines that say so were kept."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from analyzers.derived import derive
from analyzers.tables import LOG_COUNTS, LOG_EVENTS, Row

BEGIN = datetime(2026, 11, 21, 9, 30, tzinfo=timezone.utc)
JOB = "f83dbb7e04f400ccfd1258d03b96d7ad"


def second(number: float) -> datetime:
    return BEGIN + timedelta(seconds=number)


def event(at: float, signature: str, **more: object) -> Row:
    fields = {"scope": "", "at": second(at), "file": "jm.log", "line": int(at * 10), "seq": int(at * 10), "role": "jobmanager", "job": JOB}
    return LOG_EVENTS.row({**fields, "signature": signature, **more})


def state(at: float, to: str) -> Row:
    return event(at, "job-state", to_state=to)


def counted(signature: str, *ats: float, job: str | None = JOB) -> list[Row]:
    """As the kernel counts: a row per minute."""
    minutes: dict[int, list[float]] = {}
    for at in ats:
        minutes.setdefault(int(at // 60), []).append(at)
    return [
        LOG_COUNTS.row({
            "scope": "", "signature": signature, "file": "jm.log", "job": job, "minute": second(minute * 60),
            "events": len(some), "first_at": second(min(some)), "last_at": second(max(some)),
        })
        for minute, some in minutes.items()
    ]  # fmt: skip


def derived(completed: list[float], kept: slice, *, job: str | None = JOB, expired: int = 0) -> tuple[list[int], Row]:
    """Per attempt how many were completed, and the job. Attempts run from 0, 630 and 1230 s on; of the lines `kept` were kept."""
    states = [(0, "RUNNING"), (600, "RESTARTING"), (630, "RUNNING"), (1200, "RESTARTING"), (1230, "RUNNING")]
    events = [state(at, to) for at, to in states]
    events += [event(at, "checkpoint-completed", job=job) for at in completed[kept]]
    counts = counted("checkpoint-completed", *completed, job=job) + counted("checkpoint-expired", *range(1, expired + 1))
    tables = derive({"log_events": events, "log_counts": counts})
    return [row["checkpoints_completed"] for row in tables["attempts"]], tables["jobs_seen"][0]


@pytest.mark.parametrize("job", [JOB, None])
def test_lines_that_were_given_up_count(job: str | None) -> None:
    """Else a job that gets on between its failures would fail on the same record each time."""
    each_ten = [float(at) for at in (*range(10, 600, 10), *range(640, 1200, 10), *range(1240, 1300, 10))]
    assert len(each_ten) == 59 + 56 + 6
    attempts, seen = derived(each_ten, slice(None, 5), job=job)
    assert attempts == [59, 56, 6]
    assert seen["checkpoints_completed"] == 121


def test_a_minute_through_which_a_restart_goes_is_shared() -> None:
    early, late = [float(at) for at in range(10, 600, 10)], [634.0]
    attempts, _ = derived([*early, 602.0, *late], slice(0, 0))  # 602: in the pause, so nobody knows whose it was
    assert sum(attempts) == 61
    assert attempts[1] == 1


def test_where_every_line_was_kept_they_are_what_counts() -> None:
    attempts, seen = derived([599.0, 601.0, 640.0], slice(None))
    assert attempts == [1, 1, 0]
    assert seen["checkpoints_completed"] == 3


def test_expired_ones_are_counted_too() -> None:
    assert derived([10.0], slice(None), expired=50)[1]["checkpoints_expired"] == 50
