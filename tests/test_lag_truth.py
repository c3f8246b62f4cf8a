"""Is the lag real? Each verdict from the numbers that make it, and the status of a group over its samples."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from analyzers.derived import lag_of
from analyzers.derived.lag_readers import has_commit_bug
from analyzers.derived.lag_status import reconciled
from analyzers.derived.lag_truth import TRUTHS
from analyzers.tables import (
    CHECKPOINT_FILES,
    CHECKPOINTS,
    COMMITTED_OFFSETS,
    GROUPS,
    JOB_CONFIG,
    METRICS,
    OPEN_TRANSACTIONS,
    RECORDS,
    SPLITS,
    Row,
)

NOW = datetime(2026, 11, 21, 3, 0, 0, tzinfo=timezone.utc)
JOB = "9c1f0a4d7e2b4f6a8d3c5b7e9f102a46"


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def sample(committed: int | None, end: int | None, *, at: datetime = NOW, start: int = 0, stable: int | None = None, **more: Any) -> Row:
    known = committed is not None and end is not None
    ends = {"log_start": None if end is None else start, "last_stable": end if stable is None else stable, "high_watermark": end}
    lag = max(0, end - max(committed, start)) if known else None  # type: ignore[operator,type-var]  # known: both are numbers
    where = {"scope": "", "as_of": at, "at": at, "group": "g", "topic": "orders", "partition": 0}
    return COMMITTED_OFFSETS.row(where | {"committed": committed, "lag_records": lag} | ends | more)


def group(members: int = 0, *, simple: bool = True) -> Row:
    return GROUPS.row({"scope": "", "as_of": NOW, "group": "g", "type": "classic", "state": "Empty", "members": members, "simple": simple})


def record(wanted: int, at: datetime | None, **more: Any) -> Row:
    place = {"scope": "", "as_of": NOW, "group": "g", "why": "committed", "topic": "orders", "partition": 0, "wanted": wanted}
    return RECORDS.row(place | {"offset": None if at is None else wanted, "at": at, "clock": "create-time"} | more)


def checkpoints(*held: tuple[int, int, float]) -> dict[str, list[Row]]:
    """(id, offset, completed so many seconds ago)."""
    files, splits = [], []
    for number, offset, age in held:
        path = f"s3://flink/{JOB}/chk-{number}/_metadata"
        of = {"scope": "", "as_of": NOW, "job": JOB, "path": path, "checkpoint": number}
        files.append(CHECKPOINT_FILES.row(of | {"kind": "checkpoint", "state": "complete", "mtime": ago(age)}))
        splits.append(
            SPLITS.row(of | {"operator": "op", "subtask": 0, "role": "reader", "topic": "orders", "partition": 0, "offset": offset})
        )
    return {"checkpoint_files": files, "splits": splits}


def position(offset: int, *, name: str = "currentOffset") -> Row:
    of = {"scope": "", "as_of": NOW, "job": JOB, "topic": "orders", "partition": 0, "captured_at": NOW}
    return METRICS.row(of | {"name": name, "exact": offset, "value": float(offset)})


def truth(*samples: Row, **tables: list[Row]) -> Row:
    evidence = {"committed_offsets": list(samples), "groups": [group()], **tables}
    (row,) = lag_of(evidence)["lag_truth"]
    assert row["healthy"] == TRUTHS[row["truth"]]
    return row


def status(*samples: Row, **tables: list[Row]) -> Row:
    (row,) = lag_of({"committed_offsets": list(samples), "groups": [group()], **tables})["lag_status"]
    return row


def test_a_saw_tooth_says_its_arithmetic() -> None:
    held = checkpoints((811, 1_150_000, 54), (812, 1_180_112, 24))
    row = truth(sample(1_180_112, 1_204_331), metrics=[position(1_204_299)], **held)
    assert row["truth"] == "saw-tooth"
    assert row["says"] == (
        "end 1,204,331 − position 1,204,300 = 31 behind; committed 1,180,112 = checkpoint 812, 24 s ago (interval 30 s), "
        "24,188 records read since: saw-tooth, not a stall"
    )
    assert (row["behind_records"], row["at_least"], row["at_most"], row["job"]) == (31, 31, 31, JOB)


def test_the_record_at_the_commit_tells_a_saw_tooth_from_a_backlog() -> None:
    """Without the reader's position: was the next record written after the checkpoint, or had it waited before?"""
    held = checkpoints((811, 1_150_000, 54), (812, 1_180_112, 24))
    fresh = truth(sample(1_180_112, 1_204_331), records=[record(1_180_112, ago(25))], **held)
    waited = truth(sample(1_180_112, 1_904_331), records=[record(1_180_112, ago(3600))], **held)
    assert (fresh["truth"], waited["truth"]) == ("saw-tooth", "real")
    assert "when the next record was 59.6 min old" in waited["says"]


