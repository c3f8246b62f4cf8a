"""What Flink's REST interface answers, as rows: names that changed from 1.9 to 2.3 in one place, nothing asked here.

Sources: Flink's generated ``rest_v1_dispatcher`` pages over its releases, and running 1.12, 1.19 and 2.3. Percentiles and ratios may be
the text "NaN"; -1 and Long.MIN mean that there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from html import unescape
from typing import Any

from analyzers.logs.layouts.exceptions import parse
from analyzers.secrets import scrub
from analyzers.tables import TABLES, Row

Json = Mapping[str, Any]

_NO_LONG = -(1 << 63)
_MOST_TEXT = 12_000
"""Of a stack trace; what its chain says is parsed before it is cut."""
_TASK = re.compile(r"(?P<task>.+?) \((?P<number>\d+)/(?P<of>\d+)\)(?: - execution #(?P<attempt>\d+)|#(?P<short>\d+))?$")
_BREAKS = re.compile(r"<br/?>(?:\+- | +)?")


@dataclass(frozen=True)
class Look:
    """One look at one JobManager: `as_of` is our clock, `skew` what its clock is ahead of ours."""

    as_of: datetime
    skew: timedelta = timedelta(0)

    def row(self, table: str, job: str | None, values: Mapping[str, Any], at: datetime | None = None) -> Row:
        """A row of `table`; `at` (our clock) becomes ``captured_at`` in the JobManager's clock, which all its times are in.

        A value of another type than its column's is left out: what answers may be a proxy, or a Flink that is not out yet.
        """
        head: dict[str, Any] = {"scope": "", "as_of": self.as_of, "job": job}
        if at is not None:
            head["captured_at"] = _milliseconds(at + self.skew)
        known = TABLES[table].row(head | dict(values))
        for column in TABLES[table].columns:
            if known[column.name] is not None and not _fits(known[column.name], column.type):
                known[column.name] = None
        return known


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "long": (int,), "double": (int, float), "boolean": (bool,), "timestamp": (datetime,),
    "strings": (list,), "map": (dict,),
}  # fmt: skip


def _fits(value: object, kind: str) -> bool:
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return False
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _milliseconds(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


def number(value: object) -> float | None:
    """A number, also as text; None for "NaN", infinity and anything else."""
    try:
        found = float(value)  # type: ignore[arg-type]  # what float refuses is None
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found == found and abs(found) != float("inf") else None


def whole(value: object) -> int | None:
    """An exact integer, also as text; None for none, NaN and Long.MIN."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            value = number(value)
    if isinstance(value, float):
        value = int(value) if value == value and abs(value) < 1 << 62 else None
    return value if isinstance(value, int) and value != _NO_LONG and abs(value) < 1 << 63 else None


_LOWEST_OF_BEAM = -((1 << 63) // 1000)


def watermark(value: object) -> int | None:
    """As `whole`, but Beam's lowest watermark (``BoundedWindow.TIMESTAMP_MIN_VALUE``), which its Flink runner reports, is None, too."""
    found = whole(value)
    return None if found is not None and found <= _LOWEST_OF_BEAM else found


def counted(value: object) -> int | None:
    """As `whole`, but -1 (Flink's "not yet") is None too."""
    found = whole(value)
    return None if found is None or found < 0 else found


def moment(value: object) -> datetime | None:
    """Epoch milliseconds as a UTC time; None for 0, -1 and nonsense."""
    found = whole(value)
    if found is None or found <= 0:
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=found)
    except OverflowError:
        return None


def ratio(value: object) -> float | None:
    """A share from 0 to 1; None for NaN and for -1."""
    found = number(value)
    return None if found is None or found < 0 else min(1.0, round(found, 4))


def objects(body: object, *keys: str) -> list[Json]:
    """The list of objects at `keys` of `body`; empty where there is none: proxies and other versions answer strange things."""
    for key in keys:
        body = body.get(key) if isinstance(body, Mapping) else None
    return [item for item in body if isinstance(item, Mapping)] if isinstance(body, list) else []


def member(body: object, *keys: str) -> Json:
    """The object at `keys` of `body`; empty where there is none."""
    for key in keys:
        body = body.get(key) if isinstance(body, Mapping) else None
    return body if isinstance(body, Mapping) else {}


