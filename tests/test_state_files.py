"""Whether a checkpoint can be restored: which of its state files are there, seen by listing alone; and what its neighbours leave behind."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzers.checkpoints.metadata import read_metadata
from analyzers.readers import state_file_check
from analyzers.readers.checkpoint_files import checkpoint_facts, read_checkpoints, tables_of
from analyzers.readers.file_trees import LocalTree
from analyzers.readers.streaming_state import store_state
from analyzers.readers.trees import Entry
from analyzers.tables.evidence import Evidence
from cli.runs.checkpoint_inspect import with_brokers
from cli.shell.exits import CannotLook
from tests.examples import examples

FIXTURES = Path(__file__).parent.parent / "fixtures" / "checkpoints"
RECORDED = FIXTURES / "recorded"
STUCK = RECORDED / "stuck-async-barrier" / "f3d54b20a9f22d8fe2e9a1ef0bd31458"
JOB = STUCK.name
LATER, EARLIER = 1_795_225_000, 1_795_224_000


def job(root: Path, *numbers: int) -> Path:
    """A copy of a recorded job with the state files that its `_metadata` name, zeros of the right size."""
    for number in numbers:
        directory = root / JOB / f"chk-{number}"
        shutil.copytree(STUCK / f"chk-{number}", directory)
        named: list[Any] = []
        for _ in read_metadata((directory / "_metadata").read_bytes(), references=named):
            pass
        for reference in named:
            (directory / reference.path).write_bytes(bytes(reference.size))
            os.utime(directory / reference.path, (EARLIER, EARLIER))
        os.utime(directory / "_metadata", (LATER, LATER))
    return root / JOB


def state(tables: dict[str, list[dict[str, Any]]]) -> list[tuple[int, int, int, int, int]]:
    names = ("state_files", "state_files_missing", "state_files_wrong_size", "state_files_elsewhere", "state_files_unchecked")
    return [tuple(row[name] for name in names) for row in tables["checkpoint_files"]]  # type: ignore[misc]


def test_a_whole_checkpoint_has_all_its_files(tmp_path: Path) -> None:
    tables = read_checkpoints([str(job(tmp_path, 3, 4))])
    assert state(tables) == [(16, 0, 0, 0, 0)] * 2
    assert tables["state_files"] == []
    assert {row["metadata_alone"] for row in tables["checkpoint_files"]} == {False}


def test_missing_and_short_files_are_named_with_their_operator(tmp_path: Path) -> None:
    directory = job(tmp_path, 4) / "chk-4"
    first, second = sorted(path for path in directory.iterdir() if path.name != "_metadata")[:2]
    first.unlink()
    size = second.stat().st_size
    second.write_bytes(b"x")
    tables = read_checkpoints([str(directory)])
    assert state(tables) == [(16, 1, 1, 0, 0)]
    rows = {row["state"]: row for row in tables["state_files"]}
    assert (rows["missing"]["file"], rows["missing"]["found_at"]) == (first.name, None)
    assert (rows["wrong-size"]["file"], rows["wrong-size"]["expected_bytes"], rows["wrong-size"]["size_bytes"]) == (second.name, size, 1)
    assert {row["name"] for row in rows.values()} <= {"Source: orders", "enrich-profile", "validate", "totals"}


def test_no_state_file_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = job(tmp_path, 4) / "chk-4"
    opened: list[str] = []
    plain = LocalTree.read
    monkeypatch.setattr(LocalTree, "read", lambda self, path, *more: opened.append(path) or plain(self, path, *more))
    read_checkpoints([str(directory)])
    # the source's own positions lie in small files of their own; keyed state is never read
    assert len(opened) - 1 < 16 / 2
    assert opened[0] == str(directory / "_metadata")


def test_only_metadata_was_copied(tmp_path: Path) -> None:
    shutil.copytree(STUCK, tmp_path / JOB)
    assert {row["metadata_alone"] for row in read_checkpoints([str(tmp_path)])["checkpoint_files"]} == {True}


def test_an_unreadable_directory_is_not_called_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = job(tmp_path, 4) / "chk-4"

    def denied(self: LocalTree, path: str) -> list[Entry]:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(LocalTree, "entries", denied)
    assert state(read_checkpoints([str(directory / "_metadata")])) == [(16, 0, 0, 0, 16)]


def shared(root: Path, base: str) -> Path:
    """The hand-built V6 file, which names files of every kind, with `base` before the absolute ones."""
    directory = root / JOB / "chk-7"
    directory.mkdir(parents=True)
    shutil.copy(FIXTURES / "written" / "v6" / "_metadata", directory / "_metadata")
    return directory


def test_what_cannot_be_seen_from_here_is_unchecked(tmp_path: Path) -> None:
    directory = shared(tmp_path, "")
    tables = read_checkpoints([str(directory)])
    stated = {row["file"]: row["state"] for row in tables["state_files"]}
    assert stated["hdfs://nn/sp/x"] == "unchecked"
    assert {value for name, value in stated.items() if "/" not in name} == {"missing"}


def test_a_part_that_was_copied_is_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """shared/ lies in the copy: what is not in it is missing, what is in it is only there, not at the stated place."""
    from analyzers.checkpoints.handles import Reference
    from analyzers.readers.checkpoint_places import find_places

    directory = job(tmp_path, 4) / "chk-4"
    (directory.parent / "shared").mkdir()
    (directory.parent / "shared" / "a").write_bytes(bytes(10))
    (place,) = find_places(str(directory))[0]
    check = state_file_check.StateFileCheck(()).checkpoint(place, 4)
    old = f"s3://lake/cp/{JOB}/shared"
    check.add("op", 0, [Reference("file", f"{old}/{name}", 0, 10, None) for name in ("a", "b", "a")])
    # the first segment ends where the file does that was seen before: it is the same question
    check.add("op", 1, [Reference("segment", f"{old}/a", 4, 6, True), Reference("segment", f"{old}/a", 8, 6, True)])
    assert check.counts == {"present": 0, "elsewhere": 1, "missing": 1, "wrong-size": 1, "unchecked": 0}
    moved = state_file_check.StateFileCheck([(old, str(directory.parent / "shared"))]).checkpoint(place, 4)
    moved.add("op", 0, [Reference("file", f"{old}/a", 0, 10, None)])
    assert moved.counts["present"] == 1


def test_many_missing_files_are_a_few_rows_and_an_exact_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_file_check, "_MOST_ROWS", 3)
    shutil.copytree(STUCK / "chk-4", tmp_path / "chk-4")
    tables = read_checkpoints([str(tmp_path)])
    assert len(tables["state_files"]) == 4
    assert sum(row["files"] for row in tables["state_files"]) == 16


def test_orphans_are_older_than_the_newest_and_named_by_nobody(tmp_path: Path) -> None:
    directory = job(tmp_path, 3, 4)
    (directory / "shared").mkdir()
    for name, when in (("old", EARLIER), ("new", LATER + 60)):
        (directory / "shared" / name).write_bytes(bytes(7))
        os.utime(directory / "shared" / name, (when, when))
    rows = read_checkpoints([str(directory)])["state_files"]
    assert [(row["state"], row["files"], row["size_bytes"], row["file"]) for row in rows] == [
        ("orphaned", 1, 7, str(directory / "shared")),
        ("newer", 1, 7, str(directory / "shared")),
    ]
    metadata = directory / "chk-3" / "_metadata"
    metadata.write_bytes(metadata.read_bytes()[:2000])
    assert [row for row in read_checkpoints([str(directory)])["state_files"] if row["state"] in ("orphaned", "newer")] == []


def test_files_that_another_job_names_are_no_orphans(tmp_path: Path) -> None:
    first = job(tmp_path, 3)
    claims = tmp_path / "0123456789abcdef0123456789abcdef" / "chk-9"
    claims.mkdir(parents=True)
    taken = next(path for path in (first / "chk-3").iterdir() if path.name != "_metadata")
    extra = first / "chk-3" / "left"
    extra.write_bytes(b"1")
    os.utime(extra, (EARLIER, EARLIER))
    (row,) = read_checkpoints([str(tmp_path)])["state_files"]
    assert (row["state"], row["files"], row["found_at"]) == ("orphaned", 1, str(extra))
    assert taken.exists()


def test_archives_are_looked_into_as_well(tmp_path: Path) -> None:
    job(tmp_path / "in", 4)
    with tarfile.open(tmp_path / "cp.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "in", arcname="cp")
    assert state(read_checkpoints([str(tmp_path / "cp.tar.gz")])) == [(16, 0, 0, 0, 0)]


def test_without_a_look_nothing_is_said_of_state_files(tmp_path: Path) -> None:
    path = str(job(tmp_path, 4))
    assert "state_files" not in tables_of(checkpoint_facts([path]))
    assert tables_of(checkpoint_facts([path], look=True))["state_files"] == []


def test_a_job_that_never_completed_a_checkpoint(tmp_path: Path) -> None:
    for name in ("shared", "taskowned"):
        (tmp_path / JOB / name).mkdir(parents=True)
    (row,) = read_checkpoints([str(tmp_path)])["checkpoint_files"]
    assert (row["job"], row["checkpoint"], row["state"]) == (JOB, None, "never")


# -- state stores of Structured Streaming ----------------------------------------------------------------------------


def store(*names: str, empty: str = "") -> list[Entry]:
    return [Entry(name, name, False, 0 if name == empty else 46, None) for name in names]


@pytest.mark.parametrize(
    ("names", "empty", "wanted", "expected", "missing"),
    [
        (("1.delta", "2.delta", "3.delta"), "", 3, "ok", []),
        (("1.delta", "3.delta"), "", 3, "missing", ["2"]),
        (("2.snapshot", "3.delta"), "", 3, "ok", []),  # older deltas were cleaned up
        (("2.snapshot", "3.delta", "4.delta"), "", 3, "ok", []),  # 4 belongs to a batch that is not committed
        (("1.delta", "2.delta"), "", 3, "behind", ["3"]),
        (("1.delta", "2.delta"), "2.delta", 2, "empty-file", []),
        (("5.snapshot", "6.delta"), "5.snapshot", 6, "missing", ["1", "2", "3", "4", "5"]),
        (("12.zip", "14.zip"), "", 14, "ok", []),
        (("12.zip", "13.changelog", "14.changelog"), "", 14, "ok", []),
        (("12_3fa9-1.zip", "13_77ab.changelog"), "", 13, "ok", []),
        ((), "", None, "ok", []),  # no batch is committed yet
        (("1.delta",), "", 0, "ok", []),
    ],
)
def test_whether_the_next_batch_can_load_its_version(
    names: tuple[str, ...], empty: str, wanted: int | None, expected: str, missing: list[str]
) -> None:
    found = store_state(store(*names, empty=empty), wanted)
    assert (found["state"], found["missing"]) == (expected, missing)


# -- beside brokers -------------------------------------------------------------------------------------------------------------


def test_a_checkpoint_that_a_live_job_deletes_while_it_is_read_has_lost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = job(tmp_path, 3, 4)
    read = LocalTree.read

    def read_and_delete(tree: LocalTree, path: str, start: int = 0, size: int | None = None) -> bytes:
        data = read(tree, path, start, size)
        if path.endswith("chk-4/_metadata"):
            shutil.rmtree(Path(path).parent)
        return data

    monkeypatch.setattr(LocalTree, "read", read_and_delete)
    tables = read_checkpoints([str(directory)])
    assert [(row["checkpoint"], row["state_files_missing"]) for row in tables["checkpoint_files"]] == [(3, 0)]
    assert any("vanished" in (row["why"] or "") for row in tables["sources"])


def test_a_query_that_runs_on_while_it_is_listed_is_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()

    def batch(number: int) -> None:
        (tmp_path / "offsets" / str(number)).write_text('v1\n{"batchWatermarkMs":0}\n{"orders":{"0":5}}')
        (tmp_path / "commits" / str(number)).write_text("v1\n{}")

    batch(0)
    batch(1)
    listed = LocalTree.entries

    def entries(tree: LocalTree, directory: str) -> list[Entry]:
        found = listed(tree, directory)
        if directory.endswith(("offsets", "commits")) and not (tmp_path / "offsets" / "2").exists():
            batch(2)
            (tmp_path / "offsets" / "0").unlink()
        return found

    monkeypatch.setattr(LocalTree, "entries", entries)
    batches = read_checkpoints([str(tmp_path)])["batches"]
    assert [(row["batch"], row["damage"]) for row in batches if row["committed"] and not row["planned"] and row["batch"] > 0] == []
    assert [row["batch"] for row in batches if row["planned"]] == [1, 2]


def test_a_name_that_claims_any_number_costs_nothing() -> None:
    entries = [Entry("1.delta", "1.delta", False, 9, None)]
    found = store_state(entries, 10**17)
    assert (found["state"], len(found["missing"]), found["missing"][0]) == ("behind", 20, "2")


def test_links_that_lead_back_are_walked_once(tmp_path: Path) -> None:
    job(tmp_path, 3)
    for number in range(8):
        (tmp_path / f"again-{number}").symlink_to(tmp_path)
    assert [row["checkpoint"] for row in read_checkpoints([str(tmp_path)])["checkpoint_files"]] == [3]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (source,) = read_checkpoints([str(tmp_path / "pipe")])["sources"]
    assert source["state"] == "failed"


def test_brokers_are_asked_for_the_topics_of_the_checkpoints_and_make_now_the_moment() -> None:
    path = str(RECORDED / "healthy-rolling-broker-restart")
    now = read_checkpoints([path])["checkpoint_files"][0]["as_of"].replace(year=2030)
    asked: list[set[str]] = []

    def ask(topics: Any) -> Evidence:
        asked.append(set(topics))
        return Evidence({"log_offsets": [{"scope": "", "as_of": now, "job": None, "topic": "orders", "partition": 0}], "sources": []})

    tables = with_brokers(lambda: Evidence(read_checkpoints([path])), ask, "kafka-1:9092")().tables
    assert asked == [{"orders"}]
    assert {row["as_of"] for row in tables["checkpoint_files"]} == {now}


def test_brokers_that_do_not_answer_are_a_row_and_the_files_are_told() -> None:
    path = str(RECORDED / "healthy-rolling-broker-restart")

    def ask(topics: Any) -> Evidence:
        raise CannotLook("none of the bootstrap servers can be asked", "")

    tables = with_brokers(lambda: Evidence(read_checkpoints([path])), ask, "kafka-1:9092")().tables
    assert [row["state"] for row in tables["sources"] if row["name"] == "kafka-1:9092"] == ["failed"]
    assert len(tables["checkpoint_files"]) == 3


# -- foreign bytes --------------------------------------------------------------------------------------------------------------

_REAL = [path.read_bytes() for path in (*sorted(FIXTURES.glob("written/v*/_metadata")), STUCK / "chk-4" / "_metadata")]


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_file_ends_the_reader(data: st.DataObject, tmp_path: Path) -> None:
    """Cut and flipped `_metadata`, read as a directory with its look for state files: rows, never an error of ours."""
    content = bytearray(data.draw(st.sampled_from(_REAL)))
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    directory = tmp_path / JOB / "chk-7"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "_metadata").write_bytes(content)
    (row,) = read_checkpoints([str(tmp_path)])["checkpoint_files"]
    assert row["state"] in ("complete", "damaged")
    assert row["size_bytes"] == len(content)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_query_directory_ends_the_reader(data: st.DataObject, tmp_path: Path) -> None:
    query = tmp_path / "query"
    shutil.rmtree(query, ignore_errors=True)
    shutil.copytree(RECORDED / "spark-poison-batch", query)
    for path in data.draw(st.lists(st.sampled_from(sorted(p for p in query.rglob("*") if p.is_file())), max_size=4)):
        content = path.read_bytes()
        at = data.draw(st.integers(0, len(content)))
        path.write_bytes(content[:at] + data.draw(st.binary(max_size=8)))
    tables = read_checkpoints([str(query)])
    assert [row["batch"] for row in tables["batches"]] == [0, 1, 2, 3, 4]