def test_commits_that_are_checkpoints_old_are_broken() -> None:
    row = truth(
        sample(1_110_000, 1_204_331), **checkpoints((810, 1_110_000, 114), (811, 1_150_000, 84), (812, 1_180_000, 54), (813, 1_204_300, 24))
    )
    assert row["truth"] == "commits-broken"
    assert row["says"] == "checkpoint 813 holds 1,204,300, committed 1,110,000 is 3 checkpoints old: commits broken, the job reads"
    assert row["at_most"] == 31


@pytest.mark.parametrize(("age", "expected"), [(4, "unknown"), (40, "commits-broken")])
def test_the_commit_of_a_checkpoint_that_has_just_completed_is_on_its_way(age: float, expected: str) -> None:
    assert truth(sample(900, 1000), **checkpoints((7, 990, age)))["truth"] == expected


def test_checkpoints_that_completed_after_the_commits_were_looked_at_say_nothing_of_them() -> None:
    late = checkpoints((6, 900, 5), (7, 950, -1), (8, 990, -2))
    assert truth(sample(900, 1000), records=[record(900, ago(6))], **late)["truth"] == "saw-tooth"


@pytest.mark.parametrize(("age", "expected"), [(4, "saw-tooth"), (40, "commits-broken")])
def test_what_the_job_says_it_committed_must_be_there(age: float, expected: str) -> None:
    metrics = [position(1999), position(1990, name="committedOffset")]
    done = CHECKPOINTS.row({"scope": "", "as_of": NOW, "job": JOB, "checkpoint": 9, "status": "COMPLETED", "last_ack_at": ago(age)})
    assert truth(sample(1000, 2000), metrics=metrics, checkpoints=[done])["truth"] == expected


def test_only_markers_behind_the_commit() -> None:
    row = truth(sample(4999, 5000), records=[record(4999, None, reached_end=True, skipped_control=1)])
    assert (row["truth"], row["behind_records"]) == ("transaction-markers", 0)


def test_what_was_read_at_another_commit_says_nothing() -> None:
    assert truth(sample(4998, 5000), records=[record(4999, None, reached_end=True)])["truth"] == "unknown"


def test_retention_counts_what_is_lost_from_the_position_that_is_known() -> None:
    row = truth(sample(10, 100, start=60))
    assert (row["truth"], row["lost_records"], row["at_most"]) == ("below-retention", 50, 40)
    assert truth(sample(10, 100, start=60), metrics=[position(69)])["truth"] != "below-retention"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (sample(None, 100), "never-committed"),
        (sample(500, 100), "beyond-end"),
        (sample(100, 100), "caught-up"),
        (sample(90, None, error="the partition has no leader"), "unknown"),
        (sample(90, 100), "unknown"),
        (sample(90, 100, member="m-1", client="c", host="h"), "real"),
    ],
)
def test_exactly_one_verdict(row: Row, expected: str) -> None:
    assert truth(row)["truth"] == expected


def test_an_unknown_position_is_bounded() -> None:
    row = truth(sample(90, 100), records=[record(90, ago(24))])
    assert (row["at_least"], row["at_most"], row["behind_records"]) == (0, 10, None)
    assert "at most 24 s behind" in row["says"]


