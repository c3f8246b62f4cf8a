"""Decompressed bytes, a piece at a time."""

from __future__ import annotations

import bz2
import importlib
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from types import ModuleType
from typing import IO, Any

CHUNK = 1 << 20
_PACKED = 64 << 10
_ZSTD_PIECE = 1 << 10  # its decompressor gives all at once, and four bytes may be a block of 128 kB
_XZ_MEMORY = 128 << 20  # of a dictionary; `xz -9` takes 64 MB
_CUT_OFF = "it ends in the middle of the compressed data"

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


_MAGIC = (
    (b"\x1f\x8b", "gz"), (b"\x28\xb5\x2f\xfd", "zst"), (b"BZh", "bz2"), (b"\xfd7zXZ\x00", "xz"), (b"\x04\x22\x4d\x18", "lz4"),
    (b"PK\x03\x04", "zip"), (b"PK\x05\x06", "zip"),
)  # fmt: skip


def packing_of(head: bytes) -> str | None:
    """How bytes that begin with `head` (at least 512 of them, if there are as many) are packed; None = not at all."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return "tar" if head[257:262] == b"ustar" else None


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


class Unpacked:
    """Decompressed bytes, member after member, never more than some megabytes at a time.

    What stands before a damage is given before the damage is raised; `gzip.GzipFile` and its like lose it.
    """

    def __init__(self, stream: IO[bytes], packing: str) -> None:
        self._stream, self._packing, self._make = stream, packing, _decompressor(packing)
        self._limit = () if packing == "zst" else (CHUNK,)
        self._member: Any = None
        self._packed = b""  # read, and not unpacked yet
        self._ready, self._given = b"", 0  # and how much of it was given already

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes (fewer is no end); b"" at the end. Raises one of TROUBLES."""
        while self._given == len(self._ready):
            holds = self._holds()
            packed = self._packed or (b"" if holds else self._stream.read(_PACKED))
            self._ready, self._given = self._unpack(packed), 0
            if not packed and not holds and not self._ready:
                if self._member is not None and not self._member.eof:
                    raise EOFError(_CUT_OFF)
                return b""
        begin, self._given = self._given, len(self._ready) if size < 0 else min(self._given + size, len(self._ready))
        return self._ready[begin : self._given]  # no copy where it is all

    def _holds(self) -> bool:
        """Whether the decompressor was given more than it has given: bz2 and xz keep what did not fit."""
        return self._packing in ("bz2", "xz") and self._member is not None and not self._member.eof and not self._member.needs_input

    def _unpack(self, packed: bytes) -> bytes:
        if self._member is None or self._member.eof:
            packed = packed.lstrip(b"\0") if self._member is not None else packed  # padding between members
            if not packed:
                self._packed = b""
                return b""
            self._member = self._make()
        left = b""
        if self._packing == "zst":
            packed, left = packed[:_ZSTD_PIECE], packed[_ZSTD_PIECE:]
        piece: bytes = self._member.decompress(packed, *self._limit)
        if self._member.eof:
            left = self._member.unused_data + left
        elif self._packing == "gz":
            left = self._member.unconsumed_tail
        self._packed = left
        return piece


def _decompressor(packing: str) -> Callable[[], Any]:
    if packing == "gz":
        return lambda: (_ISAL_ZLIB or zlib).decompressobj(31)  # 31: with the header and check sum of gzip
    if packing == "zst":
        if _ZSTANDARD is None:
            raise ValueError("is packed with zstd, which needs the Python package zstandard")
        return _ZSTANDARD.ZstdDecompressor().decompressobj  # type: ignore[no-any-return]  # the module is optional, so its types are unknown
    return bz2.BZ2Decompressor if packing == "bz2" else lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY)


class Lz4:
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
