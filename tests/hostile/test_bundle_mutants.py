"""Bundles that were damaged on their way, or made by somebody who means harm: as they were, or refused in one sentence."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from random import Random

import pytest

from analyzers.bundle import BundleError, read_bundle, write_bundle
from analyzers.tables import TABLES
from cli.options.shared import RunOptions
from cli.runs.evidence import from_bundle
from cli.shell.exits import CannotLook, UsageError

VALUES = (None, True, -1, 1.5, 10**30, float("inf"), float("nan"), "", "\ud800", "../../etc/passwd", [], {}, [None], "9" * 5000, "a\0b")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    place = tmp_path_factory.mktemp("made")
    event = {"scope": "", "signature": "x", "text": "x", "file": "a.log", "line": 3}
    count = {"scope": "", "signature": "x", "file": "a.log", "events": 3}
    source = {"scope": "", "name": "a", "kind": "logs", "state": "ok"}
    tables = {"log_events": [event], "log_counts": [count] * 2, "sources": [source] * 3}
    rows = {name: [TABLES[name].row(each) for each in many] for name, many in tables.items()}
    write_bundle(place / "b", rows, version="1", redact=False)
    return {path.name: path.read_bytes() for path in (place / "b").iterdir()}


def packed(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def tables_of(place: Path, content: bytes) -> object:
    """None where the bundle was refused."""
    place.write_bytes(content)
    try:
        return from_bundle(RunOptions(bundle=place), None, lambda said: None).tables
    except (CannotLook, UsageError):
        return None


def test_a_damaged_bundle_is_what_it_was_or_refused(files: dict[str, bytes], tmp_path: Path) -> None:
    random, place = Random(24), tmp_path / "b.tar.gz"
    plain = packed(files)
    whole = gzip.compress(plain, mtime=0)
    before = tables_of(place, whole)
    assert before
    refused = 0
    for number in range(150):
        data = bytearray(plain if number % 2 else whole)
        if number % 5:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        else:
            del data[random.randrange(len(data)) :]
        found = tables_of(place, gzip.compress(bytes(data)) if number % 2 else bytes(data))
        refused += found is None
        # a name within the manifest is under no checksum: its table is then missing, which is said
        assert found is None or found == before or len(found) < 3  # type: ignore[arg-type]  # a mapping
    assert refused > 50


def test_a_manifest_of_nonsense_is_no_defect(files: dict[str, bytes], tmp_path: Path) -> None:
    random, place = Random(24), tmp_path / "b.tar.gz"
    for _ in range(150):
        manifest = json.loads(files["manifest.json"])
        node = manifest
        while isinstance(node[key := random.choice(list(node))], dict) and node[key] and random.random() < 0.8:
            node = node[key]
        node[key] = random.choice(VALUES)
        try:
            tables_of(place, gzip.compress(packed({**files, "manifest.json": json.dumps(manifest).encode()})))
        except Exception as error:
            raise AssertionError(manifest) from error


@pytest.mark.parametrize("one", ["log_events", "log_counts", "sources"])
@pytest.mark.parametrize("other", ["log_events", "log_counts", "sources"])
def test_rows_of_another_table_are_refused(one: str, other: str, files: dict[str, bytes], tmp_path: Path) -> None:
    """Their checksums are right: whoever edits a bundle can compute them. They would be judged as no evidence at all."""
    if one == other:
        return
    manifest = json.loads(files["manifest.json"])
    rows = files[f"{other}.jsonl"]
    manifest["tables"][one] |= {"sha256": hashlib.sha256(rows).hexdigest(), "rows": rows.count(b"\n")}
    swapped = {**files, f"{one}.jsonl": rows, "manifest.json": json.dumps(manifest).encode()}
    assert tables_of(tmp_path / "b.tar", packed(swapped)) is None


def test_a_member_below_thousands_of_directories_is_refused(files: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_bytes(packed({**files, "raw/" + "a/" * 1500 + "x": b"x"}))
    with pytest.raises(BundleError, match="1,502 directories deep"):
        read_bundle(tmp_path / "b.tar")
