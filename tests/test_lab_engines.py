"""The lab's Beam and Spark, without starting them: what is counted at the sink, what a query's directory says, what is pinned."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fixtures.lab.artifacts import LabUnavailable, pinned
from fixtures.lab.beam import AFFECTED, FIXED, FLINK, duplicates, left_out, written
from fixtures.lab.processes import spawn
from fixtures.lab.structured_streaming import OrdersQuery


def ledger(directory: Path, opened_at: int, lines: str) -> None:
    (directory / f"{opened_at}-some-instance.ledger").write_text(lines)


def test_what_the_sink_wrote_twice_is_counted_within_one_attempt(tmp_path: Path) -> None:
    ledger(tmp_path, 1000, "0,0\n0,1\n1,0\n")
    ledger(tmp_path, 2000, "0,1\n0,2\n0,2\n")
    ledger(tmp_path, 2001, "1,1\n0,2\n1,")  # its last line was cut by a kill
    assert duplicates(written(tmp_path, 2000)) == 2
    assert duplicates(written(tmp_path)) == 3  # with 0,1, which a restore replays by right
    assert sum(written(tmp_path, 2000).values()) == 5


def test_what_was_left_out_are_gaps_below_the_highest_of_each_split(tmp_path: Path) -> None:
    ledger(tmp_path, 1000, "0,0\n0,1\n0,4\n1,0\n")
    assert left_out(written(tmp_path)) == 2
    ledger(tmp_path, 1001, "0,3\n0,2\n0,2\n")
    assert left_out(written(tmp_path)) == 0


@pytest.mark.parametrize("beam", [AFFECTED, FIXED])
def test_beam_and_its_flink_are_pinned_as_they_are_named(beam: str) -> None:
    versions = {artifact.name: artifact.version for artifact in pinned(f"beam-{beam}")}
    assert versions["beam-runners-flink-1.19"] == versions["beam-sdks-java-io-kafka"] == beam
    assert versions["flink-runtime"] == FLINK


def test_an_input_file_of_the_query_appears_whole_and_is_one_batch() -> None:
    with OrdersQuery() as query:
        first, second = query.write("12", "12.50"), query.write(into="in-2")
        assert [json.loads(line)["amount"] for line in first.read_text().splitlines()] == ["12", "12.50"]
        assert sorted(path.name for path in query.directory.glob("in*/*")) == [first.name, second.name]
    assert not query.directory.exists()


def test_planned_and_committed_are_the_newest_of_their_logs() -> None:
    with OrdersQuery() as query:
        assert (query.planned(), query.committed()) == (-1, -1)
        for log, number in (("offsets", 9), ("offsets", 10), ("commits", 9), ("commits", 2)):
            (query.checkpoint / log).mkdir(parents=True, exist_ok=True)
            (query.checkpoint / log / str(number)).write_text("v1\n{}")
            (query.checkpoint / log / f".{number}.crc").write_bytes(b"")
        assert (query.planned(), query.committed()) == (10, 9)


def test_a_driver_that_ends_before_its_batch_is_told_with_its_words() -> None:
    with OrdersQuery() as query:
        log = query.directory / "log" / "driver.log"
        driver = spawn([sys.executable, "-c", "raise RuntimeError('no such master')"], log)
        query.drivers.append((driver, log))
        driver.wait()
        with pytest.raises(LabUnavailable, match=r"ended with 1.*no such master"):
            query.wait_for_commit(0)


def test_leaving_ends_every_driver() -> None:
    with OrdersQuery() as query:
        log = query.directory / "log" / "driver.log"
        query.drivers.append((spawn([sys.executable, "-c", "import signal; signal.pause()"], log), log))
    assert query.drivers[0][0].returncode is not None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("INFO MicroBatchExecution: done\n", "INFO MicroBatchExecution: done"),
        ("java.lang.RuntimeException: outer\n\tat a.B.c\nCaused by: java.io.EOFException: inner\n", "java.io.EOFException: inner"),
        ("x.StreamingQueryException: [STREAM_FAILED] Query [id = 1] terminated with exception: Incomplete log file", "Incomplete log file"),
    ],
)
def test_the_last_words_of_a_driver_are_those_of_the_cause(lines: str, said: str) -> None:
    with OrdersQuery() as query:
        log = query.directory / "log" / "driver.log"
        log.write_text(lines, encoding="utf-8")
        query.drivers.append((spawn([sys.executable, "-c", ""], query.directory / "log" / "out"), log))
        assert query.last_words() == said
