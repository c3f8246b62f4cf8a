"""Signatures of one family survive for the same times: of lines that mean something only beside each other, a hole in one kind of them
would read as if nothing had happened there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping

from analyzers.logs.scan.bound import AFTER, BEFORE, cut
from analyzers.logs.scan.selection import INSIDE, Entry, GroupKey, Keep, KeptGroup

Place = tuple[object, str]  # key and signature of a row
Kind = tuple[str | None, bool]  # job, and whether inside of a window


def rows_of(
    groups: Iterable[KeptGroup], limit: Callable[[GroupKey, Keep], Keep], counted: Mapping[tuple[str, Kind], int]
) -> tuple[list[Entry], dict[Place, dict[str, str]]]:
    """What stays of `groups`, and what each row was followed by that did not: how many events, by signature.

    `counted`: events per signature, job, and whether they lie in a window. Such a hole is told for families only; it has the last row of a
    family before it.
    """
    rows: list[Entry] = []
    families: defaultdict[tuple[str, Kind], list[tuple[str, Keep, list[Entry]]]] = defaultdict(list)
    for group, keep, entries in groups:
        most = limit(group, keep)
        stay = cut(entries, most)
        by = stay[0][1][1].by if stay else None
        if by is None or by.family is None:
            rows += stay
        else:
            families[by.family, (group[1], group[-1] == INSIDE)].append((by.id, most, stay))
    holes: dict[Place, dict[str, str]] = {}
    for (_, kind), members in families.items():
        rows += _for_the_same_times(members, kind, counted, holes)
    return rows, holes


def _for_the_same_times(
    members: list[tuple[str, Keep, list[Entry]]],
    kind: Kind,
    counted: Mapping[tuple[str, Kind], int],
    holes: dict[Place, dict[str, str]],
) -> list[Entry]:
    """The rows of a family but for those at times of which others of it are missing; notes in `holes` what is missing."""
    kept: Counter[str] = Counter()
    for name, _, entries in members:
        kept[name] += len(entries)
    cut_off = [(keep, entries) for name, keep, entries in members if counted[name, kind] > kept[name] and len(entries) >= sum(keep)]
    rows = sorted((entry for _, _, entries in members for entry in entries), key=lambda entry: (entry[0], entry[1][1].name))
    if not cut_off:
        return rows
    until = min(entries[n - 1][0][:2] if n else BEFORE for (n, _), entries in cut_off)
    since = max(entries[n][0][:2] if m else AFTER for (n, m), entries in cut_off)
    before = [entry for entry in rows if entry[0][:2] <= until]
    stay = before + [entry for entry in rows if entry[0][:2] >= since and entry[0][:2] > until]
    if before:
        left = Counter(entry[1][1].name for entry in stay)
        key, (_, last) = before[-1]
        missing = {name: counted[name, kind] - left[name] for name in sorted(kept)}
        holes[key, last.name] = {name: str(number) for name, number in missing.items() if number > 0}
    return stay
