"""Whether jobs went on after a moment: what was completed since, and whether they had ended by then."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import accumulate

from analyzers.derived.failures.progress import COMPLETED
from analyzers.derived.failures.retried import WORKS
from analyzers.tables import Row
from analyzers.tables.by_column import where

Tables = Mapping[str, Sequence[Row]]
_ENDS = {"job-state": ("CANCELLING", "CANCELED", "FINISHED"), "job-terminal": ("CANCELED", "FINISHED")}
_DONE = COMPLETED | {*WORKS}
_STOPPING = timedelta(seconds=5)
"""What a query says within its last seconds, it says because it is being stopped."""
_STOPS = frozenset({"query-stopped", "spark-stopping"})


class _Minutes:
    """Lines that were counted per minute: the first and the last time of each, and how many."""

    def __init__(self, minutes: Sequence[tuple[datetime, datetime, int]]) -> None:
        by_first = sorted((first, events) for first, _, events in minutes)
        self._firsts = [first for first, _ in by_first]
        self._before = [0, *accumulate(events for _, events in by_first)]  # in as many minutes, the earliest ones
        self._lasts = sorted(last for _, last, _ in minutes)

    def since(self, at: datetime) -> int:
        """Those of minutes that began after `at`, and one of each that had begun and was not over."""
        begun, over = bisect_right(self._firsts, at), bisect_right(self._lasts, at)
        return self._before[-1] - self._before[begun] + begun - over


class Work:
    """Checkpoints and batches of the jobs of each scope, commits of connectors, and when the jobs were ended in order."""

    def __init__(self, tables: Tables) -> None:
        done: dict[tuple[str, str], set[datetime]] = defaultdict(set)
        minutes: dict[tuple[str, str], list[tuple[datetime, datetime, int]]] = defaultdict(list)
        self._ended: dict[tuple[str, str], datetime] = {}
        self._stops: dict[str, list[datetime]] = defaultdict(list)
        self._jobs: dict[str, set[str]] = defaultdict(set)
        self._at_work: dict[str, set[tuple[str, str]]] = defaultdict(set)
        counts = tables.get("log_counts", ())
        for row in where(counts, "signature", _DONE):
            if row["first_at"] and row["last_at"]:
                minutes[row["scope"], row["job"] or ""].append((row["first_at"], row["last_at"], row["events"]))
        for row in tables.get("checkpoints", ()):
            if row["status"] == "COMPLETED" and row["triggered_at"]:
                done[row["scope"], row["job"] or ""].add(row["triggered_at"])
        for row in tables.get("job_state", ()):
            if row["job"]:
                self._jobs[row["scope"]].add(row["job"])
        for event in tables.get("log_events", ()):
            signature, at = event["signature"], event["at"]
            if at and signature in _DONE:
                done[event["scope"], event["job"] or ""].add(at)
            if at and event["to_state"] in _ENDS.get(signature, ()):
                key = (event["scope"], event["job"] or "")
                self._ended[key] = min(at, self._ended.get(key, at))
            if at and signature in _STOPS:
                self._stops[event["scope"]].append(at)
        self._done = {key: sorted(own) for key, own in done.items()}
        self._minutes = {key: _Minutes(own) for key, own in minutes.items()}
        for key in (*done, *minutes):
            self._at_work[key[0]].add(key)

    def completed_since(self, scope: str, job: str | None, at: datetime | None) -> int | None:
        """Checkpoints or batches of `job` after `at`; without one of the job of the scope that completed the fewest. None: none at all."""
        known = self._at_work.get(scope, set())
        keys = known if job is None else {(scope, job), (scope, "")} & known
        if not keys:
            return None
        return 0 if at is None else min(self._since(key, at) for key in keys)

    def _since(self, key: tuple[str, str], at: datetime) -> int:
        """Lines that were kept, or all that were counted, where those are more; of a minute that `at` parts one is sure."""
        done, minutes = self._done.get(key, ()), self._minutes.get(key)
        kept = len(done) - bisect_right(done, at)
        return kept if minutes is None else max(kept, minutes.since(at))

    def over_before(self, scope: str, job: str | None, at: datetime | None) -> bool:
        """Whether all jobs of the scope (or `job`) were cancelled or had finished before `at`, or a query was being stopped then."""
        if at is not None and any(at <= stop <= at + _STOPPING for stop in self._stops.get(scope, ())):
            return True
        return self.ended_before(scope, job, at, max(self._stops.get(scope, ()), default=None))

    def ended_before(self, scope: str, job: str | None, at: datetime | None, last_stop: datetime | None = None) -> bool:
        """Whether all jobs of the scope (or `job`) were cancelled or had finished before `at`; `last_stop`: when their program ended."""
        jobs = {job} if job else self._jobs.get(scope, set())
        ends = [self._ended.get((scope, each)) or self._ended.get((scope, "")) or last_stop for each in jobs]
        return at is not None and bool(ends) and all(end is not None and end <= at for end in ends)
