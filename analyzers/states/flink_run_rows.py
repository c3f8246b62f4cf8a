"""How a Flink job runs, as rows: metrics and watermarks of its subtasks, its workers and what their threads do. Nothing is asked here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from analyzers.components import is_user
from analyzers.states.flink_rows import Json, Look, counted, member, moment, number, objects, text, watermark, whole
from analyzers.tables import Row

_MOST_FRAMES = 40

WANTED = re.compile(
    r"(?P<subtask>\d+)\.(?:(?P<operator>[^.]+)\.)?(?:(?P<group>KafkaSourceReader|KafkaConsumer)\.)?"
    r"(?:(?:[^.]+\.)*?topic\.(?P<topic>.+)\.partition\.(?P<partition>\d+)\.)?"
    r"(?P<name>currentOffset|committedOffset|pendingRecords|commitsFailed|commitsSucceeded|numLateRecordsDropped|numRecordsInErrors"
    r"|currentInputWatermark|currentInput\d+Watermark|currentOutputWatermark|watermarkAlignmentDrift|sourceIdleTime"
    r"|currentEmitEventTimeLag|currentFetchEventTimeLag|watermarkLag|numRecordsIn|numRecordsInPerSecond|numRecordsOutPerSecond|busyTimeMsPerSecond"
    r"|backPressuredTimeMsPerSecond|idleTimeMsPerSecond|records-lag-max)$"
)
"""Metrics of a vertex that a rule or a fact reads. Dots inside names of operators are replaced by Flink; those of topics are not."""


def metric_ids(told: object) -> list[str]:
    """The wanted ones of the ids that ``/vertices/:v/metrics`` lists."""
    listed = told if isinstance(told, list) else []
    ids = [str(m["id"]) for m in listed if isinstance(m, Mapping) and m.get("id")]
    return [name for name in ids if WANTED.match(name)]


def metric_rows(look: Look, job: str, vertex: Row, told: object, at: datetime) -> list[Row]:
    """Rows of ``metrics`` from ``/vertices/:v/metrics?get=…``."""
    rows = []
    for each in told if isinstance(told, list) else []:
        found = WANTED.match(str(each.get("id"))) if isinstance(each, Mapping) else None
        if found is None:
            continue
        values = {
            "vertex": vertex["vertex"],
            "task": vertex["task"],
            "subtask": int(found["subtask"]),
            "operator": found["operator"],
            "name": found["name"],
            "topic": found["topic"],
            "partition": int(found["partition"]) if found["partition"] else None,
            "value": number(each.get("value")),
            "exact": whole(each.get("value")),
        }
        rows.append(look.row("metrics", job, values, at))
    return rows


def watermark_rows(look: Look, job: str, vertex: Row, told: object, at: datetime) -> list[Row]:
    """Rows of ``watermarks`` from ``/vertices/:v/watermarks``."""
    rows = []
    for each in told if isinstance(told, list) else []:
        subtask = str(each.get("id", "")).partition(".")[0] if isinstance(each, Mapping) else ""
        if subtask.isdigit():
            values = {
                "vertex": vertex["vertex"],
                "task": vertex["task"],
                "subtask": int(subtask),
                "watermark": watermark(each.get("value")),
            }
            rows.append(look.row("watermarks", job, values, at))
    return rows


# workers -------------------------------------------------------------------------------------------------------------------


def task_manager_row(look: Look, listed: Json, details: Json, at: datetime) -> Row:
    """A row of ``task_managers``; its memory and garbage collection only from its own page."""
    metrics = member(details, "metrics")
    collectors = objects(metrics, "garbageCollectors")
    path = str(listed.get("path") or "")
    host = re.search(r"@(\[[^\]]+\]|[^:/]+)", path)
    values = {
        "resource": text(listed.get("id")),
        "host": host[1] if host else None,
        "slots": whole(listed.get("slotsNumber")),
        "free_slots": whole(listed.get("freeSlots")),
        "heartbeat_at": moment(listed.get("timeSinceLastHeartbeat")),  # an epoch time in spite of its name
        "heap_used_bytes": whole(metrics.get("heapUsed")) or None,  # 0 = its metrics were not fetched yet
        "heap_max_bytes": counted(metrics.get("heapMax")) or None,
        "gc_count": sum(whole(c.get("count")) or 0 for c in collectors) if collectors else None,
        "gc_ms": sum(whole(c.get("time")) or 0 for c in collectors) if collectors else None,
    }
    return look.row("task_managers", None, values, at)


_STATE = re.compile(r'^".*" (?:Id=\d+ )?(?P<state>NEW|RUNNABLE|BLOCKED|WAITING|TIMED_WAITING|TERMINATED)')
_FRAME = re.compile(r"^\s*at (?:[\w.@-]*/{1,2})?(?P<frame>[\w.$<>/-]+)\(")
_UPLOADS = ("AsyncCheckpointRunnable", "AsyncSnapshotCallable")
_THREAD = re.compile(r"(?:Legacy Source Thread - |Source Data Fetcher for )?(?P<task>.+?) \((?P<number>\d+)/\d+\)#\d+")


def stack_rows(look: Look, job: str, resource: str, suspects: Iterable[tuple[str, int]], told: Json, at: datetime) -> list[Row]:
    """Rows of ``stack_samples`` out of a thread dump: threads of `suspects` (task, subtask), and those that write snapshots."""
    wanted = set(suspects)
    rows = []
    for each in objects(told, "threadInfos"):
        name, printed = str(each.get("threadName") or ""), str(each.get("stringifiedThreadInfo") or "")
        found = _THREAD.fullmatch(name)
        if found is not None and not any(number == int(found["number"]) - 1 and same_task(task, found["task"]) for task, number in wanted):
            continue
        frames = [m["frame"] for line in printed.splitlines() if (m := _FRAME.match(line))]
        if found is None and not (name.startswith("AsyncOperations") and any(u in f for f in frames for u in _UPLOADS)):
            continue
        state = _STATE.match(printed)
        values = {
            "resource": resource,
            "task": found["task"] if found else None,
            "subtask": int(found["number"]) - 1 if found else None,
            "thread": name,
            "state": state["state"] if state else None,
            "frames": frames[:_MOST_FRAMES],
            "user_frame": next((f for f in frames if is_user(f)), None),
        }
        rows.append(look.row("stack_samples", job, values, at))
    return rows


def same_task(vertex: str, thread: str) -> bool:
    """Whether a thread's name is that of a vertex: Flink may clip long names."""
    return vertex == thread or (len(thread) >= 64 and vertex.startswith(thread.rstrip(".…")))
