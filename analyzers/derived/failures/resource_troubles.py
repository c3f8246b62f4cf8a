"""Where a resource of an operator, its pods and its job contradict each other, or where its operator says what is wrong.

``STABLE`` is about the specification: the job may restart for hours. Restarts, elections and the operator's own looks take a while; what
a healthy deployment shows for a moment counts only where the view shows for how long. A blue/green deployment runs two jobs on purpose
while it changes over, and the new one is not judged before it is active. Source: ResourceLifecycleState, ConditionUtils and
FlinkBlueGreenDeploymentController of flink-kubernetes-operator; StatusUtils of strimzi-kafka-operator.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from analyzers.tables import RESOURCE_TROUBLES, Row

Tables = Mapping[str, Sequence[Row]]
Named = tuple[str, str, str | None, str]
"""Scope, kind, namespace and name."""

LASTS = 300.0
"""Seconds: a restart with its recovery, or a look of the operator, takes less."""
_OVER = ("FINISHED", "CANCELED", "SUSPENDED")
_DOWN = ("RESTARTING", "FAILING", "FAILED", "RECONCILING", "CREATED", "INITIALIZING")
_WITH_JOBS = ("FlinkDeployment", "FlinkSessionJob")
_CHILD = "FlinkBlueGreenDeployment/"
_STRIMZI = ("Kafka", "KafkaNodePool", "KafkaTopic", "KafkaUser", "KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2", "KafkaBridge")
_ON_ITS_WAY = ("Creating", "ReconciliationPaused")
_BAD_POD = re.compile(r"CrashLoopBackOff|ImagePullBackOff|ErrImagePull|InvalidImageName|CreateContainer|OOMKilled|Error|Evicted")
_POD_OF = re.compile(r"(?P<deployment>.+?)-(?:taskmanager-\d+-\d+|[a-z0-9]{6,10}-[a-z0-9]{5})")


def resource_troubles(tables: Tables) -> list[Row]:
    """Rows of ``resource_troubles``: one per resource and thing that is wrong with it, of the newest view of each."""
    newest: dict[Named, Row] = {}
    for row in sorted(tables.get("custom_resources", ()), key=lambda row: row["moment"]):
        newest[_named(row)] = row
    conditions: dict[tuple[Named, int], list[Row]] = defaultdict(list)
    for row in tables.get("resource_conditions", ()):
        conditions[_named(row), row["moment"]].append(row)
    pods = _pods(tables.get("pod_containers", ()))
    asked = {(row["scope"], row["job"]): row for row in tables.get("jobs", ()) if row["job"]}
    logged = {(row["scope"], row["job"]) for row in tables.get("log_events", ()) if row["signature"] == "operator-status"}
    found = []
    for key, row in newest.items():
        own = _Resource(
            row, conditions[key, row["moment"]], pods.get((row["scope"], row["name"]), ()), asked.get((row["scope"], row["job"]))
        )
        found += [RESOURCE_TROUBLES.row({**own.head(), **values}) for values in own.troubles()]
        if row["kind"] in _WITH_JOBS and row["error"] and (row["scope"], f"{row['namespace']}/{row['name']}") not in logged:
            found += [RESOURCE_TROUBLES.row({**own.head(), **values}) for values in own.failed()]
    return found


def _named(row: Row) -> Named:
    return row["scope"], row["kind"], row["namespace"], row["name"]


def _pods(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Containers in their newest view, by the Flink deployment that the name of their pod begins with."""
    newest: dict[tuple[str, str, str | None], Row] = {}
    for row in sorted(rows, key=lambda row: row["moment"]):
        newest[row["scope"], row["pod"] or "", row["container"]] = row
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for (scope, pod, _), row in newest.items():
        if (m := _POD_OF.fullmatch(pod)) is not None:
            found[scope, m["deployment"]].append(row)
    return found


