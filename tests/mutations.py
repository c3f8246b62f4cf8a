"""Do the tests notice when a decisive line is broken? Of thirty rules, signatures and collectors one line is negated, one after the other.

    make mutations                          # or: ARGS="CKP303 flink_rest", ARGS="--seed 7", ARGS="--list"

Of a rule the last condition on its rows is negated, of a signature the pattern then matches nothing, of a collector one `if` is negated;
which ones is drawn with the seed. Each is broken in a copy of the tree, and of the tests that `make test` selects those run which name
the file's code: the tests of `make rule` for the code of the rule (or of a rule that names the signature), and the files of tests that
contain that code, the id of the signature, or the name of the collector's module or of one that imports it. What they do not notice is
shown to the same choice of the tests that are left for `make test-rest`.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
COPY = ROOT / ".pytest_cache" / "mutant"
"""Always the same place: the scans that are kept there are those of the run before."""
NOT_BEFORE_A_PUSH = re.compile(r"^NOT_BEFORE_A_PUSH = (.*)$", re.MULTILINE)
SECONDS = 600
GRID = ("test_rule_fires", "test_rule_is_quiet", "test_healthy_bundle_is_healthy", "test_no_rule_crashes",
        "test_every_reason_has_a_bundle_that_gives_it", "test_no_rule_is_passed_over_where_it_finds_something")  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """`text`, the whole file with one line broken; `names`: what tests of it would say, `codes`: the rules that show it."""

    path: Path
    line: int
    text: str
    names: tuple[str, ...]
    codes: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}" + (f" ({self.names[0]})" if self.names[0] not in self.path.name else "")


def _replaced(path: Path, node: ast.expr, change: Callable[[str], str]) -> tuple[int, str]:
    """The line of `node`, and the file with its source changed."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
    return node.lineno, (source[:begin] + change(source[begin:end].decode()).encode() + source[end:]).decode()


def _is_text(node: ast.expr) -> bool:
    """Whether a condition is written in SQL."""
    return any(isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str)) for part in _added(node))


def _added(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _added(node.left)
        yield from _added(node.right)
    else:
        yield node


def rules() -> Iterator[Mutation]:
    for path in sorted((ROOT / "analyzers" / "rules").glob("*_*.py")):
        conditions = [
            node.args[0]
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "where" and len(node.args) == 1
        ]
        if not path.stem.startswith("__") and conditions:
            last = max(conditions, key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))
            code = path.stem.partition("_")[0].upper()
            negated = (lambda text: f'"not (" + ({text}) + ")"') if _is_text(last) else (lambda text: f"~({text})")
            yield Mutation(path, *_replaced(path, last, negated), (code,), (code,))


