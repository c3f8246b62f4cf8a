"""The manifest of a bundle: which tables it holds, with which columns, written by which version."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from analyzers.bundle.encoding import read_time, written_time
from analyzers.bundle.errors import BundleError
from analyzers.tables import TABLES

BUNDLE_FORMAT = 1
"""Raised only when an older diag could no longer read a bundle; new tables and columns do not raise it."""
NAME = "manifest.json"


@dataclass(frozen=True)
class StoredTable:
    """One table file: ``columns`` are (name, type) as declared by the writer, ``sha256`` is of the file as stored."""

    file: str
    columns: tuple[tuple[str, str], ...]
    rows: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What ``manifest.json`` says. ``redaction``: kinds of names that were replaced and the id of the key; empty = none were."""

    version: str
    created: datetime | None
    as_of: datetime | None
    scope: str
    tables: Mapping[str, StoredTable]
    redaction: Mapping[str, Any] = field(default_factory=dict)
    bundle_format: int = BUNDLE_FORMAT
    left_out: tuple[str, ...] = ()
    """Files of the bundle that this one continues which hold no text, so that no secret and no name can be taken out of them."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Tables that were asked for and are not here, and why."""

    def missing_columns(self) -> dict[str, tuple[str, ...]]:
        """Per table, the columns that this diag declares and the writer of the bundle did not know."""
        missing = {}
        for name, stored in self.tables.items():
            if name in TABLES:
                had = {column for column, _ in stored.columns}
                lacking = tuple(c for c in TABLES[name].names if c not in had)
                if lacking:
                    missing[name] = lacking
        return missing

    def text(self) -> str:
        """The JSON of the manifest, keys in fixed order."""
        said = {
            "bundle_format": self.bundle_format,
            "tool": "diag",
            "version": self.version,
            "created": written_time(self.created),
            "as_of": written_time(self.as_of),
            "scope": self.scope,
            "redaction": dict(self.redaction),
            **({"left_out": list(self.left_out)} if self.left_out else {}),
            **({"absent": dict(sorted(self.absent.items()))} if self.absent else {}),
            "tables": {
                name: {"file": t.file, "rows": t.rows, "sha256": t.sha256, "columns": dict(t.columns)}
                for name, t in sorted(self.tables.items())
            },
        }
        return json.dumps(said, ensure_ascii=False, indent=1) + "\n"


def parse(text: str, where: str) -> Manifest:
    """The manifest in `text`. Raises `BundleError` when it is damaged or of a later format."""
    try:
        said = json.loads(text)
        bundle_format = int(said["bundle_format"])
        version = str(said["version"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise BundleError(f"{where} is damaged: {error}", "Save the bundle again.") from error
    if bundle_format > BUNDLE_FORMAT:
        raise BundleError(
            f"{where} has bundle format {bundle_format} (written by diag {version}); this diag reads up to {BUNDLE_FORMAT}",
            "Install a newer diag.",
        )
    try:
        tables = {
            str(name): StoredTable(
                str(t["file"]), tuple((str(c), str(k)) for c, k in t["columns"].items()), int(t["rows"]), str(t["sha256"])
            )
            for name, t in said.get("tables", {}).items()
        }
        return Manifest(
            version=version,
            created=read_time(said.get("created")),
            as_of=read_time(said.get("as_of")),
            scope=str(said.get("scope", "")),
            tables=tables,
            redaction=dict(said.get("redaction") or {}),
            bundle_format=bundle_format,
            left_out=tuple(map(str, said.get("left_out", ()))),
            absent={str(name): str(why) for name, why in (said.get("absent") or {}).items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise BundleError(f"{where} is damaged: {type(error).__name__} {error}", "Save the bundle again.") from error
