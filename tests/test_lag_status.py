"""The status of a group over its samples: does it keep up, and how long until it has caught up."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from analyzers.derived import lag_of
from analyzers.derived.lag.lag_status import reconciled
from analyzers.tables import Row
from tests.lag_evidence import NOW, ago, checkpoints, group, record, sample, status, truth


def series(*pairs: tuple[int, int], every: float = 20.0, **more: Any) -> list[Row]:
    return [sample(committed, end, at=ago(every * (len(pairs) - 1 - n)), **more) for n, (committed, end) in enumerate(pairs)]


MEMBER: dict[str, Any] = {"member": "m-1", "client": "c", "host": "h"}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (series((5, 10)), "not-enough-samples"),
        (series((5, 10), (5, 12), (5, 14), every=2), "not-enough-samples"),
        (series((5, 10), (5, 12), (5, 14), every=80, **MEMBER), "stall"),
        (series((5, 10), (5, 12), (5, 14), every=30, **MEMBER), "not-enough-samples"),  # a sink of Kafka Connect commits every 60 s
        (series((5, 10), (5, 12), (5, 14), every=400), "stop"),
        (series((5, 10), (5, 12), (5, 14)), "not-enough-samples"),  # nobody is a member: 40 s may be one checkpoint interval
        (series((10, 10), (10, 12), (10, 14), every=80, **MEMBER), "ok"),  # caught up a moment ago
        (series((100, 110), (200, 210), (50, 220), **MEMBER), "rewind"),
        (series((100, 110), (50, 120), (120, 130), **MEMBER), "ok"),  # back, and further than before
        (series((0, 1000), (100, 3000), (200, 5000), (300, 7000), **MEMBER), "warn"),
        (series((0, 1000), (500, 1100), (900, 1200), **MEMBER), "ok"),
        (series((5, 100), (5, 10)), "unknown"),  # made anew
        (series((100, 500), stable=100), "ok"),
        ([sample(None, 10)], "unknown"),
    ],
)
def test_status(rows: list[Row], expected: str) -> None:
    assert status(*rows)["status"] == expected


def test_a_checkpointing_job_is_measured_in_its_intervals() -> None:
    held = checkpoints((811, 4, 24), (812, 5, 14))
    row = status(*series((5, 10), (5, 12), (5, 14), every=15), **held)
    assert (row["wanted_seconds"], row["status"]) == (25.0, "stop")


def test_time_to_catch_up_and_never() -> None:
    faster = status(*series((0, 1000), (500, 1100), (1000, 1200), (1500, 1800), **MEMBER))
    assert faster["trend"] == "shrinking"
    assert faster["catch_up_seconds"] == pytest.approx(300 / (25 - 13.333), rel=0.02)
    slower = status(*series((0, 1000), (100, 3000), (200, 5000), (300, 7000), **MEMBER))
    assert (slower["trend"], slower["never"], slower["catch_up_seconds"]) == ("growing", True, None)


@pytest.mark.parametrize(
    ("at", "age", "doubt"),
    [(ago(90), 90.0, None), (datetime(1970, 1, 20, tzinfo=timezone.utc), None, "1970"), (NOW + timedelta(hours=2), None, "ahead")],
)
def test_lag_in_time_and_times_that_make_no_sense(at: datetime, age: float | None, doubt: str | None) -> None:
    row = status(sample(5, 10), records=[record(5, at)])
    assert row["time_lag_seconds"] == age
    assert (doubt or "") in (row["time_doubt"] or "")


def one_stands(others: int, *, waited: float = 700.0, moves: bool = True) -> Row:
    """The first of a member's partitions stands for six seconds, at a record that has waited; its others move with each look."""
    rows = series((42, 900), (42, 902), (42, 904), (42, 906), every=2, **MEMBER)
    for number in range(1, others + 1):
        pairs = ((10, 12), (12, 14), (14, 16), (16, 18)) if moves else ((10, 12), (10, 14), (12, 16), (12, 18))
        rows += series(*pairs, every=2, partition=number, **MEMBER)
    tables = {"committed_offsets": rows, "groups": [group(1, simple=False)], "records": [record(42, ago(waited))]}
    return next(row for row in lag_of(tables)["lag_status"] if row["partition"] == 0)


def test_one_that_stands_among_partitions_that_move() -> None:
    row = one_stands(3)
    assert (row["status"], row["beside_moved"], row["wanted_seconds"]) == ("stall", 3, 5.0)
    assert "while 3 other partitions of its member moved" in row["because"]
    assert one_stands(2)["status"] == "not-enough-samples"  # a slow reader that takes its partitions in turn
    assert one_stands(9, waited=20)["status"] == "not-enough-samples"
    assert one_stands(9, moves=False)["status"] == "not-enough-samples"  # seen to commit once only: how often is unknown


def test_nobody_is_left_to_move_the_commit() -> None:
    looks, left = series((5, 10), (5, 12), every=2), [group(0, simple=False)]
    row = status(*looks, groups=left, records=[record(5, ago(200))])
    assert (row["status"], "all members of the group have left" in row["because"]) == ("stop", True)
    assert status(*looks, groups=left, records=[record(5, ago(100))])["status"] == "not-enough-samples"  # a rolling restart
    assert status(*looks, records=[record(5, ago(200))])["status"] == "not-enough-samples"  # its readers never joined


def test_a_commit_that_goes_back_tells_no_speed() -> None:
    """Two committers who take turns: the one that is ahead seemed to read at 12/s and to be done in two minutes."""
    looks = [sample(committed, 1000, at=ago(8 - n)) for n, committed in enumerate((900, 300, 950, 300, 990, 300))]
    row = status(*looks)
    assert (row["status"], row["consumed_per_second"], row["catch_up_seconds"]) == ("rewind", None, None)
    assert truth(*looks)["truth"] == "foreign-committer"


def test_one_report_does_not_say_warn_beside_saw_tooth() -> None:
    place = {"scope": "", "group": "g", "topic": "orders", "partition": 0}
    climbing = {**place, "status": "warn", "because": "the lag grows"}
    (tooth,) = reconciled([climbing], [{**place, "truth": "saw-tooth", "healthy": True}])
    assert (tooth["status"], tooth["because"]) == ("ok", "the lag grows; this lag is explained (saw-tooth, see lag_truth)")
    assert reconciled([climbing], [{**place, "truth": "real", "healthy": None}]) == [climbing]
    stands = {**place, "status": "stop", "because": "nobody is a member"}
    assert reconciled([stands], [{**place, "truth": "transaction-markers", "healthy": True}])[0]["status"] == "ok"
    # a commit that stands for longer than two checkpoints is no tooth that climbs
    assert reconciled([stands], [{**place, "truth": "saw-tooth", "healthy": True}]) == [stands]
