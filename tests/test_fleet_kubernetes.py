"""A dump of a namespace is many jobs: each is judged by the logs, pods and events of its own, and named by its owner."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from analyzers.fleet.kubernetes import NO_JOB
from analyzers.fleet.places import Place, places
from cli.options.shared import RunOptions
from cli.runs import fleet as fleets
from cli.shell.exits import CannotLook
from tests.bundles import FIXTURES
from tests.kubernetes_dump import Object, as_json, as_yaml, dump, event, pod

ROOT = Path(__file__).resolve().parent.parent
RECORDED = FIXTURES / "incidents"
NO_NODE = (
    "0/9 nodes are available: 9 Insufficient cpu. preemption: 0/9 nodes are available: 9 No preemption victims found for incoming pod."
)
RUN = "spark-a1b2c3d4e5f64718a9b0c1d2e3f40516"
KILLED = {"terminated": {"exitCode": 137, "finishedAt": "2026-03-01T09:55:00Z", "reason": "OOMKilled", "startedAt": "2026-03-01T09:50:00Z"}}
BACK_OFF = {"waiting": {"message": "back-off 5m0s restarting failed container", "reason": "CrashLoopBackOff"}}


def flink(cluster: str, component: str) -> dict[str, str]:
    """Labels of Flink's native deployment."""
    return {"app": cluster, "component": component, "type": "flink-native-kubernetes"}


