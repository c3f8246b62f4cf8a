"""Directories are searched within bounds, and never those that the kernel makes up; what was not searched is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzers.fleet.places import places
from analyzers.readers import walking
from analyzers.readers.file_trees import LocalTree
from analyzers.readers.opening import open_file
from analyzers.readers.sources import discover

PROC = pytest.mark.skipif(walking.made_by_the_kernel("/proc") != "proc", reason="there is no /proc here")


@PROC
def test_file_systems_of_the_kernel_are_not_searched(tmp_path: Path) -> None:
    found = discover(["/proc"])
    assert (found.candidates, found.passed_over) == ([], 0)
    assert found.troubles == [("/proc", "is a file system of the kernel (proc), where no program writes a log: it was not searched", True)]
    (tmp_path / "link").symlink_to("/proc")
    (tmp_path / "a.log").write_text("x\n")
    beside = discover([str(tmp_path)])
    assert [Path(each.path).name for each in beside.candidates] == ["a.log"]
    assert [(Path(name).name, whole) for name, _, whole in beside.troubles] == [("link", False)]
    assert LocalTree("/proc").entries("/proc") == []
    with pytest.raises(OSError, match=r"made up by the kernel \(proc\)"):
        open_file("/proc/self/status")
    assert [place.size for place in places(["/proc"], "glob")] == [0]


def test_what_has_no_end_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        (tmp_path / f"d{number:02d}").mkdir()
        (tmp_path / f"d{number:02d}" / "a.log").write_text("x\n")
    assert len(discover([str(tmp_path)]).candidates) == 40
    with monkeypatch.context() as patch:
        patch.setattr(walking, "_MOST_ENTRIES", 60)
        few = discover([str(tmp_path)])
    assert 10 < len(few.candidates) < 40
    assert "has more than 60 entries: what lies behind " in few.troubles[0][1]
    clock = iter(range(0, 10_000, 7))
    monkeypatch.setattr(walking.time, "monotonic", lambda: float(next(clock)))
    slow = discover([str(tmp_path)])
    assert 5 < len(slow.candidates) < 40
    assert "took more than 60 s to list " in slow.troubles[0][1]
