"""Which attempt of a job a fault falls into, and what is told of an attempt because of its faults."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from analyzers.derived.failures.failure_signs import OF_WORKERS
from analyzers.derived.failures.fault_classes import UNKNOWN
from analyzers.tables import Row

_PACKAGE = re.compile(r"^[\w.$]*\.")
_ONE_MOMENT = timedelta(seconds=2)
_HEADER = re.compile(r"^.{0,200}? - ")


@dataclass(frozen=True)
class Windows:
    """When each attempt of a job began, and which attempt a run of a query is."""

    starts: dict[tuple[str, str], list[tuple[datetime, int]]]
    runs: dict[tuple[str, str], int]


def attempt_windows(attempts: Sequence[Row]) -> Windows:
    """Of `attempts`, in their order."""
    starts: dict[tuple[str, str], list[tuple[datetime, int]]] = defaultdict(list)
    runs: dict[tuple[str, str], int] = {}
    for a in attempts:
        if a["started_at"] is not None:
            starts[a["scope"], a["job"]].append((a["started_at"], a["attempt"]))
        if a["run"] is not None:
            runs[a["scope"], a["run"]] = a["attempt"]
    return Windows(starts, runs)


def attempt_of(event: Row, windows: Windows) -> int | None:
    """The attempt that was the last to start before the fault; the attempt number printed on the task where no state switch is known."""
    run = windows.runs.get((event["scope"], (event["detail"] or {}).get("run") or ""))
    if run is not None:
        return run
    starts = windows.starts.get((event["scope"], event["job"] or ""))
    if starts and event["at"] is not None:
        place = bisect_right(starts, (event["at"], 1 << 40)) - 1
        if place >= 0:
            return starts[place][1]
        printed = _printed(event)  # older than the first switch that is known
        return printed if printed is not None and printed < starts[0][1] else max(0, starts[0][1] - 1)
    return _printed(event)


def _printed(event: Row) -> int | None:
    number = event["attempt"]
    if number is None and event["execution"] and event["execution"].count("_") >= 3:
        number = int(event["execution"].rsplit("_", 1)[1])
    return number if isinstance(number, int) else None


def tell_attempts(faults: list[dict[str, Any]], attempts: list[Row]) -> None:
    """Fill the columns of what ended each of `attempts` in place: the first of its `faults`, and the first that is no mere consequence."""
    by_attempt: dict[tuple[str, str | None, int | None], list[dict[str, Any]]] = defaultdict(list)
    for fault in faults:
        if fault["fatal"]:
            by_attempt[fault["scope"], fault["job"], fault["attempt"]].append(fault)
    for attempt in attempts:
        if attempt["ended"] not in ("failed", "suspended"):
            continue
        own = by_attempt.get((attempt["scope"], attempt["job"], attempt["attempt"]), [])
        if not own:
            continue
        trigger = _noted_by_jobmanager(own)
        deep = next((f for f in own if not f["consequence"] and f["fault"] != UNKNOWN.id), None) or next(
            (f for f in own if not f["consequence"]), None
        )
        attempt.update(
            trigger=trigger["fault"], trigger_says=one_line(trigger), file=trigger["file"], line=trigger["line"], line_at=trigger["line_at"]
        )
        if deep is not None:
            attempt.update(fault=deep["fault"], cause=deep["cause"], fingerprint=deep["fingerprint"])


def _noted_by_jobmanager(failed: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The first of the faults of an attempt; where several tasks report the same within a moment, the one that the JobManager's own log
    names: for that one it restarted the job."""
    first = failed[0]
    alike = (f for f in failed if f["role"] == "jobmanager" and f["fault"] == first["fault"] and f["task"] and f["at"] and first["at"])
    return next((f for f in alike if f["at"] - first["at"] <= _ONE_MOMENT), first)


def promote_consequences(faults: list[dict[str, Any]], attempts: list[Row]) -> None:
    """If every failure of a job is a consequence, treat the first as the cause.

    Not so where workers were lost: rules about them read that.
    """
    failed: dict[tuple[str, str | None], list[Row]] = defaultdict(list)
    for attempt in attempts:
        if attempt["ended"] == "failed":
            failed[attempt["scope"], attempt["job"]].append(attempt)
    ill = {job for job, rows in failed.items() if len(rows) >= 2 and all(a["trigger"] and not a["fault"] for a in rows)}
    ill -= {(f["scope"], f["job"]) for f in faults if f["fatal"] and f["fault"] in OF_WORKERS}
    for fault in faults:
        if (fault["scope"], fault["job"]) in ill and fault["fatal"] and fault["consequence"]:
            fault.update(fault=UNKNOWN.id, cause=UNKNOWN.cause, reason=None, consequence=False)
            for attempt in failed[fault["scope"], fault["job"]]:
                if attempt["attempt"] == fault["attempt"] and not attempt["fault"]:
                    attempt.update(fault=UNKNOWN.id, cause=UNKNOWN.cause, fingerprint=fault["fingerprint"])


def one_line(fault: Row) -> str:
    """A fault in one line: who failed, and the deepest exception that says something."""
    who = fault["task"] or fault["resource"] or fault["host"]
    if who and who == fault["resource"] and who.isdigit():
        who = f"executor {who}"  # Spark numbers them
    if fault["task"] and fault["subtask"] is not None:
        number = f"({fault['subtask'] + 1}/{fault['parallelism']})" if fault["parallelism"] else f"#{fault['subtask']}"
        who = f"{fault['task']} {number}"
    speaking = [c for c in fault["chain"] or () if ": " in c]
    if speaking:
        kind, _, said = speaking[-1].partition(": ")
        cause = f"{without_package(kind)}: {_sentence(said)}"
    else:
        says = fault["root_message"] or _HEADER.sub("", (fault["text"] or "").partition("\n")[0])
        cause = without_package(fault["root_exception"] or "") or _sentence(says)
    return f"{who}: {cause}" if who else cause


def without_package(name: str) -> str:
    """``TimeoutException`` of ``java.util.concurrent.TimeoutException``."""
    return _PACKAGE.sub("", name)


def _sentence(text: str) -> str:
    """The first sentence of `text`, at most 140 characters."""
    first = text.partition(". ")[0]
    return first if len(first) <= 140 else first[:139].rstrip() + "…"
