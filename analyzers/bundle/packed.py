"""What is packed is read within bounds: nothing unpacks to more than a log or a table could."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import IO

from analyzers.budget import BUDGET, Budget

MOST_MEMBERS = BUDGET.archive_members
_LONGEST_NAME = BUDGET.archive_name_bytes
_AT_ONCE = 1 << 20
_NAMES = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
_IS_EXTENDED = 482
"""Where the header of a sparse file in GNU's old format says that more maps of holes follow; only the first four stand in it."""


class TooMuch(ValueError):
    """Packed bytes that hold more than anything that is worth reading: the message is a clause about the file."""


class Stored:
    """The bytes of a packed file as they are stored; counts them, and what is unpacked of them may be a multiple, and no more than `most`
    bytes."""

    def __init__(self, stream: IO[bytes], most: int | None = None, budget: Budget | None = None) -> None:
        self._stream, self._most, self._budget = stream, most, budget or BUDGET
        self._bytes = 0

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self._bytes += len(piece)
        return piece

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return self._stream.seekable()

    def fileno(self) -> int:
        raise OSError("what is read is counted")  # pyarrow and mmap would read past `read`

    def unpacked(self, size: int) -> None:
        """Raises `TooMuch` where `size` bytes came out of what was read so far."""
        most = self._budget.unpacked_least_bytes + self._budget.unpacked_times * self._bytes
        if self._most is not None:
            most = min(most, self._most)
        if size > most:
            raise TooMuch(
                f"unpacks to more than {_words(most)} from {_words(self._bytes)}, as nothing worth reading does; what follows was not read"
            )


def _words(size: int) -> str:
    return f"{size >> 20:,} MB" if size >= 10 << 20 else f"{max(size >> 10, 1):,} kB"


class Counted:
    """A stream of unpacked bytes that ends with `TooMuch` where it would not end by itself."""

    def __init__(self, stream: IO[bytes], stored: Stored) -> None:
        self._stream, self._stored, self._bytes = stream, stored, 0

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes (fewer is no end); b"" at the end."""
        piece = self._stream.read(_AT_ONCE if size < 0 else min(size, _AT_ONCE))
        self._bytes += len(piece)
        self._stored.unpacked(self._bytes)
        return piece


class _Member(tarfile.TarInfo):
    """A member whose header is read only while it is small; `tarfile` takes the sizes in it for granted."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        member = super().frombuf(buf, encoding, errors)
        if member.type in _NAMES and member.size > _LONGEST_NAME:
            raise TooMuch(f"has a name of {_words(member.size)}; what follows was not read")
        if member.type == tarfile.GNUTYPE_SPARSE and buf[_IS_EXTENDED]:
            raise TooMuch("holds a file of many holes (tar --sparse); what follows was not read")
        return member

    def _proc_gnusparse_10(self, *_: object) -> None:
        """Called by `tarfile` for a list of holes that stands among the bytes of the member."""
        raise TooMuch("holds a file of many holes (tar --sparse); what follows was not read")


def members_of(stream: IO[bytes], most: int = MOST_MEMBERS) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    """Each member of the tar archive in `stream`, and the archive that gives its bytes until the next one is asked for.

    Raises `TooMuch` behind `most` of them, and what `tarfile` raises.
    """
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as archive:
        count = 0
        while (member := archive.next()) is not None:
            archive.members.clear()  # type: ignore[attr-defined]  # it keeps them for access by name, and no option keeps it from that
            count += 1
            if count > most:
                raise TooMuch(f"holds more than {most:,} files; what follows was not read")
            yield member, archive
