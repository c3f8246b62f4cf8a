"""How many rows the logs of one cluster keep, of each of its jobs: what a run holds must not grow with what it reads.

Where there are more of a job, each group of it gives up the same share of what it may keep; its first and last ones stay. The share only
falls as more is read, so what was dropped meanwhile would also be dropped at the end: neither splits nor the order of reading can show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from analyzers.budget import BUDGET
from analyzers.logs.layouts.timestamps import FLOATING
from analyzers.logs.scan.selection import GENERIC_GROUPS, GENERIC_KEEP, SIGNATURE_GROUPS, Entry, FilePart, GroupKey, Keep, KeptGroup, Sated

MOST_ROWS = BUDGET.log_rows
MOST_TOLD_ROWS = BUDGET.told_rows
WHOLE_GROUP = 1_000
MOST_JOBS = 6
"""So many jobs (lines that name none are one more) keep as many rows as one would alone; the rows of more of them are fewer for each."""
SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.0)
AT_LEAST = (10, 5)
"""What each of their groups keeps in any case, if it may keep so many."""
GENERIC_ROWS = BUDGET.generic_rows
GENERIC_AT_LEAST = (2, 1)
SLACK = 2
"""Prune only when the rows exceed the limit by this factor."""
Moment = tuple[bool, int]  # the beginning of a `Key`: no time?, UTC milliseconds
BEFORE, AFTER = (False, -(2**62)), (True, 2**62)


@dataclass(frozen=True)
class Limits:
    """What groups keep: of those that signatures know a share of what they may, per job (the second one: of those that may keep very many),
    of all others `generic`."""

    shares: Mapping[str | None, tuple[float, float]] = field(default_factory=dict)
    generic: Keep = GENERIC_KEEP
    least: bool = False
    """Whether groups of any job keep no more than they have to."""

    def of(self, job: str | None) -> tuple[float, float]:
        """The shares of one job."""
        return (0.0, 0.0) if self.least else self.shares.get(job, (1.0, 1.0))

    def known(self, group: GroupKey, keep: Keep) -> Keep:
        """How many of its first and last ones `group` keeps that may keep `keep` at most."""
        return _part_of(keep, self.of(group[1])[keep[0] >= WHOLE_GROUP])


def _part_of(keep: Keep, share: float) -> Keep:
    n, m = keep
    return max(min(n, AT_LEAST[0]), int(n * share)), max(min(m, AT_LEAST[1]), int(m * share))


def limits(parts: Sequence[FilePart], known: Limits) -> Limits:
    """Those for all of `parts`, of which it was `known` before that they keep no more than that."""
    generic = min(known.generic, _generic(parts))
    if known.least or any(len(part.known) >= SIGNATURE_GROUPS for part in parts):
        return Limits(generic=generic, least=True)  # some may have been dropped before they were counted
    sizes: defaultdict[tuple[GroupKey, Keep], int] = defaultdict(int)
    for part in parts:
        for group, keep, entries in part.known:
            sizes[group, keep] += len(entries)
    by_job: dict[str | None, tuple[list[tuple[Keep, int]], list[tuple[Keep, int]]]] = {}
    for (group, keep), size in sizes.items():
        by_job.setdefault(group[1], ([], []))[keep[0] >= WHOLE_GROUP].append((keep, size))
    part_of_all = min(1.0, MOST_JOBS / max(len(by_job), 1))
    shares = dict(known.shares)
    for job, (others, told) in by_job.items():
        before = known.of(job)
        own = _share(others, MOST_ROWS * part_of_all, before[0]), _share(told, MOST_TOLD_ROWS * part_of_all, before[1])
        if own != (1.0, 1.0):
            shares[job] = own
    return Limits(shares, generic)


def _share(groups: Sequence[tuple[Keep, int]], most_rows: float, most: float) -> float:
    """Which share of what they may keep groups of these sizes keep, so that it is not more than `most_rows` rows."""
    return next(
        (share for share in SHARES if share <= most and sum(min(size, sum(_part_of(keep, share))) for keep, size in groups) <= most_rows),
        0.0,
    )


def _generic(parts: Sequence[FilePart]) -> Keep:
    if any(len(part.generic) >= GENERIC_GROUPS for part in parts):
        return GENERIC_AT_LEAST
    each = GENERIC_ROWS // max(len({group for part in parts for group, _, _ in part.generic}), 1)
    return GENERIC_KEEP if each >= sum(GENERIC_KEEP) else (max(each - 1, GENERIC_AT_LEAST[0]), 1)


def cut(entries: list[Entry], keep: Keep) -> list[Entry]:
    """The first and the last of `entries`, which are in order."""
    n, m = keep
    return entries if len(entries) <= n + m else [*entries[:n], *entries[len(entries) - m :]]


class Bound:
    """Holds what parts of files keep within bounds while more and more of them come."""

    def __init__(self) -> None:
        self.limits = Limits()
        self.sated: Sated = {}
        self._rows = 0
        self._look_at = SLACK * (MOST_ROWS + MOST_TOLD_ROWS + GENERIC_ROWS)

    def count(self, parts: Iterable[FilePart]) -> None:
        """These have come."""
        self._rows += sum(len(entries) for part in parts for groups in (part.known, part.generic) for _, _, entries in groups)

    def hold(self, parts: Callable[[], Sequence[FilePart]]) -> None:
        """Cuts down all that came, which is in `parts` now, if it is too much."""
        if self._rows < self._look_at:
            return
        held = parts()
        self.limits = limits(held, self.limits)
        between = _cut_down([part.known for part in held], self.limits.known)
        between |= _cut_down([part.generic for part in held], lambda *_: self.limits.generic)
        self.sated = {group: (first[1], last[1]) for group, (first, last) in between.items() if _are_dates(first, last)}
        self._rows = 0
        self.count(held)
        self._look_at = max(self._look_at, SLACK * self._rows)


def _cut_down(held: Sequence[list[KeptGroup]], limit: Callable[[GroupKey, Keep], Keep]) -> dict[GroupKey, tuple[Moment, Moment]]:
    """Drops what will be among the first or last of no group that is spread over all of `held`. Gives the last moment of the first and the
    first moment of the last ones, per group that has all it keeps.

    Lines are not counted from the start of the file everywhere yet: of different parts only the times are compared.
    """
    moments: defaultdict[GroupKey, list[Moment]] = defaultdict(list)
    limited: dict[GroupKey, Keep] = {}
    for groups in held:
        for group, keep, entries in groups:
            limited[group] = limit(group, keep)
            moments[group] += [key[:2] for key, _ in entries]
    between = {group: _between(sorted(moments[group]), *keep) for group, keep in limited.items() if len(moments[group]) >= sum(keep)}
    for groups in held:
        for at, (group, keep, entries) in enumerate(groups):
            if group in between:
                first, last = between[group]
                stay = [entry for entry in cut(entries, limited[group]) if entry[0][:2] <= first or entry[0][:2] >= last]
                groups[at] = (group, keep, stay)
    return between


def _between(moments: Sequence[Moment], n: int, m: int) -> tuple[Moment, Moment]:
    """The last moment of the first `n` and the first one of the last `m` of them."""
    return moments[n - 1] if n else BEFORE, moments[-m] if m else AFTER


def _are_dates(first: Moment, last: Moment) -> bool:
    """Whether times of logs can be compared with them: those without a day become dates later."""
    return not first[0] and not last[0] and first[1] >= FLOATING
