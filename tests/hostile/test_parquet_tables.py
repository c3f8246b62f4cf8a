"""Parquet tables of a stranger's bundle: what ends or fills the process that parses them costs a sentence, and no memory of diag's own."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analyzers.budget import BUDGET
from analyzers.bundle import BundleError, parquet, read_bundle
from analyzers.bundle.packed import TooMuch
from analyzers.bundle.parquet import Lost, Reader
from analyzers.bundle.room import Room
from analyzers.tables import TABLES
from tests.report_samples import AT

EVENTS = TABLES["log_events"]


def worker(before: str) -> tuple[str, ...]:
    """The command of a worker in which `before` was run."""
    return (sys.executable, "-c", f"import os, signal, time\nimport analyzers.bundle.parquet_worker as worker\n{before}\nworker.main()")


def bundle(place: Path, table: pa.Table) -> Path:
    """A bundle of one Parquet table, whose manifest says what is true."""
    place.mkdir()
    pq.write_table(table, place / "log_events.parquet", compression="zstd", store_schema=False)
    return with_manifest(place, table.num_rows)


def with_manifest(place: Path, rows: int) -> Path:
    content = (place / "log_events.parquet").read_bytes()
    stored = {"file": "log_events.parquet", "rows": rows, "sha256": hashlib.sha256(content).hexdigest(), "columns": {}}
    (place / "manifest.json").write_text(json.dumps({"bundle_format": 1, "version": "1", "tables": {"log_events": stored}}))
    return place


def one(**columns: pa.Array) -> pa.Table:
    return pa.table({"scope": pa.array([""]), **columns})


def long_list(values: int) -> pa.Table:
    """One row with a list of so many equal texts: some hundred bytes as a file, whatever their number."""
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(values, np.int8)), pa.array(["a text in a list"]))
    return one(chain=pa.ListArray.from_arrays(pa.array([0, values], pa.int32()), texts))


@pytest.fixture
def swapped(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Reader]]:
    """Readers that a test put in the place of the process's own, ended with it."""
    made: list[Reader] = []
    yield made
    for reader in made:
        reader.close()


def takes(monkeypatch: pytest.MonkeyPatch, made: list[Reader], before: str, seconds: float = 60.0) -> None:
    made.append(Reader(worker(before), seconds))
    monkeypatch.setattr(parquet, "_READER", made[-1])


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ("worker._checked = lambda *asked: os.abort()", "SIGABRT"),
        ("worker._checked = lambda *asked: os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("worker._lines = lambda *asked: os._exit(3)", "exit code 3"),
        ("os.abort()", "SIGABRT"),
    ],
)
def test_a_file_that_ends_its_reader_is_named_and_the_next_one_is_read(
    monkeypatch: pytest.MonkeyPatch, swapped: list[Reader], tmp_path: Path, before: str, says: str
) -> None:
    place = bundle(tmp_path / "b", one())
    (place / "raw").mkdir()
    takes(monkeypatch, swapped, before)
    with pytest.raises(BundleError, match=rf"log_events.parquet \([\d,]+ bytes\) ended the process that read it \({says}\)") as raised:
        read_bundle(place)
    assert "nothing of the bundle was judged" in raised.value.message
    assert f"diag triage {place / 'raw'}" in raised.value.hint
    takes(monkeypatch, swapped, "")
    assert len(read_bundle(place).tables["log_events"]) == 1


def test_a_file_that_takes_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch, swapped: list[Reader], tmp_path: Path) -> None:
    takes(monkeypatch, swapped, "worker._checked = lambda *asked: time.sleep(600)", seconds=0.5)
    with pytest.raises(BundleError, match="its reading was stopped"):
        read_bundle(bundle(tmp_path / "b", one()))


def test_a_reader_has_so_much_cpu_time(monkeypatch: pytest.MonkeyPatch, swapped: list[Reader], tmp_path: Path) -> None:
    spin = "def spin(*asked):\n    while True:\n        pass\nworker._LEAST_SECONDS = 1\nworker._checked = spin"
    takes(monkeypatch, swapped, spin)
    with pytest.raises(BundleError, match="takes more time to read than its size accounts for"):
        read_bundle(bundle(tmp_path / "b", one()))


def test_one_process_reads_many_files(monkeypatch: pytest.MonkeyPatch, swapped: list[Reader], tmp_path: Path) -> None:
    takes(monkeypatch, swapped, "")
    places = [bundle(tmp_path / f"b{n}", one(text=pa.array([f"{n}"]))) for n in range(3)]
    pids = set()
    for number, place in enumerate(places):
        assert read_bundle(place).tables["log_events"][0]["text"] == f"{number}"
        assert swapped[0]._process is not None
        pids.add(swapped[0]._process.pid)
    assert len(pids) == 1


