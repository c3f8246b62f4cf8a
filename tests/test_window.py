"""What lies outside of --since and --until is not known to a report."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from analyzers.judge import judge
from analyzers.report import Report
from analyzers.tables import LOG_COUNTS, LOG_EVENTS, LOG_FILES, TABLES, Row

BEGIN = datetime(2026, 11, 21, 9, 30, tzinfo=timezone.utc)


def minute(number: int) -> datetime:
    return BEGIN + timedelta(minutes=number)


READ = {"scope": "", "as_of": minute(20)}  # as a scan dates its rows: by the newest line


def judged(**window: datetime | timedelta) -> tuple[Report, dict[str, list[Row]]]:
    """A log of twenty minutes with one event in each, judged; and the tables that a rule gets to see."""
    seen: dict[str, list[Row]] = {}
    tables: dict[str, list[Row]] = {
        "log_files": [LOG_FILES.row({**READ, "file": "a", "role": "jobmanager", "first_at": BEGIN, "last_at": minute(20), "lines": 9})],
        "log_events": [LOG_EVENTS.row({**READ, "at": minute(n), "file": "a", "line": n, "seq": n, "signature": "x"}) for n in range(21)],
        "log_counts": [
            LOG_COUNTS.row({**READ, "signature": "x", "minute": minute(n), "first_at": minute(n), "last_at": minute(n), "events": 1})
            for n in range(21)
        ],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analyzers.judge.run_rules", lambda rules, given, *_, **__: seen.update(given) or _nothing())
        report = judge(tables, lambda: pytest.fail("no session"), command="triage", version="0", rules=[], **window)  # type: ignore[arg-type]
    return report, seen


def _nothing() -> object:
    from analyzers.run import Outcome

    return Outcome()


def test_nothing_later_than_until_is_told_to_a_rule() -> None:
    report, seen = judged(until=minute(5))
    assert (report.window, report.as_of) == ((BEGIN, minute(5)), minute(5))
    assert {row["as_of"] for rows in seen.values() for row in rows if row.get("as_of")} == {minute(5)}
    assert max(row["at"] for row in seen["log_events"]) == max(row["last_at"] for row in seen["log_counts"]) == minute(5)
    assert [row["last_at"] for row in seen["log_files"]] == [minute(5)]


def test_nothing_earlier_than_since_is_told_to_a_rule() -> None:
    report, seen = judged(since=timedelta(minutes=5))
    assert (report.window, report.as_of) == ((minute(15), minute(20)), minute(20))
    assert min(row["at"] for row in seen["log_events"]) == min(row["first_at"] for row in seen["log_counts"]) == minute(15)


def test_an_age_counts_from_the_newest_line_whatever_until_is() -> None:
    assert judged(since=timedelta(minutes=18), until=minute(5))[0].window == (minute(2), minute(5))


@pytest.mark.parametrize(("later", "newest"), [(5, 5), (14, 14), (60, 0)])
def test_logs_that_go_on_a_little_after_saved_answers_are_the_newest_evidence(later: int, newest: int) -> None:
    tables: dict[str, list[Row]] = {
        "jobs": [TABLES["jobs"].row({"scope": "", "job": "j", "as_of": BEGIN})],
        "log_files": [LOG_FILES.row({"scope": "", "file": "a", "role": "jobmanager", "first_at": BEGIN, "last_at": minute(later)})],
    }
    report = judge(tables, lambda: pytest.fail("no session"), command="triage", version="0", rules=[])
    assert report.as_of == minute(newest)
