"""Who holds the barrier: graphs with acknowledgements and busy shares as a JobManager tells them, and whom to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from analyzers.derived.checkpoints.barrier_frontier import barrier_frontier
from analyzers.tables import TABLES, Row

NOON = datetime(2026, 5, 4, 12, tzinfo=timezone.utc)
HEAD = {"scope": "", "as_of": NOON, "job": "j", "captured_at": NOON}
Graph = Mapping[str, Sequence[str]]

LINE: Graph = {"source": [], "map": ["source"], "sink": ["map"]}


def seconds(n: float) -> datetime:
    return NOON + timedelta(seconds=n)


def row(table: str, **values: Any) -> Row:
    known = {k: v for k, v in HEAD.items() if k in TABLES[table].names}
    return TABLES[table].row({**known, **values})


def checkpoint(number: int, status: str, triggered: float, **values: Any) -> Row:
    known = {"checkpoint": number, "status": status, "triggered_at": seconds(triggered), "savepoint": False}
    if status == "FAILED":
        known |= {"failure": "Checkpoint expired before completing.", "failed_at": seconds(triggered + 60)}
    if status == "COMPLETED":
        known |= {"duration_ms": 800, "last_ack_at": seconds(triggered + 1)}
    return row("checkpoints", **{**known, **values})


STALLED = [checkpoint(6, "COMPLETED", -200), checkpoint(7, "FAILED", -100), checkpoint(8, "IN_PROGRESS", -40)]


def picture(
    graph: Graph,
    missing: Mapping[str, Sequence[int]],
    shares: Mapping[str, Mapping[int, tuple[float, float]]] | None = None,
    *,
    parallelism: int = 2,
    checkpoints: Sequence[Row] = STALLED,
    number: int = 8,
    **more: Sequence[Row],
) -> dict[str, list[Row]]:
    """Tables of a job: `missing` acknowledgements per vertex, `shares` (busy, back-pressured) per subtask, 0.1 and 0.0 where not told."""
    tables: dict[str, list[Row]] = {"checkpoints": list(checkpoints), "vertices": [], "subtasks": [], "checkpoint_acks": []}
    for position, (name, inputs) in enumerate(graph.items()):
        tables["vertices"].append(
            row("vertices", vertex=name, task=name, position=position, parallelism=parallelism, inputs=list(inputs), exchanges=[])
        )
        for n in range(parallelism):
            pending = n in missing.get(name, ())
            tables["checkpoint_acks"].append(
                row("checkpoint_acks", checkpoint=number, vertex=name, task=name, subtask=n, status="pending" if pending else "completed")
            )
            busy, pressed = (shares or {}).get(name, {}).get(n, (0.1, 0.0))
            told = {} if shares is None else {"busy": busy, "backpressured": pressed, "idle": max(0.0, 1 - busy - pressed)}
            tables["subtasks"].append(
                row("subtasks", vertex=name, task=name, subtask=n, status="RUNNING", started_at=seconds(-1000), resource=f"tm-{n}", **told)
            )
    for table, rows in more.items():
        tables[table] = list(rows)
    return tables


def told(tables: Mapping[str, Sequence[Row]]) -> dict[str, list[tuple[str, int, str | None]]]:
    """Per role: vertex, subtask and reason."""
    out: dict[str, list[tuple[str, int, str | None]]] = {}
    for found in barrier_frontier(tables):
        out.setdefault(found["role"], []).append((found["vertex"], found["subtask"], found["reason"]))
    return out


ALL = [0, 1]


def test_one_busy_subtask_is_the_culprit_and_those_behind_it_only_wait() -> None:
    found = barrier_frontier(picture(LINE, {"map": [1], "sink": ALL}, {"map": {1: (1.0, 0.0)}}))
    assert [(r["role"], r["vertex"], r["subtask"], r["reason"], r["behind"], r["resource"]) for r in found] == [
        ("culprit", "map", 1, "stuck-call", 2, "tm-1")
    ]
    assert (found[0]["expired"], found[0]["last_completed"], found[0]["age_ms"], found[0]["since"]) == (1, 6, 40_000, seconds(-100))


def test_a_back_pressured_frontier_is_a_victim_of_the_busy_sink() -> None:
    shares = {"source": {0: (0.0, 1.0), 1: (0.0, 1.0)}, "map": {0: (0.1, 0.9), 1: (0.1, 0.9)}, "sink": {0: (1.0, 0.0), 1: (1.0, 0.0)}}
    found = told(picture(LINE, {"map": ALL, "sink": ALL}, shares))
    assert found == {
        "victim": [("map", 0, "back-pressure"), ("map", 1, "back-pressure")],
        "culprit": [("sink", 0, "back-pressure"), ("sink", 1, "back-pressure")],
    }


def test_the_walk_goes_through_back_pressured_vertices_and_names_only_the_hot_subtask() -> None:
    graph = {"source": [], "map": ["source"], "window": ["map"], "sink": ["window"]}
    shares = {"map": {0: (0.0, 0.9), 1: (0.0, 0.9)}, "window": {0: (0.2, 0.8), 1: (0.1, 0.8)}, "sink": {0: (0.1, 0.0), 1: (0.98, 0.0)}}
    tables = picture(graph, {"map": ALL, "window": ALL, "sink": ALL}, shares)
    for subtask in tables["subtasks"]:
        subtask["records_in"] = 90_000 if (subtask["vertex"], subtask["subtask"]) == ("sink", 1) else 1_000
    found = told(tables)
    assert found["culprit"] == [("sink", 1, "skew")]
    assert {vertex for vertex, _, _ in found["victim"]} == {"map"}


def test_branches_have_a_frontier_each_and_a_join_waits_for_both() -> None:
    graph = {"left": [], "right": [], "a": ["left"], "b": ["right"], "join": ["a", "b"]}
    one = told(picture(graph, {"b": [0], "join": ALL}, {"b": {0: (1.0, 0.0)}}))
    assert one == {"culprit": [("b", 0, "stuck-call")]}
    both = told(picture(graph, {"a": ALL, "b": [0], "join": ALL}, {"a": {0: (1.0, 0.0), 1: (1.0, 0.0)}, "b": {0: (1.0, 0.0)}}))
    assert sorted(both["culprit"]) == [("a", 0, "blocking-code"), ("a", 1, "blocking-code"), ("b", 0, "stuck-call")]
    only_join = told(picture(graph, {"join": [1]}, {"join": {1: (0.9, 0.0)}}))
    assert only_join == {"culprit": [("join", 1, "stuck-call")]}


def test_a_source_has_no_inputs_and_may_be_the_frontier() -> None:
    found = told(picture(LINE, {"source": [0], "map": ALL, "sink": ALL}, {"source": {0: (0.0, 0.95)}, "map": {0: (0.97, 0.0)}}))
    assert found == {"victim": [("source", 0, "back-pressure")], "culprit": [("map", 0, "stuck-call")]}


def test_without_shares_nobody_is_accused() -> None:
    assert told(picture(LINE, {"map": [1], "sink": ALL})) == {"frontier": [("map", 1, None)]}


def test_back_pressure_that_leads_to_nobody_busy_accuses_nobody() -> None:
    assert told(picture(LINE, {"map": [1], "sink": ALL}, {"map": {1: (0.0, 1.0)}})) == {"frontier": [("map", 1, "back-pressure")]}


def test_an_idle_subtask_has_the_barrier_and_cannot_finish_the_snapshot() -> None:
    idle = {"map": {1: (0.02, 0.0)}}
    parked = [stack("map", 1, "jdk.internal.misc.Unsafe.park", "o.a.f.TaskMailboxImpl.take", state="TIMED_WAITING")]
    assert told(picture(LINE, {"map": [1]}, idle, stack_samples=parked)) == {"culprit": [("map", 1, "slow-async")]}
    # shares are means of a minute: alone they say nothing about a barrier of the last forty seconds
    assert told(picture(LINE, {"map": [1]}, idle)) == {"frontier": [("map", 1, None)]}
    old = [STALLED[0], checkpoint(8, "IN_PROGRESS", -90)]
    assert told(picture(LINE, {"map": [1]}, idle, checkpoints=old)) == {"culprit": [("map", 1, "slow-async")]}


def test_a_thread_in_the_users_code_is_busy_whatever_the_mean_of_the_last_minute_says() -> None:
    waits = [stack("map", 1, "Unsafe.park", "x.TaskMailboxImpl.take", "x.AsyncWaitOperator.addToWorkQueue", state="TIMED_WAITING")]
    assert told(picture(LINE, {"map": [1], "sink": ALL}, {"map": {1: (0.2, 0.0)}}, stack_samples=waits)) == {
        "culprit": [("map", 1, "stuck-call")]
    }


def stack(vertex: str, subtask: int, *frames: str, thread: str = "", state: str = "RUNNABLE") -> Row:
    user = next((f for f in frames if f.startswith("shop.")), None)
    place = {} if thread.startswith("Async") else {"task": vertex, "subtask": subtask}
    told = {"thread": thread or f"{vertex} ({subtask + 1}/2)#0", "state": state, "frames": list(frames), "user_frame": user}
    return row("stack_samples", resource=f"tm-{subtask}", **place, **told)


SYNC = "org.apache.flink.streaming.runtime.tasks.SubtaskCheckpointCoordinatorImpl.takeSnapshotSync"


@pytest.mark.parametrize(
    ("stacks", "share", "reason", "frame"),
    [
        ([stack("map", 1, "java.lang.Thread.sleep", "shop.Sink.flush", SYNC)], (1.0, 0.0), "slow-sync", "shop.Sink.flush"),
        ([stack("map", 1, "a.B.write", thread="AsyncOperations-thread-1")], (0.0, 0.0), "slow-async", None),
        (
            [stack("map", 1, "o.a.FsCheckpointStateOutputStream.flush", thread="AsyncOperations-thread-1")],
            (0.0, 0.0), "storage", None,
        ),
        ([stack("map", 1, "sun.nio.Net.poll", "shop.Lookup.get", state="RUNNABLE")], (1.0, 0.0), "stuck-call", "shop.Lookup.get"),
        ([stack("map", 1, "Unsafe.park", "x.AsyncWaitOperator.addToWorkQueue", state="WAITING")], (1.0, 0.0), "stuck-call", None),
    ],
)  # fmt: skip
def test_the_thread_tells_the_phase_and_the_users_frame(
    stacks: list[Row], share: tuple[float, float], reason: str, frame: str | None
) -> None:
    found = barrier_frontier(picture(LINE, {"map": [1], "sink": ALL}, {"map": {1: share}}, stack_samples=stacks))
    assert [(r["subtask"], r["reason"], r["user_frame"]) for r in found] == [(1, reason, frame)]


def test_all_subtasks_stuck_in_a_call_that_takes_no_record_is_no_slow_code() -> None:
    rates = [row("metrics", vertex="map", task="map", subtask=n, name="numRecordsInPerSecond", value=0.0) for n in ALL]
    stacks = [stack("map", n, "Unsafe.park", "shop.Lookup.get", state="WAITING") for n in ALL]
    found = told(picture(LINE, {"map": ALL, "sink": ALL}, {"map": {0: (1.0, 0.0), 1: (1.0, 0.0)}}, metrics=rates, stack_samples=stacks))
    assert found == {"culprit": [("map", 0, "stuck-call"), ("map", 1, "stuck-call")]}


def test_a_finished_subtask_owes_nothing() -> None:
    tables = picture(LINE, {"source": [0], "map": [1]}, {"map": {1: (1.0, 0.0)}})
    next(s for s in tables["subtasks"] if s["vertex"] == "source" and s["subtask"] == 0)["status"] = "FINISHED"
    assert told(tables) == {"culprit": [("map", 1, "stuck-call")]}


def test_shares_of_a_task_that_runs_only_since_after_the_barrier_are_not_believed() -> None:
    tables = picture(LINE, {"map": [1], "sink": ALL}, {"map": {1: (1.0, 0.0)}})
    for subtask in tables["subtasks"]:
        subtask["started_at"] = seconds(-20)  # a regional failover between the barrier and the look
    assert told(tables) == {"frontier": [("map", 1, None)]}


def test_an_unaligned_checkpoint_that_is_held_names_the_busy_task_too() -> None:
    held = [STALLED[0], STALLED[1], checkpoint(8, "IN_PROGRESS", -40, kind="UNALIGNED_CHECKPOINT")]
    found = barrier_frontier(picture(LINE, {"map": [0]}, {"map": {0: (1.0, 0.0)}}, checkpoints=held))
    assert [(r["role"], r["unaligned"]) for r in found] == [("culprit", True)]


@pytest.mark.parametrize(
    "checkpoints",
    [
        [checkpoint(7, "COMPLETED", -10), checkpoint(8, "IN_PROGRESS", -1)],  # a barrier on its way
        [checkpoint(7, "FAILED", -300), checkpoint(8, "COMPLETED", -10)],  # a spell that is over
        [checkpoint(7, "COMPLETED", -90, duration_ms=30_000), checkpoint(8, "IN_PROGRESS", -60)],  # large state: it takes its time
        [checkpoint(8, "FAILED", -10, failure="Checkpoint was declined (tasks not ready).")],
        [checkpoint(8, "IN_PROGRESS", -100, savepoint=True)],  # a savepoint of a large job
    ],
)
def test_nobody_is_suspected(checkpoints: list[Row]) -> None:
    assert told(picture(LINE, {"map": [1], "sink": ALL}, {"map": {1: (1.0, 0.0)}}, checkpoints=checkpoints)) == {}


def test_between_two_checkpoints_the_one_that_expired_is_looked_at() -> None:
    over = [checkpoint(6, "COMPLETED", -200), checkpoint(7, "FAILED", -65)]
    assert told(picture(LINE, {"map": [1], "sink": ALL}, {"map": {1: (1.0, 0.0)}}, checkpoints=over, number=7)) == {
        "culprit": [("map", 1, "stuck-call")]
    }


def test_what_expired_long_ago_is_not_judged_by_how_the_job_is_now() -> None:
    over = [checkpoint(6, "COMPLETED", -900), checkpoint(7, "FAILED", -500)]
    now_busy = picture(LINE, {"map": [1], "sink": ALL}, {"map": {1: (1.0, 0.0)}}, checkpoints=over, number=7)
    assert told(now_busy) == {"frontier": [("map", 1, None)]}
    recent = [checkpoint(6, "COMPLETED", -900), checkpoint(7, "FAILED", -65)]
    now_idle = picture(LINE, {"map": [1], "sink": ALL}, {"map": {1: (0.01, 0.0)}}, checkpoints=recent, number=7)
    assert told(now_idle) == {"frontier": [("map", 1, None)]}  # its upload was aborted with the checkpoint


def test_only_the_newest_look_of_a_bundle_counts() -> None:
    before = picture(LINE, {"map": [1], "sink": ALL}, {"map": {1: (1.0, 0.0)}})
    after = picture(LINE, {}, {}, checkpoints=[checkpoint(9, "COMPLETED", 50)], number=9)
    for rows in after.values():
        for each in rows:
            each["as_of"] = seconds(60)
    assert told({name: [*before[name], *after[name]] for name in before}) == {}


def test_two_ways_to_one_vertex_do_not_make_two_subtasks_of_one() -> None:
    graph = {"source": [], "a": ["source"], "b": ["source"], "sink": ["a", "b"]}
    pressed = {0: (0.0, 0.9), 1: (0.0, 0.9)}
    shares = {"source": pressed, "a": pressed, "b": pressed, "sink": {1: (1.0, 0.0)}}
    found = told(picture(graph, {"source": ALL, "a": ALL, "b": ALL, "sink": ALL}, shares))
    assert found["culprit"] == [("sink", 1, "stuck-call")]


def test_a_graph_of_many_ways_is_walked_once() -> None:
    graph: dict[str, list[str]] = {"0a": [], "0b": []}
    for n in range(1, 40):
        graph |= {f"{n}a": [f"{n - 1}a", f"{n - 1}b"], f"{n}b": [f"{n - 1}a", f"{n - 1}b"]}
    behind = dict.fromkeys(list(graph)[1:], ALL)
    tables = picture(graph, {"0a": ALL, **behind}, {"0a": {0: (0.0, 0.9), 1: (0.0, 0.9)}})
    assert set(told(tables)) == {"frontier"}
    tables = picture(graph, {"39a": [0]}, {"39a": {0: (1.0, 0.0)}})
    tables["checkpoint_acks"] = [row for row in tables["checkpoint_acks"] if row["vertex"] == "39a"]  # nobody tells of those before it
    assert told(tables) == {"culprit": [("39a", 0, "stuck-call")]}


def test_a_parallelism_that_makes_no_sense_costs_nothing() -> None:
    tables = picture(LINE, {"map": [1], "sink": ALL}, {"map": {1: (0.0, 1.0)}})
    for vertex in tables["vertices"]:
        vertex["parallelism"] = 1 << 60
    assert told(tables) == {"frontier": [("map", 1, "back-pressure")]}