def test_nobody_reads_when_all_members_have_left() -> None:
    row = truth(sample(90, 100), groups=[group(simple=False)])
    assert row["truth"] == "real"
    assert "nobody reads" in row["says"]


def transaction(started: datetime | None, state: str | None = "Ongoing") -> Row:
    of = {"scope": "", "as_of": NOW, "topic": "orders", "partition": 0, "offset": 100, "producer": 7}
    return OPEN_TRANSACTIONS.row(of | {"started_at": started, "state": state, "transactional_id": "t"})


def at_stable(*ends: float, at: float | None = None, clock: str = "create-time") -> Row:
    times = [ago(seconds).isoformat(timespec="milliseconds").replace("+00:00", "Z") for seconds in ends]
    place = {"scope": "", "as_of": NOW, "why": "last-stable", "topic": "orders", "partition": 0, "wanted": 100, "offset": 100}
    return RECORDS.row(place | {"at": None if at is None else ago(at), "clock": clock, "markers": times})


EVERY_TEN_SECONDS = (175.0, 165.0, 155.0, 145.0)


@pytest.mark.parametrize(
    ("open_for", "ends", "expected"),
    [
        (6, EVERY_TEN_SECONDS, "in-transaction"),
        (29, EVERY_TEN_SECONDS, "in-transaction"),
        (120, EVERY_TEN_SECONDS, "blocked"),
        (120, (), "in-transaction"),  # a writer of whom nothing is known may have an interval of minutes
        (120, (1500.0, 1200.0, 900.0, 600.0, 300.0), "in-transaction"),  # every 300 s
        (120, (160.0, 159.5, 158.9, 158.0), "in-transaction"),  # four writers ended theirs with one checkpoint: no rhythm is known
        (1000, (), "blocked"),  # transaction.max.timeout.ms
    ],
)
def test_an_exactly_once_writer_is_not_called_blocked(open_for: float, ends: tuple[float, ...], expected: str) -> None:
    row = truth(sample(100, 500, stable=100), records=[at_stable(*ends)], open_transactions=[transaction(ago(open_for))])
    assert row["truth"] == expected
    assert row["since"] == ago(open_for)


def test_a_producers_time_stamp_is_no_age_of_its_transaction() -> None:
    """A back-fill writes records of last year in a transaction that is a second old."""
    samples = sample(100, 500, stable=100)
    assert truth(samples, records=[at_stable(*EVERY_TEN_SECONDS, at=86400)])["truth"] == "in-transaction"
    assert truth(samples, records=[at_stable(*EVERY_TEN_SECONDS, at=86400, clock="log-append-time")])["truth"] == "blocked"


def test_a_transaction_that_no_coordinator_knows_hangs() -> None:
    samples = sample(100, 500, stable=100), sample(100, 600, stable=100, at=NOW - timedelta(seconds=40))
    row = truth(*samples, records=[at_stable()], open_transactions=[transaction(None, None)])
    assert row["truth"] == "blocked"
    assert "it hangs" in row["says"]


@pytest.mark.parametrize(("watched", "expected"), [(40, "in-transaction"), (1000, "blocked")])
def test_a_transaction_that_is_not_shown_may_be_one_that_this_user_may_not_see(watched: float, expected: str) -> None:
    samples = sample(100, 500, stable=100), sample(100, 400, stable=100, at=ago(watched))
    row = truth(*samples, records=[at_stable()], open_transactions=[transaction(None, None) | {"transactional_id": None}])
    assert row["truth"] == expected
    assert ("may not DESCRIBE" in row["says"]) == (expected == "blocked")


def test_a_stable_offset_that_moved_within_the_samples_is_no_block() -> None:
    moving = [sample(s, s + 50, stable=s, at=ago(1200 - 600 * n)) for n, s in enumerate((100, 200, 300))]
    assert truth(*moving)["truth"] == "in-transaction"


def test_a_commit_beyond_the_position_is_somebody_elses() -> None:
    row = truth(sample(1000, 2000), metrics=[position(599), position(499, name="committedOffset")])
    assert row["truth"] == "foreign-committer"
    assert row["behind_records"] == 1400


