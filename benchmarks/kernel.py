"""The log kernel alone (no JVM) beside ripgrep with the same expressions: whole processes in alternating rounds.

`python benchmarks/kernel.py --rounds 3 --megabytes 64 --only 1pct,dense,small,gz,wrapped` is the quick form: every log has that size.
Without --megabytes the logs have the sizes of the README's table. Parts: recordings 1pct 265 dense real one gz small wrapped.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import wrapped, yardstick  # the checkout is put on the path above
from benchmarks.bench import Bench, Part, found, print_table
from benchmarks.corpora import hit_share
from benchmarks.goals import Row, compared
from benchmarks.measuring import Cost, cpu, run, wall

THIN, DENSE = 0.01, 0.06  # shares of hit lines


def _phases(costs: Sequence[Cost]) -> str:
    """Where the CPU of the kernel's process went."""
    each = [found(cost)["cpu"] for cost in costs]
    return ", ".join(f"{name} {statistics.median(one[name] for one in each):.2f}" for name in each[0])


def _cpu(bench: Bench, path: Path, what: str, goal: float | None) -> Iterator[Row]:
    """With the 150 expressions and with the whole catalogue."""
    share = hit_share(path, bench.rg, bench.patterns(yardstick.COUNT)[0])
    for count in (yardstick.COUNT, None):
        mine, other, said = bench.against_rg(path, count)
        title = f"kernel, {what}, {share:.1f} % hit lines, CPU, {said}"
        print(f"  kernel's CPU: {_phases(mine)}; {found(mine[0])['hits']} events found", file=sys.stderr)
        yield compared(title, goal if count else None, mine, other, cpu)


def recordings(bench: Bench) -> Iterator[Row]:
    """Logs that clusters really wrote: of one cluster (1 GB, 265 MB), and as recorded, each incident a directory."""
    catalogue = "whole catalogue against `rg -n -f` with 150 expressions"
    gigabyte, size = bench.size(1000), bench.size(265)
    for what, path, goal in (
        (f"{gigabyte} MB of recordings", bench.corpora.recorded_flat(gigabyte), 1.0),
        (f"{size} MB of recordings", bench.corpora.recorded_flat(size), 1.15),
        (f"{size} MB of recordings as recorded", bench.corpora.recorded(size), 1.25),
    ):
        share = hit_share(path, bench.rg, bench.patterns(yardstick.COUNT)[0])
        mine, other, said = bench.against_rg(path, yardstick.COUNT)
        yield compared(f"kernel, {what}, {share:.1f} % hit lines, CPU, {said}", goal, mine, other, cpu)
        whole = [run(bench.kernel(path, None), output=True, good=(0,)) for _ in range(bench.rounds)]
        print(f"  kernel's CPU: {_phases(whole)}; {found(whole[0])['hits']} events found", file=sys.stderr)
        yield compared(f"kernel, {what}, CPU, {catalogue}", 2.0, whole, other, cpu)


def thin(bench: Bench) -> Iterator[Row]:
    size = bench.size(1000)
    yield from _cpu(bench, bench.corpora.cluster(size, THIN), f"{size} MB", 1.0)


def medium(bench: Bench) -> Iterator[Row]:
    size = bench.size(265)
    yield from _cpu(bench, bench.corpora.cluster(size, THIN), f"{size} MB", 1.15)


def dense(bench: Bench) -> Iterator[Row]:
    size = bench.size(265)
    yield from _cpu(bench, bench.corpora.cluster(size, DENSE), f"{size} MB", 1.25)


def real(bench: Bench) -> Iterator[Row]:
    size = bench.size(265)
    yield from _cpu(bench, bench.corpora.repeated(size), f"real logs repeated to {size} MB", None)


def one(bench: Bench) -> Iterator[Row]:
    size = bench.size(700)
    path = bench.corpora.single(size, THIN)
    mine, other, said = bench.against_rg(path, yardstick.COUNT, 2)
    yield compared(f"one file of {size} MB, kernel in 2 processes, wall, {said}", 0.6, mine, other, wall)
    bench.corpora.drop(path)


def gz(bench: Bench) -> Iterator[Row]:
    size = bench.size(529)
    path = bench.corpora.packed(size, THIN)
    mine, other, _ = bench.against_rg(path, yardstick.COUNT, 2, "-z")
    yield compared(f"{size} MB as 8 gz files, kernel in 2 processes, wall against `rg -z`", 0.7, mine, other, wall)
    yield compared("the same, CPU", 0.55, mine, other, cpu)
    bench.corpora.drop(path)


def small(bench: Bench) -> Iterator[Row]:
    size = bench.size(265)
    path = bench.corpora.small(size, THIN, 2000)
    mine, other, _ = bench.against_rg(path, yardstick.COUNT)
    print(f"  kernel's CPU: {_phases(mine)}", file=sys.stderr)
    yield compared(f"{size} MB as 2,000 files, kernel in 1 process, CPU against rg", 1.2, mine, other, cpu)
    bench.corpora.drop(path)


def wrappings(bench: Bench) -> Iterator[Row]:
    """Rates of the scan itself: what a process needs to start would flatter the slow ones."""
    size = bench.size(64)
    plain = bench.corpora.single(size, THIN)
    expected = found(run(bench.kernel(plain, None), output=True, good=(0,)))
    for kind in (*wrapped.LINES, *wrapped.PACKED, "UTF-16"):
        goal = 1 / 3 if kind in wrapped.HELD_TO_GOAL else None
        path = wrapped.write(plain, bench.corpora.home, kind)
        if path is None:
            yield Row(f"{kind}: rate of the kernel relative to plain text", goal, None, "(nothing here packs it)")
            continue
        rates, seconds = [], []
        for _ in range(bench.rounds):
            mine, other = (found(run(bench.kernel(log, None), output=True, good=(0,))) for log in (path, plain))
            seconds.append(mine["cpu"]["plan"] + mine["cpu"]["scan"])
            rates.append((other["cpu"]["plan"] + other["cpu"]["scan"]) / seconds[-1])
        detail = f"({size / statistics.median(seconds):.0f} MB of log text per CPU second; rounds {min(rates):.2f}–{max(rates):.2f})"
        if not mine["hits"]:
            yield Row(f"{kind}: rate of the kernel relative to plain text", goal, None, "(it is not read)")
            path.unlink()
            continue
        if mine["hits"] != expected["hits"]:
            detail += f" **finds {mine['hits']} of {expected['hits']}**"
        yield Row(f"{kind}: rate of the kernel relative to plain text", goal, statistics.median(rates), detail, least=True)
        path.unlink()


PARTS: dict[str, Part] = {
    "recordings": recordings,
    "1pct": thin, "265": medium, "dense": dense, "real": real, "one": one, "gz": gz, "small": small, "wrapped": wrappings,
}  # fmt: skip


if __name__ == "__main__":
    print_table(PARTS, __doc__)
