"""Spark's JVM may end at any time: out of memory, or killed by a host that is. Nobody waits for it then, and what is known is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.engine.class_archive import SWITCH
from cli.engine.java import find_java
from cli.engine.jvm import Jvm

pytestmark = pytest.mark.jvm

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "fixtures" / "incidents" / "ill" / "poison-record-deserialiser" / "raw"

COLLECTS_TOO_MUCH = """
from cli.shell.exits import CannotLook
from cli.engine.spark import Engine
try:
    with Engine.start("local[1]", memory="512m") as engine:
        engine.session().range(60_000_000).toArrow()
except CannotLook as error:
    print(int(error.exit_code), error.message)
"""
# The JVM goes when the facts are known and before a rule has judged.
IS_KILLED = """
import os, signal, sys
from cli.engine import spark
from cli.main import run
prepared = spark.Engine.session
def session(self):
    made = prepared(self)
    os.killpg(self._jvm._process.pid, signal.SIGKILL)
    return made
spark.Engine.prepare_session = lambda self: None
spark.Engine.session = session
sys.argv = ["diag", *sys.argv[1:]]
sys.exit(run())
"""


STARTS = """
from cli.engine.spark import Engine
with Engine.start("local[1]") as engine:
    engine.context()
    print(engine.how)
"""


def _run(code: str, *arguments: str, directory: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), SWITCH: "1"} | more
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=environment, cwd=directory, capture_output=True, text=True, timeout=200, check=False)


def test_a_jvm_without_memory_ends_and_says_so(tmp_path: Path) -> None:
    """Else the thread that serves a result dies alone, and Python waits for it for ever."""
    done = _run(COLLECTS_TOO_MUCH, directory=tmp_path)
    assert done.stdout.startswith("3 Spark ran out of its 512m of memory; give it more (--memory)"), done
    assert "Traceback" not in done.stderr


def test_facts_are_told_when_the_jvm_is_killed_before_the_rules_have_judged(tmp_path: Path) -> None:
    done = _run(IS_KILLED, "triage", str(LOGS), "-o", "json", directory=tmp_path)
    assert done.returncode == 3, done
    report = json.loads(done.stdout)
    (spark,) = (source for source in report["sources"] if source["name"] == "Spark")
    assert spark["state"] == "failed"
    assert "was killed" in spark["why"]
    assert report["facts"]["log_files"]
    assert (report["defects"], report["findings"]) == ([], [])
    unjudged = {each["code"] for each in report["not_checked"] if "was killed" in each["because"]}
    assert {"RST101", "RST202"} <= unjudged
    assert not unjudged & set(report["clean"])


def test_a_terminal_claims_nothing_when_the_jvm_was_killed(tmp_path: Path) -> None:
    done = _run(IS_KILLED, "triage", str(LOGS), "-o", "terminal", directory=tmp_path)
    assert done.returncode == 3, done
    assert "was killed" in done.stdout
    assert "othing wrong" not in done.stdout
    assert "Traceback" not in done.stderr


def test_options_that_the_host_has_for_other_programs_do_not_reach_it(tmp_path: Path) -> None:
    done = _run(STARTS, directory=tmp_path, JAVA_TOOL_OPTIONS="-XX:+UseParallelGC -javaagent:/nowhere.jar", _JAVA_OPTIONS="-Xmx8m")
    assert done.stdout == "directly, without a class-data archive\n", done


def test_a_jvm_that_cannot_start_says_why(tmp_path: Path) -> None:
    done = _run(STARTS, directory=tmp_path, JDK_JAVA_OPTIONS="-XX:StartFlightRecording:settings=/nowhere.jfc")
    assert done.returncode == 1
    assert "Failure when starting JFR" in done.stderr, done.stderr


def test_what_was_read_is_told_when_it_cannot_start(tmp_path: Path) -> None:
    cannot = {"JDK_JAVA_OPTIONS": "-XX:StartFlightRecording:settings=/nowhere.jfc"}
    done = _run("import sys; from cli.main import run; sys.exit(run())", "triage", str(LOGS), "-o", "json", directory=tmp_path, **cannot)
    assert done.returncode == 3, done
    report = json.loads(done.stdout)
    assert {row["file"].rpartition("/")[2] for row in report["facts"]["log_files"]} == {path.name for path in LOGS.iterdir()}
    assert ("Spark", "failed") in {(source["name"], source["state"]) for source in report["sources"]}
    assert report["clean"] == []


def test_a_closed_standard_output_or_error_is_no_defect(tmp_path: Path) -> None:
    for closed in (">&-", "2>&-", "<&-"):
        shell = f"{sys.executable} -m cli triage --facts-only {LOGS} {closed}"
        done = subprocess.run(shell, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, (closed, done)
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("ends", "marked"), [(signal.SIGKILL, False), (signal.SIGTERM, False), (signal.SIGABRT, True)])
def test_only_a_crash_says_that_an_archive_cannot_be_recorded(
    ends: signal.Signals, marked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is killed from outside would have recorded one: a mark costs every run of the next day its archive."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(SWITCH, raising=False)
    jvm = Jvm(find_java())
    if jvm.archive is None:  # a JDK older than 25 without an archive of its own
        jvm.stop()
        pytest.skip("this Java can have no archive")
    assert jvm.recording is not None
    jvm.connect()
    (java,) = Path(f"/proc/{jvm._process.pid}/task/{jvm._process.pid}/children").read_text().split()
    os.kill(int(java), ends)
    assert jvm.ended(within=20) == -ends
    jvm.stop()
    assert jvm.archive.failure_mark.exists() is marked
    assert not jvm.recording.exists()
