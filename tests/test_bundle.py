"""A bundle is written whole or not at all, read whole or not at all, and means the same wherever it lies."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import tarfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.bundle import BundleError, BundleNotFound, SchemaMismatch, encoding, read_bundle, write
from analyzers.bundle.write import write_bundle
from analyzers.tables import TABLES, Row
from tests.examples import examples

NOW = datetime(2026, 11, 21, 9, 35, 19, 130000, tzinfo=timezone.utc)


def row(table: str, **values: Any) -> Row:
    return TABLES[table].row({"scope": "", "as_of": NOW, **values})


def event(text: str = "Job orders switched from state RUNNING to RESTARTING.", **values: Any) -> Row:
    return row("log_events", at=NOW, file="jobmanager.log", line=7, signature="job-state", text=text, **values)


def committed(offset: int, at: datetime) -> Row:
    return row("committed_offsets", at=at, group="billing", topic="orders", partition=0, committed=offset) | {"as_of": at}


def plainly(path: Path, tables: dict[str, list[Row]], **options: Any) -> None:
    write_bundle(path, tables, version="1.2.3", as_of=NOW, created=NOW, **{"redact": False, **options})


def edit_manifest(path: Path, change: Any) -> None:
    said = json.loads((path / "manifest.json").read_text())
    change(said)
    (path / "manifest.json").write_text(json.dumps(said))


@pytest.mark.parametrize("name", ["b", "b.tar.gz", "b.tgz", "b.tar.zst"])
@pytest.mark.parametrize("parquet_above", [100, 0])
def test_what_was_written_is_read(tmp_path: Path, name: str, parquet_above: int) -> None:
    tables = {
        "log_events": [event(chain=["a: b", "c"], detail={"k": "v", "a": None}, subtask=0, text="line\u2028separator \udcff")],
        "sources": [],
        "bootstrap_servers": [row("bootstrap_servers", entry="k:9092", connect_ms=1.25, probed_at=NOW + timedelta(microseconds=7))],
        "checkpoint_files": [row("checkpoint_files", path="p", size_bytes=2**40)],
        "operator_states": [row("operator_states", finished=False)],
    }
    plainly(tmp_path / name, tables, parquet_above=parquet_above)
    bundle = read_bundle(tmp_path / name)
    expected = {**tables, "log_events": [tables["log_events"][0] | {"text": "line\u2028separator \\udcff"}]}
    assert bundle.tables == expected
    assert bundle.manifest is not None
    assert (bundle.manifest.version, bundle.manifest.as_of, bundle.notes) == ("1.2.3", NOW, ())


@pytest.mark.parametrize("name", ["b", "b.tar.gz", "b.tar.zst"])
def test_same_tables_give_the_same_bytes(tmp_path: Path, name: str) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    for detail in ({"x": "1", "a": "2"}, {"a": "2", "x": "1"}):
        plainly(tmp_path / ("1" if next(iter(detail)) == "x" else "2") / name, {"log_events": [event(detail=detail)]})
    files = [sorted(p for p in (tmp_path / n).rglob("*") if p.is_file()) for n in "12"]
    assert [p.read_bytes() for p in files[0]] == [p.read_bytes() for p in files[1]]


def test_derived_tables_are_not_stored(tmp_path: Path) -> None:
    plainly(tmp_path / "b", {"attempts": [TABLES["attempts"].row({})], "log_events": [event()]})
    assert set(read_bundle(tmp_path / "b").tables) == {"log_events"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"line": "7"},
        {"line": 7.0},
        {"line": True},
        {"line": 2**63},
        {"text": 7},
        {"at": "2026-11-21"},
        {"at": datetime(2026, 1, 1)},
        {"chain": "a: b"},
        {"chain": [1]},
        {"detail": {"k": 1}},
        {"no_such_column": 1},
    ],
)
def test_rows_that_do_not_fit_are_not_written(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(SchemaMismatch):
        plainly(tmp_path / "b", {"log_events": [event() | wrong]})
    assert list(tmp_path.iterdir()) == []


def test_a_missing_column_is_not_written(tmp_path: Path) -> None:
    whole = event()
    del whole["thread"]
    with pytest.raises(SchemaMismatch, match="thread"):
        plainly(tmp_path / "b", {"log_events": [whole]})


def test_a_bundle_of_raw_files_only_is_one(tmp_path: Path) -> None:
    (tmp_path / "fires" / "raw").mkdir(parents=True)
    bundle = read_bundle(tmp_path / "fires")
    assert (bundle.tables, bundle.raw_dir, bundle.manifest) == ({}, tmp_path / "fires" / "raw", None)


def test_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(BundleNotFound, match="there is no bundle"):
        read_bundle(tmp_path / "nowhere")
    with pytest.raises(BundleNotFound, match="neither manifest"):
        read_bundle(tmp_path)


@pytest.mark.parametrize("packed", [False, True])
def test_a_log_is_no_damaged_bundle(tmp_path: Path, packed: bool) -> None:
    place = tmp_path / ("jobmanager.log.gz" if packed else "jobmanager.log")
    content = b"2026-11-21 09:31:05,120 INFO  o.a.f.r.jobmaster.JobMaster [] - Starting\n" * 20
    for text in (content, content[:70], b""):
        place.write_bytes(gzip.compress(text) if packed else text)
        with pytest.raises(BundleNotFound, match="is not a bundle") as refused:
            read_bundle(place)
        assert f"diag triage {place}" in refused.value.hint


def test_half_a_table_is_refused(tmp_path: Path) -> None:
    plainly(tmp_path / "b", {"log_events": [event(), event("second")]})
    place = tmp_path / "b" / "log_events.jsonl"
    place.write_bytes(place.read_bytes().split(b"\n")[0] + b"\n")
    with pytest.raises(BundleError, match="checksum"):
        read_bundle(tmp_path / "b")
    place.unlink()
    with pytest.raises(BundleError, match="is missing"):
        read_bundle(tmp_path / "b")


@pytest.mark.parametrize("line", ["{", "[]", '{"line":"x"}', '{"at":"yesterday"}', '{"at":7}', '{"detail":{"k":1}}'])
def test_a_damaged_line_names_its_place(tmp_path: Path, line: str) -> None:
    plainly(tmp_path / "b", {"log_events": [event()]})
    place = tmp_path / "b" / "log_events.jsonl"
    place.write_text(place.read_text() + line + "\n")
    edit_manifest(tmp_path / "b", lambda said: said["tables"]["log_events"].update(sha256=hashlib.sha256(place.read_bytes()).hexdigest()))
    with pytest.raises(BundleError, match=r"log_events\.jsonl: line 2"):
        read_bundle(tmp_path / "b")


@pytest.mark.parametrize("cut", [10, 200])
@pytest.mark.parametrize("name", ["b.tar.gz", "b.tar.zst"])
def test_a_cut_archive_is_damaged(tmp_path: Path, name: str, cut: int) -> None:
    plainly(tmp_path / name, {"log_events": [event()]})
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) - cut])
    with pytest.raises(BundleError, match=r"damaged|no bundle"):
        read_bundle(tmp_path / name)


def test_a_later_format_is_refused_and_its_writer_named(tmp_path: Path) -> None:
    plainly(tmp_path / "b", {})
    edit_manifest(tmp_path / "b", lambda said: said.update(bundle_format=2))
    with pytest.raises(BundleError, match=r"written by diag 1\.2\.3"):
        read_bundle(tmp_path / "b")


def test_columns_and_tables_of_the_future_are_passed_over_with_a_note(tmp_path: Path) -> None:
    plainly(tmp_path / "b", {"sources": [row("sources", name="a")]})

    def future(said: dict[str, Any]) -> None:
        place = tmp_path / "b" / "sources.jsonl"
        place.write_text(place.read_text().replace("}", ',"mood":"glum"}'))
        said["tables"]["sources"]["columns"]["mood"] = "string"
        said["tables"]["sources"]["sha256"] = hashlib.sha256(place.read_bytes()).hexdigest()
        said["tables"]["moods"] = said["tables"]["sources"] | {"file": "moods.jsonl"}

    edit_manifest(tmp_path / "b", future)
    bundle = read_bundle(tmp_path / "b")
    assert bundle.tables == {"sources": [row("sources", name="a")]}
    assert ["sources.mood" in note or "moods" in note for note in bundle.notes] == [True, True]


def test_a_column_its_writer_did_not_know_is_named(tmp_path: Path) -> None:
    plainly(tmp_path / "b", {"log_events": [event()]})
    edit_manifest(tmp_path / "b", lambda said: said["tables"]["log_events"]["columns"].pop("frames"))
    bundle = read_bundle(tmp_path / "b")
    assert bundle.missing_columns == {"log_events": ("frames",)}
    assert bundle.because("log_events") == "the bundle was written by diag 1.2.3, which had no log_events.frames"


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "raw/../../evil", "a\\..\\evil"])
def test_members_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    with pytest.raises(BundleError, match="leads out"):
        read_bundle(tmp_path / "b.tar.gz")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_members_that_are_no_files_are_refused(tmp_path: Path, kind: bytes) -> None:
    member = tarfile.TarInfo("raw/x.log")
    member.type, member.linkname = kind, "/etc/passwd"
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        archive.addfile(member)
    with pytest.raises(BundleError, match="neither file nor directory"):
        read_bundle(tmp_path / "b.tar.gz")


def test_a_manifest_cannot_name_a_file_outside(tmp_path: Path) -> None:
    plainly(tmp_path / "b", {"sources": []})
    edit_manifest(tmp_path / "b", lambda said: said["tables"]["sources"].update(file="../sources.jsonl"))
    with pytest.raises(BundleError, match="outside"):
        read_bundle(tmp_path / "b")


def test_a_directory_packed_by_hand_is_read(tmp_path: Path) -> None:
    (tmp_path / "incident" / "raw").mkdir(parents=True)
    (tmp_path / "incident" / "raw" / "jobmanager.log").write_text("x")
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "incident", "incident")
    bundle = read_bundle(tmp_path / "b.tar.gz")
    assert bundle.raw_dir is not None
    assert (bundle.raw_dir / "jobmanager.log").read_text() == "x"


@pytest.mark.parametrize("name", ["b", "b.tar.gz"])
def test_saving_again_adds_samples_and_replaces_logs(tmp_path: Path, name: str) -> None:
    later = NOW + timedelta(minutes=1)
    files = row("checkpoint_files", path="chk-1")
    plainly(tmp_path / name, {"log_events": [event("old")], "committed_offsets": [committed(1, NOW)], "checkpoint_files": [files]})
    plainly(
        tmp_path / name,
        {
            "log_events": [event("new")],
            "committed_offsets": [committed(1, NOW), committed(2, later)],
            "checkpoint_files": [files | {"as_of": later}],
        },
    )
    tables = read_bundle(tmp_path / name).tables
    assert [r["text"] for r in tables["log_events"]] == ["new"]
    assert [r["committed"] for r in tables["committed_offsets"]] == [1, 2]
    assert [r["path"] for r in tables["checkpoint_files"]] == ["chk-1"]


def test_the_newest_state_of_a_source_counts(tmp_path: Path) -> None:
    plainly(tmp_path / "b", {"sources": [row("sources", name="k:9092", kind="kafka", state="failed", why="refused")]})
    plainly(tmp_path / "b", {"sources": [row("sources", name="k:9092", kind="kafka", state="ok")]})
    assert [r["state"] for r in read_bundle(tmp_path / "b").tables["sources"]] == ["ok"]


def test_saving_again_keeps_raw_files_and_what_else_lies_there(tmp_path: Path) -> None:
    plainly(tmp_path / "b", {})
    (tmp_path / "b" / "raw").mkdir()
    (tmp_path / "b" / "raw" / "x.log").write_text("x")
    (tmp_path / "b" / "expect.json").write_text("{}")
    plainly(tmp_path / "b", {"sources": []})
    assert (tmp_path / "b" / "raw" / "x.log").read_text() == "x"
    assert (tmp_path / "b" / "expect.json").read_text() == "{}"


def test_saving_never_overwrites_what_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "jobmanager.log").write_text("precious")
    (tmp_path / "notes.txt").write_text("precious")
    for path in (tmp_path / "logs", tmp_path / "notes.txt"):
        with pytest.raises(BundleError, match="is not a bundle"):
            plainly(path, {"sources": []})
    assert (tmp_path / "logs" / "jobmanager.log").read_text() == (tmp_path / "notes.txt").read_text() == "precious"


@pytest.mark.parametrize("name", ["b", "b.tar.gz"])
@pytest.mark.parametrize("step", ["_store", "pack"])
def test_a_full_disk_leaves_the_old_bundle_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, step: str) -> None:
    plainly(tmp_path / name, {"log_events": [event("old")]})
    if step == "pack" and name == "b":
        monkeypatch.setattr(os, "rename", refuse_once(os.rename))
    else:
        monkeypatch.setattr(write, step, refuse)
    with pytest.raises(BundleError, match="No space left on device"):
        plainly(tmp_path / name, {"log_events": [event("new")]})
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert [r["text"] for r in read_bundle(tmp_path / name).tables["log_events"]] == ["old"]


def refuse(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def refuse_once(rename: Any) -> Any:
    """The second rename of a swap fails: the new content does not get under the final name."""
    calls: list[object] = []

    def renaming(source: Any, target: Any) -> None:
        calls.append(source)
        if len(calls) == 2:
            refuse()
        rename(source, target)

    return renaming


def test_a_path_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BundleError, match=r"cannot write the bundle to .*file/b"):
        plainly(tmp_path / "file" / "b", {"sources": []})


values = {
    "string": st.text(st.characters(exclude_categories=["Cs"])),
    "long": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "timestamp": st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(timezone.utc)),
    "strings": st.lists(st.text(st.characters(exclude_categories=["Cs"]))),
    "map": st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])), st.none() | st.text(st.characters(exclude_categories=["Cs"]))
    ),
}


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_every_row_survives_its_line(data: st.DataObject) -> None:
    table = data.draw(st.sampled_from([TABLES["log_events"], TABLES["bootstrap_servers"], TABLES["operator_states"]]))
    drawn = {c.name: data.draw(st.none() | values[c.type]) for c in table.columns}
    encoding.validate(table, [drawn])
    (line,) = encoding.lines(table, [drawn])
    assert line.count("\n") == 1
    assert encoding.decoded(table, json.loads(line)) == drawn
