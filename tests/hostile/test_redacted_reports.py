"""``--redact``: a report whose names are tokens is the report of the redacted bundle, in each format, of a run and of a fleet."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from analyzers.bundle.hiding import Hiding
from analyzers.report.report import Report
from cli.options.shared import CodeFilter, RunOptions, hidden_subjects
from cli.renderers import json as as_json
from cli.runs import fleet as fleets
from cli.runs.collect import write_evidence
from cli.runs.fleet_output import emit as emit_fleet
from cli.runs.fleet_output import parsed
from cli.runs.triage import run, unread
from cli.shell.environment import Environment
from cli.shell.exits import CannotLook, ExitCode, UsageError
from cli.shell.output import FORMATS, emit
from tests.command_line import diag

if TYPE_CHECKING:
    from cli.engine.spark import Engine

ILL = Path(__file__).parents[2] / "fixtures" / "incidents" / "ill"
NAMES = ("acmecorp", "orders", "profile_id", "totals")
"""Of the directory, the job, its topics and its columns; in no word of diag's own."""
TEXTS = ("terminal", "plain", "json", "markdown", "html", "csv")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs in a directory with a name of its owner's, and the key of the tokens."""
    home = tmp_path_factory.mktemp("hidden") / "acmecorp-pay"
    shutil.copytree(ILL / "lab-poison-sink" / "raw", home)
    home.with_name("key").write_text("0123456789abcdef")
    return home


@pytest.fixture(scope="module")
def options(home: Path) -> RunOptions:
    return RunOptions(hide=True, redaction_key=home.with_name("key"))


@pytest.fixture(scope="module")
def report(home: Path, options: RunOptions, engine: Engine) -> Report:
    return run([str(home)], options, version="1", engine=engine)


def quiet() -> Environment:
    return Environment(io.StringIO(), io.StringIO(), verbosity=-1)


def named(text: str) -> Iterator[str]:
    """The names that `text` has, as it is and in camel case."""
    yield from (name for name in NAMES if re.search(rf"(?<![a-z]){name}(?![a-z])", text, re.IGNORECASE))


def test_it_is_the_report_of_the_redacted_bundle(report: Report, home: Path, options: RunOptions, engine: Engine, tmp_path: Path) -> None:
    write_evidence([str(home)], RunOptions(save=tmp_path / "b", redaction_key=options.redaction_key), version="1")
    of_bundle = run([], RunOptions(bundle=tmp_path / "b"), version="1", engine=engine)
    report.notes, of_bundle.notes = [], []  # a bundle keeps none
    assert as_json.render(report) == as_json.render(of_bundle)


@pytest.mark.parametrize("form", TEXTS)
def test_no_name_stands_in_any_format(form: str, report: Report, home: Path, engine: Engine, tmp_path: Path) -> None:
    assert set(TEXTS) <= set(FORMATS)
    whole = run([str(home)], RunOptions(), version="1", engine=engine)
    for each, name in ((whole, "whole"), (report, "hidden")):
        emit(each, [f"{form}={tmp_path / name}"], "never", quiet())
    assert list(named((tmp_path / "whole").read_text(encoding="utf-8"))), "what is not redacted names them"
    assert list(named((tmp_path / "hidden").read_text(encoding="utf-8"))) == []


def test_the_verdicts_are_the_same(report: Report, home: Path, engine: Engine) -> None:
    whole = run([str(home)], RunOptions(), version="1", engine=engine)
    assert report.verdicts
    for one, other in zip(report.verdicts, whole.verdicts, strict=True):
        assert (one.code, one.reason, one.cause, one.since, one.job) == (other.code, other.reason, other.cause, other.since, other.job)


def test_words_of_a_file_stay_and_no_other(home: Path, options: RunOptions, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("profile_id")
    kept = run([str(home)], RunOptions(hide=True, redaction_key=options.redaction_key, keep=tmp_path / "words"), version="1", engine=engine)
    assert set(named(as_json.render(kept))) == {"profile_id"}


def test_without_a_key_the_tokens_are_those_of_the_bundle_that_is_saved_beside(
    home: Path, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    beside = run([str(home)], RunOptions(hide=True, save=tmp_path / "b"), version="1", engine=engine)
    of_bundle = run([], RunOptions(bundle=tmp_path / "b"), version="1", engine=engine)
    assert [verdict.says for verdict in beside.verdicts] == [verdict.says for verdict in of_bundle.verdicts]
    assert list(named(as_json.render(beside))) == []


def test_two_runs_without_a_key_have_other_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    one, two = (Hiding.of({}, None, None) for _ in "12")
    assert one.texts(["heron"]) != two.texts(["heron"])
    assert list(tmp_path.iterdir()) == []  # no file that would say what was meant


def test_a_report_that_nothing_could_be_read_for_names_nothing(options: RunOptions) -> None:
    error = CannotLook("nothing could be read of /data/acmecorp/a.log: it holds no log.", "Check the path.")
    said = as_json.render(unread(error, ["/data/acmecorp/a.log"], options, "1"))
    assert list(named(said)) == []
    assert "could be read of" in said


def test_notes_of_diags_own_stay(options: RunOptions) -> None:
    said = "2 log files name no time zone; taken as UTC (--log-timezone overrides)"
    assert Hiding(b"0123456789abcdef").texts([said, "--log-timezone heron"])[0] == said
    assert "heron" not in Hiding(b"0123456789abcdef").texts(["--log-timezone heron"])[0]


def test_a_subject_is_refused_that_would_be_looked_for_among_tokens() -> None:
    hidden_subjects((CodeFilter("LAG101"),), hide=True)
    hidden_subjects((CodeFilter("LAG101", "orders*"),), hide=False)
    with pytest.raises(UsageError, match="tokens"):
        hidden_subjects((), (CodeFilter("LAG101", "orders*"),), hide=True)


def test_a_dump_is_refused(tmp_path: Path) -> None:
    code, _, said = diag("checkpoint-inspect", "--dump", "--redact", str(tmp_path))
    assert code == ExitCode.USAGE
    assert "--facts-only --redact" in said


@pytest.mark.parametrize("form", ["terminal", "plain", "json", "html", "csv"])
def test_no_name_stands_in_a_fleet(form: str, home: Path, options: RunOptions, engine: Engine, tmp_path: Path) -> None:
    engine.allow_pandas()
    found = fleets.run([str(home.parent / "*pay")], options, by="glob", version="1", pages=True, engine=engine)
    emit_fleet(found, parsed([f"{form}={tmp_path / 'fleet'}"]), quiet())
    text = (tmp_path / "fleet").read_text(encoding="utf-8")
    (job,) = found.report.jobs
    assert (job.scope, [each.code for each in job.verdicts]) == (Hiding(b"0123456789abcdef").scope("acmecorp-pay"), ["RST204"])
    assert list(named(text)) == []
    assert [name for page in found.pages.values() for name in named(repr(page))] == []


@pytest.mark.parametrize("called", ["acmecorp-pay", "20cd864e61dc2387eeb209f47fdf1f93", "orders-enrichment"])
def test_one_job_of_a_fleet_is_opened_by_the_name_that_its_owner_knows(
    called: str, home: Path, options: RunOptions, engine: Engine
) -> None:
    engine.allow_pandas()
    found = fleets.run([str(home.parent / "*pay")], options, by="glob", version="1", job=called, engine=engine)
    (whole,) = found.whole
    assert [verdict.code for verdict in whole.verdicts] == ["RST204"]
    assert list(named(as_json.render(whole))) == []
