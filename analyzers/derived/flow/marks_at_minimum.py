"""Jobs whose watermark never left the lowest number, as saved metrics or answers show it, though records are read: no window ever fires.

Flink's gauges ``currentInputWatermark`` and ``currentOutputWatermark`` are Long.MIN until every input has given a watermark. In a job
without event time they stay so for ever, and nothing is wrong: only operators count that wait for event time, by their names or because
records go in and none comes out. A job that has just started, or that reads nothing, has none yet.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzers.derived.flow.metric_troubles import Series, growth, label, seconds_between, series_of, shown
from analyzers.derived.flow.watermark_holders import waits_for_event_time
from analyzers.states.metric_names import HIGHEST, LOWEST, meanings
from analyzers.tables import MARKS_AT_MINIMUM, Row

Tables = Mapping[str, Sequence[Row]]

_OPERATOR = ("operator_name", "operator", "task_name")
SUBTASK = ("subtask_index", "subtask")
_JOB = ("job_id", "job_name")
_HEX = re.compile(r"[0-9a-f]{32}")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
_GROUPS = re.compile(r"\bGroup By Key\b|\bCo GBK\b|\bCombine\b.*\bper ?key\b", re.I)
"""Beam's, as its Flink runner names them: each of them waits for the watermark of its window."""
_SURELY = re.compile(
    r"event ?time|global window aggregate|local window aggregate|interval ?join|temporal ?join|match ?recognize|\bcep\b", re.I
)
"""Names that engines give: what a program calls `windows` may close by the clock of the machine, once an hour."""
_CLOCK_OF_MACHINE = re.compile(r"processing time|proctime", re.I)
_SOURCE = re.compile(r"(?i)^\W*source\b|tablesourcescan|^\w*source[:_ ]")
_SQL = re.compile(r"\w\[\d+\]|\w_\d+_$|TableSourceScan")
_BEAM = re.compile(r"\bKafkaIO\b|KafkaUnboundedSource|\bGroupByKey\b|\bParDo\b|\bPCollection\b|Read\(\w+Source\)")
_SQL_JOB = "insert-into"
_MOST_NAMED = 50


def marks_at_minimum(tables: Tables) -> list[Row]:
    """Rows of ``marks_at_minimum``: one per scope and job whose operators wait for a watermark that none of their subtasks has."""
    return [MARKS_AT_MINIMUM.row(row) for scope, job, own in series_by_job(tables) for row in _of_job(scope, job, own, tables)]


def series_by_job(tables: Tables) -> Iterator[tuple[str, str | None, list[Series]]]:
    """Scope, job and series of each job of which there are metrics."""
    by_scope: dict[str, list[Series]] = defaultdict(list)
    for (scope, *_), series in series_of(tables.get("metric_samples", ())).items():
        by_scope[scope].append(series)
    for scope, all_series in sorted(by_scope.items()):
        jobs: dict[str | None, list[Series]] = defaultdict(list)
        names = {label(s[-1], *_JOB) for s in all_series} - {None}
        for series in all_series:
            own = label(series[-1], *_JOB)
            jobs[own if own or len(names) != 1 else next(iter(names))].append(series)  # some metrics of a job lack its label
        for job, own_series in sorted(jobs.items(), key=lambda pair: pair[0] or ""):
            yield scope, job, own_series


def _of_job(scope: str, job: str | None, own: Sequence[Series], tables: Tables) -> Iterator[Mapping[str, Any]]:
    marks = [s for s in own if s[-1]["counts"] in ("watermark-in", "watermark-out")]
    stuck = [s for s in marks if all(row["value"] <= LOWEST for row in s)]
    if not stuck:
        return
    vertices = [v for v in tables.get("vertices", ()) if v["scope"] == scope]
    if (aligned := _aligned(own, stuck)) is not None:
        paused, holders, waiting_records = aligned
        newest = holders[-1][-1]
        yield {
            "scope": scope, "job": job_id(scope, job, tables), "as_of": newest["at"], "at": newest["at"],
            "job_name": job if job and not _HEX.fullmatch(job) else None, "operator": paused, "reason": "alignment",
            "subtasks": len(holders), "of_subtasks": len(holders), "records": waiting_records, "sure": True,
            "age_seconds": _age(scope, job, stuck, own, 0, 0, tables), "silent": sorted({_named(s) for s in holders}),
            "text": shown(newest), "file": newest["file"], "line": newest["line"],
        }  # fmt: skip
        return
    reads, rate = read_by_job(own, vertices)
    if not reads and not rate:
        return  # nothing to read, or unknown
    waiting = list(_waiting(own, marks, vertices))
    if not waiting:
        return
    name, series, written, sure = max(waiting, key=lambda each: (each[3], each[2] == 0, len(each[1])))
    age = _age(scope, job, stuck, own, reads, rate, tables)
    silent = _silent(own)
    topic, partitions = empty_partitions(scope, tables)
    surely = bool(_SURELY.search(_split(name or ""))) or (sure and bool(partitions or silent))
    newest = max(series, key=lambda s: (s[-1]["moment"], s[-1]["line"]))[-1]
    yield {
        "scope": scope, "job": job_id(scope, job, tables), "as_of": newest["at"], "at": newest["at"],
        "job_name": job if job and not _HEX.fullmatch(job) else None, "operator": name,
        "reason": "empty-partitions" if partitions else "idle-subtasks" if silent else "stands",
        "subtasks": len(series), "of_subtasks": len(series), "records": reads or rate, "written": written, "sure": surely,
        "age_seconds": age,
        "topic": topic, "partitions": partitions, "silent": silent,
        "api": _api(job, [label(s[-1], *_OPERATOR) or "" for s in marks] + [v["task"] or "" for v in vertices]),
        "text": shown(newest), "file": newest["file"], "line": newest["line"],
    }  # fmt: skip


