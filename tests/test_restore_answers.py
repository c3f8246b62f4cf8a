"""What `diag preflight restore` answers: against Flink's own checks, one question at a time."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from analyzers.derived.planned.restore.parallelism import default_max
from analyzers.derived.planned.restore.questions import restore_answers, restore_row
from analyzers.states.flink_plan import NoPlan, plan_rows
from analyzers.tables import (
    CHECKPOINT_FILES,
    JOBS,
    LOG_OFFSETS,
    OPERATOR_STATES,
    PARTITIONS,
    PENDING_TRANSACTIONS,
    PLANNED_OPERATORS,
    SOURCES,
    SPLITS,
    SUBTASK_STATES,
    TRANSACTIONAL_IDS,
    Row,
)

AT = datetime(2026, 11, 28, 9, 0, tzinfo=timezone.utc)
PATH = "/savepoints/savepoint-1/_metadata"
TOTALS, WINDOW, SINK = "8e" * 16, "b0" * 16, "bf" * 16


def _operator(key: str, name: str | None, uid: str | None = None, size: int = 100, most: int = 128) -> Row:
    own = {"operator": key, "name": name, "uid": uid, "parallelism": 2, "max_parallelism": most, "size_bytes": size, "complete": True}
    return OPERATOR_STATES.row({"scope": "", "as_of": AT, "path": PATH, "checkpoint": 4, **own})


STATE = [
    _operator(TOTALS, "totals", "totals"),
    _operator(WINDOW, "newest-order", "newest-order"),
    _operator(SINK, "archive", "archive", size=0),
]


def _file(operators: int = len(STATE), **more: Any) -> Row:
    own = {
        "kind": "savepoint", "savepoint_format": "canonical", "state": "complete", "version": 6, "operators": operators, "mtime": AT,
        "state_bytes": 200, "state_files": 0, "state_files_missing": 0, "state_files_wrong_size": 0, "state_files_elsewhere": 0,
        "state_files_unchecked": 0, "state_files_outside": 0, "outside": [], "discarded": [],
    }  # fmt: skip
    return CHECKPOINT_FILES.row({"scope": "", "as_of": AT, "path": PATH, "checkpoint": 4, **own, **more})


def _of_program(key: str, source: str = "checkpoint", chained: int | None = 0, **more: Any) -> Row:
    own = {"operator": key, "source": source, "origin": "the program", "chained": chained, "parallelism": 2, **more}
    return PLANNED_OPERATORS.row({"scope": "", "as_of": AT, **own})


def _answers(plan: dict[str, Any] | None = None, **tables: list[Row]) -> dict[str, tuple[str, str, str | None]]:
    """Answer, sentence and what to do, by question; the worst where there are two."""
    whole = {"checkpoint_files": [_file()], "operator_states": STATE, **tables}
    rows = restore_answers({**whole, "planned_changes": [restore_row(PATH, **(plan or {}))]})
    return {row["question"]: (row["answer"], row["says"], row["todo"]) for row in reversed(rows)}


# the checkpoint itself ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "answer", "words"),
    [
        (_file(), "goes", "savepoint 4 (canonical) is complete: 3 operators"),
        (_file(operators=4), "unknown", "not every operator"),
        (_file(state="damaged", damaged_at=1500, damage="expected operator id (16 bytes), found 3 bytes left"), "breaks", "at byte 1500"),
        (_file(state="damaged", version=None, damaged_at=0, damage="expected magic number"), "breaks", "none that Flink reads"),
        (_file(state="empty", version=None), "breaks", "no _metadata"),
        (_file(state="empty"), "unknown", "being written"),
    ],
)
def test_only_a_whole_metadata_is_complete(file: Row, answer: str, words: str) -> None:
    said = _answers(checkpoint_files=[file])["complete"]
    assert (said[0], words in said[1]) == (answer, True), said


def test_a_damaged_checkpoint_promises_nothing_else() -> None:
    said = _answers(checkpoint_files=[_file(state="damaged", damaged_at=9, damage="expected x")], planned_operators=[_of_program(TOTALS)])
    assert "goes" not in {answer for answer, _, _ in said.values()}


@pytest.mark.parametrize(
    ("found", "answer", "words"),
    [
        ({"state_files": 8}, "goes", "all of 8 state files"),
        ({"state_files": 8, "state_files_missing": 1}, "breaks", "1 not there"),
        ({"state_files": 8, "state_files_wrong_size": 2}, "breaks", "2 of another size"),
        ({"state_files": 8, "state_files_unchecked": 3}, "unknown", "cannot be seen from here"),
        ({"state_files": 8, "state_files_elsewhere": 3}, "unknown", "cannot be seen from here"),
        ({"state_files": None}, "unknown", "not looked at"),
    ],
)
def test_state_files(found: dict[str, int | None], answer: str, words: str) -> None:
    said = _answers(checkpoint_files=[_file(**found)])["state-files"]
    assert (said[0], words in said[1]) == (answer, True), said


# the program --------------------------------------------------------------------------------------------------------------


def test_state_without_an_operator_breaks_where_all_operators_are_shown() -> None:
    said = _answers(planned_operators=[_of_program(TOTALS), _of_program(SINK)])["operators"]
    assert (said[0], WINDOW in said[1]) == ("breaks", True)
    assert said[2] is not None
    assert 'uid("newest-order")' in said[2]


def test_an_operator_without_state_may_go() -> None:
    """Flink asks for operators with state alone (OperatorSubtaskState.hasState)."""
    assert _answers(planned_operators=[_of_program(TOTALS), _of_program(WINDOW)])["operators"][0] == "goes"


def test_a_coordinator_is_state() -> None:
    state = [*STATE[:2], {**STATE[2], "coordinator_bytes": 0}]
    said = _answers(operator_states=state, planned_operators=[_of_program(TOTALS), _of_program(WINDOW)])
    assert said["operators"][0] == "breaks"


def test_an_operator_of_the_same_name_has_another_uid() -> None:
    program = [_of_program(TOTALS), _of_program(SINK), _of_program("ee" * 16, name="newest-order", uid="newest-order-v2")]
    said = _answers(planned_operators=program)
    assert said["operators"][2] == 'Give newest-order its old id back: uid("newest-order") (its uid is newest-order-v2 now).'
    assert said["new-operators"][0] == "goes"


def test_what_may_be_left_behind_is_said() -> None:
    said = _answers({"allow_non_restored": True}, planned_operators=[_of_program(TOTALS), _of_program(SINK)])["operators"]
    assert (said[0], "100 bytes of state of newest-order" in said[1]) == ("goes", True)


def test_chained_operators_of_a_plan_are_not_known() -> None:
    """The id of a vertex is its first operator's; one that is not among them may be chained behind another."""
    said = _answers(planned_operators=[_of_program(TOTALS, "plan", 1)])["operators"]
    assert (said[0], "1 operator is chained behind" in said[1]) == ("unknown", True), said


