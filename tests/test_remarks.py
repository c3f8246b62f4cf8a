"""Lines below an error that no signature knows: kept, joined with a verdict by the names they share, told where there is no verdict."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from analyzers.causal.beside import Surroundings
from analyzers.causal.names import names_of
from analyzers.causal.ordinary import FILE, is_ordinary
from analyzers.diagnosis.standing_out import standing_out
from analyzers.logs.scan.remarks import is_remark, is_reported, tells_of_loss
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.tables import LOG_EVENTS, LOG_REMARKS, Row
from fixtures.lab.ordinary import ordinary

FLINK = "2026-03-11 02:1{minute}:00,001 {level}  com.acme.{logger}  [] - {message}\n"


def lines(*said: tuple[int, str, str, str]) -> str:
    keys = ("minute", "level", "logger", "message")
    return "".join(
        FLINK.format(**dict(zip(keys, (minute, f"{level:<4}", logger, message), strict=True))) for minute, level, logger, message in said
    )


def scanned(folder: Path, **files: str) -> dict[str, Any]:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return dict(scan(plan([str(folder)], LogOptions())))


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("billing job 10:00 failed: readings after 08:50 are not in the bucket", True),
        ("support says some 3% of the order ids come twice, totals are too high", True),
        ("desk: opening old stories from search shows a strange word instead of text", True),
        ("after the restart nothing is missing, all records were delivered again", False),
        ("the planned load test of today: events twice as usual until 18:00", False),
        ("all 500 taps priced after the restart, none lost, none twice", False),
        ("2026-04-02 05:00:11 the records of this line are missing in the topic", False),  # a line of a log
        ("missing = 12", False),
        (" 212684 |    28 | __debezium_unavailable_value   | 2026-11-23", True),
    ],
)
def test_what_a_note_reports(line: str, reported: bool) -> None:
    assert is_reported(line) is reported


@pytest.mark.parametrize(
    ("level", "message", "kept"),
    [
        ("WARN", "anything at all", True),
        ("INFO", "Skipping committing checkpoint 2001. 2148 is already committed.", True),
        ("INFO", "Updating Config for subject a to compatibilityLevel FULL", True),
        ("INFO", "Completed checkpoint 12 for job a", False),
        ("INFO", "Loading configuration property: execution.checkpointing.tolerable-failed-checkpoints, 3", False),
        ("INFO", "delivery.timeout.ms = 120000", False),
        (None, "/dev/sda1  59G  59G  0 100% /", True),
    ],
)
def test_which_lines_are_remarks(level: str | None, message: str, kept: bool) -> None:
    assert is_remark(level, message) is kept


def test_remarks_are_kept_by_shape_with_their_number(tmp_path: Path) -> None:
    said = [(n % 10, "WARN", "Pool", f"queue {n} is full") for n in range(40)]
    found = scanned(tmp_path, a__log=lines(*said))["log_remarks"]
    assert [(row["line"], row["times"], row["level"]) for row in found] == [
        (1, 40, "WARN"),
        (11, 40, "WARN"),
        (40, 40, "WARN"),
    ]  # the first two and the last in time


def test_any_split_of_a_file_gives_the_same_remarks(tmp_path: Path) -> None:
    said = [(n % 10, "WARN", f"Pool{n % 7}", f"queue {n} is full") for n in range(300)]
    (tmp_path / "a.log").write_text(lines(*said), encoding="utf-8")
    whole, parts = (scan(plan([str(tmp_path)], LogOptions(split_bytes=size)))["log_remarks"] for size in (1 << 30, 4 << 10))
    assert list(whole) == list(parts)


def test_notes_beside_a_log_are_lines_without_a_time(tmp_path: Path) -> None:
    log = lines(*[(0, "INFO", "Main", "Completed checkpoint 1 for job a")] * 3)
    found = scanned(tmp_path, a__log=log, notes__txt="change: broker b-3 was drained at noon\n\nshort\n")["log_remarks"]
    assert [(Path(row["file"]).name, row["line"], row["at"], row["times"]) for row in found] == [("notes.txt", 1, None, None)]


def test_names_are_what_two_lines_share_that_speak_of_one_thing() -> None:
    assert {"dbz_outbox"} <= names_of('can no longer get changes from replication slot "dbz_outbox"')
    assert {"tm-node-14", "tm-node-14.web.lan"} <= names_of("on 10.44.0.14 @ tm-node-14.web.lan (dataPort=42001)")
    assert {"basketstate", "com.hedgerow.basket"} <= names_of("class com.hedgerow.basket.BasketState has no setter")
    assert not names_of("org.apache.flink.runtime.taskmanager.Task failed at-least-once after 30000 ms on 2026-03-11 attempt#3")


def remark(text: str, file: str, line: int, level: str | None = "WARN") -> Row:
    return LOG_REMARKS.row({"scope": "", "file": file, "line": line, "level": level, "text": text})


def test_a_line_of_another_process_is_told_beside_the_verdict_that_names_the_same_thing() -> None:
    own = LOG_EVENTS.row({"scope": "", "file": "tm.log", "line": 9, "level": "ERROR", "text": 'no changes from slot "dbz_outbox"'})
    around = Surroundings(
        [
            remark('invalidating obsolete replication slot "dbz_outbox"', "postgres.log", 14, None),
            remark('terminating connection of "crm_reader"', "postgres.log", 15, None),
        ],
        [own],
    )
    found = around.of('no changes from slot "dbz_outbox"', [own], None, None, 2)
    assert [(each.row["line"], each.names) for each in found] == [(14, ("dbz_outbox",))]


def test_who_a_line_names_by_a_number_only_is_quoted_too() -> None:
    own = LOG_EVENTS.row({"scope": "", "file": "tm.log", "line": 9, "level": "ERROR", "text": "statement on stock_level timed out"})
    around = Surroundings(
        [
            remark("process 20544 still waiting for ShareLock on row of stock_level", "postgres.log", 14, None),
            remark("20544 | flink | active | Lock | {20117} | update", "sessions.txt", 3, None),
            remark("20117 | m.tanaka | DBeaver | idle in transaction | select", "sessions.txt", 4, None),
            remark("31000 | a.nother | psql | idle in transaction | select", "sessions.txt", 5, None),
        ],
        [own],
    )
    found = around.of("statement on stock_level timed out", [own], None, None, 3)
    assert [each.row["line"] for each in found] == [14, 4]


@pytest.mark.parametrize(("seconds", "told"), [(1, [5]), (30, [])])
def test_another_exception_in_the_seconds_before_is_told_whatever_it_names(seconds: int, told: list[int]) -> None:
    begun = datetime(2026, 1, 27, 13, 2, 16, tzinfo=timezone.utc)
    own = LOG_EVENTS.row(
        {"scope": "", "file": "jm.log", "line": 63, "level": "INFO", "at": begun, "text": "Map (2/4) switched from RUNNING to FAILED"}
    )
    thrown = {"chain": ["java.io.InvalidClassException: a.B; local class incompatible"], "root_exception": "java.io.InvalidClassException"}
    before = {"scope": "", "file": "jm.log", "line": 5, "level": "WARN", "text": "Could not read it\njava.io.InvalidClassException: a.B"}
    around = Surroundings([], [own, LOG_EVENTS.row({**before, **thrown, "at": begun - timedelta(seconds=seconds)})])
    found = around.of("Unable to restore operator state", [own], begun, begun, 2)
    assert [each.row["line"] for each in found] == told


def test_what_a_process_prints_at_once_after_its_failure_is_no_cause(tmp_path: Path) -> None:
    text = lines((1, "ERROR", "Sink", "write to acme-db-7 refused"))
    echo = text.replace("com.acme.Sink", "org.apache.flink.runtime.Task").replace("ERROR", "WARN ").replace("write to", "giving up on")
    found = scanned(tmp_path, a__log=text + echo)
    own = [row for row in found["log_events"] if row["level"] == "ERROR"]
    assert own
    assert (
        Surroundings(found["log_remarks"], found["log_events"]).of("write to acme-db-7 refused", own, own[0]["at"], own[0]["at"], 2) == []
    )


def test_without_a_verdict_the_most_telling_lines_are_told_and_a_lasting_loss_is_marked(tmp_path: Path) -> None:
    said = [(n % 10, "INFO", "Committer", f"Skipping committing batch {n}. 2148 is already committed.") for n in range(10)]
    quiet = [(n % 10, "INFO", "Main", f"Completed checkpoint {n} for job a") for n in range(10)]
    found = standing_out(scanned(tmp_path, a__log=lines(*sorted([*said, *quiet]))), ())[""]
    assert [(each.times, each.loss) for each in found] == [(10, True)]


def test_one_line_of_a_loss_at_info_is_no_lasting_one(tmp_path: Path) -> None:
    said = [(n, "INFO", "Main", f"Completed checkpoint {n} for job a") for n in range(9)]
    found = standing_out(scanned(tmp_path, a__log=lines((0, "INFO", "Reader", "Skipping record 7"), *said)), ())[""]
    assert [each for each in found if each.loss] == []


def test_what_could_be_lost_is_not_lost() -> None:
    assert tells_of_loss("Discarding 12 points")
    assert not tells_of_loss("Completed checkpoint 12")
    assert not tells_of_loss("Ignored message: HeartbeatResponse(false)")


def test_the_list_of_ordinary_lines_is_what_the_healthy_recordings_hold() -> None:
    assert FILE.read_text(encoding="utf-8") == ordinary()
    logger, said = "org.apache.flink.core.plugin.PluginConfig", "The plugins directory [plugins] does not exist."
    text = f"2026-03-11 02:10:00,001 INFO  {logger} [] - {said}"
    assert is_ordinary(LOG_REMARKS.row({"level": "INFO", "logger": logger, "text": text}))