def text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


# jobs and their graph ------------------------------------------------------------------------------------------------------


def job_row(look: Look, listed: Json, job: Json, checkpoints: Json, version: str | None, at: datetime) -> Row:
    """A row of ``jobs`` from ``/jobs/overview`` and, for a job that was looked at, ``/jobs/:id`` and its ``/checkpoints``."""
    counts, restored = member(checkpoints, "counts"), member(checkpoints, "latest", "restored")
    return look.row(
        "jobs",
        text(listed.get("jid")) or text(job.get("jid")),
        {
            "name": listed.get("name") or job.get("name"),
            "state": job.get("state") or listed.get("state"),
            "started_at": moment(listed.get("start-time") or job.get("start-time")),
            "ended_at": moment(listed.get("end-time")),
            "modified_at": moment(listed.get("last-modification")),
            "engine_version": version,
            "max_parallelism": whole(job.get("maxParallelism")),
            "checkpoints_restored": whole(counts.get("restored")),
            "checkpoints_total": whole(counts.get("total")),
            "checkpoints_in_progress": whole(counts.get("in_progress")),
            "checkpoints_completed": whole(counts.get("completed")),
            "checkpoints_failed": whole(counts.get("failed")),
            "restored_checkpoint": whole(restored.get("id")),
            "restored_at": moment(restored.get("restore_timestamp")),
            "restored_from": text(restored.get("external_path")),
            "restored_savepoint": restored.get("is_savepoint") if isinstance(restored.get("is_savepoint"), bool) else None,
        },
        at,
    )


def vertex_rows(look: Look, job: Json, plan: Json, at: datetime) -> list[Row]:
    """Rows of ``vertices``, in topological order (Flink lists vertices in it; the edges decide)."""
    nodes = {node["id"]: node for node in objects(plan, "nodes") if text(node.get("id"))}
    listed = [vertex for vertex in objects(job, "vertices") if text(vertex.get("id"))]
    inputs = {vertex["id"]: [i for i in objects(nodes.get(vertex["id"]), "inputs") if text(i.get("id"))] for vertex in listed}
    rows = []
    for position, vertex in enumerate(_topological(listed, inputs)):
        own, metrics = inputs[vertex["id"]], member(vertex, "metrics")
        values = {
            "vertex": vertex["id"],
            "task": text(vertex.get("name")) or described(nodes.get(vertex["id"], {})),
            "position": position,
            "parallelism": whole(vertex.get("parallelism")),
            "max_parallelism": whole(vertex.get("maxParallelism")),
            "status": vertex.get("status"),
            "started_at": moment(vertex.get("start-time")),
            "records_in": counted(metrics.get("read-records")),
            "records_out": counted(metrics.get("write-records")),
            "inputs": [i["id"] for i in own],
            "exchanges": [str(i.get("ship_strategy") or "") for i in own],
        }
        rows.append(look.row("vertices", text(job.get("jid")), values, at))
    return rows


def _topological(vertices: Sequence[Json], inputs: Mapping[str, Sequence[Json]]) -> list[Json]:
    known = {vertex["id"] for vertex in vertices}
    left = list(vertices)
    done: set[str] = set()
    out: list[Json] = []
    while left:
        ready = [v for v in left if all(i["id"] in done or i["id"] not in known for i in inputs[v["id"]])] or left[
            :1
        ]  # a cycle: iterations
        out.extend(ready)
        done.update(v["id"] for v in ready)
        left = [v for v in left if v["id"] not in done]
    return out


def described(node: Json) -> str | None:
    """The description of a plan's node as one line: it is HTML."""
    said = text(node.get("description"))
    return _BREAKS.sub(" -> ", unescape(said)).removesuffix(" -> ").strip() if said else None


