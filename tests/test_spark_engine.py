"""Spark starts quietly and quickly, whatever is wrong with the host's cache or Java, and nothing of it outlives diag."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from cli.class_archive import RECORDING_SECONDS, SWITCH, archive_for
from cli.java import Java, find_java
from cli.jvm import class_archive, spark_jars
from cli.spark import Engine, _zip_analyzers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent

# What a run of diag does with Spark: a job of plain Python on the context, then SQL.
RUN = """
import sys, pyarrow
from cli.spark import Engine
with Engine.start() as engine:
    squares = engine.context().parallelize([1, 2, 3], 2).map(lambda n: n * n).collect()
    frame = engine.session().createDataFrame(pyarrow.table({"n": squares}))
    print(frame.groupBy().sum("n").first()[0], engine.how)
"""
# Tells its JVM and run directory, then waits for the test to end it.
WAIT = """
import signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell hands it down ignored
from cli.spark import Engine
engine = Engine.start()
READY
try:
    print(engine._jvm._process.pid, engine._jvm.run_directory, flush=True)
    threading.Event().wait()
except KeyboardInterrupt:
    engine.stop()
    sys.exit(130)
"""


@pytest.fixture
def host(tmp_path: Path) -> dict[str, str]:
    """The environment of a host of its own: empty cache, own temporary directory."""
    for name in ("cache", "tmp"):
        (tmp_path / name).mkdir(mode=0o700)
    environment = {name: value for name, value in os.environ.items() if name != SWITCH}
    return environment | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": str(ROOT)}


def run(code: str, host: dict[str, str], directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], env=host, cwd=directory, capture_output=True, text=True, timeout=280, check=False)


def eventually(condition: Callable[[], bool], seconds: float = 60) -> bool:
    """Whether `condition` comes true; polls, because what happens after diag has ended tells nobody."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def processes_of(group: int) -> list[int]:
    """Live processes of a process group or session (zombies do not count)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _parent, process_group, session = entry.read_text().rpartition(")")[2].split()[:4]
            if state != "Z" and group in (int(process_group), int(session)):
                found.append(int(entry.parent.name))
    return found


@pytest.fixture
def waiting(host: dict[str, str], tmp_path: Path) -> Iterator[Callable[[str], tuple[subprocess.Popen[str], int, Path]]]:
    """Start WAIT, with what to do before it reports; gives process, process group of its JVM, run directory."""
    started = []

    def start(ready: str) -> tuple[subprocess.Popen[str], int, Path]:
        process = subprocess.Popen(
            [sys.executable, "-c", WAIT.replace("READY", ready)],
            env=host,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        started.append(process)
        assert process.stdout is not None
        group, directory = process.stdout.readline().split()
        return process, int(group), Path(directory)

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def real_java() -> Java:
    return find_java()


def java_that(directory: Path, real: Java, refuses: str) -> dict[str, str]:
    """A JAVA_HOME whose java is the real one, except that it dies when `refuses` (a shell pattern) is among its arguments."""
    (directory / "bin").mkdir(parents=True)
    (directory / "lib").symlink_to(real.home / "lib")
    (directory / "release").write_text(f'JAVA_VERSION="{real.full_version}"\n')
    script = directory / "bin" / "java"
    says = "Error: Could not create the Java Virtual Machine."
    script.write_text(f'#!/bin/sh\ncase " $* " in {refuses}) echo "{says}" >&2; exit 1;; esac\nexec {real.path} "$@"\n')
    script.chmod(0o755)
    return {"JAVA_HOME": str(directory)}


# --- an engine that runs


def test_the_session_is_set_for_small_tables_and_utc(spark: SparkSession) -> None:
    for name, value in {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
    }.items():
        assert spark.conf.get(name) == value


def test_workers_run_this_python_and_find_the_analyzers(engine: Engine) -> None:
    def look(_: Iterator[int]) -> Iterator[tuple[str, str]]:
        import sys

        import analyzers

        yield sys.executable, str(analyzers.__file__)

    seen = set(engine.context().parallelize([1, 2], 2).mapPartitions(look).collect())
    assert seen == {(sys.executable, str(ROOT / "analyzers" / "__init__.py"))}


def test_null_strings_survive_the_way_from_arrow(spark: SparkSession) -> None:
    rows = spark.createDataFrame(pa.table({"job": pa.array(["a", None], pa.string())})).collect()
    assert [row["job"] for row in rows] == ["a", None]


def test_threads_share_one_session(engine: Engine) -> None:
    seen: list[SparkSession] = []
    threads = [threading.Thread(target=lambda: seen.append(engine.session())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4
    assert len({id(session) for session in seen}) == 1


def test_a_failed_job_is_told_after_the_jvm_has_gone(host: dict[str, str], tmp_path: Path) -> None:
    """Py4J's own error cannot even be printed then: a traceback would end the process with 1, which means findings."""
    code = """
from cli.exits import ExitCode
from cli.spark import Engine
from cli.spark_failures import SparkFailed
def fail(n):
    raise ValueError("offset 17 is not there")
try:
    with Engine.start("local[1]") as engine:
        engine.context().parallelize([1], 1).map(fail).collect()
except SparkFailed as error:
    print(error.message, int(error.exit_code), "ValueError" in str(error.__cause__))
"""
    done = run(code, host | {SWITCH: "1"}, tmp_path)
    assert (done.stdout, done.stderr) == ("A Spark job failed: ValueError: offset 17 is not there. 4 True\n", "")


