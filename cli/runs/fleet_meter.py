"""How far a run over many jobs is, in jobs, and how long it will still take.

Spark counts tasks, and a few tasks have hundreds of jobs. So each process that is done with a job adds a byte to a file, where all of them
see one file system: on a local master.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from analyzers.fleet.judging import Watch
from analyzers.report.durations import span

SHARES = {"read": 0.6, "judged": 0.25, "concluded": 0.15}
"""Parts of the time that the phases take, in their order; of 1,000 recordings on two cores."""
_SOONEST = 0.03
"""Before that much is done the time that is left is a guess."""


@dataclass
class Meter(Watch):
    """Counts the jobs, or the rules, that are done in each phase. `file` is empty where executors do not see the driver's files."""

    jobs: int
    file: str = ""
    clock: Callable[[], float] = time.monotonic
    began: float = field(init=False)
    _phase: str = field(init=False, default="read")
    _total: int = field(init=False)
    _before: int = field(init=False, default=0)
    _counted: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.began, self._total = self.clock(), self.jobs

    def enter(self, phase: str, total: int) -> None:
        self._phase, self._total, self._before, self._counted = phase, total, self._ticks(), 0

    def count(self) -> None:
        self._counted += 1

    def says(self) -> str | None:
        """``412 of 1,000 jobs read, about 25 s left``; None where that is not known."""
        done = min(self._total, self._counted + self._ticks() - self._before)
        if not self._total or not (self.file or self._counted):
            return None
        earlier = list(SHARES)[: list(SHARES).index(self._phase)]
        part = sum(SHARES[phase] for phase in earlier) + SHARES[self._phase] * done / self._total
        left = (self.clock() - self.began) * (1 / part - 1) if part > _SOONEST else None
        what = "rules have judged" if self._phase == "judged" else f"jobs {self._phase}"
        return f"{done:,} of {self._total:,} {what}" + (f", about {span(timedelta(seconds=left))} left" if left is not None else "")

    def _ticks(self) -> int:
        try:
            return os.stat(self.file).st_size if self.file else 0
        except OSError:
            return 0