PODS = [
    pod("orders-5f6d7c8b94-k2x7p", {**flink("orders", "jobmanager"), "pod-template-hash": "5f6d7c8b94"},
        owner=("ReplicaSet", "orders-5f6d7c8b94"), container="flink-main-container"),
    pod("orders-taskmanager-1-1", flink("orders", "taskmanager"), owner=("Deployment", "orders"), container="flink-main-container"),
    pod("orders-taskmanager-1-2", flink("orders", "taskmanager"), owner=("Deployment", "orders"), container="flink-main-container"),
    pod("orders-taskmanager-1-10", flink("orders", "taskmanager"), owner=("Deployment", "orders"), container="flink-main-container"),
    pod("orders-eu-7d9f8c6b5c-x9w2q", {**flink("orders-eu", "jobmanager"), "pod-template-hash": "7d9f8c6b5c"},
        owner=("ReplicaSet", "orders-eu-7d9f8c6b5c")),
    pod("parcels-6c8d9b7f54-zz8vd", flink("parcels", "jobmanager"), owner=("ReplicaSet", "parcels-6c8d9b7f54")),
    pod("parcels-taskmanager-1-1", flink("parcels", "taskmanager"), state={"waiting": {"reason": "Pending"}}),
    pod("clicks-1c2d3e-driver", {"spark-app-selector": RUN, "spark-app-name": "clicks", "spark-role": "driver"}),
    pod("clicks-1c2d3e-exec-1", {"spark-app-selector": RUN, "spark-app-name": "clicks", "spark-role": "executor"},
        owner=("Pod", "clicks-1c2d3e-driver")),
    pod("ledger-0", {"apps.kubernetes.io/pod-index": "0"}, owner=("StatefulSet", "ledger"), state=BACK_OFF, last=KILLED, restarts=14),
    pod("kafka-0", {"app.kubernetes.io/instance": "etl", "app.kubernetes.io/name": "kafka"}, owner=("StatefulSet", "etl-kafka")),
    pod("kafka-connect-0", {"app.kubernetes.io/instance": "etl", "app.kubernetes.io/name": "kafka-connect"}),
    pod("compact-29112540-b7xkz", {"job-name": "compact-29112540"}, owner=("Job", "compact-29112540")),
    pod("toolbox", node="node-8"),
]  # fmt: skip
OTHER_NAMESPACE = [pod("ledger-0", owner=("StatefulSet", "ledger"), namespace="bank")]
EVENTS = [
    event(("Pod", "parcels-taskmanager-1-1"), "FailedScheduling", NO_NODE, "2026-03-01T09:58:00Z"),
    event(("Pod", "orders-taskmanager-1-1"), "Scheduled", "Successfully assigned shop/orders-taskmanager-1-1 to node-3",
          "2026-03-01T08:00:00Z", kind="Normal"),
    event(("Pod", "orders-taskmanager-1-3"), "Killing", "Stopping container flink-main-container", "2026-03-01T07:00:00Z", kind="Normal"),
    event(("ReplicaSet", "orders-eu-7d9f8c6b5c"), "SuccessfulCreate", "Created pod: orders-eu-7d9f8c6b5c-x9w2q", "2026-03-01T07:00:00Z"),
    event(("Deployment", "invoices"), "ReplicaSetCreateError", "exceeded quota", "2026-03-01T07:00:00Z"),
    event(("Node", "node-8"), "NodeNotReady", "Node node-8 status is now: NodeNotReady", "2026-03-01T07:00:00Z", kind="Normal"),
    event(("Node", "node-9"), "NodeNotReady", "Node node-9 status is now: NodeNotReady", "2026-03-01T07:00:00Z", kind="Normal"),
]  # fmt: skip
SESSION = [
    {"apiVersion": "flink.apache.org/v1beta1", "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec, "status": {}}
    for kind, name, spec in (
        ("FlinkDeployment", "session", {"image": "flink:1.20"}), ("FlinkSessionJob", "returns", {"deploymentName": "session"}),
    )
]  # fmt: skip
JOBS = {
    "bank/ledger", "shop/clicks", "shop/compact", "shop/etl-kafka", "shop/etl-kafka-connect", "shop/invoices", "shop/ledger", "shop/orders",
    "shop/orders-eu", "shop/parcels", "shop/session", "shop/toolbox",
}  # fmt: skip
OBJECTS: list[Object] = [*PODS, *OTHER_NAMESPACE, *EVENTS, *SESSION]


def logs() -> dict[str, dict[str, str]]:
    """What containers printed: recordings of ill and healthy jobs, below the names of these pods."""
    ill, well, poisoned = (RECORDED / name / "raw" for name in
                           ("ill/lab-broker-shrink-hung", "healthy/healthy-adaptive-rescale", "ill/spark-poison-batch"))  # fmt: skip
    return {
        "orders-5f6d7c8b94-k2x7p": {"flink-main-container": (ill / "jobmanager.log").read_text()},
        "orders-taskmanager-1-1": {"flink-main-container": (ill / "taskmanager-1.log").read_text(), "fluent-bit": ""},
        "orders-taskmanager-1-2": {"flink-main-container": (ill / "taskmanager-2.log").read_text()},
        "orders-eu-7d9f8c6b5c-x9w2q": {"main": (well / "jobmanager.log").read_text()},
        "clicks-1c2d3e-driver": {"spark-kubernetes-driver": (poisoned / "driver.log").read_text()},
    }


def saved_dump(home: Path) -> list[str]:
    """The directory of `kubectl cluster-info dump`."""
    dump(home / "dump", OBJECTS, logs())
    return [str(home / "dump")]


def saved_list(home: Path) -> list[str]:
    """One list of all kinds as YAML, and a file per pod and container beside it."""
    (home / "shop.yaml").write_text(as_yaml(OBJECTS))
    (home / "logs").mkdir()
    for name, own in logs().items():
        for container, text in own.items():
            (home / "logs" / f"{name}_{container}.log").write_text(text)
    return [str(home / "shop.yaml"), str(home / "logs")]


def as_one_text(home: Path) -> str:
    """What `kubectl cluster-info dump` prints where no directory is named: lists as the API answers them, then logs."""
    files = sorted(home.rglob("*.json"), key=lambda path: (path.parent != home, path.name == "pods.json"))
    return "".join(path.read_text() for path in (*files, *sorted(home.rglob("logs.txt"))))


def saved_stream(home: Path) -> list[str]:
    (path,) = saved_dump(home)
    (home / "dump.txt").write_text(as_one_text(Path(path)))
    return [str(home / "dump.txt")]


def saved_archive(home: Path) -> list[str]:
    (path,) = saved_dump(home)
    with tarfile.open(home / "dump.tar.gz", "w:gz") as archive:
        archive.add(path, "dump")
    return [str(home / "dump.tar.gz")]


def saved_zip_of_a_stream(home: Path) -> list[str]:
    (path,) = saved_stream(home)
    with zipfile.ZipFile(home / "dump.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, "dump.txt")
    return [str(home / "dump.zip")]


def of_dump(paths: list[str]) -> tuple[dict[str, Place], list[str]]:
    notes: list[str] = []
    return {place.scope: place for place in places(paths, "kubernetes", notes)}, notes


@pytest.mark.parametrize("save", [saved_dump, saved_list, saved_stream, saved_archive, saved_zip_of_a_stream])
def test_each_owner_is_a_job_with_its_own_pods_events_and_logs(save: Callable[[Path], list[str]], tmp_path: Path) -> None:
    found, notes = of_dump(save(tmp_path))
    assert {*found} - {NO_JOB} == JOBS - (set() if save is saved_list else {"shop/session"})  # a dump has no resources of engines
    texts = {scope: "".join(each.text for each in place.slices) for scope, place in found.items()}
    assert all(name in texts["shop/orders"] for name in ("orders-taskmanager-1-10", "orders-taskmanager-1-3", "Successfully assigned"))
    assert "orders-eu" not in texts["shop/orders"]
    assert "FailedScheduling" in texts["shop/parcels"]
    assert all("FailedScheduling" not in text for scope, text in texts.items() if scope != "shop/parcels")
    assert "exceeded quota" in texts["shop/invoices"]
    assert {scope for scope, text in texts.items() if "NodeNotReady" in text} == {"shop/toolbox"}
    logs_of = {scope: {*place.paths, *(each.name for each in place.slices if each.ending == "log")} for scope, place in found.items()}
    assert len([path for path in logs_of["shop/orders"] if "orders-" in path]) == len(logs_of["shop/orders"]) >= 3
    assert any("orders-eu-7d9f8c6b5c-x9w2q" in path for path in logs_of["shop/orders-eu"])
    assert any("clicks-1c2d3e-driver" in path for path in logs_of["shop/clicks"])
    if save is not saved_list:
        printed = logs()["clicks-1c2d3e-driver"]["spark-kubernetes-driver"]
        assert any(printed in text for text in (texts["shop/clicks"], *map(_text_of, found["shop/clicks"].paths)))
        assert NO_JOB not in found or save is saved_archive
    assert notes == ["1 event of no job (1 of Node) left out"]


def _text_of(path: str) -> str:
    return Path(path).read_text()


def test_a_list_may_have_an_object_in_each_line(tmp_path: Path) -> None:
    lines = ",\n".join(json.dumps(each) for each in PODS)
    (tmp_path / "pods.json").write_text(f'{{"apiVersion":"v1","kind":"List","items":[\n{lines}\n]}}\n')
    found, notes = of_dump([str(tmp_path)])
    assert {*found} == JOBS - {"bank/ledger", "shop/invoices", "shop/session"}
    assert notes == []


def test_a_dump_in_one_text_may_be_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = saved_stream(tmp_path)
    text = Path(path).read_text()
    Path(path).write_text(text[: text.index("==== END logs for container spark-kubernetes-driver") - 100])
    found, notes = of_dump([path])
    assert notes[-2:] == [f"{path} lacks its end: what stood there is not seen", "1 event of no job (1 of Node) left out"]
    assert any(each.name.endswith("clicks-1c2d3e-driver/spark-kubernetes-driver") for each in found["shop/clicks"].slices)
    monkeypatch.setattr("analyzers.fleet.kubernetes._MOST_LOG_BYTES", 1000)
    found, notes = of_dump(saved_archive(tmp_path / "again") if (tmp_path / "again").mkdir() is None else [])
    assert sum(len(each.text) for place in found.values() for each in place.slices if each.ending == "log") <= 1000
    assert any("what follows was not read" in note for note in notes)


def test_every_line_of_a_slice_is_an_object(tmp_path: Path) -> None:
    found, _ = of_dump(saved_dump(tmp_path))
    (events, pods) = found["shop/orders"].slices
    assert (events.name, pods.name) == tuple(f"{tmp_path}/dump/shop/{kind}.json!orders" for kind in ("events", "pods"))
    items = json.loads(pods.text)["items"]
    assert [json.loads(line.rstrip(","))["metadata"]["name"] for line in pods.text.splitlines()[1:-1]] == [
        item["metadata"]["name"] for item in items
    ]


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("namespaces/shop/pods/ledger-0/main/main/logs/current.log", "shop/ledger"),
        ("namespaces/bank/pods/ledger-0/main/main/logs/current.log", "bank/ledger"),
        ("shop_orders-taskmanager-1-10_0b7d1f5e-55a1/main/0.log", "shop/orders"),
        ("shop/orders-taskmanager-1-99.log", "shop/orders"),
        ("orders-eu-7d9f8c6b5c-x9w2q.log.gz", "shop/orders-eu"),
        ("somewhere/else.log", NO_JOB),
    ],
)
def test_a_log_is_of_the_job_whose_pod_its_path_names(path: str, scope: str, tmp_path: Path) -> None:
    (tmp_path / "all.json").write_text(as_json(OBJECTS))
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("2026-03-01 09:58:00,000 INFO a.B [] - c\n")
    found, _ = of_dump([str(tmp_path)])
    assert [name for name, place in found.items() if str(file) in place.paths] == [scope]


