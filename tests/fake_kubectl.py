"""A kubectl on the PATH that answers from files, as an API server's answers were recorded; what it was asked is written down."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kubernetes_dump import NAMESPACE, Object, as_json, event, pod

PROGRAM = """\
#!{python}
import json, os, re, sys, time
home = {home!r}
words = [word for word in sys.argv[1:] if not word.startswith(("--request-timeout=", "--since=", "--limit-bytes=", "--tail="))]
with open(os.path.join(home, "asked"), "a") as asked:
    asked.write(json.dumps(sys.argv[1:]) + "\\n")
with open(os.path.join(home, "answers.json")) as file:
    answers = json.load(file)
asked = " ".join(words)
said = answers.get(asked) or next((said for form, said in answers.items() if re.fullmatch(form, asked)), None)
if said is None:
    kind = asked.split()[1]
    sys.exit("error: the server doesn't have a resource type " + json.dumps(kind.partition(".")[0]))
if said.get("sleep"):
    with open(os.path.join(home, "sleeps"), "w") as sleeps:
        sleeps.write(str(os.getpid()))
    time.sleep(said["sleep"])
sys.stdout.write(said.get("out", ""))
sys.stdout.flush()
sys.stderr.write(said.get("err", ""))
sys.exit(said.get("code", 1 if said.get("err") else 0))
"""


@dataclass
class FakeKubectl:
    """`answers`: what is said by command, without its bounds: out, err, code, sleep. A command that is not there is of an unknown kind."""

    home: Path
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)

    def installed(self) -> FakeKubectl:
        """Writes the program and its answers; its directory belongs on the PATH."""
        (self.home / "answers.json").write_text(json.dumps(self.answers), encoding="utf-8")
        program = self.home / "kubectl"
        program.write_text(PROGRAM.format(python=sys.executable, home=str(self.home)), encoding="utf-8")
        program.chmod(0o755)
        return self

    @property
    def asked(self) -> list[list[str]]:
        """The commands that were run, oldest first."""
        file = self.home / "asked"
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def of_shop(home: Path, logs: Mapping[str, str]) -> FakeKubectl:
    """A namespace with a JobManager and a TaskManager that was killed for its memory, a shop front, and events; `logs` by component."""
    killed = {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-03-01T09:00:00Z"}}
    flink = {"app": "orders", "type": "flink-native-kubernetes"}
    manager = pod("orders-6c9f", {**flink, "component": "jobmanager"}, container="flink-main-container")
    worker = pod("orders-taskmanager-1-1", {**flink, "component": "taskmanager"}, container="flink-main-container", last=killed, restarts=2)
    front = pod("shop-front-7d4", {"app": "shop-front"})
    for each in (manager, worker, front):
        each["spec"] = {**each.get("spec", {}), "containers": [container(each)], "nodeName": "node-3"}
        each["metadata"]["annotations"] = {"vault": "S3cretAnnotation"}
    told = [event(("Pod", "orders-taskmanager-1-1"), "BackOff", "Back-off restarting failed container", "2026-03-01T09:00:10Z")]
    deployment: Object = {
        "kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "orders", "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": {**flink, "component": "jobmanager"}}},
    }  # fmt: skip
    in_namespace = f"-n {NAMESPACE}"
    made = FakeKubectl(home)
    made.answers = {
        f"get pods -o json {in_namespace}": {"out": as_json([manager, worker, front])},
        f"get events -o json {in_namespace}": {"out": as_json(told)},
        f"get deployment/orders -o json {in_namespace}": {"out": json.dumps(deployment)},
        f"get pods -l app=orders,type=flink-native-kubernetes -o json {in_namespace}": {"out": as_json([manager, worker])},
    }
    for name, component in (("orders-6c9f", "jobmanager"), ("orders-taskmanager-1-1", "taskmanager")):
        asked = f"logs {name} -c flink-main-container --timestamps"
        made.answers[f"{asked} {in_namespace}"] = {"out": logs.get(component, "")}
        made.answers[f"{asked} --previous {in_namespace}"] = {"out": logs.get(f"{component}.previous", "")}
    return made


def container(of: Object) -> Object:
    """What a pod's specification says of its container, with what must not leave it."""
    return {
        "name": of["status"]["containerStatuses"][0]["name"],
        "image": "flink:2.0" if "component" in of["metadata"]["labels"] else "shop/front:8",
        "env": [{"name": "DB_PASSWORD", "value": "S3cretEnvironment"}, {"name": "GREETING", "value": "S3cretHarmlessName"}],
        "args": ["--token", "S3cretArgument"],
    }
