"""A report on its way out: the exit code that it means, what goes to which stream and into which file, any locale."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analyzers.report.finding import Defect, Evidence, Finding, NotChecked, Severity
from analyzers.report.report import Report, Source
from analyzers.tables import TABLES
from cli.shell.environment import Environment
from cli.shell.exits import CannotLook, UsageError
from cli.shell.output import emit, exit_code, parse
from tests.command_line import environment

ROOT = Path(__file__).parent.parent
NOW = datetime(2026, 11, 21, 9, 35, 19, tzinfo=timezone.utc)


def finding(severity: Severity = Severity.CRITICAL, code: str = "BRK101", **values: object) -> Finding:
    fields = {
        "cause": None, "reason": None, "stage": "access", "confidence": 1.0, "job": "j", "subject": {"topic": "orders"},
        "since": NOW, "until": NOW, "says": "it is broken", "inferred": None, "fix": "mend it", "evidence": (), "page": f"{code}.md",
    }  # fmt: skip
    return Finding(code=code, severity=severity, **{**fields, **values})  # type: ignore[arg-type]  # a test's shorthand


def report(**values: object) -> Report:
    return Report("diag", "1", "triage", NOW, (None, NOW), **values)  # type: ignore[arg-type]  # a test's shorthand


DEFECT = [Defect("X", "ValueError: ours")]
GONE = [Source("/logs", "logs", "failed", "gone")]


@pytest.mark.parametrize(
    ("made", "fail_on", "code"),
    [
        (report(clean=["RST101"]), "critical", 0),
        (report(clean=["RST101"], findings=[finding()]), "critical", 1),
        (report(clean=["RST101"], findings=[finding(Severity.WARNING)]), "critical", 0),
        (report(clean=["RST101"], findings=[finding(Severity.WARNING)]), "warning", 1),
        (report(clean=["RST101"], findings=[finding(Severity.INFO)]), "info", 1),
        (report(clean=["RST101"], findings=[finding()]), "never", 0),
        (report(clean=["RST101"], defects=DEFECT), "critical", 4),
        (report(findings=[finding()], defects=DEFECT, sources=GONE), "critical", 1),
        (report(clean=["RST101"], defects=DEFECT, sources=GONE), "critical", 4),
        (report(clean=["RST101"], sources=GONE), "critical", 3),
        (report(clean=["RST101"], sources=[Source("x", "logs", "partial", "cut")]), "critical", 0),
        (report(not_checked=[NotChecked("RST101", "no logs")]), "critical", 3),
        (report(clean=["RST101"], not_checked=[NotChecked("RST102", "no logs")]), "critical", 0),
        (report(facts={"brokers": []}), "critical", 0),
        (report(clean=["RST101"], findings=[finding(Severity.WARNING)], sources=GONE), "critical", 3),
        # a dead broker is a finding, not a failure to look
        (
            report(
                clean=["RST101"],
                findings=[finding(Severity.WARNING, subject={"address": "k:9092"})],
                sources=[Source("k:9092", "kafka", "failed", "refused")],
            ),
            "critical",
            0,
        ),
        (
            report(
                findings=[finding(Severity.WARNING, evidence=(Evidence("log_events", "/logs/x", 1, NOW, "t"),))],
                clean=["RST101"],
                sources=GONE,
            ),
            "critical",
            0,
        ),
    ],
)
def test_exit_code_of_a_report(made: Report, fail_on: str, code: int) -> None:
    assert exit_code(made, fail_on) == code
    for form in ("terminal", "plain", "json"):
        assert emit(made, [form], fail_on, environment()) == code


def test_stdout_has_the_report_and_a_pipe_no_table() -> None:
    piped, shown = environment(), environment(stdout_is_tty=True)
    emit(report(clean=["RST101"], findings=[finding()]), (), "critical", piped)
    emit(report(clean=["RST101"], findings=[finding()]), (), "critical", shown)
    assert piped.stdout.getvalue().startswith("critical\tBRK101\t")  # type: ignore[attr-defined]  # StringIO
    assert shown.stdout.getvalue().startswith("! it is broken")  # type: ignore[attr-defined]  # StringIO
    assert piped.stderr.getvalue() == ""  # type: ignore[attr-defined]  # StringIO


def test_reports_go_into_files_whole_or_not_at_all(tmp_path: Path) -> None:
    emit(report(clean=["RST101"]), [f"json={tmp_path}/r.json", f"plain={tmp_path}/r.txt"], "critical", environment())
    assert json.loads((tmp_path / "r.json").read_text())["clean"] == ["RST101"]
    assert not stat.S_IMODE((tmp_path / "r.json").stat().st_mode) & stat.S_IXUSR
    with pytest.raises(CannotLook, match="cannot write the report"):
        emit(report(), [f"json={tmp_path}/none/r.json"], "critical", environment())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "r.txt"]


def test_what_no_file_takes_is_written_to_standard_output_and_findings_beat_the_failure(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    nowhere, there = f"json={tmp_path}/taken", f"plain={tmp_path}/r.txt"
    for outputs in ([nowhere], [nowhere, there], [nowhere, "plain"]):
        piped = environment()
        assert emit(report(clean=["RST101"], findings=[finding()]), outputs, "critical", piped) == 1
        assert piped.stdout.getvalue().startswith("critical\tBRK101\t")  # type: ignore[attr-defined]  # StringIO
        assert piped.stdout.getvalue().count("critical\tBRK101\t") == 1  # type: ignore[attr-defined]  # StringIO
        assert "cannot write the report" in piped.stderr.getvalue()  # type: ignore[attr-defined]  # StringIO
    assert (tmp_path / "r.txt").read_text().startswith("critical\tBRK101\t")


def test_a_device_is_written_into_and_never_replaced() -> None:
    before = os.stat("/dev/null")
    emit(report(), ["json=/dev/null"], "critical", environment())
    assert os.stat("/dev/null").st_ino == before.st_ino


@pytest.mark.parametrize("outputs", [["xml"], ["json="], ["json", "plain"], [""]])
def test_wrong_outputs(outputs: list[str]) -> None:
    with pytest.raises(UsageError):
        parse(outputs)


def test_a_minus_is_the_screen() -> None:
    assert parse(["json=-", "plain=x"]) == [("json", None), ("plain", Path("x"))]


def test_a_closed_pipe_does_not_change_what_a_report_means() -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    given = Environment(Closed(), io.StringIO())
    assert emit(report(findings=[finding()]), ["plain"], "critical", given) == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_locale_can_show_a_report(encoding: str) -> None:
    program = (
        "from cli.shell.output import emit; from cli.shell.environment import Environment;"
        "from analyzers.report.report import Report, Source;"
        "emit(Report('diag', '1', 'triage', None, (None, None),"
        "sources=[Source('gr\\u00f6\\u00dfe-\\u2028\\udcff', 'logs', 'failed', '\\u2013')]), ['FORM'])"
    )
    for form in ("terminal", "plain", "json"):
        environ = {**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C", "PYTHONUTF8": "0"}
        ended = subprocess.run(
            [sys.executable, "-c", program.replace("FORM", form)], cwd=ROOT, env=environ, capture_output=True, timeout=60, check=False
        )
        assert (ended.returncode, ended.stderr) == (0, b"")
        assert "größe" in ended.stdout.decode("utf-8")


def test_the_real_streams_know_whether_they_are_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Callable[..., Environment] = Environment.real
    monkeypatch.setattr(sys, "stdout", type("Tty", (io.StringIO,), {"isatty": lambda self: True})())
    assert made({}).colour
    assert not made({"NO_COLOR": "1"}).colour
    assert not made({"TERM": "dumb"}).colour
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert not made({}).colour


def test_a_table_for_spreadsheets_and_notebooks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"scope": "", "group": "=cmd()", "topic": "orders", "partition": 3, "as_of": NOW}]
    facts = {"lag_status": [TABLES["lag_status"].row(row) for row in rows]}
    made = report(facts=facts, findings=[finding(says='it fails, "always"')])
    emit(made, ["csv", f"parquet={tmp_path / 'f.parquet'}", f"parquet:lag_status={tmp_path / 'l.parquet'}"])
    (line,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert (line["code"], line["says"], line["since"]) == ("BRK101", 'it fails, "always"', "2026-11-21T09:35:19.000Z")
    assert json.loads(line["subject"]) == {"topic": "orders"}
    assert pq.read_table(tmp_path / "f.parquet").to_pylist()[0]["since"] == NOW
    (kept,) = pq.read_table(tmp_path / "l.parquet").to_pylist()
    assert (kept["group"], kept["partition"], kept["as_of"]) == ("=cmd()", 3, NOW)
    emit(made, ["csv:lag_status"])
    (line,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert (line["group"], line["partition"]) == ("'=cmd()", "3"), "a spreadsheet does not run it"
    emit(made, ["csv:brokers"])
    out, said = capsys.readouterr()
    assert (out.count("\n"), said) == (1, "diag: this report has no table brokers; it has lag_status\n")


@pytest.mark.parametrize(
    ("output", "says"), [("parquet", "no file is named"), ("csv:lag_statsu=x", "no table"), ("json:brokers", "no output format")]
)
def test_a_table_that_is_none_is_told_before_any_work(output: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse([output])
