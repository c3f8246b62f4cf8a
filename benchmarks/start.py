"""The start: a small triage beside the same in a stock PySpark session, and `diag --help` beside importing what it is made of.

`python benchmarks/start.py --only alone,cold,incident,help --rounds 5`
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed diag has its byte code, and so has what it is compared with

from benchmarks.bench import Bench, Part, print_table  # the checkout is put on the path above
from benchmarks.goals import Row, compared, taken
from benchmarks.measuring import ROOT, Cost, alternate, cpu, run, wall
from benchmarks.triage import INCIDENT, THIN, triage

_HELP_RUNS = 4  # in each round: it takes a tenth of a second
_SMALL = ROOT / "fixtures" / "incidents" / "ill" / "lab-spark-empty-commit" / "raw"
_CHECKPOINT = ROOT / "fixtures" / "checkpoints" / "written" / "v6"
_NOBODY = "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"  # refused at once
_HEAVY = ("pyspark", "py4j", "pandas", "pyarrow", "numpy", "hyperscan", "confluent_kafka")


def stock(path: Path) -> list[str]:
    return [sys.executable, str(ROOT / "benchmarks" / "stock_triage.py"), str(path)]


def findings(cost: Cost) -> Any:
    """What a run found and judged, without what it says of the tool."""
    report = json.loads(cost.output)
    return [report[part] for part in ("verdicts", "findings", "clean", "not_checked", "defects", "sources", "window")]


def against_stock(bench: Bench, path: Path, what: str, goal: float | None) -> Iterator[Row]:
    commands = {"diag": triage(path), "stock": stock(path)}
    for command in commands.values():
        run(command)  # fills the page cache and, once per machine, the class-data archive
    costs = alternate(commands, bench.rounds, output=True)
    found = [findings(cost) for each in costs.values() for cost in each]
    if any(other != found[0] for other in found):
        raise SystemExit(f"{path}: diag and the stock session do not agree")
    said = f"whole `diag triage`, {what}, {{}} against the same in a stock PySpark session ({len(found[0][1])} findings, all alike)"
    yield compared(said.format("wall"), goal, costs["diag"], costs["stock"], wall)
    yield compared(said.format("CPU"), None, costs["diag"], costs["stock"], cpu)


def cold(bench: Bench) -> Iterator[Row]:
    path = bench.corpora.cluster(bench.size(22), THIN)
    yield from against_stock(bench, path, f"{bench.size(22)} MB", 0.30)


def incident(bench: Bench) -> Iterator[Row]:
    yield from against_stock(bench, INCIDENT, "a recorded incident of 1 MB", None)


def alone(bench: Bench) -> Iterator[Row]:
    """Seconds that a person waits, of diag alone."""
    diag = str(Path(sys.executable).with_name("diag"))
    commands = {
        "`diag triage`, a recorded incident of 1 MB": (2.5, triage(INCIDENT)),
        "`diag triage`, a recorded incident of 36 kB": (2.0, triage(_SMALL)),
        "`diag broker-health`, of three addresses none answers, judged": (1.5, [diag, "broker-health", "-q", "-b", _NOBODY]),
        "`diag checkpoint-inspect`, one small checkpoint, judged": (1.5, [diag, "checkpoint-inspect", "-q", str(_CHECKPOINT)]),
    }
    for _, command in commands.values():
        run(command, good=(0, 1, 3))
    words = [first_words([diag, "triage", "-o", "json", str(INCIDENT)]) for _ in range(bench.rounds)]
    yield taken("`diag triage`, a recorded incident of 1 MB: what the logs hold is said on stderr", 0.8, words)
    for what, (goal, command) in commands.items():
        seconds = [run(command, good=(0, 1, 3)).wall for _ in range(bench.rounds)]
        yield taken(f"{what}, seconds", goal, seconds)


def first_words(command: Sequence[str]) -> float:
    """Seconds until stderr says from when to when the logs reach."""
    begun = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if " to " in line and line.rstrip().endswith("UTC"):
                seconds = time.monotonic() - begun
                process.stderr.read()
                return seconds
    raise SystemExit(f"{' '.join(command)} said nothing of its logs")


def help_(bench: Bench) -> Iterator[Row]:
    loads = f"import sys; from cli.main import run; run(['--help']); sys.exit(' '.join(set(sys.modules) & set({_HEAVY!r})) or 0)"
    run([sys.executable, "-c", loads], good=(0,))
    commands = {
        "help": [str(Path(sys.executable).with_name("diag")), "--help"],
        "imports": [sys.executable, "-c", "import typer, rich"],
    }
    costs = alternate(commands, bench.rounds * _HELP_RUNS)
    yield compared("`diag --help`, wall against importing typer and rich; loads no pyspark", 1.3, costs["help"], costs["imports"], wall)
    yield compared("`diag --help`, CPU against importing typer and rich", None, costs["help"], costs["imports"], cpu)


PARTS: dict[str, Part] = {"cold": cold, "incident": incident, "help": help_, "alone": alone}

if __name__ == "__main__":
    print_table(PARTS, __doc__)
