"""The command line as a shell sees it: exit codes, what goes to which stream, help, closed pipes."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import typer

from analyzers.finding import Defect, Evidence, Finding, NotChecked, Severity
from analyzers.report import Report, Source
from analyzers.rule import load_rules, rule_codes
from cli.exits import CannotLook, ExitCode, UsageError
from cli.main import app, run
from cli.options import CodeFilter, RunOptions, code_filters, moment, resolve
from cli.output import emit, exit_code, parse
from cli.terminal import Environment

ROOT = Path(__file__).parent.parent
NOW = datetime(2026, 11, 21, 9, 35, 19, tzinfo=timezone.utc)
COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]  # a group, as it has subcommands


def environment(**values: object) -> Environment:
    return Environment(io.StringIO(), io.StringIO(), **values)  # type: ignore[arg-type]  # a test's shorthand


def diag(*arguments: str, **options: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command, in this process."""
    given = environment(**options)
    code = run(arguments, given)
    return code, given.stdout.getvalue(), given.stderr.getvalue()  # type: ignore[attr-defined]  # StringIO


def shell(command: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """`command` in bash, with ``diag`` as ``python -m cli``; in its own process, as users run it."""
    whole = f'set -o pipefail; diag() {{ "{sys.executable}" -m cli "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", whole], cwd=ROOT, env={**os.environ, **environ}, capture_output=True, text=True, timeout=60, check=False
    )


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
        (report(clean=["A"]), "critical", 0),
        (report(clean=["A"], findings=[finding()]), "critical", 1),
        (report(clean=["A"], findings=[finding(Severity.WARNING)]), "critical", 0),
        (report(clean=["A"], findings=[finding(Severity.WARNING)]), "warning", 1),
        (report(clean=["A"], findings=[finding(Severity.INFO)]), "info", 1),
        (report(clean=["A"], findings=[finding()]), "never", 0),
        (report(clean=["A"], defects=DEFECT), "critical", 4),
        (report(findings=[finding()], defects=DEFECT, sources=GONE), "critical", 1),
        (report(clean=["A"], defects=DEFECT, sources=GONE), "critical", 4),
        (report(clean=["A"], sources=GONE), "critical", 3),
        (report(clean=["A"], sources=[Source("x", "logs", "partial", "cut")]), "critical", 0),
        (report(not_checked=[NotChecked("A", "no logs")]), "critical", 3),
        (report(clean=["A"], not_checked=[NotChecked("B", "no logs")]), "critical", 0),
        (report(facts={"brokers": []}), "critical", 0),
        (report(clean=["A"], findings=[finding(Severity.WARNING)], sources=GONE), "critical", 3),
        # a dead broker is a finding, not a failure to look
        (
            report(
                clean=["A"],
                findings=[finding(Severity.WARNING, subject={"address": "k:9092"})],
                sources=[Source("k:9092", "kafka", "failed", "refused")],
            ),
            "critical",
            0,
        ),
        (
            report(
                findings=[finding(Severity.WARNING, evidence=(Evidence("log_events", "/logs/x", 1, NOW, "t"),))], clean=["A"], sources=GONE
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
    emit(report(clean=["A"], findings=[finding()]), (), "critical", piped)
    emit(report(clean=["A"], findings=[finding()]), (), "critical", shown)
    assert piped.stdout.getvalue().startswith("critical\tBRK101\t")  # type: ignore[attr-defined]  # StringIO
    assert shown.stdout.getvalue().startswith("Looked at")  # type: ignore[attr-defined]  # StringIO
    assert piped.stderr.getvalue() == ""  # type: ignore[attr-defined]  # StringIO


def test_reports_go_into_files_whole_or_not_at_all(tmp_path: Path) -> None:
    emit(report(clean=["A"]), [f"json={tmp_path}/r.json", f"plain={tmp_path}/r.txt"], "critical", environment())
    assert json.loads((tmp_path / "r.json").read_text())["clean"] == ["A"]
    assert not stat.S_IMODE((tmp_path / "r.json").stat().st_mode) & stat.S_IXUSR
    with pytest.raises(CannotLook, match="cannot write the report"):
        emit(report(), [f"json={tmp_path}/none/r.json"], "critical", environment())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "r.txt"]


def test_what_no_file_takes_is_written_to_standard_output_and_findings_beat_the_failure(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    nowhere, there = f"json={tmp_path}/taken", f"plain={tmp_path}/r.txt"
    for outputs in ([nowhere], [nowhere, there], [nowhere, "plain"]):
        piped = environment()
        assert emit(report(clean=["A"], findings=[finding()]), outputs, "critical", piped) == 1
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


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_says_what_it_reads_and_has_two_examples(command: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert diag(command, flag)[0] == 0
    said = capsys.readouterr().out
    examples = re.findall(rf"^ +(?:.*\| )?diag {command}\b.*", said, re.M)
    assert len(examples) >= 2, "two examples, each on a line of its own"
    assert re.search(r"\b[Rr]eads\b|\b[Ll]ooks at\b|\b[Aa]sks\b|\bprobed\b", said)
    assert re.search(r"[Pp]ermission|[Nn]eeds", said)
    assert [line for line in said.splitlines() if len(line) > 80 and line not in examples] == []


def test_the_help_made_without_parameters_is_that_of_the_whole_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    short = capsys.readouterr().out
    assert run(["--help", "--help"]) == 0
    assert capsys.readouterr().out == short
    assert run(["triage", "--help"]) == 0
    assert "--since" in capsys.readouterr().out


def test_help_of_diag_has_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert diag("-h")[0] == 0
    said = capsys.readouterr().out
    assert all(re.search(rf"^  {command} ", said, re.M) for command in COMMANDS)
    assert "130, 143" in said
    diag("--help")
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    "arguments",
    [
        ["nope"],
        ["rules", "--nope"],
        ["rules", "-o", "xml"],
        ["explain"],
        ["explain", "NOPE999"],
        ["triage"],
        ["triage", "no-such-file.log"],
        ["triage", ".", "-o", "xml"],
        ["triage", ".", "--only", "NOPE999"],
        ["triage", ".", "--ignore", "NOPE999=orders*"],
        ["triage", ".", "--since", "yesterday"],
        ["triage", ".", "--fail-on", "sometimes"],
    ],
)
def test_wrong_usage_is_2_with_a_hint_and_an_empty_stdout(arguments: list[str]) -> None:
    code, out, err = diag(*arguments)
    assert (code, out) == (2, "")
    assert "diag: " in err
    assert "Traceback" not in err


def test_triage_of_nothing_says_what_to_give_it_and_reads_a_pipe() -> None:
    code, out, err = diag("triage")
    assert (code, out) == (2, "")
    assert "reading nothing" not in err
    assert "diag: nothing was named to look at" in err
    assert "diag triage /var/log/flink" in err
    piped = shell("printf '%s' '' | diag triage --facts-only")
    assert piped.returncode == 3
    assert "reading standard input" in piped.stderr
    assert shell("diag triage --facts-only </dev/null").returncode == 2


def test_who_asked_for_json_is_told_in_json_that_nothing_could_be_read(tmp_path: Path) -> None:
    code, out, err = diag("triage", str(tmp_path), "--facts-only", "-o", "json")
    told = json.loads(out)
    assert code == 3
    assert [(s["name"], s["state"]) for s in told["sources"]] == [(str(tmp_path), "failed")]
    assert "there is no log in" in told["sources"][0]["why"]
    assert [n["code"] for n in told["not_checked"]] == rule_codes()
    assert (told["verdict"], told["clean"]) == (None, [])
    assert "there is no log in" in err
    code, out, _ = diag("triage", str(tmp_path), "--facts-only", "-o", f"json={tmp_path / 'report.json'}", "-o", "plain")
    assert (code, out) == (3, "")
    assert json.loads((tmp_path / "report.json").read_text()) == told


def test_a_code_nearly_right_is_named() -> None:
    rules = diag("rules", "-o", "plain")[1]
    known = rules.split("\t")[0]
    _, _, said = diag("triage", ".", "--only", known[:-1] + "Z")
    assert f"Did you mean {known[:3]}" in said


def test_rules() -> None:
    code, said, _ = diag("rules")
    assert code == 0
    codes = [line.split("\t")[0] for line in said.splitlines()]
    assert codes == sorted(codes)
    assert [r["code"] for r in json.loads(diag("rules", "-o", "json")[1])] == codes
    assert codes[0] in diag("rules", "-o", "terminal")[1]


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One page; those of the rules are tested with the rules."""
    (tmp_path / "ABC101.md").write_text("# ABC101: things fall apart\n\n## What you see\n\nThe centre – `cannot` hold.\n", encoding="utf-8")
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)


@pytest.mark.usefixtures("pages")
def test_a_page_is_raw_in_a_pipe_and_set_on_a_terminal() -> None:
    assert diag("explain", "abc101")[:2] == (0, "# ABC101: things fall apart\n\n## What you see\n\nThe centre – `cannot` hold.\n")
    code, said, _ = diag("explain", "ABC101", stdout_is_tty=True)
    assert code == 0
    assert "The centre – cannot hold." in said
    assert "## " not in said
    assert "Did you mean ABC101" in diag("explain", "ABC110")[2]


def test_schema_is_json() -> None:
    code, said, _ = diag("schema")
    assert code == 0
    assert json.loads(said)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("command", ["diag schema | head -1", "diag rules -o json | head -1", "diag triage -h | head -1"])
def test_a_reader_that_leaves_early_is_no_failure(command: str) -> None:
    ended = shell(command)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(ended.stdout.splitlines()) == 1


def test_a_pipe_that_nobody_reads_is_no_failure() -> None:
    """``head`` may read all before it leaves; here the reader is gone before the first byte."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [sys.executable, "-m", "cli", "schema"], cwd=ROOT, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("diag triage -q - < /dev/null", "standard input: it is empty.\n      Does the command before the | write anything?"),
        ("diag triage -q /dev/null", "/dev/null: it is neither a file nor a directory.\n      Check the path"),
    ],
)
def test_what_could_not_be_read_is_named_once(command: str, says: str) -> None:
    ended = shell(command)
    assert (ended.returncode, ended.stdout) == (ExitCode.CANNOT_LOOK, "")
    assert ended.stderr.startswith(f"diag: nothing could be read of {says}")


