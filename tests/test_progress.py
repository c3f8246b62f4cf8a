"""How far a scan is, said where it is read; and Ctrl-C at any moment: what was read by then is judged, marked, and nothing stays behind."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from analyzers.readers.log_plan import LogOptions
from cli.engine.class_archive import SWITCH
from cli.runs.evidence import _Watch, scanned
from cli.shell.environment import Environment

ROOT = Path(__file__).resolve().parent.parent
INCIDENT = ROOT / "fixtures" / "incidents" / "ill" / "broker-shrink-restart-loop" / "raw"

# Stops itself after the first round of the scan, and AGAIN where the test wants that.
STOPPED = """
import os, signal, sys
from analyzers.readers import log_scan
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell hands it down ignored
rounds = log_scan.rounds
def first_round_only(*given):
    left = rounds(*given)
    yield next(left)
    os.kill(os.getpid(), signal.SIGNAL)
    yield from left
log_scan.rounds = first_round_only
WHERE
AGAIN
from cli.main import main
main()  # ends as `diag` ends: no thread of the reading is there while Python puts its modules away
"""
# nothing is read before Spark is there, and its workers are worth their start; it reads the largest file first
ON_SPARK = "from analyzers.readers import log_rounds; log_rounds.LIGHT_BYTES, log_rounds.WORTH_SECONDS = 0, -1.0"
UNHARMED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from cli.main import main
main()  # ends as `diag` ends: no thread of the reading is there while Python puts its modules away
"""
AGAIN = """
import cli.runs.evidence
cli.runs.evidence.judged = lambda *given, **named: os.kill(os.getpid(), signal.SIGINT)
import cli.runs.triage
cli.runs.triage.judged = cli.runs.evidence.judged
"""


def test_a_long_scan_says_how_far_it_is_and_a_short_one_nothing() -> None:
    said: list[str] = []
    times = iter([0.0, 0.1, 10.0, 10.1, 20.0, 21.0])
    watch = _Watch(8_000_000_000, said.append, lambda: next(times))
    for read in (100_000_000, 4_000_000_000, 4_100_000_000, 8_000_000_000):
        watch(read)
    assert said == ["4,000 of 8,000 MB read, 400 MB/s, about 10 s left\r"]
    assert watch.stopped().startswith("stopped after 21 s: 8.0 of 8.0 GB read; only what was read")


def test_a_terminal_has_one_line_of_progress_that_is_gone_before_anything_else() -> None:
    told = Environment(io.StringIO(), io.StringIO(), stderr_is_tty=True, width=30)
    told.say("1 of 3 MB read, 1 MB/s, about 2 s left\r")
    told.say("2 of 3 MB read\r")
    told.say("7 events")
    told.write("report\n")
    wiped = "\r\x1b[2K"
    assert told.stderr.getvalue() == f"1 of 3 MB read, 1 MB/s, about{wiped}2 of 3 MB read{wiped}7 events\n"  # type: ignore[attr-defined]
    assert told.stdout.getvalue() == "report\n"  # type: ignore[attr-defined]


def test_elsewhere_progress_is_a_line_every_few_seconds_and_never_an_escape() -> None:
    times = iter([0.0, 1.0, 6.0, 7.0, 12.0])
    told = Environment(io.StringIO(), io.StringIO(), clock=lambda: next(times))
    for number in range(5):
        told.say(f"{number} MB read\r")
    assert told.stderr.getvalue() == "2 MB read\n4 MB read\n"  # type: ignore[attr-defined]


def test_quiet_is_quiet() -> None:
    told = Environment(io.StringIO(), io.StringIO(), stderr_is_tty=True, verbosity=-1)
    told.say("1 MB read\r")
    assert told.stderr.getvalue() == ""  # type: ignore[attr-defined]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """An incident, and a larger second file of which nothing is read in the first round; both too large to be read at once."""
    folder = tmp_path / "logs"
    folder.mkdir()
    line = b"2026-11-02 00:00:00,000 INFO  org.apache.flink.runtime.taskexecutor.TaskExecutor [] - nothing of interest\n"
    incident = max(INCIDENT.rglob("*jobmanager*"), key=lambda log: log.stat().st_size).read_bytes()
    for name, head, size in (("a.log", incident, 18 << 20), ("b.log", b"", 20 << 20)):
        (folder / name).write_bytes(head + line * ((size - len(head)) // len(line)))
    return folder


def stopped(logs: Path, tmp_path: Path, number: str = "SIGINT", again: str = "", where: str = "") -> subprocess.CompletedProcess[str]:
    code = STOPPED.replace("SIGNAL", number).replace("AGAIN", again).replace("WHERE", where)
    (tmp_path / "tmp").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": str(ROOT), SWITCH: "1"}
    command = [sys.executable, "-c", code, "triage", "--cores", "1", "-o", "json", str(logs)]
    return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False)


@pytest.mark.jvm
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_what_was_read_when_it_was_stopped_is_judged_and_marked(logs: Path, tmp_path: Path, number: str, code: int) -> None:
    done = stopped(logs, tmp_path, number)
    assert done.returncode == code, done.stderr
    report = json.loads(done.stdout)
    assert report["verdict"]["cause"] == "broker-unreachable"
    partial = {source["name"]: source["state"] for source in report["sources"] if source["state"] != "ok"}
    assert "b.log" in {Path(name).name for name in partial}
    assert any(note.startswith("stopped after") and "MB read; only what was read by then is judged" in note for note in report["notes"])
    assert "stopped after" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.jvm
def test_what_spark_had_not_read_when_it_was_stopped_is_marked(logs: Path, tmp_path: Path) -> None:
    done = stopped(logs, tmp_path, where=ON_SPARK)
    assert done.returncode == 130, done.stderr
    report = json.loads(done.stdout)
    assert {Path(source["name"]).name for source in report["sources"] if source["state"] != "ok"} == {"a.log"}
    assert "stopped after" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.jvm
@pytest.mark.parametrize("where", ["", ON_SPARK])
def test_a_second_ctrl_c_ends_at_once(logs: Path, tmp_path: Path, where: str) -> None:
    done = stopped(logs, tmp_path, again=AGAIN, where=where)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.endswith("interrupted\n")
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("came", [b"2026-11-02 00:00:00,000 ERROR a.B [] - x\n" * 3, b"\0\1\2" * 99])
def test_ctrl_c_while_standard_input_is_open_ends_the_reading(came: bytes) -> None:
    class Followed(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            if piece := super().read1(size):
                return piece
            raise KeyboardInterrupt

    said: list[str] = []
    if b"ERROR" not in came:
        with pytest.raises(KeyboardInterrupt):
            scanned(["-"], LogOptions(stdin=Followed(came)), None, said.append)
        return
    found = scanned(["-"], LogOptions(stdin=Followed(came)), None, said.append)
    assert isinstance(found.stop, KeyboardInterrupt)
    assert len(found.tables["log_events"]) == 3
    assert found.notes[0] == "stopped while standard input was still open; only what had come by then is judged"
    assert said[-1] == f"{found.notes[0]}; once more ends at once"


@pytest.mark.jvm
def test_ctrl_c_while_the_jvm_boots_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", UNHARMED, "triage", str(INCIDENT)],
        env=os.environ | {"TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": str(ROOT)},
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    assert "reading" in process.stderr.readline()
    assert "starting Spark" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _out, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.endswith("interrupted\n")
    assert "Traceback" not in said
    assert list((tmp_path / "tmp").iterdir()) == []
