"""Logs in object stores: listed, and read by ranges, through the same drivers as checkpoints (`object_stores`)."""

from __future__ import annotations

import glob
import io
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import IO, cast

from analyzers.readers.object_stores import RemoteTree
from analyzers.readers.trees import Entry

_BLOCK = 4 << 20
"""Bytes of one request: its answer takes about as long as the request itself."""
_HEAD = 256 << 10
"""Bytes of the first request: of many files no more than the beginning is looked at."""


class RemoteFile(io.RawIOBase):
    """A file that is asked for in blocks, as far as it is read."""

    def __init__(self, tree: RemoteTree, path: str, size: int) -> None:
        self._tree, self._path, self._size = tree, path, size
        self._at = self._begin = 0
        self._block = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer)).cast("B")
        piece = self._piece(len(view))
        view[: len(piece)] = piece
        return len(piece)

    def _piece(self, size: int) -> bytes:
        """At most `size` bytes from where it stands."""
        if self._at >= self._size:
            return b""
        if not self._begin <= self._at < self._begin + len(self._block):
            least = _BLOCK if self._block else _HEAD
            self._begin = self._at
            self._block = self._tree.read(self._path, self._at, min(max(size, least), self._size - self._at))
            if not self._block:  # it became shorter while it was read
                return b""
        start = self._at - self._begin
        piece = self._block[start : start + size]
        self._at += len(piece)
        return piece


def open_remote(path: str) -> IO[bytes]:
    """The bytes at a URI as stored. Raises ``OSError``."""
    tree = _tree(path)
    return cast("IO[bytes]", RemoteFile(tree, path, tree.entry(path).size))


def remote_entry(path: str) -> Entry:
    """What a URI names. Raises ``OSError``; an object store knows a directory only by what lies in it."""
    return _tree(path).entry(path)


def remote_entries(path: str) -> list[Entry]:
    """What lies right below a URI. Raises ``OSError``."""
    return _tree(path).entries(path)


def files_below(path: str) -> Iterator[Entry | OSError]:
    """All files below a URI, hidden ones left out; a directory that cannot be listed is its error."""
    left = [path]
    while left:
        directory = left.pop()
        try:
            found = remote_entries(directory)
        except OSError as error:
            yield error
            continue
        yield from (entry for entry in found if not entry.directory and not entry.name.startswith("."))
        left += [entry.path for entry in reversed(found) if entry.directory and not entry.name.startswith(".")]


def matching(pattern: str) -> list[str]:
    """The URIs that match, in order. Raises ``OSError``. ``**`` stands for any number of directories, as in a shell."""
    fixed = re.split(r"[*?\[]", pattern, maxsplit=1)[0].rpartition("/")[0]
    wanted = re.compile(_translated(_path(pattern)))  # a driver may spell the store itself in another way
    depth = None if "**" in pattern else pattern.count("/") - fixed.count("/")
    return sorted(path for path in _below(fixed, depth) if wanted.fullmatch(_path(path)))


def _below(path: str, depth: int | None) -> Iterator[str]:
    for entry in remote_entries(path):
        yield entry.path.rstrip("/")
        if entry.directory and (depth is None or depth > 1):
            yield from _below(entry.path.rstrip("/"), None if depth is None else depth - 1)


def _path(uri: str) -> str:
    return re.sub(r"^[^:]+://[^/]*", "", uri)


def _translated(pattern: str) -> str:
    parts = []
    for piece in re.findall(r"\*\*/?|\*|\?|\[[^\]]+\]|[^*?\[]+|\[", pattern):
        if piece.startswith("**"):
            parts.append("(?:.*/)?" if piece.endswith("/") else ".*")
        elif piece in ("*", "?"):
            parts.append("[^/]*" if piece == "*" else "[^/]")
        elif len(piece) > 2 and piece.startswith("[") and piece.endswith("]"):
            parts.append("[" + ("^" + piece[2:-1] if piece[1] == "!" else piece[1:-1]).replace("\\", "\\\\") + "]")
        else:
            parts.append(re.escape(piece))
    return "".join(parts)


def is_pattern(path: str) -> bool:
    """Whether a URI is to be matched with what there is."""
    return glob.has_magic(path)


def _tree(path: str) -> RemoteTree:
    bucket = re.match(r"[^:]+://[^/]*", path)
    assert bucket is not None, path
    return _bucket(bucket[0], os.getpid())


@lru_cache(64)
def _bucket(root: str, process: int) -> RemoteTree:
    """One connection per process: drivers have threads, which a fork leaves behind."""
    return RemoteTree(root)
