"""kubectl is asked only where that was said, for nothing but get and logs; what it answers is judged, what fails is a sentence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from analyzers.bundle.read import read_bundle
from analyzers.tables import Row
from cli.collectors.kubectl import OBJECTS, selector_of, without_secrets
from cli.main import run
from cli.runs.kubectl_plugin import translated
from cli.shell.exits import ExitCode, UsageError
from tests.command_line import ROOT, diag, environment
from tests.fake_kubectl import FakeKubectl, of_shop

RAW = ROOT / "fixtures" / "incidents" / "ill" / "lab-taskmanager-out-of-memory" / "raw"
PODS = "get pods -o json -n shop"


def stamped(log: Path) -> str:
    """A log as ``--timestamps`` prints it."""
    return "".join(
        f"2026-03-01T09:00:{number % 60:02d}.000000000Z {line}\n" for number, line in enumerate(log.read_text("utf-8").splitlines())
    )


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
    home = tmp_path / "bin"
    home.mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("PATH", f"{home}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    logs = sorted(RAW.glob("*.log"))
    manager = next(log for log in logs if "jobmanager" in log.name or "standalonesession" in log.name)
    worker = next(log for log in logs if "taskmanager" in log.name or "taskexecutor" in log.name)
    return of_shop(home, {"jobmanager": stamped(manager), "taskmanager.previous": stamped(worker)}).installed()


def collected(tmp_path: Path, *options: str) -> tuple[int, str, str, dict[str, list[Row]]]:
    bundle = tmp_path / "bundle"
    code, out, err = diag("collect", *(options or ("--kube", "shop")), "--yes", "--no-redact", "--save", str(bundle))
    return code, out, err, read_bundle(bundle).tables if bundle.exists() else {}  # type: ignore[return-value]  # rows of every table


def source(tables: dict[str, list[Row]]) -> Row:
    return next(row for row in tables["sources"] if row["kind"] == "kubectl")


def test_without_yes_the_commands_are_printed_and_none_is_run(shop: FakeKubectl, tmp_path: Path) -> None:
    code, out, err = diag("collect", "--kube", "shop", "--save", str(tmp_path / "bundle"))
    assert code == ExitCode.CLEAN
    assert shop.asked == []
    assert not (tmp_path / "bundle").exists()
    lines = out.splitlines()
    assert lines[0].startswith("kubectl get pods -o json -n shop")
    assert [line.split()[1] for line in lines] == ["get"] * len(OBJECTS) + ["logs"] * 2
    assert all("--limit-bytes=" in line and "--tail=" in line for line in lines[-2:])
    assert "--previous" in lines[-1]
    assert "add --yes" in err


def test_what_is_run_is_get_and_logs_alone(shop: FakeKubectl, tmp_path: Path) -> None:
    code, _, err, _ = collected(tmp_path)
    assert code == ExitCode.CLEAN, err
    assert {words[0] for words in shop.asked} == {"get", "logs"}
    assert not [words for words in shop.asked if any("secret" in word or "configmap" in word for word in words)]
    logs = [words for words in shop.asked if words[0] == "logs"]
    assert [(words[1], "--previous" in words) for words in logs] == [
        ("orders-taskmanager-1-1", True), ("orders-taskmanager-1-1", False), ("orders-6c9f", False),
    ]  # fmt: skip
    assert all("--limit-bytes=67108864" in words for words in logs)
    assert all("--since=6h" in words or "--previous" in words for words in logs)
    assert "no logs were asked for of 1 other pod: shop-front-7d4" in err


def test_pods_events_and_logs_are_in_the_bundle(shop: FakeKubectl, tmp_path: Path) -> None:
    *_, tables = collected(tmp_path)
    assert (source(tables)["state"], source(tables)["why"]) == ("ok", None)
    killed = [row for row in tables["pod_containers"] if row["last_reason"] == "OOMKilled"]
    assert [(row["pod"], row["restarts"]) for row in killed] == [("orders-taskmanager-1-1", 2)]
    assert "orders-taskmanager-1-1_flink-main-container.previous.log" in {row["file"] for row in tables["log_files"]}


def test_no_secret_of_a_pod_is_kept(shop: FakeKubectl, tmp_path: Path) -> None:
    _, out, err, _ = collected(tmp_path)
    kept = "".join(path.read_text("utf-8") for path in (tmp_path / "bundle").iterdir())
    assert "S3cret" in json.dumps(shop.answers)
    assert "S3cret" not in out + err + kept
    assert list((tmp_path / "tmp").iterdir()) == []


def test_settings_of_objects_lose_their_secrets() -> None:
    config = {"tasks.max": 1, "topics": "orders", "password": "S3cret", "u": "S3cret"}
    connector = {"kind": "KafkaConnector", "spec": {"class": "x", "config": config}}
    flink = {"kind": "FlinkDeployment", "spec": {"flinkConfiguration": {"s3.secret-key": "S3cret", "state.backend.type": "rocksdb"}}}
    assert without_secrets(connector)["spec"]["config"] == {"tasks.max": "1", "topics": "orders"}
    shown = json.dumps(without_secrets({"kind": "List", "items": [connector, flink, {"kind": "Secret", "data": {"a": "S3cret"}}]}))
    assert "S3cret" not in shown
    assert "rocksdb" in shown
    assert "orders" in shown


def test_triage_of_a_deployment_finds_the_taskmanagers_of_flinks_native_kubernetes(shop: FakeKubectl) -> None:
    given = environment()
    words = ["triage", "deployment/orders", "-n", "shop", "--facts-only", "-o", "json"]
    assert run(words, given, plugin=True) == ExitCode.CLEAN, given.stderr.getvalue()  # type: ignore[attr-defined]
    report = json.loads(given.stdout.getvalue())  # type: ignore[attr-defined]
    assert {row["file"] for row in report["facts"]["log_files"]} >= {
        "orders-6c9f_flink-main-container.log", "orders-taskmanager-1-1_flink-main-container.previous.log",
    }  # fmt: skip
    assert [words[:2] for words in shop.asked][:3] == [["get", "deployment/orders"], ["get", "pods"], ["get", "events"]]
    assert "shop-front" not in json.dumps(report)


# what fails -----------------------------------------------------------------------------------------------------------------------

FORBIDDEN = (
    'Error from server (Forbidden): pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the namespace "shop"\n'
)
AWAY = "Unable to connect to the server: dial tcp 10.0.0.1:443: i/o timeout"


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({".*": {"err": FORBIDDEN}}, 'kubectl get pods: pods is forbidden: User "ann" cannot list resource "pods"'),
        ({".*": {"err": f"E0301 12:00:00 memcache.go:265] couldn't get\n{AWAY}\n"}}, AWAY),
        ({".*": {"err": "error: You must be logged in to the server (Unauthorized)\n"}}, "You must be logged in to the server"),
        ({".*": {"err": 'error: context "prod" does not exist\n'}}, 'context "prod" does not exist'),
        ({".*": {"code": 3}}, "exit code 3 and said nothing"),
        ({".*": {"out": "<html>log in</html>"}}, "its answer is no JSON of the API"),
    ],
    ids=["forbidden", "away", "logged out", "no context", "silent", "page"],
)  # fmt: skip
def test_a_cluster_that_answers_nothing_is_exit_code_3(shop: FakeKubectl, tmp_path: Path, answers: dict[str, Any], words: str) -> None:
    shop.answers = answers
    shop.installed()
    code, out, err, _ = collected(tmp_path)
    assert code == ExitCode.CANNOT_LOOK
    assert words in out + err
    assert "Traceback" not in out + err
    if "Unable to connect" in words:
        assert len(shop.asked) == 2, "a server that is away is left alone"


def test_no_kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, err, _ = collected(tmp_path)
    assert code == ExitCode.CANNOT_LOOK
    assert "there is no kubectl on the PATH" in out + err


def test_a_part_that_is_forbidden_is_partial_and_the_rest_is_read(shop: FakeKubectl, tmp_path: Path) -> None:
    shop.answers["get events -o json -n shop"] = {"err": FORBIDDEN.replace("pods", "events")}
    shop.answers["logs orders-6c9f .*"] = shop.answers.pop("logs orders-6c9f -c flink-main-container --timestamps -n shop") | {
        "out": "", "err": 'Error from server (BadRequest): container "flink-main-container" in pod "orders-6c9f" is waiting to start\n',
    }  # fmt: skip
    shop.installed()
    *_, tables = collected(tmp_path)
    assert source(tables)["state"] == "partial"
    assert "events is forbidden" in source(tables)["why"]
    assert "waiting to start" not in source(tables)["why"]
    assert len(tables["pod_containers"]) == 3


def test_a_command_that_hangs_is_ended(shop: FakeKubectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.collectors.kubectl._LONGEST_SECONDS", 1.0)
    shop.answers = {".*": {"sleep": 600}}
    shop.installed()
    code, out, err, _ = collected(tmp_path)
    assert code == ExitCode.CANNOT_LOOK
    assert "kubectl get pods: no answer within 1 s" in out + err
    assert is_gone(int((shop.home / "sleeps").read_text()))


def test_an_answer_without_end_is_cut(shop: FakeKubectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.collectors.kubectl._MOST_LOG_BYTES", 5_000)
    *_, tables = collected(tmp_path)
    assert "was cut behind" in source(tables)["why"]
    assert "--kube-since" in source(tables)["why"]
    assert tables["log_files"]


def test_a_list_that_is_too_large_is_not_read(shop: FakeKubectl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.collectors.kubectl._MOST_LIST_BYTES", 1 << 20)
    shop.answers[PODS] = {"out": " " * (8 << 20), "sleep": 0}
    shop.installed()
    *_, tables = collected(tmp_path)
    assert source(tables)["state"] == "partial"
    assert "kubectl get pods: its answer is larger than 1 MB and was not read" in source(tables)["why"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_kubectl_and_removes_what_it_answered(shop: FakeKubectl, tmp_path: Path, how: signal.Signals) -> None:
    shop.answers["logs .*"] = {"sleep": 600}
    shop.answers = {form: said for form, said in shop.answers.items() if not form.startswith("logs ") or form == "logs .*"}
    shop.installed()
    command = [sys.executable, "-m", "cli", "collect", "--kube", "shop", "--yes", "--save", str(tmp_path / "bundle")]
    begin = "import signal, runpy, sys; signal.signal(signal.SIGINT, signal.default_int_handler); sys.argv = sys.argv[1:]; "
    begin += "runpy.run_module('cli', run_name='__main__')"  # a background shell hands Ctrl-C down ignored
    surroundings = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", begin, *command[2:]], cwd=ROOT, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        sleeps = shop.home / "sleeps"
        while not (sleeps.exists() and sleeps.read_text()):
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.05)
        assert [path.name for path in (tmp_path / "tmp").iterdir()]
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + how
    tables = read_bundle(tmp_path / "bundle").tables
    assert source(tables)["why"] == "stopped before all was asked"  # type: ignore[arg-type]  # rows of every table
    assert len(tables["pod_containers"]) == 3
    assert "Traceback" not in err
    assert list((tmp_path / "tmp").iterdir()) == []
    assert is_gone(int(sleeps.read_text()))


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


# names, selectors, words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        ("--kube", "--all-namespaces"), ("--kube", "shop;rm"), ("--kube", "shop", "--kube-object", "-f"),
        ("--kube", "shop", "--kube-object", "orders"), ("--kube", "shop", "--kube-context", "--token=x"),
        ("--kube", "shop", "--kube-since", "soon"), ("--kube-context", "prod"), ("--yes",),
    ],
)  # fmt: skip
def test_what_would_be_another_word_of_the_command_is_refused(options: tuple[str, ...], shop: FakeKubectl, tmp_path: Path) -> None:
    code, out, err = diag("collect", *options, "--save", str(tmp_path / "bundle"))
    assert code == ExitCode.USAGE
    assert out == ""
    assert err
    assert shop.asked == []


@pytest.mark.parametrize(
    ("kind", "spec", "selector"),
    [
        ("StatefulSet", {"selector": {"matchLabels": {"b": "2", "a": "1"}}}, "a=1,b=2"),
        ("Service", {"selector": {"app": "orders"}}, "app=orders"),
        ("FlinkDeployment", {}, "app=orders"),
        ("KafkaConnect", {}, "strimzi.io/cluster=orders,strimzi.io/kind=KafkaConnect"),
        ("SparkApplication", {}, "sparkoperator.k8s.io/app-name=orders"),
        (
            "Deployment",
            {"selector": {"matchExpressions": [{"key": "t", "operator": "In", "values": ["a", "b"]}, {"key": "u", "operator": "Exists"}]}},
            "t in (a,b),u",
        ),
        ("ConfigMap", {}, None),
        ("Deployment", {"selector": "x"}, None),
    ],
)
def test_selectors(kind: str, spec: dict[str, Any], selector: str | None) -> None:
    assert selector_of({"kind": kind, "metadata": {"name": "orders"}, "spec": spec}) == selector


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("triage deployment/orders -n shop", "triage --kube-object deployment/orders --kube shop --yes"),
        (
            "triage deploy/orders --namespace=shop --context prod -o json",
            "triage -o json --kube-object deploy/orders --kube shop --kube-context prod --yes",
        ),
        ("triage pod/orders-1", "triage --kube-object pod/orders-1 --yes"),
        ("-h", "-h"),
        ("triage -nshop", "triage --kube shop --yes"),
        ("triage /var/log/flink", "triage /var/log/flink"),
        ("explain BRK101", "explain BRK101"),
        ("lag-report -b kafka:9092", "lag-report -b kafka:9092"),
        ("collect sts/kafka -n shop --save x", "collect --save x --kube-object sts/kafka --kube shop --yes"),
    ],
)
def test_what_is_typed_behind_kubectl_diag(typed: str, meant: str) -> None:
    assert translated(typed.split()) == meant.split()


@pytest.mark.parametrize("typed", ["triage deployment/a deployment/b -n shop", "triage deployment/a -n"])
def test_what_cannot_be_meant_is_refused(typed: str) -> None:
    with pytest.raises(UsageError):
        translated(typed.split())


def test_the_kubeconfig_that_is_named_is_kubectls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "another")
    assert translated(["triage", "pod/a", "--kubeconfig", "mine"]) == ["triage", "--kube-object", "pod/a", "--yes"]
    assert os.environ["KUBECONFIG"] == "mine"


def test_the_program_is_called_by_its_name(tmp_path: Path) -> None:
    for name in ("diag", "kubectl-diag"):
        (tmp_path / name).write_bytes((ROOT / "cli" / "shell" / name).read_bytes())
    done = subprocess.run(
        [sys.executable, str(tmp_path / "kubectl-diag"), "triage", "deployment/a", "deployment/b"],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == ExitCode.USAGE
    assert "one object at a time" in done.stderr
