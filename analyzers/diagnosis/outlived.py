"""Findings whose every failure was outlived, by the word of the logs alone: what failed was started again, and works since."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from analyzers.derived.failures.restarted import SINCE
from analyzers.report.finding import Finding
from analyzers.tables import Row


class Outlived:
    """The fatal faults of each job, and what the logs show since."""

    def __init__(self, faults: Iterable[Row]) -> None:
        self._of: dict[tuple[str, str | None], list[Row]] = defaultdict(list)
        for fault in faults:
            if fault["fatal"] and not fault["consequence"]:
                self._of[fault["scope"], fault["job"]].append(fault)

    def since(self, finding: Finding) -> str | None:
        """What shows that all the failures of the finding's kind are over; None where one of them is not."""
        own = self._of.get((finding.scope, finding.job), [])
        shown = {(each.file, each.line) for each in finding.evidence}
        kinds = {fault["fault"] for fault in own if (fault["file"], fault["line"]) in shown}
        said: list[str] = [(fault["detail"] or {}).get(SINCE, "") for fault in own if fault["fault"] in kinds]
        return min(said) if said and all(said) else None  # of several the one that was seen for the shortest time
