"""Whole `diag triage` beside a DuckDB program that finds the same, of recorded and of made logs, and its memory.

`python benchmarks/triage.py --only 1gb --rounds 3`; needs the packages of the dependency group `bench`.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import yardstick  # the checkout is put on the path above
from benchmarks.bench import Bench, Part, found, print_table
from benchmarks.corpora import MB
from benchmarks.goals import Row, compared, taken
from benchmarks.measuring import ROOT, Cost, alternate, peak, run, wall

THIN = 0.01
RECORDED = 1.5  # 0.85 in the end
INCIDENT = ROOT / "fixtures" / "incidents" / "ill" / "broker-shrink-restart-loop" / "raw"
_MEMORY_ROUNDS = 3


def triage(path: Path, *, cache: bool = False) -> list[str]:
    """`cache`: what was found in the logs is kept, and used if it is there."""
    kept = [] if cache else ["--no-cache"]
    return [str(Path(sys.executable).with_name("diag")), "triage", "-q", *kept, "-o", "json", str(path)]


def duckdb(path: Path, launch: str, count: int | None = None) -> list[str]:
    limit = [] if count is None else ["--signatures", str(count)]
    return [sys.executable, str(ROOT / "benchmarks" / "duckdb_triage.py"), "--launch", launch, *limit, str(path)]


def faster_launch(path: Path) -> str:
    """How DuckDB is quicker with these logs."""
    return min(("threads", "processes"), key=lambda launch: run(duckdb(path, launch), good=(0,)).wall)


def need_duckdb() -> None:
    if importlib.util.find_spec("duckdb") is None:
        raise SystemExit("DuckDB is not installed: pip install duckdb")


def check(bench: Bench, path: Path) -> None:
    """Raises ``SystemExit`` unless both find the same events with all signatures for which a line is enough."""
    programs = (bench.kernel(path, None, 2), duckdb(path, "processes"))
    ours, theirs = (found(run([*program, "--rows"], output=True, good=(0,)))["findings"] for program in programs)
    comparable = {signature.id for signature in yardstick.chosen(None) if yardstick.line_by_line(signature)}
    mine, other = ([row for row in rows if row[1] in comparable] for rows in (ours, theirs))
    if mine != other:
        unlike = [row for row in (*mine, *other) if row not in mine or row not in other]
        raise SystemExit(f"{path}: the kernel and DuckDB do not agree: {unlike[:6]}")
    print(f"  the same {len(mine)} rows of {len(comparable)} signatures, {sum(row[2] for row in mine)} events", file=sys.stderr)


def against_duckdb(bench: Bench, megabytes: int, goal: float, *counts: int | None) -> Iterator[Row]:
    """A row for each number of signatures that DuckDB looks for; `diag` always looks for all."""
    need_duckdb()
    path = bench.corpora.cluster(bench.size(megabytes), THIN)
    check(bench, path)
    launch = faster_launch(path)
    run(triage(path))  # fills the page cache and, once per machine, the class-data archive
    ours: list[Cost] = []
    theirs: dict[int | None, list[Cost]] = {count: [] for count in counts}
    for _ in range(bench.rounds):
        ours.append(run(triage(path)))
        for count, costs in theirs.items():
            costs.append(run(duckdb(path, launch, count), good=(0,)))
    for count, costs in theirs.items():
        program = f"DuckDB ({launch}" + (f", which looks for {count} of the signatures only)" if count else ", the same signatures)")
        yield compared(f"whole `diag triage`, {bench.size(megabytes)} MB, wall against {program}", goal, ours, costs, wall)


def recorded(bench: Bench) -> Iterator[Row]:
    """Logs that clusters really wrote: what `check` compares is not the same here, as a header that DuckDB does not know is no event."""
    size = bench.size(265)
    literals = sorted({literal for signature in yardstick.chosen(None) for literal in signature.literals})
    thin = bench.corpora.recorded_thin(size, THIN, literals, bench.rg)
    left = sum(path.stat().st_size for path in thin.iterdir()) // 1_000_000
    for what, path in (
        (f"{size} MB of recordings, one cluster", bench.corpora.recorded_flat(size)),
        (f"{left} MB of them, of whose lines 1 % hit", thin),
        (f"{size} MB of recordings, as recorded", bench.corpora.recorded(size)),
        (f"{size} MB of recordings, 2,000 files", bench.corpora.recorded_small(size, 2000)),
    ):
        yield _recorded(bench, what, path)


def recorded_gigabyte(bench: Bench) -> Iterator[Row]:
    size = bench.size(1000)
    yield _recorded(bench, f"{size} MB of recordings, one cluster", bench.corpora.recorded_flat(size))


def _recorded(bench: Bench, what: str, path: Path) -> Row:
    need_duckdb()
    launch = faster_launch(path)
    run(triage(path))
    ours: list[Cost] = []
    theirs: list[Cost] = []
    for _ in range(bench.rounds):
        ours.append(run(triage(path)))
        theirs.append(run(duckdb(path, launch), good=(0,)))
    return compared(f"whole `diag triage`, {what}, wall against DuckDB ({launch}, the same signatures)", RECORDED, ours, theirs, wall)


def one_gigabyte(bench: Bench) -> Iterator[Row]:
    yield from against_duckdb(bench, 1000, 0.85, None, yardstick.COUNT)


def four_gigabytes(bench: Bench) -> Iterator[Row]:
    yield from against_duckdb(bench, 4000, 0.35, None)


def memory(bench: Bench) -> Iterator[Row]:
    large, small = bench.size(4000), 64 if bench.megabytes is None else max(bench.megabytes // 64, 1)
    yield _peaks(bench, f"{large} MB against {small} MB", bench.corpora.cluster(large, THIN), bench.corpora.cluster(small, THIN))


def recorded_memory(bench: Bench) -> Iterator[Row]:
    large = bench.size(1000)
    yield _peaks(bench, f"{large} MB of recordings against an incident of 1 MB", bench.corpora.recorded_flat(large), INCIDENT)


def _peaks(bench: Bench, what: str, large: Path, small: Path) -> Row:
    commands = {path: triage(path) for path in (large, small)}
    for command in commands.values():
        run(command)
    costs = alternate(commands, min(bench.rounds, _MEMORY_ROUNDS), memory=True)
    return compared(f"peak memory (PSS) of all processes of `diag triage`, {what}", 1.15, costs[large], costs[small], peak)


def again(bench: Bench) -> Iterator[Row]:
    """What the scan cache costs the first time, and what it saves then, also where a log has grown by a hundredth."""
    path = bench.corpora.cluster(bench.size(1000), THIN)
    run(triage(path))
    without, first, second, grown = list[Cost](), list[Cost](), list[Cost](), list[Cost]()
    log = path / "taskmanager-1.log"
    size = log.stat().st_size
    tail = log.read_bytes()[-bench.size(1000) * MB // 100 :]
    for _ in range(bench.rounds):
        run([str(Path(sys.executable).with_name("diag")), "doctor", "--empty-cache"])
        without.append(run(triage(path)))
        first.append(run(triage(path, cache=True)))
        second.append(run(triage(path, cache=True)))
        with log.open("ab") as more:
            more.write(tail)
        try:
            grown.append(run(triage(path, cache=True)))
        finally:
            os.truncate(log, size)
    what = f"whole `diag triage`, {bench.size(1000)} MB, wall"
    yield compared(f"{what}, what is found is kept, against --no-cache", 1.05, first, without, wall)
    yield compared(f"{what}, a second time, against --no-cache", None, second, without, wall)
    yield compared(f"{what}, a third time, one log grown by a hundredth of all, against --no-cache", None, grown, without, wall)
    yield taken(f"`diag triage`, {bench.size(1000)} MB, a second time, seconds", 2.0, [cost.wall for cost in second])


PARTS: dict[str, Part] = {
    "recorded": recorded, "recorded-1gb": recorded_gigabyte, "recorded-memory": recorded_memory,
    "again": again, "1gb": one_gigabyte, "4gb": four_gigabytes, "memory": memory,
}  # fmt: skip

if __name__ == "__main__":
    print_table(PARTS, __doc__)