def subtask_rows(look: Look, job: str, vertex: Json, pressure: Json, at: datetime) -> list[Row]:
    """Rows of ``subtasks`` from ``/vertices/:v`` and its ``/backpressure`` (busy and idle since 1.13, sampled and alone before)."""
    ratios = {whole(s.get("subtask")): s for s in objects(pressure, "subtasks")}
    rows = []
    for each in objects(vertex, "subtasks"):
        subtask = whole(each.get("subtask"))
        told, metrics = ratios.get(subtask, {}), member(each, "metrics")
        values = {
            "vertex": vertex.get("id"),
            "task": vertex.get("name"),
            "subtask": subtask,
            "status": each.get("status"),
            "attempt": whole(each.get("attempt")),
            "host": each.get("endpoint") or each.get("host"),
            "resource": each.get("taskmanager-id"),
            "started_at": moment(each.get("start-time") or each.get("start_time")),
            "ended_at": moment(each.get("end-time")),
            "busy": ratio(told.get("busyRatio")),
            "backpressured": ratio(told.get("ratio")),
            "idle": ratio(told.get("idleRatio")),
            "backpressure": told.get("backpressureLevel") or told.get("backpressure-level"),
            "records_in": counted(metrics.get("read-records")),
            "records_out": counted(metrics.get("write-records")),
        }
        rows.append(look.row("subtasks", job, values, at))
    return rows


# checkpoints ---------------------------------------------------------------------------------------------------------------


def checkpoint_row(look: Look, job: str, item: Json, at: datetime) -> Row:
    """A row of ``checkpoints`` from an item of the history or from its details."""
    kind = text(item.get("checkpoint_type"))
    savepoint = item.get("is_savepoint") if isinstance(item.get("is_savepoint"), bool) else None
    return look.row(
        "checkpoints",
        job,
        {
            "checkpoint": whole(item.get("id")),
            "status": item.get("status"),
            "kind": kind or (None if savepoint is None else "SAVEPOINT" if savepoint else "CHECKPOINT"),
            "savepoint": savepoint,
            "triggered_at": moment(item.get("trigger_timestamp")),
            "last_ack_at": moment(item.get("latest_ack_timestamp")),
            "failed_at": moment(item.get("failure_timestamp")),
            "duration_ms": counted(item.get("end_to_end_duration")),
            # before 1.15 state_size was what was written
            "size_bytes": counted(item.get("checkpointed_size", item.get("state_size"))),
            "state_bytes": counted(item.get("state_size")),
            "persisted_bytes": counted(item.get("persisted_data")),
            "subtasks": whole(item.get("num_subtasks")),
            "acknowledged": whole(item.get("num_acknowledged_subtasks")),
            "path": text(item.get("external_path")),
            "discarded": item.get("discarded") if isinstance(item.get("discarded"), bool) else None,
            "failure": text(item.get("failure_message")),
        },
        at,
    )


def ack_rows(look: Look, job: str, checkpoint: int, vertex: Row, told: Json, at: datetime) -> list[Row]:
    """Rows of ``checkpoint_acks`` from ``/checkpoints/details/:id/subtasks/:vertex``."""
    rows = []
    for each in objects(told, "subtasks"):
        done = each.get("className") == "completed" or "ack_timestamp" in each
        phases, alignment = member(each, "checkpoint"), member(each, "alignment")
        values = {
            "checkpoint": checkpoint,
            "vertex": vertex["vertex"],
            "task": vertex["task"],
            "subtask": whole(each.get("index")),
            "status": "completed" if done else "pending",
            "acknowledged_at": moment(each.get("ack_timestamp")),
            "start_delay_ms": counted(each.get("start_delay")),
            "alignment_ms": counted(alignment.get("duration")),
            "sync_ms": counted(phases.get("sync")),
            "async_ms": counted(phases.get("async")),
            "duration_ms": counted(each.get("end_to_end_duration")),
            "size_bytes": counted(each.get("checkpointed_size", each.get("state_size"))),
            "state_bytes": counted(each.get("state_size")),
            "unaligned": each.get("unaligned_checkpoint") if isinstance(each.get("unaligned_checkpoint"), bool) else None,
            "aborted": each.get("aborted") if isinstance(each.get("aborted"), bool) else None,
        }
        rows.append(look.row("checkpoint_acks", job, values, at))
    return rows


# failures and settings -----------------------------------------------------------------------------------------------------


