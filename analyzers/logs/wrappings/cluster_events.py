"""Events of Kubernetes as `kubectl get events -o json|yaml` and `kubectl cluster-info dump` save them, alone or beside other
objects: each as the line that `kubectl get events` prints for it, at the time when it was seen last. And the status of a FlinkDeployment or
FlinkSessionJob, as the line that Flink's operator logs for it, and of a SparkApplication, as the event that its operator records.

Source: Event of core/v1 (involvedObject, message, lastTimestamp) and of events.k8s.io/v1 (regarding, note, series); AuditUtils of
flink-kubernetes-operator; SparkApplicationStatus of v1beta2 and its events in kubeflow's spark-operator; ApplicationState of Apache's
spark-kubernetes-operator.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from analyzers.logs.layouts.timestamps import to_datetime
from analyzers.logs.matching.expressions import expression
from analyzers.logs.wrappings import documents, plain_yaml
from analyzers.logs.wrappings.records import Record, time_of

DOCUMENT = "events"
"""How `Wrapping.document` calls them."""
_IN_JSON = expression(rb"\"(?:involvedObject|regarding|applicationState)\"\s*:\s*\{|\"(?:lifecycleState|currentStateSummary)\"\s*:\s*\"")
_IN_YAML = expression(
    rb"^[ -]*(?:(?:involvedObject|regarding|applicationState):[ \t]*\r?$|(?:lifecycleState|currentStateSummary): \w)", re.MULTILINE
)
_YAML_BEGINS = expression(rb"(?:---\s+|#[^\n]*\n\s*)*apiVersion:\s")


def begins_in_yaml(text: bytes) -> bool:
    """Whether YAML that begins with `text` is a document of Kubernetes."""
    return _YAML_BEGINS.match(text[:4096].lstrip()) is not None


def are_in(text: bytes) -> bool:
    """Whether a document of Kubernetes, or its beginning, holds events or the status of resources."""
    beginning = text[:4096].lstrip()
    if beginning[:1] == b"{":
        return b'"apiVersion"' in text and _IN_JSON.search(text) is not None
    return begins_in_yaml(text) and _IN_YAML.search(text) is not None


def objects_of(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of an answer of the API: those of a list, or the one that it is."""
    items = value.get("items") if isinstance(value, Mapping) else None
    if isinstance(items, list):
        yield from (item for item in items if isinstance(item, Mapping))
    elif isinstance(value, Mapping):
        yield value


def objects_in(text: str) -> Iterator[Mapping[str, Any]]:
    """All objects of a text that kubectl printed, each with its kind: a list of one kind leaves it out. Of JSON that lacks its end those
    that are whole. Raises ``ValueError`` for what is no JSON."""
    listed = _KIND.search(text[:4096]) or _KIND_IN_YAML.search(text)
    for value in _values(text):
        for item in objects_of(value):
            yield item if item.get("kind") or listed is None else {"kind": listed[1], **item}


def is_event(item: Mapping[str, Any]) -> bool:
    """Whether an object is an event; a list in YAML or JSON may leave the kinds of its objects out."""
    return isinstance(_about(item), Mapping) and "reason" in item


def is_status(item: Mapping[str, Any]) -> bool:
    """Whether an object is a resource of an operator of Flink or Spark that has a status."""
    status = item.get("status")
    if not isinstance(status, Mapping) or not isinstance(item.get("metadata"), Mapping):
        return False
    return isinstance(status.get("lifecycleState"), str) or _spark_state(status) is not None


def is_line(item: Mapping[str, Any]) -> bool:
    """Whether an object is read as a line of a log."""
    return is_event(item) or is_status(item)


def about(item: Mapping[str, Any]) -> tuple[str, str]:
    """Kind and name of the object that an event is about."""
    what = _about(item) or {}
    return str(what.get("kind") or ""), str(what.get("name") or "")


def _about(item: Mapping[str, Any]) -> Any:
    return item.get("involvedObject") or item.get("regarding")


def last_seen(item: Mapping[str, Any]) -> Any:
    """When an event was seen last, as it is stated."""
    series = item.get("series")
    times = (
        series.get("lastObservedTime") if isinstance(series, Mapping) else None,
        item.get("lastTimestamp"), item.get("deprecatedLastTimestamp"), item.get("eventTime"), item.get("firstTimestamp"),
    )  # fmt: skip
    return next((time for time in times if time), None)


def record_of(item: Mapping[str, Any]) -> Record:
    """An event as a line of a log."""
    kind, name = about(item)
    words = " ".join(str(item.get("message") or item.get("note") or "").split())
    seen = time_of(last_seen(item))
    return Record(f"{item.get('type') or 'Normal':<7}   {item['reason']:<18} {kind.lower()}/{name}      {words}", seen)


