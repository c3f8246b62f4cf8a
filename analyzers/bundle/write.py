"""Writes a bundle whole or not at all, and adds samples to one that exists."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzers.bundle import manifest as manifests
from analyzers.bundle import parquet
from analyzers.bundle.archive import is_archive_name, pack
from analyzers.bundle.carried import carry, carry_file, texts_of
from analyzers.bundle.encoding import lines, storable, validate, written_time
from analyzers.bundle.errors import BundleError
from analyzers.bundle.held import held_beside, release
from analyzers.bundle.hiding import stored_tables
from analyzers.bundle.keys import key_id, redaction_key, words_to_keep
from analyzers.bundle.manifest import Manifest, StoredTable
from analyzers.bundle.read import RAW, Bundle, read_bundle
from analyzers.tables import TABLES, Row

if TYPE_CHECKING:
    from analyzers.bundle.redact import Redactor

Clean = Callable[[str], str]

PARQUET_ABOVE = 100_000
"""Rows; below, JSON Lines can be compared, searched and mended by hand."""

_REPLACED = frozenset({"log_events", "log_remarks", "log_counts", "log_files"})
"""A second look at the logs is the whole evidence again, not one more sample."""
_TIMELESS = frozenset(
    {
        "checkpoint_files",
        "operator_states",
        "subtask_states",
        "splits",
        "state_files",
        "batches",
        "batch_offsets",
        "state_store_files",
        "query_leftovers",
    }
)
"""Files that do not change: the same row seen again later is the same row."""


def write_bundle(
    path: str | Path,
    tables: Mapping[str, Sequence[Row]],
    *,
    version: str,
    as_of: datetime | None = None,
    created: datetime | None = None,
    scope: str = "",
    redact: bool = True,
    key_file: Path | None = None,
    key_store: Path | None = None,
    keep_file: Path | None = None,
    parquet_above: int = PARQUET_ABOVE,
    absent: Mapping[str, str] | None = None,
) -> Manifest:
    """Write `tables` (derived ones left out) to `path`, an archive when it is named so; an existing bundle gets the new samples.
    `absent`: why tables are missing that were asked for; `keep_file`: words that redaction lets stand.

    Raises `SchemaMismatch` for rows that do not fit their table, `BundleError` when `path` is something else or cannot be written: then
    nothing has changed.
    """
    from analyzers.bundle.redact import KINDS, Redactor, scrubbed  # its many expressions are for who writes, and take their time
    from analyzers.secrets import scrub

    path = Path(os.path.realpath(path))  # a link stays a link
    stored = stored_tables(tables)
    for name, rows in stored.items():
        validate(TABLES[name], rows)
    before = _existing(path)
    used = before.manifest.redaction if before is not None and before.manifest is not None else {}
    redaction: dict[str, Any] = {}
    clean: Clean = scrub
    if redact:
        key = redaction_key(used, key_file, key_store)
        redaction = {"key": key_id(key), "kinds": list(KINDS)}
        redactor = Redactor(key, () if keep_file is None else words_to_keep(keep_file))
        redactor.learn(stored)
        if before is not None:
            _learn(redactor, before)
            if not used:  # written with --no-redact: what it holds is redacted now, too
                before = replace(before, tables=redactor.tables(before.tables))
        stored = dict(redactor.tables(stored))
        clean = redactor.lines
    elif used:
        raise BundleError(f"the bundle {path} is redacted; --no-redact would mix names and tokens", "Save to a new path.")
    else:
        stored = dict(scrubbed(stored))
    merged = _merged(before.tables if before else {}, stored)
    known = [at for at in (as_of, before.manifest.as_of if before and before.manifest else None) if at is not None]
    try:
        missing = {name: clean(why) for name, why in (absent or {}).items() if name not in merged}
        draft = _draft(version, created, max(known, default=None), scope, redaction, missing)
        return _write(path, merged, before, clean, parquet_above, draft)
    except OSError as error:
        raise BundleError(
            f"cannot write the bundle to {path}: {error.strerror or error}", "Nothing was changed; choose another --save PATH."
        ) from error


def _draft(
    version: str, created: datetime | None, as_of: datetime | None, scope: str, redaction: dict[str, Any], absent: Mapping[str, str]
) -> Manifest:
    return Manifest(version, created or datetime.now(timezone.utc), as_of, scope, {}, redaction, absent=absent)


def _learn(redactor: Redactor, before: Bundle) -> None:
    """The names that the tables and the files of `before` hold."""
    redactor.learn(before.tables)
    for place in sorted(before.root.rglob("*")):
        if place.is_file() and place.suffix != ".parquet" and (pieces := texts_of(place)) is not None:
            for piece in pieces:
                redactor.learn_lines(piece)


def _existing(path: Path) -> Bundle | None:
    """The bundle that `path` holds, None when the path is free. Raises `BundleError` when it holds something else."""
    try:
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            return None
    except OSError as error:  # a name that no file system has, a directory that may not be listed
        raise BundleError(f"cannot write the bundle to {path}: {error.strerror or error}", "Choose another --save PATH.") from error
    if path.is_dir() and not (path / manifests.NAME).is_file():
        raise BundleError(f"{path} exists and is not a bundle", "Choose a --save PATH that does not exist, or a bundle to add to.")
    if path.is_file() and not is_archive_name(path):
        raise BundleError(f"{path} exists and is not a bundle", "Choose a directory, or a name that ends in .tar.gz or .tar.zst.")
    return read_bundle(path)


def _merged(before: Mapping[str, Sequence[Row]], now: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    merged = {name: list(rows) for name, rows in before.items()}
    for name, rows in now.items():
        if name in _REPLACED or name not in before:
            merged[name] = list(rows)
        else:
            kept = {_identity(name, row): row for row in (*before[name], *rows)}
            merged[name] = list(kept.values())
    return merged


def _identity(table: str, row: Row) -> str:
    """What makes two rows one: for sources name and kind (the newest state counts), for files all but the moment of looking."""
    if table == "sources":
        return repr((row["name"], row["kind"]))
    without = {"as_of"} if table in _TIMELESS else set()
    return repr([written_time(v) if isinstance(v, datetime) else storable(v) for c, v in row.items() if c not in without])


def _write(
    path: Path, tables: Mapping[str, Sequence[Row]], before: Bundle | None, clean: Clean, parquet_above: int, draft: Manifest
) -> Manifest:
    path.parent.mkdir(parents=True, exist_ok=True)
    work = held_beside(path)
    try:
        content = work / "content"
        content.mkdir()
        left_out: tuple[str, ...] = ()
        if before is not None:
            left_out = _carry_over(before, content, clean)
        files = {name: _store(content, name, rows, parquet_above) for name, rows in sorted(tables.items())}
        manifest = replace(draft, tables=files, left_out=left_out)
        (content / manifests.NAME).write_text(manifest.text(), encoding="utf-8")
        _for_its_owner_only(content)
        if is_archive_name(path):
            packed = work / "packed"
            pack(content, work / path.name)
            (work / path.name).rename(packed)
            packed.chmod(stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600)
            os.replace(packed, path)
        else:
            _swap(content, path, work / "before")
        return manifest
    finally:
        release(work)


def _store(content: Path, name: str, rows: Sequence[Row], parquet_above: int) -> StoredTable:
    table = TABLES[name]
    if len(rows) > parquet_above:
        place = content / f"{name}.parquet"
        parquet.write(place, table, list(rows))
    else:
        place = content / f"{name}.jsonl"
        with place.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines(table, rows))
    digest = hashlib.sha256(place.read_bytes()).hexdigest()
    return StoredTable(place.name, tuple((c.name, c.type) for c in table.columns), len(rows), digest)


def _carry_over(before: Bundle, content: Path, clean: Clean) -> tuple[str, ...]:
    """What else the bundle holds, cleaned: raw files, a fixture's expectation. The names of what cannot be cleaned and stays out."""
    left_out = [] if before.raw_dir is None else carry(before.raw_dir, content / RAW, clean)
    tables = {t.file for t in before.manifest.tables.values()} if before.manifest else set()
    for place in before.root.iterdir():
        if (
            place.is_file()
            and place.name not in tables
            and place.name != manifests.NAME
            and not carry_file(place, content / place.name, clean)
        ):
            left_out.append(place.name)
    return tuple(left_out)


def _for_its_owner_only(content: Path) -> None:
    """Topics, hosts, stack traces: evidence is shown to whom its owner shows it, with any umask."""
    for folder, _, names in os.walk(content):
        os.chmod(folder, 0o700)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o600)


def _swap(content: Path, path: Path, aside: Path) -> None:
    """`content` under the final name; the old directory comes back when that fails."""
    if not path.exists():
        os.rename(content, path)
        return
    os.chmod(content, stat.S_IMODE(path.stat().st_mode))  # whom its owner let in stays in
    os.rename(path, aside)
    try:
        os.rename(content, path)
    except BaseException:  # Ctrl-C between the two is enough
        os.rename(aside, path)
        raise
