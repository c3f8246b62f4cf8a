"""`--keep-warm`: one JVM waits for the next command of this user, goes to one caller, and is gone when nobody wants it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from analyzers.diagnosis.diagnose import prepared
from analyzers.diagnosis.frames import Chosen
from analyzers.diagnosis.run_rules import sort_out
from analyzers.rules.catalogue import load_rules
from cli.commands.doctor import Check, checks
from cli.engine.holder import hold
from cli.engine.java import Java
from cli.engine.spark import Engine
from cli.engine.waiting import LOCK, RECORD, ClaimedJvm, Waiting, end, key_of, place, seen, take
from cli.engine.warming import samples
from tests.spark_hosts import eventually

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "fixtures" / "CKP103" / "fires" / "raw"


@pytest.fixture
def directory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The place of a host of its own; short, as the name of a socket must be."""
    temporary = tempfile.mkdtemp(prefix="warm")
    monkeypatch.setattr(tempfile, "tempdir", temporary)
    monkeypatch.setenv("TMPDIR", temporary)
    found = place()
    assert found is not None
    yield found
    shutil.rmtree(temporary)


@dataclass
class Held:
    """A stand-in for a JVM, which ends with its stdin as that does, and its holder."""

    process: subprocess.Popen[bytes]
    holder: int
    run: Path

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None


@pytest.fixture
def held(directory: Path) -> Iterator[Held]:
    yield (made := _held(directory, key="mine"))
    made.process.kill()
    made.process.wait()


def _held(directory: Path, *, key: str, seconds: float = 60) -> Held:
    status, tell = os.pipe()
    run = Path(tempfile.mkdtemp(prefix="run"))
    shell = ["/bin/sh", "-c", f"cat; (echo 0 >/dev/fd/{tell}); rm -rf {run}"]
    process = subprocess.Popen(shell, stdin=subprocess.PIPE, pass_fds=(tell,), start_new_session=True)
    os.close(tell)
    assert process.stdin is not None
    now = time.time()
    record = {"key": key, "java": process.pid, "since": now, "ends": now + seconds}
    given = {"group": process.pid, "run_directory": str(run), "port": 1, "secret": "s"}
    holder = os.fork()
    if holder == 0:
        try:
            hold(str(directory), {**record, "holder": os.getpid()}, process.stdin.fileno(), status, given)
        finally:
            os._exit(0)
    process.stdin.close()
    os.close(status)
    assert eventually((directory / RECORD).exists)
    return Held(process, holder, run)


def test_of_callers_at_once_exactly_one_gets_it(directory: Path, held: Held) -> None:
    with ThreadPoolExecutor(8) as pool:
        got = [jvm for jvm in pool.map(lambda _: take(directory, "mine"), range(8)) if jvm is not None]
    assert len(got) == 1
    assert os.waitpid(held.holder, 0)[1] == 0  # it has nothing to hold any more
    assert not held.ended
    assert os.listdir(directory) == []
    got[0].stop()
    assert held.process.wait(10) is not None
    assert not held.run.exists()


def test_one_that_does_not_fit_is_not_used_and_is_ended(directory: Path, held: Held) -> None:
    assert take(directory, "of another version") is None
    assert held.process.wait(10) is not None
    assert take(directory, "mine") is None


def test_it_ends_when_its_time_is_over(directory: Path) -> None:
    held = _held(directory, key="mine", seconds=1)
    assert os.waitpid(held.holder, 0)[1] == 0
    assert held.process.wait(10) == 0  # at the end of its stdin
    assert os.listdir(directory) == []
    assert take(directory, "mine") is None


def test_one_whose_time_was_over_while_the_host_slept_is_not_used(directory: Path, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    later = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: later)
    assert take(directory, "mine") is None
    assert held.process.wait(10) is not None


def test_with_a_holder_or_a_claimer_that_is_killed_it_ends(directory: Path, held: Held) -> None:
    os.kill(held.holder, signal.SIGKILL)
    os.waitpid(held.holder, 0)
    assert held.process.wait(10) == 0
    assert take(directory, "mine") is None  # the record of the killed one
    assert take(directory, "mine") is None
    other = _held(directory, key="mine")
    claimer = os.fork()
    if claimer == 0:
        take(directory, "mine")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(claimer, 0)
    assert other.process.wait(10) == 0


def test_it_says_how_it_ended(directory: Path, held: Held) -> None:
    jvm = take(directory, "mine")
    assert jvm is not None
    assert jvm.ended(within=0) is None
    os.close(jvm._stdin)
    jvm._stdin = os.open(os.devnull, os.O_RDONLY)
    assert jvm.ended(within=10) == 0
    jvm.stop()
    other = _held(directory, key="mine")
    jvm = take(directory, "mine")
    assert jvm is not None
    os.killpg(other.process.pid, signal.SIGKILL)
    assert jvm.ended(within=10) == -signal.SIGKILL
    jvm.stop()


def test_what_others_can_write_is_no_place(directory: Path) -> None:
    directory.chmod(0o777)
    assert place() is None
    directory.rmdir()
    directory.symlink_to("/")
    assert place() is None
    directory.unlink()
    assert take(place(), "mine") is None


