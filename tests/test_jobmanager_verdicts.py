"""Recorded incidents judged by what the JobManager told, alone and beside the logs: one trouble, one verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analyzers.diagnosis.diagnose import judge
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.report.report import Report
from analyzers.rules.catalogue import load_rules
from analyzers.tables import Row
from cli.collectors.flink_rest import collect_recorded
from cli.options.shared import RunOptions
from cli.runs.checkpoint_inspect import CHECKPOINT_INSPECT
from cli.runs.run import Run
from tests.rest_replay import OLD, POISON, RECORDINGS, STUCK

if TYPE_CHECKING:
    from cli.engine.spark import Engine

INCIDENTS = Path(__file__).parent.parent / "fixtures" / "incidents" / "ill"
# those that have a say in these incidents; the grid of the fixtures runs them all
CODES = {"BRK101", "CKP101", "CKP102", "CKP103", "CKP104", "CKP105", "CKP202", "RST001", "RST101", "RST202", "RST203"}
ALONE = (OLD, POISON)


@pytest.fixture(scope="module")
def judged(engine: Engine) -> Report:
    """The stuck barrier from REST and logs together, the others from REST alone: a scope each, judged in one go."""
    tables: dict[str, list[Row]] = {}
    parts = {name: collect_recorded(RECORDINGS / name).tables for name in (STUCK, *ALONE)}
    logs = scan(plan([str(INCIDENTS / STUCK / "raw")], LogOptions(scope=STUCK)), None)
    for scope, found in (*parts.items(), (STUCK, logs)):
        for name, rows in found.items():
            tables.setdefault(name, []).extend(row | {"scope": scope} for row in rows)
    rules = [rule for rule in load_rules() if rule.code in CODES]
    return judge(tables, engine.session, command="triage", version="test", rules=rules)


def test_logs_and_jobmanager_tell_one_verdict_which_names_the_subtask(judged: Report) -> None:
    (verdict,) = [v for v in judged.verdicts if v.scope == STUCK]
    assert (verdict.cause, verdict.reason, verdict.code) == ("barrier-unacknowledged", "stuck-call", "CKP105")
    assert (verdict.subject["task"], verdict.subject["subtask"]) == ("validate -> enrich-profile", 1)
    assert {"CKP101", "CKP105"} <= set(verdict.chain)


@pytest.mark.parametrize(("scope", "cause"), [(ALONE[0], "broker-unreachable"), (ALONE[1], "poison-record")])
def test_the_cause_of_restarts_is_told_by_the_exception_history_alone(judged: Report, scope: str, cause: str) -> None:
    assert [v.cause for v in judged.verdicts if v.scope == scope] == [cause]


def test_no_rule_crashes(judged: Report) -> None:
    assert judged.defects == []


def test_checkpoint_inspect_judges_the_failures_that_a_jobmanager_tells(engine: Engine) -> None:
    run = Run(CHECKPOINT_INSPECT, lambda: collect_recorded(RECORDINGS / POISON), RunOptions(), "test")
    report = run.report(engine)
    assert [v.cause for v in report.verdicts] == ["poison-record"]
    assert "BRK201" not in {each.code for each in report.not_checked}  # rules about logs are not even named
