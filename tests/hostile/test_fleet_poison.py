"""A fleet with jobs that are poison: each costs its own line, and the others get the verdicts that they get without it."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from analyzers.bundle import read_bundle, write_bundle
from analyzers.fleet.beside import Beside, Ended, Work
from analyzers.fleet.judging import READ_AGAIN
from analyzers.fleet.places import places
from analyzers.fleet.reading import Item, found_apart
from analyzers.fleet.scopes import Choice, read_and_derived
from analyzers.readers.log_plan import LogOptions, plan
from analyzers.readers.log_scan import scan
from analyzers.readers.opening import _ROW, parts
from analyzers.report.report import Report
from analyzers.tables import Row
from analyzers.tables.evidence import Evidence
from cli.options.shared import RunOptions
from cli.runs import fleet as fleets
from cli.runs.fleet_evidence import Gathering
from tests.bundles import FIXTURES
from tests.hostile.test_parquet_tables import bundle, one, worker

if TYPE_CHECKING:
    from cli.engine.spark import Engine

ROOT = Path(__file__).resolve().parents[2]
LOGS = FIXTURES / "incidents/ill/broker-shrink-restart-loop/raw"
NO_UTF_8 = os.fsdecode(b"caf\xe9")
WELL_READ = ("good", "caf\\udce9", "foreign-manifest", "foreign-raw", "saved-inside")

RUN = """
import os, signal, sys
from pathlib import Path
from analyzers.bundle import parquet
from cli.engine.spark import Engine
from cli.options.shared import RunOptions
from cli.renderers import fleet
from cli.runs.fleet import run
from cli.runs.fleet_evidence import Gathering

def main():
    real = Gathering()
    def gather(paths, logs, names):
        if paths[0].endswith("kills"):
            os.kill(os.getpid(), signal.SIGKILL)
        parquet._READER = parquet.Reader(ABORTS)
        return real(paths, logs, names)
    with Engine.start("local[2]", pandas=True) as engine:
        found = run([sys.argv[1]], RunOptions(), version="1", engine=engine, gather=gather)
    print(fleet.as_json(found.report))