def test_more_state_than_chained_operators_cannot_all_be_there() -> None:
    state = [*STATE[:2], _operator("aa" * 16, "enrich", "enrich")]
    said = _answers(operator_states=state, planned_operators=[_of_program(TOTALS, "plan", 1)])["operators"]
    assert (said[0], "at least 1" in said[1]) == ("breaks", True), said


def test_a_plan_in_one_line_hides_how_many_are_chained() -> None:
    state = [*STATE[:2], _operator("aa" * 16, "enrich", "enrich")]
    assert _answers(operator_states=state, planned_operators=[_of_program(TOTALS, "plan", None)])["operators"][0] == "unknown"


def test_ids_without_a_uid_are_other_ones_in_a_plan_without_chains() -> None:
    """A plan made with chaining off shows all ids, but those that are hashes of the graph are not the ones of the real program."""
    bare = [_operator(TOTALS, "totals"), _operator(WINDOW, "newest-order"), STATE[2]]
    program = [_of_program(TOTALS, "plan"), _of_program(SINK, "plan")]
    assert _answers(operator_states=bare, planned_operators=program)["operators"][0] == "unknown"
    assert _answers(planned_operators=program)["operators"][0] == "breaks"
    running = [_of_program(TOTALS, "rest"), _of_program(SINK, "rest")]
    assert _answers(operator_states=bare, planned_operators=running)["operators"][0] == "breaks"


