"""Opening a log whatever it is packed in: plain, gz, zst, bz2, xz, lz4, a member of a zip or tar, and one of these inside of another."""

from __future__ import annotations

import codecs
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import IO, cast

from analyzers.budget import BUDGET
from analyzers.bundle.confined import refuse_outside
from analyzers.bundle.packed import MOST_MEMBERS, Counted, Stored, TooMuch, members_of
from analyzers.logs.wrappings.sniff import with_line_feeds
from analyzers.readers.object_stores import is_remote
from analyzers.readers.unpacking import CHUNK, TROUBLES, Lz4, Unpacked, packing_of
from analyzers.readers.walking import kind_of_kernel
from analyzers.tables import TABLES

__all__ = ["CHUNK", "TROUBLES", "Peeked", "decoded", "line_feeds", "line_runs", "open_file", "packing_of", "parts", "trouble_text"]

LINE_LIMIT = BUDGET.wrapped_line_bytes

_ROW = b'{"scope":"'
"""How each row begins that diag saves."""
_ZIP_DIRECTORY = BUDGET.zip_directory_bytes


class Peeked:
    """A stream whose first bytes were read already."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head, self._rest = head, rest

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes (fewer is no end); b"" at the end."""
        if not self._head:
            return self._rest.read(size)
        size = len(self._head) if size < 0 else size
        piece, self._head = self._head[:size], self._head[size:]
        return piece


def _head_of(stream: IO[bytes]) -> tuple[bytes, IO[bytes]]:
    head = b""
    while len(head) < 512:
        piece = stream.read(512 - len(head))
        if not piece:
            break
        head += piece
    return head, cast("IO[bytes]", Peeked(head, stream))


def parts(stream: IO[bytes]) -> Iterator[tuple[tuple[str, ...], IO[bytes], float | None]]:
    """Every unpacked text inside of `stream`: (names of the members on the way, bytes, modification time of the member).

    A stream must be read before the next one is asked for. Archives in archives are opened one level deep.
    Raises one of TROUBLES where the bytes are damaged or unpack to more than any log would; what was read before is good.
    """
    stored = Stored(stream)
    return _parts(cast("IO[bytes]", stored), stored, 0)


def _parts(stream: IO[bytes], stored: Stored, depth: int) -> Iterator[tuple[tuple[str, ...], IO[bytes], float | None]]:
    head, stream = _head_of(stream)
    packing = packing_of(head)
    if packing is None or depth > 3:
        yield (), stream, None
    elif packing == "tar":
        for member, archive in members_of(stream):
            inner = archive.extractfile(member) if member.isfile() else None
            if inner is not None and (unread := _unless_saved(member.name, inner)) is not None:
                for names, text, _ in _parts(_counted(unread, stored), stored, depth + 1):
                    yield (member.name, *names), text, float(member.mtime)
    elif packing == "zip":
        with zipfile.ZipFile(cast("IO[bytes]", _Zipped(_seekable(stream)))) as zipped:
            for number, info in enumerate(zipped.infolist()):
                if number >= MOST_MEMBERS:
                    raise TooMuch(f"holds more than {MOST_MEMBERS:,} files; what follows was not read")
                if not info.is_dir():
                    with _member_of(zipped, info) as inner:
                        if (unread := _unless_saved(info.filename, inner)) is not None:
                            for names, text, _ in _parts(_counted(unread, stored), stored, depth + 1):
                                yield (info.filename, *names), text, None
    else:
        plain = Lz4(stream) if packing == "lz4" else Unpacked(stream, packing)
        yield from _parts(_counted(cast("IO[bytes]", plain), stored), stored, depth + 1)


def _unless_saved(name: str, stream: IO[bytes]) -> IO[bytes] | None:
    """The member `name` of an archive; None for a table that diag saved, whose rows are lines of logs that would count twice."""
    stem, _, ending = os.path.basename(name).rpartition(".")
    if ending != "jsonl" or stem not in TABLES:
        return stream
    head, stream = _head_of(stream)
    return None if head.startswith(_ROW) else stream


def _counted(stream: IO[bytes], stored: Stored) -> IO[bytes]:
    return cast("IO[bytes]", Counted(stream, stored))


