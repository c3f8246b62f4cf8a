"""How `diag fleet` grows with the number of jobs: recordings with ids of their own, judged at once.

    python -m benchmarks.fleet 10 100 300 1000
    python -m benchmarks.fleet --cluster 10000      # on a standalone cluster of this host, two workers of one core each
    python -m benchmarks.fleet --giant 5000 57      # beside a log of so many megabytes

Prints per size: wall seconds, CPU seconds of all processes, peak memory of the driver's Python and of its JVM, jobs that are ill, and how
much else the host had to do. `make bench ARGS="--only fleet"` measures what has a goal.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from datetime import datetime, timedelta
from itertools import cycle, islice
from pathlib import Path

from benchmarks.bench import Bench, Part
from benchmarks.goals import Row, taken
from fixtures.lab.spark_cluster import SparkCluster
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


def giant(home: Path, megabytes: int) -> None:
    """One job more, whose log of so many megabytes is a quiet life, with the failure at its end."""
    line = "{:%Y-%m-%d %H:%M:%S},000 {}\n"
    done = "INFO  org.apache.flink.runtime.checkpoint.CheckpointCoordinator [] - Completed checkpoint {} for job {} (2048 bytes, 90 ms)."
    expired = "INFO  org.apache.flink.runtime.checkpoint.CheckpointCoordinator [] - Checkpoint {} of job {} expired before completing."
    quiet = "DEBUG org.apache.kafka.clients.FetchSessionHandler [] - [Consumer clientId=orders-1, groupId=orders] Built incremental fetch"
    at, job, checkpoint = datetime(2026, 11, 21), "5f0e64a1c3d2b7980e1f2a3b4c5d6e7f", 0
    (home / "giant").mkdir()
    with (home / "giant" / "jobmanager.log").open("w") as log:
        while log.tell() < megabytes * 1_000_000:
            log.write(line.format(at, done.format(checkpoint, job)) + line.format(at, quiet) * 5_000)
            at, checkpoint = at + timedelta(seconds=1), checkpoint + 1
        for number in range(checkpoint, checkpoint + 12):
            at += timedelta(minutes=1)
            log.write(line.format(at, expired.format(number, job)))


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


def measured(home: Path, master: str | None = None) -> dict[str, float]:
    """One run of the command over `home`, here on two cores, or on the cluster `master`: its workers' CPU is not counted then."""
    began, cpu, peaks = time.monotonic(), dict[int, float](), {"driver": 0, "java": 0}
    with tempfile.TemporaryDirectory() as saved:
        asked = [sys.executable, "-m", "cli", "fleet", str(home), "-q", "-o", f"json={saved}/fleet.json", "--fail-on", "never"]
        asked += ["--spark-master", master] if master else ["--cores", "2"]
        with subprocess.Popen(asked, cwd=_ROOT) as process:
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
        "load": round(os.getloadavg()[0], 1),
    }


def goals(bench: Bench) -> Iterator[Row]:
    """What a run over many jobs may take: for whatever there is, for a thousand jobs, and beside one large log."""
    for jobs, large, what, goal in (
        (1, 0, "`diag fleet` of one job: what there is to do for any number", 6.0),
        (1_000, 0, "`diag fleet` of 1,000 jobs, two cores", 60.0),
        (57, bench.size(5_000), "`diag fleet` of 57 jobs and one log of 5 GB, two cores", None),
    ):
        with tempfile.TemporaryDirectory() as folder:
            fleet(Path(folder), jobs)
            if large:
                giant(Path(folder), large)
            rounds = [measured(Path(folder)) for _ in range(bench.rounds)]
        yield taken(what, goal, [each["seconds"] for each in rounds])
        yield Row("its driver's Python", 300.0, max(each["driver_mb"] for each in rounds), unit=" MB")


PARTS: dict[str, Part] = {"fleet": goals}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("jobs", nargs="*", type=int, default=[10, 100, 300, 1000])
    options.add_argument("--cluster", action="store_true")
    options.add_argument("--giant", type=int, metavar="MB")
    asked = options.parse_args()
    for jobs in asked.jobs:
        with tempfile.TemporaryDirectory() as folder, SparkCluster(2) if asked.cluster else nullcontext() as cluster:
            fleet(Path(folder), jobs)
            if asked.giant:
                giant(Path(folder), asked.giant)
            size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
            cost = measured(Path(folder), cluster.master if cluster is not None else None)
            print(json.dumps({"jobs": jobs, "mb": round(size / 1e6, 1), **cost}), flush=True)


if __name__ == "__main__":
    main()