# --- the class-data archive


@pytest.mark.timeout(900)  # three starts, and a dump in the background of the first: seconds, but minutes on a machine that is full
def test_the_second_run_uses_the_archive_of_the_first_and_damage_harms_nobody(
    host: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_java: Java
) -> None:
    directory = tmp_path / "work"
    directory.mkdir()
    first = run(RUN, host, directory)
    assert (first.stdout, first.stderr) == ("14 directly, while recording a class-data archive\n", "")
    assert list(directory.iterdir()) == []  # no spark-warehouse, no derby.log in the user's directory

    cache = tmp_path / "cache" / "diag"
    assert eventually(lambda: bool(list(cache.glob("*.jsa"))), seconds=240)
    assert eventually(lambda: not list((tmp_path / "tmp").iterdir()), seconds=240)
    (archive,) = cache.iterdir()  # no temporary file stays

    second = run(RUN, host, directory)
    assert (second.stdout, second.stderr) == ("14 directly, with the class-data archive\n", "")

    # flipped bits under an unchanged size and header: only the checksum sees them
    archive.chmod(0o600)
    with archive.open("r+b") as file:
        for position in range(1 << 20, archive.stat().st_size, 1 << 20):
            file.seek(position)
            file.write(b"\xff" * 4096)
    flipped = run(RUN, host, directory)
    assert (flipped.stdout[:3], flipped.stderr) == ("14 ", "")
    assert not archive.exists()
    # the next start records anew: asked of the archive itself, as one more start and one more dump would show nothing else
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    known = class_archive(real_java)
    assert known is not None
    assert known.key in archive.name
    assert known.usable() is None
    assert known.start_recording() is not None


def test_a_truncated_archive_is_not_even_offered_to_a_jvm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, real_java: Java) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    archive = archive_for(real_java, spark_jars(), [])
    assert archive is not None
    path = archive.directory / f"spark-{archive.key}-5.jsa"
    path.write_bytes(b"whole")
    assert archive.usable() == path
    path.write_bytes(b"hal")
    assert archive.usable() is None
    assert not path.exists()


def test_an_archive_that_kills_the_jvm_is_removed_and_spark_starts_without(host: dict[str, str], tmp_path: Path, real_java: Java) -> None:
    host = host | java_that(tmp_path / "java", real_java, "*-XX:SharedArchiveFile=*|*-XX:AOTCache=*")
    plant = f"""
import cli.jvm, cli.java
archive = cli.jvm.class_archive(cli.java.find_java())
(archive.directory / f"spark-{{archive.key}}-4.jsa").write_bytes(b"junk")
{RUN}"""
    done = run(plant, host, tmp_path)
    assert (done.stdout, done.stderr) == ("14 directly, without a class-data archive\n", "")
    assert not list((tmp_path / "cache").rglob("*.jsa"))
    assert eventually(lambda: not list((tmp_path / "tmp").iterdir()))


def test_no_archive_where_the_cache_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, real_java: Java) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert archive_for(real_java, spark_jars(), []) is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert archive_for(real_java, spark_jars(), []) is not None


def test_no_archive_in_a_directory_that_others_can_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, real_java: Java) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "diag").mkdir()
    (tmp_path / "diag").chmod(0o777)
    assert archive_for(real_java, spark_jars(), []) is None


def test_no_archive_when_switched_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, real_java: Java) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(SWITCH, "1")
    assert archive_for(real_java, spark_jars(), []) is None


