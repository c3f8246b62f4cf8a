"""Reads a bundle, whatever its age: what is not known here is passed over with a note, what was not known there is named."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analyzers.bundle import manifest as manifests
from analyzers.bundle import parquet
from analyzers.bundle.archive import unpack
from analyzers.bundle.encoding import decoded
from analyzers.bundle.errors import BundleError, BundleNotFound
from analyzers.bundle.held import HeldDirectory
from analyzers.bundle.manifest import Manifest, StoredTable
from analyzers.bundle.packed import TooMuch
from analyzers.bundle.room import MOST_MANIFEST_BYTES, MOST_TEXT_BYTES, Room, content
from analyzers.tables import TABLES, Row

RAW = "raw"
_FULL = dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "It is unpacked first: set TMPDIR to a directory with room.")
_ASK = "Ask its sender; or save it anew of less (--since, --until)."


@dataclass(frozen=True)
class Bundle:
    """A bundle that was read. ``raw_dir`` is the caller's to read: its logs speak where `tables` has none.

    ``manifest`` is None for a fixture of raw files only. ``missing_columns``: per table, columns that its writer did not know; a rule that
    needs one is *not checked*, in the words of `because`. ``root`` is `path`, or where its
    archive was unpacked; those files live as long as this object.
    """

    path: Path
    root: Path
    tables: dict[str, list[Row]]
    raw_dir: Path | None
    manifest: Manifest | None
    notes: tuple[str, ...] = ()
    missing_columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unpacked: HeldDirectory | None = field(default=None, repr=False, compare=False)

    def because(self, table: str) -> str | None:
        """Why a rule that needs a missing column of `table` is not checked."""
        if self.manifest is None or table not in self.missing_columns:
            return None
        return f"the bundle was written by diag {self.manifest.version}, which had no {table}.{self.missing_columns[table][0]}"


def read_bundle(path: str | Path) -> Bundle:
    """The bundle at `path`: a directory, or a .tar.gz / .tar.zst of one.

    Raises `BundleNotFound` when there is none, `BundleError` when it is damaged, of a later format or cannot be read.
    """
    path = Path(path)
    try:
        if path.is_dir():
            return _read_directory(path, path, None)
        if not path.exists():
            raise BundleNotFound(f"there is no bundle {path}", "Write one with --save PATH.")
        unpacked = HeldDirectory("bundle")
        unpack(path, unpacked.path)
        return _read_directory(_root(unpacked.path), path, unpacked)
    except OSError as error:
        raise BundleError(f"the bundle {path} cannot be read: {error.strerror or error}", _FULL.get(error.errno or 0, "")) from error


def _root(unpacked: Path) -> Path:
    """People pack the directory itself as often as its content."""
    inside = list(unpacked.iterdir())
    if len(inside) == 1 and inside[0].is_dir() and inside[0].name != RAW:
        return inside[0]
    return unpacked


def _read_directory(root: Path, path: Path, unpacked: HeldDirectory | None) -> Bundle:
    raw = root / RAW
    raw_dir = raw if raw.is_dir() else None
    place = root / manifests.NAME
    if not place.exists():
        if raw_dir is None:
            raise BundleNotFound(
                f"{path} is not a bundle: it has neither {manifests.NAME} nor {RAW}/", "Logs are read without --bundle: diag triage PATH"
            )
        return Bundle(path, root, {}, raw_dir, None, unpacked=unpacked)
    try:
        text = content(place, MOST_MANIFEST_BYTES).decode("utf-8", "replace")
    except TooMuch as error:
        raise BundleError(f"the bundle {path} is refused: {manifests.NAME} {error}", "Ask its sender.") from error
    manifest = manifests.parse(text, str(path))
    room = Room()
    tables: dict[str, list[Row]] = {}
    notes: list[str] = []
    for name, stored in manifest.tables.items():
        if name not in TABLES or TABLES[name].derived:
            notes.append(f"the bundle was written by diag {manifest.version}; its table {name} is not known here and was passed over")
            continue
        future = [column for column, _ in stored.columns if column not in TABLES[name].names]
        if future:
            notes.append(
                f"the bundle was written by diag {manifest.version}; columns not known here were passed over: {name}.{', '.join(future)}"
            )
        tables[name] = _read_table(root, path, name, stored, room)
    return Bundle(path, root, tables, raw_dir, manifest, tuple(notes), manifest.missing_columns(), unpacked)


def _read_table(root: Path, path: Path, name: str, stored: StoredTable, room: Room) -> list[Row]:
    if Path(stored.file).name != stored.file:
        raise BundleError(f"the bundle {path} is refused: {name} names a file outside of it", "Ask its sender.")
    place = root / stored.file
    try:
        room.rows(stored.rows, len(TABLES[name].columns))
        said = content(place, MOST_TEXT_BYTES)
        if hashlib.sha256(said).hexdigest() != stored.sha256:
            raise BundleError(
                f"the bundle {path} is damaged or was edited: {stored.file} does not match its checksum",
                "Copy or save it again; half of the evidence would give a wrong answer.",
            )
        rows = parquet.read(place, TABLES[name], room, stored.rows) if stored.file.endswith(".parquet") else _rows(name, said, room, stored)
    except parquet.Lost as error:
        logs = f"; its logs alone: diag triage {shlex.quote(str(path / RAW))}" if (path / RAW).is_dir() else ""
        raise BundleError(
            f"the bundle {path} cannot be read: {stored.file} ({place.stat().st_size:,} bytes) {error}; nothing of the bundle was judged",
            f"Ask its sender to save it anew{logs}.",
        ) from error
    except FileNotFoundError:
        raise BundleError(f"the bundle {path} is damaged: {stored.file} is missing", "Copy or save it again.") from None
    except OSError as error:
        raise BundleError(f"the bundle {path} is damaged: {stored.file}: {error.strerror or error}", "Copy or save it again.") from error
    except TooMuch as error:
        raise BundleError(f"the bundle {path} is refused: {stored.file} {error}.", _ASK) from error
    except ValueError as error:
        raise BundleError(f"the bundle {path} is damaged: {stored.file}: {error}", "Save it again.") from error
    if len(rows) != stored.rows:
        raise BundleError(
            f"the bundle {path} is damaged: {stored.file} has {len(rows)} rows, its manifest says {stored.rows}", "Save it again."
        )
    return rows


def _rows(name: str, content: bytes, room: Room, stored: StoredTable) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(io.BytesIO(content), 1):  # not splitlines: U+2028 may stand inside a text
        if line == b"\n":
            continue
        try:
            if len(rows) >= stored.rows:  # these are not paid for
                room.rows(1, len(TABLES[name].columns))
            room.line(len(line))
            text = line.decode("utf-8")
            room.text(sys.getsizeof(text) - len(line))
            said: Any = json.loads(text)
            if not isinstance(said, dict):
                raise ValueError("no object")
            rows.append(decoded(TABLES[name], said))
            room.within(rows[-1])
        except TooMuch:
            raise
        except RecursionError:
            raise ValueError(f"line {number}: nested too deep") from None
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    return rows
