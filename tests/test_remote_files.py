"""Logs behind URIs: what is listed, matched and read, on fsspec's own file system in memory."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from analyzers.fleet.places import places
from analyzers.readers import remote_files
from analyzers.readers.log_plan import plan
from analyzers.readers.log_scan import scan
from analyzers.readers.opening import open_file
from analyzers.readers.remote_files import matching
from analyzers.tables import Row
from tests.bundles import FIXTURES

RAW = FIXTURES / "incidents/ill/broker-shrink-restart-loop/raw"
TABLES = ("log_events", "log_counts")


@pytest.fixture
def store() -> Iterator[fsspec.AbstractFileSystem]:
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


def put(store: fsspec.AbstractFileSystem, source: Path, target: str) -> None:
    for path in source.rglob("*"):
        if path.is_file():
            store.pipe_file(f"/{target}/{path.relative_to(source)}", path.read_bytes())


def found(path: str) -> dict[str, list[Row]]:
    return {name: list(rows) for name, rows in scan(plan([path])).items()}


def without_places(rows: list[Row]) -> list[Row]:
    return [{key: value for key, value in row.items() if key not in ("file", "raw_file")} for row in rows]


def test_logs_of_a_store_give_what_they_give_on_disk(store: fsspec.AbstractFileSystem) -> None:
    put(store, RAW, "logs/shop")
    there, here = found("memory:///logs/shop"), found(str(RAW))
    for name in TABLES:
        assert there.get(name), name
        assert without_places(there[name]) == without_places(here[name])
    assert all(row["state"] == "ok" for row in there["sources"])


def test_a_packed_log_is_unpacked(store: fsspec.AbstractFileSystem) -> None:
    log = max(RAW.rglob("*.log"), key=lambda path: path.stat().st_size)
    store.pipe_file("/logs/a.log.gz", gzip.compress(log.read_bytes()))
    store.pipe_file("/logs/b.log", log.read_bytes())
    assert found("memory:///logs/a.log.gz")["log_files"][0]["lines"] == found("memory:///logs/b.log")["log_files"][0]["lines"]


def test_a_large_object_is_asked_for_in_blocks(store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_files, "_BLOCK", 1000)
    monkeypatch.setattr(remote_files, "_HEAD", 100)
    data = bytes(range(256)) * 40
    store.pipe_file("/logs/some", data)
    with open_file("memory:///logs/some") as stream:
        assert stream.read(50) == data[:50]
        stream.seek(-300, 2)
        assert b"".join(iter(lambda: stream.read(77), b"")) == data[-300:]
        stream.seek(10)
        assert stream.read(5) == data[10:15]


def test_patterns(store: fsspec.AbstractFileSystem) -> None:
    for name in ("a/prod/x.log", "b/prod/y.log", "b/test/z.log", "c.log"):
        store.pipe_file(f"/logs/{name}", b"some text\n")
    assert matching("memory:///logs/*/prod") == ["memory:///logs/a/prod", "memory:///logs/b/prod"]
    assert matching("memory:///logs/**/*.log") == [
        f"memory:///logs/{name}" for name in ("a/prod/x.log", "b/prod/y.log", "b/test/z.log", "c.log")
    ]
    assert matching("memory:///logs/[!a]/*/?.log") == ["memory:///logs/b/prod/y.log", "memory:///logs/b/test/z.log"]
    assert plan(["memory:///logs/*/none"]).sources[0]["why"] == "no object matches this pattern"


def test_an_object_that_vanishes_is_told(store: fsspec.AbstractFileSystem) -> None:
    put(store, RAW, "logs/shop")
    made = plan(["memory:///logs/shop"])
    gone = made.files[0].path
    store.rm_file(gone.removeprefix("memory://"))
    sources = {row["name"]: (row["state"], row["why"]) for row in scan(made)["sources"]}
    state, why = sources[gone]
    assert state != "ok"
    assert "no such file" in str(why)
    assert [state for name, (state, _) in sources.items() if name != gone] == ["ok"] * (len(sources) - 1)


def test_what_is_not_there_is_told() -> None:
    assert plan(["memory:///nowhere/at-all"]).sources[0]["state"] == "failed"


def test_jobs_of_a_store(store: fsspec.AbstractFileSystem) -> None:
    for name in ("shop/jobmanager.log", "bank/a/jobmanager.log"):
        store.pipe_file(f"/fleet/{name}", b"x" * 10)
    assert [(one.scope, one.paths, one.size) for one in places(["memory:///fleet"])] == [
        ("bank", ("memory:///fleet/bank",), 10), ("shop", ("memory:///fleet/shop",), 10),
    ]  # fmt: skip
    assert [one.scope for one in places(["memory:///fleet/*/a", "memory:///fleet/shop"], "glob")] == ["bank/a", "shop"]
    with pytest.raises(FileNotFoundError):
        places(["memory:///none/*"])
