"""Checkpoints with the splits that their readers hold, and which of them follow each other, so that positions may be compared."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_IN_DIRECTORY = re.compile(r"(.*)/chk-\d+(?:/_metadata)?\Z", re.S)


class Checkpoint(NamedTuple):
    """One checkpoint's splits; `whole` when every state of its sources could be read.

    `series` is what its neighbours share: the job, else the directory that its ``chk-N`` lies in, else (a savepoint) nothing. `unclear`
    are operators of which readers may rightly hold less than the enumerator knows: finished, or of a format that is not known here.
    """

    scope: str
    job: str | None
    series: str
    checkpoint: int
    path: str
    whole: bool
    splits: tuple[Row, ...]
    unclear: frozenset[str]
    mtime: datetime | None


def checkpoints_of(tables: Tables) -> list[Checkpoint]:
    """All whose id is known, in the order of their series."""
    troubled = {(row.get("scope") or "", row["name"]) for row in tables.get("sources", ()) if row.get("state") != "ok"}
    splits: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in tables.get("splits", ()):
        splits[(row.get("scope") or "", row["path"])].append(row)
    finished: dict[str, set[str]] = defaultdict(set)
    for row in (*tables.get("operator_states", ()), *tables.get("subtask_states", ())):
        if row.get("finished"):
            finished[row["path"]].add(row["operator"])
    found = []
    for row in tables.get("checkpoint_files", ()):
        if row.get("checkpoint") is None:
            continue
        scope, path = row.get("scope") or "", row["path"]
        own = tuple(splits[(scope, path)])
        unclear = finished[path] | {split["operator"] for split in own if split["connector"] == "opaque"}
        whole = row.get("state") == "complete" and (scope, path) not in troubled
        job = row.get("job")
        found.append(Checkpoint(scope, job, _series(job, path), row["checkpoint"], path, whole, own, frozenset(unclear), row.get("mtime")))
    return sorted(found, key=lambda c: (c.scope, c.series, c.checkpoint, c.path))


def _series(job: str | None, path: str) -> str:
    if job is not None:
        return job
    directory = _IN_DIRECTORY.match(path)
    return directory[1] if directory else path


def readers_of(checkpoint: Checkpoint) -> dict[tuple[str, str], list[Row]]:
    """Reader rows by (operator, identity)."""
    held: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in checkpoint.splits:
        if row["role"] == "reader" and row.get("status") != "retained":
            held[(row["operator"], row["identity"])].append(row)
    return held


def lineage_of(checkpoints: Sequence[Checkpoint], tables: Tables) -> Iterator[tuple[Checkpoint, Checkpoint, bool]]:
    """(before, after, inferred) whose positions may be compared: neighbours of a series, and a series with what it was restored from."""
    by_series: dict[tuple[str, str], list[Checkpoint]] = defaultdict(list)
    for checkpoint in checkpoints:
        if readers_of(checkpoint):
            by_series[(checkpoint.scope, checkpoint.series)].append(checkpoint)
    restored = restored_from(tables)
    for (scope, name), own in by_series.items():
        yield from ((before, after, False) for before, after in pairwise(own))
        others = [series for (other_scope, other), series in by_series.items() if other_scope == scope and other != name]
        if (scope, name) in restored:
            stated = [c for series in others for c in series if last_names(c.path) in restored[(scope, name)]]
            yield from ((origin, own[0], False) for origin in stated[:1])
        else:
            yield from ((origin, own[0], True) for origin in _seeming_origin(own[0], others))


def _seeming_origin(first: Checkpoint, others: Sequence[Sequence[Checkpoint]]) -> list[Checkpoint]:
    """Flink goes on counting from the checkpoint that it restored: the one other series that ends at N with the same splits.

    Two deployments of one pipeline may meet these conditions by chance; what rests on this is marked as inferred.
    """
    splits = set(readers_of(first))
    origins = [series[-1] for series in others if series[-1].checkpoint == first.checkpoint - 1 and set(readers_of(series[-1])) == splits]
    return origins if len(origins) == 1 else []


def restored_from(tables: Tables) -> dict[tuple[str, str], set[str]]:
    """By scope and job: what the logs say that it was restored from, as the last names of the path."""
    restored: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in tables.get("attempts", ()):
        if row.get("job") and row.get("restored_from"):
            restored[(row.get("scope") or "", row["job"])].add(last_names(row["restored_from"]))
    return restored


def last_names(path: str) -> str:
    """``JOB/chk-N`` or ``savepoint-…``: what stays of a path when its directory is copied."""
    names = path.rstrip("/").removesuffix("/_metadata").split("/")
    return "/".join(names[-2:] if names[-1].startswith("chk-") else names[-1:])


def newest_of(checkpoints: Iterable[Checkpoint]) -> list[Checkpoint]:
    """Of each series the last that holds splits."""
    newest: dict[tuple[str, str], Checkpoint] = {}
    for checkpoint in checkpoints:
        if checkpoint.splits:
            newest[(checkpoint.scope, checkpoint.series)] = checkpoint
    return list(newest.values())


def last_written(checkpoints: Sequence[Checkpoint]) -> set[tuple[str, str]]:
    """(scope, path) of whole checkpoints after which none was written, be it by another job that reads the same partitions.

    Directories of jobs that ended long ago stay; nobody will start from them.
    """
    last = {(c.scope, c.series): c for c in checkpoints}
    wrote: dict[tuple[str, str, Any], set[datetime | None]] = defaultdict(set)
    for c in last.values():
        for row in c.splits:
            wrote[(c.scope, row["identity"], row["connector"])].add(c.mtime)

    def overtaken(c: Checkpoint) -> bool:
        others = {at for row in c.splits for at in wrote[(c.scope, row["identity"], row["connector"])]}
        return any(at is not None and c.mtime is not None and at > c.mtime for at in others)

    return {(c.scope, c.path) for c in last.values() if c.whole and c.splits and not overtaken(c)}
