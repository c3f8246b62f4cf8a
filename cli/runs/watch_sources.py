"""Live systems that are asked again and again: one that does not answer is left alone for a while, and longer each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from analyzers.tables.evidence import Evidence
from analyzers.watching.outbox import pause
from cli.collectors.collector import Collector
from cli.shell.exits import CannotLook


@dataclass
class Patience:
    """Failures of one source in a row, and until when it is left alone (seconds of a clock that never jumps)."""

    failures: int = 0
    not_before: float = 0.0
    why: str = ""


@dataclass
class PatientSources:
    """Wraps collectors; one that is left alone is a source that failed, so that nothing is said of what it would show. The first failure
    costs no look: it is asked again after `every` seconds."""

    every: float
    clock: Callable[[], float]
    draw: Callable[[], float] = random.random
    _known: dict[tuple[str, str], Patience] = field(default_factory=dict)

    def around(self, collector: Collector) -> Collector:
        """`collector`, asked only when it is time."""
        of = self._known.setdefault((collector.name, collector.kind), Patience())
        return Collector(collector.name, collector.kind, lambda: self._ask(collector, of))

    def next_try(self) -> float | None:
        """In how many seconds the first of those that are left alone is asked again; None where all are asked in each look."""
        left = [of.not_before - self.clock() for of in self._known.values() if of.failures]
        return min((each for each in left if each > 0), default=None)

    def _ask(self, collector: Collector, of: Patience) -> Evidence:
        left = of.not_before - self.clock()
        if of.failures and left > 0:
            raise CannotLook(of.why)
        try:
            found = collector.ask()
        except CannotLook as error:
            self._failed(of, error.message)
            raise
        sources = found.tables.get("sources", ())
        if sources and all(row["state"] == "failed" for row in sources):
            self._failed(of, str(sources[0]["why"] or "it did not answer"))
        else:
            of.failures = 0
        return found

    def _failed(self, of: Patience, why: str) -> None:
        of.failures += 1
        of.why = why
        if of.failures > 1:
            of.not_before = self.clock() + pause(of.failures, self.draw, self.every, max(600.0, self.every))
