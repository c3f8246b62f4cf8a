"""The Containerfile and the Kubernetes manifest of .ci/packaging/, held against the tree. Neither is built or applied."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from analyzers.fleet.kubernetes import NO_JOB
from analyzers.fleet.places import places
from cli.main import app
from cli.version import version
from tests.kubernetes_dump import as_json, pod

ROOT = Path(__file__).resolve().parent.parent
PACKAGING = ROOT / ".ci" / "packaging"
UID = 10001


def _statements() -> list[tuple[str, str]]:
    """Statements of the Containerfile, continued lines joined, comments left out."""
    text = re.sub(r"^#.*\n", "", (PACKAGING / "Containerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    whole = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    return [(word, " ".join(rest.split())) for word, _, rest in (line.partition(" ") for line in whole)]


@pytest.fixture(scope="module")
def stages() -> list[list[tuple[str, str]]]:
    """What stands below each FROM, with it."""
    found: list[list[tuple[str, str]]] = []
    for word, rest in _statements():
        if word == "FROM":
            found.append([])
        if found:
            found[-1].append((word, rest))
    return found


def _copied(stage: list[tuple[str, str]]) -> list[str]:
    return [source for word, rest in stage if word == "COPY" and "--from" not in rest for source in rest.split()[:-1]]


def test_every_statement_is_one_of_a_containerfile() -> None:
    assert {word for word, _ in _statements()} <= {"ARG", "FROM", "WORKDIR", "RUN", "COPY", "ENV", "USER", "VOLUME", "ENTRYPOINT", "CMD"}
    for _, commands in (each for each in _statements() if each[0] == "RUN"):
        assert subprocess.run(["sh", "-n", "-c", commands], capture_output=True, check=False).returncode == 0


def test_the_last_stage_runs_as_nobody_else_and_writes_to_tmp_only(stages: list[list[tuple[str, str]]]) -> None:
    last = stages[-1]
    settings = dict(last)
    assert settings["USER"] == f"{UID}:{UID}"
    assert [word for word, _ in last].index("USER") > max(at for at, (word, _) in enumerate(last) if word in ("RUN", "COPY"))
    assert json.loads(settings["VOLUME"]) == ["/tmp"]
    assert settings["WORKDIR"] == "/tmp"
    assert "HOME=/tmp" in settings["ENV"].split()
    assert json.loads(settings["ENTRYPOINT"]) == ["diag"]
    assert any(f"useradd --uid {UID} " in rest for word, rest in last if word == "RUN")


def test_nothing_that_builds_or_installs_is_left(stages: list[list[tuple[str, str]]]) -> None:
    first, last = stages
    assert _copied(last) == [], "only from the stage before"
    assert [rest for word, rest in last if word == "COPY"] == ["--from=build /opt/diag /opt/diag"]
    assert first[-1][1].endswith("pip uninstall --yes setuptools pip")
    run = " ".join(rest for word, rest in last if word == "RUN")
    assert "pip uninstall --yes --root-user-action=ignore pip" in run
    assert not re.search(r"\b(?:apt|apt-get|install|gcc|make|curl|wget|git)\b", run)


def test_it_installs_the_locks_with_their_hashes_and_a_java(stages: list[list[tuple[str, str]]]) -> None:
    commands = [each.strip() for word, rest in stages[0] if word == "RUN" for each in rest.split("&&")]
    installing = [each for each in commands if "pip install" in each]
    assert len(installing) == 2
    assert "--require-hashes -r requirements/run.txt -r requirements/java.txt" in installing[0]
    assert "--no-deps --no-index dist/*.whl" in installing[1]
    assert {rest for word, rest in _statements() if word == "FROM"} == {"python:${PYTHON}-slim AS build", "python:${PYTHON}-slim"}
    (python,) = [rest.removeprefix("PYTHON=") for word, rest in _statements() if word == "ARG" and rest.startswith("PYTHON=")]
    assert f"to {python}:" in (ROOT / ".github" / "SUPPORT.md").read_text(encoding="utf-8"), "the newest that is supported"


def test_what_is_copied_is_enough_to_make_the_wheel(stages: list[list[tuple[str, str]]], tmp_path: Path) -> None:
    for source in _copied(stages[0]):
        target = tmp_path / source
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, target)
    (epoch,) = [rest.partition("=")[2] for word, rest in stages[0] if rest.startswith("SOURCE_DATE_EPOCH=")]
    command = [sys.executable, ".ci/build.py", "dist"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "SOURCE_DATE_EPOCH": epoch}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert "cli/incidents/broker-shrink/jobmanager.log" in zipfile.ZipFile(wheel).namelist()


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    listed = json.loads((PACKAGING / "cronjob.json").read_text(encoding="utf-8"))
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "List")
    return {each["kind"]: each for each in listed["items"]}


@pytest.fixture(scope="module")
def run(objects: dict[str, Any]) -> dict[str, Any]:
    """The pod that the CronJob starts."""
    spec: dict[str, Any] = objects["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return spec


def test_the_account_may_read_and_nothing_else(objects: dict[str, Any], run: dict[str, Any]) -> None:
    assert set(objects) == {"ServiceAccount", "Role", "RoleBinding", "PersistentVolumeClaim", "CronJob"}, "and no ClusterRole"
    rules = objects["Role"]["rules"]
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list"}
    assert {(group, of) for rule in rules for group in rule["apiGroups"] for of in rule["resources"]} == {
        ("", "pods"), ("", "events"), ("", "pods/log"),
    }  # fmt: skip
    assert objects["RoleBinding"]["roleRef"]["name"] == objects["Role"]["metadata"]["name"]
    assert objects["RoleBinding"]["subjects"] == [{"kind": "ServiceAccount", "name": objects["ServiceAccount"]["metadata"]["name"]}]
    assert run["serviceAccountName"] == objects["ServiceAccount"]["metadata"]["name"]


def test_every_container_is_held_down(run: dict[str, Any]) -> None:
    held = run["securityContext"]
    assert held["runAsNonRoot"] is True
    assert (held["runAsUser"], held["runAsGroup"], held["fsGroup"]) == (UID, UID, UID)
    assert held["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in (*run["initContainers"], *run["containers"]):
        own = container["securityContext"]
        assert own == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
        assert "memory" in container["resources"]["limits"]
        assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}


def test_only_the_container_that_asks_the_cluster_has_its_token(run: dict[str, Any], objects: dict[str, Any]) -> None:
    assert run["automountServiceAccountToken"] is False
    assert objects["ServiceAccount"]["automountServiceAccountToken"] is False
    having = [each["name"] for each in (*run["initContainers"], *run["containers"]) if "token" in {m["name"] for m in each["volumeMounts"]}]
    assert having == ["collect"]
    mounted = {mount["name"] for each in (*run["initContainers"], *run["containers"]) for mount in each["volumeMounts"]}
    assert mounted == {volume["name"] for volume in run["volumes"]}


def test_runs_do_not_overlap_and_are_not_tried_again(objects: dict[str, Any], run: dict[str, Any]) -> None:
    spec = objects["CronJob"]["spec"]
    assert spec["concurrencyPolicy"] == "Forbid"
    assert spec["jobTemplate"]["spec"]["backoffLimit"] == 0, "exit code 1 means that a job is ill"
    assert spec["jobTemplate"]["spec"]["activeDeadlineSeconds"] < 1800
    assert run["restartPolicy"] == "Never"


def test_the_command_is_one_that_diag_takes(run: dict[str, Any]) -> None:
    import typer

    (container,) = run["containers"]
    assert container["image"] == f"diag:{version()}"
    name, *given = container["args"]
    command: Any = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]  # a group
    values = command.make_context(name, list(given)).params
    assert values["jobs_by"] == "kubernetes"
    assert values["save"] == values["baseline"] == Path("/runs")
    assert values["paths"] == ["/evidence/objects.json", "/evidence/logs"]


KUBECTL = """#!/bin/sh
echo "$1" >> "{calls}"
case "$*" in
  "get pods,events "*json) cat "{objects}" ;;
  "get pods "*jsonpath*) printf 'orders-5f6d7c8b94-k2x7p main fluent-bit\\nledger-0 main\\n' ;;
  "logs ledger-0 -c main "*--previous) echo '2026-03-01 09:50:00,000 INFO a.B [] - before' ;;
  *--previous) echo half a line; echo 'Error: previous terminated container not found' >&2; exit 1 ;;
  *fluent-bit*) echo 'Error: container is waiting to start' >&2; exit 1 ;;
  "logs "*) echo '2026-03-01 09:58:00,000 INFO a.B [] - now' ;;
  *) exit 64 ;;