def status_of(item: Mapping[str, Any]) -> Record:
    """The status of a resource as a line of the operator's log, or as its event. Its time is that of the last reconciliation, or of the
    last end or start."""
    meta, status = item["metadata"], item["status"]
    if (spark := _spark_state(status)) is not None:
        return _spark_event(str(meta.get("name") or ""), spark)
    error, done = status.get("error"), status.get("reconciliationStatus")
    seen = time_of(done.get("reconciliationTimestamp") if isinstance(done, Mapping) else None) or time_of(meta.get("creationTimestamp"))
    at = f"{to_datetime(seen):%Y-%m-%dT%H:%M:%S}.000Z " if seen is not None else ""
    kind, words = ("Error", " ".join(str(error).split())) if error else ("Info", "")
    line = f"{at}o.a.f.k.o.l.AuditUtils           [INFO ][{meta.get('namespace')}/{meta.get('name')}] "
    return Record(f"{line}>>> Status | {kind:<7} | {status['lifecycleState']:<15} | {words}", seen)


@dataclass(frozen=True)
class _SparkState:
    state: str
    error: str
    at: Any
    executors: str


def _spark_state(status: Mapping[str, Any]) -> _SparkState | None:
    """What the status of a SparkApplication says; None where it is none of one."""
    of_kubeflow, of_apache = status.get("applicationState"), status.get("currentState")
    if isinstance(of_kubeflow, Mapping) and isinstance(of_kubeflow.get("state"), str):
        listed = status.get("executorState")
        counts = Counter(str(each) for each in listed.values()) if isinstance(listed, Mapping) else Counter[str]()
        at = status.get("terminationTime") or status.get("lastSubmissionAttemptTime")
        executors = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
        return _SparkState(of_kubeflow["state"] or "NEW", _words(of_kubeflow.get("errorMessage")), at, executors)
    if isinstance(of_apache, Mapping) and isinstance(of_apache.get("currentStateSummary"), str):
        return _SparkState(of_apache["currentStateSummary"], _words(of_apache.get("message")), of_apache.get("lastTransitionTime"), "")
    return None


def _spark_event(name: str, spark: _SparkState) -> Record:
    failed = _SPARK_FAILED.search(spark.state) is not None
    beside = f" (executors: {spark.executors})" if spark.executors else ""
    if spark.state in _NOT_SUBMITTED:
        error = spark.error or f"it is {spark.state}"
        reason, words = "SparkApplicationSubmissionFailed", f"failed to submit SparkApplication {name}: {error}"
    elif failed:
        reason, words = "SparkApplicationFailed", f"SparkApplication {name} failed: {spark.error or f'it is {spark.state}'}{beside}"
    else:
        reason = f"SparkApplication{spark.state.title().replace('_', '')}"
        words = f"SparkApplication {name} is {spark.state}{beside}" + (f", {spark.error}" if spark.error else "")
    return Record(f"{'Warning' if failed else 'Normal':<7}   {reason:<18} sparkapplication/{name}      {words}", time_of(spark.at))


def _words(said: Any) -> str:
    return " ".join(str(said or "").split())


def read(text: str) -> Iterator[tuple[Record, int]]:
    """The events of a text in the order of their times, each with the line that names it, from 1. Raises ``ValueError`` for no JSON."""
    found: list[tuple[Record, int]] = []
    place, line = 0, 1
    for item in objects_in(text):
        if not is_line(item):
            continue
        meta = item.get("metadata")
        named = str(meta.get("name") or "") if isinstance(meta, Mapping) else ""
        if named and (at := text.find(named, place)) >= 0:
            line += text.count("\n", place, at)
            place = at
        found.append((record_of(item) if is_event(item) else status_of(item), line))
    yield from sorted(found, key=lambda each: each[0].time_ms or 0)


def _values(text: str) -> Iterator[Any]:
    if text.lstrip().startswith("{"):
        return documents.values(text)
    return (value for part in _DOCUMENTS.split(text) for value in _in_yaml(part.split("\n")))


def _in_yaml(lines: Sequence[str]) -> Iterator[Any]:
    """The document of `lines`; of a list one object after the other, however many there are."""
    begins = [number for number, line in enumerate(lines) if line.startswith("- ")]
    if not begins or "items:" not in lines[: begins[0]]:
        yield plain_yaml.read(lines)
        return
    end = next((number for number in range(begins[-1] + 1, len(lines)) if lines[number][:1].isalpha()), len(lines))
    for begin, after in pairwise([*begins, end]):
        yield from plain_yaml.read(lines[begin:after])


_SPARK_FAILED = expression(r"(?i)fail|evicted|timedout|unknown")
_NOT_SUBMITTED = ("SUBMISSION_FAILED", "SchedulingFailure")
_DOCUMENTS = expression(r"^---[ \t]*$", re.MULTILINE)
_KIND_IN_YAML = expression(r"^kind: (\w+)List$", re.MULTILINE)
_KIND = expression(r"\"kind\"\s*:\s*\"(\w+)List\"")
