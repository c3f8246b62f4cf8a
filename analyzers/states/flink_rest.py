"""Answers of Flink's REST interface, saved under any name: which endpoint gave a JSON document is known by its keys.

Whose job it is stands in most of them, in the path that was asked (`curl …/jobs/ID/checkpoints`) or in the path of a checkpoint; an answer
that does not name it belongs to the one job that the others name. The moment of an answer is the newest time in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.states import flink_rows as rows
from analyzers.states import flink_run_rows as run_rows
from analyzers.states.flink_rows import Json, Look, member, moment, objects, text, whole
from analyzers.states.state import Document, State, Text, Values
from analyzers.tables import JOBS

SHAPE = "Flink REST answer"
SIGNS = (
    b'"latest_ack_timestamp"', b'"exceptionHistory"', b'"all-exceptions"', b'"jid"', b'"timeSinceLastHeartbeat"', b'"backpressureLevel"',
    b'"backpressure-level"', b'"slotsNumber"', b'"external_path"', b'"num_acknowledged_subtasks"', b'"min_pause"',
)  # fmt: skip

_JOB = expression(r"/jobs/(?P<job>[0-9a-f]{32})\b")
_VERTEX = expression(r"/(?:vertices|subtasks)/(?P<vertex>[0-9a-f]{32})\b")
_OF_PATH = expression(r"/(?P<job>[0-9a-f]{32})/(?:chk-\d+|savepoint-)")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TIMES = frozenset(
    (
        "trigger_timestamp",
        "latest_ack_timestamp",
        "failure_timestamp",
        "ack_timestamp",
        "timestamp",
        "now",
        "last-modification",
        "start-time",
    )
)
_MOST_DEPTH = BUDGET.state_depth


def read(text_: Text) -> Iterator[State]:
    """Every answer in a text."""
    before = 0
    for document in text_.documents:
        asked = "\n".join(text_.lines[max(before, document.first - 20) : document.first])
        before = document.last
        yield from _read(document, asked)


def _read(document: Document, asked: str) -> Iterator[State]:
    body = document.value
    if not isinstance(body, Mapping):
        return
    for key, inner in body.items():
        if isinstance(key, str) and key.startswith(("/", "GET /", "http")):  # answers, each under the path that was asked
            yield from _read(document._replace(value=inner), key)
    kind = next((name for name, is_it, _ in _ENDPOINTS if is_it(body)), None)
    if kind is None:
        return
    at = max(_times(body), default=None)
    job = next((m["job"] for m in (_JOB.search(asked), _OF_PATH.search(_path_in(body))) if m), None)
    vertex = m["vertex"] if (m := _VERTEX.search(asked)) else None
    state = State(SHAPE, document.first, document.last, at=at, trouble="ends in the middle of its JSON" if document.cut else None)
    look = Look(at or _EPOCH)
    for name, found in next(give for each, _, give in _ENDPOINTS if each == kind)(look, job, vertex, body):
        for row in found:
            values: Values = {key: value for key, value in row.items() if key not in ("scope", "as_of")}
            if at is None:
                values = {key: None if value == _EPOCH else value for key, value in values.items()}
            state.add(name, values)
    done = [row for row in state.rows.get("checkpoints", ()) if row["status"] == "COMPLETED"]
    state.works = len(done) >= 2 and all(row["status"] != "FAILED" for row in state.rows["checkpoints"])
    if state.rows:
        yield state


def _times(value: Any, depth: int = 0) -> Iterator[datetime]:
    """The times in an answer."""
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _TIMES:
                if (at := moment(inner)) is not None:
                    yield at
            elif isinstance(inner, (Mapping, list)):
                yield from _times(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _times(inner, depth + 1)


def _path_in(body: Json) -> str:
    checkpoints = [*objects(body, "history"), member(body, "latest", "completed"), member(body, "latest", "restored"), body]
    return "\n".join(str(each["external_path"]) for each in checkpoints if text(each.get("external_path")))


Rows = Iterator[tuple[str, Sequence[Values]]]
Give = Callable[[Look, "str | None", "str | None", Json], Rows]


def _checkpoints(look: Look, job: str | None, _: str | None, body: Json) -> Rows:
    latest = member(body, "latest")
    shown = [i for i in (latest.get("completed"), latest.get("failed"), *objects(body, "history")) if isinstance(i, Mapping)]
    items = {number: i for i in shown if (number := whole(i.get("id"))) is not None}
    yield "jobs", [rows.job_row(look, {"jid": job}, {}, body, None, look.as_of)]
    yield "checkpoints", [rows.checkpoint_row(look, job or "", items[number], look.as_of) | {"job": job} for number in sorted(items)]


def _details(look: Look, job: str | None, _: str | None, body: Json) -> Rows:
    yield "checkpoints", [rows.checkpoint_row(look, job or "", body, look.as_of) | {"job": job}]


def _acks(look: Look, job: str | None, vertex: str | None, body: Json) -> Rows:
    number = whole(body.get("id"))
    if number is not None:
        place = {"vertex": vertex, "task": None}
        yield "checkpoint_acks", [row | {"job": job} for row in rows.ack_rows(look, job or "", number, place, body, look.as_of)]


def _settings(look: Look, job: str | None, _: str | None, body: Json) -> Rows:
    yield "job_config", [row | {"job": job} for row in rows.config_rows(look, job, "checkpoints", body)]


def _job(look: Look, _: str | None, __: str | None, body: Json) -> Rows:
    yield "jobs", [rows.job_row(look, body, body, {}, None, look.as_of)]
    yield "vertices", rows.vertex_rows(look, body, member(body, "plan"), look.as_of)


def _overview(look: Look, _: str | None, __: str | None, body: Json) -> Rows:
    yield "jobs", [rows.job_row(look, item, {}, {}, None, look.as_of) for item in objects(body, "jobs")]


def _exceptions(look: Look, job: str | None, _: str | None, body: Json) -> Rows:
    yield "exceptions", [row | {"job": row["job"] or None} for row in rows.exception_rows(look, job or "", body)]


def _task_managers(look: Look, _: str | None, __: str | None, body: Json) -> Rows:
    listed = objects(body, "taskmanagers") or [body]
    yield "task_managers", [run_rows.task_manager_row(look, each, each, look.as_of) for each in listed]


def _pressure(look: Look, job: str | None, vertex: str | None, body: Json) -> Rows:
    known = {"id": vertex, "name": None, "subtasks": [{"subtask": each.get("subtask")} for each in objects(body, "subtasks")]}
    yield "subtasks", [row | {"job": job} for row in rows.subtask_rows(look, job or "", known, body, look.as_of)]


def _has(*keys: str) -> Callable[[Json], bool]:
    return lambda body: all(key in body for key in keys)


_ENDPOINTS: tuple[tuple[str, Callable[[Json], bool], Give], ...] = (
    ("checkpoints", lambda body: _has("counts", "latest")(body) and ("history" in body or "summary" in body), _checkpoints),
    ("acks", lambda body: _has("id", "status", "subtasks", "num_acknowledged_subtasks")(body) and "trigger_timestamp" not in body, _acks),
    ("acks", lambda body: _has("id", "subtasks", "summary")(body) and any("index" in each for each in objects(body, "subtasks")), _acks),
    ("details", _has("id", "status", "trigger_timestamp", "num_subtasks"), _details),
    ("settings", _has("mode", "interval", "timeout", "min_pause", "max_concurrent"), _settings),
    ("job", _has("jid", "name", "vertices"), _job),
    ("exceptions", lambda body: "exceptionHistory" in body or ("all-exceptions" in body and "root-exception" in body), _exceptions),
    ("overview", lambda body: bool(objects(body, "jobs")) and all("jid" in each for each in objects(body, "jobs")), _overview),
    ("taskmanagers", lambda body: any("slotsNumber" in each for each in (*objects(body, "taskmanagers"), body)), _task_managers),
    ("backpressure", lambda body: "backpressureLevel" in body or "backpressure-level" in body, _pressure),
)
"""Endpoints by what their answers hold, the most particular first."""

TABLES = ("jobs", "vertices", "subtasks", "checkpoints", "checkpoint_acks", "exceptions", "task_managers", "job_config")
_KEYS = {
    "jobs": ("job",), "vertices": ("job", "vertex"), "subtasks": ("job", "vertex", "subtask"), "checkpoints": ("job", "checkpoint"),
    "checkpoint_acks": ("job", "checkpoint", "vertex", "subtask"), "task_managers": ("resource",),
}  # fmt: skip


def joined(tables: dict[str, list[Values]]) -> dict[str, list[Values]]:
    """The rows of all answers of one run as one look: of the one job that they name, the newest of what several show."""
    own = {name: found for name, found in tables.items() if name in TABLES}
    if not own:
        return tables
    jobs = {row["job"] for found in own.values() for row in found if row["job"]}
    listed = {row["job"] for row in own.get("jobs", ())}
    unlisted = [row for name in ("checkpoints", "exceptions") for row in own.get(name, ()) if row["job"] not in listed]
    only = next(iter(jobs)) if len(jobs) == 1 else None
    as_of = max((row["as_of"] for found in own.values() for row in found if row["as_of"]), default=None)
    out = dict(tables)
    # an answer about failures alone says of the job only that there is one
    own["jobs"] = [*own.get("jobs", ()), *(JOBS.row({name: row[name] for name in ("scope", "as_of", "job")}) for row in unlisted[:1])]
    for name, found in own.items():
        kept: dict[object, Values] = {}
        for number, row in enumerate(sorted(found, key=lambda row: row["as_of"] or _EPOCH)):
            row = row | {"as_of": as_of, "job": row["job"] or (only if name != "task_managers" else None)}
            key = tuple(row[column] for column in _KEYS[name]) if name in _KEYS else number
            before = kept.get(key, {})
            kept[key] = row | {column: value for column, value in before.items() if row[column] is None}
        # of whom an acknowledgement is, only the path that was asked says
        out[name] = [row for row in kept.values() if "vertex" not in _KEYS.get(name, ()) or (row["job"] and row["vertex"])]
    return out
