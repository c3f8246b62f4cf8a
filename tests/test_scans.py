"""A kept scan is one of the same files by the same code: whatever changes of either makes another."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import scans


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The code that reads, in a place of its own, with nothing kept."""
    for room in scans.READ_BY:
        shutil.copytree(scans.ROOT / "analyzers" / room, tmp_path / "analyzers" / room, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "requirements").mkdir()
    shutil.copy(scans.ROOT / "requirements" / "run.txt", tmp_path / "requirements")
    (tmp_path / "tests").mkdir()
    monkeypatch.setattr(scans, "__file__", str(shutil.copy(scans.__file__, tmp_path / "tests")))
    monkeypatch.setattr(scans, "ROOT", tmp_path)
    monkeypatch.setattr(scans, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(scans, "version", scans.version.__wrapped__)
    monkeypatch.setattr(scans, "_of_this_version", scans._of_this_version.__wrapped__)
    return tmp_path


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / "bundle" / "raw").mkdir(parents=True)
    (tmp_path / "bundle" / "raw" / "jobmanager.log").write_text("one line\n")
    return tmp_path / "bundle"


def test_it_is_made_once_and_each_call_has_its_own(tree: Path, bundle: Path) -> None:
    made: list[int] = []

    def make() -> list[int]:
        made.append(1)
        return [1]

    first, second = scans.kept(bundle, make), scans.kept(bundle, make)
    assert (first, second, len(made)) == ([1], [1], 1)
    assert first is not second
    assert (scans.kept(bundle, make, "another scope"), len(made)) == ([1], 2)


def test_a_changed_log_is_read_again(tree: Path, bundle: Path) -> None:
    assert scans.kept(bundle, lambda: "before") == "before"
    (bundle / "raw" / "jobmanager.log").write_text("two lines\n" * 2)
    assert scans.kept(bundle, lambda: "after") == "after"
    (bundle / "raw" / "taskmanager.log").write_text("")
    assert scans.kept(bundle, lambda: "later") == "later"


@pytest.mark.parametrize("place", ["analyzers/logs/signatures/jvm.py", "analyzers/readers/log_scan.py", "requirements/run.txt"])
def test_changed_code_reads_again(tree: Path, bundle: Path, place: str) -> None:
    assert scans.kept(bundle, lambda: "before") == "before"
    with (tree / place).open("a") as file:
        file.write("# a signature more\n")
    assert scans.kept(bundle, lambda: "after") == "after"


def test_what_is_kept_of_older_code_goes(tree: Path, bundle: Path) -> None:
    for number in range(scans._VERSIONS + 2):
        with (tree / "requirements" / "run.txt").open("a") as file:
            file.write(f"# {number}\n")
        scans.kept(bundle, lambda number=number: number)
    assert len(list(scans.KEPT.iterdir())) == scans._VERSIONS


def test_a_damaged_one_is_made_anew(tree: Path, bundle: Path) -> None:
    scans.kept(bundle, lambda: "before")
    for file in scans.KEPT.rglob("*"):
        if file.is_file():
            file.write_bytes(b"\x80")
    assert scans.kept(bundle, lambda: "after") == "after"


def test_what_makes_a_scan_is_what_it_is_kept_for() -> None:
    """A module that is imported to read, of a room whose changes nobody looks at, would leave old scans in place."""
    code = "import sys, analyzers.readers.log_scan, analyzers.bundle.read; print(*(n for n in sys.modules if n.startswith('analyzers.')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=scans.ROOT, capture_output=True, text=True, check=True)
    assert {name.split(".")[1] for name in done.stdout.split()} <= set(scans.READ_BY)
