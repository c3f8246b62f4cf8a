"""The line that a log prints before each of several equal failures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analyzers.bundle.redact import Redactor
from analyzers.readers.before_failures import Before, before
from analyzers.readers.log_scan import LogOptions, plan, scan

_FAILURE = (
    "2026-03-01 10:{minute:02d}:30 ERROR billing.Worker - cannot book\n"
    "java.lang.IllegalStateException: no such account\n\tat billing.Book.run(Book.java:9)"
)


def log(record: str = "order 48213 of invoices-2@771", *, lives: int = 4, once: str = "") -> list[str]:
    rows = []
    for minute in range(lives):
        rows += [f"2026-03-01 10:{minute:02d}:0{n} INFO billing.Worker - tick {minute}{n}" for n in range(5)]
        rows += [f"2026-03-01 10:{minute:02d}:20 INFO billing.Worker - taking {record.format(minute=minute)}", *([once] if once else [])]
        rows += _FAILURE.format(minute=minute).split("\n")
    return rows


def places(lines: list[str]) -> list[int]:
    return [number for number, line in enumerate(lines) if "ERROR" in line]


def test_the_record_before_each_failure_is_found() -> None:
    lines = log()
    assert before(places(lines), lines) == Before("taking order 48213 of invoices-2@771", lines.index(_last(lines)) + 1, 4)


def _last(lines: list[str]) -> str:
    return [line for line in lines if "taking" in line][-1]


@pytest.mark.parametrize(
    "lines",
    [
        log("order 482{minute} of invoices-2"),  # another record each time
        log(lives=2),  # too few failures
        log("the next one"),  # names nothing
        [*log(), *["2026-03-01 11:00:00 INFO billing.Worker - taking order 48213 of invoices-2@771"] * 9],  # often without a failure, too
    ],
)
def test_what_changes_or_is_said_elsewhere_is_not(lines: list[str]) -> None:
    assert before(places(lines), lines) is None


def test_settings_and_frames_are_no_record() -> None:
    lines = log("nothing", once="max.poll.records = 500")
    assert before(places(lines), lines) is None


def test_a_scan_keeps_it_with_the_failures(tmp_path: Path) -> None:
    (tmp_path / "worker.log").write_text("\n".join(log()) + "\n", encoding="utf-8")
    events = scan(plan([str(tmp_path)], LogOptions()))["log_events"]
    found = [event["detail"] for event in events if event["detail"] and "before" in event["detail"]]
    assert [(one["before"], one["before_times"]) for one in found] == [("taking order 48213 of invoices-2@771", "4")] * 2


def test_a_place_beyond_the_end_gives_none() -> None:
    assert before([5, 50, 500], ["a"] * 10) is None


def test_a_redacted_bundle_has_no_word_of_it_that_is_not_harmless(tmp_path: Path) -> None:
    (tmp_path / "worker.log").write_text("\n".join(log("order of frau-schmidt 4821377, zip 80331")) + "\n", encoding="utf-8")
    tables = scan(plan([str(tmp_path)], LogOptions()))
    redactor = Redactor(b"k" * 32)
    redactor.learn(tables)
    found = [row["detail"]["before"] for row in redactor.tables(tables)["log_events"] if row["detail"] and "before" in row["detail"]]
    assert len(set(found)) == 1
    assert not re.search("schmidt|4821377|80331", found[0])
