"""Events of Kubernetes as JSON and YAML, alone and beside pods, are read as the lines that `kubectl get events` prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzers.logs.wrappings import plain_yaml
from analyzers.logs.wrappings.cluster_events import read
from analyzers.readers.log_scan import LogOptions, Tables, plan, scan
from tests.bundles import FIXTURES
from tests.kubernetes_dump import Object, as_json, as_yaml, event, pod

TASKS = "orders-taskmanager-1-1"
NO_NODE = (
    "0/9 nodes are available: 9 Insufficient cpu. preemption: 0/9 nodes are available: 9 No preemption victims found for 'incoming' pod."
)
OBJECTS = [
    event(("Pod", TASKS), "FailedScheduling", NO_NODE, "2026-03-01T09:58:00Z"),
    event(("Pod", TASKS), "Scheduled", f"Successfully assigned shop/{TASKS} to node-3", "2026-03-01T09:57:00Z", kind="Normal"),
]
PODS = [pod(TASKS, {"app": "orders"}, last={"terminated": {"exitCode": 137, "reason": "OOMKilled"}}, restarts=14)]


def scanned(home: Path, name: str, text: str) -> Tables:
    (home / name).write_text(text)
    return scan(plan([str(home / name)], LogOptions()), None)


@pytest.mark.parametrize("beside", [[], PODS], ids=["alone", "beside pods"])
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_events_are_lines_with_their_times(form: str, beside: list[Object], tmp_path: Path) -> None:
    text = {"json": as_json, "yaml": as_yaml}[form]([*beside, *OBJECTS])
    tables = scanned(tmp_path, f"events.{form}", text)
    found = {row["signature"]: row for row in tables["log_events"]}
    assert found["pod-unschedulable"]["resource"] == TASKS
    assert found["pod-unschedulable"]["detail"]["what_happened"] == "0/9 nodes are available: 9 Insufficient cpu"
    assert f"{found['pod-placed']['at']:%H:%M}" == "09:57"
    assert found["pod-placed"]["seq"] < found["pod-unschedulable"]["seq"]
    assert TASKS in text.splitlines()[found["pod-placed"]["line"] - 1]
    assert [row["last_reason"] for row in tables.get("pod_containers", ())] == ["OOMKilled"] * bool(beside)


def test_events_of_the_newer_api_have_a_note() -> None:
    newer = (
        '{"apiVersion":"events.k8s.io/v1","kind":"Event","type":"Warning","reason":"BackOff","note":"Back-off","regarding":{"kind":"Pod",'
    )
    newer += '"name":"orders-0"},"series":{"count":3,"lastObservedTime":"2026-03-01T09:58:00.000000Z"},"eventTime":"2026-03-01T09:00:00Z"}'
    ((record, line),) = read(newer)
    assert record.message.split() == ["Warning", "BackOff", "pod/orders-0", "Back-off"]
    assert (record.time_ms, line) == (1_772_359_080_000, 1)


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (["a: 'it''s", "  long'", "b: 1"], {"a": "it's long", "b": 1}),
        (["a: plain words", "  that go on", "b:", "- one", "  more", "- two"], {"a": "plain words that go on", "b": ["one more", "two"]}),
        (["a:", "  'below", "  its key'", "b: x"], {"a": "below its key", "b": "x"}),
        (['a: "tab\\tand', '  \\ blank"', "b: x"], {"a": "tab\tand  blank", "b": "x"}),
    ],
)
def test_folded_scalars_are_one(lines: list[str], value: object) -> None:
    assert plain_yaml.read(lines) == value


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_status_of_a_resource_is_the_line_of_its_operator(form: str, tmp_path: Path) -> None:
    resource = json.loads((FIXTURES / "RST103/fires-resource/raw/flinkdeployments.json").read_text())["items"]
    text = {"json": as_json, "yaml": as_yaml}[form]([*PODS, *resource])
    tables = scanned(tmp_path, f"resources.{form}", text)
    (row,) = (row for row in tables["log_events"] if row["signature"] == "operator-status")
    assert (row["to_state"], row["detail"]["kind"]) == ("FAILED", "Error")
    assert "[shop/pricing]" in row["text"]
    assert "no price for article 7" in row["detail"]["what_happened"]
    assert f"{row['at']:%Y-%m-%d %H:%M:%S}" == "2025-11-20 08:00:02"
    assert len(tables["pod_containers"]) == 1
