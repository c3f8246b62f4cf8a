"""Custom resources of the operators of Flink, Spark and Strimzi as `kubectl get -o json|yaml` and `describe` show them: status, conditions.

A status of Flink's or Spark's operator is read as a line of its log, too (`logs/wrappings/cluster_events.py`): rules know what it says.
Source: CommonStatus, FlinkDeploymentStatus, FlinkStateSnapshotStatus and FlinkBlueGreenDeploymentStatus of flink-kubernetes-operator
1.10 to 1.15; SparkApplicationStatus of v1beta2; Status and Condition of strimzi-kafka-operator.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.logs.wrappings import cluster_events, plain_yaml
from analyzers.secrets import scrub
from analyzers.states import described
from analyzers.states.clocks import Clocks
from analyzers.states.kubernetes import yaml_documents
from analyzers.states.state import State, Text, Values

SHAPE = "view of an operator's resources"
SIGNS = (b"flink.apache.org/", b"strimzi.io/", b"sparkoperator.k8s.io/", b"spark.apache.org/")
GLANCE = re.compile(
    rb"(?:apiVersion|API Version)[\"']?\s*:\s*[\"']?(?:\w+\.)?(?:flink\.apache\.org|strimzi\.io|sparkoperator\.k8s\.io|spark\.apache\.org)/"
)
_GROUP = expression(r"(?:\w+\.)?(?:flink\.apache\.org|strimzi\.io|sparkoperator\.k8s\.io|spark\.apache\.org)/")
_TIME = expression(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_OF_CONNECT = ("KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2")
"""Whose status has that of connectors within, which is read as their worker logs it (`logs/wrappings/connect_status.py`)."""
_MOST_DEPTH = BUDGET.state_depth
_LONGEST_WORDS = 2_000
_MILLISECONDS = expression(r"\d{12,14}")


def read(text: Text) -> Iterator[State]:
    """Every view of such resources in a text."""
    clocks = Clocks(text.lines)
    views = [(document.value, document.first, document.last, document.cut) for document in text.documents]
    views += [(plain_yaml.read(text.lines[first:last]), first, last, False) for first, last in yaml_documents(text.lines)]
    of_describe = list(described.documents(text.lines))
    views += [(value, first, last, False) for value, first, last in of_describe]
    of_text = {first for _, first, _ in of_describe}
    for value, first, last, cut in sorted(views, key=lambda view: view[1]):
        state = State(SHAPE, first, last, trouble="ends in the middle of its JSON" if cut else None)
        items = list(cluster_events.objects_of(value))
        for item in items:
            if _is_one(item):
                _take(state, item, _line_of(text, first, last, item))
        if state.rows:
            clock = clocks.before(first)
            state.at = clock.at if clock.at is not None else max(_times(value), default=None)
            for row in state.rows["custom_resources"]:
                row["shown_at"] = state.at
            state.also_log = first in of_text or any(cluster_events.is_line(item) or item.get("kind") in _OF_CONNECT for item in items)
            yield state


def _is_one(item: Mapping[str, Any]) -> bool:
    meta = item.get("metadata")
    named = isinstance(meta, Mapping) and isinstance(meta.get("name"), str) and isinstance(item.get("kind"), str)
    return named and _GROUP.match(str(item.get("apiVersion"))) is not None and isinstance(item.get("status"), Mapping)


def _line_of(text: Text, first: int, last: int, item: Mapping[str, Any]) -> int:
    """The line of a view that names the resource."""
    name = str(item["metadata"]["name"])
    ends = (f'"name": "{name}"', f'"name":"{name}"', f"name: {name}")
    return next((number + 1 for number in range(first, last) if any(end in text.lines[number] for end in ends)), first + 1)


def _take(state: State, item: Mapping[str, Any], line: int) -> None:
    meta, status, spec = item["metadata"], item["status"], _map(item.get("spec"))
    job, done, application = _map(status.get("jobStatus")), _map(status.get("reconciliationStatus")), _map(status.get("applicationState"))
    owners = meta.get("ownerReferences")
    owner = _map(owners[0]) if isinstance(owners, list) and owners else {}
    place: Values = {"kind": item["kind"], "namespace": _text(meta.get("namespace")), "name": meta["name"], "line": line}
    own_state = _map(status.get("currentState")).get("currentStateSummary") or application.get("state")
    state.add("custom_resources", {
        **place, "owner": f"{owner.get('kind')}/{owner.get('name')}" if owner else None, "generation": _count(meta.get("generation")),
        "observed_generation": _count(status.get("observedGeneration")), "specified_at": _specified(meta),
        "wanted": _text(_map(spec.get("job")).get("state")),
        "state": _text(status.get("lifecycleState") or status.get("blueGreenState") or status.get("state") or own_state),
        "job": _text(job.get("jobId")), "job_state": _text(job.get("state")), "job_changed_at": _time(job.get("updateTime")),
        "manager_state": _text(status.get("jobManagerDeploymentStatus")), "reconciliation": _text(done.get("state")),
        "attempts": _count(status.get("submissionAttempts", status.get("failures"))),
        "error": _words(status.get("error") or application.get("errorMessage")),
    })  # fmt: skip
    conditions = status.get("conditions")
    for each in conditions if isinstance(conditions, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("type"), str):
            state.add("resource_conditions", {
                **place, "type": each["type"], "status": str(each.get("status")), "reason": _text(each.get("reason")),
                "message": _words(each.get("message")), "since": _time(each.get("lastTransitionTime")),
            })  # fmt: skip


def _specified(meta: Mapping[str, Any]) -> datetime | None:
    """When the resource was changed last, other than by its operator, which writes the status."""
    fields = meta.get("managedFields")
    every = [_map(each) for each in fields] if isinstance(fields, list) else []
    times = [
        _time(each.get("time")) for each in every if each.get("subresource") != "status" and "operator" not in str(each.get("manager"))
    ]
    return max((at for at in times if at is not None), default=None)


def _words(value: Any) -> str | None:
    """The words of an error; of a serialized exception those of its deepest cause."""
    if not isinstance(value, str) or not value.strip():
        return None
    try:
        error = json.loads(value)
    except (ValueError, RecursionError):
        error = None
    if isinstance(error, Mapping):
        causes = error.get("throwableList")
        chain = [error, *(causes if isinstance(causes, list) else [])]
        deepest = next((each for each in reversed(chain) if isinstance(each, Mapping) and _text(each.get("message"))), None)
        if deepest is not None:
            kind = str(deepest.get("type") or "").rpartition(".")[2]
            value = f"{kind}: {deepest['message']}" if kind and kind != "SerializedThrowable" else str(deepest["message"])
    return scrub(" ".join(value.split())[:_LONGEST_WORDS])


def _times(value: Any, depth: int = 0) -> Iterator[datetime]:
    """The times in an answer."""
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _times(inner, depth + 1)
    elif isinstance(value, str) and (_TIME.match(value) or _MILLISECONDS.fullmatch(value)) and (at := _time(value)) is not None:
        yield at


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else None


def _time(value: Any) -> datetime | None:
    """An ISO time, or milliseconds since 1970 as a number or a string."""
    try:
        if isinstance(value, int) or (isinstance(value, str) and _MILLISECONDS.fullmatch(value)):
            return datetime.fromtimestamp(int(value) / 1000, timezone.utc)
        return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", value).replace("Z", "+00:00")).astimezone(timezone.utc)
    except (ValueError, OverflowError, OSError, TypeError):
        return None
