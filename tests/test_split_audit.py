"""Who owns which split: the recorded Beam duplicate, healthy jobs, and each problem on its own."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from analyzers.derived.checkpoints.split_audit import split_audit
from analyzers.derived.checkpoints.split_audit_legs import audit_legs
from analyzers.readers.checkpoint_files import read_checkpoints

RECORDED = Path(__file__).parent.parent / "fixtures" / "checkpoints" / "recorded"
BEAM = RECORDED / "beam-duplicate-splits-rescaled"
IN_PLACE = RECORDED / "lab-beam-duplicate-in-place"
BEFORE, AFTER = "e254632b49b59c9431bd5bc447b2f50a", "221a4d7d072b77bc7365afe440fd4de3"


def audit(*paths: Path) -> list[dict[str, Any]]:
    return split_audit(read_checkpoints([str(path) for path in paths]))


def brief(rows: list[dict[str, Any]], problem: str) -> dict[str, tuple[Any, ...]]:
    return {row["identity"]: (row["subtasks"], row["offsets"]) for row in rows if row["problem"] == problem}


@pytest.mark.parametrize("number", [7, 8, 9, 10])
def test_beam_duplicate_is_seen_in_one_rescaled_checkpoint(number: int) -> None:
    rows = audit(BEAM / AFTER / f"chk-{number}")
    assert {row["problem"] for row in rows} == {"held-twice"}
    assert {identity: subtasks for identity, (subtasks, _) in brief(rows, "held-twice").items()} == {
        "splitIndex=2": ["0", "2"],
        "splitIndex=3": ["2", "3"],
        "splitIndex=4": ["0", "1"],
        "splitIndex=5": ["1", "3"],
    }


def test_beam_duplicate_since_the_first_checkpoint_of_the_second_job() -> None:
    rows = audit(BEAM)
    twice = [row for row in rows if row["problem"] == "held-twice"]
    assert {(row["job"], row["checkpoint"], row["since_checkpoint"]) for row in twice} == {(AFTER, 10, 7)}
    assert brief(rows, "held-twice")["splitIndex=4"] == (["0", "1"], ["27", "67"])


def test_beam_duplicate_within_one_subtask_shows_in_the_lineage_only() -> None:
    """Splits 0 and 1 were read twice inside one subtask: no checkpoint shows it, their position fell after the restore."""
    back = {row["identity"]: row for row in audit(BEAM) if row["problem"] == "went-back"}
    assert sorted(back) == [f"splitIndex={i}" for i in range(6)]
    assert back["splitIndex=0"]["offsets"] == ["41", "3"]
    assert all(row["compared_with"].endswith(f"{BEFORE}/chk-6/_metadata") and row["inferred"] for row in back.values())


def test_healthy_and_other_incidents_stay_quiet() -> None:
    for path in sorted(RECORDED.iterdir()):
        if path not in (BEAM, IN_PLACE):
            assert audit(path) == [], path.name
    assert audit(BEAM / BEFORE) == []


def test_beam_duplicate_by_a_failover_in_place_shows_in_the_series() -> None:
    rows = audit(IN_PLACE)
    assert {row["problem"] for row in rows} == {"went-back"}
    assert {identity: offsets for identity, (_, offsets) in brief(rows, "went-back").items()} == {
        "splitIndex=0": ["135", "9"],
        "splitIndex=1": ["134", "8"],
        "splitIndex=2": ["135", "9"],
        "splitIndex=3": ["134", "8"],
    }
    assert not any(row["inferred"] for row in rows)


@pytest.mark.parametrize(
    ("recording", "also"), [("lab-beam-duplicate", "--logs"), ("lab-beam-duplicate-kafka-rescaled", "KafkaIO hides them")]
)
def test_beam_duplicate_that_no_checkpoint_shows_is_said_to_be_invisible(recording: str, also: str) -> None:
    """All readers of a split share a subtask; older checkpoints of the restored job are deleted, so that no lineage is seen."""
    tables = read_checkpoints([str(RECORDED / recording)])
    assert split_audit(tables) == []
    legs = audit_legs(tables)
    assert any("restored from, if anything, is not among these checkpoints" in leg for leg in legs)
    assert any("not visible in checkpoints" in leg and also in leg for leg in legs)


def test_a_beam_job_seen_from_its_first_checkpoint_hides_nothing() -> None:
    first = audit_legs(read_checkpoints([str(BEAM / BEFORE)]))
    assert not any("Beam" in leg for leg in first)


def test_the_audit_says_what_it_could_not_see() -> None:
    one = audit_legs(read_checkpoints([str(BEAM / BEFORE / "chk-6")]))
    assert any("lineage: not visible" in leg for leg in one)
    assert any("broker: not visible" in leg for leg in one)
    unread = audit_legs(read_checkpoints([str(RECORDED / "topic-recreated")]))
    assert len(unread) == 1
    assert "4 splits are known to the enumerators, none of their readers could be read" in unread[0]
    assert audit_legs({}) == ["no position of a source could be read: the audit saw nothing"]


# -- each problem on its own ------------------------------------------------------------------------------------------


def checkpoint(number: int, job: str | None = "a", state: str = "complete") -> dict[str, Any]:
    return {"scope": "", "as_of": None, "job": job, "path": f"{job}/chk-{number}", "checkpoint": number, "state": state}


def split(number: int, identity: str, subtask: int | None, offset: int | None, job: str | None = "a", **more: Any) -> dict[str, Any]:
    topic, _, partition = identity.rpartition("-")
    values = {
        "scope": "", "job": job, "path": f"{job}/chk-{number}", "checkpoint": number, "operator": "op", "subtask": subtask,
        "role": "reader" if subtask is not None else "enumerator", "connector": "kafka", "identity": identity, "topic": topic,
        "partition": int(partition), "offset": offset, "offset_kind": "next", "stopping_offset": None, "status": "assigned",
    }  # fmt: skip
    return {**values, **more}


def problems(files: list[dict[str, Any]], splits: list[dict[str, Any]], **tables: Any) -> list[tuple[str, str]]:
    return [(row["problem"], row["identity"]) for row in split_audit({"checkpoint_files": files, "splits": splits, **tables})]


def test_lost_split_needs_a_whole_checkpoint() -> None:
    splits = [split(1, "t-0", 0, 5), split(1, "t-0", None, None), split(1, "t-1", None, None)]
    assert problems([checkpoint(1)], splits) == [("held-by-nobody", "t-1")]
    assert problems([checkpoint(1, state="damaged")], splits) == []
    assert problems([checkpoint(1)], splits, sources=[{"name": "a/chk-1", "state": "partial"}]) == []
    assert problems([checkpoint(1)], [split(1, "t-1", None, None, status="unassigned")]) == []
    assert problems([checkpoint(1)], [split(1, "t-1", None, None, stopping_offset=9)]) == [], "a bounded split that is done"


def test_lost_split_is_not_guessed_where_readers_may_hold_less() -> None:
    splits = [split(1, "t-0", 0, 5), split(1, "t-0", None, None), split(1, "t-1", None, None)]
    done = {"path": "a/chk-1", "operator": "op", "subtask": 1, "finished": True}
    assert problems([checkpoint(1)], splits, subtask_states=[done]) == []
    unknown = {**split(1, "x-0", 1, None, connector="opaque"), "identity": "sha256:00"}
    assert problems([checkpoint(1)], [*splits, unknown]) == []


def test_the_same_partition_in_two_sources_is_not_held_twice() -> None:
    assert problems([checkpoint(1)], [split(1, "t-0", 0, 5), split(1, "t-0", 1, 9, operator="other")]) == []


def test_a_duplicate_that_healed_is_not_reported() -> None:
    splits = [split(1, "t-0", 0, 5), split(1, "t-0", 1, 9), split(2, "t-0", 0, 12)]
    assert problems([checkpoint(1), checkpoint(2)], splits) == []


def test_what_could_not_be_read_has_not_healed() -> None:
    splits = [split(1, "t-0", 0, 5), split(1, "t-0", 1, 9)]
    assert problems([checkpoint(1), checkpoint(2, state="damaged")], splits) == [("held-twice", "t-0")]


def test_savepoints_of_unknown_jobs_are_no_series() -> None:
    first, second = ({**checkpoint(n, job=None), "path": f"sp/savepoint-{n}/_metadata"} for n in (1, 2))
    splits = [{**split(1, "t-0", s, 50), "path": first["path"], "job": None} for s in (0, 1)]
    splits.append({**split(2, "t-0", 0, 60), "path": second["path"], "job": None})
    assert problems([first, second], splits) == [("held-twice", "t-0")]
    files = [{**checkpoint(n, job=None), "path": f"here/chk-{n}/_metadata"} for n in (1, 2)]
    moved = [{**split(n, "t-0", 0, o), "path": f"here/chk-{n}/_metadata", "job": None} for n, o in ((1, 50), (2, 9))]
    assert problems(files, moved) == [("went-back", "t-0")], "one directory without a job's name is one job"


def test_positions_may_move_between_subtasks_and_stand_still() -> None:
    splits = [split(1, "t-0", 0, 5), split(2, "t-0", 1, 5), split(3, "t-0", 0, 9)]
    assert problems([checkpoint(n) for n in (1, 2, 3)], splits) == []


def test_position_that_went_back_within_a_job() -> None:
    splits = [split(1, "t-0", 0, 50), split(2, "t-0", 0, 9)]
    assert problems([checkpoint(1), checkpoint(2)], splits) == [("went-back", "t-0")]


@pytest.mark.parametrize(("first", "problem"), [(7, [("went-back", "t-0")]), (1, []), (9, [])])
def test_another_job_is_compared_only_where_its_ids_go_on(first: int, problem: list[tuple[str, str]]) -> None:
    files = [checkpoint(6), checkpoint(first, job="b")]
    assert problems(files, [split(6, "t-0", 0, 50), split(first, "t-0", 0, 9, job="b")]) == problem


def test_another_job_with_other_splits_is_no_origin() -> None:
    files = [checkpoint(6), checkpoint(7, job="b")]
    assert problems(files, [split(6, "t-0", 0, 50), split(6, "t-1", 0, 50), split(7, "t-0", 0, 9, job="b")]) == []


@pytest.mark.parametrize(("origin", "found"), [("a/chk-6", True), ("other/chk-6", False)])
def test_what_the_logs_say_of_the_restore_is_believed(origin: str, found: bool) -> None:
    files, splits = [checkpoint(6), checkpoint(9, job="b")], [split(6, "t-0", 0, 50), split(9, "t-0", 0, 9, job="b")]
    attempts = [{"scope": "", "job": "b", "restored_from": f"s3://bucket/cp/{origin}"}]
    rows = split_audit({"checkpoint_files": files, "splits": splits, "attempts": attempts})
    assert [(row["problem"], row["inferred"]) for row in rows] == ([("went-back", False)] if found else [])


def test_never_read_needs_two_checkpoints() -> None:
    marker = {"offset": None, "offset_kind": "earliest"}
    splits = [split(n, "t-0", 0, **marker) for n in (1, 2)]
    assert problems([checkpoint(1), checkpoint(2)], splits) == [("never-read", "t-0")]
    assert problems([checkpoint(1)], splits[:1]) == []
    assert problems([checkpoint(1), checkpoint(2)], [splits[0], split(2, "t-0", 0, 4)]) == []


def test_against_the_broker() -> None:
    ends = [
        {"scope": "", "topic": "t", "partition": 0, "log_start": 10, "high_watermark": 20},
        {"scope": "", "topic": "t", "partition": 1, "log_start": 0, "high_watermark": 20},
    ]
    partitions = [{"scope": "", "topic": "t", "partition": number} for number in range(3)] + [
        {"scope": "", "topic": "other", "partition": 0}
    ]
    found = problems([checkpoint(1)], [split(1, "t-0", 0, 5), split(1, "t-1", 1, 21)], log_offsets=ends, partitions=partitions)
    assert found == [("below-log-start", "t-0"), ("beyond-log-end", "t-1"), ("not-discovered", "t-2")]
    at_the_ends = [split(1, "t-0", 0, 10), split(1, "t-1", 1, 20), split(1, "t-2", 1, 0)]
    assert problems([checkpoint(1)], at_the_ends, log_offsets=ends, partitions=partitions) == []


def test_only_the_newest_whole_checkpoint_is_one_to_start_from() -> None:
    """Neither one with a later one beside it, nor that of a job after which another read the same partitions."""
    noon = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
    ends = [{"scope": "", "topic": "t", "partition": 0, "log_start": 100, "high_watermark": 200}]

    def newest(files: list[dict[str, Any]], splits: list[dict[str, Any]]) -> list[bool]:
        return [row["newest"] for row in split_audit({"checkpoint_files": files, "splits": splits, "log_offsets": ends})]

    old, late = {**checkpoint(1), "mtime": noon}, {**checkpoint(7, job="b"), "mtime": noon + timedelta(hours=1)}
    assert newest([old], [split(1, "t-0", 0, 5)]) == [True]
    assert newest([old, checkpoint(2, state="damaged")], [split(1, "t-0", 0, 5)]) == [False], "a later one was begun"
    assert newest([old, late], [split(1, "t-0", 0, 5), split(7, "t-0", 0, 150, job="b")]) == [False]
    assert newest([old, late], [split(1, "t-0", 0, 5), split(7, "t-1", 0, 150, job="b")]) == [True], "it reads something else"


def test_a_log_that_was_asked_before_the_checkpoint_may_have_grown() -> None:
    noon = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
    end = {"scope": "", "topic": "t", "partition": 0, "log_start": 0, "high_watermark": 200}
    files, splits = [{**checkpoint(1), "mtime": noon}], [split(1, "t-0", 0, 205)]
    assert problems(files, splits, log_offsets=[{**end, "at": noon - timedelta(seconds=2)}]) == []
    assert problems(files, splits, log_offsets=[{**end, "at": noon + timedelta(seconds=2)}]) == [("beyond-log-end", "t-0")]
