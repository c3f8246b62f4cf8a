"""Answers of monitoring systems as JSON: Prometheus' query and query_range, Grafana's data frames, CloudWatch, Jolokia, Flink's metrics.

A sum that CloudWatch counted anew in each period becomes a running total, as an exporter would show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from itertools import accumulate
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.states.clocks import Clocks
from analyzers.states.metric_store import Sample, Store, moment_of
from analyzers.states.state import Document, State, Text

SHAPE = "metrics answer"
SIGNS = (b'"mbean"', b'"resultType"', b'"MetricDataResults"', b'"Datapoints"', b'"frames"', b'Watermark"')
_SUM = expression(r"\(Sum\)|\bSum\b|\bSUM\b")
_PAIR = expression(r"\b([A-Za-z_]\w*)=(\S+)")
_PROPERTY = expression(r"[:,]([\w-]+)=(\"[^\"]*\"|[^,]*)")
_OF_SUBTASK = expression(r"^(?:(?P<subtask>\d+)\.)?(?P<name>[\w.:() -]+)$")
_COUNT = expression(r"(?:^|\.)(?:num|read-|write-)|Total$|Count$")
_AGGREGATES = frozenset({"value", "sum", "min", "max", "avg"})
_PATH = expression(r"/jobs/(?P<job>[^/\s?]+)(?:/vertices/(?P<vertex>[^/\s?]+)(?:/subtasks/(?P<subtask>\d{1,5})/)?)?")
_EACH = expression(r"(?<=/subtasks/)\$\{?\w{1,40}\}?(?=/)")
"""A variable of a loop over subtasks."""
_MOST_POINTS = BUDGET.metric_points
Point = tuple[datetime | None, float]
Found = tuple[str, dict[str, str], list[Point]]


def read(text: Text) -> Iterator[State]:
    """Every answer that holds metrics."""
    clocks = Clocks(text.lines)
    asked, end, answers = "", -1, 0
    for document in text.documents:
        clock = clocks.before(document.first)
        stated = clock.at if clock.zoned else None
        if document.first != end or not asked:  # one command prints several answers, in a loop
            asked, answers = "\n".join(text.lines[max(0, document.first - 3) : document.first]), -1
        end, answers = document.last, answers + 1
        store, state = Store(), State(SHAPE, document.first, document.last, at=clock.at)
        number = 0
        for name, labels, points in _found(document.value, _EACH.sub(str(answers), asked)):
            number += 1
            store.begin(number, name, labels)
            for at, value in points[:_MOST_POINTS]:
                store.add(number, Sample(0, at or stated, None, value, document.first + 1))
        store.into([state])
        if document.cut:
            state.trouble = "ends in the middle of its JSON"
        if number:
            state.also_log = _holds_more(document)
            yield state


def _holds_more(document: Document) -> bool:
    """Whether the metrics are one answer of several in one document: others may read the rest."""
    return isinstance(document.value, Mapping) and any(_is_path(key) for key in document.value)


def _is_path(key: str) -> bool:
    return key.startswith(("/", "GET /", "http"))


def _found(value: Any, asked: str) -> Iterator[Found]:
    if isinstance(value, Mapping):
        yield from _of_prometheus(value.get("data", value))
        yield from _of_cloudwatch(value)
        yield from _of_grafana(value)
        yield from _of_jolokia([value])
        for key, inner in value.items():
            if isinstance(key, str) and _is_path(key):
                yield from _found(inner, key)
    elif isinstance(value, list):
        yield from _of_flink(value, asked)
        yield from _of_jolokia(_objects(value))


def _of_prometheus(data: Any) -> Iterator[Found]:
    """`data` of an answer: a vector, or a matrix. Source: Prometheus' HTTP API."""
    if not isinstance(data, Mapping) or data.get("resultType") not in ("vector", "matrix"):
        return
    for each in _objects(data.get("result")):
        metric = each.get("metric")
        if not isinstance(metric, Mapping):
            continue
        labels = {str(k): str(v) for k, v in metric.items() if k != "__name__"}
        pairs = each["values"] if isinstance(each.get("values"), list) else [each.get("value")]
        points = [(moment_of(str(p[0])), _number(p[1])) for p in pairs if isinstance(p, list) and len(p) == 2]
        yield str(metric.get("__name__", "")), labels, [(at, v) for at, v in points if v is not None]


def _of_cloudwatch(value: Mapping[str, Any]) -> Iterator[Found]:
    """`aws cloudwatch get-metric-data`, and `get-metric-statistics`."""
    for each in _objects(value.get("MetricDataResults")):
        label = str(each.get("Label") or each.get("Id") or "")
        times, values = each.get("Timestamps"), each.get("Values")
        if isinstance(times, list) and isinstance(values, list):
            yield _labelled(label, list(zip(map(_time, times), map(_number, values), strict=False)), bool(_SUM.search(label)))
    points = _objects(value.get("Datapoints"))
    if points and isinstance(value.get("Label"), str):
        kind = next((kind for kind in ("Sum", "Maximum", "Average") if kind in points[0]), "Sum")
        yield _labelled(value["Label"], [(_time(p.get("Timestamp")), _number(p.get(kind))) for p in points], kind == "Sum")


