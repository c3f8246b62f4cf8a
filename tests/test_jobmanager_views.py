"""What the JobManager's answers say of a job that lives: who holds its watermark, how its checkpoints go, what failed without any log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from analyzers.derived.checkpoints.checkpoint_series import checkpoint_series, counts
from analyzers.derived.failures.rest_faults import forgotten, with_rest_faults
from analyzers.derived.flow.bottlenecks import bottlenecks
from analyzers.derived.flow.watermark_holders import watermark_holders
from analyzers.tables import TABLES, Row

NOON = datetime(2026, 5, 4, 12, tzinfo=timezone.utc)
HEAD = {"scope": "", "as_of": NOON, "job": "j", "captured_at": NOON}
NOW = int(NOON.timestamp() * 1000)


def row(table: str, **values: Any) -> Row:
    known = {k: v for k, v in HEAD.items() if k in TABLES[table].names}
    return TABLES[table].row({**known, **values})


def ago(seconds: float) -> datetime:
    return NOON - timedelta(seconds=seconds)


# watermarks -----------------------------------------------------------------------------------------------------------------


def event_time(
    marks: Sequence[int | None], behind: Sequence[int | None], offsets: Mapping[int, Mapping[int, int]] | None = None, **more: Any
) -> dict[str, list[Row]]:
    """A source with the watermarks `marks` per reader, a window behind it that sees `behind`; `offsets` per reader and partition."""
    rates = more.get("rates", [10.0] * len(marks))
    metric = {"vertex": "s", "task": "Source: in"}
    return {
        "vertices": [
            row("vertices", vertex="s", task="Source: in", position=0, parallelism=len(marks), inputs=[]),
            row("vertices", vertex="w", task="window", position=1, parallelism=len(behind), inputs=["s"]),
        ],
        "subtasks": [
            row("subtasks", vertex="s", subtask=n, status="RUNNING", started_at=ago(more.get("age", 600))) for n in range(len(marks))
        ],
        "metrics": [
            *(row("metrics", **metric, subtask=n, operator="in", name="currentOutputWatermark", exact=m) for n, m in enumerate(marks)),
            *(row("metrics", **metric, subtask=n, name="numRecordsOutPerSecond", value=v) for n, v in enumerate(rates)),
            *(
                row("metrics", **metric, subtask=n, operator="in", name="currentOffset", topic="t", partition=p, exact=at)
                for n, own in (offsets or {}).items()
                for p, at in own.items()
            ),
        ],
        "watermarks": [row("watermarks", vertex="w", task="window", subtask=n, watermark=m) for n, m in enumerate(behind)],
        "checkpoints": [row("checkpoints", checkpoint=1, status="COMPLETED", last_ack_at=ago(1))],
        "jobs": [row("jobs", state="RUNNING")],
    }


def held(tables: Mapping[str, Sequence[Row]]) -> list[tuple[int, str, int | None]]:
    return [(r["subtask"], r["reason"], r["partition"]) for r in watermark_holders(tables)]


HOUR = 3_600_000


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (event_time([NOW, None], [None, None], {0: {0: 5}, 1: {1: -1, 2: 7}}), [(1, "idle-split", 1)]),
        (event_time([NOW, None], [None, None], {0: {0: 5, 1: 9}}), [(1, "reader-without-split", None)]),
        (event_time([NOW, NOW - HOUR], [NOW - HOUR], {0: {0: 5}, 1: {1: 7}}), [(1, "behind", None)]),
        (event_time([NOW, NOW - HOUR], [NOW - HOUR], {0: {0: 5}, 1: {1: 7}}, rates=[10.0, 0.0]), [(1, "idle-split", None)]),
        (event_time([NOW, NOW + 2 * HOUR], [NOW], {0: {0: 5}, 1: {1: 7}}), [(1, "future-timestamp", None)]),
    ],
)
def test_who_holds_or_pushes_the_watermark(tables: Mapping[str, Sequence[Row]], expected: list[tuple[int, str, int | None]]) -> None:
    assert held(tables) == expected


def beside(other: Sequence[int | None], joined: int | None) -> dict[str, list[Row]]:
    """A source without watermarks and another one with `other`, joined by a vertex that sees `joined`."""
    tables = event_time([None, None], [None, None], {0: {0: -1}, 1: {1: -1}})
    tables["vertices"] += [
        row("vertices", vertex="o", task="Source: other", position=2, parallelism=len(other), inputs=[]),
        row("vertices", vertex="join", task="join", position=3, parallelism=1, inputs=["w", "o"]),
    ]
    tables["subtasks"] += [row("subtasks", vertex="o", subtask=n, status="RUNNING", started_at=ago(600)) for n in range(len(other))]
    tables["metrics"] += [
        row("metrics", vertex="o", subtask=n, operator="o", name="currentOutputWatermark", exact=m) for n, m in enumerate(other)
    ]
    tables["watermarks"] += [row("watermarks", vertex="join", task="join", subtask=0, watermark=joined)]
    return tables


def test_a_source_without_watermarks_holds_what_joins_it_with_another() -> None:
    assert held(beside([NOW], None)) == [(0, "silent-source", None), (1, "silent-source", None)]
    assert held(beside([NOW], NOW)) == []  # declared idle, or watermarks are assigned between them
    assert held(beside([None], None)) == []  # no event time anywhere


def test_watermarks_that_are_assigned_behind_the_source_in_its_chain() -> None:
    tables = event_time([None, None], [NOW, NOW], {0: {0: 5}, 1: {1: 7}})
    metric = {"vertex": "s", "task": "Source: in", "operator": "Timestamps_Watermarks", "name": "currentOutputWatermark"}
    tables["metrics"] += [row("metrics", **metric, subtask=n, exact=NOW) for n in range(2)]
    assert held(tables) == []


@pytest.mark.parametrize(
    "tables",
    [
        event_time([None, None], [None, None], {0: {0: 5}, 1: {1: -1}}),  # no event time at all
        event_time([NOW, None], [NOW, NOW], {0: {0: 5}, 1: {1: -1}}),  # withIdleness: those behind it have one
        event_time([NOW, NOW - 60_000], [NOW - 60_000], {0: {0: 5}, 1: {1: 9}}),  # readers are never quite together
        event_time([NOW, None], [None], {0: {0: 5}, 1: {1: -1}}, age=5),  # it has only just started
        event_time([NOW, (1 << 63) - 1], [NOW], {0: {0: 5}}),  # a bounded source has ended
    ],
)
def test_a_watermark_that_is_well(tables: Mapping[str, Sequence[Row]]) -> None:
    assert held(tables) == []


@pytest.mark.parametrize(
    ("task", "waits"),
    [
        ("TumblingEventTimeWindows -> Sink: out", True),
        ("Window(SlidingEventTimeWindows(60000, 10000), EventTimeTrigger, PassThroughWindowFunction)", True),
        ("GlobalWindowAggregate[7] -> Calc[8]", True),
        ("Interval Join", True),
        ("TemporalJoin[12]", True),
        ("OverAggregate[5]", True),
        ("CepOperator", True),
        ("orders per 5 min window", True),
        ("TumblingProcessingTimeWindows", False),
        ("GlobalWindows", False),
        ("LookupJoin[3] -> Calc[4]", False),
        ("totals -> archive: Writer", False),
        ("match-customers -> concept-tags", False),
    ],
)
def test_which_tasks_are_seen_to_need_the_watermark(task: str, waits: bool) -> None:
    tables = event_time([NOW, None], [None, None], {0: {0: 5}, 1: {1: -1}})
    tables["vertices"][1]["task"] = task
    (found,) = watermark_holders(tables)
    assert found["event_time"] == ([task] if waits else [])


def test_a_counter_of_late_records_shows_a_window_of_any_name() -> None:
    tables = event_time([NOW, None], [None, None], {0: {0: 5}, 1: {1: -1}})
    tables["vertices"][1]["task"] = "totals"
    tables["metrics"].append(row("metrics", vertex="w", subtask=0, operator="totals", name="numLateRecordsDropped", value=0.0, exact=0))
    assert [found["event_time"] for found in watermark_holders(tables)] == [["totals"]]


# the series -----------------------------------------------------------------------------------------------------------------


def series(*checkpoints: Row, settings: Mapping[str, str] | None = None, commits_failed: int = 0, **job: Any) -> Row:
    told = {"interval": "10000", "timeout": "60000", "tolerable_failed_checkpoints": "1000", **(settings or {})}
    (found,) = checkpoint_series(
        {
            "jobs": [row("jobs", **{"state": "RUNNING", "started_at": ago(5000), **job})],
            "checkpoints": list(checkpoints),
            "job_config": [row("job_config", source="checkpoints", key=k, value=v) for k, v in told.items()],
            "metrics": [
                row("metrics", vertex="s", subtask=0, name=name, topic="t", partition=p, exact=at)
                for name, p, at in (("currentOffset", 0, 109), ("committedOffset", 0, 100), ("currentOffset", 1, 5))
            ]
            + [row("metrics", vertex="s", subtask=0, name="commitsFailed", exact=commits_failed)],
        }
    )
    return found


def done(number: int, seconds: float, **values: Any) -> Row:
    return row("checkpoints", checkpoint=number, status="COMPLETED", savepoint=False, last_ack_at=ago(seconds), duration_ms=500, **values)


def failed(number: int, failure: str) -> Row:
    return row("checkpoints", checkpoint=number, status="FAILED", savepoint=False, failure=failure)


def test_the_window_grows_with_the_tolerance_but_only_to_two() -> None:
    found = series(
        done(3, 200), failed(4, "Checkpoint expired before completing."), failed(5, "Not all required tasks are currently running.")
    )
    assert (found["allowed_seconds"], found["idle_seconds"], found["last_completed"]) == (240, 200, 3)
    assert (found["expired"], found["failed_counted"], found["failed_ignored"]) == (1, 1, 1)
    assert found["replay_records"] == 10  # records 100 to 109; the partition without a commit tells nothing
    assert series(settings={"tolerable_failed_checkpoints": "0", "interval": "300000"})["allowed_seconds"] == 600
    assert series(settings={"tolerable_failed_checkpoints": "0", "min_pause": "1800000"})["allowed_seconds"] == 3600


def test_commits_that_fail_do_not_tell_from_where_a_restart_reads() -> None:
    assert series(done(7, 2), commits_failed=3)["replay_records"] is None, "the checkpoint is two seconds old, the last commit is not"
    assert series(done(7, 2))["replay_records"] == 10


def test_a_restored_checkpoint_is_where_a_restart_would_begin() -> None:
    found = series(restored_checkpoint=41, restored_at=ago(30))
    assert (found["last_completed"], found["idle_seconds"]) == (41, 30)
    assert series()["since"] == ago(5000)  # none ever: since the start


def test_a_job_without_checkpoints_has_no_window() -> None:
    assert series(settings={"interval": "9223372036854775807"})["allowed_seconds"] is None


@pytest.mark.parametrize(("told", "interval"), [("0", 0), ("0 ms", 0), ("PT0S", 0), ("30 min", 1_800_000), ("5000", 5000), (None, None)])
@pytest.mark.parametrize("job", ["j", None])
def test_the_interval_while_a_backlog_is_read(told: str | None, interval: int | None, job: str | None) -> None:
    config = [row("job_config", source="checkpoints", key="interval", value="1000")]
    config += [row("job_config", source="cluster", key="execution.checkpointing.interval-during-backlog", value=told)]
    config[-1]["job"] = config[0]["job"] if job else None
    (found,) = checkpoint_series({"jobs": [row("jobs", state="RUNNING", started_at=ago(5000))], "job_config": config})
    assert found["backlog_interval_ms"] == interval
    if interval:
        assert found["allowed_seconds"] >= interval * 2 // 1000


def test_growth_is_every_step_of_at_least_four() -> None:
    sizes = [10, 20, 30, 40]
    assert series(*(done(n, 100 - n, state_bytes=size) for n, size in enumerate(sizes)))["grows"]
    assert not series(*(done(n, 100 - n, state_bytes=size) for n, size in enumerate([10, 20, 15, 40])))["grows"]


@pytest.mark.parametrize(
    ("failure", "counted"),
    [
        ("Checkpoint expired before completing.", True),
        ("Asynchronous task checkpoint failed.", True),
        ("An Exception occurred while triggering the checkpoint. IO-problem detected.", True),
        ("Checkpoint was declined.", True),
        ("Failure to finalize checkpoint.", True),
        ("Checkpoint was declined (tasks not ready).", False),
        ("Checkpoint Coordinator is suspending.", False),
        ("Not all required tasks are currently running.", False),
        ("The job has failed.", False),
    ],
)
def test_which_failures_count(failure: str, counted: bool) -> None:
    assert counts(failure) is counted


# failures without logs ------------------------------------------------------------------------------------------------------


def failure(seconds: float, text: str, *, task: str | None = "map", root: bool = True, attempt: int | None = 0) -> Row:
    named = {"subtask": 0, "parallelism": 2, "attempt": attempt} if task else {}
    kind, _, message = text.partition(": ")
    return row(
        "exceptions", at=ago(seconds), root=root, task=task, text=text, exception=kind, root_exception=kind, root_message=message,
        chain=[text], **named,
    )  # fmt: skip


def job(state: str = "RUNNING", **values: Any) -> dict[str, list[Row]]:
    return {
        "jobs": [row("jobs", name="orders", state=state, started_at=ago(600))],
        "vertices": [row("vertices", vertex="m", task="map", position=0, parallelism=2, inputs=[])],
        "checkpoints": [],
        **values,
    }


BROKER = "org.apache.kafka.common.errors.TimeoutException: Timeout expired while fetching topic metadata"


def test_a_history_of_failures_becomes_attempts() -> None:
    told = with_rest_faults(
        job("RESTARTING", exceptions=[failure(300, BROKER), failure(200, BROKER, attempt=1), failure(5, BROKER, attempt=2)])
    )
    assert [(a["attempt"], a["ended"], a["cause"]) for a in told["attempts"]] == [(n, "failed", "broker-unreachable") for n in range(3)]
    assert [(j["name"], j["state"], j["restarts"]) for j in told["jobs_seen"]] == [("orders", "RESTARTING", 3)]


def test_failures_that_the_jobmanager_has_forgotten_are_counted() -> None:
    tables = job("RESTARTING", exceptions=[failure(100, BROKER, attempt=7), failure(50, BROKER, attempt=8)])
    assert [a["attempt"] for a in with_rest_faults(tables)["attempts"]] == [7, 8]
    assert {f["attempt"] for f in with_rest_faults(tables)["faults"]} == {7, 8}
    (said,) = forgotten(tables)
    assert "failed 7 times before the first failure that its JobManager remembers" in said
    assert forgotten(job(exceptions=[failure(100, BROKER)])) == []
    logged = TABLES["attempts"].row({"scope": "", "job": "j", "attempt": 0, "ended": "failed", "trigger": "x", "ended_at": ago(900)})
    assert forgotten({**tables, "attempts": [logged]}) == [], "the logs remember"
    # until 1.12 task names carry no number, those of the subtasks do
    old = job("RESTARTING", exceptions=[failure(10, BROKER, attempt=None)], subtasks=[row("subtasks", vertex="m", subtask=0, attempt=5)])
    assert [a["attempt"] for a in with_rest_faults(old)["attempts"]] == [5]


def test_a_job_that_came_back_and_completes_checkpoints_is_up() -> None:
    back = row("checkpoints", checkpoint=9, status="COMPLETED", savepoint=False, last_ack_at=ago(20))
    told = with_rest_faults(job(exceptions=[failure(300, BROKER)], checkpoints=[back]))
    assert [(a["ended"], a["checkpoints_completed"]) for a in told["attempts"]] == [("failed", 0), ("running", 1)]


def test_concurrent_failures_belong_to_the_same_attempt() -> None:
    told = with_rest_faults(
        job("RESTARTING", exceptions=[failure(300, BROKER), failure(300, "java.lang.IllegalStateException: x", task="sink", root=False)])
    )
    assert len(told["attempts"]) == 1


def test_what_logs_tell_of_a_job_is_not_told_twice() -> None:
    logged = {"attempts": [TABLES["attempts"].row({"scope": "", "job": "j", "attempt": 0, "ended": "failed"})]}
    told = with_rest_faults({**job(exceptions=[failure(300, BROKER)]), **logged})
    assert len(told["attempts"]) == 1
    assert told["faults"] == []


def test_a_job_without_failures_is_one_running_attempt() -> None:
    told = with_rest_faults(job(exceptions=[]))
    assert [(a["ended"], a["fault"]) for a in told["attempts"]] == [("running", None)]
    assert told["faults"] == []


# bottlenecks ----------------------------------------------------------------------------------------------------------------


def flow(
    shares: Mapping[str, Sequence[tuple[float, float]]],
    read: Mapping[str, Sequence[int]] | None = None,
    pending: Sequence[int] = (),
    **more: Any,
) -> dict[str, list[Row]]:
    """source → map → sink with (busy, back-pressured) per subtask; `pending` records of each look, a minute apart."""
    names = ["source", "map", "sink"]
    inputs: Mapping[str, list[str]] = {"source": [], "map": ["source"], "sink": ["map"]}
    rate = row("metrics", vertex="source", subtask=0, name="numRecordsOutPerSecond", value=more.get("rate", 40.0))
    tables: dict[str, list[Row]] = {
        "vertices": [
            row("vertices", vertex=v, task=v, position=n, parallelism=len(shares[v]), inputs=inputs[v]) for n, v in enumerate(names)
        ],
        "subtasks": [
            row(
                "subtasks", vertex=v, task=v, subtask=n, status="RUNNING", started_at=ago(more.get("age", 900)), busy=busy,
                backpressured=pressed, records_in=(read or {}).get(v, [100] * len(shares[v]))[n],
            )
            for v in names
            for n, (busy, pressed) in enumerate(shares[v])
        ],
        "checkpoints": more.get("checkpoints", [row("checkpoints", checkpoint=1, status="COMPLETED", savepoint=False, last_ack_at=ago(3))]),
        "metrics": [rate],
    }  # fmt: skip
    for n, records in enumerate(reversed(pending)):
        looked = row("metrics", vertex="source", subtask=0, name="pendingRecords", exact=records)
        tables["metrics"].append({**looked, "as_of": ago(60 * n)})
    return tables


WAITS = [(0.0, 0.95), (0.0, 0.98)]


def test_a_vertex_that_is_busy_as_a_whole_is_overloaded_and_the_lag_has_a_direction() -> None:
    shares = {"source": WAITS, "map": [(0.05, 0.9), (0.05, 0.9)], "sink": [(1.0, 0.0), (0.98, 0.0)]}
    (found,) = bottlenecks(flow(shares, pending=[5_000, 9_000]))
    assert (found["task"], found["reason"], found["sources"], found["subtasks"]) == ("sink", "overload", ["source"], ["0", "1"])
    assert (found["pending_records"], found["grew_records"], found["grew_seconds"]) == (9_000, 4_000, 60.0)
    (alone,) = bottlenecks(flow(shares, pending=[5_000]))
    assert (alone["pending_records"], alone["grew_records"]) == (5_000, None)
    (standing,) = bottlenecks(flow(shares, pending=[0], rate=0.0))
    assert standing["pending_records"] is None, "a reader that stands still says what it knew when it stopped"


def test_one_hot_subtask_is_skew() -> None:
    shares = {"source": WAITS, "map": [(0.99, 0.0), (0.1, 0.0), (0.1, 0.0), (0.2, 0.0)], "sink": [(0.1, 0.0)]}
    (found,) = bottlenecks(flow(shares, {"map": [9_000, 100, 120, 80]}))
    assert (found["task"], found["reason"], found["subtasks"]) == ("map", "skew", ["0"])
    assert found["share"] == pytest.approx(0.968, abs=0.001)


BUSY_SINK = {"source": WAITS, "map": [(0.1, 0.9)], "sink": [(1.0, 0.0)]}


@pytest.mark.parametrize(
    "tables",
    [
        flow({"source": [(0.2, 0.0)], "map": [(0.95, 0.0)], "sink": [(0.1, 0.0)]}),  # busy, and nobody waits for it
        flow({"source": WAITS, "map": [(0.3, 0.0)], "sink": [(0.3, 0.0)]}),  # nobody is busy: nobody is accused
        flow(BUSY_SINK, age=20),  # it has just started
        flow(BUSY_SINK, checkpoints=[]),  # no checkpoint ever: not this trouble
        flow(BUSY_SINK, checkpoints=[done(1, 300), {**failed(2, "Checkpoint expired before completing."), "triggered_at": ago(200)}]),
    ],
)
def test_no_bottleneck(tables: Mapping[str, Sequence[Row]]) -> None:
    assert bottlenecks(tables) == []
