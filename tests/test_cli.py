"""The command line as a shell sees it: wrong usage, what can be neither read nor written, closed pipes, how little is loaded."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from analyzers.rules.catalogue import rule_codes
from cli.shell.exits import ExitCode
from tests.command_line import diag, shell

ROOT = Path(__file__).parent.parent


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
        ["triage", ".", "--since", "tomorrow"],
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
    ended = shell(f"diag triage -q fixtures/incidents/ill/lab-poison-sink/raw --save '{tmp_path}/a file/b.tar.gz'")
    assert ended.returncode == ExitCode.FINDINGS
    assert "verdict\tpoison-record" in ended.stdout
    assert "cannot write the bundle" in ended.stderr


def test_a_report_that_has_no_place_is_told_before_any_work(tmp_path: Path) -> None:
    ended = shell(f"diag triage {tmp_path} -o terminal -o html={tmp_path}/gone/x.html")
    assert (ended.returncode, ended.stdout) == (ExitCode.CANNOT_LOOK, "")
    assert f"there is no directory {tmp_path}/gone" in ended.stderr
    assert "reading" not in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_the_report_is_no_defect() -> None:
    ended = shell("diag rules -o plain > /dev/full")
    assert ended.returncode == ExitCode.CANNOT_LOOK
    assert ended.stderr.startswith("diag: cannot write the report to standard output: No space left on device")


@pytest.mark.parametrize(
    "arguments", ["-h", "--version", "triage -h", "lag-report -h", "schema", "explain -h", "broker-health -h", "checkpoint-inspect -h"]
)
def test_what_needs_no_spark_loads_none(arguments: str) -> None:
    heavy = ("pyspark", "pandas", "pyarrow", "numpy", "confluent_kafka", "py4j")
    program = (
        "import sys, io; from cli.main import run; from cli.shell.environment import Environment;"
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
