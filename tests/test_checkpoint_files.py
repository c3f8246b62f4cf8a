"""Any path is recognised for what it is; what cannot be read becomes a row of sources and the rest is read on."""

from __future__ import annotations

import os
import shutil
import tarfile
from array import array
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analyzers.checkpoints.cursor import DamagedBytes
from analyzers.checkpoints.handles import NamedState
from analyzers.readers import checkpoint_files
from analyzers.readers.checkpoint_files import CHECKPOINT_TABLES, read_checkpoints
from analyzers.readers.checkpoint_places import find_places
from analyzers.readers.file_trees import LocalTree
from analyzers.readers.state_files import StateFiles

RECORDED = Path(__file__).parent.parent / "fixtures" / "checkpoints" / "recorded"
WRITTEN = RECORDED.parent / "written"
HEALTHY = RECORDED / "healthy-rolling-broker-restart"
JOB = "101d408fcf85d30d51765a632da32410"


def states(tables: dict[str, list[dict[str, object]]]) -> dict[str, str]:
    return {str(row["name"]): str(row["state"]) for row in tables["sources"]}


def checkpoints(tables: dict[str, list[dict[str, object]]]) -> list[tuple[object, object, object]]:
    return [(row["checkpoint"], row["kind"], row["state"]) for row in tables["checkpoint_files"]]


def test_positions_are_those_the_job_committed() -> None:
    """The group's commits that were captured after checkpoint 17 completed and before 18 did."""
    tables = read_checkpoints([str(HEALTHY / JOB / "chk-17")])
    positions = {row["identity"]: row["offset"] for row in tables["splits"] if row["role"] == "reader"}
    assert positions == {"orders-0": 2270, "orders-1": 2270, "orders-2": 2270, "orders-3": 2271}
    assert {row["identity"] for row in tables["splits"] if row["role"] == "enumerator"} == set(positions)


@pytest.mark.parametrize("below", ["", JOB, f"{JOB}/chk-17", f"{JOB}/chk-17/_metadata"], ids=["root", "job", "checkpoint", "file"])
def test_a_path_is_recognised(below: str) -> None:
    tables = read_checkpoints([str(HEALTHY / below)])
    wanted = [17] if "chk" in below else [16, 17, 18]
    assert checkpoints(tables) == [(number, "checkpoint", "complete") for number in wanted]
    assert {row["job"] for row in tables["checkpoint_files"]} == {JOB}
    assert states(tables) == {str(HEALTHY / below): "ok"}


def test_rows_have_exactly_the_declared_columns() -> None:
    for name, rows in read_checkpoints([str(RECORDED)], scope="here").items():
        for row in rows:
            assert tuple(row) == CHECKPOINT_TABLES[name].names
            assert row["scope"] == "here"
            assert row["as_of"] is not None


def test_relative_paths_keep_job_and_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HEALTHY / JOB)
    for path in (".", "chk-17", "chk-17/_metadata"):
        assert {row["job"] for row in read_checkpoints([path])["checkpoint_files"]} == {JOB}
    monkeypatch.chdir(HEALTHY / JOB / "chk-17")
    assert checkpoints(read_checkpoints(["."])) == [(17, "checkpoint", "complete")]


