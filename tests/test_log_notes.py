"""What is said of logs that were not read whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzers.budget import BUDGET
from analyzers.readers.log_scan import LogOptions, plan, scan

LINE = "2026-03-01 09:00:00,123 INFO  a.B [] - "


def said(folder: Path) -> list[str]:
    looked_at = plan([str(folder)], LogOptions())
    scan(looked_at)
    return [note for note in looked_at.notes if "behind the first" in note]


@pytest.mark.parametrize("more", [0, 3])
def test_a_line_that_is_cut_is_said(tmp_path: Path, more: int) -> None:
    long = LINE + "x" * (BUDGET.line_bytes * 2)
    (tmp_path / "a.log").write_text("\n".join([LINE + "begins", *[long] * (1 + more), LINE + "ends", ""]))
    (note,) = said(tmp_path)
    assert note.startswith(f"{1 + more} line{'s' * bool(more)} of more than 1 MB (")


def test_of_lines_of_usual_length_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text((LINE + "x" * 4000 + "\n") * 2000)
    assert said(tmp_path) == []