def test_a_file_of_prefixed_lines_is_of_the_one_job_that_they_name(tmp_path: Path) -> None:
    (tmp_path / "all.json").write_text(as_json(OBJECTS))
    line = "[pod/orders-taskmanager-1-{}/main] 2026-03-01 09:58:00,000 INFO a.B [] - c\n"
    (tmp_path / "out.log").write_text(line.format(1) + line.format(2))
    (tmp_path / "both.log").write_text(line.format(1) + line.format(2).replace("orders-taskmanager-1-2", "toolbox"))
    found, _ = of_dump([str(tmp_path)])
    assert [Path(path).name for path in found["shop/orders"].paths] == ["out.log"]
    assert [Path(path).name for path in found[NO_JOB].paths] == ["both.log"]


def test_two_clusters_with_one_namespace_stay_apart(tmp_path: Path) -> None:
    for cluster in ("eu", "us"):
        dump(tmp_path / cluster, PODS[:2], {})
    (tmp_path / "apart.json").write_text(as_json(OTHER_NAMESPACE))
    assert {*of_dump([f"{tmp_path}/eu", f"{tmp_path}/us"])[0]} == {"eu/shop/orders", "us/shop/orders"}
    assert {*of_dump([f"{tmp_path}/eu", f"{tmp_path}/apart.json"])[0]} == {"shop/orders", "bank/ledger"}


