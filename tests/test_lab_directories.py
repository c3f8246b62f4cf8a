"""What a killed driver of the lab leaves among the temporary files, and that nothing of a living one is touched."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fcntl")
from fixtures.lab import directories

DRIVER = "from fixtures.lab.directories import work_directory; import sys; print(work_directory('kafka-'), flush=True); sys.stdin.read()"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(directories, "_notes", None)
    monkeypatch.setattr("atexit.register", lambda *_: None)
    return tmp_path


def driver(temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another driver, and the directory it has made."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        env={"TMPDIR": str(temporary)},
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def ended(process: subprocess.Popen[str], how: signal.Signals) -> None:
    process.send_signal(how)
    process.communicate()


def test_what_a_killed_driver_left_goes_when_the_next_one_makes_its_first(temporary: Path) -> None:
    process, left = driver(temporary)
    (left / "server-1.log").write_text("…")
    ended(process, signal.SIGKILL)
    assert left.is_dir(), "nobody could remove it"
    own = directories.work_directory("kafka-")
    assert own.is_dir()
    assert not left.exists()
    assert len(list(temporary.iterdir())) == 2, "our directory and our notes, none of the dead driver's"


def test_a_living_driver_keeps_its_own(temporary: Path) -> None:
    process, its = driver(temporary)
    try:
        assert directories.remove_stale() == []
        assert its.is_dir()
    finally:
        ended(process, signal.SIGKILL)
    assert directories.remove_stale() == [its]


def test_a_driver_that_ends_in_order_leaves_no_notes(temporary: Path) -> None:
    process, its = driver(temporary)
    its.rmdir()  # as its owner does
    process.communicate()
    assert list(temporary.iterdir()) == []


def test_directories_that_nobody_noted_stay(temporary: Path) -> None:
    (temporary / "kafka-somebody").mkdir()
    assert directories.remove_stale() == []
    assert (temporary / "kafka-somebody").is_dir()


def test_what_is_kept_outlives_its_driver_and_the_rest_goes(temporary: Path) -> None:
    half, whole = directories.work_directory("recording-"), directories.work_directory("recording-")
    directories.keep(whole)
    assert directories._notes is not None
    directories._notes[1].close()  # as the kernel does at the end of a driver that is killed
    assert directories.remove_stale() == [half]
    assert whole.is_dir()


def test_a_scratch_directory_ends_with_its_block(temporary: Path) -> None:
    with directories.scratch_directory("workers-") as scratch:
        assert scratch.parent == temporary
        assert scratch.is_dir()
    assert not scratch.exists()
