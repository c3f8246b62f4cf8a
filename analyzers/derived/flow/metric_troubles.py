"""What saved metrics show of lost records, and of gauges in alarm.

A counter that grows from one sample to the next while a job reads on counts records that are lost now; the same number twice is over. What
falls began anew with its process: only what was added since then counts. Samples are of one series where name and labels are the same;
of several files only where a label says whose they are: two brokers, each in a file of its own, show the same names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from itertools import pairwise
from typing import Any

from analyzers.states.metric_names import HIGHEST, LOWEST, Meaning, meanings
from analyzers.tables import METRIC_TROUBLES, Row

Tables = Mapping[str, Sequence[Row]]
Series = list[Row]
"""Samples of one series, in order."""

_WHOSE = (
    "connector",
    "operator_name",
    "operator",
    "task_name",
    "task_id",
    "streamname",
    "stream",
    "client_id",
    "clientid",
    "topic",
    "job_name",
    "job_id",
    "job",
)
"""Labels that name who counts, the most particular that is not a part of another first."""
_SINGLE = (
    "instance",
    "host",
    "hostname",
    "pod",
    "pod_name",
    "tm_id",
    "broker",
    "node",
    "connector",
    "operator_name",
    "operator_id",
    "streamname",
    "client_id",
    "clientid",
)
"""Labels that set a process, or a task, apart from others of its kind."""
_PARTS = ("task", "subtask_index", "subtask", "task_number", "partition", "thread_id", "instance", "host", "pod")
QUOTA = "quota-delay"
_CLIENT = ("user", "client_id", "clientid", "client-id")
_PROCESS = ("broker", "broker_id", "instance", "host", "hostname", "pod", "node", "topic")
_FEW = 3
_TELLING = frozenset(
    (
        "connector",
        "task",
        "operator_name",
        "subtask_index",
        "topic",
        "partition",
        "client_id",
        "clientid",
        "streamname",
        "instance",
        "broker",
    )
)
"""Labels that are quoted of a sample with many."""
_DAY = 86400.0
_MOST_PARTS = 8


def metric_troubles(tables: Tables) -> list[Row]:
    """Rows of ``metric_troubles``: one per scope, meaning and owner whose counter grew, and per gauge that is in alarm in every sample."""
    by_scope: dict[str, list[Series]] = defaultdict(list)
    for (scope, *_), series in series_of(tables.get("metric_samples", ())).items():
        by_scope[scope].append(series)
    return [METRIC_TROUBLES.row(row) for scope in sorted(by_scope) for row in _of_scope(by_scope[scope])]


def series_of(rows: Sequence[Row]) -> dict[tuple[Any, ...], Series]:
    """Samples by scope, name and labels, and by file where no label says whose they are; each in the order of time."""
    found: dict[tuple[Any, ...], Series] = defaultdict(list)
    for row in rows:
        labels = row["labels"] or {}
        single = any(name.lower() in _SINGLE for name in labels)
        found[row["scope"], row["name"], tuple(sorted(labels.items())), None if single else row["file"]].append(row)
    return {key: in_order(series) for key, series in found.items()}


def in_order(series: Series) -> Series:
    """By their times where all have one, else as they were pasted."""
    if all(row["at"] for row in series):
        return sorted(series, key=lambda row: (row["at"], row["moment"], row["line"]))
    return sorted(series, key=lambda row: (row["moment"], row["line"]))


def label(row: Row, *names: str) -> str | None:
    """The value of the first of these labels that a sample has, in capitals or not."""
    labels = {name.lower(): value for name, value in (row["labels"] or {}).items()}
    return next((labels[name] for name in names if labels.get(name)), None)


def growth(series: Series) -> float:
    """What was added from the first sample to the last; where the number fell its process began anew."""
    return float(sum(max(0.0, after["value"] - before["value"]) for before, after in pairwise(series)))


def _of_scope(all_series: Sequence[Series]) -> Iterator[Mapping[str, Any]]:
    known = meanings()
    losses: dict[tuple[str, str | None, str | None], list[Series]] = defaultdict(list)
    for series in all_series:
        meaning = known.get(series[-1]["counts"])
        if meaning is None:
            continue  # of a newer diag
        if meaning.kind == "loss" and (growth(series) > 0 or (len(series) == 1 and series[0]["value"] > 0)):
            losses[meaning.id, label(series[-1], *_WHOSE), label(series[-1], "job_name", "job_id", "job")].append(series)
        elif meaning.kind == "alarm" and all(_alarms(meaning, row["value"]) for row in series):
            yield _alarm(meaning, series)
    for (key, owner, _), own in losses.items():
        several = [series for series in own if len(series) > 1]
        yield _loss(known[key], owner, several or own, all_series)


def _alarms(meaning: Meaning, value: float) -> bool:
    if meaning.bound is None:
        return value > 0
    return value > meaning.bound if meaning.when == "above" else value < meaning.bound


def _loss(meaning: Meaning, owner: str | None, own: Sequence[Series], all_series: Sequence[Series]) -> Mapping[str, Any]:
    """A counter of an owner, its parts together; of one sample only the number itself is known."""
    once = all(len(series) == 1 for series in own)
    grew = sum(series[0]["value"] if once else growth(series) for series in own)
    steps = [step for series in own if (step := _first_step(series)) is not None]
    before, after = min(steps, key=lambda step: step[1]["at"] or _LATEST, default=(None, None))
    worst = max(own, key=lambda series: series[0]["value"] if once else growth(series))
    last, beside = worst[-1], _beside(own, all_series, once)
    records = beside.pop("records")
    at = last["at"]
    return {
        **_head(meaning, last), "owner": owner, "first": sum(s[0]["value"] for s in own), "last": sum(s[-1]["value"] for s in own),
        "grew": grew, "records": records, "share": grew / records if records else None, "alone": meaning.alone, "reason": meaning.reason,
        "goes_on": any(len(series) > 1 and series[-1]["value"] > series[-2]["value"] for series in own),
        "moments": max(len(series) for series in own), "parts": _parts(own), **beside,
        "before_at": before["at"] if before else None, "after_at": after["at"] if after else None, "last_at": at,
        "before_shown": _shown(before), "last_shown": _shown(last), "at": (after["at"] if after else None) or at,
        "as_of": max((series[-1]["at"] for series in own if series[-1]["at"]), default=None),
    }  # fmt: skip


_LATEST = datetime.max.replace(tzinfo=timezone.utc)


def _first_step(series: Series) -> tuple[Row, Row] | None:
    """The two samples between which a counter began to grow."""
    return next(((a, b) for a, b in pairwise(series) if b["value"] > a["value"]), None)


def _beside(own: Sequence[Series], all_series: Sequence[Series], once: bool) -> dict[str, float | None]:
    """What the same owner read, logged and set aside meanwhile; the refusals of the same stream."""
    kinds = {"records": "records-read", "logged": "errors-logged", "dead_letters": "dead-letters", "throttled": "throttled"}
    places = {_place(series[-1]) for series in own}
    whose = {label(series[-1], *_WHOSE) for series in own}
    out: dict[str, float | None] = {}
    for name, counts in kinds.items():
        same = [s for s in all_series if s[-1]["counts"] == counts]
        mine = [s for s in same if _place(s[-1]) in places] or [s for s in same if label(s[-1], *_WHOSE) in whose and None not in whose]
        usable = [s for s in mine if once or len(s) > 1]
        out[name] = sum(s[-1]["value"] if once else growth(s) for s in usable) if usable else None
    return out


def _place(row: Row) -> tuple[tuple[str, str], ...]:
    """All labels of a sample: what one task counts has the same."""
    return tuple(sorted((row["labels"] or {}).items()))


def _parts(own: Sequence[Series]) -> list[str]:
    """The tasks or subtasks that count, each with its number."""
    named = [(label(series[-1], *_PARTS), series[-1]["value"]) for series in own]
    found = sorted((name, value) for name, value in named if name is not None)
    return [f"{name}: {value:,.0f}" for name, value in found][:_MOST_PARTS] if len(found) > 1 else []


def _alarm(meaning: Meaning, series: Series) -> Mapping[str, Any]:
    last = series[-1]
    return {
        **_head(meaning, last), "owner": label(last, *(_CLIENT if meaning.id == QUOTA else _PROCESS)),
        "first": series[0]["value"], "last": last["value"], "reason": meaning.id, "moments": len(series), "last_at": last["at"],
        "before_at": series[0]["at"], "before_shown": _shown(series[0]), "last_shown": _shown(last), "at": last["at"], "as_of": last["at"],
    }  # fmt: skip


def _head(meaning: Meaning, row: Row) -> dict[str, Any]:
    return {
        "scope": row["scope"], "counts": meaning.id, "kind": meaning.kind, "says": meaning.says, "name": row["name"],
        "connector": label(row, "connector"), "operator": label(row, "operator_name", "operator", "task_name"),
        "topic": label(row, "topic", "streamname", "stream"), "client": label(row, "client_id", "clientid"),
        "text": shown(row), "file": row["file"], "line": row["line"],
    }  # fmt: skip


def shown(row: Row) -> str:
    """A sample as an exporter prints it."""
    every = row["labels"] or {}
    telling = {name: value for name, value in every.items() if len(every) <= _FEW or name.lower() in _TELLING}
    labels = ",".join([*(f'{name}="{value}"' for name, value in telling.items()), *(["…"] if len(telling) < len(every) else [])])
    value = row["value"]
    number = f"{value:.0f}" if value == int(value) else f"{value:.6g}"
    if value <= LOWEST:  # a fraction cannot hold the last digits
        number = "-9223372036854775808" if value <= -HIGHEST else "-9223372036854775"
    return f"{row['name']}{{{labels}}} {number}" if labels else f"{row['name']} {number}"


def _shown(row: Row | None) -> str | None:
    """When a sample was made: a moment, or a time of day."""
    if row is None:
        return None
    if row["at"] is not None:
        return f"{row['at']:%Y-%m-%d %H:%M} UTC"
    if row["of_day"] is not None:
        seconds = int(row["of_day"])
        return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return None


def seconds_between(first: Row, last: Row) -> float | None:
    """The time between two samples; None where the dates of their times are unknown in different files."""
    if first["at"] is not None and last["at"] is not None:
        return float((last["at"] - first["at"]).total_seconds())
    if first["of_day"] is not None and last["of_day"] is not None and first["file"] == last["file"]:
        return float((last["of_day"] - first["of_day"]) % _DAY)
    return None
