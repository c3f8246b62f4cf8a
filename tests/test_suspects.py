"""Where a poison record can lie: from the recordings of incidents, and from the rows that bound it."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzers.derived import derive
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.tables import METRICS, Row

INCIDENTS = Path(__file__).parent.parent / "fixtures" / "incidents" / "ill"


def windows(incident: str, **tables: list[Row]) -> list[Row]:
    found = scan(plan([str(INCIDENTS / incident / "raw")], LogOptions()), None)
    return derive({**found, **tables})["suspect_windows"]


def test_a_deserialiser_that_fails_leaves_the_partition_of_its_subtask() -> None:
    (window,) = windows("poison-record-deserialiser")
    assert (window["topic"], window["partition"], window["from_offset"], window["to_offset"]) == ("orders", 2, 363, None)
    assert (window["exact"], window["task"], window["subtask"]) == (False, "Source: orders", 1)


def test_behind_a_key_by_every_partition_stays_a_candidate_and_that_is_said() -> None:
    found = windows("lab-poison-user-code")
    assert [(row["partition"], row["from_offset"]) for row in found] == [(0, 174), (1, 161), (2, 212), (3, 263)]
    assert all("every one can hold it" in row["why"] for row in found)


def test_the_position_of_the_reader_ends_the_window() -> None:
    (job,) = {row["job"] for row in windows("lab-poison-user-code")}
    seen = {"scope": "", "job": job, "name": "currentOffset", "topic": "orders", "partition": 1, "exact": 180}
    found = windows("lab-poison-user-code", metrics=[METRICS.row(seen)])
    assert [row["to_offset"] for row in found] == [None, 180, None, None]


@pytest.mark.parametrize("incident", ["lab-registry-503", "healthy-rolling-broker-restart", "stuck-async-barrier"])
def test_what_is_no_record_leaves_no_window(incident: str) -> None:
    assert windows(incident) == []
