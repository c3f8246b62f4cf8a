"""`make bench`: wall time and peak memory of `diag triage` beside ripgrep with the same signatures, alternating, on made Flink logs.

Prints the table of the README (ratios first: machines differ, ratios less). Needs `rg` on the PATH for the comparison; without it says so.
`--sizes 1,64,512` MB, `--rounds 3`, `--write README.md` puts the table between the README's markers.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from analyzers.logs.signatures import SIGNATURES  # noqa: E402  # the checkout is put on the path above
from benchmarks import logs  # noqa: E402

MB = 1_000_000


@dataclass(frozen=True)
class Run:
    """One process tree: seconds and peak proportional set size in MB."""

    seconds: float
    peak_mb: float


def measure(command: list[str]) -> Run:
    """Runs `command` with its output thrown away; exit codes 0 and 1 are good (findings, no match)."""
    begun = time.monotonic()
    with tempfile.TemporaryFile() as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=subprocess.DEVNULL, cwd=ROOT)
        peak = [0.0]
        watcher = threading.Thread(target=_watch, args=(process, peak), daemon=True)
        watcher.start()
        code = process.wait()
    seconds = time.monotonic() - begun
    watcher.join()
    if code not in (0, 1):
        raise SystemExit(f"{' '.join(command[:3])} … ended with {code}")
    return Run(seconds, peak[0])


def _watch(process: subprocess.Popen[bytes], peak: list[float]) -> None:
    while process.poll() is None:
        peak[0] = max(peak[0], sum(_pss(pid) for pid in _tree(process.pid)) / 1000)
        time.sleep(0.05)


def _tree(pid: int) -> list[int]:
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        try:
            tasks = os.listdir(f"/proc/{one}/task")
            for task in tasks:
                waiting += [int(child) for child in Path(f"/proc/{one}/task/{task}/children").read_text().split()]
        except OSError:
            continue
    return found


def _pss(pid: int) -> float:
    """Kilobytes; 0 for a process that has just gone."""
    try:
        match = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    except OSError:
        return 0.0
    return float(match.group(1)) if match else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1,64,512")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    rg = shutil.which("rg")
    if rg is None:
        print("rg is not on the PATH: measured without it", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="diag-bench-") as directory:
        patterns = Path(directory, "signatures.txt")
        literals = sorted({literal for s in SIGNATURES for literal in s.literals})
        patterns.write_text("\n".join(literals) + "\n", encoding="utf-8")
        rows = [_size(int(size), Path(directory), patterns, rg, options.rounds) for size in options.sizes.split(",")]
    table = _table(rows, len(literals), options.rounds)
    print(table)
    if options.write:
        _put(options.write, table)


def _size(size: int, directory: Path, patterns: Path, rg: str | None, rounds: int) -> tuple[int, list[Run], list[Run]]:
    log = directory / f"flink-{size}.log"
    logs.write(log, size * MB)
    ours = [str(Path(sys.executable).with_name("diag")), "triage", "-q", "-o", "json", str(log)]
    theirs = [rg or "", "-n", "-F", "-f", str(patterns), str(log)]
    measure(ours)  # fills the page cache and, once per machine, the class-data archive
    triage, search = [], []
    for _ in range(rounds):
        triage.append(measure(ours))
        if rg:
            search.append(measure(theirs))
    log.unlink()
    return size, triage, search


def _table(rows: list[tuple[int, list[Run], list[Run]]], literals: int, rounds: int) -> str:
    said = (
        f"`make bench` on {platform.machine()}, {os.cpu_count()} cores, median of {rounds} alternating rounds. `rg -nF` looks for the same "
        f"{literals:,} literals; it finds lines, diag reads events with their traces and times, runs its rules and starts a JVM:"
    )
    lines = [
        said,
        "",
        "| log | `diag triage` | peak memory | `rg` | × rg | each MB beyond the first row, × rg |",
        "|---|---|---|---|---|---|",
    ]
    base: tuple[int, float, float] | None = None
    for size, triage, search in rows:
        ours = statistics.median(r.seconds for r in triage)
        peak = statistics.median(r.peak_mb for r in triage)
        theirs = statistics.median(r.seconds for r in search) if search else None
        ratio = f"{ours / theirs:.1f}" if theirs else "–"
        slope = "–"
        if base is not None and theirs and theirs > base[2]:
            slope = f"{((ours - base[1]) / (size - base[0])) / ((theirs - base[2]) / (size - base[0])):.1f}"
        if base is None and theirs:
            base = (size, ours, theirs)
        lines.append(f"| {size} MB | {ours:.1f} s | {peak:.0f} MB | {f'{theirs:.2f} s' if theirs else '–'} | {ratio} | {slope} |")
    return "\n".join(lines)


def _put(readme: Path, table: str) -> None:
    text = readme.read_text(encoding="utf-8")
    begin, end = "<!-- performance:begin -->", "<!-- performance:end -->"
    head, rest = text.split(begin)
    readme.write_text(f"{head}{begin}\n## Performance\n\n{table}\n{end}{rest.split(end)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