main()
"""


def tables_of(logs: Path) -> dict[str, list[Row]]:
    return {name: list(rows) for name, rows in scan(plan([str(logs)], LogOptions(apart=False)), None).items()}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("jobs")
    for name in ("good", NO_UTF_8, "foreign-manifest", "foreign-raw", "saved-inside"):
        shutil.copytree(LOGS, home / name)
    (home / "foreign-manifest" / "manifest.json").write_text('{"name": "of another program", "manifest_version": 3}')
    (home / "foreign-raw" / "raw").mkdir()
    (home / "foreign-raw" / "raw" / "notes.txt").write_text("not of diag")
    for name in ("saved.tar.gz", "saved.tar.zst", "saved"):
        write_bundle(home / "saved-inside" / name, tables_of(LOGS), version="1", redact=False)
    with zipfile.ZipFile(home / "saved-inside" / "saved.zip", "w") as packed:
        for file in (home / "saved-inside" / "saved").iterdir():
            packed.write(file, f"saved/{file.name}")
    (home / "kills").mkdir()
    (home / "kills" / "a.log").write_text("x\n")
    bundle(home / "aborts", one())
    return home


def test_poisoned_jobs_cost_their_own_lines(jobs: Path) -> None:
    aborts = worker("worker._checked = lambda *asked: os.abort()")
    done = subprocess.run(
        [sys.executable, "-c", RUN.replace("ABORTS", repr(aborts)), str(jobs)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    rows = {row["scope"]: row for row in json.loads(done.stdout)["jobs"]}
    assert set(rows) == {*WELL_READ, "kills", "aborts"}
    alone = rows["good"]
    assert "8 failures in 5 attempts" in alone["says"]
    assert {name: (rows[name]["outcome"], rows[name]["says"]) for name in WELL_READ} == dict.fromkeys(WELL_READ, ("ill", alone["says"]))
    for name, words in (("kills", "(SIGKILL)"), ("aborts", "(SIGABRT)")):
        assert rows[name]["outcome"] == "unread"
        assert f"ended the process that read it {words}" in rows[name]["says"]
        assert "nothing of " in rows[name]["says"]


def test_an_item_that_ends_its_process_says_so_and_others_are_read() -> None:
    item = Item("a", (str(LOGS),), 1)
    ((kind, what),) = found_apart(item, Gathering())
    assert kind == "evidence"
    assert what[0]["log_events"]

    def dies(paths: object, logs: bool, names: object) -> Evidence:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    ((kind, words),) = found_apart(item, dies)
    assert kind == "failed"
    assert f"reading {LOGS} ended the process that read it (SIGKILL)" in words
    assert "diag triage FILE" in words


def dies_at_kills(paths: Sequence[str], logs: bool, names: Mapping[str, str]) -> Evidence:
    """What there is, unless a path says that reading it ends the process."""
    if any(path.endswith("kills") for path in paths):
        os.kill(os.getpid(), signal.SIGKILL)
    return Gathering()(paths, logs, names)


def show(scope: str, report: Report) -> tuple[str, list[str]]:
    return scope, sorted(source.state for source in report.sources)


def beside(*paths: Path) -> Beside[tuple[str, list[str]]]:
    return Beside(Work([Item(path.name, (str(path),), 1) for path in paths], dies_at_kills, Choice(), show, "fleet", "1"))


def test_few_jobs_are_read_and_concluded_by_a_process_beside_this_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    reads = beside(LOGS, tmp_path / "empty")
    try:
        rows = reads.derived()
        alone = [row for batch in read_and_derived(Item(LOGS.name, (str(LOGS),), 1), Gathering(), Choice()) for row in batch.to_pylist()]
        said = {(row["scope"], row["name"]): row for row in rows}
        assert {(row["scope"], row["name"]) for row in alone} == {key for key in said if key[0] == LOGS.name}
        assert all(said[row["scope"], row["name"]]["payload"] == row["payload"] for row in alone if row["name"])
        shown = dict(reads.concluded({row["scope"]: {} for row in rows}, None))
    finally:
        reads.close()
    assert shown["empty"] == ["failed"]
    assert "failed" not in shown[LOGS.name]


def test_a_process_that_ends_beside_says_how(tmp_path: Path) -> None:
    (tmp_path / "kills").mkdir()
    reads = beside(LOGS, tmp_path / "kills")
    try:
        with pytest.raises(Ended, match="SIGKILL"):
            reads.derived()
    finally:
        reads.close()


def test_jobs_whose_reading_ended_a_process_are_read_apart(tmp_path: Path, engine: Engine) -> None:
    (tmp_path / "kills").mkdir()
    shutil.copytree(LOGS, tmp_path / "good")
    said: list[str] = []
    gather: Any = dies_at_kills
    every = fleets._judged(
        places([str(tmp_path)]), RunOptions(), engine,
        gather=gather, version="1", shown=partial(fleets.show, pages=False), hide=None, progress=said.append, starts=True,
    )  # fmt: skip
    rows = {row.scope: row for one in every for row in one["rows"]}
    assert rows["good"].outcome == "ill"
    assert rows["kills"].outcome == "unread"
    assert "(SIGKILL)" in rows["kills"].says
    assert READ_AGAIN in said


@pytest.mark.parametrize(("name", "content"), [("exceptions.jsonl", b'{"level":"ERROR"}\n'), ("a/other.jsonl", b'{"scope":""}\n')])
def test_logs_that_only_look_like_tables_of_diag_are_read(tmp_path: Path, name: str, content: bytes) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    packed.seek(0)
    assert [(names, text.read()) for names, text, _ in parts(packed)] == [((name,), content)]


def test_a_table_of_diag_begins_as_the_readers_of_logs_know_it(tmp_path: Path) -> None:
    write_bundle(tmp_path / "b", tables_of(LOGS), version="1", redact=False)
    assert read_bundle(tmp_path / "b").tables["log_events"]
    assert {
        file.name for file in (tmp_path / "b").glob("*.jsonl") if not file.read_bytes().startswith(_ROW) and file.stat().st_size
    } == set()