def _labelled(label: str, points: Sequence[tuple[datetime | None, float | None]], summed: bool) -> Found:
    """A series whose name is in a label: dimensions as `NAME=VALUE`, the statistic in brackets."""
    labels = dict(_PAIR.findall(label))
    words = _SUM.sub("", _PAIR.sub("", label)).strip(" ()")
    known: list[Point] = sorted(((at, v) for at, v in points if at is not None and v is not None), key=_at)
    if summed:
        known = [(at, total) for (at, _), total in zip(known, accumulate(v for _, v in known), strict=True)]
    resource = words.split(" ", 1)
    if len(resource) == 2 and "-" in resource[0]:  # a dashboard's label begins with the stream that it is of
        labels.setdefault("StreamName", resource[0])
    return words, labels, known


def _at(point: Point) -> datetime:
    return point[0] or datetime.min.replace(tzinfo=timezone.utc)


def _of_grafana(value: Mapping[str, Any]) -> Iterator[Found]:
    """Data frames: of `/api/ds/query`, or of a panel's Inspect → Data."""
    results = value.get("results")
    holders: Iterable[Any] = results.values() if isinstance(results, Mapping) else [value]
    for frame in (f for holder in holders if isinstance(holder, Mapping) for f in _objects(holder.get("frames"))):
        schema, data = frame.get("schema"), frame.get("data")
        fields = _objects(schema.get("fields")) if isinstance(schema, Mapping) else []
        columns = data.get("values") if isinstance(data, Mapping) else None
        if not isinstance(columns, list) or len(columns) != len(fields) or not all(isinstance(c, list) for c in columns):
            continue
        times = next((c for f, c in zip(fields, columns, strict=True) if f.get("type") == "time"), None)
        for each, column in zip(fields, columns, strict=True):
            if times is None or each.get("type") == "time":
                continue
            own = each.get("labels")
            labels = {str(k): str(v) for k, v in own.items()} if isinstance(own, Mapping) else {}
            name = labels.pop("__name__", None) or str(each.get("name") or frame.get("name") or "")
            points = [(moment_of(str(t)), _number(v)) for t, v in zip(times, column, strict=False)]
            yield name, labels, [(at, v) for at, v in points if v is not None]


def _of_jolokia(answers: Sequence[Mapping[str, Any]]) -> Iterator[Found]:
    """Jolokia's answers: attributes of a bean, or of each bean that a pattern finds, as `{bean: {attribute: number}}`."""
    for each in answers:
        request, value, at = each.get("request"), each.get("value"), moment_of(str(each.get("timestamp")))
        bean = request.get("mbean") if isinstance(request, Mapping) else None
        if not isinstance(bean, str) or value is None or not isinstance(request, Mapping):
            continue
        asked = request.get("attribute")
        single = not isinstance(value, Mapping)
        beans = {bean: {asked: value} if single and isinstance(asked, str) else value} if "*" not in bean else value
        for name, attributes in beans.items() if isinstance(beans, Mapping) else ():
            labels = {k: v.strip('"') for k, v in _PROPERTY.findall(str(name))}
            kind = labels.pop("type", "")
            for attribute, number in attributes.items() if isinstance(attributes, Mapping) else ():
                if (known := _number(number)) is not None:
                    yield f"{kind}.{labels.get('name', '')}.{attribute}", labels, [(at, known)]


def _of_flink(value: Sequence[Any], asked: str) -> Iterator[Found]:
    """`/jobs/ID/vertices/ID/subtasks/metrics`, `…/metrics`, `…/watermarks`: ids with values, or aggregates, of what the path names."""
    items = [e for e in value if isinstance(e, Mapping)]
    if not items or not all(isinstance(e.get("id"), str) and _AGGREGATES & e.keys() for e in items):
        return
    paths = list(_PATH.finditer(asked))
    whose = {k: v for k, v in paths[-1].groupdict().items() if v and not v.startswith(":")} if paths else {}
    labels = {name: whose[key] for name, key in (("job_id", "job"), ("task_id", "vertex"), ("subtask_index", "subtask")) if key in whose}
    for each in items:
        m, number = _OF_SUBTASK.match(each["id"]), _number(next((each[kind] for kind in _aggregates(each["id"]) if kind in each), None))
        if m is not None and number is not None:
            operator, _, name = m["name"].rpartition(".")
            own = {"subtask_index": m["subtask"]} if m["subtask"] else {}
            yield name, {**labels, **own, **({"operator_name": operator} if operator else {})}, [(None, number)]


def _aggregates(name: str) -> tuple[str, ...]:
    """Which value of an answer over all subtasks is the operator's: the sum of a count, the lowest watermark, the highest of other gauges.

    Source: AbstractAggregatingMetricsHandler of Flink.
    """
    if "atermark" in name:
        return "value", "min", "avg", "max"
    return ("value", "sum", "avg", "max", "min") if _COUNT.search(name) else ("value", "max", "avg", "min", "sum")


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _time(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00")).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return moment_of(str(value))
