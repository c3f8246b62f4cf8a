"""Bundles as .tar.gz / .tar.zst; packed with fixed times and order, so that the same tables give the same bytes."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from analyzers.budget import BUDGET
from analyzers.bundle.confined import refuse_outside
from analyzers.bundle.errors import BundleError, BundleNotFound
from analyzers.bundle.packed import Counted, Stored, TooMuch, members_of

SUFFIXES = (".tar.gz", ".tgz", ".tar.zst", ".tzst")
_COPY = 1 << 20
_HEADER = 512
_MOST_BYTES = BUDGET.bundle_bytes
_DEEPEST = BUDGET.bundle_directories
_MAGIC = slice(257, 262)
"""Where every tar header since 1988 says ``ustar``."""


def is_archive_name(path: Path) -> bool:
    return path.name.endswith(SUFFIXES)


def unpack(path: Path, target: Path) -> None:
    """The members of the archive `path` below `target`.

    Raises `BundleNotFound` for a file that is no archive, `BundleError` for a damaged one or one that reaches outside of it.
    """
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for its writer
        raise BundleNotFound(f"{path} is not a bundle: neither a file nor a directory", "Name what --save wrote.")
    try:
        with _plain(path) as stream:
            head = stream.read(_HEADER)
        if head[_MAGIC] != b"ustar"[: len(head[_MAGIC])] or not head[_MAGIC]:
            raise BundleNotFound(
                f"{path} is not a bundle: neither a directory nor a tar archive",
                f"If it is a log, leave out --bundle: diag triage {path}",
            )
        with _plain(path) as stream:
            for member, archive in members_of(stream):
                inside = _inside(member, path)
                if inside is None:
                    continue
                place = target.joinpath(*inside.parts)
                place.parent.mkdir(parents=True, exist_ok=True)
                content = archive.extractfile(member)
                if content is None:
                    continue
                with place.open("wb") as file:
                    while block := content.read(_COPY):
                        file.write(block)
    except TooMuch as error:
        raise BundleError(f"the bundle {path} is refused: it {error}", "Ask its sender; a bundle is some megabytes.") from error
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, _zstd_error()) as error:
        raise BundleError(f"the bundle {path} is damaged: {error}", "Copy or save it again.") from error


def _inside(member: tarfile.TarInfo, path: Path) -> PurePosixPath | None:
    """Where `member` goes, None for a directory. Links and devices are refused like paths that lead out: a bundle comes by mail."""
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or "\\" in member.name or "\0" in member.name:
        raise BundleError(f"the bundle {path} is refused: its member {member.name!r} leads out of it", "Ask its sender.")
    if len(name.parts) > _DEEPEST:
        raise BundleError(f"the bundle {path} is refused: one of its members lies {len(name.parts):,} directories deep", "Ask its sender.")
    if member.isdir():
        return None
    if not member.isfile():
        raise BundleError(f"the bundle {path} is refused: its member {member.name!r} is neither file nor directory", "Ask its sender.")
    return name


def pack(source: Path, path: Path) -> None:
    """The files below `source` as the archive `path`; times, owners and order are fixed."""
    with (
        path.open("wb") as file,
        _packing(path, file) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for place in sorted(p for p in source.rglob("*") if p.is_file()):
            member = tarfile.TarInfo(place.relative_to(source).as_posix())
            member.size = place.stat().st_size
            member.mode = 0o600
            with place.open("rb") as content:
                archive.addfile(member, content)


@contextmanager
def _packing(path: Path, file: IO[bytes]) -> Iterator[Any]:
    if _is_zstd_name(path):
        import zstandard

        with zstandard.ZstdCompressor(level=9).stream_writer(file, closefd=False) as stream:
            yield stream
    else:
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream:
            yield stream


@contextmanager
def _plain(path: Path) -> Iterator[IO[bytes]]:
    """`path` decompressed, by its first bytes and not by its name. Raises `TooMuch` where it unpacks to more than a bundle would."""
    refuse_outside(path)
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        stored = Stored(file, _MOST_BYTES)
        if magic[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=cast("IO[bytes]", stored), mode="rb") as stream:
                yield cast("IO[bytes]", Counted(cast("IO[bytes]", stream), stored))
        elif magic == b"\x28\xb5\x2f\xfd":
            import zstandard

            with zstandard.ZstdDecompressor().stream_reader(cast("IO[bytes]", stored), read_across_frames=True, closefd=False) as stream:
                yield cast("IO[bytes]", Counted(io.BufferedReader(stream), stored))
        else:
            yield file


def _is_zstd_name(path: Path) -> bool:
    return path.name.endswith((".tar.zst", ".tzst"))


def _zstd_error() -> type[Exception]:
    import zstandard

    return zstandard.ZstdError
