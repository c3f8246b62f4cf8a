"""What the benchmarks of logs share: their options, the place where their logs lie while they run, and the table, printed row by row."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import yardstick
from benchmarks.corpora import FILES, Corpora
from benchmarks.goals import HEAD, Row
from benchmarks.measuring import ROOT, Cost, run

_VERSIONS = ("pyspark", "hyperscan", "numpy", "duckdb")


@dataclass
class Bench:
    """What all parts need."""

    corpora: Corpora
    rg: str
    rounds: int
    megabytes: int | None

    def size(self, megabytes: int) -> int:
        return self.megabytes or megabytes

    def patterns(self, count: int | None) -> tuple[list[str], str]:
        """What ripgrep is given to look for what the kernel looks for, and what is to be said of it. The whole catalogue is given as its
        literals: of all its expressions ripgrep makes one for which it needs seven seconds before it reads the first line."""
        signatures = yardstick.chosen(count)
        path = self.corpora.home / f"patterns-{count}.txt"
        if count is None:
            literals = sorted({literal for signature in signatures for literal in signature.literals})
            path.write_text("\n".join(literals) + "\n", encoding="utf-8")
            return ["-F", "-f", str(path)], f"whole catalogue against `rg -n -F` with its {len(literals)} literals"
        made = yardstick.expressions(signatures, self.rg)
        path.write_text("\n".join(made.lines) + "\n", encoding="utf-8")
        return ["-f", str(path)], f"against `rg -n -f` with the same {count} expressions" + (
            f" ({made.replaced} of them as literals)" if made.replaced else ""
        )

    def kernel(self, path: Path, count: int | None, processes: int = 1) -> list[str]:
        limit = [] if count is None else ["--signatures", str(count)]
        return [sys.executable, str(ROOT / "benchmarks" / "scan.py"), "--processes", str(processes), *limit, str(path)]

    def against_rg(self, path: Path, count: int | None, processes: int = 1, *options: str) -> tuple[list[Cost], list[Cost], str]:
        """Rounds of both, after one that fills the page cache; raises ``SystemExit`` if the kernel finds something else in one of them."""
        patterns, said = self.patterns(count)
        ours, theirs = self.kernel(path, count, processes), [self.rg, "-n", *options, *patterns, str(path)]
        wanted = found(run(self.kernel(path, count), output=True, good=(0,)))
        run(theirs)
        mine, other = [], []
        for _ in range(self.rounds):
            mine.append(run(ours, output=True, good=(0,)))
            other.append(run(theirs))
            if found(mine[-1])["digest"] != wanted["digest"]:
                raise SystemExit(f"{path}: {processes} processes found something else than one: {mine[-1].output!r}")
        return mine, other, said


def found(cost: Cost) -> dict[str, Any]:
    """What the kernel said of one run."""
    said: dict[str, Any] = json.loads(cost.output)
    return said


Part = Callable[[Bench], Iterator[Row]]


def add_options(parser: argparse.ArgumentParser, parts: Sequence[str], rounds: int = 5) -> None:
    def some(text: str) -> list[str]:
        wanted = text.split(",")
        if unknown := [part for part in wanted if part not in parts]:
            raise argparse.ArgumentTypeError(f"no part {', '.join(unknown)}; there are {', '.join(parts)}")
        return wanted

    parser.add_argument("--only", type=some, default=list(parts), metavar="PART,…", help=f"some of {', '.join(parts)}")
    parser.add_argument("--rounds", type=int, default=rounds, help="default %(default)s")
    parser.add_argument("--megabytes", type=int, help="size of every log, instead of the table's sizes")
    recorded = ROOT / "fixtures" / "incidents"
    parser.add_argument(
        "--real", type=Path, metavar="DIR", default=recorded, help="real logs, repeated to size (default: the recorded incidents)"
    )
    parser.add_argument("--rg", help="another ripgrep than the one beside this Python or on the PATH")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keeps the rows of each part, and measures no part that is there")
    parser.add_argument("--write", type=Path, metavar="README", help="puts the table between the markers of this file")
    parser.add_argument("--dir", type=Path, help="where the logs are made; they are removed at the end (default: a temporary directory)")


@contextmanager
def workplace(wanted: Path | None) -> Iterator[Path]:
    """A new directory below `wanted`, or below that for temporary files; gone at the end, whatever the end."""
    if wanted is not None:
        wanted.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="diag-bench-", dir=wanted) as directory:
        yield Path(directory)


def machine(bench: Bench) -> str:
    """On what, with what, and how it was measured."""
    said = [yardstick.version(bench.rg), f"Python {platform.python_version()}"]
    for name in _VERSIONS:
        try:
            said.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return f"{platform.machine()}, {os.cpu_count()} cores; {', '.join(said)}; medians of the ratios of {bench.rounds} alternating rounds"


def print_table(parts: Mapping[str, Part], doc: str | None) -> None:
    """Measures the parts that the command line names, and prints each row when it is there.

    With --results the rows of a part are kept when it is done, and a part that is there is not measured again. A part that cannot be
    measured says so, and the rest goes on; the exit code is then 1.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, tuple(parts))
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, _stopped)
    done = _kept(wanted.results)
    failed = False
    with workplace(wanted.dir) as home:
        bench = Bench(Corpora(home, wanted.real), yardstick.ripgrep(wanted.rg), wanted.rounds, wanted.megabytes)
        print(f"{machine(bench)}\n\n{HEAD}", flush=True)
        for part in wanted.only:
            try:
                rows = done[part] if part in done else _measured(parts[part], bench)
            except (SystemExit, Exception) as error:  # one part that fails must not cost the others
                print(f"part {part} was not measured to its end: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                failed = True
                continue
            if part in done:
                print("\n".join(row.text() for row in rows), flush=True)
            elif wanted.results:
                with wanted.results.open("a", encoding="utf-8") as kept:
                    kept.write(json.dumps({"part": part, "rows": [asdict(row) for row in rows]}) + "\n")
            done[part] = rows
        if wanted.write:
            lines = [row.text() for part in parts for row in done.get(part, [])]
            _put(wanted.write, f"{machine(bench)}:\n\n{HEAD}\n" + "\n".join(lines))
    if failed:
        raise SystemExit(1)


def _measured(part: Part, bench: Bench) -> list[Row]:
    rows = []
    for row in part(bench):
        print(row.text(), flush=True)
        rows.append(row)
    return rows


def _stopped(_signal: int, _frame: object) -> None:
    """The logs are removed, and what runs is ended, as for Ctrl-C."""
    raise KeyboardInterrupt  # no SystemExit: that is a part that failed


def _kept(results: Path | None) -> dict[str, list[Row]]:
    if results is None or not results.exists():
        return {}
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return {line["part"]: [Row(**row) for row in line["rows"]] for line in lines}


_NOTES = f"""
Ratios of seconds, ours to theirs, of whole processes with everything that they start: the smaller the better (of wrappings: the
larger). All logs are in the page cache. Recordings are the incidents and healthy runs of `fixtures/incidents`, again and again
with ids of their own, a day later each time: as recorded (each in a directory, a cluster of its own), or each log behind its last
repetition, as one cluster leaves them. Other logs are made (`benchmarks/logs.py`: varied texts, {len(FILES)} files in the layouts
of Flink, Kafka and Spark), or recorded ones repeated to size. ripgrep finds lines; the kernel finds events with their traces and
times, counts them, and keeps the first and last of each kind. The {yardstick.COUNT} signatures are the first ones by id, the same
expressions for both. The kernel finds the same in every round; of made logs DuckDB finds the same events with the same times as
the kernel, else there is no row.
"""


def _put(readme: Path, table: str) -> None:
    """Between the markers of the README."""
    text = readme.read_text(encoding="utf-8")
    begin, end = "<!-- performance:begin -->", "<!-- performance:end -->"
    head, rest = text.split(begin)
    readme.write_text(f"{head}{begin}\n## Performance\n\n`make bench` on {table}\n{_NOTES}{end}{rest.split(end)[1]}", encoding="utf-8")