def _aligned(own: Sequence[Series], stuck: Sequence[Series]) -> tuple[str, list[Series], float] | None:
    """A source that watermark alignment pauses for ever, as some reader of its group has no watermark: its name, these, what waits.

    ``watermarkAlignmentDrift`` is Long.MAX then. Source: SourceOperator.checkWatermarkAlignment, FLINK-32414.
    """
    known = meanings()
    paused = {label(s[-1], *_OPERATOR) for s in own if known[s[-1]["counts"]].kind == "drift" and s[-1]["value"] >= HIGHEST} - {None}
    holders = [s for s in stuck if s[-1]["counts"] == "watermark-out" and _of_source(s)]
    for name in sorted(paused, key=str):
        waits = [s for s in own if known[s[-1]["counts"]].kind == "lag" and label(s[-1], *_OPERATOR) == name]
        reads = [s for s in own if known[s[-1]["counts"]].kind in ("read", "read-rate") and label(s[-1], *_OPERATOR) == name]
        stands = all(growth(s) == 0 if known[s[-1]["counts"]].kind == "read" else s[-1]["value"] == 0 for s in reads)
        if name is not None and holders and stands and sum(s[-1]["value"] for s in waits) > 0:
            return name, holders, float(sum(s[-1]["value"] for s in waits))
    return None


def _named(series: Series) -> str:
    """A subtask of a source with its name."""
    number = label(series[-1], *SUBTASK)
    name = label(series[-1], *_OPERATOR) or "a source"
    return f"{name} subtask {number}" if number is not None else name


def _waiting(
    own: Sequence[Series], marks: Sequence[Series], vertices: Sequence[Row]
) -> Iterator[tuple[str | None, list[Series], float | None, bool]]:
    """Operators none of whose subtasks has a watermark: name, series, records that it wrote, and whether it surely waits for event time."""
    operators: dict[str | None, list[Series]] = defaultdict(list)
    names = {v["vertex"]: v["task"] for v in vertices}
    for mark in marks:
        if mark[-1]["counts"] == "watermark-in":
            vertex = label(mark[-1], "task_id")
            operators[label(mark[-1], *_OPERATOR) or names.get(vertex)].append(mark)
    late = {label(s[-1], *_OPERATOR) for s in own if s[-1]["counts"] == "records-late"}
    for name, series in operators.items():
        if not all(row["value"] <= LOWEST for s in series for row in s):
            continue
        if name is None:
            yield from _by_vertices(series, vertices)
            continue
        came, written = _total(own, name, "read"), _total(own, name, "written")
        for each in (v for v in vertices if v["task"] == name):
            came, written = each["records_in"], each["records_out"]
        if _SOURCE.search(name) or came == 0 or written:
            continue  # it gets nothing, or its windows fire: by the clock of the machine
        by_name = event_time_by_name(name)
        if (
            by_name
            or (name in late and not _CLOCK_OF_MACHINE.search(_split(name)))
            or (came != 0 and written == 0 and _GROUPS.search(_split(name)))
        ):
            yield name, series, written, bool(by_name or written == 0)


def _by_vertices(series: list[Series], vertices: Sequence[Row]) -> Iterator[tuple[str | None, list[Series], float | None, bool]]:
    """Of watermarks without a name the vertices that read records and have written none, if they wait for event time."""
    for vertex in vertices:
        name = vertex["task"] or ""
        if vertex["records_in"] and vertex["records_out"] == 0 and (event_time_by_name(name) or _GROUPS.search(_split(name))):
            yield name, series, 0.0, True


def _api(job: str | None, names: Sequence[str]) -> str | None:
    if any(_BEAM.search(name) for name in names):
        return "beam"
    return "sql" if (job or "").startswith(_SQL_JOB) or any(_SQL.search(name) for name in names) else None


def _split(name: str) -> str:
    return _CAMEL.sub(" ", name)


def event_time_by_name(name: str) -> bool:
    """Whether an operator waits for event time, as Flink, its SQL planner, its reporters and Beam write names."""
    if waits_for_event_time(name):
        return True
    words = _split(name)
    return not _CLOCK_OF_MACHINE.search(words) and not re.search(r"(?i)global window(?! aggregate)", words) and waits_for_event_time(words)