class _Resource:
    def __init__(self, row: Row, conditions: Sequence[Row], pods: Sequence[Row], asked: Row | None) -> None:
        self.row, self.pods, self.asked = row, pods, asked
        self.conditions = {each["type"]: each for each in conditions}

    def head(self) -> dict[str, Any]:
        row = self.row
        names = ("scope", "kind", "namespace", "name", "state", "generation", "observed_generation", "file", "line")
        return {**{name: row[name] for name in names}, "as_of": row["shown_at"], "at": row["shown_at"]}

    def troubles(self) -> Iterator[dict[str, Any]]:
        row = self.row
        if row["kind"] in _WITH_JOBS and row["state"] == "STABLE" and row["wanted"] != "suspended":
            yield from filter(None, (self._job(), self._pods()))
        if row["kind"] == "FlinkStateSnapshot" and row["state"] == "FAILED":
            yield {"reason": "snapshot", "says": row["error"], "text": f"status.state FAILED, failures {row['attempts']}"}
        if row["kind"] == "FlinkBlueGreenDeployment" and row["error"]:
            yield {"reason": "transition", "says": row["error"], "other": row["job_state"], "text": f"blueGreenState {row['state']}"}
        if row["kind"] in _STRIMZI and (trouble := self._not_ready()):
            yield trouble
        if row["generation"] and row["observed_generation"] and row["observed_generation"] < row["generation"]:
            text = f"metadata.generation {row['generation']}, status.observedGeneration {row['observed_generation']}"
            yield {"reason": "not-observed", **self._since(row["specified_at"]), "says": row["error"], "text": text}

    def failed(self) -> Iterator[dict[str, Any]]:
        """What the operator says of a resource that it could not bring about; RST103 knows it of a status that is read as its log."""
        row = self.row
        if "FAILED" in (row["state"], row["job_state"]) or row["manager_state"] in ("ERROR", "MISSING"):
            text = f"lifecycleState {row['state']}, status.error {row['error'][:300]}"
            yield {"reason": "failed", "other": row["job_state"], "says": row["error"], **self._since(row["job_changed_at"]), "text": text}

    def _since(self, since: datetime | None) -> dict[str, Any]:
        shown = self.row["shown_at"]
        known = since is not None and shown is not None and shown >= since
        return {"since": since, "seconds": (shown - since).total_seconds() if known else None}

    def _job(self) -> dict[str, Any] | None:
        """The job of a stable resource does not run, by its condition, its status, or the answer of its JobManager."""
        row, running = self.row, self.conditions.get("Running")
        state, since = row["job_state"], row["job_changed_at"]
        if running is not None and running["status"] == "False":
            since = running["since"]  # of the change; the time of the status may be that of the last look
        elif state not in _DOWN:
            running = None
        asked = self.asked
        if asked is not None and asked["state"] == "FAILED" and state == "RUNNING" and self._is_newer(asked):
            text = f"lifecycleState STABLE, jobStatus.state {state}; the JobManager says {asked['state']}"
            return {"reason": "job", "other": "FAILED", "says": row["error"], "since": asked["ended_at"], "seconds": None, "text": text}
        lasts = self._since(since)
        if state in _OVER or state == "RUNNING" or (state not in _DOWN and running is None) or (lasts["seconds"] or 0.0) < LASTS:
            return None
        said = f", condition Running {running['status']} ({running['reason']})" if running is not None else ""
        text = f"lifecycleState STABLE, jobStatus.state {state}{said}"
        return {"reason": "job", "other": state, "says": row["error"], "condition": running and running["type"], **lasts, "text": text}

    def _is_newer(self, asked: Row) -> bool:
        changed, shown = self.row["job_changed_at"], asked["ended_at"] or asked["as_of"]
        return changed is not None and shown is not None and shown >= changed

    def _pods(self) -> dict[str, Any] | None:
        """Pods of a stable deployment are down."""
        row = self.row
        own = [each for each in self.pods if each["namespace"] in (None, row["namespace"])]
        down = sorted(
            (each for each in own if not each["ready"] and _BAD_POD.search(each["reason"] or "")), key=lambda each: str(each["pod"])
        )
        if row["kind"] != "FlinkDeployment" or not down:
            return None
        first = down[0]
        others = f" and {len(down) - 1} more" if len(down) > 1 else ""
        status = ", ".join(f"{name} {row[column]}" for name, column in _STATUSES if row[column])
        return {
            "reason": "pods", "pod": first["pod"], "other": f"{first['reason']}{others}", "says": first["message"],
            "since": first["last_finished_at"], "text": f"lifecycleState STABLE, {status}; pod {first['pod']} {first['reason']}",
        }  # fmt: skip

    def _not_ready(self) -> dict[str, Any] | None:
        """A resource of Strimzi that its operator calls not ready, with its words."""
        for kind, status in (("NotReady", "True"), ("Ready", "False")):
            said = self.conditions.get(kind)
            if said is not None and said["status"] == status and said["reason"] not in _ON_ITS_WAY and (said["message"] or said["reason"]):
                words = ": ".join(each for each in (said["reason"], said["message"]) if each)
                text = f"condition {kind} {status}, {words}"
                return {"reason": "not-ready", "condition": kind, "says": words, **self._since(said["since"]), "text": text}
        return None


_STATUSES = (("jobManagerDeploymentStatus", "manager_state"), ("jobStatus.state", "job_state"))
