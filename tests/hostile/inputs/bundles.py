"""Bundles that are damaged, endless or deep."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

from tests.hostile.inputs.bombs import _member
from tests.hostile.inputs.case import MB, NOT_READ, Attack, case


def bundle(here: Path, tables: dict[str, tuple[str, bytes, int]] | None = None, text: str | None = None) -> Path:
    """A bundle of what the tables (file name, content, rows) hold, checksums right: whoever sends one can compute them."""
    from analyzers.tables import TABLES

    folder = here / "bundle"
    folder.mkdir()
    said = {
        "bundle_format": 1,
        "tool": "diag",
        "version": "0.1.0",
        "created": None,
        "as_of": None,
        "scope": "",
        "redaction": {},
        "tables": {},
    }
    for name, (file, content, rows) in (tables or {}).items():
        (folder / file).write_bytes(content)
        columns = {c.name: c.type for c in TABLES[name].columns}
        said["tables"][name] = {"file": file, "rows": rows, "sha256": hashlib.sha256(content).hexdigest(), "columns": columns}  # type: ignore[index]  # of JSON
    (folder / "manifest.json").write_text(json.dumps(said) if text is None else text)
    return folder


@case
def bundle_with_a_deep_manifest(here: Path) -> Attack:
    return Attack(
        ["triage", "--bundle", str(bundle(here, text='{"bundle_format":' + "[" * 100_000 + "]" * 100_000 + "}"))], NOT_READ, "damaged"
    )


@case
def bundle_with_a_deep_row(here: Path) -> Attack:
    deep = b'{"scope":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    return Attack(["triage", "--bundle", str(bundle(here, {"log_events": ("log_events.jsonl", deep, 1)}))], NOT_READ, "damaged")


@case
def bundle_of_empty_rows(here: Path) -> Attack:
    many = 5_000_000
    return Attack(["triage", "--bundle", str(bundle(here, {"log_events": ("log_events.jsonl", b"{}\n" * many, many)}))], NOT_READ, "rows")


@case
def bundle_of_one_huge_row(here: Path) -> Attack:
    row = b'{"scope":"' + b"x" * (500 * MB) + b'"}\n'
    return Attack(["triage", "--bundle", str(bundle(here, {"log_events": ("log_events.jsonl", row, 1)}))], NOT_READ, "larger")


@case
def bundle_of_a_parquet_bomb(here: Path) -> Attack:
    import pyarrow as pa
    import pyarrow.parquet as pq

    many, column = 30_000_000, pa.array([""], pa.string())
    made = io.BytesIO()
    with pq.ParquetWriter(made, pa.schema([("scope", pa.string()), ("text", pa.string())]), compression="zstd") as writer:
        for _ in range(30):
            piece = pa.chunked_array([column.take(pa.array([0] * 1, pa.int64()))]).combine_chunks()
            block = pa.DictionaryArray.from_arrays(pa.array(bytearray(many // 30), pa.int8()), piece).cast(pa.string())
            writer.write_table(pa.table({"scope": block, "text": block}))
    return Attack(
        ["triage", "--bundle", str(bundle(here, {"log_events": ("log_events.parquet", made.getvalue(), many)}))], NOT_READ, "rows"
    )


@case
def bundle_of_a_parquet_value_bomb(here: Path) -> Attack:
    import pyarrow as pa
    import pyarrow.parquet as pq

    many = 50_000
    made = io.BytesIO()
    long = pa.DictionaryArray.from_arrays(pa.array(bytearray(many), pa.int8()), pa.array(["x" * 100_000]))
    table = pa.table({"text": long, "scope": pa.array([""] * many)})
    pq.write_table(table, made, compression="zstd", use_dictionary=True)
    return Attack(
        ["triage", "--bundle", str(bundle(here, {"log_events": ("log_events.parquet", made.getvalue(), many)}))], NOT_READ, "larger"
    )


@case
def bundle_archive_bomb(here: Path) -> Attack:
    made = here / "bundle.tar.gz"
    zeros = gzip.compress(bytes(100 * MB), 9)
    made.write_bytes(gzip.compress(_header("raw/a.log", 40_000 * MB), 9) + zeros * 40)
    return Attack(["triage", "--bundle", str(made)], NOT_READ, "unpack", seconds=300)


@case
def bundle_archive_of_zst_bomb(here: Path) -> Attack:
    import zstandard

    made = here / "bundle.tar.zst"
    made.write_bytes(zstandard.compress(_header("raw/a.log", 40_000 * MB)) + zstandard.compress(bytes(100 * MB)) * 100)
    return Attack(["triage", "--bundle", str(made)], NOT_READ, "unpack", seconds=300)


@case
def bundle_archive_of_many_members(here: Path) -> Attack:
    made = here / "bundle.tar.gz"
    made.write_bytes(gzip.compress(b"".join(_member(f"raw/{n}", b"") for n in range(300_000)), 6))
    return Attack(["triage", "--bundle", str(made)], NOT_READ, "files", seconds=300)


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


@case
def bundle_that_is_a_pipe(here: Path) -> Attack:
    os.mkfifo(here / "pipe.tar.gz")
    return Attack(["triage", "--bundle", str(here / "pipe.tar.gz")], {2, 3}, "bundle")


@case
def bundle_that_is_endless(here: Path) -> Attack:
    return Attack(["triage", "--bundle", "/dev/zero"], {2, 3}, "bundle")


@case
def bundle_whose_manifest_is_endless(here: Path) -> Attack:
    (here / "bundle").mkdir()
    os.symlink("/dev/zero", here / "bundle" / "manifest.json")
    return Attack(["triage", "--bundle", str(here / "bundle")], {2, 3}, "bundle")


@case
def bundle_whose_table_is_a_pipe(here: Path) -> Attack:
    folder = bundle(here, {"log_events": ("log_events.jsonl", b"", 0)})
    (folder / "log_events.jsonl").unlink()
    os.mkfifo(folder / "log_events.jsonl")
    return Attack(["triage", "--bundle", str(folder)], NOT_READ, "log_events")


@case
def bundle_whose_table_is_endless(here: Path) -> Attack:
    folder = bundle(here, {"log_events": ("log_events.jsonl", b"", 0)})
    (folder / "log_events.jsonl").unlink()
    os.symlink("/dev/zero", folder / "log_events.jsonl")
    return Attack(["triage", "--bundle", str(folder)], NOT_READ, "log_events")


@case
def bundle_with_a_huge_manifest(here: Path) -> Attack:
    folder = bundle(here, text="{}")
    with open(folder / "manifest.json", "wb") as file:
        file.truncate(3000 * MB)
    return Attack(["triage", "--bundle", str(folder)], NOT_READ, "manifest")
