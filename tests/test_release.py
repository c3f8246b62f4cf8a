"""What a release is made of: one version, and files that whoever has the same tree builds again byte for byte."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EPOCH = 1_764_288_000


def test_the_version_is_that_of_the_changelog() -> None:
    """It stands in pyproject.toml alone; a tag could not be read where diag is built from an archive of the tree."""
    (version,) = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    newest = re.search(r"^## (\S+) – (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == version
    assert re.fullmatch(r"unreleased|\d{4}-\d\d-\d\d", newest[2])


def _built(target: Path, umask: int) -> dict[str, bytes]:
    subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "build.py"), str(target)],
        env={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)},
        umask=umask,
        check=True,
        capture_output=True,
    )
    return {path.name: path.read_bytes() for path in target.iterdir()}


@pytest.mark.long
def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    first, second = _built(tmp_path / "first", 0o022), _built(tmp_path / "second", 0o077)
    assert sorted("".join(Path(name).suffixes[-1:]) for name in first) == [".gz", ".whl"]
    assert [name for name in first if first[name] != second.get(name)] == []
    (wheel,) = (tmp_path / "first").glob("*.whl")
    assert {each.date_time[:3] for each in zipfile.ZipFile(wheel).infolist()} == {(2025, 11, 28)}
    with tarfile.open(next((tmp_path / "first").glob("*.tar.gz"))) as sdist:
        members = sdist.getmembers()
    assert {(each.mtime, each.uid, each.uname) for each in members} == {(EPOCH, 0, "")}
    assert [each.name for each in members if each.issym() or each.islnk()] == []
    assert any(each.name.endswith("/cli/incidents/broker-shrink/jobmanager.log") for each in members)


def test_the_release_names_files_that_are_there_and_no_secret() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    named = re.findall(r"(?<![\w/])((?:\.ci|requirements)/[\w.]+|pyproject\.toml|CHANGELOG\.md)", workflow)
    assert {"pyproject.toml", "CHANGELOG.md", ".ci/build.py", "requirements/run.txt"} <= set(named)
    assert [name for name in named if not (ROOT / name).is_file()] == []
    assert "secrets." not in workflow
    assert workflow.count("id-token: write") == 2, "one job signs, one publishes"
