"""CPU seconds of the log kernel alone (one process, no JVM) beside ripgrep's for the same literals: alternating rounds, best of each.

CPU, not wall: a host that others use changes it least. `python benchmarks/kernel.py --rounds 3 --megabytes 64`; needs `rg` on the PATH.
The logs are made (`benchmarks/logs.py`) and, for denser ones, the recorded incidents of `fixtures/incidents` repeated to size.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from analyzers.logs.captures import catalogue  # noqa: E402  # the checkout is put on the path above
from analyzers.logs.signatures import SIGNATURES  # noqa: E402
from analyzers.readers.log_scan import LogOptions, plan, read_splits  # noqa: E402
from benchmarks import logs  # noqa: E402

MB = 1_000_000


def kernel(path: Path) -> float:
    """CPU seconds to plan and scan `path` in this process."""
    begun = time.process_time()
    made = plan([str(path)], LogOptions())
    for task in made.tasks:
        for _ in read_splits(task, made.options.window):
            pass
    return time.process_time() - begun


def ripgrep(path: Path, literals: Path, *options: str) -> float:
    """CPU seconds of rg, user and system."""
    process = subprocess.Popen(["rg", "-n", "-F", *options, "-f", str(literals), str(path)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"rg ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def hit_share(path: Path, literals: Path) -> float:
    """Percent of the lines of `path` with a literal."""
    found = subprocess.run(["rg", "-c", "-F", "-f", str(literals), str(path)], capture_output=True, text=True, check=False).stdout
    with path.open("rb") as stream:
        lines = sum(piece.count(b"\n") for piece in iter(lambda: stream.read(1 << 20), b""))
    return 100 * int(found or 0) / max(lines, 1)


def recorded(path: Path, size: int) -> None:
    """The recorded incidents, one after the other, until there are `size` bytes."""
    files = sorted((ROOT / "fixtures" / "incidents").glob("*/raw/**/*.log"))
    texts = [text if text.endswith(b"\n") else text + b"\n" for text in (file.read_bytes() for file in files) if text]
    with path.open("wb") as out:
        while out.tell() < size:
            out.writelines(texts)


def small_files(source: Path, folder: Path, count: int) -> None:
    """The lines of `source` shared out to `count` files."""
    folder.mkdir()
    lines = source.read_bytes().splitlines(keepends=True)
    each = -(-len(lines) // count)
    for number in range(count):
        (folder / f"taskmanager-{number}.log").write_bytes(b"".join(lines[number * each : (number + 1) * each]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=64)
    chosen = parser.parse_args()
    if shutil.which("rg") is None:
        raise SystemExit("rg is not on the PATH")
    with tempfile.TemporaryDirectory(prefix="diag-bench-") as directory:
        home = Path(directory)
        literals = home / "literals.txt"
        known = sorted({literal for s in SIGNATURES for literal in s.literals})
        literals.write_text("\n".join(known) + "\n", encoding="utf-8")
        made, real, packed, many = home / "made.log", home / "recorded.log", home / "made.log.gz", home / "many"
        logs.write(made, chosen.megabytes * MB)
        recorded(real, chosen.megabytes * MB)
        packed.write_bytes(gzip.compress(made.read_bytes(), 6))
        small_files(made, many, 1000)
        catalogue()  # compiled once per process
        share, dense = hit_share(made, literals), hit_share(real, literals)
        runs: list[tuple[str, Callable[[], float], Callable[[], float]]] = [
            (
                f"{chosen.megabytes} MB made, {share:.1f} % hit lines",
                lambda: kernel(made),
                lambda: ripgrep(made, literals),
            ),
            (f"recorded incidents, {dense:.0f} % hit lines", lambda: kernel(real), lambda: ripgrep(real, literals)),
            ("the made one as .gz (rg -z)", lambda: kernel(packed), lambda: ripgrep(packed, literals, "-z")),
            ("the made one as 1,000 files", lambda: kernel(many), lambda: ripgrep(many, literals)),
        ]
        print(f"| {len(known)} literals, one process, CPU seconds, best of {chosen.rounds} alternating rounds | kernel | `rg -nF` | × rg |")
        print("|---|---|---|---|")
        for what, ours, theirs in runs:
            pairs = [(ours(), theirs()) for _ in range(chosen.rounds)]
            best, other = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
            print(f"| {what} | {best:.2f} | {other:.2f} | {best / other:.1f} |", flush=True)


if __name__ == "__main__":
    main()