esac
"""


def test_what_is_collected_is_what_fleet_reads(run: dict[str, Any], tmp_path: Path) -> None:
    (collect,) = run["initContainers"]
    assert collect["workingDir"] == "/evidence"
    programs, evidence, calls = tmp_path / "bin", tmp_path / "evidence", tmp_path / "calls"
    programs.mkdir()
    evidence.mkdir()
    pods = [pod("orders-5f6d7c8b94-k2x7p", {"pod-template-hash": "5f6d7c8b94"}, owner=("ReplicaSet", "orders-5f6d7c8b94")),
            pod("ledger-0", owner=("StatefulSet", "ledger"))]  # fmt: skip
    (tmp_path / "objects").write_text(as_json(pods))
    (programs / "kubectl").write_text(KUBECTL.format(calls=calls, objects=tmp_path / "objects"))
    (programs / "kubectl").chmod(0o755)
    environment = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(collect["command"], cwd=evidence, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "no log of orders-5f6d7c8b94-k2x7p fluent-bit" in done.stderr
    logs = {path.name for path in (evidence / "logs").iterdir() if path.stat().st_size}
    assert logs == {"orders-5f6d7c8b94-k2x7p_main.log", "ledger-0_main.log", "ledger-0_main.previous.log"}
    found = {place.scope: place for place in places([str(evidence / "objects.json"), str(evidence / "logs")], "kubernetes", [])}
    assert set(found) - {NO_JOB} == {"shop/orders", "shop/ledger"}
    assert {Path(path).name for path in found["shop/ledger"].paths} >= {"ledger-0_main.log", "ledger-0_main.previous.log"}
    assert set(calls.read_text().split()) == {"get", "logs"}, "nothing is asked that changes anything"


def test_a_cluster_that_refuses_ends_the_run(run: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "kubectl").write_text("#!/bin/sh\necho 'Error from server (Forbidden)' >&2; exit 1\n")
    (tmp_path / "kubectl").chmod(0o755)
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(run["initContainers"][0]["command"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Forbidden" in done.stderr