def _total(own: Sequence[Series], operator: str, kind: str) -> float | None:
    """Records that all subtasks of an operator read, or wrote; each second, where only that is known."""
    known = meanings()
    for wanted in (kind, f"{kind}-rate"):
        found = [s for s in own if label(s[-1], *_OPERATOR) == operator and known[s[-1]["counts"]].kind == wanted]
        if found:
            return float(sum(max(row["value"] for row in s) if wanted != kind else s[-1]["value"] for s in found))
    return None


def read_by_job(own: Sequence[Series], vertices: Sequence[Row]) -> tuple[float, float]:
    """Records that the job read, and how many each second; what does not grow from sample to sample is not read."""
    known = meanings()
    counters = [s for s in own if known[s[-1]["counts"]].kind == "read" or (known[s[-1]["counts"]].kind == "written" and _of_source(s))]
    rates = [
        s for s in own if known[s[-1]["counts"]].kind == "read-rate" or (known[s[-1]["counts"]].kind == "written-rate" and _of_source(s))
    ]
    several = [s for s in counters if len(s) > 1]
    total = sum(s[-1]["value"] for s in counters) if not several or any(growth(s) > 0 for s in several) else 0.0
    by_vertices = sum(v["records_in"] or 0 for v in vertices) if not counters else 0
    return total or float(by_vertices), sum(s[-1]["value"] for s in rates)


def _of_source(series: Series) -> bool:
    name = label(series[-1], *_OPERATOR)
    return name is None or bool(_SOURCE.search(name))


def _age(
    scope: str, job: str | None, stuck: Sequence[Series], own: Sequence[Series], reads: float, rate: float, tables: Tables
) -> float | None:
    """For how long the watermark is known to stand so: by the samples, the job's own clock, its rate, or its log."""
    ages = [s[-1]["value"] / 1000 for s in own if s[-1]["counts"] == "uptime"]
    if ages:
        return float(max(ages))
    spans = [seconds for s in stuck if len(s) > 1 and (seconds := seconds_between(s[0], s[-1])) is not None]
    if spans and max(spans) > 0:
        return max(spans)
    at = max((s[-1]["at"] for s in stuck if s[-1]["at"]), default=None)
    ends = [f["last_at"] for f in tables.get("log_files", ()) if f["scope"] == scope and f["last_at"]]
    starts = [a["started_at"] for a in tables.get("attempts", ()) if a["scope"] == scope and a["started_at"]]
    starts = starts or [j["first_at"] for j in tables.get("jobs_seen", ()) if j["scope"] == scope and j["first_at"]]
    until = at or max(ends, default=None)
    if until is not None and (known := [s for s in starts if s <= until]):
        return float((until - max(known)).total_seconds())
    return reads / rate if reads and rate else None


def _silent(own: Sequence[Series]) -> list[str]:
    """Subtasks of sources that hold the others: without a watermark beside some that have one, or without a record beside some with."""
    known = meanings()
    outs = [s for s in own if s[-1]["counts"] == "watermark-out" and _of_source(s)]
    without = [s for s in outs if all(row["value"] <= LOWEST for row in s)]
    held = without if 0 < len(without) < len(outs) else []
    sources = [s for s in own if known[s[-1]["counts"]].kind in ("written", "written-rate") and _of_source(s) and label(s[-1], *SUBTASK)]
    empty = [s for s in sources if all(row["value"] == 0 for row in s)]
    held = held or (empty if 0 < len(empty) < len(sources) else [])
    return sorted({number for s in held if (number := label(s[-1], *SUBTASK)) is not None}, key=lambda n: (len(n), n))


def empty_partitions(scope: str, tables: Tables) -> tuple[str | None, list[str]]:
    """Partitions without any record, or whose log stands, of a topic of which others have records, as tables of consumer groups show."""
    ends: dict[tuple[str, int], list[int]] = defaultdict(list)
    looks = (*tables.get("pasted_offsets", ()), *tables.get("pasted_partitions", ()))
    for row in sorted(looks, key=lambda row: row["moment"] or 0):
        if row["scope"] == scope and row["high_watermark"] is not None:
            ends[row["topic"], row["partition"]].append(row["high_watermark"])
    busy = {topic for (topic, _), values in ends.items() if values[-1] > 0}
    grows = {topic for (topic, _), values in ends.items() if values[-1] > values[0]}
    quiet = [
        (topic, partition)
        for (topic, partition), values in ends.items()
        if (topic in busy and values[-1] == 0) or (topic in grows and len(values) > 1 and values[-1] == values[0])
    ]
    topics = {topic for topic, _ in quiet}
    return next(iter(topics)) if len(topics) == 1 else None, [f"{topic}-{partition}" for topic, partition in sorted(quiet)][:_MOST_NAMED]


def job_id(scope: str, job: str | None, tables: Tables) -> str | None:
    """The id of the job: of its label, of the job with that name, else of the only one."""
    if job is not None and _HEX.fullmatch(job):
        return job
    seen = [row for name in ("jobs_seen", "jobs") for row in tables.get(name, ()) if row["scope"] == scope and row["job"]]
    named = {row["job"] for row in seen if job is not None and row["name"] == job}
    every = {row["job"] for row in seen}
    return next(iter(named)) if len(named) == 1 else next(iter(every)) if len(every) == 1 else None
