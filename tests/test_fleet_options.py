"""A fleet takes the options that triage takes: a window, a zone, and findings that are left out, for each of its jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analyzers.report.fleet import FleetReport
from cli.options.shared import CodeFilter, RunOptions, moment
from cli.runs import fleet as fleets
from cli.runs.fleet_evidence import Gathering
from tests.bundles import FIXTURES, Case
from tests.hostile.crowd import copied

if TYPE_CHECKING:
    from cli.engine.spark import Engine

ILL, POISONED = "incidents-ill-lab-broker-shrink-hung", "incidents-ill-spark-poison-batch"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("fleet")
    for name in ("lab-broker-shrink-hung", "spark-poison-batch"):
        copied(Case(FIXTURES / "incidents/ill" / name), home)
    return home


def judged(folder: Path, engine: Engine, options: RunOptions) -> FleetReport:
    engine.allow_pandas()
    return fleets.run([str(folder)], options, gather=Gathering(options=options), version="1", engine=engine).report


def codes(report: FleetReport) -> dict[str, list[str]]:
    return {row.scope: [verdict.code for verdict in row.verdicts] for row in report.jobs}


def test_subjects_are_left_out_and_that_is_said(folder: Path, engine: Engine) -> None:
    whole = codes(judged(folder, engine, RunOptions()))
    assert whole[ILL] == ["BRK101"]
    without = judged(folder, engine, RunOptions(ignore=(CodeFilter("BRK101", "*"),)))
    assert "BRK101" not in codes(without)[ILL]
    assert codes(without)[POISONED] == whole[POISONED] != []
    assert without.notes == ["1 finding left out by --ignore (BRK101)"]
    other = judged(folder, engine, RunOptions(ignore=(CodeFilter("BRK101", "nobody*"),)))
    assert (codes(other), other.notes) == (whole, [])
    only = judged(folder, engine, RunOptions(only=(CodeFilter("BRK101", "nobody*"),)))
    assert codes(only) == {ILL: [], POISONED: []}


@pytest.mark.parametrize("large", [False, True], ids=["whole", "split"])
def test_each_job_is_seen_through_the_window(large: bool, folder: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzers.fleet.judging.judge_fleet.__kwdefaults__", {**_defaults(), "large": 1 if large else 1 << 30})
    before = RunOptions(until=moment("2020-01-01"))
    report = judged(folder, engine, before)
    assert {row.outcome for row in report.jobs} == {"unread"}
    assert all(row.says.startswith("no line of these logs is in the window; they reach from 20") for row in report.jobs)
    assert fleets.exit_code(report, "critical") == 3
    last = judged(folder, engine, replace(before, until=None, since=timedelta(seconds=1)))
    assert {row.outcome for row in last.jobs} != {"unread"}
    assert last.jobs != judged(folder, engine, RunOptions()).jobs


def _defaults() -> dict[str, object]:
    from analyzers.fleet.judging import judge_fleet

    return dict(judge_fleet.__kwdefaults__ or {})
