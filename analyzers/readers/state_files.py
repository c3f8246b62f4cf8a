"""Finds the bytes behind a stream handle: inline, beside `_metadata`, or at an absolute path, also after the directory was copied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from posixpath import basename, dirname, join
from typing import Any

from analyzers.budget import BUDGET
from analyzers.readers.checkpoint_places import Place

_MAX_STATE = BUDGET.split_state_bytes

# Directories below a job's checkpoint directory, from which a copied path can be found again.
ANCHORS = ("shared", "taskowned")


class StateFiles:
    """State files of one checkpoint; `rebase` replaces the beginning of absolute paths (OLD, NEW)."""

    def __init__(self, place: Place, rebase: Sequence[tuple[str, str]]) -> None:
        self.place = place
        self.rebase = rebase

    def read(self, handle: dict[str, Any] | None) -> bytes:
        """The bytes of a stream handle; raises `OSError` that says which file was looked for."""
        if handle is None or handle["kind"] == "empty-segment":
            return b""
        if handle["kind"] == "key-groups":
            return self.read(handle["stream"])
        if handle["kind"] == "inline":
            data: bytes = handle["data"]
            if len(data) > _MAX_STATE:
                raise OSError(f"{len(data)} bytes in _metadata itself, which is more than splits need")
            return data
        start, size = handle.get("start", 0), handle["size"]
        if size > _MAX_STATE:
            raise OSError(f"{handle['path']} has {size} bytes, which is more than splits need")
        wrong = ""
        for path in candidates(self.place, self.rebase, handle["kind"], str(handle["path"])):
            try:
                data = self.place.tree.read(path, start, size)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except ValueError:  # a path with a NUL character
                continue
            if len(data) == size:
                return data
            wrong = f" ({path} ends after {start + len(data)} bytes, {start + size} are wanted)"
        raise OSError(f"state file {handle['path']} is not here{wrong}")


def candidates(place: Place, rebase: Sequence[tuple[str, str]], kind: str, path: str) -> Iterator[str]:
    """Paths at which the file that a handle of `kind` names may lie, the stated one first."""
    directory = place.directory
    if kind == "relative":
        yield join(directory, path)
        return
    for old, new in rebase:
        if path.startswith(old):
            yield new + path[len(old) :]
    stated = stated_place(place, kind, path)
    if stated is not None:
        yield stated
    yield join(directory, basename(path))
    parts = path.split("/")
    for anchor in (*ANCHORS, basename(directory)):
        if anchor in parts:
            yield join(dirname(directory), *parts[len(parts) - 1 - parts[::-1].index(anchor) :])


def stated_place(place: Place, kind: str, path: str) -> str | None:
    """Where a restore will look, in the terms of the place's tree; ``None`` when that cannot be seen from here."""
    if kind == "relative":
        return join(place.directory, path)
    return place.tree.own(path)