def test_a_bundle_that_cannot_be_written_costs_nobody_the_diagnosis(tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    ended = shell(f"diag triage -q fixtures/incidents/lab-poison-sink/raw --save '{tmp_path}/a file/b.tar.gz'")
    assert ended.returncode == ExitCode.FINDINGS
    assert "verdict\tpoison-record" in ended.stdout
    assert "cannot write the bundle" in ended.stderr


def test_a_report_that_has_no_place_is_told_before_any_work(tmp_path: Path) -> None:
    ended = shell(f"diag triage {tmp_path} -o terminal -o html={tmp_path}/gone/x.html")
    assert (ended.returncode, ended.stdout) == (ExitCode.CANNOT_LOOK, "")
    assert f"there is no directory {tmp_path}/gone" in ended.stderr
    assert "reading" not in ended.stderr


def test_several_rules_are_explained_at_once() -> None:
    code, said, _ = diag("explain", "CKP101", "rst201")
    assert code == 0
    assert re.findall(r"^# (\w+):", said, re.M) == ["CKP101", "RST201"]


@pytest.mark.parametrize(
    ("word", "named"), [("ckp10", "CKP105  A subtask does not acknowledge"), ("poison", "RST204  "), ("rst", "more: see")]
)
def test_what_is_nearly_a_code_names_the_rules_that_it_may_mean(word: str, named: str) -> None:
    code, said, told = diag("explain", word)
    assert (code, said) == (2, "")
    assert named in told


def test_a_cause_that_is_to_be_explained_names_its_rules() -> None:
    code, said, told = diag("explain", "jobmanager-lost")
    assert (code, said) == (ExitCode.USAGE, "")
    assert "jobmanager-lost is a cause" in told
    assert "RST301, RST302" in told


@pytest.mark.parametrize("width", [40, 80])
def test_the_list_of_rules_is_whole_on_any_terminal(width: int) -> None:
    said = diag("rules", stdout_is_tty=True, width=width)[1]
    assert "…" not in said
    assert all(code in said for code in rule_codes())
    assert "A Kafka address cannot be connected" in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= width


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_the_report_is_no_defect() -> None:
    ended = shell("diag rules -o plain > /dev/full")
    assert ended.returncode == ExitCode.CANNOT_LOOK
    assert ended.stderr.startswith("diag: cannot write the report to standard output: No space left on device")


def test_a_closed_pipe_does_not_change_what_a_report_means() -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    given = Environment(Closed(), io.StringIO())
    assert emit(report(findings=[finding()]), ["plain"], "critical", given) == 1


@pytest.mark.parametrize(
    "arguments", ["-h", "--version", "triage -h", "lag-report -h", "schema", "explain -h", "broker-health -h", "checkpoint-inspect -h"]
)
def test_what_needs_no_spark_loads_none(arguments: str) -> None:
    heavy = ("pyspark", "pandas", "pyarrow", "numpy", "confluent_kafka", "py4j")
    program = (
        "import sys, io; from cli.main import run; from cli.terminal import Environment;"
        f"run({arguments.split()!r}, Environment(io.StringIO(), io.StringIO()));"
        f"print(sorted({{m.split('.')[0] for m in sys.modules}} & set({heavy!r})))"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


def test_the_first_line_is_there_before_anything_heavy() -> None:
    code, _, said = diag("triage", "tests", "--since", "whenever")
    assert code == 2
    assert re.match(r"diag \S+: reading tests\n", said)
    assert not re.match(r"diag \S+: reading", diag("triage", "tests", "--since", "whenever", "-q")[2])


def test_the_codes_told_by_file_names_are_those_of_the_rules() -> None:
    assert rule_codes() == [rule.code for rule in load_rules()]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_locale_can_show_a_report(encoding: str) -> None:
    program = (
        "from cli.output import emit; from cli.terminal import Environment; from analyzers.report import Report, Source;"
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


class TestOptions:
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
    def test_moment(self, text: str | None, means: object) -> None:
        assert moment(text) == means

    def test_an_age_counts_from_the_newest_evidence(self) -> None:
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
    def test_only_and_ignore(self, only: list[str], ignore: list[str], kept: bool) -> None:
        known = ["BRK101", "CKP101"]
        options = RunOptions(only=code_filters(only, known), ignore=code_filters(ignore, known))
        assert options.keeps(finding()) is kept

    def test_a_rule_that_is_ignored_for_some_subjects_still_runs(self) -> None:
        assert RunOptions(ignore=(CodeFilter("BRK101", "ord*"),)).runs("BRK101")
        assert not RunOptions(ignore=(CodeFilter("BRK101"),)).runs("BRK101")
        assert not RunOptions(only=(CodeFilter("CKP101", "x"),)).runs("BRK101")


def test_the_real_streams_know_whether_they_are_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Callable[..., Environment] = Environment.real
    monkeypatch.setattr(sys, "stdout", type("Tty", (io.StringIO,), {"isatty": lambda self: True})())
    assert made({}).colour
    assert not made({"NO_COLOR": "1"}).colour
    assert not made({"TERM": "dumb"}).colour
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert not made({}).colour
