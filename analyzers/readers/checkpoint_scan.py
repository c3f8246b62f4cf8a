"""Many checkpoints at once: what is found at some paths is dealt to tasks, each job's directory to one, and read there.

The rows are those of `checkpoint_files.read_checkpoints`, which reads in this process. Files that no checkpoint names are not told here: a
checkpoint that another task reads may name them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from posixpath import dirname
from typing import Any

from analyzers.readers.checkpoint_files import checkpoint_facts, tables_of
from analyzers.readers.checkpoint_places import Place, find_places
from analyzers.readers.file_trees import ArchiveTree
from analyzers.tables import TABLES, Row

Values = dict[str, Any]

# A task should be worth its start: a small `_metadata` is read in a millisecond.
_PLACES_AT_ONCE = 64
_BYTES_AT_ONCE = 32 << 20


@dataclass(frozen=True)
class CheckpointPlan:
    """`packs`: paths that one task reads; `asked`: the paths that were named, with what could not even be looked at."""

    packs: tuple[tuple[str, ...], ...]
    asked: tuple[tuple[str, str | None], ...]
    rebase: tuple[tuple[str, str], ...] = field(default=())


def plan_checkpoints(paths: Sequence[str], *, rebase: Sequence[tuple[str, str]] = ()) -> CheckpointPlan:
    """Find the checkpoints at `paths` and deal them out; checkpoints of one job stay together while they are few."""
    groups: dict[str, list[tuple[str, int]]] = defaultdict(list)
    asked: list[tuple[str, str | None]] = []
    seen: set[str] = set()
    for path in paths:
        places, problems = find_places(path)
        asked.append((path, None if places or not problems else problems[0].why))
        for place in places:
            if place.shown not in seen:
                seen.add(place.shown)
                groups[_together(place)].append((path if isinstance(place.tree, ArchiveTree) else place.path, place.size))
    packs: list[tuple[str, ...]] = []
    pack: list[str] = []
    size = 0
    for _, group in sorted(groups.items()):
        for path, bytes_ in dict.fromkeys(group):
            if pack and (len(pack) >= _PLACES_AT_ONCE or size + bytes_ > _BYTES_AT_ONCE):
                packs.append(tuple(pack))
                pack, size = [], 0
            pack.append(path)
            size += bytes_
    if pack:
        packs.append(tuple(pack))
    return CheckpointPlan(tuple(packs), tuple(asked), tuple(rebase))


def _together(place: Place) -> str:
    return place.tree.root if isinstance(place.tree, ArchiveTree) else dirname(place.directory)


def pack_facts(pack: Sequence[str], rebase: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Values]]:
    """What one task tells: (table, values), as `checkpoint_facts`; of ``sources`` only what is not whole."""
    for table, values in checkpoint_facts(list(pack), rebase=rebase, look=True):
        if table == "sources" and values["state"] == "ok":
            continue
        if table != "state_files" or values["state"] not in ("orphaned", "newer"):
            yield table, values


def rows_of(pack: Sequence[str], rebase: Sequence[tuple[str, str]], table: str) -> list[Row]:
    """Rows of `table` of one pack; their ``as_of`` is the newest modification time within the pack."""
    assert table in TABLES
    return tables_of(pack_facts(pack, rebase)).get(table, [])
