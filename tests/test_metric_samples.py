# ruff: noqa: E501 -- samples are what they are
"""Saved metrics: every form that exporters and monitoring systems give is read, bounded, and what is unknown clears nothing."""

from __future__ import annotations

import json
import math
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from analyzers.derived.flow.marks_at_minimum import event_time_by_name
from analyzers.derived.flow.metric_troubles import growth, metric_troubles
from analyzers.states import metric_store
from analyzers.states.metric_names import KINDS, meaning_of, meanings
from analyzers.states.recognise import might_hold, states_of
from cli.engine.spark import Engine
from cli.options.shared import RunOptions
from cli.renderers.terminal import page
from cli.renderers.wording import is_clear
from cli.runs import triage

SKIPPED = "kafka_connect_task_error_metrics_total_records_skipped"


def rows(text: str) -> list[dict[str, Any]]:
    states = states_of(text.encode()).states
    return [row | {"scope": "", "moment": n, "file": "f"} for n, state in enumerate(states) for row in state.rows.get("metric_samples", ())]


def numbers(text: str) -> list[tuple[float, datetime | None, float | None]]:
    return [(row["value"], row["at"], row["of_day"]) for row in rows(text)]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        (SKIPPED, "records-skipped"),
        ("kafka_connect_connect_task_error_metrics_total_records_skipped_total", "records-skipped"),
        ("kafka.connect:type=task-error-metrics,attribute=total-records-skipped", "records-skipped"),
        ("flink_taskmanager_job_task_operator_numLateRecordsDropped", "records-late"),
        ("flink_taskmanager_job_task_operator_num_late_records_dropped_total", "records-late"),
        ("flink_taskmanager_job_task_currentInputWatermark", "watermark-in"),
        ("kafka_server_replicamanager_underreplicatedpartitions", "under-replicated"),
        ("kafka_server_ReplicaManager_UnderReplicatedPartitions_Value", "under-replicated"),
        ("kafka_stream_task_metrics_dropped_records_total", "records-dropped"),
        ("kafka_stream_task_metrics_dropped_records_rate", None),
        ("kafka_producer_producer_metrics_record_error_total", "records-unsent"),
        ("app_orders_total", None),
        ("app_records_dropped_created", None),
        ("go_gc_duration_seconds_count", None),
        ("total", None),
    ],
)
def test_a_name_is_known_by_how_it_ends(name: str, counts: str | None) -> None:
    meaning = meaning_of(name)
    assert (meaning.id if meaning else None) == counts


def test_the_table_is_whole() -> None:
    for meaning in meanings().values():
        assert meaning.kind in KINDS
        assert meaning.says
        assert all(ending.isalnum() and ending == ending.lower() for ending in meaning.endings), meaning.id
        assert (meaning.kind == "loss") == (meaning.alone in ("critical", "warning")), meaning.id
        assert meaning.kind != "alarm" or meaning.when == "not-zero" or meaning.bound is not None, meaning.id
    endings = [ending for meaning in meanings().values() for ending in meaning.endings]
    assert len(endings) == len(set(endings))


def test_scrapes_with_titles_commands_and_nothing_between_them() -> None:
    def one(n: int) -> str:
        return f'{SKIPPED}{{connector="a",task="0"}} {n}\n'

    at = datetime(2026, 10, 22, 6, tzinfo=timezone.utc)
    assert numbers(f"# scrape 2026-10-22T06:00:00Z\n{one(1)}# scrape 2026-10-22 07:00\n{one(2)}") == [
        (1, at, None),
        (2, at.replace(hour=7), None),
    ]
    assert numbers(f"# scrape 10:14:03\n{one(1)}# scrape 10:15:03\n{one(2)}") == [(1, None, 36843.0), (2, None, 36903.0)]
    assert numbers(f"10:14:03 $ curl -s :9404/metrics\n{one(1)}{one(2)}$ curl -s :9404/metrics\n{one(3)}") == [
        (1, None, 36843.0),
        (2, None, None),
        (3, None, None),
    ]
    assert numbers(f"Thu Oct 22 06:00:00 UTC 2026\n{one(1)}\n# EOF\n{one(2)}") == [(1, at, None), (2, None, None)]
    assert len(states_of(f"{one(1)}{one(2)}{one(3)}".encode()).states) == 3