def test_without_a_program_nothing_is_promised() -> None:
    said = _answers()
    assert (said["operators"][0], said["max-parallelism"][0]) == ("unknown", "unknown")
    assert "new-operators" not in said


@pytest.mark.parametrize(("parallelism", "most"), [(1, 128), (85, 128), (86, 256), (200, 512), (30000, 32768)])
def test_the_default_is_flinks(parallelism: int, most: int) -> None:
    """KeyGroupRangeAssignment.computeDefaultMaxParallelism: half as many again, as a power of two, from 128 to 32,768."""
    assert default_max(parallelism) == most


ALL = [_of_program(key, "rest", 0, max_parallelism=128, configured_max=-1, job_restored=False) for key in (TOTALS, WINDOW, SINK)]


@pytest.mark.parametrize(
    ("plan", "program", "answer", "words"),
    [
        ({}, ALL, "goes", "no other value"),
        ({}, [{**row, "configured_max": 64, "max_parallelism": 64} for row in ALL], "breaks", "sets max parallelism 64"),
        ({}, [{**row, "max_parallelism": 64} for row in ALL], "breaks", "sets max parallelism 64 for totals"),
        ({}, [{**row, "max_parallelism": 64, "job_restored": True} for row in ALL], "unknown", "runs with 64"),
        ({}, [{**row, "max_parallelism": 64, "job_restored": None} for row in ALL], "unknown", "runs with 64"),
        ({}, [_of_program(key, max_parallelism=64) for key in (TOTALS, WINDOW, SINK)], "unknown", "runs with 64"),
        ({}, [{**row, "parallelism": 200, "max_parallelism": 512} for row in ALL], "breaks", "200 subtasks"),
        ({}, [{**row, "parallelism": 128} for row in ALL], "goes", "128 subtasks"),
        ({"max_parallelism": 64}, [], "breaks", "sets max parallelism 64"),
        ({"max_parallelism": 128}, [], "unknown", "more subtasks"),
        ({"max_parallelism": 128}, [_of_program(key) for key in (TOTALS, WINDOW, SINK)], "goes", ""),
        ({}, [_of_program(key, "plan") for key in (TOTALS, WINDOW, SINK)], "unknown", "2 subtasks fit"),
    ],
)
def test_max_parallelism(plan: dict[str, Any], program: list[Row], answer: str, words: str) -> None:
    said = _answers(plan, planned_operators=program)["max-parallelism"]
    assert (said[0], words in said[1]) == (answer, True), said


def test_an_operator_that_is_gone_has_no_max_parallelism_to_meet() -> None:
    """Flink compares those that it can map alone (Checkpoints.loadAndValidateCheckpoint)."""
    state = [STATE[0], {**STATE[1], "max_parallelism": 64}, STATE[2]]
    program = [_of_program(TOTALS), _of_program(SINK)]
    said = _answers({"max_parallelism": 128, "allow_non_restored": True}, operator_states=state, planned_operators=program)
    assert said["max-parallelism"][0] != "breaks"


# the plan of a program ----------------------------------------------------------------------------------------------------


def _node(key: str, description: str, **more: Any) -> dict[str, Any]:
    return {"id": key, "parallelism": 2, "description": description, **more}


