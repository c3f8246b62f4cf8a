"""The first runs of blind sets, run again: the product of a commit, as it was, on the labels of another one.

`python -m benchmarks.incidents.first_run 481-492` (none named: all, some ten minutes) says what was noted at the time and what comes out
now; ``--write`` keeps it in ``first_runs.json`` and on the page. Both commits are taken out of git; the environment is today's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from benchmarks.incidents.cases import ROOT, load
from benchmarks.incidents.results import stored
from benchmarks.incidents.table import FIRST_RUNS, first_runs_text, write

_PRODUCT = ("analyzers", "cli", "tests", "requirements", "pyproject.toml")
_COUNT = """
import json, re, sys
from pathlib import Path
import tests.test_told as told
from cli.engine.spark import Engine
first, last = map(int, sys.argv[1].split("-"))
told.TOLD[:] = [case for case in sorted(Path("fixtures/told").resolve().iterdir()) if first <= int(case.name[:3]) <= last]
with Engine.start("local[2]") as engine:
    engine.context()
    if hasattr(told, "judged"):
        reports = {case: report for case, (report, _) in told.judged.__wrapped__(engine).items()}
    else:
        reports = told.reports.__wrapped__(engine)
    words = entities = whole = alarms = healthy = 0
    for case, report in reports.items():
        label = json.loads((case / "case.json").read_text())
        if label.get("healthy"):
            healthy, alarms = healthy + 1, alarms + bool(report.verdicts)
            continue
        card = told.card(report)
        found = sum(bool(re.search(word, card, re.I)) for word in label["must_say"])
        facts = (value if isinstance(value, list) else [value] for value in label["key_facts"].values())
        words, whole = words + found, whole + (found == len(label["must_say"]))
        entities += sum(any(str(one) in card for one in each) for each in facts)
print(json.dumps([words, entities, whole, alarms, healthy]))
"""


def again(one: dict[str, Any]) -> list[int]:
    """Words, entities, whole cases, false alarms and healthy cases of a set. Raises ``SystemExit`` where a commit is missing or fails."""
    with tempfile.TemporaryDirectory() as home:
        _take(one["product"], _PRODUCT, home)
        _take(one["labels"], ("fixtures/told",), home)
        script = Path(home) / "count.py"  # its directory comes first on the path: the code of then, not what is installed
        script.write_text(_COUNT, encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": home}
        command = [sys.executable, str(script), one["cases"]]
        done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{one['cases']} cannot be run with the product of {one['product']}: {done.stderr[-1500:]}")
    found: list[int] = json.loads(done.stdout.splitlines()[-1])
    return found


def _take(commit: str, paths: tuple[str, ...], home: str) -> None:
    taken = subprocess.run(["git", "-C", str(ROOT), "archive", commit, *paths], capture_output=True, check=False)
    if taken.returncode:
        raise SystemExit(f"git has no {commit} here; a clone with its whole history has: {taken.stderr.decode(errors='replace')}")
    with tarfile.open(fileobj=BytesIO(taken.stdout)) as archive:
        archive.extractall(home, filter="data")


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 run, 2 no such set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.incidents.first_run", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="CASES", help="as in first_runs.json: 481-492")
    parser.add_argument("--write", action="store_true", help="keep what comes out in first_runs.json")
    options = parser.parse_args(arguments)
    known: list[dict[str, Any]] = json.loads(FIRST_RUNS.read_text(encoding="utf-8"))
    if unknown := set(options.sets) - {one["cases"] for one in known}:
        parser.error(f"no set is called {', '.join(sorted(unknown))}; there are: {', '.join(one['cases'] for one in known)}")
    for one in known:
        if options.sets and one["cases"] not in options.sets:
            continue
        noted = [one[key][0] for key in ("words", "entities", "whole")]
        if one["product"] is None:
            print(f"{one['cases']}: noted {noted}; the product of that time is in no commit")
            continue
        one["again"] = again(one)
        print(f"{one['cases']}: noted {noted}; again {one['again'][:3]}, false alarms {one['again'][3]} of {one['again'][4]}", flush=True)
    if options.write:
        FIRST_RUNS.write_text(first_runs_text(known), encoding="utf-8")
        if results := stored():
            write(results, load())
    return 0


if __name__ == "__main__":
    sys.exit(main())
