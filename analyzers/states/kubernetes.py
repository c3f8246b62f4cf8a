"""Pods as `kubectl` shows them: described, listed, or as JSON or YAML. Each container with its state, how it ended last, and its restarts.

Events below a description or beside pods, and lists of pods that do not start, are read as lines of a log, too: rules know their texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from itertools import pairwise
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.logs.wrappings import cluster_events, plain_yaml
from analyzers.states.state import State, Text, Values

SHAPE = "view of pods"
SIGNS = (b"containerStatuses", b"Restart Count:", b"RESTARTS", b"Container ID:")

_DESCRIBED = expression(r"^Name:\s+(?P<pod>[a-z0-9][\w.-]*)\s*$")
_FIELD = expression(r"^(?P<indent> *)(?P<key>[A-Z][\w -]*|[\w.-]+):\s*(?P<value>.*)$")
_LISTED = expression(r"^(?:NAMESPACE\s+)?NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\b")
_RFC_1123 = "%a, %d %b %Y %H:%M:%S %z"


def read(text: Text) -> Iterator[State]:
    """Every view of pods in a text."""
    for document in text.documents:
        state = State(SHAPE, document.first, document.last, trouble="ends in the middle of its JSON" if document.cut else None)
        _pods(document.value, state)
        state.also_log = any(map(cluster_events.is_line, cluster_events.objects_of(document.value)))
        if state.rows:
            yield state
    yield from _yaml(text.lines)
    yield from _described(text.lines)
    yield from _listed(text.lines)


def _pods(value: Any, state: State) -> None:
    """The pods of an answer of the API: one, or a list of them."""
    items = value.get("items") if isinstance(value, Mapping) else None
    for pod in items if isinstance(items, list) else [value]:
        if not isinstance(pod, Mapping) or not isinstance(status := pod.get("status"), Mapping):
            continue
        listed = [each for name in ("initContainerStatuses", "containerStatuses") for each in _list(status.get(name))]
        meta = _map(pod.get("metadata"))
        for each in listed:
            now, last = _ended(each.get("state")), _ended(each.get("lastState"))
            state.add("pod_containers", {
                "namespace": meta.get("namespace"), "pod": meta.get("name"), "container": each.get("name"),
                "node": _map(pod.get("spec")).get("nodeName"),
                "phase": status.get("phase"), "ready": each.get("ready") if isinstance(each.get("ready"), bool) else None,
                "restarts": each.get("restartCount") if isinstance(each.get("restartCount"), int) else None,
                "state": now["state"], "reason": status.get("reason") or now["reason"],
                "message": status.get("message") or now["message"],
                "exit_code": now["exit_code"], "last_reason": last["reason"], "last_exit_code": last["exit_code"],
                "started_at": now["started_at"], "last_finished_at": last["finished_at"],
            })  # fmt: skip


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _ended(value: Any) -> Values:
    """``running``, ``waiting`` or ``terminated`` with what is said of it."""
    out: Values = dict.fromkeys(("state", "reason", "message", "exit_code", "started_at", "finished_at"))
    for name, said in value.items() if isinstance(value, Mapping) else ():
        if isinstance(said, Mapping):
            code = said.get("exitCode")
            out |= {"state": str(name).capitalize(), "reason": said.get("reason"), "message": said.get("message")}
            out |= {"exit_code": code if isinstance(code, int) else None}
            out |= {"started_at": _time(said.get("startedAt")), "finished_at": _time(said.get("finishedAt"))}
    return out


def _time(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00")).astimezone(timezone.utc) if value else None
    except (ValueError, OverflowError):
        try:
            return datetime.strptime(str(value), _RFC_1123).astimezone(timezone.utc)
        except (ValueError, OverflowError):
            return None


def yaml_documents(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where documents stand that begin with ``apiVersion``: their first line, and the one behind their last."""
    begins = [number for number, line in enumerate(lines) if line.startswith("apiVersion:")]
    for begin, after in pairwise([*begins, len(lines)]):
        yield (
            begin,
            next((number for number in range(begin + 1, after) if lines[number] and not re.match(r"[ \w\"-]", lines[number])), after),
        )


def _yaml(lines: Sequence[str]) -> Iterator[State]:
    """Documents that hold container statuses."""
    for begin, end in yaml_documents(lines):
        if not any("containerStatuses:" in line for line in lines[begin:end]):
            continue
        state = State(SHAPE, begin, end)
        value = plain_yaml.read(lines[begin:end])
        _pods(value, state)
        state.also_log = any(map(cluster_events.is_line, cluster_events.objects_of(value)))
        if state.rows:
            yield state


