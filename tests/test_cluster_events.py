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


MANIFEST = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: orders\nspec:\n  replicas: 1\n"


def test_yaml_in_a_directory_is_read_where_it_shows_objects(tmp_path: Path) -> None:
    """Settings, and objects as somebody wrote them, are passed over as they are elsewhere."""
    (tmp_path / "events.yml").write_text(as_yaml(OBJECTS))
    (tmp_path / "pods.yaml").write_text("# saved by hand\n" + as_yaml(PODS))
    (tmp_path / "values.yaml").write_text("image: registry.shop/orders:8\ninvolvedObject:\n  kind: Pod\n")
    (tmp_path / "deployment.yaml").write_text(MANIFEST)
    made = plan([str(tmp_path)], LogOptions())
    tables = scan(made, None)
    assert {row["signature"] for row in tables["log_events"]} == {"pod-unschedulable", "pod-placed"}
    assert [row["last_reason"] for row in tables["pod_containers"]] == ["OOMKilled"]
    assert made.passed_over == 2


def application(name: str, state: str, error: str = "") -> Object:
    """As kubeflow's operator keeps it. Source: SparkApplicationStatus of v1beta2."""
    status: Object = {
        "applicationState": {"state": state, **({"errorMessage": error} if error else {})}, "executionAttempts": 2,
        "executorState": {"a-exec-1": "FAILED", "a-exec-2": "RUNNING"},
        "lastSubmissionAttemptTime": "2026-03-01T09:50:00Z", "terminationTime": "2026-03-01T09:55:00Z" if error else None,
    }  # fmt: skip
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"type": "Scala"}, "status": status,
    }  # fmt: skip


APPLICATIONS = [
    application("clicks", "FAILED", "driver container failed with ExitCode: 1, Reason: Error"),
    application("returns", "SUBMISSION_FAILED", "failed to run spark-submit: exceeded quota"),
    application("audit", "RUNNING"),
    application("new", ""),
    {
        "apiVersion": "spark.apache.org/v1", "kind": "SparkApplication", "metadata": {"name": "apache", "namespace": "shop"},
        "spec": {}, "status": {"currentState": {"currentStateSummary": "DriverEvicted", "message": "evicted for its disk",
                                                "lastTransitionTime": "2026-03-01T09:56:00Z"}},
    },
]  # fmt: skip


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_status_of_a_spark_application_is_the_event_of_its_operator(form: str, tmp_path: Path) -> None:
    tables = scanned(tmp_path, f"applications.{form}", {"json": as_json, "yaml": as_yaml}[form](APPLICATIONS))
    told = [row for row in tables["log_events"] if row["signature"] == "spark-application-failed"]
    failed = {row["resource"]: row["detail"]["what_happened"] for row in told}
    assert failed == {
        "clicks": "driver container failed with ExitCode: 1, Reason: Error (executors: 1 FAILED, 1 RUNNING)",
        "returns": "failed to run spark-submit: exceeded quota",
        "apache": "evicted for its disk",
    }
    assert {f"{row['at']:%H:%M}" for row in tables["log_events"]} == {"09:55", "09:56"}
    lines = [record.message for record, _ in read(as_json(APPLICATIONS))]
    assert sum(line.startswith("Normal ") for line in lines) == 2
    assert any(line.endswith("SparkApplication audit is RUNNING (executors: 1 FAILED, 1 RUNNING)") for line in lines)
