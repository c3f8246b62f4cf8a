"""How a run ends: errors, Ctrl-C and SIGTERM at any moment, what is put away before the process is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import typer

from analyzers.bundle import BundleError, BundleNotFound
from cli.shell.exits import CannotLook, DiagError, ExitCode, UsageError
from cli.shell.process import supervise
from cli.shell.signals import Terminated, ignored, postponed
from tests.command_line import environment

ROOT = Path(__file__).parent.parent
LEAVES = """
import os, signal, sys, threading
from cli.shell.process import leave
from contextlib import suppress
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell hands it down ignored
class Late:
    def __del__(self):  # where Python puts its modules away
        os.kill(os.getpid(), signal.SIGINT)
late = Late()
print("the whole report", end="")
CLOSED
leave(CODE)
"""


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """A background shell hands Ctrl-C down ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Unlucky(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (UsageError("no such path x", "Name another."), 2, "diag: no such path x\n      Name another.\n"),
        (CannotLook("cannot read x"), 3, "diag: cannot read x\n"),
        (DiagError("odd"), 4, "diag: odd\n"),
        (BundleNotFound("no bundle"), 2, "diag: no bundle\n"),
        (BundleError("bundle damaged"), 3, "diag: bundle damaged\n"),
        (typer.BadParameter("bad"), 2, "bad"),
        (typer.Exit(3), 3, ""),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (typer.Abort(), 130, "interrupted\n"),
        (Terminated(), 143, "terminated\n"),
        (BrokenPipeError(), 0, ""),
        (Unlucky("one\ntwo"), 4, "defect in diag: Unlucky: one\n"),
    ],
)
def test_every_end_has_its_exit_code_and_one_sentence(error: BaseException, code: int, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DIAG_DEBUG", raising=False)
    monkeypatch.setattr("cli.shell.process.silence", lambda stream: None)  # pytest's own stdout must survive

    def end() -> int:
        raise error

    given = environment()
    assert supervise(end, given) == code
    said = given.stderr.getvalue()  # type: ignore[attr-defined]  # StringIO
    assert says in said
    assert "Traceback" not in said


def test_a_defect_shows_its_traceback_to_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIAG_DEBUG", "1")
    given = environment()
    assert supervise(lambda: 1 // 0, given) == 4
    assert "Traceback" in given.stderr.getvalue()  # type: ignore[attr-defined]  # StringIO


def test_sigterm_ends_with_143_and_every_finally_runs() -> None:
    cleaned: list[bool] = []

    def body() -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            cleaned.append(True)
        return 0

    before = signal.getsignal(signal.SIGTERM)
    assert supervise(body, environment()) == ExitCode.TERMINATED
    assert cleaned == [True]
    assert signal.getsignal(signal.SIGTERM) is before


def inside_an_import() -> None:
    done: list[bool] = []
    text = "os.kill(os.getpid(), signal.SIGINT)\nfor _ in range(1000): pass\ndone.append(True)"
    exec(compile(text, "<frozen importlib._bootstrap>", "exec"), {"os": os, "signal": signal, "done": done})
    assert done == [True], "an import that is cut in two leaves its locks taken"


def inside_a_callback() -> None:
    class Gone:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                pass

    Gone()


@pytest.mark.parametrize("interrupted", [inside_an_import, inside_a_callback])
def test_ctrl_c_at_a_moment_that_cannot_be_interrupted_counts_a_moment_later(
    interrupted: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    def body() -> int:
        interrupted()
        signal.pause()
        return 0

    before = signal.getsignal(signal.SIGALRM), sys.unraisablehook
    assert supervise(body, environment()) == ExitCode.INTERRUPTED
    assert (signal.getsignal(signal.SIGALRM), sys.unraisablehook) == before
    assert capsys.readouterr().err == ""


def test_what_must_not_be_left_half_done_is_not_interrupted() -> None:
    """Two Ctrl-C while a JVM is ended: its files are gone all the same."""
    done: list[str] = []

    def body() -> int:
        with postponed():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            done.append("put away")
        done.append("went on")
        return 0

    assert supervise(body, environment()) == ExitCode.INTERRUPTED
    assert done == ["put away"]


def test_a_thread_that_hears_of_no_signals_may_put_away_too() -> None:
    done: list[bool] = []

    def body() -> None:
        with postponed():
            done.append(True)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert done == [True]


@pytest.mark.parametrize("held", [postponed, ignored])
def test_what_a_background_job_ignores_stays_ignored(held: Callable[[], AbstractContextManager[None]]) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with held():
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("code", [0, 1, 130])
def test_a_finished_run_is_not_undone_by_another_ctrl_c(code: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVES.replace("CODE", str(code)).replace("CLOSED", "")], cwd=ROOT, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, b"the whole report", b"")


def test_the_exit_code_stays_where_nobody_reads() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEAVES.replace("CODE", "1").replace("CLOSED", "os.close(1)")], cwd=ROOT, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")
