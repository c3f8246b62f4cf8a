"""What must be true of the words of every report (all bundles and recordings are judged, each as an incident of its own)."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from analyzers.diagnosis.contradictions import settings, without_contradictions
from analyzers.diagnosis.history import each_once
from analyzers.diagnosis.window import ended_before, log_clocks
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.report.finding import Evidence, Finding, Severity
from analyzers.report.history import Mark
from analyzers.report.report import Report, Source, Verdict
from cli.renderers.card import cards


def finding(code: str, *steps: str, no_help: str | None = None) -> Finding:
    return Finding(
        code, None, None, "checkpoint", Severity.WARNING, 1.0, "job", {}, None, None, "", None, "", (), code, steps=steps, no_help=no_help
    )


def test_settings_are_no_file_names_hosts_or_prose() -> None:
    assert settings("Raise execution.checkpointing.timeout, then failOnDataLoss=false.") == {
        "execution.checkpointing.timeout",
        "failOnDataLoss",
    }
    assert settings("See jobmanager.log:12 on kafka-1:9092, plugins/s3-fs-hadoop/x.jar; restart the job. Then") <= {"jobmanager.log"}


def test_advice_that_an_earlier_finding_rules_out_is_left_out() -> None:
    first = finding("A", "Repair the call.", no_help="A longer execution.checkpointing.timeout: it waits for ever.")
    second = finding("B", "Find the subtask.", "Raise execution.checkpointing.timeout.")
    only = finding("C", "Raise execution.checkpointing.timeout.")
    elsewhere = replace(second, job="another")
    left = without_contradictions([first, second, only, elsewhere])
    assert [each.steps for each in left] == [first.steps, ("Find the subtask.",), only.steps, elsewhere.steps]


def test_no_two_fixes_on_one_screen_contradict(grid: Report) -> None:
    """The setting that one advises is none that another of the same job calls useless."""
    advised: list[Finding | Verdict] = [*grid.verdicts, *grid.findings]
    useless: dict[tuple[str, str | None], dict[str, str]] = defaultdict(dict)
    for each in advised:
        useless[each.scope, each.job] |= dict.fromkeys(settings(each.no_help or ""), each.code)
    for each in advised:
        for step in each.steps if len(each.steps) > 1 else ():
            clash = {name: by for name, by in useless[each.scope, each.job].items() if name in settings(step) and by != each.code}
            assert not clash, f"{each.scope}: {each.code} advises {step!r}, no help by {clash}"


def test_a_job_that_came_back_did_so_after_its_last_failure(grid: Report) -> None:
    states = {(row["scope"], row["job"]): row for row in grid.job_state}
    for each in grid.findings:
        state = states.get((each.scope, each.job or ""))
        if re.search(r"came back and completed [\d,]+", each.says) and state is not None and state["last_failure_at"]:
            assert state["state"] not in ("FAILED", "FAILING", "RESTARTING"), each
            assert (state["last_checkpoint_at"] or state["last_failure_at"]) > state["last_failure_at"], each


def at(minute: int) -> datetime:
    return datetime(2026, 3, 1, 9, minute, tzinfo=timezone.utc)


def test_what_ended_before_the_window_is_not_of_it() -> None:
    shown = Evidence("exceptions", None, None, at(5), "")
    over = replace(finding("A"), since=at(1), until=at(5), evidence=(shown,))
    assert ended_before(at(10), over)
    assert not ended_before(None, over)
    assert not ended_before(at(5), over)
    assert not ended_before(at(10), replace(over, until=at(11)))
    assert not ended_before(at(10), replace(over, evidence=(replace(shown, at=None),))), "nobody knows when that was"
    assert not ended_before(at(10), replace(over, evidence=(shown, replace(shown, at=at(12))))), "it goes on"


def test_clocks_of_logs_are_named_where_they_are_not_utc() -> None:
    assert log_clocks([{"utc_minutes": 480}, {"utc_minutes": 0}, {"utc_minutes": None}, {"utc_minutes": -210}]) == [
        "UTC-03:30",
        "UTC+08:00",
    ]


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "+08:00"])
def test_a_log_knows_its_clock(tmp_path: Path, zone: str) -> None:
    (tmp_path / "a.log").write_text("2026-03-01 17:00:00,000 INFO  org.apache.flink.runtime.jobmaster.JobMaster [] - hello\n" * 3)
    (row,) = scan(plan([str(tmp_path)], LogOptions(zone)), None)["log_files"]
    assert (row["utc_minutes"], row["first_at"]) == (480, datetime(2026, 3, 1, 9, tzinfo=timezone.utc))


@pytest.mark.parametrize(
    ("command", "steps", "kind", "shown"),
    [
        ("diag triage --flink-rest http://jm:8081", (), "", True),
        ("diag triage --flink-rest http://jm:8081   # who holds it", (), "flink-rest", False),
        ("diag triage --flink-rest http://jm:8081   # who holds it", ("Ask: `diag triage --flink-rest http://jm:8081`",), "", False),
        ("diag broker-health --bootstrap-server a:1", (), "kafka", False),
        ("diag lag-report --bootstrap-server a:1 --peek", (), "kafka", True),
    ],
)
def test_the_check_is_no_step_and_nothing_that_was_asked(command: str, steps: tuple[str, ...], kind: str, shown: bool) -> None:
    verdict = Verdict("other", None, "A", None, None, None, {}, "", "", 1.0, (), (), next_command=command, steps=steps)
    sources = [Source("there", kind, "ok")] if kind else []
    (card,) = cards(Report("diag", "0", "triage", None, (None, None), sources=sources, verdicts=[verdict]))
    assert (card.check is not None) is shown


def test_a_broker_that_several_logs_report_left_once() -> None:
    said = [(1, "left", 5), (2, "left", 6), (3, "left", 5), (4, "back", 5), (5, "back", 5), (6, "left", 5)]
    marks = each_once([Mark(at(minute), kind, f"broker {broker} {kind}") for minute, kind, broker in said])
    assert [(mark.at.minute, mark.kind) for mark in marks] == [(1, "left"), (2, "left"), (4, "back"), (6, "left")]