def test_a_long_list_in_yaml_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand pods have more lines than one document may have; a list of one kind leaves that out of its objects."""
    monkeypatch.setattr("analyzers.logs.wrappings.plain_yaml._MOST_LINES", 60)
    (tmp_path / "pods.yaml").write_text(as_yaml(PODS, "PodList"))
    assert {*of_dump([str(tmp_path)])[0]} == JOBS - {"bank/ledger", "shop/invoices", "shop/session"}


def test_two_runs_of_one_application_are_two_jobs(tmp_path: Path) -> None:
    runs = [pod(f"clicks-{n}-driver", {"spark-app-selector": f"spark-{n}", "spark-app-name": "clicks"}) for n in (1, 2)]
    operated = [pod(f"audit-{n}-driver", {"spark-app-selector": f"spark-{n}", "sparkoperator.k8s.io/app-name": "audit"}) for n in (3, 4)]
    (tmp_path / "pods.json").write_text(as_json([*runs, *operated], "PodList"))
    assert {*of_dump([str(tmp_path)])[0]} == {"shop/clicks spark-1", "shop/clicks spark-2", "shop/audit"}


def test_a_list_without_its_end_and_a_dump_without_pods_are_said(tmp_path: Path) -> None:
    text = as_json(PODS, "PodList")
    (tmp_path / "pods.json").write_text(text[: text.index('"toolbox"')])
    found, notes = of_dump([str(tmp_path)])
    assert {*found} == JOBS - {"bank/ledger", "shop/invoices", "shop/session", "shop/toolbox"}
    assert notes == [f"{tmp_path}/pods.json lacks its end: what stood there is not seen"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(CannotLook, match="there is no list of pods in") as error:
        fleets.run([str(tmp_path / "empty")], RunOptions(), by="kubernetes", version="1")
    assert "kubectl get pods" in error.value.hint


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What the command prints of a dump."""
    home = tmp_path_factory.mktemp("kubernetes")
    asked = [sys.executable, "-m", "cli", "fleet", *saved_dump(home), "--jobs-by", "kubernetes", "-o", "json"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False, env=os.environ | {"DIAG_CORES": "2"})
    assert done.returncode == 1, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.jvm
def test_each_job_is_judged_by_what_is_its_own(said: Mapping[str, Any]) -> None:
    outcomes = {job["scope"]: (job["outcome"], [verdict["code"] for verdict in job["verdicts"]]) for job in said["jobs"]}
    ill = {scope: codes for scope, (outcome, codes) in outcomes.items() if outcome == "ill"}
    assert ill == {"shop/orders": ["BRK101"], "shop/parcels": ["RST412"], "shop/clicks": ["SPK101"], "shop/ledger": ["RST413"]}
    assert outcomes["shop/orders-eu"] == ("clear", [])
    assert not [job["defects"] for job in said["jobs"] if job["defects"]]
    assert said["roots"] == []
    assert said["notes"] == ["1 event of no job (1 of Node) left out"]


@pytest.mark.parametrize("large", [1, 1 << 40], ids=["split", "whole"])
def test_a_large_job_has_its_pods_and_events_too(large: int, tmp_path: Path) -> None:
    import pyarrow as pa

    from analyzers.fleet.reading import items_of, parts_of
    from analyzers.fleet.scopes import derived
    from cli.runs.fleet_evidence import Gathering

    text = logs()["orders-eu-7d9f8c6b5c-x9w2q"]["main"]
    dump(tmp_path / "dump", [*PODS[5:7], *EVENTS[:1]], {"parcels-6c8d9b7f54-zz8vd": {"main": text}})
    place = of_dump([str(tmp_path / "dump")])[0]["shop/parcels"]
    table = pa.Table.from_batches([batch for item in reversed(items_of(place, large)) for batch in parts_of(item, Gathering())])
    rows = derived(table).to_pylist()
    waiting = {code.partition("|")[0] for row in rows for code in row["waiting"]}
    assert {"RST412"} <= waiting
    names = {row["name"] for row in rows}
    assert {"log_events", "log_files", "pod_containers"} <= names
