"""Options that all commands share: times, and which rules and findings are left out."""

from __future__ import annotations

import runpy
import typing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import typer

from cli.commands.triage import triage
from cli.main import app
from cli.options.shared import CodeFilter, RunOptions, code_filters, moment, own_parameters, resolve
from cli.shell.exits import UsageError
from tests.report_samples import finding

ROOT = Path(__file__).parent.parent
NOW = datetime(2026, 11, 21, 9, 35, 19, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("30m", timedelta(minutes=30)),
        ("2h ago", timedelta(hours=2)),
        ("1.5d", timedelta(hours=36)),
        ("2026-11-21T09:30Z", datetime(2026, 11, 21, 9, 30, tzinfo=timezone.utc)),
        ("2026-11-21T10:30+01:00", datetime(2026, 11, 21, 9, 30, tzinfo=timezone.utc)),
        ("2026-11-21 09:30", datetime(2026, 11, 21, 9, 30, tzinfo=timezone.utc)),
        (None, None),
    ],
)
def test_moment(text: str | None, means: object) -> None:
    assert moment(text) == means


def test_a_time_of_day_is_the_last_one() -> None:
    now = datetime.now(timezone.utc)
    soon = moment(f"{(now + timedelta(minutes=2)):%H:%M}")
    assert isinstance(soon, datetime)
    assert timedelta(hours=23) < now - soon <= timedelta(days=1)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    assert moment("yesterday") in (midnight - timedelta(days=1), midnight)  # midnight may pass meanwhile
    assert moment("yesterday 22:15") == moment("yesterday") + timedelta(hours=22, minutes=15)


@pytest.mark.parametrize("text", ["25:00", "9:3", "tomorrow", "z", "", "yesterday noon"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="is no time"):
        moment(text)


def test_an_age_counts_from_the_newest_evidence() -> None:
    assert resolve(timedelta(hours=1), NOW) == NOW - timedelta(hours=1)
    assert resolve(timedelta(hours=1), None) is None
    assert resolve(NOW, None) == NOW


@pytest.mark.parametrize(
    ("only", "ignore", "kept"),
    [
        ([], [], True),
        (["BRK101"], [], True),
        (["CKP101"], [], False),
        (["BRK101=orders*"], [], True),
        (["BRK101=pay*"], [], False),
        ([], ["BRK101"], False),
        ([], ["BRK101=ord*"], False),
        ([], ["BRK101=pay*"], True),
        (["BRK101"], ["BRK101=orders"], False),
    ],
)
def test_only_and_ignore(only: list[str], ignore: list[str], kept: bool) -> None:
    known = ["BRK101", "CKP101"]
    options = RunOptions(only=code_filters(only, known), ignore=code_filters(ignore, known))
    assert options.keeps(finding("BRK101", subject={"topic": "orders"})) is kept


def test_a_rule_that_is_ignored_for_some_subjects_still_runs() -> None:
    assert RunOptions(ignore=(CodeFilter("BRK101", "ord*"),)).runs("BRK101")
    assert not RunOptions(ignore=(CodeFilter("BRK101"),)).runs("BRK101")
    assert not RunOptions(only=(CodeFilter("CKP101", "x"),)).runs("BRK101")


def test_what_defaults_to_none_stays_an_option_on_python_3_10(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 3.11 `typing.get_type_hints` wraps it in ``Optional``; ``.ci/smoke.py`` runs a real 3.10 where there is one."""
    real = typing.get_type_hints
    monkeypatch.setattr(typing, "get_type_hints", lambda *given, **named: {k: v | None for k, v in real(*given, **named).items()})
    unset = {name: annotation for name, annotation, default in own_parameters(triage) if default is None}
    assert set(unset) == {"paths", "since", "until", "log_timezone", "baseline"}
    assert {typing.get_origin(annotation) for annotation in unset.values()} == {typing.Annotated}


def test_the_smoke_test_types_an_argument_of_every_command() -> None:
    """CI runs it last, after half an hour."""
    typed = {str(command[0]) for command, _, _ in runpy.run_path(str(ROOT / ".ci" / "smoke.py"))["RUNS"]}
    assert set(typer.main.get_command(app).commands) <= typed  # type: ignore[attr-defined]
