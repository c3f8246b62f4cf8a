"""What diag writes is for its owner's eyes, whole or absent, and what a killed run leaves is gone after the next one."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from analyzers.bundle import held, read_bundle, write_bundle
from analyzers.readers.log_plan import LogOptions, plan
from analyzers.report.report import Report
from analyzers.tables import TABLES
from cli.shell.environment import Environment
from cli.shell.output import emit

ROOT = Path(__file__).parents[2]
EVENT = TABLES["log_events"].row({"scope": "", "signature": "x", "text": "x"})


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def _a_careless_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize("name", ["b", "b.tar.gz"])
def test_a_bundle_is_its_owners(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    for _ in range(2):
        write_bundle(place, {"log_events": [EVENT]}, version="1", key_store=tmp_path / "keys")
        assert mode(place) == (0o700 if place.is_dir() else 0o600)
        if place.is_dir():
            assert {mode(each) for each in place.iterdir() if each.is_file()} == {0o600}
            (place / "raw" / "deep").mkdir(parents=True, exist_ok=True)
            (place / "raw" / "deep" / "x.log").write_text("x")
    if place.is_dir():
        write_bundle(place, {"log_events": [EVENT]}, version="1", key_store=tmp_path / "keys")
        assert mode(place / "raw" / "deep") == 0o700
        assert mode(place / "raw" / "deep" / "x.log") == 0o600


@pytest.mark.parametrize("name", ["b", "b.tar.gz"])
def test_whom_its_owner_let_in_stays_in(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    write_bundle(place, {"log_events": [EVENT]}, version="1", key_store=tmp_path / "keys")
    place.chmod(0o750)
    write_bundle(place, {"log_events": [EVENT]}, version="1", key_store=tmp_path / "keys")
    assert mode(place) == 0o750


def test_a_report_is_its_owners(tmp_path: Path) -> None:
    place = tmp_path / "r.json"
    silent = Environment(open(os.devnull, "w"), open(os.devnull, "w"))  # noqa: SIM115
    report = Report("diag", "1", "triage", None, (None, None))
    emit(report, [f"json={place}"], environment=silent)
    assert mode(place) == 0o600
    place.chmod(0o644)
    emit(report, [f"json={place}"], environment=silent)
    assert mode(place) == 0o644
    assert [each.name for each in tmp_path.iterdir()] == ["r.json"]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A TMPDIR of its own, in which everything is old at once."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    monkeypatch.setattr(held, "_YOUNG_SECONDS", 0)
    monkeypatch.setattr(held, "_swept", set())
    return place


def killed(code: str, temporary: Path, then: Callable[[], None] = lambda: None) -> None:
    """Run `code` until it has said that it is ready, and kill it; `then` something, before its input ends."""
    environ = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.05)
    then()
    assert list(temporary.iterdir())
    process.stdout.close()
    assert process.stdin is not None
    process.stdin.close()


def test_the_next_run_removes_what_a_killed_one_left(temporary: Path) -> None:
    killed(
        "from analyzers.bundle.held import *; import sys\na = held_directory('spark'); (a / 'x').mkdir(); (a / 'x' / 'y').write_text('z')\n"
        "held_file('stdin'); print('ready', flush=True); sys.stdin.read()",
        temporary,
    )
    assert len(list(temporary.iterdir())) == 2
    time.sleep(0.05)
    mine = held.held_directory("spark")
    assert list(temporary.iterdir()) == [mine]
    held.release(mine)
    assert list(temporary.iterdir()) == []


def test_the_copy_of_standard_input_goes_with_the_next_run(temporary: Path) -> None:
    killed(
        "import io, sys\nfrom analyzers.readers.log_plan import LogOptions, plan\n"
        "p = plan(['-'], LogOptions(stdin=io.BytesIO(b'2026-11-21 09:35:19,130 INFO  org.apache.flink.X - secret')))\n"
        "print('ready', flush=True); sys.stdin.read()",
        temporary,
    )
    assert len(list(temporary.iterdir())) == 1
    time.sleep(0.05)
    made = plan(["-"], LogOptions(stdin=b"2026-11-21 09:35:19,130 INFO  org.apache.flink.X - y\n"))
    assert [str(each) for each in temporary.iterdir()] == made.temporary
    made.close()
    assert list(temporary.iterdir()) == []


def test_what_is_held_or_a_link_or_somebody_elses_stays(temporary: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "x").write_text("x")
    (temporary / "diag-held-link-x").symlink_to(tmp_path / "precious")
    (temporary / "diag-elses").write_text("x")
    code = "from analyzers.bundle.held import *; import sys; held_directory('spark'); print('ready', flush=True); sys.stdin.read()"
    environ = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    before = {each.name for each in temporary.iterdir()}
    assert len(before) == 3
    held.sweep(temporary)
    assert {each.name for each in temporary.iterdir()} == before
    assert (tmp_path / "precious" / "x").exists()
    process.communicate(b"")


def test_a_child_holds_what_it_uses(temporary: Path) -> None:
    """A JVM that records its archive goes on when its run has ended."""
    killed(
        "import subprocess, sys\nfrom analyzers.bundle.held import *\np = held_directory('spark')\n"
        "subprocess.Popen(['sh', '-c', 'read until'], pass_fds=locks(p), stdin=sys.stdin); print('ready', flush=True); sys.stdin.read()",
        temporary,
        then=lambda: held.sweep(temporary),
    )
    for _ in range(100):  # the child ends with its input
        time.sleep(0.05)
        held.sweep(temporary)
        if not list(temporary.iterdir()):
            break
    assert list(temporary.iterdir()) == []


def test_what_a_killed_save_left_beside_its_target_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "_YOUNG_SECONDS", 0)
    left = tmp_path / ".b.diag-held-abc"
    (left / "content").mkdir(parents=True)
    time.sleep(0.05)
    write_bundle(tmp_path / "b", {"log_events": [EVENT]}, version="1", key_store=tmp_path / "keys")
    assert not left.exists()
    assert {each.name for each in tmp_path.iterdir()} == {"b", "keys"}


def test_an_unpacked_bundle_goes_with_its_object(temporary: Path, tmp_path: Path) -> None:
    write_bundle(tmp_path / "b.tar.gz", {"log_events": [EVENT]}, version="1", key_store=tmp_path / "keys")
    bundle = read_bundle(tmp_path / "b.tar.gz")
    assert len(list(temporary.iterdir())) == 1
    del bundle
    assert list(temporary.iterdir()) == []
