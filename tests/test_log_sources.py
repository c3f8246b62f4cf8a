"""Finding and opening logs: what is no log, what is damaged, what changes while it is read; nothing of it stops the rest."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from analyzers.bundle import write_bundle
from analyzers.logs.signatures.signature import Signature
from analyzers.readers import log_scan
from analyzers.readers.log_scan import LogOptions, Plan, Tables, plan, scan
from analyzers.readers.sources import discover, series_key
from cli.runs.evidence import scanned
from cli.shell.exits import CannotLook

SIGNATURES = (Signature("marker", ("MARKER",), "", "", keep=(10**6, 0)),)
LINE = "2024-03-01 09:00:{:02d},000 INFO  a.b.C [] - MARKER {}\n"


def log(count: int = 3, first: int = 0) -> bytes:
    return "".join(LINE.format(n % 60, n) for n in range(first, first + count)).encode()


def read(*paths: Path | str, **options: Any) -> tuple[Tables, Plan]:
    planned = plan([str(path) for path in paths], LogOptions(**options))
    return scan(planned, None, SIGNATURES), planned


def states(tables: Tables) -> list[tuple[str, str, str | None]]:
    return sorted((os.path.basename(row["name"]), row["state"], row["why"]) for row in tables["sources"])


def test_what_stands_beside_logs_is_passed_over_and_counted(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "jobmanager.log").write_bytes(log())
    (tmp_path / "label.json").write_text('{"message": "never read", "level": "ERROR", "timestamp": "2024-03-01T00:00:00Z"}\n')
    (tmp_path / "jobs_overview.json").write_text('{"jobs": [{"jid": "ab", "state": "RUNNING", "start-time": 1700000000000}]}')
    (tmp_path / "_metadata").write_bytes(b"\x49\x60\x67\x2d" + bytes(200))
    (tmp_path / "part.snappy.parquet").write_bytes(b"PAR1")
    (tmp_path / "core").write_bytes(bytes(range(256)) * 100)
    (tmp_path / "notes.txt").write_text("Remember to call Anna.\n")
    (tmp_path / ".hidden.log").write_bytes(log())
    (tmp_path / "checkpoints.ls").write_text("f 12 2024-03-01T00:00:00Z chk-1/_metadata\n")
    (tmp_path / "events.json").write_text(
        '{"message": "MARKER", "level": "ERROR", "logger": "a.B", "timestamp": "2024-03-01T00:00:00Z"}\n' * 3
    )
    tables, planned = read(tmp_path)
    assert states(tables) == [("events.json", "ok", None), ("jobmanager.log", "ok", None)]
    assert len(tables["log_events"]) == 6
    assert planned.passed_over == 8


def test_files_that_are_empty_are_not_called_something_else(tmp_path: Path) -> None:
    for name in ("jobmanager.log", "taskmanager.log"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "core").write_bytes(bytes(range(256)) * 100)
    made = plan([str(tmp_path)], LogOptions())
    assert (made.passed_over, made.empty) == (3, 2)
    with pytest.raises(CannotLook, match=r"\(3 files passed over: 2 empty, 1 no log\)"):
        scanned([str(tmp_path)], LogOptions(), None, lambda said: None)


def test_a_bundle_beside_its_logs_does_not_count_them_twice(tmp_path: Path) -> None:
    (tmp_path / "jobmanager.log").write_bytes(log())
    alone, _ = read(tmp_path)
    write_bundle(tmp_path / "saved", alone, version="test")
    beside, planned = read(tmp_path)
    assert beside["log_events"] == alone["log_events"]
    assert [row["name"] for row in beside["sources"]] == [row["name"] for row in alone["sources"]]
    assert f"{tmp_path / 'saved'} holds tables that diag saved, which are no logs: --bundle judges them" in planned.notes
    (tmp_path / "saved" / "raw").mkdir()
    (tmp_path / "saved" / "raw" / "taskmanager.log").write_bytes(log(2))
    assert len(read(tmp_path)[0]["sources"]) == 2


def test_each_trouble_is_said_once_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "good.log").write_bytes(log())
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "binary.log").write_bytes(bytes(range(256)) * 100)
    packed = gzip.compress(log(20000), 1)
    (tmp_path / "cut.log.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "broken.log.gz").write_bytes(b"\x1f\x8b\x08\x00" + b"no gzip at all" * 50)
    named = [tmp_path / name for name in ("good.log", "empty.log", "binary.log", "cut.log.gz", "broken.log.gz", "absent.log", "*.nothing")]
    tables, _ = read(*named)
    found = {name: (state, why) for name, state, why in states(tables)}
    assert found["good.log"] == ("ok", None)
    assert found["empty.log"] == ("failed", "is empty")
    assert found["binary.log"] == ("failed", "holds no log: binary data")
    assert found["cut.log.gz"][0] == "partial"
    assert "to its end" in (found["cut.log.gz"][1] or "")
    assert found["broken.log.gz"][0] == "failed"
    assert found["absent.log"] == ("failed", "cannot be opened: No such file or directory")
    assert found["*.nothing"] == ("failed", "no file matches this pattern")
    assert len(found) == 7
    assert sum(row["events"] for row in tables["log_counts"] if row["file"].endswith("cut.log.gz")) > 1000


def test_damaged_lz4_gives_what_stands_before_the_damage(tmp_path: Path) -> None:
    out = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(out, "lz4") as stream:
        stream.write(log(20_000))
    packed = bytes(out.getvalue().to_pybytes())
    (tmp_path / "whole.log.lz4").write_bytes(packed)
    (tmp_path / "cut.log.lz4").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "followed.log.lz4").write_bytes(packed + b"no frame")
    (tmp_path / "broken.log.lz4").write_bytes(packed[:4] + b"no frame at all" * 50)
    inside = io.BytesIO()
    with tarfile.open(fileobj=inside, mode="w") as archive:
        info = tarfile.TarInfo("logs/cut.log.lz4")
        info.size = len(packed) // 2
        archive.addfile(info, io.BytesIO(packed[: len(packed) // 2]))
    (tmp_path / "all.tar").write_bytes(inside.getvalue())
    tables, _ = read(*(tmp_path / name for name in ("whole.log.lz4", "cut.log.lz4", "followed.log.lz4", "broken.log.lz4", "all.tar")))
    found = {name.split("!")[0]: (state, why) for name, state, why in states(tables)}
    assert found["whole.log.lz4"] == ("ok", None)
    assert found["cut.log.lz4"] == ("partial", "cannot be read to its end: it ends in the middle of the compressed data")
    assert found["followed.log.lz4"][0] == "partial"
    assert found["broken.log.lz4"][0] == "failed"
    counts = dict.fromkeys(("whole.log.lz4", "cut.log.lz4", "followed.log.lz4", "logs/cut.log.lz4"), 0)
    for row in tables["log_counts"]:
        name = row["file"].split("!")[-1] if "!" in row["file"] else os.path.basename(row["file"])
        counts[name] += row["events"]
    assert counts["whole.log.lz4"] == 20_000
    assert counts["followed.log.lz4"] > 18_000
    assert 8_000 < counts["cut.log.lz4"] < 12_000
    assert counts["logs/cut.log.lz4"] == counts["cut.log.lz4"]


def test_a_bare_carriage_return_in_the_first_line_is_no_table(tmp_path: Path) -> None:
    """`csv` raises where it finds one outside of quotes; a progress bar leaves some."""
    (tmp_path / "a.log").write_bytes(b"10 %\r20 %, message, time\r100 %\n" + log())
    tables, _ = read(tmp_path / "a.log")
    assert len(tables["log_events"]) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(log())
    path.chmod(0)
    tables, _ = read(path)
    assert states(tables) == [("a.log", "failed", "cannot be read: Permission denied")]


def test_nothing_at_all(tmp_path: Path) -> None:
    tables, planned = read(tmp_path)
    assert planned.files == []
    found = {name: len(rows) for name, rows in tables.items()}
    assert found == dict.fromkeys(("log_events", "log_remarks", "log_counts", "log_files", "sources"), 0)


def test_a_file_that_vanishes_or_shrinks_or_grows_after_planning(tmp_path: Path) -> None:
    for name in ("gone", "short", "grown"):
        (tmp_path / f"{name}.log").write_bytes(log(100))
    planned = plan([str(tmp_path)], LogOptions(split_bytes=1000))
    (tmp_path / "gone.log").unlink()
    (tmp_path / "short.log").write_bytes(log(50))
    with (tmp_path / "grown.log").open("ab") as more:
        more.write(log(10, 100))
    tables = scan(planned, None, SIGNATURES)
    found = {name: (state, why) for name, state, why in states(tables)}
    assert found["gone.log"] == ("failed", "cannot be read: No such file or directory")
    assert found["short.log"][0] == "partial"
    assert found["grown.log"] == ("ok", None)
    lines = {name: sum(1 for row in tables["log_events"] if row["file"].endswith(f"{name}.log")) for name in ("short", "grown")}
    assert lines == {"short": 50, "grown": 100}


def test_a_rotated_series_is_read_from_oldest_to_newest(tmp_path: Path) -> None:
    names = ["a.log.10", "a.log.2.gz", "a.log.1", "a.log", "b.log.2024-03-01", "b.log.2024-03-02.gz", "b.log", "c-20240301.log", "c.log"]
    assert sorted(sorted(names), key=series_key)[:7] == names[:7]
    for n, name in enumerate(names[:4]):
        data = log(2, 2 * n)
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    tables, _ = read(tmp_path)
    assert [row["text"].rsplit(" ", 1)[1] for row in tables["log_events"]] == [str(n) for n in range(8)]
    assert [row["seq"] for row in tables["log_events"]] == list(range(8))


def test_links_that_loop_and_files_named_twice_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_bytes(log())
    (tmp_path / "logs" / "again").symlink_to(tmp_path)
    (tmp_path / "logs" / "b.log").symlink_to(tmp_path / "logs" / "a.log")
    (tmp_path / "dangling.log").symlink_to(tmp_path / "nowhere")
    tables, _ = read(tmp_path, tmp_path / "logs" / "a.log")
    assert len(tables["log_events"]) == 3
    assert states(tables) == [("a.log", "ok", None), ("dangling.log", "partial", "cannot be opened: No such file or directory")]


def test_a_link_to_the_root_is_not_followed_over_the_whole_disk(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_bytes(log())
    (tmp_path / "beside.log").write_bytes(log())
    (tmp_path / "logs" / "up").symlink_to(tmp_path)
    (tmp_path / "logs" / "root").symlink_to("/")
    tables, _ = read(tmp_path / "logs")
    assert states(tables) == [("a.log", "ok", None)]


def test_a_fifo_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "manifest.json")
    assert read(tmp_path)[0]["sources"] == []
    os.mkfifo(tmp_path / "pipe.log")
    tables, _ = read(tmp_path / "pipe.log")
    assert states(tables) == [("pipe.log", "failed", "is neither a file nor a directory")]


def test_stdin_and_globs(tmp_path: Path) -> None:
    for name in ("a.log", "b.log", "c.txt"):
        (tmp_path / name).write_bytes(log(1))
    tables, planned = read("-", tmp_path / "*.log", stdin=gzip.compress(log(2)))
    assert sorted(os.path.basename(row["file"]) for row in tables["log_events"]) == ["-", "-", "a.log", "b.log"]
    aside = list(planned.temporary)
    planned.close()
    assert aside
    assert not any(os.path.exists(path) for path in aside)


def test_a_stream_is_put_aside_in_pieces_and_gone_when_it_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    asked: list[int] = []

    class Stream(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            asked.append(-1 if size is None else size)
            return super().read1(size)

    tables, planned = read("-", stdin=Stream(log(3) * 20_000))
    assert tables["log_files"][0]["file"] == "-"
    assert min(asked) > 0
    assert len(asked) > 2
    planned.close()

    class CutOff(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            if piece := super().read1(size):
                return piece
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read("-", stdin=CutOff())
    assert not list(tmp_path.iterdir())
    tables, planned = read("-", stdin=CutOff(log(3)))  # what had come is the log
    assert isinstance(planned.stop, KeyboardInterrupt)
    assert tables["log_files"][0]["lines"] == log(3).count(b"\n")
    assert [(source["name"], source["state"]) for source in tables["sources"]] == [("-", "partial")]
    planned.close()
    assert not list(tmp_path.iterdir())


def test_archives_within_archives(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as zipped:
        zipped.writestr("deep/taskmanager.log", log(2))
    outer = io.BytesIO()
    with tarfile.open(fileobj=outer, mode="w:gz") as archive:
        for name, data in (("host-1/logs.zip", inner.getvalue()), ("host-2/jobmanager.log", log(1))):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    (tmp_path / "all.tgz").write_bytes(outer.getvalue())
    tables, _ = read(tmp_path / "all.tgz")
    assert sorted(row["file"].split("!", 1)[1] for row in tables["log_files"]) == [
        "host-1/logs.zip!deep/taskmanager.log",
        "host-2/jobmanager.log",
    ]
    assert len(tables["log_events"]) == 3
    assert {row["role"] for row in tables["log_files"]} == {"taskmanager", "jobmanager"}


def test_a_truncated_archive_gives_what_it_holds(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for n in range(3):
            info = tarfile.TarInfo(f"{n}.log")
            info.size = len(log(2000))
            archive.addfile(info, io.BytesIO(log(2000)))
    (tmp_path / "a.tar").write_bytes(out.getvalue()[: len(log(2000)) * 3 // 2])
    tables, _ = read(tmp_path / "a.tar")
    assert len(tables["log_events"]) >= 2000
    assert "partial" in {state for _, state, _ in states(tables)}


def test_names_can_be_given_relative_to_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "jobmanager.log").write_bytes(log(1))
    tables, _ = read(tmp_path / "raw", relative_to=str(tmp_path))
    assert tables["log_events"][0]["file"] == "raw/jobmanager.log"
    assert tables["log_files"][0]["file"] == "raw/jobmanager.log"
    assert tables["sources"][0]["name"] == "raw/jobmanager.log"


def test_many_files_are_few_tasks(tmp_path: Path) -> None:
    for n in range(1500):
        (tmp_path / f"{n:05d}.log").write_bytes(log(1))
    planned = plan([str(tmp_path)])
    assert len(planned.files) == 1500
    assert len(planned.tasks) <= 4
    assert len(scan(planned, None, SIGNATURES)["log_events"]) == 1500


def test_discovery_never_raises_for_odd_names(tmp_path: Path) -> None:
    odd = tmp_path / "a\udcff\n!*[x].log"
    odd.write_bytes(log(1))
    tables, _ = read(tmp_path)
    assert len(tables["log_events"]) == 1
    assert discover([str(tmp_path / "[")]).troubles


def test_the_zone_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'Mars' is no time zone"):
        log_scan.plan([str(tmp_path)], LogOptions(log_timezone="Mars"))


def test_files_beyond_the_most_are_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analyzers.readers.sources.FILES_LIMIT", 3)
    for number in range(6):
        (tmp_path / f"{number}.log").write_text("text\n")
    found = discover([str(tmp_path)])
    assert len(found.candidates) == 3
    assert found.troubles == [(str(tmp_path), "more than 3 files were found; no more of them were looked at", False)]
