"""A few almost right bytes for every parser, always the same; `make fuzz` goes on for minutes or hours."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.hostile.fuzz import TARGETS, Finding, Target, fuzz, inputs, tried

SECONDS = 0.8
"""For each parser: what it manages in that time is enough to see that the target works, and what was found is a test of its own."""
MOST = 300


@pytest.mark.parametrize("name", TARGETS)
def test_almost_right_bytes_are_read_or_refused(name: str) -> None:
    until = time.monotonic() + SECONDS
    for number, data in enumerate(inputs(TARGETS[name], 1)):
        tried(name, data)
        if number == MOST or (number >= 2 and time.monotonic() > until):
            return


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_understood(name: str) -> None:
    seeds = TARGETS[name].seeds()
    assert seeds
    for seed in seeds[:2]:
        tried(name, seed)


def test_a_finding_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def read(data: bytes) -> None:
        if b"\xff" in data:
            raise KeyError("of a parser")

    monkeypatch.setitem(TARGETS, "broken", Target(lambda: [b"\xff" * 9], read))
    with pytest.raises(Finding, match="of a parser"):
        tried("broken", b"\xff")
    tries, findings = fuzz("broken", 1, 0.05, tmp_path)
    assert tries > 1
    assert findings == 1  # the same once more is not kept
    assert len(list(tmp_path.iterdir())) == 1
