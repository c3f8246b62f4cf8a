"""Seconds, CPU seconds and peak memory of whole process trees, of several commands in alternating rounds (A B A B …).

CPU is what the kernel has booked for the process and everything that it started, killed JVMs and Python workers among them: what a command
leaves behind is handed to this process (PR_SET_CHILD_SUBREAPER) and waited for. Where there is no such thing (macOS) it is not counted.
"""

from __future__ import annotations

import ctypes
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

Name = TypeVar("Name")
ROOT = Path(__file__).resolve().parent.parent
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, linux/prctl.h
_STRAGGLERS_SECONDS = 600.0  # a class-data archive is dumped in the background after the first start
_SAMPLE_SECONDS = 0.1


@dataclass(frozen=True)
class Cost:
    """One run: seconds until the command ended; CPU seconds (user and system) and, if asked for, peak memory (PSS in MB) of its tree;
    what it wrote, if asked for."""

    wall: float
    cpu: float
    peak_mb: float
    output: bytes


def run(command: Sequence[str], *, memory: bool = False, good: Sequence[int] = (0, 1), output: bool = False) -> Cost:
    """Runs `command` to its end; exit codes `good` are good (findings, no match). `output`: keep what it writes, else it goes to /dev/null.

    Raises ``SystemExit`` with the command and what it wrote to stderr when it fails or leaves processes behind.
    """
    _adopt_orphans()
    before = _children(os.getpid())
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as wrote:
        begun = time.monotonic()
        sink = wrote if output else subprocess.DEVNULL
        process = subprocess.Popen(list(command), stdin=subprocess.DEVNULL, stdout=sink, stderr=said, cwd=ROOT)
        peak = [0.0]
        watcher = threading.Thread(target=_watch, args=(process, peak), daemon=True) if memory else None
        if watcher:
            watcher.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:  # stopped: what it started must not run on
            process.terminate()
            process.wait()
            raise
        wall = time.monotonic() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if watcher:
            watcher.join()
        cpu = used.ru_utime + used.ru_stime + _stragglers(command, before)
        said.seek(0)
        if process.returncode not in good:
            raise SystemExit(f"{' '.join(command)[:300]}\nended with {process.returncode}: {said.read()[-2000:].decode(errors='replace')}")
        wrote.seek(0)
        return Cost(wall, cpu, peak[0], wrote.read())


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


def _stragglers(command: Sequence[str], before: set[int]) -> float:
    """CPU seconds of what the command left running, after its end; `before`: children of this process that are none of it."""
    spent, deadline = 0.0, time.monotonic() + _STRAGGLERS_SECONDS
    while left := _children(os.getpid()) - before:
        for pid in left:
            ended, _, used = os.wait4(pid, os.WNOHANG)
            spent += used.ru_utime + used.ru_stime if ended else 0.0
        if time.monotonic() > deadline:
            raise SystemExit(f"{' '.join(command)[:300]}\nleft processes behind that do not end")
        time.sleep(0.02)
    return spent


def _watch(process: subprocess.Popen[bytes], peak: list[float]) -> None:
    while process.returncode is None:
        peak[0] = max(peak[0], sum(_pss(pid) for pid in _tree(process.pid)) / 1000)
        time.sleep(_SAMPLE_SECONDS)


def _tree(pid: int) -> list[int]:
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += _children(one)
    return found


def _children(pid: int) -> set[int]:
    """Of all its threads; none where there is no /proc."""
    found: set[int] = set()
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found.update(int(child) for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    except OSError:  # it has just gone
        pass
    return found


def _pss(pid: int) -> float:
    """Kilobytes; 0 for a process that has just gone."""
    try:
        match = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    except OSError:
        return 0.0
    return float(match.group(1)) if match else 0.0


def alternate(commands: Mapping[Name, Sequence[str]], rounds: int, *, memory: bool = False, output: bool = False) -> dict[Name, list[Cost]]:
    """`rounds` runs of each command, taken in turn: what disturbs the machine disturbs all of them."""
    costs: dict[Name, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            costs[name].append(run(command, memory=memory, output=output))
    return costs


def ratio(ours: Sequence[Cost], theirs: Sequence[Cost], of: Callable[[Cost], float]) -> float:
    """The median of the ratios of each round."""
    return statistics.median(of(mine) / of(other) for mine, other in zip(ours, theirs, strict=True))


def middle(costs: Sequence[Cost], of: Callable[[Cost], float]) -> float:
    """The median over the rounds."""
    return statistics.median(of(cost) for cost in costs)


def wall(cost: Cost) -> float:
    return cost.wall


def cpu(cost: Cost) -> float:
    return cost.cpu


def peak(cost: Cost) -> float:
    return cost.peak_mb
