# ruff: noqa: E501 -- log lines are what they are
"""The day of logs whose lines have a time and no date: proven, taken from what lies beside, or not known."""

from __future__ import annotations

import gzip
import os
from datetime import datetime, timezone
from pathlib import Path

import pytest

from analyzers.derived import derive
from analyzers.derived.failures.job_state import job_state
from analyzers.logs.signatures.signature import Signature
from analyzers.readers.log_scan import LogOptions, plan, scan

EVERYTHING = (Signature("marker", ("MARKER",), "", "", keep=(1000, 0)),)
SAVED = datetime(2026, 3, 5, 14, 20, tzinfo=timezone.utc).timestamp()
CHECKPOINT = "INFO o.a.f.CheckpointCoordinator - Triggering checkpoint 7 (type=CHECKPOINT) @ {} for job " + "ab" * 16


def epoch(text: str) -> int:
    return int(datetime.fromisoformat(text + "+00:00").timestamp() * 1000)


def read(folder: Path, files: dict[str, str], saved: float = SAVED, log_timezone: str | None = None) -> tuple[list[str | None], list[str]]:
    """The times of lines with MARKER, in order, and the notes on days."""
    for name, text in files.items():
        (folder / name).write_text(text)
        os.utime(folder / name, (saved, saved))
    planned = plan([str(folder)], LogOptions(log_timezone=log_timezone))
    times = [row["at"] and row["at"].strftime("%Y-%m-%d %H:%M:%S") for row in scan(planned, None, EVERYTHING)["log_events"]]
    return times, [note for note in planned.notes if "without dates" in note]


def test_a_line_that_tells_its_epoch_proves_day_and_zone(tmp_path: Path) -> None:
    text = (
        f"23:59:50,000 INFO a.B - MARKER\n00:00:10,100 {CHECKPOINT.format(epoch('2026-03-01 22:00:10'))}\n00:01:00,000 INFO a.B - MARKER\n"
    )
    assert read(tmp_path, {"a.log": text}) == (["2026-03-01 21:59:50", "2026-03-01 22:01:00"], [])


def test_a_log_with_a_proven_day_gives_it_to_its_neighbours(tmp_path: Path) -> None:
    files = {
        "jobmanager.log": f"23:59:50,000 {CHECKPOINT.format(epoch('2026-03-01 23:59:50'))}\n00:10:00,000 INFO a.B - x\n",
        "taskmanager.log": "23:58:00,000 INFO a.B - MARKER\n00:09:00,000 INFO a.B - MARKER\n",
    }
    times, notes = read(tmp_path, files)
    assert times == ["2026-03-01 23:58:00", "2026-03-02 00:09:00"]
    assert len(notes) == 1


def test_logs_beside_that_end_then_give_the_day(tmp_path: Path) -> None:
    files = {
        "app.log": "23:58:00,000 INFO a.B - MARKER\n00:01:00,000 INFO a.B - MARKER\n",
        "dated.log": "2026-03-01 22:00:00,000 INFO a.B - x\n2026-03-02 00:30:00,000 INFO a.B - x\n",
    }
    times, notes = read(tmp_path, files)
    assert times == ["2026-03-01 23:58:00", "2026-03-02 00:01:00"]
    assert notes == ["1 log file has times without dates: taken as those of the logs beside, which end then"]


def test_logs_beside_that_end_hours_away_give_none(tmp_path: Path) -> None:
    files = {"app.log": "12:00:00,000 INFO a.B - MARKER\n", "dated.log": "2026-03-02 00:30:00,000 INFO a.B - x\n"}
    times, notes = read(tmp_path, files)
    assert times == [None]
    assert notes == ["1 log file has times without dates: on which day is not known, so how long something took is not judged there"]


