"""What the most is that diag reads stands in one place: no reader has a bound of its own, each bound there is one of a reader."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from analyzers.budget import BUDGET, Budget
from analyzers.bundle.packed import Stored, TooMuch
from analyzers.bundle.room import Room
from cli.collectors.json_answers import Appetite, TooMuchJson

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("analyzers/bundle", "analyzers/checkpoints", "analyzers/logs", "analyzers/readers", "analyzers/states", "cli/collectors")
"""Those that read what others wrote."""
_BOUND = re.compile(r"_?(?:[A-Z]+_)*(?:MOST|MAX|LIMIT|LARGEST|LONGEST|DEEPEST)(?:_[A-Z]+)*")
LARGE = 1 << 12
"""From here on a bound is one of what comes in; a smaller one says how much of it is shown, or how long a name is."""
OF_THE_FORMAT = {
    "_MAX_CHUNK": "Snappy's framing allows no larger chunk",
    "_MAX_PARALLELISM": "Flink refuses a larger one",
    "_MOST_MILLISECONDS": "a moment in the year 2096",
    "_MOST_COUNTED": "a look ahead within a text that is bounded already",
    "_LONGEST_PIECE": "a string within a text that is bounded already",
    "_LONGEST": "the value of a key, or a line, within a text that is bounded already",
    "_LARGEST_OFFSET": "of a time zone",
    "_LONGEST_BLOCK": "a PEM block over pieces of a file",
    "_HEADS_LIMIT": "a cache",
    "_MOST_ROWS": "of one table of a text that is bounded already",
    "_MOST_TEXT": "characters of a cell",
    "_LONGEST_SECONDS": "of an option",
}


def bounds() -> Iterator[tuple[str, str, ast.expr]]:
    """Place, name and value of each constant that is called as a bound is."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(target := node.targets[0], ast.Name):
                    continue
                if _BOUND.fullmatch(target.id):
                    yield str(path.relative_to(ROOT)), target.id, node.value


def number(value: ast.expr) -> float:
    """What an expression of numbers is worth; 0 for any other."""
    if isinstance(value, ast.Constant) and isinstance(value.value, (int, float)):
        return float(value.value)
    if isinstance(value, ast.BinOp):
        left, right = number(value.left), number(value.right)
        return left * 2**right if isinstance(value.op, ast.LShift) else left * right
    return 0.0


def test_no_reader_has_a_large_bound_of_its_own() -> None:
    found = list(bounds())
    assert len(found) > 40
    own = [(place, name) for place, name, value in found if number(value) >= LARGE and name not in OF_THE_FORMAT]
    assert own == []


def test_each_bound_is_one_of_a_reader() -> None:
    texts = "\n".join(path.read_text(encoding="utf-8") for top in ("analyzers", "cli") for path in sorted((ROOT / top).rglob("*.py")))
    used = set(re.findall(r"(?:BUDGET|budget)\.(\w+)", texts))
    assert {field.name for field in fields(Budget)} - used == set()


def test_all_of_it_is_a_number_above_nothing() -> None:
    assert all(getattr(BUDGET, field.name) > 0 for field in fields(Budget))
    with pytest.raises(AttributeError):
        BUDGET.line_bytes = 1  # type: ignore[misc]  # a bound is handed down, not changed


def test_a_smaller_budget_is_kept_by_whom_it_is_handed_to() -> None:
    room = Room(replace(BUDGET, table_values=10))
    room.rows(2, 5)
    with pytest.raises(TooMuch, match="10 values"):
        room.rows(1, 1)
    with pytest.raises(TooMuch):
        Stored(io.BytesIO(), budget=replace(BUDGET, unpacked_least_bytes=5)).unpacked(6)
    with pytest.raises(TooMuchJson, match="more than 3 values"):
        Appetite(replace(BUDGET, answer_values=3)).parsed(b"[1, 2, 3, 4, 5]")
