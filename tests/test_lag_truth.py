"""Is the lag real? Each verdict from the numbers that make it."""

from __future__ import annotations

import pytest

from analyzers.derived import lag_of
from analyzers.derived.lag.lag_readers import has_commit_bug
from analyzers.tables import CHECKPOINTS, GROUPS, JOB_CONFIG, Row
from tests.lag_evidence import JOB, NOW, ago, checkpoints, group, position, record, sample, truth


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


@pytest.mark.parametrize(
    ("version", "has"), [("2.7.1", True), ("2.8.10", True), ("3.1.0", True), ("3.1.1", False), ("2.7.0", False), ("3.10.0", False)]
)
def test_versions_with_the_commit_bug(version: str, has: bool) -> None:
    assert has_commit_bug(version) is has


def test_offsets_that_compaction_emptied_are_no_records() -> None:
    """Commit 100, end 601, and the next record lies at 580: 21 can be unread, not 501."""
    row = truth(sample(100, 601), records=[record(100, ago(60), offset=580)])
    assert (row["truth"], row["at_most"]) == ("unknown", 21)
    assert "480 of these offsets hold no record (compacted away)" in str(row["says"])
    held = truth(sample(100, 601, member="m"), groups=[group(1, simple=False)], records=[record(100, ago(60), offset=580)])
    assert (held["truth"], held["lag_records"], held["behind_records"]) == ("real", 501, 21)