def _described(lines: Sequence[str]) -> Iterator[State]:
    """``kubectl describe pod``: fields by their indent."""
    begins = [number for number, line in enumerate(lines) if _DESCRIBED.match(line)]
    for begin, after in pairwise([*begins, len(lines)]):
        state = State(SHAPE, begin, begin + 1, also_log=True)
        pod: Values = {}
        values: Values = {}
        probes: dict[str, str] = {}
        section = part = ""
        for number in range(begin, after):
            m = _FIELD.match(lines[number])
            if m is None:
                continue
            indent, key, value = len(m["indent"]), m["key"], m["value"].strip()
            if indent == 0:
                section = key
                if key == "Events":
                    _probed(lines[number + 1 : after], state.rows.get("pod_containers", ()), probes)
                    break
                pod[key] = value
            elif section in ("Containers", "Init Containers") and indent == 2 and not value:
                values = {"container": key, "last_reason": None}
                state.add("pod_containers", values)
                part = ""
            elif section in ("Containers", "Init Containers") and values:
                if indent == 4 and key in ("Liveness", "Startup"):
                    probes[f"{values['container']} {key.lower()}"] = value
                part = _take(values, indent, key, value, part)
            state.last = number + 1
        for row in state.rows.get("pod_containers", ()):
            row |= {
                "pod": pod.get("Name"), "namespace": pod.get("Namespace"), "node": (pod.get("Node") or "").partition("/")[0] or None,
                "phase": pod.get("Status"), "reason": row.get("reason") or pod.get("Reason"),
            }  # fmt: skip
        if any("restarts" in row for row in state.rows.get("pod_containers", ())):
            yield state


_PROBE_KILLS = expression(
    r"\sKilling\s.*?(?:\(x(?P<times>\d{1,9}) over [^)]{1,20}\))?\s+kubelet\s+Container (?P<container>\S+) "
    r"failed (?P<probe>liveness|startup) probe, will be restarted"
)
_PROBE_FAILS = expression(r"\sUnhealthy\s.*?\s(?P<probe>Liveness|Startup) probe failed: (?P<said>\S.*)$")
_MOST_EVENTS = BUDGET.kubernetes_events


def _probed(events: Sequence[str], containers: Sequence[Values], probes: Mapping[str, str]) -> None:
    """What the events below a description say of probes for which containers were killed. Source: the kubelet's prober."""
    said: dict[str, str] = {}
    for line in events[:_MOST_EVENTS]:
        if m := _PROBE_FAILS.search(line):
            said[m["probe"].lower()] = m["said"].strip()
    for line in events[:_MOST_EVENTS]:
        m = _PROBE_KILLS.search(line)
        for values in containers if m else ():
            if m is not None and values["container"] == m["container"]:
                values |= {
                    "probe": m["probe"], "probe_kills": int(m["times"] or 1),
                    "probe_rule": probes.get(f"{m['container']} {m['probe']}"), "probe_said": said.get(m["probe"]),
                }  # fmt: skip


def _take(values: Values, indent: int, key: str, value: str, part: str) -> str:
    """A field of a container; gives the part that the next ones belong to."""
    if indent == 4:
        if key == "State":
            values["state"] = value
        elif key == "Ready":
            values["ready"] = value == "True"
        elif key == "Restart Count" and value.isdigit():
            values["restarts"] = int(value)
        return key
    last = {"State": "", "Last State": "last_"}.get(part)
    if last is not None:
        if key == "Reason":
            values[f"{last}reason"] = value
        elif key == "Exit Code" and value.lstrip("-").isdigit():
            values[f"{last}exit_code"] = int(value)
        elif key == "Finished" and last:
            values["last_finished_at"] = _time(value)
        elif key == "Started" and not last:
            values["started_at"] = _time(value)
    elif part == "Limits" and key == "memory":
        values["memory_limit"] = value
    return part


_ROW = expression(
    r"^(?:(?P<namespace>[a-z0-9-]+)\s+)?(?P<pod>[a-z0-9][\w.-]*)\s+(?P<ready>\d+)/(?P<of>\d+)\s+(?P<status>[A-Z][\w:]*)\s+(?P<restarts>\d+)"
    r"(?: \([^)\n]*\))?\s+(?P<age>\S+)"
)


def _listed(lines: Sequence[str]) -> Iterator[State]:
    """``kubectl get pods``."""
    for begin, line in enumerate(lines):
        if not _LISTED.match(line):
            continue
        state = State(SHAPE, begin, begin + 1, also_log=True)
        for number in range(begin + 1, len(lines)):
            m = _ROW.match(lines[number])
            if m is None:
                break
            state.last = number + 1
            status = m["status"].rpartition(":")[2]
            state.add("pod_containers", {
                "namespace": m["namespace"], "pod": m["pod"], "state": "Running" if status == "Running" else "Waiting",
                "reason": m["status"],
                "ready": m["ready"] == m["of"], "restarts": int(m["restarts"]),
                "age": m["age"],
            })  # fmt: skip
        if state.rows:
            yield state
