"""Opening a log whatever it is packed in: plain, gz, zst, bz2, xz, lz4, a member of a zip or tar, and one of these inside of another."""

from __future__ import annotations

import bz2
import codecs
import importlib
import lzma
import os
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import IO, Any, cast

from analyzers.logs.wrappings.sniff import with_line_feeds

CHUNK = 1 << 20
_PACKED = 64 << 10
_CUT_OFF = "it ends in the middle of the compressed data"
LINE_LIMIT = 16 << 20  # of a wrapped line; the kernel has a smaller limit for what is inside

_MAGIC = (
    (b"\x1f\x8b", "gz"), (b"\x28\xb5\x2f\xfd", "zst"), (b"BZh", "bz2"), (b"\xfd7zXZ\x00", "xz"), (b"\x04\x22\x4d\x18", "lz4"),
    (b"PK\x03\x04", "zip"), (b"PK\x05\x06", "zip"),
)  # fmt: skip
# What damaged bytes raise, whoever reads them.
_ALWAYS: tuple[type[Exception], ...] = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    RuntimeError,
    ValueError,
    NotImplementedError,
)


def _optional(module: str) -> ModuleType | None:
    try:
        return importlib.import_module(module)
    except ImportError:  # wheels are missing on rare platforms
        return None


_ISAL_ZLIB, _ZSTANDARD = _optional("isal.isal_zlib"), _optional("zstandard")
TROUBLES: tuple[type[Exception], ...] = (
    *_ALWAYS,
    *((_ISAL_ZLIB.error,) if _ISAL_ZLIB else ()),
    *((_ZSTANDARD.ZstdError,) if _ZSTANDARD else ()),
)


def packing_of(head: bytes) -> str | None:
    """How bytes that begin with `head` (at least 512 of them, if there are as many) are packed; None = not at all."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return "tar" if head[257:262] == b"ustar" else None


class Unpacked:
    """Decompressed bytes, member after member.

    What stands before a damage is given before the damage is raised; `gzip.GzipFile` and its like lose it.
    """

    def __init__(self, stream: IO[bytes], packing: str) -> None:
        self._stream, self._make = stream, _decompressor(packing)
        self._limit = (CHUNK,) if packing == "gz" else ()  # in pieces: gzip's decompressors take twice the time for an output that grows
        self._member: Any = None
        self._packed = b""  # read, and not unpacked yet
        self._ready, self._given = b"", 0  # and how much of it was given already

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes (fewer is no end); b"" at the end. Raises one of TROUBLES."""
        while self._given == len(self._ready):
            packed = self._packed or self._stream.read(_PACKED)
            self._ready, self._given = self._unpack(packed), 0
            if not packed and not self._ready:
                if self._member is not None and not self._member.eof:
                    raise EOFError(_CUT_OFF)
                return b""
        begin, self._given = self._given, len(self._ready) if size < 0 else min(self._given + size, len(self._ready))
        return self._ready[begin : self._given]  # no copy where it is all

    def _unpack(self, packed: bytes) -> bytes:
        if self._member is None or self._member.eof:
            packed = packed.lstrip(b"\0") if self._member is not None else packed  # padding between members
            if not packed:
                self._packed = b""
                return b""
            self._member = self._make()
        piece: bytes = self._member.decompress(packed, *self._limit)
        self._packed = self._member.unused_data if self._member.eof else self._member.unconsumed_tail if self._limit else b""
        return piece


def _decompressor(packing: str) -> Callable[[], Any]:
    if packing == "gz":
        return lambda: (_ISAL_ZLIB or zlib).decompressobj(31)  # 31: with the header and check sum of gzip
    if packing == "zst":
        if _ZSTANDARD is None:
            raise ValueError("is packed with zstd, which needs the Python package zstandard")
        return _ZSTANDARD.ZstdDecompressor().decompressobj  # type: ignore[no-any-return]  # the module is optional, so its types are unknown
    return bz2.BZ2Decompressor if packing == "bz2" else lzma.LZMADecompressor


class _Lz4:
    """Decompressed bytes of LZ4 frames, one after the other; what stands before a damage is given first, but for its last 64 kB."""

    _PIECE = 64 << 10  # what is decompressed in one go is lost with what is damaged of it

    def __init__(self, stream: IO[bytes]) -> None:
        arrow = _optional("pyarrow")  # slow to load, and few logs need it
        if arrow is None:
            raise ValueError("is packed with lz4, which needs the Python package pyarrow")
        self._plain = arrow.CompressedInputStream(arrow.PythonFile(_Readable(stream), mode="r"), "lz4")
        self._trouble: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes (fewer is no end); b"" at the end. Raises one of TROUBLES."""
        if self._trouble is not None:
            raise self._trouble
        size = CHUNK if size < 0 else size
        out: list[bytes] = []
        left = size
        while left > 0:
            try:
                piece: bytes = self._plain.read(min(left, self._PIECE))
            except TROUBLES as error:
                self._trouble = EOFError(_CUT_OFF) if "Truncated" in str(error) else error
                if out:
                    break
                raise self._trouble from error
            if not piece:
                break
            out.append(piece)
            left -= len(piece)
        return b"".join(out)


class _Readable:
    """A stream that has all that pyarrow asks a Python file for."""

    closed = False

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        return self._stream.read(size)

    def close(self) -> None:
        """Whoever opened the stream closes it."""


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


def parts(stream: IO[bytes], depth: int = 0) -> Iterator[tuple[tuple[str, ...], IO[bytes], float | None]]:
    """Every unpacked text inside of `stream`: (names of the members on the way, bytes, modification time of the member).

    A stream must be read before the next one is asked for. Archives in archives are opened one level deep.
    Raises one of TROUBLES where the bytes are damaged; what was read before is good.
    """
    head, stream = _head_of(stream)
    packing = packing_of(head)
    if packing is None or depth > 3:
        yield (), stream, None
    elif packing == "tar":
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                inner = archive.extractfile(member) if member.isfile() else None
                if inner is not None:
                    for names, text, _ in parts(inner, depth + 1):
                        yield (member.name, *names), text, float(member.mtime)
    elif packing == "zip":
        with zipfile.ZipFile(_seekable(stream)) as zipped:
            for info in zipped.infolist():
                if not info.is_dir():
                    with zipped.open(info) as inner:
                        for names, text, _ in parts(inner, depth + 1):
                            yield (info.filename, *names), text, None
    else:
        plain = _Lz4(stream) if packing == "lz4" else Unpacked(stream, packing)
        yield from parts(cast("IO[bytes]", plain), depth + 1)


def _seekable(stream: IO[bytes]) -> IO[bytes]:
    """A zip has its directory at its end: one inside of another archive is put aside first."""
    aside = tempfile.SpooledTemporaryFile(64 << 20)  # noqa: SIM115  # closed with the archive that reads it
    while piece := stream.read(CHUNK):
        aside.write(piece)
    aside.seek(0)
    return cast("IO[bytes]", aside)


def open_file(path: str) -> IO[bytes]:
    """The bytes as stored. Raises ``OSError``; never opens a FIFO, a socket or a device, which could block for ever."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"{path} is not a regular file")
    return open(path, "rb", buffering=0)


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
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    return f"cannot be read to its end: {str(error) or type(error).__name__}"
