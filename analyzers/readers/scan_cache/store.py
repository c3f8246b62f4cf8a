"""Entries on the disk. One that cannot be read, trusted or written is as if it were not there: nothing here raises."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from analyzers.budget import BUDGET

LEAST_FREE_BYTES = 1 << 30
"""A disk with less of it is left alone: whoever looks for a fault needs the room."""
_READ_BY = ("budget", "bundle", "components", "logs", "readers", "secrets", "tables")
"""The rooms of `analyzers/` whose code or tables turn bytes of logs into parts."""
_DIGEST = 32
_UNDONE = ".new-"
_UNDONE_SECONDS = 3600.0


@dataclass(frozen=True)
class Store:
    """Entries of one version in one directory."""

    directory: str
    version: str

    def names(self) -> frozenset[str]:
        """Of all entries, those of other versions too."""
        try:
            return _names(self.directory, os.stat(self.directory).st_mtime_ns)
        except OSError:
            return frozenset()

    def get(self, name: str) -> bytes | None:
        """The content of an entry; one that is damaged is deleted."""
        path = os.path.join(self.directory, name)
        try:
            opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with open(opened, "rb") as file:
                held = file.read(BUDGET.scan_cache_entry_bytes + 1)
            os.utime(path)  # was of use now
        except OSError:
            return None
        content = held[_DIGEST:]
        if len(held) <= BUDGET.scan_cache_entry_bytes and hashlib.sha256(content).digest() == held[:_DIGEST]:
            return content
        self.drop(name)
        return None

    def put(self, name: str, content: bytes) -> None:
        """Keeps `content`, whole or not at all."""
        if len(content) + _DIGEST > BUDGET.scan_cache_entry_bytes:
            return
        made = None
        try:
            if shutil.disk_usage(self.directory).free < LEAST_FREE_BYTES:
                return
            handle, made = tempfile.mkstemp(prefix=_UNDONE, dir=self.directory)  # 0600
            with open(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(made, os.path.join(self.directory, name))
        except OSError:
            if made is not None:
                with suppress(OSError):
                    os.unlink(made)

    def drop(self, name: str) -> None:
        """Deletes an entry."""
        with suppress(OSError):
            os.unlink(os.path.join(self.directory, name))


@lru_cache(maxsize=4)
def _names(directory: str, changed: int) -> frozenset[str]:
    return frozenset(os.listdir(directory))


def opened(directory: str) -> Store | None:
    """The store of this version in `directory`, which is made if need be; None where there can be none."""
    try:
        os.makedirs(os.path.dirname(directory), mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(directory, 0o700)
        return Store(directory, version()) if is_own(directory) else None
    except OSError:
        return None


def is_own(directory: str) -> bool:
    """Whether it is a directory that none but this user can read or write, in one that others cannot write. Raises ``OSError``."""
    above, own = os.stat(os.path.dirname(directory)), os.lstat(directory)
    return (
        stat.S_ISDIR(own.st_mode)
        and own.st_uid == os.geteuid()
        and not own.st_mode & 0o077
        and above.st_uid in (0, os.geteuid())
        and (not above.st_mode & 0o022 or bool(above.st_mode & stat.S_ISVTX))
    )


@lru_cache(maxsize=1)
def version() -> str:
    """A digest of the code and tables that turn bytes of logs into parts. Raises ``OSError`` where they are no files."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256(repr((sys.version, platform.machine(), sys.byteorder)).encode())
    for path in sorted(path for room in _READ_BY for path in (root / room).rglob("*") if path.suffix != ".pyc" and path.is_file()):
        digest.update(f"{path.relative_to(root)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@dataclass(frozen=True)
class Extent:
    """How much a cache holds."""

    entries: int
    size_bytes: int


def extent(directory: str) -> Extent:
    """What `directory` holds now. Raises ``OSError``."""
    sizes = [size for _, size, _ in _listed(directory)]
    return Extent(len(sizes), sum(sizes))


def empty(directory: str) -> Extent:
    """Deletes all entries; what was deleted. Raises ``OSError``."""
    gone = []
    for _, size, path in _listed(directory):
        os.unlink(path)
        gone.append(size)
    return Extent(len(gone), sum(gone))


def prune(directory: str, most: int = BUDGET.scan_cache_bytes) -> None:
    """Deletes those that were of use longest ago, down to `most` bytes, and what killed runs left."""
    with suppress(OSError):
        left = 0
        for used, size, path in sorted(_listed(directory), reverse=True):
            left += size
            undone = os.path.basename(path).startswith(_UNDONE) and used < time.time() - _UNDONE_SECONDS
            if left > most or undone:
                with suppress(OSError):
                    os.unlink(path)


def _listed(directory: str) -> list[tuple[float, int, str]]:
    """When each was of use last, its size, and where it is."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # another run deletes, too
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    found.append((status.st_mtime, status.st_size, entry.path))
    return found
