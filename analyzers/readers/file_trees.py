"""Places where checkpoints lie, seen as one tree of files: a directory of this machine, or an archive of one."""

from __future__ import annotations

import os
import stat
import tarfile
from datetime import datetime, timezone
from pathlib import PurePosixPath
from typing import IO, cast

from analyzers.budget import BUDGET
from analyzers.bundle.confined import is_outside, refuse_outside
from analyzers.bundle.packed import Counted, Stored, TooMuch, members_of
from analyzers.readers.trees import Entry, Tree
from analyzers.readers.unpacking import Unpacked, packing_of
from analyzers.readers.walking import made_by_the_kernel

_ARCHIVE_METADATA = BUDGET.tar_metadata_bytes
_ARCHIVE_FILE = BUDGET.tar_file_bytes
_ARCHIVE_TOTAL = BUDGET.tar_bytes
_ARCHIVE_MEMBERS = BUDGET.tar_members
_ARCHIVE_DIRECTORIES = BUDGET.tar_directories
_DEEPEST = BUDGET.tar_depth

_HEAD = 512
_PACKINGS = ("gz", "bz2", "xz", "zst")


def _utc(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(seconds * 1000) / 1000, tz=timezone.utc)
    except (OverflowError, OSError, ValueError):
        return None


class LocalTree:
    """Files of this machine; nothing but reading calls is made."""

    cheap = True

    def __init__(self, root: str) -> None:
        self.root = root

    def entries(self, directory: str) -> list[Entry]:
        found: list[Entry] = []
        refuse_outside(directory)
        if made_by_the_kernel(directory) is not None:
            return found
        with os.scandir(directory) as listing:
            for item in listing:
                if is_outside(item.path):
                    continue
                try:
                    status = item.stat()
                except FileNotFoundError:
                    continue  # a live job deletes checkpoints while they are listed
                if stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode):
                    found.append(_local(item.name, item.path, status))
        return sorted(found)

    def entry(self, path: str) -> Entry:
        refuse_outside(path)
        return _local(os.path.basename(os.path.normpath(path)), path, os.stat(path))

    def read(self, path: str, start: int = 0, size: int | None = None) -> bytes:
        refuse_outside(path)
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"not a regular file: {path}")  # opening a pipe would wait for its writer
        # half of the system calls of `open` and `read`, and of 10,000 small files a sixth of the time
        file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            if start:
                os.lseek(file, start, os.SEEK_SET)
            wanted = max(status.st_size - start, 0) + 1 if size is None else size
            data = os.read(file, wanted)
            if size is None and len(data) + 1 == wanted:
                return data
            pieces = [data]
            while pieces[-1] and (size is None or (wanted := wanted - len(pieces[-1]))):
                pieces.append(os.read(file, wanted))
            return b"".join(pieces)
        finally:
            os.close(file)

    def own(self, path: str) -> str | None:
        if path.startswith("file:"):
            path = path[5:]
            return "/" + path.lstrip("/") if path.startswith("/") else None
        return path if path.startswith("/") else None


def _local(name: str, path: str, status: os.stat_result) -> Entry:
    return Entry(name, path, stat.S_ISDIR(status.st_mode), status.st_size, _utc(status.st_mtime))