def test_values_stamps_labels_and_ends_of_lines() -> None:
    text = (
        '# HELP up x\n# TYPE up gauge\nup 1\r\nworker_records_dropped_total 4e3\r\n'
        'worker_records_dropped_total{a="say \\"hi\\", {x}",b="c\\\\d\\ne",} 1.5E1 1792648800000\n'
        'worker_records_dropped_total{a="exemplar"} 17 1792648800.5 # {trace_id="abc"} 0.67\n'
        'worker_records_dropped_total{a="nan"} NaN\nworker_records_dropped_total{a="inf"} +Inf\nworker_records_dropped_total{a="huge"} 1e400\n'
        'worker_records_dropped_total{a="asked"} => 21 @[1792648800.123]\n'
        'worker_records_dropped_total{a="range"} =>\n22 @[1792648800]\n23 @[1792648860]\n'
        '- `worker_records_dropped_total{a="note"} 24`\n'
        'worker_records_dropped_total{a="cut'
    )  # fmt: skip
    found = rows(text)
    at = datetime(2026, 10, 22, 6, tzinfo=timezone.utc)
    assert [row["value"] for row in found] == [4000, 15, 17, 21, 22, 23, 24]
    assert found[1]["labels"] == {"a": 'say "hi", {x}', "b": "c\\d\ne"}
    assert [row["at"] for row in found[1:3]] == [at, at.replace(microsecond=500000)]
    assert [row["at"] for row in found[4:6]] == [at, at.replace(minute=1)]
    assert all(math.isfinite(row["value"]) for row in found)
    assert states_of(text.encode()).states[-1].trouble == "ends in the middle of a line"


def test_a_title_that_names_an_address_says_whose_the_samples_are() -> None:
    text = "# kafka-3:9404/metrics  2026-12-01 04:50\n# TYPE x_offlinepartitionscount gauge\nx_offlinepartitionscount 1.0\n"
    assert [row["labels"] for row in rows(text)] == [{"instance": "kafka-3:9404"}]


def test_answers_of_monitoring_systems() -> None:
    at = datetime(2026, 10, 22, 6, tzinfo=timezone.utc)
    metric = {"__name__": SKIPPED, "connector": "a"}
    vector = {"status": "success", "data": {"resultType": "vector", "result": [{"metric": metric, "value": [1792648800, "7"]}]}}
    matrix = {"data": {"resultType": "matrix", "result": [{"metric": metric, "values": [[1792648800, "7"], [1792648860, "NaN"]]}]}}
    frame = {"schema": {"fields": [{"name": "Time", "type": "time"}, {"name": "Value", "type": "number", "labels": metric}]},
             "data": {"values": [[1792648800000, 1792648860000], [7, None]]}}  # fmt: skip
    for answer in (vector, matrix, {"results": {"A": {"frames": [frame]}}}, {"frames": [frame]}):
        assert numbers(json.dumps(answer)) == [(7, at, None)]
        assert rows(json.dumps(answer))[0]["labels"] == {"connector": "a"}
    watched = {
        "MetricDataResults": [
            {
                "Id": "m",
                "Label": "s-1 ErrorsByCode Expired (Sum)",
                "Timestamps": ["2026-10-22T06:01:00Z", "2026-10-22T06:00:00Z"],
                "Values": [5, 2],
            }
        ]
    }
    assert [row["value"] for row in rows(json.dumps(watched))] == [2, 7]
    assert rows(json.dumps(watched))[0]["labels"] == {"StreamName": "s-1"}


def test_answers_of_jolokia() -> None:
    at = datetime(2026, 10, 22, 6, tzinfo=timezone.utc)
    bean = 'kafka.connect:connector="a",task=0,type=task-error-metrics'
    one = {
        "request": {"mbean": bean, "type": "read"},
        "value": {"total-records-skipped": 7.0, "last-error-timestamp": 3},
        "timestamp": 1792648800,
        "status": 200,
    }
    many = [
        {
            "request": {"mbean": "kafka.connect:type=task-error-metrics,*", "type": "read"},
            "value": {bean: {"total-records-skipped": 7.0}},
            "timestamp": 1792648800,
        }
    ]
    single = {"request": {"mbean": bean, "attribute": "total-records-skipped", "type": "read"}, "value": 7.0, "timestamp": 1792648800}
    gauge = {
        "request": {"mbean": "kafka.server:name=UnderReplicatedPartitions,type=ReplicaManager", "attribute": "Value"},
        "value": 2,
        "timestamp": 1792648800,
    }
    for answer in (one, many, single):
        assert numbers(json.dumps(answer)) == [(7, at, None)]
        assert rows(json.dumps(answer))[0]["labels"] == {"connector": "a", "task": "0"}
    assert [row["counts"] for row in rows(json.dumps(gauge))] == ["under-replicated"]