@contextmanager
def _member_of(zipped: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    """The bytes of a member; `zipfile` unpacks all of what it reads at once where that is bz2 or LZMA."""
    if info.compress_type == zipfile.ZIP_BZIP2:
        stored = copy(info)
        stored.compress_type, stored.file_size = zipfile.ZIP_STORED, info.compress_size
        del stored.CRC  # of what it unpacks to; bz2 has its own
        with zipped.open(stored) as packed:
            yield cast("IO[bytes]", Unpacked(packed, "bz2"))
    else:
        with zipped.open(info) as inner:
            yield cast("IO[bytes]", _Sips(inner)) if info.compress_type == zipfile.ZIP_LZMA else inner


class _Sips:
    """A stream that is read a little at a time."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(4096 if size < 0 else min(size, 4096))


class _Zipped:
    """A file for `zipfile`, which reads the list of files at its end in one go, however long that is."""

    def __init__(self, file: IO[bytes]) -> None:
        self.seek, self.tell, self._read = file.seek, file.tell, file.read

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size > _ZIP_DIRECTORY:
            raise TooMuch(f"has a list of files of {size >> 20:,} MB and was not read")
        return self._read(size)


def _seekable(stream: IO[bytes]) -> IO[bytes]:
    """A zip has its directory at its end: one inside of another archive is put aside first."""
    aside = tempfile.SpooledTemporaryFile(64 << 20)  # noqa: SIM115  # closed with the archive that reads it
    while piece := stream.read(CHUNK):
        aside.write(piece)
    aside.seek(0)
    return cast("IO[bytes]", aside)


def open_file(path: str) -> IO[bytes]:
    """The bytes as stored, of a file or an object of a store. Raises ``OSError``; never opens a FIFO, a socket or a device, which could
    block for ever.
    """
    if is_remote(path):
        from analyzers.readers.remote_files import open_remote  # most runs need no driver of a store

        return open_remote(path)
    refuse_outside(path)
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path} is not a regular file")
    if (kind := kind_of_kernel(status.st_dev)) is not None:  # some wait for what never comes
        raise OSError(f"{path} is made up by the kernel ({kind})")
    return open(path, "rb", buffering=0)


def at_most(stream: IO[bytes], size: int) -> bytes:
    """The next `size` bytes, fewer at the end; of damaged ones those before the damage, which is reported when the file is scanned."""
    got = bytearray()
    while len(got) < size:
        try:
            piece = stream.read(min(size - len(got), 64 << 10))
        except TROUBLES:
            if got:
                break
            raise
        if not piece:
            break
        got += piece
    return bytes(got)


def line_feeds(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same text with a line feed where a line ends in a bare carriage return."""
    held = b""
    for piece in pieces:
        piece, held = held + piece, b""
        if piece.endswith(b"\r"):  # its line feed may come with the next piece
            piece, held = piece[:-1], b"\r"
        yield with_line_feeds(piece)
    if held:
        yield b"\n"


def decoded(stream: IO[bytes], encoding: str | None, window: int) -> Iterator[bytes]:
    """The bytes of `stream` in pieces, as UTF-8; line ends stay as they are."""
    if encoding is None:
        while piece := stream.read(window):
            yield piece
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while piece := stream.read(window):
        yield decoder.decode(piece).encode()
    yield decoder.decode(b"", True).encode()


def line_runs(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Whole lines, as many as a piece has. Of a line of more than LINE_LIMIT bytes only the first ones are kept."""
    rest, skipping, first = b"", False, True
    for piece in pieces:
        if first:
            piece, first = piece.removeprefix(b"\xef\xbb\xbf"), False
        cut = piece.rfind(b"\n") + 1
        if not cut:
            if not skipping:
                rest += piece
            if len(rest) > LINE_LIMIT:
                rest, skipping = rest[:LINE_LIMIT], True
            continue
        yield b"".join((rest, memoryview(piece)[piece.index(b"\n") if skipping else 0 : cut]))  # one copy, not two
        skipping, rest = False, piece[cut:]
    if rest:
        yield rest


def trouble_text(error: BaseException) -> str:
    """What one of TROUBLES means, for the `why` of a source."""
    if isinstance(error, TooMuch):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    return f"cannot be read to its end: {str(error) or type(error).__name__}"