@pytest.mark.parametrize(
    ("description", "chained"),
    [
        ("totals<br/>", 0),
        ("validate<br/>+- enrich-profile<br/>", 1),
        ("a<br/>:- b<br/>+- c<br/>   +- d<br/>", 3),
        ("totals -&gt; archive: Writer", None),  # CASCADING
        ("join [Source: a, Source: b]", None),  # sources that are chained to one with several inputs
        ("", None),
    ],
)
def test_how_many_are_chained_behind_the_first(description: str, chained: int | None) -> None:
    (row,) = plan_rows({"plan": {"jid": "0" * 32, "nodes": [_node(TOTALS, description)]}}, "plan.json")
    assert (row["operator"], row["chained"], row["parallelism"]) == (TOTALS, chained, 2)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"nodes": [{"id": 1, "type": "Source: orders", "pact": "Data Source", "parallelism": 2}]}, "getExecutionPlan"),
        ({"flinkVersion": "2.0", "nodes": [{"id": 1, "type": "stream-exec-calc_1"}]}, "COMPILE PLAN"),
        ({"plan": {"nodes": [_node(TOTALS, "x"), {"id": "y"}]}}, "no operator id"),
        ({"jobs": []}, "no nodes"),
        ([], "no nodes"),
        ("text", "no nodes"),
        (None, "no nodes"),
    ],
)
def test_other_json_is_no_plan(body: Any, words: str) -> None:
    with pytest.raises(NoPlan, match=words):
        plan_rows(body, "plan.json")


def test_an_adaptive_scheduler_has_no_parallelism_yet() -> None:
    (row,) = plan_rows({"plan": {"nodes": [_node(TOTALS, "x", parallelism=-1)]}}, "plan.json")
    assert row["parallelism"] is None


# versions and claim modes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "to", "answer"),
    [
        (6, "2.3", "goes"),
        (6, "2.3.1", "goes"),
        (6, "2.1", "unknown"),  # where 2.3 wrote it, that is a downgrade
        (6, "2.0", "breaks"),
        (4, "1.15.4", "breaks"),
        (4, "1.20", "goes"),
        (4, "2.0", "unknown"),
        (3, "1.20.5", "goes"),
        (6, None, "unknown"),
        (6, "newest", "unknown"),
    ],
)
def test_which_flink_reads_which_metadata(version: int, to: str | None, answer: str) -> None:
    assert _answers({"engine_version": to}, checkpoint_files=[_file(version=version)])["version"][0] == answer


def test_no_minor_upgrade_from_an_unaligned_checkpoint() -> None:
    in_flight = SUBTASK_STATES.row({"scope": "", "path": PATH, "checkpoint": 4, "operator": TOTALS, "subtask": 0, "channel_bytes": 7})
    said = _answers({"engine_version": "1.20"}, checkpoint_files=[_file(version=3)], subtask_states=[in_flight])["version"]
    assert (said[0], "unaligned" in said[1]) == ("unknown", True)


JOB = "d4" * 16
RETAINED = {"kind": "checkpoint", "savepoint_format": None, "job": JOB, "discarded": ["finished", "subsumed"]}


def _job(state: str) -> Row:
    return JOBS.row({"scope": "", "as_of": AT, "job": JOB, "state": state})


@pytest.mark.parametrize(
    ("file", "jobs", "plan", "answer", "words"),
    [
        ({}, [], {}, "goes", "stays yours"),
        ({}, [], {"claim_mode": "claim"}, "goes", "becomes the new job's"),
        ({}, [], {"claim_mode": "legacy", "engine_version": "2.3"}, "goes", "does not delete"),
        ({}, [], {"claim_mode": "claim", "engine_version": "1.14"}, "breaks", "came with 1.15"),
        (RETAINED, [], {}, "goes", "stays yours"),
        (RETAINED, [_job("RUNNING")], {}, "breaks", "deletes it when later ones have completed"),
        (RETAINED, [_job("CANCELED")], {}, "goes", "stays yours"),
        ({**RETAINED, "discarded": ["cancelled", "finished", "subsumed"]}, [], {}, "unknown", "RETAIN_ON_CANCELLATION"),
        ({**RETAINED, "discarded": None}, [], {}, "unknown", "before Flink 1.16"),
        ({**RETAINED, "state_files_outside": 28, "outside": ["file:/cp/shared"]}, [], {}, "goes", "file:/cp/shared) and must stay"),
    ],
)  # fmt: skip
def test_claim_modes(file: dict[str, Any], jobs: list[Row], plan: dict[str, Any], answer: str, words: str) -> None:
    said = _answers(plan, checkpoint_files=[_file(**file)], jobs=jobs)["claim-mode"]
    assert (said[0], words in said[1]) == (answer, True), said


