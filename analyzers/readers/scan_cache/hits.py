"""What of a scan is kept already, and when it may be taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from analyzers.logs.scan.selection import FilePart, Sated
from analyzers.readers.scan_cache.units import Hit, Unit, covers, find, is_kept, parts_of, units_of
from analyzers.readers.splits import Split


def apart_from_kept(tasks: Sequence[list[Split]]) -> tuple[list[list[Split]], list[tuple[Unit, Hit]]]:
    """What has to be read, and the units that are kept, in the order of `tasks`."""
    unread, kept = [], []
    for task in tasks:
        found = [(unit, entry) for unit in units_of([split for split in task if is_kept(split)]) if (entry := find(unit)) is not None]
        kept += found
        known = {id(split) for unit, _ in found for split in unit}
        if rest := [split for split in task if id(split) not in known]:
            unread.append(rest)
    return unread, kept


def take_covered(
    waiting: list[tuple[Unit, Hit]], sated: Mapping[int, Sated], take: Callable[[Unit, Iterable[FilePart]], None]
) -> list[tuple[Unit, Hit]]:
    """Takes those of `waiting` that leave out no more than they may, each of which may let others be taken; gives the rest."""
    while True:
        left = []
        for unit, found in waiting:
            good = covers(sated.get(unit[0].file.origin.order, {}), found.entry.sated)
            parts_kept = parts_of(found, unit) if good else None
            if parts_kept is None:
                left.append((unit, found))
            else:
                take(unit, parts_kept)
        if len(left) == len(waiting):
            return left
        waiting = left


def covered_parts(unit: Unit, sated: Sated) -> list[FilePart] | None:
    """The parts of a unit that is kept, if they leave out no more than they may."""
    found = find(unit)
    return parts_of(found, unit) if found is not None and covers(sated, found.entry.sated) else None