def test_the_same_place_twice_is_read_once() -> None:
    tables = read_checkpoints([str(HEALTHY), str(HEALTHY)])
    assert len(tables["checkpoint_files"]) == 3


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_archives(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "copy.bin"
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        archive.add(HEALTHY, arcname="cp")
        archive.add(RECORDED / "spark-poison-batch", arcname="query")
    tables = read_checkpoints([str(path)])
    assert checkpoints(tables) == [(number, "checkpoint", "complete") for number in (16, 17, 18)]
    assert tables["checkpoint_files"][0]["path"] == f"{path}!cp/{JOB}/chk-16/_metadata"
    assert len([row for row in tables["splits"] if row["role"] == "reader"]) == 12
    assert len(tables["batches"]) == 5


def test_zstandard_archive(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    plain = tmp_path / "copy.tar"
    with tarfile.open(plain, "w") as archive:
        archive.add(HEALTHY, arcname="cp")
    packed = tmp_path / "copy.tar.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(plain.read_bytes()))
    assert len(read_checkpoints([str(packed)])["checkpoint_files"]) == 3


def test_a_cut_archive_gives_what_lies_before_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "copy.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for number in (16, 17, 18):
            archive.add(HEALTHY / JOB / f"chk-{number}", arcname=f"{JOB}/chk-{number}")
    path.write_bytes(path.read_bytes()[:-6000])
    tables = read_checkpoints([str(path)])
    assert 0 < len(tables["checkpoint_files"]) < 3
    assert states(tables)[str(path)] == "partial"


def test_state_in_a_file_beside_metadata_is_read(tmp_path: Path) -> None:
    source = RECORDED / "stuck-async-barrier" / "f3d54b20a9f22d8fe2e9a1ef0bd31458" / "chk-4"
    chk = tmp_path / "job" / "chk-4"
    shutil.copytree(source, chk)
    missing = read_checkpoints([str(chk)])
    assert [row for row in missing["splits"] if row["role"] == "reader"] == []
    assert states(missing) == {str(chk): "partial", str(chk / "_metadata"): "partial"}
    assert "state file" in str(missing["sources"][0]["why"])
    for name in ("c269e57f-75c3-4042-887a-a466c99432d8", "052dd6c6-fc60-47ba-9d41-974408945142"):
        (chk / name).write_bytes(_reader_state(7))
    found = read_checkpoints([str(chk)])
    assert [(row["subtask"], row["identity"], row["offset"]) for row in found["splits"] if row["role"] == "reader"] == [
        (0, "orders-1", 7),
        (1, "orders-1", 7),
    ]
    (chk / "c269e57f-75c3-4042-887a-a466c99432d8").write_bytes(_reader_state(7)[:-3])
    assert "ends after" in str(read_checkpoints([str(chk)])["sources"][0]["why"])


def _reader_state(offset: int) -> bytes:
    """274 bytes with one element at 234, as the recorded handles say."""
    body = b"\x00\x06orders" + (1).to_bytes(4, "big") + offset.to_bytes(8, "big") + (1 << 63).to_bytes(8, "big")
    element = (36).to_bytes(4, "big") + (0).to_bytes(4, "big") + len(body).to_bytes(4, "big") + body
    return (6).to_bytes(4, "big") + bytes(230) + element[: 274 - 234]


def test_absolute_and_merged_files_are_found_after_a_move(tmp_path: Path) -> None:
    """A copied job directory is searched by what follows its name; --rebase names any other place."""
    job = tmp_path / "copy" / JOB
    shutil.copytree(HEALTHY / JOB / "chk-17", job / "chk-17")
    place = find_places(str(job))[0][0]
    segment = {"kind": "segment", "path": f"s3://bucket/cp/{JOB}/taskowned/job_x_tm_y/seg", "start": 100, "size": 3}
    exclusive = {"kind": "file", "path": f"s3://bucket/cp/{JOB}/chk-17/abc", "size": 3}
    for handle in (segment, exclusive):
        with pytest.raises(OSError, match="is not here"):
            StateFiles(place, ()).read(handle)
    (job / "taskowned" / "job_x_tm_y").mkdir(parents=True)
    (job / "taskowned" / "job_x_tm_y" / "seg").write_bytes(bytes(100) + b"abc" + b"more")
    (job / "chk-17" / "abc").write_bytes(b"abc")
    assert [StateFiles(place, ()).read(handle) for handle in (segment, exclusive)] == [b"abc", b"abc"]
    shutil.move(job / "taskowned", tmp_path / "elsewhere")
    with pytest.raises(OSError, match="is not here"):
        StateFiles(place, ()).read(segment)
    assert StateFiles(place, [(f"s3://bucket/cp/{JOB}/taskowned", str(tmp_path / "elsewhere"))]).read(segment) == b"abc"


@pytest.mark.parametrize(
    ("holds", "said"), [(b"\xac\xed..org.apache.beam.sdk.io.kafka.KafkaUnboundedSource..", 1), (b"a function's own", 0)]
)
def test_the_state_of_the_legacy_source_of_beam_is_said_to_be_unreadable(holds: bytes, said: int) -> None:
    place = find_places(str(HEALTHY))[0][0]
    unnamed = NamedState("_default_", "split-distribute", array("q", [0]))
    handle = {"states": [unnamed], "stream": {"kind": "inline", "data": holds}}
    fact: Any = SimpleNamespace(operator="0a", subtask=3, managed_operator=handle)
    unread: list[str] = []
    assert list(checkpoint_files._reader_rows({}, fact, StateFiles(place, ()), unread, False)) == []
    assert len(unread) == said
    assert all("operator 0a subtask 3: the state of Beam's legacy source" in why for why in unread)


def test_only_what_splits_need_is_read(tmp_path: Path) -> None:
    shutil.copytree(HEALTHY / JOB / "chk-17", tmp_path / "chk-17")
    files = StateFiles(find_places(str(tmp_path))[0][0], ())
    with pytest.raises(OSError, match="more than splits need"):
        files.read({"kind": "relative", "path": "abc", "size": 1 << 40})
    with pytest.raises(OSError, match="is not here"):
        files.read({"kind": "relative", "path": "a\0b", "size": 3})
    assert files.read({"kind": "empty-segment"}) == b""


def test_empty_and_damaged_checkpoints(tmp_path: Path) -> None:
    job = tmp_path / JOB
    shutil.copytree(HEALTHY / JOB, job)
    (job / "chk-19").mkdir()
    (job / "shared").mkdir()
    metadata = job / "chk-17" / "_metadata"
    metadata.write_bytes(metadata.read_bytes()[:20000])
    tables = read_checkpoints([str(tmp_path)])
    assert checkpoints(tables) == [
        (16, "checkpoint", "complete"),
        (17, "checkpoint", "damaged"),
        (18, "checkpoint", "complete"),
        (19, "checkpoint", "empty"),
    ]
    damaged = tables["checkpoint_files"][1]
    assert 0 < int(damaged["damaged_at"]) <= 20000
    assert states(tables) == {str(metadata): "partial", str(tmp_path): "partial"}
    with pytest.raises(DamagedBytes):
        read_checkpoints([str(tmp_path)], strict=True)


def test_a_file_that_is_still_being_written_is_not_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between listing and the next look the writer had gone on; half of a file that stays half of a file is damaged."""
    source = next(path for path in sorted(RECORDED.rglob("_metadata")) if path.stat().st_size > 500)
    target = tmp_path / "chk-7" / "_metadata"
    target.parent.mkdir()
    target.write_bytes(source.read_bytes())
    whole = LocalTree.read

    def early(tree: LocalTree, path: str, start: int = 0, size: int | None = None) -> bytes:
        data = whole(tree, path, start, size)
        return data[: len(data) // 2] if path.endswith("_metadata") else data

    monkeypatch.setattr(LocalTree, "read", early)
    (row,) = read_checkpoints([str(tmp_path)])["checkpoint_files"]
    assert (row["state"], row["damage"]) == ("empty", None)
    monkeypatch.undo()
    target.write_bytes(source.read_bytes()[:300])
    (row,) = read_checkpoints([str(tmp_path)])["checkpoint_files"]
    assert row["state"] == "damaged"


def test_savepoint_is_told_by_its_content_not_its_name(tmp_path: Path) -> None:
    for version, wanted in (("v4", "savepoint"), ("v6", "checkpoint"), ("v3", "unknown")):
        assert read_checkpoints([str(WRITTEN / version)])["checkpoint_files"][0]["kind"] == wanted
    older = tmp_path / "savepoint-5f0e64-0123456789ab"
    shutil.copytree(WRITTEN / "v3", older)
    assert read_checkpoints([str(older)])["checkpoint_files"][0]["kind"] == "savepoint"


def test_what_is_no_checkpoint(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("not a checkpoint")
    for path, why in ((other, "neither a _metadata file"), (tmp_path / "gone", "no such file"), (tmp_path, "no checkpoint here")):
        sources = read_checkpoints([str(path)])["sources"]
        assert [(row["name"], row["state"]) for row in sources] == [(str(path), "failed")]
        assert why in str(sources[0]["why"])
    broken = tmp_path / "copy.tar.gz"
    broken.write_bytes(b"\x1f\x8b\x08 no gzip")
    assert states(read_checkpoints([str(broken)])) == {str(broken): "failed"}


def test_one_bad_path_does_not_hide_the_others(tmp_path: Path) -> None:
    tables = read_checkpoints([str(tmp_path / "gone"), str(HEALTHY)])
    assert len(tables["checkpoint_files"]) == 3
    assert states(tables) == {str(tmp_path / "gone"): "failed", str(HEALTHY): "ok"}


def test_a_checkpoint_that_vanishes_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read = LocalTree.read

    def vanishing(tree: LocalTree, path: str, start: int = 0, size: int | None = None) -> bytes:
        if "chk-16" in path:
            raise FileNotFoundError(2, "No such file or directory", path)
        return read(tree, path, start, size)

    monkeypatch.setattr(LocalTree, "read", vanishing)
    tables = read_checkpoints([str(HEALTHY)])
    assert [number for number, _, _ in checkpoints(tables)] == [17, 18]
    assert "vanished" in str(tables["sources"][0]["why"])


def test_pipes_and_loops_do_not_hang(tmp_path: Path) -> None:
    (tmp_path / "chk-1").mkdir()
    os.mkfifo(tmp_path / "chk-1" / "_metadata")
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    tables = read_checkpoints([str(tmp_path)])
    assert all(state == "empty" for _, _, state in checkpoints(tables))
    assert len(checkpoints(tables)) == len(set(checkpoints(tables)))


def test_structured_streaming_directory(tmp_path: Path) -> None:
    tables = read_checkpoints([str(RECORDED / "spark-poison-batch")])
    assert [(row["batch"], row["planned"], row["committed"]) for row in tables["batches"]] == [
        (0, True, True),
        (1, True, True),
        (2, True, True),
        (3, True, True),
        (4, True, False),
    ]
    assert "checkpoint_files" not in tables, "not looked for is not the same as none there"
    assert {row["query"] for row in tables["batches"]} == {"b4df095d-65ac-4b6d-bd06-b3f48e9de62c"}
    assert tables["batch_offsets"][4]["raw"] == '{"logOffset":4}'


def test_sources_that_have_names_may_come_and_go(tmp_path: Path) -> None:
    """Version 2 of the offset log: another number of sources is no other query."""
    for directory in ("offsets", "commits"):
        (tmp_path / directory).mkdir()
    (tmp_path / "metadata").write_text('{"id":"dfa03fc7-1a92-4857-9eea-641c872aad05"}')
    (tmp_path / "offsets" / "0").write_bytes(b'v2\n{"batchTimestampMs":1}\norders:{"orders":{"0":3}}')
    (tmp_path / "offsets" / "1").write_bytes(b'v2\n{"batchTimestampMs":2}\norders:{"orders":{"0":4}}\nrefunds:{"refunds":{"0":1}}')
    (tmp_path / "commits" / "0").write_bytes(b'v3\n{"nextBatchWatermarkMs":0}')
    tables = read_checkpoints([str(tmp_path)])
    assert [(row["batch"], row["sources"], row["damage"]) for row in tables["batches"]] == [(0, None, None), (1, None, None)]
    assert {row["topic"] for row in tables["batch_offsets"]} == {"orders", "refunds"}


def test_streaming_batches_with_damage(tmp_path: Path) -> None:
    query = tmp_path / "query"
    shutil.copytree(RECORDED / "healthy-spark-query", query)
    (query / "offsets" / "3").write_bytes(b"")
    (query / "commits" / "5").write_bytes(b"v1\n{")
    (query / "offsets" / "2").write_bytes(b'v1\n{"batchTimestampMs":1795256075250}\n{"orders":{"1":8,"0":7}}')
    tables = read_checkpoints([str(query)])
    damage = {row["batch"]: row["damage"] for row in tables["batches"] if row["damage"]}
    assert sorted(damage) == [3, 5]
    assert "an empty file" in damage[3]
    offsets = [(row["topic"], row["partition"], row["offset"]) for row in tables["batch_offsets"] if row["batch"] == 2]
    assert offsets == [("orders", 0, 7), ("orders", 1, 8)]
    assert states(tables)[str(query)] == "partial"
    shutil.rmtree(query / "commits")
    assert {row["committed"] for row in read_checkpoints([str(query)])["batches"]} == {False}, "a poison first batch leaves no commits"


def test_a_local_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    file = tmp_path / "_metadata"
    file.write_bytes(bytes(range(200)))
    tree = LocalTree(str(tmp_path))
    for start, size in ((0, None), (7, None), (200, None), (300, None), (0, 0), (3, 5), (190, 50), (300, 5)):
        assert tree.read(str(file), start, size) == bytes(range(200))[start : None if size is None else start + size]
    file.write_bytes(b"")
    assert tree.read(str(file)) == b""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        tree.read(str(tmp_path / "pipe"))
