"""What lies beside the logs of a Structured Streaming checkpoint: files of the state store, and what writers left behind. Listing only.

Source: ``HDFSBackedStateStoreProvider``, ``RocksDBFileManager``, ``CheckpointFileManager`` of Apache Spark (2.1 to 4.1). Version V of a
state store is written by batch V - 1, and batch V begins by loading it: from the newest snapshot at or below V and every delta after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from posixpath import join
from typing import Any

from analyzers.budget import BUDGET
from analyzers.readers.checkpoint_places import Place, Problem
from analyzers.readers.trees import Entry

_NUMBER = re.compile(r"\d{1,9}\Z")
_VERSION = re.compile(
    r"(\d{1,18})(?:_[0-9a-zA-Z-]+)?\.(delta|snapshot|zip|changelog)\Z"
)  # N_<unique id>.zip: the state format 2 of Spark 4
_SNAPSHOTS = ("snapshot", "zip")
_LEFT = re.compile(r"\.(\d{1,18})(?:\.compact)?\.[0-9a-fA-F-]{8,40}\.tmp\Z")
_MOST_NAMED = 20

_MAX_STORES = BUDGET.stores

Facts = Iterator[tuple[str, dict[str, Any]]]


def state_store_facts(place: Place, head: dict[str, Any], wanted: int | None, problems: list[Problem]) -> Facts:
    """One row of ``state_store_files`` per store; `wanted` is the version that the next batch loads (newest committed batch + 1)."""
    seen = 0
    for operator, partition, store, directory in _stores(place, problems):
        seen += 1
        if seen > _MAX_STORES:
            problems.append(Problem(f"{place.shown}: state", f"more than {_MAX_STORES} state stores: the rest was not looked at"))
            return
        try:
            entries = place.tree.entries(directory)
        except OSError as error:
            problems.append(Problem(f"{place.shown}: {directory}", error.strerror or str(error)))
            continue
        row = {**head, "operator": operator, "partition": partition, "store": store, "wanted_version": wanted}
        yield "state_store_files", {**row, **store_state(entries, wanted)}


def _stores(place: Place, problems: list[Problem]) -> Iterator[tuple[int, int, str, str]]:
    """(operator, partition, store, directory); a join has named stores, other operators one without a name."""
    state = join(place.directory, "state")
    for operator in _numbered_directories(place, state, problems):
        for partition in _numbered_directories(place, operator.path, problems):
            try:
                below = place.tree.entries(partition.path)
            except OSError as error:
                problems.append(Problem(f"{place.shown}: {partition.path}", error.strerror or str(error)))
                continue
            named = [entry for entry in below if entry.directory and not entry.name.startswith((".", "_")) and entry.name != "SSTs"]
            if any(_VERSION.match(entry.name) for entry in below) or not named:
                yield int(operator.name), int(partition.name), "default", partition.path
            for entry in named:
                yield int(operator.name), int(partition.name), entry.name, entry.path


def _numbered_directories(place: Place, directory: str, problems: list[Problem]) -> list[Entry]:
    try:
        entries = place.tree.entries(directory)
    except FileNotFoundError:
        return []  # a query without state
    except OSError as error:
        problems.append(Problem(f"{place.shown}: {directory}", error.strerror or str(error)))
        return []
    return sorted((entry for entry in entries if entry.directory and _NUMBER.match(entry.name)), key=lambda entry: int(entry.name))


def store_state(entries: list[Entry], wanted: int | None) -> dict[str, Any]:
    """Columns of one store: state (ok, missing, empty-file, behind), files, size_bytes, newest_version, newest_snapshot, missing, empty."""
    changes: dict[int, int] = {}
    snapshots: dict[int, int] = {}
    for entry in entries:
        match = None if entry.directory else _VERSION.match(entry.name)
        if match:
            kept = snapshots if match[2] in _SNAPSHOTS else changes
            kept[int(match[1])] = max(entry.size, kept.get(int(match[1]), 0))
    empty = sorted({version for kept in (changes, snapshots) for version, size in kept.items() if size == 0})
    versions = changes.keys() | snapshots.keys()
    missing: list[int] = []
    state = "ok"
    if wanted is not None and wanted > 0:
        base = max((version for version, size in snapshots.items() if version <= wanted and size), default=0)
        needed = range(base + 1, wanted + 1)
        # as many as can be named: a damaged name may claim any number
        missing = list(islice((version for version in needed if version not in changes), _MOST_NAMED))
        if missing:
            state = "behind" if max(versions, default=0) < wanted else "missing"
        elif any(version in needed for version in empty):
            state = "empty-file"
    return {
        "state": state,
        "files": len(entries),
        "size_bytes": sum(entry.size for entry in entries if not entry.directory),
        "newest_version": max(versions, default=None),
        "newest_snapshot": max(snapshots, default=None),
        "missing": [str(version) for version in missing],
        "empty": [str(version) for version in empty[:_MOST_NAMED]],
    }


def leftover_facts(place: Place, head: dict[str, Any]) -> Facts:
    """Rows of ``query_leftovers``: files of a writer that died, or lost the race with another, before its rename."""
    for directory in ("offsets", "commits"):
        try:
            entries = place.tree.entries(join(place.directory, directory))
        except OSError:
            continue  # said where the log itself is read
        present = {entry.name for entry in entries}
        for entry in entries:
            match = _LEFT.match(entry.name)
            if match and not entry.directory:
                row = {
                    "directory": directory,
                    "batch": int(match[1]),
                    "file": entry.name,
                    "size_bytes": entry.size,
                    "mtime": entry.modified,
                }
                yield "query_leftovers", {**head, **row, "batch_exists": match[1] in present}