def test_no_recording_on_a_disk_without_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, real_java: Java) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    archive = archive_for(real_java, spark_jars(), [])
    assert archive is not None
    monkeypatch.setattr("cli.class_archive.ROOM_BYTES", 1 << 62)
    assert archive.start_recording() is None
    monkeypatch.setattr("cli.class_archive.ROOM_BYTES", 0)
    assert archive.start_recording() is not None
    assert archive.start_recording() is None  # one at a time


def test_the_archive_is_bound_to_jars_and_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, real_java: Java) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"1")
    keys = []
    for content, options in ((b"1", []), (b"12", []), (b"12", ["-Xmx2g"])):
        jar.write_bytes(content)
        archive = archive_for(real_java, [jar], options)
        assert archive is not None
        keys.append(archive.key)
    assert len(set(keys)) == 3


def test_the_archive_of_another_java_is_not_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, real_java: Java) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    mine = archive_for(real_java, spark_jars(), [])
    assert mine is not None
    (mine.directory / f"spark-{mine.key}-5.jsa").write_bytes(b"whole")
    for other in (replace(real_java, full_version="17.0.99"), replace(real_java, home=real_java.home.parent)):
        theirs = archive_for(other, spark_jars(), [])
        assert theirs is None or theirs.usable() is None
    assert mine.usable() is not None


def test_a_recording_that_was_killed_is_cleared_away_and_made_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, real_java: Java
) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    archive = archive_for(real_java, spark_jars(), [])
    assert archive is not None
    dead = archive.directory / f"spark-{archive.key}.recording-1"
    dead.write_bytes(b"half an archive")
    assert archive.usable() is None  # never taken for a whole one
    assert archive.start_recording() is None  # it may still be going on
    old = time.time() - RECORDING_SECONDS - 1
    os.utime(dead, (old, old))
    assert archive.start_recording() is not None
    assert not dead.exists()


def test_a_home_that_cannot_be_written_costs_only_the_archive(host: dict[str, str], tmp_path: Path) -> None:
    nowhere = {name: value for name, value in host.items() if name != "XDG_CACHE_HOME"} | {"HOME": "/proc"}  # not even root can write there
    done = run(RUN, nowhere, tmp_path)
    assert (done.stdout, done.stderr) == ("14 directly, without a class-data archive\n", "")


def test_a_stale_archive_is_refused_by_the_jvm_and_removed(host: dict[str, str], tmp_path: Path, real_java: Java) -> None:
    stale, jar = tmp_path / "stale.jsa", tmp_path / "other.jar"  # made with another class path
    shutil.copy(next(path for path in spark_jars() if path.name.startswith("scala-library")), jar)
    command = [str(real_java.path), f"-XX:ArchiveClassesAtExit={stale}", "-cp", str(jar), "scala.Option"]
    made = subprocess.run(command, capture_output=True, check=False)  # fails, as that class is no program, and writes the archive
    if not stale.exists():
        pytest.skip(f"this Java makes no archive of that kind: {made.stderr!r}")
    plant = f"""
import cli.jvm, cli.java, shutil
archive = cli.jvm.class_archive(cli.java.find_java())
shutil.copy({str(stale)!r}, archive.directory / f"spark-{{archive.key}}-{stale.stat().st_size}.jsa")
{RUN}"""
    done = run(plant, host, tmp_path)
    assert (done.stdout, done.stderr) == ("14 directly, without a class-data archive\n", "")
    assert not list((tmp_path / "cache").rglob("*.jsa"))