@pytest.mark.parametrize(("age", "expected"), [(3, False), (40, True)])
def test_a_position_may_be_older_than_the_checkpoint_that_was_committed(age: float, expected: bool) -> None:
    completed = CHECKPOINTS.row(
        {
            "scope": "",
            "as_of": NOW,
            "job": JOB,
            "checkpoint": 812,
            "status": "COMPLETED",
            "triggered_at": ago(age + 1),
            "last_ack_at": ago(age),
        }
    )
    row = truth(sample(1000, 2000), metrics=[position(599), position(499, name="committedOffset")], checkpoints=[completed])
    assert (row["truth"] == "foreign-committer") is expected


def test_a_restored_job_is_behind_its_own_old_commit() -> None:
    """Position behind the commit, and nothing committed since: as after a restore from an older savepoint."""
    assert truth(sample(1000, 2000), metrics=[position(599)])["truth"] == "real"


def test_two_committers_take_turns() -> None:
    samples = [sample(c, 2000, at=ago(20 - 5 * n)) for n, c in enumerate((1000, 400, 1100, 450, 1200))]
    assert truth(*samples)["truth"] == "foreign-committer"
    assert truth(*samples, groups=[group(1)])["truth"] != "foreign-committer"  # a broker refuses strangers where there are members


def test_teeth_of_a_saw_are_seen_in_the_samples() -> None:
    samples = []
    for n in range(9):  # written 100/s, committed to the end every 20 s
        end = 1000 + 1000 * n
        samples.append(sample(end - (n % 2) * 1000, end + 20, at=ago(80 - 10 * n)))
    row = truth(*samples[:-1])
    assert row["truth"] == "saw-tooth"
    assert "falls to 20 with each commit" in row["says"]


def test_a_job_that_reads_on_while_no_checkpoint_completes_has_no_saw_tooth() -> None:
    """As a stuck async call made it on a real Flink: the position is at the end, and nothing can be committed."""
    history = [
        CHECKPOINTS.row(
            {"scope": "", "as_of": NOW, "job": JOB, "checkpoint": n, "status": s, "triggered_at": ago(t), "last_ack_at": a, "failure": f}
        )
        for n, s, t, a, f in (
            (11, "COMPLETED", 88, ago(87), None),
            (12, "COMPLETED", 80, ago(79), None),
            (13, "FAILED", 72, None, "Checkpoint expired before completing."),
            (14, "IN_PROGRESS", 40, None, None),
        )
    ]
    interval = JOB_CONFIG.row({"scope": "", "as_of": NOW, "job": JOB, "source": "checkpoints", "key": "interval", "value": "8000"})
    row = truth(sample(1_813, 3_394), metrics=[position(3_380)], checkpoints=history, job_config=[interval])
    assert (row["truth"], row["overdue"], row["behind_records"]) == ("checkpoint-overdue", True, 13)
    assert row["says"] == (
        "committed 1,813, 1,581 records are behind it: checkpoint 12 was the last to complete, 79 s ago (interval 8 s); "
        "the job has read on, 13 are unread"
    )


