"""How `diag fleet` grows with the number of jobs: recordings with ids of their own, judged at once.

    python -m benchmarks.fleet 10 100 300 1000

Prints per size: wall seconds, CPU seconds of all processes, peak memory of the driver's Python and of its JVM, and jobs that are ill.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path

from tests.hostile.crowd import copied, recordings

_EVERY_SECONDS = 0.3
_ROOT = Path(__file__).resolve().parent.parent


def fleet(home: Path, jobs: int) -> None:
    """`jobs` directories below `home`: all recordings with raw logs, again and again."""
    for number, case in enumerate(islice(cycle(recordings(1000)), jobs)):
        target = home / f"round-{number}"
        made = copied(case, target, number)
        made.rename(home / f"{number:05d}-{made.name}")
        target.rmdir()


_TICKS = os.sysconf("SC_CLK_TCK")


def _used(pid: int) -> tuple[int, float, str]:
    """Peak resident memory in kB, CPU seconds so far and name of a process. Raises ``OSError`` once it has gone."""
    status = Path(f"/proc/{pid}/status").read_text()
    memory = next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)
    name, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    fields = rest.split()
    return memory, (int(fields[11]) + int(fields[12])) / _TICKS, name.partition("(")[2]


def _below(pid: int) -> Iterator[int]:
    """The process and all that it started, directly or not."""
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _below(int(child))


def measured(home: Path) -> dict[str, float]:
    """One run of the command over `home`."""
    began, cpu, peaks = time.monotonic(), dict[int, float](), {"driver": 0, "java": 0}
    with tempfile.TemporaryDirectory() as saved:
        asked = [sys.executable, "-m", "cli", "fleet", str(home), "-q", "-o", f"json={saved}/fleet.json", "--fail-on", "never"]
        with subprocess.Popen(asked, cwd=_ROOT, env=os.environ | {"DIAG_CORES": "2"}) as process:
            while process.poll() is None:
                for pid in _below(process.pid):
                    with suppress(OSError):
                        memory, cpu[pid], name = _used(pid)
                        of = "driver" if pid == process.pid else name
                        peaks[of] = max(peaks.get(of, 0), memory)
                time.sleep(_EVERY_SECONDS)
        said = json.loads(Path(saved, "fleet.json").read_text())
    return {
        "seconds": round(time.monotonic() - began, 1),
        "cpu_seconds": round(sum(cpu.values()), 1),
        "driver_mb": peaks["driver"] // 1024,
        "jvm_mb": peaks["java"] // 1024,
        "ill": len({job["scope"] for job in said["jobs"] if job["outcome"] == "ill"}),
    }


def main() -> None:
    for jobs in map(int, sys.argv[1:] or ["10", "100", "300", "1000"]):
        with tempfile.TemporaryDirectory() as folder:
            fleet(Path(folder), jobs)
            size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
            print(json.dumps({"jobs": jobs, "mb": round(size / 1e6, 1), **measured(Path(folder))}), flush=True)


if __name__ == "__main__":
    main()