def test_alone_they_end_before_they_were_saved(tmp_path: Path) -> None:
    files = {
        "a.log": "13:00:00,000 INFO a.B - MARKER\n14:10:00,000 INFO a.B - MARKER\n",
        "b.log": "13:30:00,000 INFO a.B - MARKER\n14:09:00,000 INFO a.B - MARKER\n",
    }
    times, notes = read(tmp_path, files)
    assert times == ["2026-03-05 13:00:00", "2026-03-05 13:30:00", "2026-03-05 14:09:00", "2026-03-05 14:10:00"]
    assert notes == ["2 log files have times without dates: taken as written just before the file was saved"]


@pytest.mark.parametrize(
    ("other", "saved"),
    [("09:00:00,000 INFO a.B - x\n", SAVED), ("14:09:00,000 INFO a.B - x\n", 0.0)],
    ids=["rolled", "saved when is unknown"],
)
def test_what_does_not_end_together_is_of_no_day(tmp_path: Path, other: str, saved: float) -> None:
    times, notes = read(tmp_path, {"a.log": "14:10:00,000 INFO a.B - MARKER\n", "a.log.1": other}, saved)
    assert times == [None]
    assert notes == ["2 log files have times without dates: on which day is not known, so how long something took is not judged there"]


def test_the_time_of_a_wrapping_is_theirs(tmp_path: Path) -> None:
    lines = "".join(f"2026-03-01T22:00:{second}.123456789Z stdout F 23:00:{second},100 INFO a.B - MARKER\n" for second in (10, 20))
    assert read(tmp_path, {"app.log": lines}) == (["2026-03-01 22:00:10", "2026-03-01 22:00:20"], [])


def test_a_date_in_the_name_counts_in_the_given_zone(tmp_path: Path) -> None:
    assert read(tmp_path, {"app-2026-02-28.log": "00:10:00,000 INFO a.B - MARKER\n"}, log_timezone="+01:00") == (
        ["2026-02-27 23:10:00"],
        [],
    )


def test_a_log_of_which_only_the_beginning_was_seen_says_nothing_of_its_end(tmp_path: Path) -> None:
    """Packed, it is longer than what was looked at."""
    body = "".join(
        f"{n // 3600 % 24:02d}:{n // 60 % 60:02d}:{n % 60:02d},000 INFO a.B - line {n} of many {'x' * 40}\n" for n in range(60000)
    )
    (tmp_path / "a.log.gz").write_bytes(gzip.compress((body + "14:10:00,000 INFO a.B - MARKER\n").encode()))
    assert read(tmp_path, {})[0] == [None]


def test_failures_and_checkpoints_of_no_known_day_are_counted(tmp_path: Path) -> None:
    job, graph = "ab" * 16, "org.apache.flink.runtime.executiongraph.ExecutionGraph"
    lines = [f"12:00:00,000 INFO {graph} - Job a ({job}) switched from state CREATED to RUNNING."]
    for minute in range(3):
        lines += [
            f"12:0{minute}:10,000 INFO org.apache.flink.runtime.checkpoint.CheckpointCoordinator - Completed checkpoint {minute + 1} for job {job} (18274 bytes, checkpointDuration=412 ms, finalizationTime=1 ms).",
            f"12:0{minute}:20,000 INFO {graph} - map (1/1) ({'cd' * 16}) switched from RUNNING to FAILED on tm-1.",
            "java.lang.IllegalStateException: x",
            f"12:0{minute}:20,001 INFO {graph} - Job a ({job}) switched from state RUNNING to RESTARTING.",
            f"12:0{minute}:30,000 INFO {graph} - Job a ({job}) switched from state RESTARTING to RUNNING.",
        ]
    (tmp_path / "jobmanager.log").write_text("\n".join(lines) + "\n")
    (tmp_path / "other.log").write_text("03:00:00,000 INFO a.B - x\n")
    tables = derive(scan(plan([str(tmp_path)])))
    (state,) = job_state(tables)
    assert (state["failures"], state["last_checkpoint"], state["checkpoints_completed"], state["loops"]) == (3, 3, 3, False)
    assert (state["first_failure_at"], state["last_checkpoint_at"]) == (None, None)