def test_no_process_is_started_where_there_is_no_parquet() -> None:
    done = "import sys; from analyzers.bundle import parquet, read_bundle; read_bundle('fixtures/CKP105/fires-stuck-async')"
    subprocess.run(
        [sys.executable, "-c", f"{done}; assert parquet._READER._process is None; assert 'pyarrow' not in sys.modules"], check=True
    )


def test_a_long_list_is_refused_by_its_footer(tmp_path: Path) -> None:
    place = bundle(tmp_path / "b", long_list(BUDGET.table_values + 2))
    assert (place / "log_events.parquet").stat().st_size < 2_000
    with pytest.raises(BundleError, match="longer lists than there is room for"):
        read_bundle(place)


def test_a_footer_that_lies_about_its_lists_meets_the_bound_of_memory(tmp_path: Path) -> None:
    """Forty million texts are gigabytes as objects of Python; the reader gets half of one, and this process nothing."""
    place = bundle(tmp_path / "b", long_list(40_000_000))
    asked = f"""if True:
        import re, resource
        from pathlib import Path
        from analyzers.bundle import BundleError, parquet, read_bundle
        parquet._READER = parquet.Reader({worker("worker._stated = lambda *asked: 0")!r})
        try:
            read_bundle({str(place)!r})
        except BundleError as error:
            parquet._READER.close()
            own = re.search(r"VmHWM:\\s*([0-9]+)", Path("/proc/self/status").read_text())[1]  # ru_maxrss would be that of pytest
            print(int(own) >> 10, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10, error.message)
    """
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
    own, its, words = said.split(" ", 2)
    assert int(own) < 200
    assert int(its) < 1000
    assert any(why in words for why in ("takes more memory than its size", "ended the process that read it", "larger than there is room"))


@pytest.mark.parametrize(
    "column",
    [
        {"text": pa.array([1])},
        {"text": pa.array([["x"]])},
        {"chain": pa.array([[["x"]]])},
        {"chain": pa.array([[1]])},
        {"detail": pa.array([{"a": "b"}])},
        {"line": pa.array(["1"])},
        {"line": pa.array([1.5])},
        {"at": pa.array([AT.replace(tzinfo=None)])},
        {"at": pa.array([1])},
    ],
)
def test_a_column_of_another_type_is_refused_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch, swapped: list[Reader], tmp_path: Path, column: dict[str, pa.Array]
) -> None:
    takes(monkeypatch, swapped, "worker._lines = lambda *asked: os.abort()")
    (name,) = column
    with pytest.raises(BundleError, match=rf"damaged: log_events.parquet: {name} is of type .*, not a "):
        read_bundle(bundle(tmp_path / "b", one(**column)))


def test_columns_that_no_table_has_are_not_read(monkeypatch: pytest.MonkeyPatch, swapped: list[Reader], tmp_path: Path) -> None:
    rows = read_bundle(bundle(tmp_path / "b", one(later=pa.array([[["x"]]]), text=pa.array(["x"])))).tables["log_events"]
    assert rows == [EVENTS.row({"scope": "", "text": "x"})]


@pytest.mark.parametrize("flips", range(0, 40, 8))
def test_flipped_bytes_are_read_or_refused(tmp_path: Path, flips: int) -> None:
    """With a checksum that is true: somebody made it."""
    place = bundle(tmp_path / "b", one(text=pa.array(["x" * 40]), chain=pa.array([["a", "b"]])))
    file = place / "log_events.parquet"
    whole = file.read_bytes()
    for number in range(flips, flips + 8):
        at = len(whole) * number // 40
        file.write_bytes(bytes([*whole[:at], whole[at] ^ 0xFF, *whole[at + 1 :]]))
        with suppress(BundleError):
            assert len(read_bundle(with_manifest(place, 1)).tables["log_events"]) == 1


def test_rows_of_json_lines_hold_no_long_lists_either(tmp_path: Path) -> None:
    table, room = EVENTS, Room()
    with pytest.raises(TooMuch, match="longer lists"):
        room.within(table.row({"chain": ["x"] * (BUDGET.table_values + 1)}))
    with pytest.raises(TooMuch, match="a row of more than 16 MB"):
        Room().line((16 << 20) + 1)


def test_a_reader_is_not_that_of_the_process_it_was_forked_from(tmp_path: Path) -> None:
    reader = Reader()
    place = bundle(tmp_path / "b", one()) / "log_events.parquet"
    ask = (place, "log_events", 10, 10_000, 1 << 20)
    assert len(list(reader.lines(*ask))) == 2
    reader._mine = -1  # as a fork sees it
    assert len(list(reader.lines(*ask))) == 2
    reader.close()
    with pytest.raises(Lost, match="exit code 5"):
        list(Reader((sys.executable, "-c", "raise SystemExit(5)")).lines(*ask))
