"""Finds the bytes behind a stream handle: inline, beside `_metadata`, or at an absolute path, also after the directory was copied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from posixpath import basename, dirname, join, normpath
from typing import Any

from analyzers.readers.checkpoint_places import Place
from analyzers.readers.file_trees import ArchiveTree

# A source's split state is kilobytes; 6,000 Kafka partitions of one subtask are 400 kB.
_MAX_STATE = 64 << 20

# Directories below a job's checkpoint directory, from which a copied path can be found again.
_ANCHORS = ("shared", "taskowned")


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
            return data
        start, size = handle.get("start", 0), handle["size"]
        if size > _MAX_STATE:
            raise OSError(f"{handle['path']} has {size} bytes, which is more than splits need")
        wrong = ""
        for path in self._candidates(handle):
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

    def _candidates(self, handle: dict[str, Any]) -> Iterator[str]:
        directory, path = self.place.directory, str(handle["path"])
        if handle["kind"] == "relative":
            yield join(directory, path)
            return
        for old, new in self.rebase:
            if path.startswith(old):
                yield new + path[len(old) :]
        plain = _without_scheme(path)
        if plain is not None and not isinstance(self.place.tree, ArchiveTree):
            yield plain
        yield join(directory, basename(path))
        parts = path.split("/")
        job_directory = dirname(normpath(directory))
        for anchor in (*_ANCHORS, basename(normpath(directory))):
            if anchor in parts:
                yield join(job_directory, *parts[len(parts) - 1 - parts[::-1].index(anchor) :])


def _without_scheme(path: str) -> str | None:
    """The local path of ``file:`` URIs and plain absolute paths; ``None`` for other file systems."""
    if path.startswith("file:"):
        path = path[5:]
        return "/" + path.lstrip("/") if path.startswith("/") else None
    return path if path.startswith("/") else None
