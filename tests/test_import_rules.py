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

# Data flows down this list: a stage imports only earlier ones.
STAGES = (
    "analyzers.budget",
    "analyzers.components",
    "analyzers.secrets",
    "analyzers.tables",
    "analyzers.forecast",
    "analyzers.checkpoints",
    "analyzers.logs",
    "analyzers.inference",
    "analyzers.states",
    "analyzers.bundle",
    "analyzers.readers",
    "analyzers.derived",
    "analyzers.report",
    "analyzers.runbooks",
    "analyzers.vocabulary",
    "analyzers.rules",
    "analyzers.own_rules",
    "analyzers.causal",
    "analyzers.diagnosis",
    "analyzers.comparison",
    "analyzers.watching",
    "analyzers.fleet",
    "cli.renderers",
    "cli.shell",
    "cli.engine",
    "cli.collectors",
    "cli.options",
    "cli.incidents",
    "cli.runs",
    "cli.tools",
    "cli.commands",
)
LOOSE = {"analyzers": {"__init__.py"}, "cli": {"__init__.py", "__main__.py", "main.py", "version.py"}}
# stage → what nothing in it may import, at any depth of the code
NEVER = {
    **dict.fromkeys(
        (
            "analyzers/components",
            "analyzers/inference",
            "analyzers/logs",
            "analyzers/states",
            "analyzers/checkpoints",
            "analyzers/derived",
            "analyzers/forecast",
        ),
        ("pyspark", "py4j", "pandas"),
    ),
    "cli/renderers": ("pyspark", "py4j", "confluent_kafka"),
    "cli/collectors": ("pyspark", "py4j"),
}
# stages that may do without what stands before them: both are small enough to be read alone
ALONE = {"analyzers/forecast": "analyzers.tables", "cli/collectors": "cli.renderers"}
OPENERS = {"open", "read_text", "read_bytes", "write_text", "write_bytes"}
MAY_OPEN = ("analyzers/readers", "analyzers/bundle")
PACKAGE_DATA = {
    "analyzers/runbooks/__init__.py",
    "analyzers/components/toml_files.py",
    "analyzers/causal/ordinary.py",
    "analyzers/derived/planned/upgrade/facts.py",
}
"""Modules that read the data files of their own room."""


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


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def offenders(room: str, forbidden: tuple[str, ...], *, at_import_time: bool) -> list[str]:
    return sorted(
        {
            f"{path.relative_to(ROOT)}:{line} imports {name}"
            for path in modules(room)
            for line, name in imports(path, at_import_time=at_import_time)
            if any(name == module or name.startswith(module + ".") for module in forbidden)
        }
    )


def test_a_stage_imports_only_earlier_ones() -> None:
    found = []
    for at, stage in enumerate(STAGES):
        room = stage.replace(".", "/")
        found += offenders(room, STAGES[at + 1 :], at_import_time=False)
    assert found == []


def test_every_room_is_a_stage_and_nothing_lies_loose() -> None:
    for top, loose in LOOSE.items():
        assert {path.name for path in (ROOT / top).glob("*.py")} == loose
        rooms = {path.parent.name for path in (ROOT / top).glob("*/__init__.py")}
        assert {f"{top}.{room}" for room in rooms} == {stage for stage in STAGES if stage.startswith(top)}


def test_no_circle_of_modules() -> None:
    """Not even one that is cut by an import within a function or for types alone."""
    graph = {module_name(path): set() for top in LOOSE for path in modules(top)}
    for top in LOOSE:
        for path in modules(top):
            if path.name != "__init__.py":  # a package that re-exports its modules is no circle
                graph[module_name(path)] = {name for _, name in imports(path) if name in graph} - {module_name(path)}
    left = dict(graph)
    while free := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in free:
            del left[name]
    assert not left, f"circle among: {sorted(left)}"


@pytest.mark.parametrize("room", NEVER)
def test_a_room_never_imports(room: str) -> None:
    assert offenders(room, NEVER[room], at_import_time=False) == []


@pytest.mark.parametrize(("room", "without"), ALONE.items())
def test_a_room_stands_alone(room: str, without: str) -> None:
    assert offenders(room, (without,), at_import_time=False) == []


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
        if room.startswith(MAY_OPEN) or room in PACKAGE_DATA:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
                if called in OPENERS:
                    found.append(f"{room}:{node.lineno} calls {called}")
    assert found == []


def test_rules_run_on_columns_only() -> None:
    """Neither a rule nor its words have a UDF, an action, a clock, an environment: it would not scale to a fleet, or not answer alike."""
    banned = {
        "collect",
        "toPandas",
        "toArrow",
        "toLocalIterator",
        "head",
        "take",
        "isEmpty",
        "foreach",
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
    for path in (*modules("analyzers/rules"), *modules("analyzers/vocabulary")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
                of = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else "F"
                # F.first and F.count are columns, and the count of groups is a frame
                if called in banned or (called in {"first", "count"} and of != "F" and "groupBy" not in of.rpartition(".")[2]):
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
