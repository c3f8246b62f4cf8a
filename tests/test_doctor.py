"""`diag doctor` is asked when things are broken: whatever is missing is a line of its answer, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands.doctor import Check, checks
from cli.engine.class_archive import SWITCH
from cli.engine.java import Java
from cli.engine.jvm import class_archive
from cli.shell.exits import CannotLook


def by_name(found: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in found}


def test_without_spark_it_looks_at_everything_else() -> None:
    found = by_name(list(checks(spark=False)))
    assert list(found) == ["python", "packages", "matcher", "java", "class-data archive", "waiting JVM", "scan cache", "temporary space"]
    assert found["java"].state == "ok"
    assert "pyspark 4." in found["packages"].says


def test_a_missing_java_fails_its_line_and_tells_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise CannotLook("Spark needs Java 17 or newer and none was found.", "Install one.")

    monkeypatch.setattr("cli.engine.java.find_java", missing)
    found = by_name(list(checks(spark=False)))
    assert (found["java"].state, found["java"].fix) == ("failed", "Install one.")
    assert found["temporary space"].state != "failed"


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.commands.doctor.PACKAGES", ("numpy", "no-such-package"))
    found = by_name(list(checks(spark=False)))["packages"]
    assert (found.state, found.says) == ("failed", "missing: no-such-package")


def test_a_full_disk_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.commands.doctor.ROOM_BYTES", 1 << 62)
    assert by_name(list(checks(spark=False)))["temporary space"].state == "warning"


def test_a_defect_of_a_check_is_a_failed_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash() -> str:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr("tempfile.gettempdir", crash)
    assert by_name(list(checks(spark=False)))["temporary space"] == Check("temporary space", "failed", "ZeroDivisionError: boom")


def test_a_recording_that_failed_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, real_java: Java) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    archive = class_archive(real_java)
    if archive is None:
        pytest.skip("this Java can have no archive")
    assert by_name(list(checks(spark=False)))["class-data archive"].says.startswith("not recorded yet; the next run with Spark does")
    archive.note_failure("Java ended with 0: Unable to map")
    told = by_name(list(checks(spark=False)))["class-data archive"]
    assert (told.state, told.says) == (
        "warning",
        "the last recording failed: Java ended with 0: Unable to map; tried again at the next run with Spark",
    )
    archive.note_failure("Java ended with 134: # SIGSEGV")
    told = by_name(list(checks(spark=False)))["class-data archive"]
    assert told.says == "the last 2 recordings failed, the newest: Java ended with 134: # SIGSEGV; tried again in 10 min at the earliest"
    assert str(archive.failure_mark) in told.fix
