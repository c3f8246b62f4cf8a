"""What a tree of files is, wherever it lies."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol


class Entry(NamedTuple):
    """One file or directory; `path` is what the tree's other methods take, `modified` an aware UTC time."""

    name: str
    path: str
    directory: bool
    size: int
    modified: datetime | None


class Tree(Protocol):
    """Read-only files below a root; every method raises `OSError` when something cannot be read.

    `cheap`: asking for one file costs no request over a network.
    """

    root: str
    cheap: bool

    def entries(self, directory: str) -> list[Entry]:
        """What lies in `directory`, sorted by name."""

    def entry(self, path: str) -> Entry:
        """The file or directory at `path`."""

    def read(self, path: str, start: int = 0, size: int | None = None) -> bytes:
        """`size` bytes of a file from `start` (fewer at its end); the whole rest when ``None``."""

    def own(self, path: str) -> str | None:
        """`path`, as a checkpoint states it, in the terms of this tree; ``None`` when it lies in another file system."""
