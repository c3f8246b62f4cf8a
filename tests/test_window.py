"""What lies outside of --since and --until is not known to a report."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import pytest

from analyzers.diagnosis.diagnose import judge
from analyzers.logs.layouts.timestamps import to_datetime
from analyzers.report.report import Report
from analyzers.tables import LOG_COUNTS, LOG_EVENTS, LOG_FILES, TABLES, Row
from analyzers.tables.by_column import NO_NUMBER, ByColumn

BEGIN = datetime(2026, 11, 21, 9, 30, tzinfo=timezone.utc)


def minute(number: int) -> datetime:
    return BEGIN + timedelta(minutes=number)


READ = {"scope": "", "as_of": minute(20)}  # as a scan dates its rows: by the newest line


def judged(counts: Sequence[Row] | None = None, **window: datetime | timedelta) -> tuple[Report, dict[str, list[Row]]]:
    """A log of twenty minutes with one event in each, or so many as `counts` say, judged; and the tables that a rule gets to see."""
    seen: dict[str, list[Row]] = {}
    tables: dict[str, Sequence[Row]] = {
        "log_files": [LOG_FILES.row({**READ, "file": "a", "role": "jobmanager", "first_at": BEGIN, "last_at": minute(20), "lines": 9})],
        "log_events": [LOG_EVENTS.row({**READ, "at": minute(n), "file": "a", "line": n, "seq": n, "signature": "x"}) for n in range(21)],
        "log_counts": [
            LOG_COUNTS.row({**READ, "signature": "x", "minute": minute(n), "first_at": minute(n), "last_at": minute(n), "events": 1})
            for n in range(21)
        ],
    }
    if counts is not None:
        tables["log_counts"] = counts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analyzers.diagnosis.diagnose.run_rules", lambda rules, given, *_, **__: seen.update(given) or _nothing())
        report = judge(tables, lambda: pytest.fail("no session"), command="triage", version="0", rules=[], **window)  # type: ignore[arg-type]
    return report, seen


def _nothing() -> object:
    from analyzers.diagnosis.run_rules import Outcome

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
    tables: dict[str, Sequence[Row]] = {
        "jobs": [TABLES["jobs"].row({"scope": "", "job": "j", "as_of": BEGIN})],
        "log_files": [LOG_FILES.row({"scope": "", "file": "a", "role": "jobmanager", "first_at": BEGIN, "last_at": minute(later)})],
    }
    report = judge(tables, lambda: pytest.fail("no session"), command="triage", version="0", rules=[])
    assert report.as_of == minute(newest)


@pytest.mark.parametrize("window", [(None, None), (5, None), (None, 12), (5, 12), (19, 20), (30, None)])
def test_counts_by_column_are_those_of_rows(window: tuple[int | None, int | None]) -> None:
    """A minute that lies across the border of a window is a part of it."""
    by_column = ByColumn(LOG_COUNTS, READ, to_datetime)
    same = {"signature": "x", "file": "a", "job": None, "task": None, "host": None}
    first = [int(minute(n).timestamp() * 1000) for n in range(21)]
    times = {"minute": first, "first_at": [at - 30_000 for at in first], "last_at": [at + 30_000 for at in first]}
    by_column.extend(21, same, {"events": range(21), **times})
    by_column.extend(1, same, {"events": [99], **{key: [NO_NUMBER] for key in times}})
    bounds = {name: minute(at) for name, at in zip(("since", "until"), window, strict=True) if at is not None}
    _, held = judged(counts=by_column, **bounds)
    _, plain = judged(counts=list(by_column), **bounds)
    assert isinstance(held["log_counts"], ByColumn)
    assert list(held["log_counts"]) == plain["log_counts"]
    wanted = [n for n in range(21) if n >= (window[0] or 0) and n <= (20 if window[1] is None else window[1])]
    assert [row["events"] for row in plain["log_counts"]] == [*wanted, 99]