@pytest.mark.parametrize(
    ("looks", "positions", "expected"),
    [
        ([(1000, 1040, 24), (1000, 1100, 12), (1000, 1160, 0)], [(1030, 24), (1150, 0)], "commits-broken"),
        # it moved: two checkpoints since are not known
        ([(940, 1000, 24), (1000, 1100, 12), (1000, 1160, 0)], [(1000, 24), (1150, 0)], "saw-tooth"),
        # a slow sink held the reader back until a moment ago: the checkpoints before hold what is committed
        ([(1000, 1040, 24), (1000, 1100, 12), (1000, 1160, 0)], [(1150, 0)], "saw-tooth"),
        ([(1000, 1040, 24), (1000, 1100, 12), (1000, 1160, 0)], [(1000, 24), (1150, 0)], "saw-tooth"),
        ([(1000, 1040, 24), (1000, 1100, 12), (1000, 1160, 0)], [(1030, 0)], "real"),
        ([(1000, 1160, 0)], [(1030, 24), (1150, 0)], "saw-tooth"),  # one look shows no standing
    ],
)
def test_a_commit_that_stands_while_checkpoints_complete_is_no_saw_tooth(
    looks: list[tuple[int, int, float]], positions: list[tuple[int, float]], expected: str
) -> None:
    """As a missing right on the group made it on a real broker: looked at for 24 s, a checkpoint every 3 s."""
    history = [
        CHECKPOINTS.row(
            {
                "scope": "",
                "as_of": NOW,
                "job": JOB,
                "checkpoint": n,
                "status": "COMPLETED",
                "triggered_at": ago(t),
                "last_ack_at": ago(t - 1),
            }
        )
        for n, t in ((41, 23), (42, 20), (43, 17), (44, 14), (45, 11), (46, 8), (47, 5), (48, 2))
    ]
    interval = JOB_CONFIG.row({"scope": "", "as_of": NOW, "job": JOB, "source": "checkpoints", "key": "interval", "value": "3000"})
    samples = [sample(committed, end, at=ago(age)) for committed, end, age in looks]
    metrics = [position(offset - 1) | {"captured_at": ago(age)} for offset, age in positions]
    row = truth(*samples, metrics=metrics, checkpoints=history, job_config=[interval])
    assert row["truth"] == expected
    if expected == "commits-broken":
        assert row["says"] == (
            "committed 1,000 has stood for at least 24 s, in which 3 checkpoints completed that hold more; "
            "the job has read up to 1,150: commits broken, the job reads"
        )
        assert (row["behind_records"], row["since"]) == (10, ago(22))


def test_an_overdue_checkpoint_is_told() -> None:
    held = checkpoints((811, 900, 752), (812, 1000, 722))
    assert truth(sample(1000, 9000), **held)["overdue"] is True
    assert truth(sample(8000, 9000), **held)["overdue"] is False  # the directory is an old copy
    assert truth(sample(1000, 9000), **checkpoints((811, 900, 54), (812, 1000, 24)))["overdue"] is False


def test_a_group_whose_coordinator_was_lost_between_two_looks_keeps_what_was_seen() -> None:
    lost = group() | {"error": "its coordinator cannot be asked"}
    before = sample(90, 100, at=ago(5), member="m-1")
    assert truth(before, groups=[group() | {"as_of": ago(5)}, lost])["lag_records"] == 10
    other = GROUPS.row({"scope": "", "as_of": NOW, "group": "other"})
    assert lag_of({"committed_offsets": [before], "groups": [group() | {"as_of": ago(5)}, other]})["lag_truth"] == []  # deleted since


# Status over a window -----------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("version", "has"), [("2.7.1", True), ("2.8.10", True), ("3.1.0", True), ("3.1.1", False), ("2.7.0", False), ("3.10.0", False)]
)
def test_versions_with_the_commit_bug(version: str, has: bool) -> None:
    assert has_commit_bug(version) is has


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


def test_offsets_that_compaction_emptied_are_no_records() -> None:
    """Commit 100, end 601, and the next record lies at 580: 21 can be unread, not 501."""
    row = truth(sample(100, 601), records=[record(100, ago(60), offset=580)])
    assert (row["truth"], row["at_most"]) == ("unknown", 21)
    assert "480 of these offsets hold no record (compacted away)" in str(row["says"])
    held = truth(sample(100, 601, member="m"), groups=[group(1, simple=False)], records=[record(100, ago(60), offset=580)])
    assert (held["truth"], held["lag_records"], held["behind_records"]) == ("real", 501, 21)


def test_a_commit_that_goes_back_tells_no_speed() -> None:
    """Two committers who take turns: the one that is ahead seemed to read at 12/s and to be done in two minutes."""
    looks = [sample(committed, 1000, at=ago(8 - n)) for n, committed in enumerate((900, 300, 950, 300, 990, 300))]
    row = status(*looks)
    assert (row["status"], row["consumed_per_second"], row["catch_up_seconds"]) == ("rewind", None, None)
    assert truth(*looks)["truth"] == "foreign-committer"