@pytest.mark.timeout(900)
def test_of_two_starts_at_once_one_records_and_both_work(host: dict[str, str], tmp_path: Path) -> None:
    both = [
        subprocess.Popen([sys.executable, "-c", RUN], env=host, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    told = sorted(one.communicate(timeout=280) for one in both)
    assert told[0] == ("14 directly, while recording a class-data archive\n", "")
    assert told[1] in [  # on a full machine the first one may be done before the second one looks
        ("14 directly, without a class-data archive\n", ""),
        ("14 directly, with the class-data archive\n", ""),
    ]
    cache = tmp_path / "cache" / "diag"
    assert eventually(lambda: [path.suffix for path in cache.iterdir()] == [".jsa"], seconds=240)


def test_java_without_the_module_that_spark_submit_demands_is_enough(host: dict[str, str], tmp_path: Path, real_java: Java) -> None:
    packaged = java_that(tmp_path / "java", real_java, "*jdk.incubator.vector*")  # as Java from a wheel
    done = run(RUN, host | packaged | {SWITCH: "1"}, tmp_path)
    assert (done.stdout, done.stderr) == ("14 directly, without a class-data archive\n", "")


# --- who may talk to it


def listening(pids: list[int]) -> list[str]:
    """Addresses, in hexadecimal as /proc has them, at which these processes listen."""
    inodes = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                inodes.add(os.readlink(descriptor).removeprefix("socket:[").removesuffix("]"))
    rows = [line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and row[9] in inodes]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux")
def test_it_listens_on_this_host_alone_and_wants_a_secret(waiting: Callable[[str], tuple[subprocess.Popen[str], int, Path]]) -> None:
    process, group, _ = waiting("engine.context().parallelize([1], 1).map(str).collect(); engine.session().range(1).collect()")
    found = listening([process.pid, *processes_of(group)])
    assert found
    here = ("0100007F:", "0000000000000000FFFF00000100007F:", "00000000000000000000000001000000:")
    assert [address for address in found if not address.startswith(here)] == []
    for address in found:
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2], 16)), timeout=10) as stranger:
            stranger.settimeout(10)
            with suppress(OSError):
                stranger.sendall(b"r\nu\njava\nrj\ne\n")  # py4j: what is java?
                assert not stranger.recv(100).startswith(b"!y"), address


# --- the end


@pytest.mark.parametrize(
    "ready", ["pass", "engine.context().parallelize([1], 1).map(str).collect()"], ids=["while it boots", "when it runs"]
)
def test_ctrl_c_ends_it_at_once_and_nothing_stays(waiting: Callable[[str], tuple[subprocess.Popen[str], int, Path]], ready: str) -> None:
    process, group, directory = waiting(ready)
    assert processes_of(group)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _out, error = process.communicate(timeout=30)
    assert (process.returncode, error) == (130, "")
    assert time.monotonic() - began < 5
    assert not directory.exists()
    assert eventually(lambda: not processes_of(group), seconds=5)


def test_after_kill_9_the_jvm_ends_by_itself_and_clears_up(waiting: Callable[[str], tuple[subprocess.Popen[str], int, Path]]) -> None:
    process, group, directory = waiting("engine.context().parallelize([1], 1).map(str).collect()")
    process.kill()
    process.wait()
    assert eventually(lambda: not processes_of(group))
    assert eventually(lambda: not directory.exists())


def test_a_java_that_dies_is_reported_in_one_sentence(host: dict[str, str], tmp_path: Path, real_java: Java) -> None:
    code = """
from cli.exits import CannotLook
from cli.spark import Engine
engine = Engine.start()
try:
    engine.context()
except CannotLook as error:
    print(error.message)
engine.stop()
"""
    done = run(code, host | java_that(tmp_path / "java", real_java, "*"), tmp_path)
    assert done.stdout == "Spark's JVM ended before it could be used: Error: Could not create the Java Virtual Machine.\n"
    assert done.stderr == ""
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_launcher_of_pyspark_is_the_last_resort(host: dict[str, str], tmp_path: Path, real_java: Java) -> None:
    from cli.java import has_module

    if not has_module(real_java, "jdk.incubator.vector"):
        pytest.skip("this Java lacks what spark-submit demands, so there is no such resort")
    done = run(RUN, host | java_that(tmp_path / "java", real_java, "*' org.apache.spark.api.python.PythonGatewayServer '*"), tmp_path)
    assert (done.stdout, done.stderr) == ("14 through PySpark's launcher\n", "")
    assert eventually(lambda: not list((tmp_path / "tmp").iterdir()))


def test_one_process_can_start_spark_twice(host: dict[str, str], tmp_path: Path) -> None:
    done = run(RUN + RUN.replace("import sys, pyarrow", ""), host | {SWITCH: "1"}, tmp_path)
    assert (done.stdout, done.stderr) == ("14 directly, without a class-data archive\n" * 2, "")
    assert list((tmp_path / "tmp").iterdir()) == []


def test_executors_elsewhere_get_the_analyzers_and_nothing_else(tmp_path: Path) -> None:
    names = zipfile.ZipFile(_zip_analyzers(tmp_path)).namelist()
    assert "analyzers/__init__.py" in names
    assert {name.split("/")[0] for name in names} == {"analyzers"}
    assert not [name for name in names if "__pycache__" in name]
    code = "import sys; sys.path.insert(0, sys.argv[1]); import analyzers; print(analyzers.__file__)"
    where = subprocess.run([sys.executable, "-I", "-c", code, str(tmp_path / "analyzers.zip")], capture_output=True, text=True, check=True)
    assert "analyzers.zip" in where.stdout
