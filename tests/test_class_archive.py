"""The class-data archive makes Spark's JVM start quicker; whatever is wrong with it, with its cache or its Java costs nothing but that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from cli.engine.class_archive import RECORDING_SECONDS, RETRY_SECONDS, SWITCH, ClassArchive, archive_for
from cli.engine.java import Java
from cli.engine.jvm import _SHELL, class_archive, spark_jars
from tests.spark_hosts import RUN, eventually, java_that, run


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, real_java: Java) -> ClassArchive:
    """The archive of a host on which nothing was recorded yet."""
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    archive = archive_for(real_java, spark_jars(), [])
    assert archive is not None
    return archive


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


def test_a_truncated_archive_is_not_even_offered_to_a_jvm(archive: ClassArchive) -> None:
    path = archive.directory / f"spark-{archive.key}-5.jsa"
    path.write_bytes(b"whole")
    assert archive.usable() == path
    path.write_bytes(b"hal")
    assert archive.usable() is None
    assert not path.exists()


def test_an_archive_that_kills_the_jvm_is_removed_and_spark_starts_without(host: dict[str, str], tmp_path: Path, real_java: Java) -> None:
    host = host | java_that(tmp_path / "java", real_java, "*-XX:SharedArchiveFile=*|*-XX:AOTCache=*")
    plant = f"""
import cli.engine.jvm, cli.engine.java
archive = cli.engine.jvm.class_archive(cli.engine.java.find_java())
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


def test_no_recording_on_a_disk_without_room(monkeypatch: pytest.MonkeyPatch, archive: ClassArchive) -> None:
    monkeypatch.setattr("cli.engine.class_archive.ROOM_BYTES", 1 << 62)
    assert archive.start_recording() is None
    monkeypatch.setattr("cli.engine.class_archive.ROOM_BYTES", 0)
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


def test_the_archive_of_another_java_is_not_looked_at(archive: ClassArchive, real_java: Java) -> None:
    (archive.directory / f"spark-{archive.key}-5.jsa").write_bytes(b"whole")
    for other in (replace(real_java, full_version="17.0.99"), replace(real_java, home=real_java.home.parent)):
        theirs = archive_for(other, spark_jars(), [])
        assert theirs is None or theirs.usable() is None
    assert archive.usable() is not None


def test_a_recording_that_was_killed_is_cleared_away_and_made_anew(archive: ClassArchive) -> None:
    dead = archive.directory / f"spark-{archive.key}.recording-1"
    dead.write_bytes(b"half an archive")
    assert archive.usable() is None  # never taken for a whole one
    assert archive.start_recording() is None  # it may still be going on
    old = time.time() - RECORDING_SECONDS - 1
    os.utime(dead, (old, old))
    assert archive.start_recording() is not None
    assert not dead.exists()


def test_a_recording_that_failed_is_tried_again_and_keeps_its_reason(archive: ClassArchive) -> None:
    assert archive.failure(time.time()) is None
    archive.note_failure("Java ended with 0: [error][cds] no room")
    once = archive.failure(time.time())
    assert once is not None
    assert (once.times, once.why, once.wait) == (1, "Java ended with 0: [error][cds] no room", 0)
    recording = archive.start_recording()  # at once: what was wrong may have passed
    assert recording is not None
    recording.unlink()
    archive.note_failure("Java ended with 134: # SIGSEGV")
    assert archive.start_recording() is None
    again = archive.failure(time.time() + RETRY_SECONDS)
    assert again is not None
    assert (again.times, again.why, again.wait) == (2, "Java ended with 134: # SIGSEGV", 0)
    old = time.time() - RETRY_SECONDS - 1
    os.utime(archive.failure_mark, (old, old))
    assert archive.start_recording() is not None


@pytest.mark.parametrize(
    ("java", "says"), [("exit 0", "Java ended with 0: "), ("echo '# SIGSEGV'; kill -SEGV $$", "Java ended with 139: # SIGSEGV")]
)
def test_the_shell_of_a_recording_notes_why_it_failed(java: str, says: str, tmp_path: Path) -> None:
    run_directory, failed = tmp_path / "run", tmp_path / "spark-key.failed"
    run_directory.mkdir()
    program = tmp_path / "java"
    program.write_text(f"#!/bin/sh\n{java}\n")
    program.chmod(0o700)
    arguments = [
        str(run_directory),
        str(tmp_path / "recording"),
        str(tmp_path / "archive"),
        str(failed),
        str(program),
        "check",
        "/dev/null",
    ]
    with (run_directory / "jvm.log").open("wb") as log:
        subprocess.run(["/bin/sh", "-c", _SHELL, *arguments, str(program)], stdout=log, stderr=log, check=False)
    assert failed.read_text().startswith(says)
    assert not run_directory.exists()


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
import cli.engine.jvm, cli.engine.java, shutil
archive = cli.engine.jvm.class_archive(cli.engine.java.find_java())
shutil.copy({str(stale)!r}, archive.directory / f"spark-{{archive.key}}-{stale.stat().st_size}.jsa")
{RUN}"""
    done = run(plant, host, tmp_path)
    assert (done.stdout, done.stderr) == ("14 directly, without a class-data archive\n", "")
    assert not list((tmp_path / "cache").rglob("*.jsa"))


def test_of_many_that_ask_at_once_one_records(tmp_path: Path) -> None:
    for number in range(40):
        directory = tmp_path / str(number)
        directory.mkdir()
        archive, together = ClassArchive(directory, "key", ahead_of_time=False), threading.Barrier(6)

        def ask(archive: ClassArchive = archive, together: threading.Barrier = together) -> Path | None:
            together.wait()
            return archive.start_recording()

        with ThreadPoolExecutor(6) as pool:
            asked = [pool.submit(ask) for _ in range(6)]
        assert sum(one.result() is not None for one in asked) == 1


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