@pytest.mark.parametrize(
    ("written", "runs", "mode", "answer"),
    [
        (True, None, "no-claim", "unknown"),
        (True, True, "no-claim", "breaks"),
        (False, True, "no-claim", "breaks"),  # the program's backend makes the checkpoint, whatever wrote the state
        (True, False, "no-claim", "goes"),
        (True, True, "claim", "goes"),
        (False, None, "no-claim", "goes"),
    ],
)
def test_the_changelog_makes_no_full_checkpoint(written: bool, runs: bool | None, mode: str, answer: str) -> None:
    own = SUBTASK_STATES.row({"scope": "", "path": PATH, "checkpoint": 4, "operator": TOTALS, "subtask": 0, "changelog": written})
    said = _answers({"claim_mode": mode}, subtask_states=[own], planned_operators=[_of_program(TOTALS, "rest", changelog=runs)])
    assert said["claim-mode"][0] == answer


# Kafka and Beam -----------------------------------------------------------------------------------------------------------


def _split(partition: int, offset: int | None, subtask: int = 0, connector: str = "kafka") -> Row:
    own = {"topic": "orders", "partition": partition, "offset": offset, "offset_kind": "next", "identity": f"orders-{partition}"}
    head = {"path": PATH, "checkpoint": 4, "operator": TOTALS, "role": "reader", "connector": connector, "subtask": subtask}
    return SPLITS.row({"scope": "", **head, **own, "status": "assigned"})


def _ends(start: int, end: int, partitions: int = 2) -> dict[str, list[Row]]:
    places = [{"scope": "", "topic": "orders", "partition": number} for number in range(partitions)]
    own = {"at": AT + timedelta(hours=1), "log_start": start, "high_watermark": end}
    source = {"scope": "", "name": "topics of the checkpoint", "kind": "kafka", "state": "ok"}
    return {
        "partitions": [PARTITIONS.row(place) for place in places],
        "log_offsets": [LOG_OFFSETS.row({**place, **own}) for place in places],
        "sources": [SOURCES.row(source)],
    }


HELD = [_split(0, 500), _split(1, 500)]


@pytest.mark.parametrize(
    ("kafka", "answer", "words"),
    [
        ({}, "unknown", "no broker was asked"),
        (_ends(0, 900), "goes", "every one of the 2 positions"),
        (_ends(500, 900), "goes", "every one"),
        (_ends(501, 900), "unknown", "marker of a transaction"),
        (_ends(600, 900), "breaks", "200 offsets are skipped"),
        (_ends(0, 20), "breaks", "recreated or truncated"),
        ({**_ends(0, 900), "partitions": [], "log_offsets": []}, "breaks", "it was deleted"),
        (_ends(0, 900, partitions=1), "unknown", "orders-1"),
    ],
)
def test_positions(kafka: dict[str, list[Row]], answer: str, words: str) -> None:
    said = _answers(splits=HELD, **kafka)["offsets"]
    assert (said[0], words in said[1]) == (answer, True), said


def test_new_partitions_are_read_from_their_beginning() -> None:
    assert _answers(splits=HELD, **_ends(0, 900, partitions=3))["new-partitions"][0] == "goes"


