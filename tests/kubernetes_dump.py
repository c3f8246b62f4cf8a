"""Objects of a Kubernetes namespace as its API answers, saved as `kubectl get -o json|yaml` and `kubectl cluster-info dump` do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

Object = dict[str, Any]
NAMESPACE = "shop"


def pod(
    name: str,
    labels: Mapping[str, str] = {},
    *,
    owner: tuple[str, str] | None = None,
    state: Mapping[str, Any] | None = None,
    last: Mapping[str, Any] | None = None,
    restarts: int = 0,
    container: str = "main",
    namespace: str = NAMESPACE,
    node: str = "node-3",
) -> Object:
    """A pod with one container."""
    now = state or {"running": {"startedAt": "2026-03-01T08:00:05Z"}}
    meta: Object = {"labels": dict(labels), "name": name, "namespace": namespace, "uid": f"uid-of-{name}"}
    if owner is not None:
        meta["ownerReferences"] = [
            {"apiVersion": "v1", "controller": True, "kind": owner[0], "name": owner[1], "uid": f"uid-of-{owner[1]}"}
        ]
    status: Object = {
        "conditions": [{"message": "containers with unready status: [main]: 'quoted', long, and folded by the emitter of YAML",
                        "reason": "ContainersNotReady", "status": "False", "type": "Ready"}],
        "containerStatuses": [{"image": "registry.shop/app:8", "lastState": dict(last or {}), "name": container, "ready": "running" in now,
                               "restartCount": restarts, "state": dict(now)}],
        "phase": "Pending" if "waiting" in now and not last else "Running",
    }  # fmt: skip
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": meta,
        "spec": {"containers": [{"image": "registry.shop/app:8", "name": container}], "nodeName": node}, "status": status,
    }  # fmt: skip


def event(
    about: tuple[str, str], reason: str, message: str, at: str, *, kind: str = "Warning", count: int = 1, namespace: str = NAMESPACE
) -> Object:
    """An event of core/v1."""
    name = f"{about[1]}.{crc32(f'{reason} {message} {at}'.encode()):016x}"
    return {
        "apiVersion": "v1", "count": count, "eventTime": None, "firstTimestamp": at,
        "involvedObject": {"apiVersion": "v1", "kind": about[0], "name": about[1], "namespace": namespace},
        "kind": "Event", "lastTimestamp": at, "message": message,
        "metadata": {"name": name, "namespace": namespace}, "reason": reason,
        "source": {"component": "kubelet"}, "type": kind,
    }  # fmt: skip


def as_json(objects: Iterable[Object], kind: str = "List") -> str:
    """What `-o json` prints. A list of one kind leaves the kinds of its objects out, as the API does."""
    items = [{key: value for key, value in each.items() if kind == "List" or key not in ("kind", "apiVersion")} for each in objects]
    return json.dumps({"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": ""}, "items": items}, indent=4) + "\n"


def as_yaml(objects: Iterable[Object], kind: str = "List") -> str:
    """What `-o yaml` prints: keys in order, items of a list as far left as their key, long strings folded at 80 columns."""
    listed = json.loads(as_json(objects, kind))
    return "\n".join(_yaml(listed, 0)) + "\n"


def _yaml(value: Any, indent: int) -> list[str]:
    space = " " * indent
    lines: list[str] = []
    for key, inner in sorted(value.items()):
        if isinstance(inner, dict) and inner:
            lines += [f"{space}{key}:", *_yaml(inner, indent + 2)]
        elif isinstance(inner, list) and inner:
            lines.append(f"{space}{key}:")
            for item in inner:
                first, *rest = _yaml(item, indent + 2)
                lines += [f"{space}- {first.lstrip()}", *rest]
        else:
            lines += _folded(f"{space}{key}: {_scalar(inner)}", indent + 2)
    return lines


def _scalar(value: Any) -> str:
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z/][\w./-]*(?: [\w./-]+)*|", value):
        return "'" + value.replace("'", "''") + "'"
    return '""' if value == "" else json.dumps(value).strip('"') if not isinstance(value, str) else value


def _folded(line: str, indent: int) -> list[str]:
    lines = []
    while len(line) > 80 and (at := line.rfind(" ", indent + 2, 80)) > indent + 1:
        lines.append(line[:at])
        line = " " * indent + line[at + 1 :]
    return [*lines, line]


def dump(home: Path, objects: Sequence[Object], logs: Mapping[str, Mapping[str, str]]) -> None:
    """What `kubectl cluster-info dump --output-directory=home` writes; `logs`: by pod, those of its containers."""
    kinds = {"Pod": "pods.json", "Event": "events.json"}
    for namespace in {each["metadata"]["namespace"] for each in objects}:
        folder = home / namespace
        folder.mkdir(parents=True)
        own = [each for each in objects if each["metadata"]["namespace"] == namespace]
        for kind, name in kinds.items():
            (folder / name).write_text(as_json([each for each in own if each["kind"] == kind], f"{kind}List"))
        for name in ("services.json", "deployments.json"):
            (folder / name).write_text(as_json([], f"{name.removesuffix('s.json').capitalize()}List"))
        for each in own:
            if each["kind"] == "Pod":
                pod_folder = folder / each["metadata"]["name"]
                pod_folder.mkdir()
                (pod_folder / "logs.txt").write_text(dumped(namespace, each["metadata"]["name"], logs.get(each["metadata"]["name"], {})))
    (home / "nodes.json").write_text(as_json([], "NodeList"))


def dumped(namespace: str, name: str, logs: Mapping[str, str]) -> str:
    """The file of a pod: what its containers printed, each between two lines."""
    return "".join(
        f"==== START logs for container {container} of pod {namespace}/{name} ====\n{text}"
        f"==== END logs for container {container} of pod {namespace}/{name} ====\n"
        for container, text in (logs or {"main": ""}).items()
    )
