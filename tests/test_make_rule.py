"""`make rule CODE=…` says that a rule holds where it does, and only there; `found` refuses facts that would be taken for its parameters."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from analyzers.tables import TABLES
from analyzers.tables.arrow import arrow
from analyzers.vocabulary import count, event, found

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent
CODE = "BRK208"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make rule` needs of the checkout, with the bundles of one rule and a few that are well."""
    copy = tmp_path_factory.mktemp("tree")
    for name in ("analyzers", "cli", "tests", ".ci", "requirements"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (CODE, "CKP303"):
        shutil.copytree(ROOT / "fixtures" / name, copy / "fixtures" / name)
    for kind in ("ill", "healthy"):
        (copy / "fixtures" / "incidents" / kind).mkdir(parents=True)
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def make_rule(tree: Path, code: str = CODE) -> subprocess.CompletedProcess[str]:
    surroundings = os.environ | {"CODE": code, "TITLE": "", "PYTHONPATH": str(tree)}
    return subprocess.run([sys.executable, ".ci/rule.py"], cwd=tree, env=surroundings, capture_output=True, text=True, check=False)


def changed(path: Path, before: str, after: str) -> str:
    """The text of `path` as it was; `before` must stand in it."""
    text = path.read_text()
    assert re.search(before, text)
    path.write_text(re.sub(before, after, text, count=1))
    return text


@pytest.mark.jvm
def test_a_rule_that_holds_does_and_a_quiet_bundle_that_it_calls_ill_is_named(tree: Path) -> None:
    whole = make_rule(tree)
    assert (whole.returncode, f"{CODE} holds" in whole.stdout) == (0, True), whole.stdout + whole.stderr
    quiet = tree / "fixtures" / CODE / "quiet-too"
    shutil.copytree(tree / "fixtures" / CODE / "fires", quiet)
    (quiet / "expect.json").write_text('{"why": "it is said to be well, and is not", "healthy": true}\n')
    done = make_rule(tree)
    shutil.rmtree(quiet)
    assert (done.returncode, f"{CODE} holds" in done.stdout) == (1, False), done.stdout
    assert f"test_rule_is_quiet[{CODE}/quiet-too]" in done.stdout


@pytest.mark.jvm
def test_a_signature_that_its_own_sample_does_not_match_is_named(tree: Path) -> None:
    signatures = sorted(set(re.findall(r'"([a-z0-9]+(?:-[a-z0-9]+)+)"', next((tree / "analyzers/rules").glob("brk208_*.py")).read_text())))
    (place, name) = next(
        (path, name) for name in signatures for path in (tree / "analyzers/logs/signatures").glob("*.py") if f'"{name}"' in path.read_text()
    )
    text = changed(place, rf'(?s)("{name}".*?pattern=r?")', r"\1no such text in it ")
    done = make_rule(tree)
    place.write_text(text)
    assert (done.returncode, f"{CODE} holds" in done.stdout) == (1, False), done.stdout
    assert name in done.stdout


@pytest.mark.parametrize(
    ("name", "fact"),
    {"of": "count(1)", "at": "max(at)", "table": "max(text)", "most": "max(line)", "file": "max(file)", "shown": "max(text)"}.items(),
)
def test_a_fact_that_is_called_like_a_parameter_is_refused(spark: SparkSession, name: str, fact: str) -> None:
    rows = spark.createDataFrame(arrow(TABLES["log_events"], []))
    assert "times" in found(rows, "job", of=event("checkpoint-completed"), times=count()).columns
    given: Any = {name: F.expr(fact)}
    with pytest.raises(ValueError, match=f"no fact can be named {name}, which is a parameter of found"):
        found(rows, "job", **given)