@pytest.mark.parametrize(
    ("version", "answer"), [(None, "unknown"), ("2.51.0", "unknown"), ("2.52.0", "breaks"), ("2.62.0", "breaks"), ("2.63.0", "goes")]
)
def test_beam_deals_restored_splits_again(version: str | None, answer: str) -> None:
    said = _answers({"beam_version": version}, splits=[_split(0, 5, connector="beam-kafka")])
    assert said["double-reading"][0] == answer
    assert said.get("beam-version", ("",))[0] == ("unknown" if answer == "goes" else "")


def test_a_split_that_two_readers_hold_stays_theirs() -> None:
    said = _answers(splits=[_split(0, 5, 0), _split(0, 7, 1)])["double-reading"]
    assert (said[0], "subtasks 0 and 1" in said[1]) == ("breaks", True)


def _pending(**more: Any) -> Row:
    own = {"operator": SINK, "subtask": 0, "of_checkpoint": 4, "transactional_id": "orders-0-4", "producer": 6, "producer_epoch": 0, **more}
    return PENDING_TRANSACTIONS.row({"scope": "", "path": PATH, "checkpoint": 4, **own})


def _now(state: str | None, epoch: int = 0, **more: Any) -> list[Row]:
    own = {"state": state, "known": True, "producer": 6, "producer_epoch": epoch, "started_at": AT, "timeout_ms": 60_000, **more}
    return [TRANSACTIONAL_IDS.row({"scope": "", "transactional_id": "orders-0-4", **own})]


@pytest.mark.parametrize(
    ("now", "answer", "words"),
    [
        (_now("Ongoing"), "goes", "aborted at 2026-11-28 09:01:00 UTC"),
        (_now("CompleteCommit"), "goes", "all were committed"),
        (_now("CompleteCommit", 1), "goes", "all were committed"),  # KIP-890 bumps the epoch at each end
        (_now("CompleteAbort", 1), "breaks", "aborted 1 (orders-0-4)"),
        (_now("CompleteAbort", 2), "unknown", "used again"),  # of a transaction after it
        (_now("Ongoing", 1), "unknown", "used again"),
        (_now("CompleteCommit", producer=7), "unknown", "used again"),
        (_now("Empty", 1), "unknown", "used again"),
        (_now(None, known=False, producer=None, producer_epoch=None), "unknown", "do not know them any more"),
        (_now(None, known=None, error="not every coordinator could be asked"), "unknown", "not every coordinator"),
        ([], "unknown", "no broker was asked"),
    ],
)
def test_what_became_of_a_transaction(now: list[Row], answer: str, words: str) -> None:
    said = _answers(pending_transactions=[_pending()], transactional_ids=now)["transactions"]
    assert (said[0], words in said[1]) == (answer, True), said


def test_a_sink_that_cannot_be_read_is_said() -> None:
    said = _answers(pending_transactions=[_pending(transactional_id=None, unread="its file is not here")])["transactions"]
    assert (said[0], "its file is not here" in said[1]) == ("unknown", True)


def test_every_step_fits_on_the_card() -> None:
    """Thirty words a step, as tests/test_rules.py asks of every rule."""
    cases: list[dict[str, Any]] = [
        {},
        {"planned_operators": [_of_program(TOTALS, "plan", 1)]},
        {"planned_operators": [_of_program(TOTALS)]},
        {"splits": HELD, **_ends(600, 900)},
        {"splits": HELD, **_ends(0, 20)},
        {"splits": [_split(0, 5, connector="beam")]},
        {"pending_transactions": [_pending()], "transactional_ids": _now("CompleteAbort", 1)},
        {"pending_transactions": [_pending()], "transactional_ids": _now("Empty")},
        {"checkpoint_files": [_file(state_files=8, state_files_unchecked=3)]},
    ]
    steps = [todo for case in cases for plan in ({}, {"beam_version": "2.60"}) for _, _, todo in _answers(plan, **case).values() if todo]
    assert len(steps) > 40
    assert [step for step in steps if len(step.split()) > 30] == []
