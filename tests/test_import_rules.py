"""Which room may import what. Data flows one way, and what is heavy is loaded by the commands that need it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("pyspark", "py4j", "pandas", "confluent_kafka", "pyarrow", "numpy", "kafka")

# room → what nothing in it may import, at any depth of the code
NEVER = {
    "analyzers": ("cli",),
    "analyzers/logs": ("pyspark", "py4j", "pandas", "analyzers.readers", "analyzers.rules", "analyzers.derived"),
    "analyzers/checkpoints": ("pyspark", "py4j", "pandas", "analyzers.readers", "analyzers.rules", "analyzers.derived"),
    "analyzers/derived": ("pyspark", "py4j", "pandas", "analyzers.rules"),
    "analyzers/forecast": ("pyspark", "py4j", "pandas", "analyzers.readers", "analyzers.rules", "analyzers.derived", "analyzers.tables"),
    "cli/renderers": ("pyspark", "py4j", "confluent_kafka", "cli.collectors", "cli.commands"),
    "cli/collectors": ("pyspark", "py4j", "cli.renderers", "cli.commands"),
}
OPENERS = {"open", "read_text", "read_bytes", "write_text", "write_bytes"}
MAY_OPEN = ("analyzers/readers", "analyzers/bundle")


def modules(room: str) -> list[Path]:
    found = sorted((ROOT / room).rglob("*.py"))
    assert found, f"{room} has no modules: the rule would hold for nothing"
    return found


def imports(path: Path, *, at_import_time: bool = False) -> Iterator[tuple[int, str]]:
    """Yield line and full name of each import; with `at_import_time` without those in functions and under TYPE_CHECKING."""
    package = ".".join(path.relative_to(ROOT).with_suffix("").parts[:-1])

    def walk(node: ast.AST) -> Iterator[tuple[int, str]]:
        if at_import_time and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return
        if at_import_time and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from walk(other)
            return
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                parts = package.split(".")
                origin = ".".join([*parts[: len(parts) - node.level + 1], *([origin] if origin else [])])
            yield node.lineno, origin
            yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)
        for child in ast.iter_child_nodes(node):
            yield from walk(child)

    return walk(ast.parse(path.read_text(encoding="utf-8")))


def offenders(room: str, forbidden: tuple[str, ...], *, at_import_time: bool) -> list[str]:
    return sorted(
        {
            f"{path.relative_to(ROOT)}:{line} imports {name}"
            for path in modules(room)
            for line, name in imports(path, at_import_time=at_import_time)
            if any(name == module or name.startswith(module + ".") for module in forbidden)
        }
    )


@pytest.mark.parametrize("room", NEVER)
def test_a_room_never_imports(room: str) -> None:
    assert offenders(room, NEVER[room], at_import_time=False) == []


@pytest.mark.parametrize("room", ["cli/main.py", "cli/commands"])
def test_the_command_line_loads_nothing_heavy_to_say_help(room: str) -> None:
    paths = [ROOT / room] if room.endswith(".py") else modules(room)
    found = [
        f"{path.name}:{line} {name}" for path in paths for line, name in imports(path, at_import_time=True) if name.split(".")[0] in HEAVY
    ]
    assert found == []


def test_help_loads_nothing_heavy() -> None:
    code = f"import sys, cli.main; print(sorted(m for m in {HEAVY} if m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip() == "[]"


def test_only_readers_and_bundles_open_files_among_the_analyzers() -> None:
    found = []
    for path in modules("analyzers"):
        room = str(path.relative_to(ROOT))
        if room.startswith(MAY_OPEN) or room == "analyzers/runbooks/__init__.py":  # pages are package data
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
                if called in OPENERS:
                    found.append(f"{room}:{node.lineno} calls {called}")
    assert found == []


def test_rules_run_on_columns_only() -> None:
    """A rule has no UDF, no collect, no clock, no environment: it would not scale to a fleet, or not give the same answer twice."""
    banned = {
        "collect",
        "toPandas",
        "udf",
        "pandas_udf",
        "mapInPandas",
        "mapInArrow",
        "now",
        "today",
        "time",
        "getenv",
        "current_timestamp",
    }
    found = []
    for path in modules("analyzers/rules"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
                if called in banned:
                    found.append(f"{path.name}:{node.lineno} calls {called}")
    assert found == []


def test_no_room_of_odds_and_ends() -> None:
    odd = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base"}
    assert [str(path) for room in ("cli", "analyzers") for path in modules(room) if path.stem in odd or path.parent.name in odd] == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import pyspark.sql", ["pyspark.sql"]),
        ("def f():\n    import pandas", []),
        ("if TYPE_CHECKING:\n    import pyspark\nelse:\n    import numpy", ["numpy"]),
        ("try:\n    import pandas\nexcept ImportError:\n    pass", ["pandas"]),
        ("class A:\n    import pyarrow", ["pyarrow"]),
    ],
)
def test_the_rules_see_what_is_imported_at_import_time(
    source: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "module.py"
    path.write_text(source)
    assert [name for _line, name in imports(path, at_import_time=True)] == expected