def exception_rows(look: Look, job: str, told: Json) -> list[Row]:
    """Rows of ``exceptions``: the history (1.13+) with its concurrent failures, else ``all-exceptions``, else the root alone.

    Entries of an application (``/applications/:id/exceptions``, 2.3+) name their job, unless the failure is that of its main method.
    """
    rows = []
    entries = objects(told, "exceptionHistory", "entries")
    for entry in entries:
        rows.append(_exception(look, job, entry, root=True))
        rows.extend(_exception(look, job, other, root=False) for other in objects(entry, "concurrentExceptions"))
    if not entries:
        old = objects(told, "all-exceptions")
        first = min((whole(e.get("timestamp")) or 0 for e in old), default=0)
        rows.extend(_exception(look, job, e, root=(whole(e.get("timestamp")) or 0) == first) for e in old)
        if not old and text(told.get("root-exception")):
            rows.append(_exception(look, job, {"exception": told["root-exception"], "timestamp": told.get("timestamp")}, root=True))
    rows.sort(key=lambda row: (row["at"] is None, row["at"] or look.as_of, not row["root"], row["task"] or "", row["subtask"] or 0))
    return rows


def _exception(look: Look, job: str, entry: Json, *, root: bool) -> Row:
    stack = scrub(str(entry.get("stacktrace") or entry.get("exception") or entry.get("exceptionName") or ""))
    head, _, rest = stack.partition("\n")
    trace = parse(head, rest)
    deepest = trace.root
    named = _TASK.match(str(entry.get("taskName") or entry.get("task") or ""))
    attempt = (named["attempt"] or named["short"]) if named else None
    number = whole(named["number"]) if named else None
    labels = entry.get("failureLabels")
    address = entry.get("endpoint") or entry.get("location")
    values = {
        "at": moment(entry.get("timestamp")),
        "root": root,
        "task": named["task"] if named else text(entry.get("taskName") or entry.get("task")),
        "subtask": number - 1 if number is not None else None,
        "parallelism": whole(named["of"]) if named else None,
        "attempt": whole(attempt),
        "address": None if address in (None, "(unassigned)", "") else str(address),
        "resource": text(entry.get("taskManagerId")),
        "labels": {str(k): str(v) for k, v in labels.items()} if isinstance(labels, Mapping) and labels else None,
        "text": stack[:_MOST_TEXT],
        "exception": trace.chain[0].kind if trace.chain else None,
        "root_exception": deepest.kind if deepest else None,
        "root_message": deepest.message.splitlines()[0][:500] if deepest and deepest.message else None,
        "chain": trace.described() or None,
        "user_frame": trace.user_frame,
    }
    return look.row("exceptions", text(entry.get("jobId")) or job, values)


_CLUSTER_KEYS = re.compile(
    r"execution\.checkpointing\.|state\.|high-availability|restart-strategy|jobmanager\.(?:scheduler|execution)|scheduler-mode"
    r"|heartbeat\.|akka\.ask\.timeout|pekko\.ask\.timeout|taskmanager\.(?:numberOfTaskSlots|memory\.|network\.)|task\.cancellation"
    r"|web\.(?:checkpoints|exception-history)|rest\.flamegraph|parallelism\.default|pipeline\.|cluster\.evenly|env\.java\.opts"
)
"""Options that a rule may judge; the rest of a cluster's configuration stays where it is."""


def config_rows(look: Look, job: str | None, source: str, told: object) -> list[Row]:
    """Rows of ``job_config``: `source` checkpoints and job are nested objects, cluster is a list of keys and values."""
    pairs: Iterable[tuple[str, object]]
    if source == "cluster":
        listed = [e for e in told if isinstance(e, Mapping)] if isinstance(told, list) else []
        pairs = ((str(e.get("key")), e.get("value")) for e in listed if _CLUSTER_KEYS.match(str(e.get("key"))))
    else:
        body = member(told, "execution-config") if source == "job" else member(told)
        pairs = _flat(body)
    rows = []
    for key, value in sorted(pairs, key=lambda pair: pair[0]):
        shown = "true" if value is True else "false" if value is False else None if value is None else str(value)
        shown = scrub(f"{key}={shown}").partition("=")[2] if shown else shown
        rows.append(look.row("job_config", job, {"source": source, "key": key, "value": shown}))
    return rows


def _flat(body: Json, prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in body.items():
        if isinstance(value, Mapping):
            if key != "user-config":  # program arguments and application settings
                yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
