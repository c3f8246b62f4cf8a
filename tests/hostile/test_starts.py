"""The first and the last moments of a start: Ctrl-C while modules are loaded, a launcher that never says anything, a disk without room."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analyzers.diagnosis.run_rules import _errno, _refused_by_the_host
from analyzers.report.finding import Defect
from cli.engine.jvm import NoRoom, look_for_room
from cli.engine.launcher import no_longer_than

ROOT = Path(__file__).parents[2]
_INTERRUPTED = """
import os, runpy, signal, sys
class Interrupts:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.{number})
sys.meta_path.insert(0, Interrupts())
runpy.run_module("cli", run_name="__main__", alter_sys=False)
"""


@pytest.mark.parametrize("module", ["cli.main", "typer", "cli.commands.triage"])
def test_ctrl_c_while_modules_are_loaded_is_quiet(module: str) -> None:
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # tests may run as a background job, which ignores it
    code = heard + _INTERRUPTED.format(number="SIGINT")
    done = subprocess.run([sys.executable, "-c", code, module], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_background_job_does_not_hear_of_ctrl_c() -> None:
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)" + _INTERRUPTED.format(number="SIGINT")
    done = subprocess.run([sys.executable, "-c", code, "typer"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr  # typer is no command


@pytest.mark.parametrize("script", ["exit 0", "exit 3", "sleep 300 & sleep 300"])
def test_a_launcher_that_says_nothing_is_ended(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import java_gateway

    (tmp_path / "bin").mkdir()
    submit = tmp_path / "bin" / "spark-submit"
    submit.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\n{script}\n")
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr(java_gateway, "_find_spark_home", lambda: str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    began = time.monotonic()
    with pytest.raises(Exception, match=r"JAVA_GATEWAY_EXITED|gateway process exited"), no_longer_than(0.5):
        java_gateway.launch_gateway(None, {})
    assert time.monotonic() - began < 20
    group = int((tmp_path / "pid").read_text())
    for _ in range(100):  # killed, and not yet gone
        if not _running(group):
            break
        time.sleep(0.02)
    assert not _running(group)
    assert java_gateway.Popen is subprocess.Popen  # type: ignore[attr-defined]  # not exported


def _running(group: int) -> bool:
    states = [_read(place).rpartition(")")[2].split() for place in Path("/proc").glob("[0-9]*/stat")]
    return any(state[2] == str(group) and state[0] != "Z" for state in states if state)


def _read(place: Path) -> str:
    try:
        return place.read_text(errors="replace")
    except OSError:
        return ""


def test_spark_is_not_started_where_nothing_can_be_written() -> None:
    with pytest.raises(NoRoom, match="no room"):
        look_for_room(Path("/proc/self"))


def test_what_the_system_answered_goes_with_the_defect() -> None:
    outer = ValueError("in words of its own")
    outer.__cause__ = OSError(28, "whatever language this is")
    full = Defect("BRK101", "ValueError: in words of its own", _errno(outer))
    assert _refused_by_the_host([[], full]) == f"this host could not give what Spark needs: {os.strerror(28)}"
    assert _refused_by_the_host([Defect("BRK101", "OSError: [Errno 28] No space left on device")]) is None  # a text is no proof
    assert _refused_by_the_host([Defect("BRK101", "x", _errno(ConnectionRefusedError(111, "refused")))]) is None
    assert _refused_by_the_host([Defect("BRK101", "x", _errno(MemoryError()))]) is not None
    assert _errno(ValueError("x")) is None
