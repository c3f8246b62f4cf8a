"""Checkpoints in an object store: the rows are those of a disk, only `_metadata` and what an audit needs is fetched, objects vanish."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from analyzers.readers import object_stores
from analyzers.readers.checkpoint_files import read_checkpoints
from analyzers.readers.object_stores import RemoteTree, is_remote, without_entropy

RECORDED = Path(__file__).parent.parent / "fixtures" / "checkpoints" / "recorded"
HEALTHY = RECORDED / "healthy-rolling-broker-restart"
JOB = "101d408fcf85d30d51765a632da32410"


@pytest.fixture
def bucket() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    yield files
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def put(files: Any, source: Path, target: str) -> None:
    for path in source.rglob("*"):
        if path.is_file():
            files.pipe(f"{target}/{path.relative_to(source)}", path.read_bytes())


def test_a_bucket_gives_the_rows_of_the_disk(bucket: Any) -> None:
    put(bucket, HEALTHY, "/lake/checkpoints")
    there, here = read_checkpoints(["memory://lake/checkpoints"]), read_checkpoints([str(HEALTHY)])
    for table in ("checkpoint_files", "operator_states", "subtask_states", "splits", "state_files"):
        assert len(there[table]) == len(here[table])
        for one, other in zip(there[table], here[table], strict=True):
            differing = {key for key in one if one[key] != other[key]}
            assert differing <= {"path", "mtime", "as_of"}
    assert there["checkpoint_files"][0]["path"] == f"memory:///lake/checkpoints/{JOB}/chk-16/_metadata"
    assert there["checkpoint_files"][0]["mtime"] is not None
    assert [row["state"] for row in there["sources"]] == ["ok"]


@pytest.mark.parametrize("below", [JOB, f"{JOB}/chk-17", f"{JOB}/chk-17/_metadata", f"{JOB}/chk-17/"])
def test_any_place_in_a_bucket_is_recognised(bucket: Any, below: str) -> None:
    put(bucket, HEALTHY, "/lake/checkpoints")
    rows = read_checkpoints([f"memory://lake/checkpoints/{below}"])["checkpoint_files"]
    assert [row["checkpoint"] for row in rows] == ([17] if "chk" in below else [16, 17, 18])
    assert {row["job"] for row in rows} == {JOB}


def test_a_query_in_a_bucket(bucket: Any) -> None:
    put(bucket, RECORDED / "spark-poison-batch", "/lake/query")
    rows = read_checkpoints(["memory://lake/query"])["batches"]
    assert [(row["batch"], row["committed"]) for row in rows][-1] == (4, False)


def test_only_metadata_is_fetched(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bucket, HEALTHY / JOB, f"/lake/{JOB}")
    bucket.pipe(f"/lake/{JOB}/chk-18/8a1f", bytes(100))
    bucket.pipe(f"/lake/{JOB}/shared/sst-1", bytes(100))
    fetched: list[str] = []
    plain = bucket.cat_file
    monkeypatch.setattr(type(bucket), "cat_file", lambda self, path, **more: fetched.append(path) or plain(path, **more))
    read_checkpoints([f"memory://lake/{JOB}"])
    assert sorted(fetched) == [f"/lake/{JOB}/chk-{number}/_metadata" for number in (16, 17, 18)]


def test_an_object_that_vanishes_is_said_and_the_rest_is_read(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bucket, HEALTHY / JOB, f"/lake/{JOB}")
    plain = bucket.cat_file

    def gone(self: Any, path: str, **more: Any) -> bytes:
        if "chk-16" in path:
            raise FileNotFoundError(path)
        found: bytes = plain(path, **more)
        return found

    monkeypatch.setattr(type(bucket), "cat_file", gone)
    tables = read_checkpoints([f"memory://lake/{JOB}"])
    assert [row["checkpoint"] for row in tables["checkpoint_files"]] == [17, 18]
    assert "a live job deletes old checkpoints" in next(row["why"] for row in tables["sources"] if "chk-16" in row["name"])


def test_entropy_is_taken_out_as_flink_does(bucket: Any) -> None:
    assert without_entropy("s3://lake/_entropy_/checkpoints/a") == "s3://lake/checkpoints/a"
    put(bucket, HEALTHY, "/lake/checkpoints")
    assert len(read_checkpoints(["memory://lake/_entropy_/checkpoints"])["checkpoint_files"]) == 3


@pytest.mark.parametrize(
    ("scheme", "driver"), [("s3", "s3fs"), ("s3p", "s3fs"), ("gs", "gcsfs"), ("abfss", "adlfs"), ("webhdfs", "fsspec")]
)
def test_a_missing_driver_is_a_sentence_with_the_command(scheme: str, driver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: str, **options: Any) -> None:
        raise ImportError("Install the driver")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    (source,) = read_checkpoints([f"{scheme}://lake/checkpoints"])["sources"]
    assert source["state"] == "failed"
    assert source["why"].endswith(f"pip install {driver}")


@pytest.mark.parametrize("path", ["ftp://host/x", "s3n-x://a"])
def test_what_cannot_be_read_is_named(path: str) -> None:
    (source,) = read_checkpoints([path])["sources"]
    assert "no file system that diag can read" in source["why"]


def test_a_place_that_is_not_there(bucket: Any) -> None:
    (source,) = read_checkpoints(["memory://lake/nothing"])["sources"]
    assert (source["state"], "no such file or directory" in source["why"]) == ("failed", True)


def test_what_a_store_says_is_passed_on(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(self: Any, path: str, **more: Any) -> None:
        raise PermissionError("AccessDenied")

    monkeypatch.setattr(type(bucket), "info", denied)
    (source,) = read_checkpoints(["memory://lake/checkpoints"])["sources"]
    assert "access denied" in source["why"]


def test_stated_paths_of_the_same_store_are_found(bucket: Any) -> None:
    tree = RemoteTree("memory://lake/x")
    assert tree.own("memory://lake/a/b") == "memory://lake/a/b"
    assert tree.own("hdfs://nn/a/b") is None
    assert tree.own("/a/b") is None
    assert is_remote("s3://a/b")
    assert not is_remote("file:///a/b")
    assert not is_remote("/a/b")


def test_a_store_that_never_answers_is_left_with_a_sentence(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put(bucket, HEALTHY, "/lake/checkpoints")
    monkeypatch.setattr(object_stores, "ANSWER_SECONDS", 0.2)
    ended = threading.Event()
    asked: list[str] = []

    def never(_: Any, path: str, **more: Any) -> Any:
        asked.append(path)
        ended.wait(60)

    monkeypatch.setattr(type(bucket), "ls", never)
    monkeypatch.setattr(type(bucket), "info", never)
    try:
        (source,) = read_checkpoints(["memory://lake/checkpoints"])["sources"]
    finally:
        ended.set()
    assert source["state"] == "failed"
    assert "the store did not answer in 0.2 s" in source["why"]
    assert len(asked) == 1  # what is silent is not asked again