class ArchiveTree:
    """A tar archive (plain, gz, bz2, xz, zst), read once from front to back; small files and every `_metadata` are kept.

    `problem` says why the archive could not be read to its end; what came before is there.
    """

    cheap = True

    def __init__(self, path: str) -> None:
        self.root = path
        self.problem: str | None = None
        self._files: dict[str, Entry] = {}
        self._bytes: dict[str, bytes] = {}
        self._children: dict[str, dict[str, Entry]] = {"": {}}
        with open(path, "rb") as file:
            kept = count = 0
            try:
                for member, archive in members_of(_plain(file), _ARCHIVE_MEMBERS):
                    count += 1
                    if member.isdir() or member.isfile():
                        kept += self._add(member, archive, kept)
            except Exception as error:  # every compression has an error type of its own, and the archive is foreign bytes
                if not count and isinstance(error, tarfile.ReadError):
                    raise OSError(f"not a readable archive: {error}") from error
                self.problem = f"the archive ends or breaks after {len(self._files)} files: {error}"

    def _add(self, member: tarfile.TarInfo, archive: tarfile.TarFile, kept: int) -> int:
        parts = [part for part in PurePosixPath(member.name).parts if part not in ("/", ".", "..")]
        if not parts:
            return 0
        if len(self._children) > _ARCHIVE_DIRECTORIES:
            raise TooMuch(f"it holds more than {_ARCHIVE_DIRECTORIES:,} directories; what follows was not read")
        directory = member.isdir() or len(parts) > _DEEPEST
        parts = parts[:_DEEPEST]
        path = "/".join(parts)
        entry = Entry(parts[-1], path, directory, 0 if directory else member.size, _utc(member.mtime))
        for depth in range(1, len(parts)):
            parent, child = "/".join(parts[: depth - 1]), "/".join(parts[:depth])
            self._children.setdefault(parent, {}).setdefault(parts[depth - 1], Entry(parts[depth - 1], child, True, 0, None))
        self._children.setdefault("/".join(parts[:-1]), {})[parts[-1]] = entry
        self._files[path] = entry
        if directory:
            self._children.setdefault(path, {})
            return 0
        limit = _ARCHIVE_METADATA if parts[-1] == "_metadata" else _ARCHIVE_FILE
        if member.size > limit or kept + member.size > _ARCHIVE_TOTAL:
            return 0
        content = archive.extractfile(member)
        self._bytes[path] = b"" if content is None else content.read()
        return len(self._bytes[path])

    def entries(self, directory: str) -> list[Entry]:
        try:
            return sorted(self._children[directory].values())
        except KeyError:
            raise FileNotFoundError(f"no such directory in the archive: {directory}") from None

    def entry(self, path: str) -> Entry:
        try:
            return self._files[path]
        except KeyError:
            if path in self._children:
                return Entry(path.rsplit("/", 1)[-1], path, True, 0, None)
            raise FileNotFoundError(f"no such file in the archive: {path}") from None

    def read(self, path: str, start: int = 0, size: int | None = None) -> bytes:
        entry = self.entry(path)
        if path not in self._bytes:
            raise OSError(f"{entry.size} bytes inside an archive are not read; unpack it")
        content = self._bytes[path]
        return content[start:] if size is None else content[start : start + size]

    def own(self, path: str) -> str | None:
        return None  # what is stated is where the files lay before they were packed


def _plain(file: IO[bytes]) -> IO[bytes]:
    """The bytes of the archive that `file` holds; they end with an error where they would be more than any archive has."""
    packing = packing_of(file.read(_HEAD))
    file.seek(0)
    stored = Stored(file)
    stream = cast("IO[bytes]", stored)
    return cast("IO[bytes]", Counted(cast("IO[bytes]", Unpacked(stream, packing)), stored)) if packing in _PACKINGS else stream


def looks_like_archive(path: str) -> bool:
    """Whether the file begins as a tar archive or as a compressed file."""
    with open(path, "rb") as file:
        return packing_of(file.read(_HEAD)) in (*_PACKINGS, "tar")


def open_tree(path: str) -> Tree:
    """The tree at `path`; raises `OSError` when it cannot be read at all."""
    from analyzers.readers.object_stores import RemoteTree, is_remote  # it takes `Entry` from here

    if is_remote(path):
        return RemoteTree(path)
    refuse_outside(path)
    if stat.S_ISREG(os.stat(path).st_mode) and looks_like_archive(path):  # opening a pipe would wait for its writer
        return ArchiveTree(path)
    return LocalTree(path)
