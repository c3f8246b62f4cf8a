"""How many rows all logs together keep: what a run holds must not grow with what it reads.

Where there are more, each group gives up the same share of what it may keep; its first and last ones stay. The share only falls as more
is read, so what was given up meanwhile would also be given up at the end: neither splits nor the order of reading can show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from analyzers.logs.layouts.timestamps import FLOATING
from analyzers.logs.scan.selection import GENERIC_GROUPS, GENERIC_KEEP, SIGNATURE_GROUPS, Entry, FilePart, GroupKey, Keep, KeptGroup, Sated

MOST_ROWS = 4_000
"""Of events that signatures know. The largest recording of an incident has 1,700, with those of the next line."""
MOST_TOLD_ROWS = 5_000
"""The same, of signatures that may keep so many of each group (`WHOLE_GROUP`) because rules state how often and when."""
WHOLE_GROUP = 1_000
SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.0)
AT_LEAST = (10, 5)
"""What each of their groups keeps in any case, if it may keep so many."""
GENERIC_ROWS = 2_000
"""Of events that none knows; more where even `GENERIC_AT_LEAST` of each group are more."""
GENERIC_AT_LEAST = (2, 1)
SLACK = 2
"""Prune only when the rows exceed the limit by this factor."""
Moment = tuple[bool, int]  # the beginning of a `Key`: no time?, UTC milliseconds
BEFORE, AFTER = (False, -(2**62)), (True, 2**62)


@dataclass(frozen=True)
class Limits:
    """What groups keep: of those that signatures know a `share` of what they may (`told`: of those that may keep very many), of all others
    `generic`."""

    share: float = 1.0
    told: float = 1.0
    generic: Keep = GENERIC_KEEP

    def known(self, keep: Keep) -> Keep:
        """How many of its first and last ones a group keeps that may keep `keep` at most."""
        return _part_of(keep, self.told if keep[0] >= WHOLE_GROUP else self.share)


def _part_of(keep: Keep, share: float) -> Keep:
    n, m = keep
    return max(min(n, AT_LEAST[0]), int(n * share)), max(min(m, AT_LEAST[1]), int(m * share))


def limits(parts: Sequence[FilePart], known: Limits) -> Limits:
    """Those for all of `parts`, of which it was `known` before that they keep no more than that."""
    generic = min(known.generic, _generic(parts))
    if any(len(part.known) >= SIGNATURE_GROUPS for part in parts):
        return Limits(0.0, 0.0, generic)  # some may have been dropped before they were counted
    sizes: defaultdict[tuple[GroupKey, Keep], int] = defaultdict(int)
    for part in parts:
        for group, keep, entries in part.known:
            sizes[group, keep] += len(entries)
    told = [(keep, size) for (_, keep), size in sizes.items() if keep[0] >= WHOLE_GROUP]
    others = [(keep, size) for (_, keep), size in sizes.items() if keep[0] < WHOLE_GROUP]
    return Limits(_share(others, MOST_ROWS, known.share), _share(told, MOST_TOLD_ROWS, known.told), generic)


def _share(groups: Sequence[tuple[Keep, int]], most_rows: int, most: float) -> float:
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
        between |= _cut_down([part.generic for part in held], lambda _: self.limits.generic)
        self.sated = {group: (first[1], last[1]) for group, (first, last) in between.items() if _are_dates(first, last)}
        self._rows = 0
        self.count(held)
        self._look_at = max(self._look_at, SLACK * self._rows)


def _cut_down(held: Sequence[list[KeptGroup]], limit: Callable[[Keep], Keep]) -> dict[GroupKey, tuple[Moment, Moment]]:
    """Drops what will be among the first or last of no group that is spread over all of `held`. Gives the last moment of the first and the
    first moment of the last ones, per group that has all it keeps.

    Lines are not counted from the start of the file everywhere yet: of different parts only the times are compared.
    """
    moments: defaultdict[GroupKey, list[Moment]] = defaultdict(list)
    limited: dict[GroupKey, Keep] = {}
    for groups in held:
        for group, keep, entries in groups:
            limited[group] = limit(keep)
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