def signatures() -> Iterator[Mutation]:
    by_rule = {path.stem.partition("_")[0].upper(): path.read_text("utf-8") for path in (ROOT / "analyzers" / "rules").glob("*_*.py")}
    for path in sorted((ROOT / "analyzers" / "logs" / "signatures").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Signature"):
                continue
            given: dict[str | None, ast.expr] = {keyword.arg: keyword.value for keyword in node.keywords}
            given |= dict(zip(("id",), node.args, strict=False))
            name, pattern = given.get("id"), given.get("pattern")
            if isinstance(name, ast.Constant) and isinstance(pattern, ast.Constant):
                codes = tuple(code for code, text in sorted(by_rule.items()) if f'"{name.value}"' in text)
                yield Mutation(path, *_replaced(path, pattern, lambda text: f'"(?!)(?:" {text} ")"'), (str(name.value),), codes[:1])


def collectors() -> Iterator[Mutation]:
    sources = {path: path.read_text("utf-8") for path in sorted((ROOT / "cli").rglob("*.py"))}
    for path in (path for path in sources if "collectors" in path.parts and path.stem != "__init__"):
        imported = re.compile(rf"^ *from cli\.collectors\.\S*\b{path.stem} import ", re.MULTILINE)
        importing = (other.stem for other, text in sources.items() if "collectors" in other.parts and imported.search(text))
        stems = dict.fromkeys((path.stem, *importing))
        names = tuple(stem if "_" in stem else f"collectors.{stem}" for stem in stems)
        for node in ast.walk(ast.parse(sources[path])):
            if isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
                yield Mutation(path, *_replaced(path, node.test, lambda text: f"not ({text})"), names)


def drawn(seed: int, wanted: list[str]) -> list[Mutation]:
    """Ten of each kind, no two of one file where there are as many files; or those of the files and signatures that are `wanted`."""
    out = []
    for kind in (rules, signatures, collectors):
        chance = random.Random(f"{kind.__name__} {seed}")
        found = list(kind())
        chance.shuffle(found)
        if wanted:
            found = [each for each in found if any(name in (*each.names, *each.codes) for name in wanted)]
        of_files: dict[Path, int] = {}
        ranked = []
        for each in found:
            of_files[each.path] = of_files.get(each.path, 0) + 1
            ranked.append((of_files[each.path], len(ranked), each))
        out += [each for _, _, each in sorted(ranked, key=lambda one: one[:2])[:10]]
    return out


def copied() -> None:
    """The tree as it is, beside the scans of earlier copies; the bundles are those of the tree."""
    COPY.mkdir(parents=True, exist_ok=True)
    for name in ("analyzers", "cli", "tests", "benchmarks", "requirements", ".ci", ".github"):
        shutil.rmtree(COPY / name, ignore_errors=True)
        shutil.copytree(ROOT / name, COPY / name, ignore=shutil.ignore_patterns("__pycache__", "out"))
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "SECURITY.md", "Makefile"):
        shutil.copy(ROOT / name, COPY / name)
    if not (COPY / "fixtures").is_symlink():
        (COPY / "fixtures").symlink_to(ROOT / "fixtures")


def naming(names: tuple[str, ...]) -> list[str]:
    """The files of tests that contain one of `names`, as a word."""
    word = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [path.relative_to(ROOT).as_posix() for path in files if path.name != "test_rules.py" and word.search(path.read_text("utf-8"))]


def noticed(mutation: Mutation, chosen: str) -> str | None:
    """The first test of those `chosen` by their marks that fails; None where none does."""
    grid = [([f"tests/test_rules.py::{name}" for name in GRID], {"DIAG_RULE": code}) for code in mutation.codes]
    files = naming(mutation.names)
    if mutation.path.is_relative_to(ROOT / "analyzers" / "logs"):
        files = ["tests/test_signatures.py", *(name for name in files if name != "tests/test_signatures.py")]
    named: list[tuple[list[str], dict[str, str]]] = [(files, {})] if files else []
    runs = [*named, *grid] if len(files) == 1 else [*grid, *named]
    for tests, more in runs:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", chosen, *tests]
        surroundings = {**os.environ, "PYTHONPATH": str(COPY), "PYTHONDONTWRITEBYTECODE": "1", **more}
        try:
            done = subprocess.run(command, cwd=COPY, env=surroundings, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"they take more than {SECONDS} s"
        if done.returncode not in (0, 5):
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
            return failed[1] if failed else f"pytest ended with {done.returncode}"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="codes of rules, ids of signatures, modules of collectors")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="only say what would be broken")
    asked = parser.parse_args()
    (marks,) = NOT_BEFORE_A_PUSH.findall((ROOT / "Makefile").read_text("utf-8"))
    chosen = drawn(asked.seed, asked.names)
    counts = {"make test": 0, "make test-rest": 0, "nothing": 0}
    if not asked.list:
        copied()
    for mutation in chosen:
        if asked.list:
            print(mutation.place)
            continue
        begun = time.monotonic()
        broken = COPY / mutation.path.relative_to(ROOT)
        broken.write_text(mutation.text, encoding="utf-8")
        test, by = noticed(mutation, f"not ({marks})"), "make test"
        if test is None:
            test = noticed(mutation, marks)
            by = "make test-rest" if test else "nothing"
        shutil.copy(mutation.path, broken)
        counts[by] += 1
        print(f"{mutation.place}: noticed by {by}{f': {test}' if test else ''} ({time.monotonic() - begun:.0f} s)", flush=True)
    if not asked.list:
        print(f"{counts['make test']} of {len(chosen)} are noticed by make test, {counts['make test-rest']} more by make test-rest")
    raise SystemExit(1 if counts["nothing"] else 0)


if __name__ == "__main__":
    main()
