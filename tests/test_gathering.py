"""Several sources in one run: what is asked, what is found below a path, what is said of a source that fails."""

from __future__ import annotations

import shutil
import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from analyzers.bundle.read import read_bundle
from analyzers.diagnosis.diagnose import judge
from analyzers.report.report import Report
from analyzers.tables import CHECKPOINT_FILES, GROUPS, LOG_FILES, SOURCES
from analyzers.tables.evidence import Evidence
from cli.collectors.collector import Collector
from cli.main import run
from cli.options.shared import RunOptions
from cli.runs import triage
from cli.runs.evidence import Interrupted
from cli.runs.gathering import asking, checkpoints_below, merged, recordings_below
from cli.runs.live_sources import LiveSources
from cli.shell.exits import CannotLook, ExitCode, UsageError

ROOT = Path(__file__).parents[1]
NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def test_rows_of_one_table_from_two_sources_are_all_kept_and_sources_once() -> None:
    source = SOURCES.row({"scope": "", "name": "a", "kind": "logs", "state": "ok"})
    one = Evidence({"sources": [source], "groups": [GROUPS.row({"group": "x"})]}, ["said"], {"members": "not asked"})
    two = Evidence({"sources": [dict(source)], "groups": [GROUPS.row({"group": "y"})], "members": []}, ["said"])
    whole = merged([one, two])
    assert [row["group"] for row in whole.tables["groups"]] == ["x", "y"]
    assert (len(whole.tables["sources"]), whole.notes, whole.absent) == (1, ["said"], {})


def test_collectors_are_asked_at_once_and_one_that_fails_is_a_source() -> None:
    met = threading.Barrier(2, timeout=30)

    def waits() -> Evidence:
        met.wait()  # breaks unless both are asked at once
        return Evidence({"groups": []})

    def fails() -> Evidence:
        met.wait()
        raise CannotLook("nobody answers at kafka-1:9092.", "Check the address.")

    with asking([Collector("k", "kafka", waits), Collector("kafka-1:9092", "kafka", fails)]) as answers:
        first, second = answers()
    assert first.tables == {"groups": []}
    (source,) = second.tables["sources"]
    assert (source["state"], source["why"]) == ("failed", "nobody answers at kafka-1:9092. Check the address.")


def test_triage_that_is_stopped_while_it_asks_says_so() -> None:
    def stopped() -> Evidence:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as early:
        triage.run([], RunOptions(facts_only=True), version="1", collectors=[Collector("kafka-1:9092", "kafka", stopped)])
    assert early.value.report.notes[0].startswith("stopped before the answers were in")
    assert isinstance(early.value.stop, KeyboardInterrupt)


def test_checkpoints_are_found_beside_logs_and_their_absence_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "jobmanager.log").write_text("2026-03-01 12:00:00,000 INFO  a.B [] - c\n")
    assert checkpoints_below([str(tmp_path), "-"]).tables == {}
    metadata = next(iter(sorted((ROOT / "fixtures" / "checkpoints").rglob("_metadata"))))
    there = tmp_path / ("ab" * 16) / "chk-7"
    there.mkdir(parents=True)
    shutil.copy(metadata, there / "_metadata")
    found = checkpoints_below([str(tmp_path)]).tables
    assert [row["path"] for row in found["checkpoint_files"]] == [str(there / "_metadata")]


def test_nothing_is_asked_that_no_option_names() -> None:
    assert LiveSources().collectors() == []
    with pytest.raises(UsageError):
        LiveSources(["kafka-1:port"]).collectors()
    assert [one.kind for one in LiveSources(["kafka-1:9092"]).collectors()] == ["kafka", "kafka"]


def _judged(**tables: list[dict[str, object]]) -> Report:
    return judge(tables, lambda: pytest.fail("nothing to judge"), command="triage", version="0", rules=[])


def test_logs_end_with_their_last_line_whatever_was_asked_later() -> None:
    log = LOG_FILES.row({"scope": "", "file": "a.log", "last_at": NOON})
    copied = CHECKPOINT_FILES.row({"scope": "", "as_of": NOON + timedelta(days=3)})
    asked = GROUPS.row({"scope": "", "as_of": NOON + timedelta(hours=1)})
    assert _judged(log_files=[log], checkpoint_files=[copied]).as_of == NOON
    assert _judged(log_files=[log], groups=[asked]).as_of == NOON + timedelta(hours=1)
    assert _judged(checkpoint_files=[copied]).as_of == NOON + timedelta(days=3)


def test_collect_writes_a_bundle_that_holds_what_was_there_and_says_what_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = ROOT / "fixtures" / "incidents" / "ill" / "stuck-async-barrier"
    bundle = tmp_path / "bundle.tar.gz"
    assert run(["collect", str(recording), "--save", str(bundle), "-b", "127.0.0.1:1", "--timeout", "5s"]) == ExitCode.CANNOT_LOOK
    said = capsys.readouterr().out
    assert "log_events\t" in said
    assert "failed\tkafka\tgroups of 127.0.0.1:1" in said
    tables = read_bundle(bundle).tables
    assert {"log_events", "log_counts", "bootstrap_servers"} <= set(tables)
    assert [row["state"] for row in tables["bootstrap_servers"]] == ["refused"]


def test_collect_needs_something_to_collect(tmp_path: Path) -> None:
    assert run(["collect", "--save", str(tmp_path / "b")]) == ExitCode.USAGE
    assert run(["collect", str(tmp_path / "no"), "--save", str(tmp_path / "b")]) == ExitCode.USAGE
    assert not (tmp_path / "b").exists()


def test_saved_answers_of_the_jobmanager_are_found_beside_the_logs_each_folder_once(tmp_path: Path) -> None:
    for moment in ("t0", "t1"):
        (tmp_path / "incident" / "rest" / moment).mkdir(parents=True)
        (tmp_path / "incident" / "rest" / moment / "jobs_overview.json").write_text('{"jobs": []}')
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "jobs_overview.json").write_text('{"jobs": []}')
    assert [one.name for one in recordings_below([str(tmp_path)])] == [str(tmp_path / "incident" / "rest"), str(tmp_path / "other")]
    assert recordings_below([str(tmp_path / "incident" / "rest" / "t0"), "-"])[0].name == str(tmp_path / "incident" / "rest")
    assert recordings_below([str(tmp_path / "missing")]) == []
