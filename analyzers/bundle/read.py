"""Reads a bundle, whatever its age: what is not known here is passed over with a note, what was not known there is named."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analyzers.bundle import manifest as manifests
from analyzers.bundle import parquet
from analyzers.bundle.archive import unpack
from analyzers.bundle.encoding import decoded
from analyzers.bundle.errors import BundleError, BundleNotFound
from analyzers.bundle.manifest import Manifest, StoredTable
from analyzers.tables import TABLES, Row

RAW = "raw"


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
    unpacked: tempfile.TemporaryDirectory[str] | None = field(default=None, repr=False, compare=False)

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
        unpacked = tempfile.TemporaryDirectory(prefix="diag-bundle-")
        unpack(path, Path(unpacked.name))
        return _read_directory(_root(Path(unpacked.name)), path, unpacked)
    except OSError as error:
        raise BundleError(f"the bundle {path} cannot be read: {error.strerror or error}") from error


def _root(unpacked: Path) -> Path:
    """People pack the directory itself as often as its content."""
    inside = list(unpacked.iterdir())
    if len(inside) == 1 and inside[0].is_dir() and inside[0].name != RAW:
        return inside[0]
    return unpacked


def _read_directory(root: Path, path: Path, unpacked: tempfile.TemporaryDirectory[str] | None) -> Bundle:
    raw = root / RAW
    raw_dir = raw if raw.is_dir() else None
    place = root / manifests.NAME
    if not place.is_file():
        if raw_dir is None:
            raise BundleNotFound(
                f"{path} is no bundle: it has neither {manifests.NAME} nor {RAW}/", "Logs are read without --bundle: diag triage PATH"
            )
        return Bundle(path, root, {}, raw_dir, None, unpacked=unpacked)
    manifest = manifests.parse(place.read_text(encoding="utf-8", errors="replace"), str(path))
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
        tables[name] = _read_table(root, path, name, stored)
    return Bundle(path, root, tables, raw_dir, manifest, tuple(notes), manifest.missing_columns(), unpacked)


def _read_table(root: Path, path: Path, name: str, stored: StoredTable) -> list[Row]:
    if Path(stored.file).name != stored.file:
        raise BundleError(f"the bundle {path} is refused: {name} names a file outside of it", "Ask its sender.")
    place = root / stored.file
    try:
        content = place.read_bytes()
    except FileNotFoundError:
        raise BundleError(f"the bundle {path} is damaged: {stored.file} is missing", "Copy or save it again.") from None
    if hashlib.sha256(content).hexdigest() != stored.sha256:
        raise BundleError(
            f"the bundle {path} is damaged or was edited: {stored.file} does not match its checksum",
            "Copy or save it again; half of the evidence would give a wrong answer.",
        )
    try:
        rows = parquet.read(place, TABLES[name]) if stored.file.endswith(".parquet") else _rows(name, content)
    except ValueError as error:
        raise BundleError(f"the bundle {path} is damaged: {stored.file}: {error}", "Save it again.") from error
    if len(rows) != stored.rows:
        raise BundleError(
            f"the bundle {path} is damaged: {stored.file} has {len(rows)} rows, its manifest says {stored.rows}", "Save it again."
        )
    return rows


def _rows(name: str, content: bytes) -> list[Row]:
    rows = []
    for number, line in enumerate(content.decode("utf-8").split("\n"), 1):  # not splitlines: U+2028 may stand inside a text
        if not line:
            continue
        try:
            said: Any = json.loads(line)
            if not isinstance(said, dict):
                raise ValueError("no object")
            rows.append(decoded(TABLES[name], said))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    return rows