def test_one_that_is_only_made_ready_gives_way(directory: Path) -> None:
    holds = f"import fcntl, time; file = open({str(directory / LOCK)!r}, 'w'); fcntl.flock(file, fcntl.LOCK_EX)"
    says = "import os; file.write(str(os.getpid())); file.flush(); print('held', flush=True); time.sleep(60)"
    keeper = subprocess.Popen([sys.executable, "-c", f"{holds}; {says}"], stdout=subprocess.PIPE)
    assert keeper.stdout is not None
    assert keeper.stdout.readline() == b"held\n"
    assert take(directory, "mine") is None
    assert keeper.wait(10) == -signal.SIGTERM
    keeper.stdout.close()


def test_what_a_jvm_depends_on_is_in_its_key(real_java: Java, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def key(memory: str = "1g", master: str = "local[2]") -> str:
        return key_of(real_java, memory, {"spark.master": master})

    mine = key()
    assert key() == mine
    assert len({mine, key(memory="2g"), key(master="local[1]")}) == 3
    monkeypatch.setenv("SSH_TTY", "/dev/pts/7")
    monkeypatch.setenv("OLDPWD", "/elsewhere")
    assert key() == mine
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    other = key()
    assert other != mine
    monkeypatch.chdir(tmp_path)
    assert key() not in (mine, other)
    monkeypatch.setattr("cli.version.version", lambda: "99")
    monkeypatch.chdir(ROOT)
    assert key() != other


def _line() -> Check:
    return {check.name: check for check in checks(spark=False)}["waiting JVM"]


def test_the_doctor_shows_and_ends_it(directory: Path, held: Held) -> None:
    said = _line()
    assert said.state == "ok"
    assert said.says.startswith(f"pid {held.process.pid} for 0 min, ")
    assert "ends in 1 min" in said.says
    assert isinstance(found := end(directory), Waiting)
    assert found.java == held.process.pid
    assert held.process.wait(10) is not None
    assert _line().says.startswith("none; --keep-warm")
    assert end(directory) is None


def test_it_is_warmed_by_many_rules() -> None:
    found = prepared(samples(), None, None, own=True)
    _, waiting = sort_out(load_rules(), Chosen(found.whole))
    assert len(waiting) > 50


def test_who_does_not_ask_for_it_neither_takes_nor_leaves_one(directory: Path, held: Held) -> None:
    engine = Engine("local[2]", memory="1g", settings={})
    assert not engine._take()
    assert engine._next is None
    assert seen(directory) is not None


# `diag`, and how its Spark was started
DIAG = """
import sys
from cli.engine.spark import Engine
from cli.main import main
stop = Engine._stop
Engine._stop = lambda self: (print(self.how, file=sys.stderr), stop(self))
main()
"""


@pytest.mark.timeout(900)
def test_the_next_command_says_the_same_on_it(directory: Path, host: dict[str, str], tmp_path: Path) -> None:
    host |= {"TMPDIR": str(directory.parent), "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"], "DIAG_KEEP_WARM": "1"}

    def triage() -> tuple[str, str]:
        command = [sys.executable, "-c", DIAG, "triage", str(LOGS), "-q", "-o", "json"]
        done = subprocess.run(command, env=host, cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False)
        return done.stdout, done.stderr

    cold = triage()
    assert cold[1].startswith("directly, ")
    assert eventually(lambda: seen(directory) is not None, seconds=280)
    left = seen(directory)
    assert left is not None
    assert triage() == (cold[0], "on a JVM that the last command left\n")
    assert eventually(lambda: not Path(f"/proc/{left.java}").exists())
    assert eventually(lambda: (directory / LOCK).exists() and (directory / LOCK).read_text() not in ("", str(left.holder)))
    end(directory)  # the next one, which is only made ready
    assert eventually(lambda: not list(directory.parent.glob("diag-held-*")))


@pytest.mark.parametrize(
    ("says", "answers"), [(b"!yv\n", True), (b"!x\n", False), (b"HTTP/1.1 400\r\n", False), (b"", False), (None, False)]
)
def test_only_one_that_takes_its_secret_is_used(says: bytes | None, answers: bool, tmp_path: Path) -> None:
    """One that was stopped lets everybody connect: the next command waited for its first answer for ever."""
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        heard = []

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                heard.append(connection.recv(100))
                connection.sendall(says or b"")

        if says is not None:
            pool.submit(serve)
        ends = os.pipe()
        jvm = ClaimedJvm(list(ends), group=0, run_directory=str(tmp_path), port=server.getsockname()[1], secret="s3")
        began = time.monotonic()
        assert jvm.answers(within=0.5) is answers
        assert time.monotonic() - began < 5
    assert heard == ([] if says is None else [b"A\ns3\n"])
    for each in ends:
        os.close(each)


def test_one_that_nothing_listens_for_is_not_used(tmp_path: Path) -> None:
    ends = os.pipe()
    assert not ClaimedJvm(list(ends), group=0, run_directory=str(tmp_path), port=1, secret="s").answers(within=0.5)
    for each in ends:
        os.close(each)