def test_answers_of_a_jobmanager_each_under_its_path() -> None:
    path = "GET /jobs/5c0f6f5a5a1b0f3c2d9e8a7b6c5d4e3f/vertices/cbc357ccb763df2852fee8c4fc7d55f2/watermarks"
    found = rows(json.dumps({path: [{"id": "0.currentInputWatermark", "value": "-9223372036854775808"}]}))
    assert [(row["value"], row["labels"]["task_id"], row["labels"]["subtask_index"]) for row in found] == [
        (-(2.0**63), "cbc357ccb763df2852fee8c4fc7d55f2", "0")
    ]


def test_what_only_looks_like_metrics_is_left_alone() -> None:
    log = '2026-10-22 06:00:00,000 INFO  c.e.App [] - served {"path":"/","status":200} in 4 ms\n{"level":"info","n":"x"} \n'
    assert not might_hold(log.encode())
    assert not rows('rate({job="x"} 5\nSELECT {"a"} 5\n')


def test_series_and_samples_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_store, "MOST_SERIES", 10)
    monkeypatch.setattr(metric_store, "MOST_SAMPLES", 8)
    many = "".join(f'{SKIPPED}{{task="{n}"}} 1\n' for n in range(30))
    assert len(rows(many)) == 10
    assert "20 more series" in (states_of(many.encode()).states[-1].trouble or "")
    found = rows("".join(f'{SKIPPED}{{task="0"}} {n}\n' for n in range(500)))
    assert len(found) <= 8
    assert (found[0]["value"], found[-1]["value"]) == (0, 499)


@pytest.mark.parametrize(
    "line",
    ['a_b_c{x="' + '\\"' * 40_000, "a_b_c" + "{" * 50_000, 'a_b{c="d",' * 5_000, "# TYPE " + "x" * 200_000, 'a_b_c{x="y"} ' + "1" * 5_000],
)
def test_strange_lines_take_no_time(line: str) -> None:
    begun = time.monotonic()
    states_of(f'{line}\nx_y_z{{a="b"}} 1\n# TYPE a b\n'.encode())
    assert time.monotonic() - begun < 2


def test_a_counter_that_began_anew_has_lost_nothing_by_that() -> None:
    assert growth([{"value": v} for v in (5.0, 9.0, 0.0, 2.0)]) == 6
    text = "".join(f'# 2026-10-22 0{n}:00\n{SKIPPED}{{connector="a",task="0"}} {v}\n' for n, v in enumerate((900, 0, 0)))
    assert not metric_troubles({"metric_samples": rows(text)})


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        ("Window_TumblingEventTimeWindows_60000___EventTimeTrigger__Sum_", True),
        ("GlobalWindowAggregate[6]", True),
        ("FixedWindow1m/GroupByKey -> ToTariff", True),
        ("IntervalJoin_8_", True),
        ("TumblingProcessingTimeWindows", False),
        ("Window(GlobalWindows(), CountTrigger, Sum)", False),
        ("Enrich -> Sink: Writer", False),
        ("Map", False),
    ],
)
def test_what_waits_for_event_time_is_known_by_its_name(name: str, waits: bool) -> None:
    assert event_time_by_name(name) is waits


@pytest.mark.parametrize(
    "text",
    [
        '# TYPE app_orders_total counter\napp_orders_total{shop="1"} 5\n# TYPE app_up gauge\napp_up 1\n',
        f'{SKIPPED}{{connector="a",task="0"}} 0.0\n',
        "# TYPE x gauge\nx 1\n",
    ],
    ids=["none-known", "one-scrape", "bare"],
)
def test_metrics_alone_clear_nothing(text: str, tmp_path: Path, engine: Engine) -> None:
    (tmp_path / "metrics.prom").write_text(text)
    report = triage.run([str(tmp_path / "metrics.prom")], RunOptions(), version="test", engine=engine)
    shown = page(report, width=100)
    assert not report.verdicts
    assert not is_clear(report)
    assert "✓" not in shown
    assert "metrics scrape" in shown
    assert "not understood" not in shown
