"""Processes that were told to end (SIGTERM, Ctrl-C, a stopped SparkContext): what fails in one afterwards is a consequence."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from analyzers.derived.failures.fault_classes import UNKNOWN, FaultClass
from analyzers.logs.layouts.timestamps import LEADING_STAMP
from analyzers.tables import Row

TOLD = "told-to-end"
"""The fault class of what fails because its process was told to end."""
BECAUSE = "its process was told to end"
_SIGNALS = frozenset({"signal-received", "process-stop-requested"})
_STOPPING = "spark-stopping"
_ENDS = frozenset({*_SIGNALS, _STOPPING})
_STARTS = frozenset({"flink-banner", "spark-version", "checkpoint-completed", "query-started"})
_WITHIN = timedelta(minutes=2)  # grace periods are mostly shorter
_SOON = timedelta(minutes=1)
_BY_HOOK = "from shutdown hook"  # the process ends, and with it the context; else the program or the context itself ended it
_EXECUTORS = frozenset({"executor-lost", "executor-fetch", "container-killed"})
"""What becomes of the executors of a driver that ends by its hook: they end, too, and their losses are no reason for its end."""
_OF_STOPPED = re.compile(
    r"RejectedExecutionException|Interrupted(?:IO)?Exception|ClosedByInterrupt|ClosedChannelException|Filesystem closed|CommitDenied"
    r"|Shutdown in progress|RpcEnv|Py4J(?:Network)?Exception: (?:Error while (?:sending|obtaining)|Cannot obtain)"
)
"""What Spark's program ends in when its context was stopped. A trace of another kind may be why it stopped: `finally: spark.stop()`."""


class Endings:
    """Where in each file a process is told to end, and where the next one starts."""

    def __init__(self, events: Sequence[Row]) -> None:
        marks: dict[tuple[str, str], list[Row]] = defaultdict(list)
        ended = {(e["scope"], e["file"]) for e in events if e["signature"] in _ENDS}
        for event in events if ended else ():
            if (event["scope"], event["file"]) in ended and (event["signature"] in _ENDS or _goes_on(event)):
                marks[event["scope"], event["file"]].append(event)
        self._marks = {where: sorted(rows, key=lambda e: e["line"]) for where, rows in marks.items()}

    def told(self, event: Row, fault: FaultClass) -> bool:
        """Whether `event` is what its process leaves behind after it was told to end; a signal explains all that follows it."""
        if fault.id == "driver-jvm-lost":
            return False  # SPK112 tells whether the JVM was asked to end
        for mark in self._before(event):
            if mark["signature"] not in _ENDS:
                return False
            if mark["role"] and event["role"] and mark["role"] != event["role"]:
                continue
            if mark["at"] and event["at"] and not mark["at"] <= event["at"] <= mark["at"] + _WITHIN:
                continue
            if mark["signature"] in _SIGNALS:
                return True
            if fault.id in _EXECUTORS and _BY_HOOK in (mark["text"] or ""):
                return True
            if (fault is UNKNOWN or fault.consequence or fault.id == "user-code") and _OF_STOPPED.search("\n".join(event["chain"] or ())):
                return True
        return False

    def _before(self, event: Row) -> Iterator[Row]:
        marks = self._marks.get((event["scope"], event["file"]), [])
        for place in range(bisect_right(marks, event["line"], key=lambda e: e["line"]) - 1, -1, -1):
            yield marks[place]


def _goes_on(event: Row) -> bool:
    """Whether a process starts, or work goes on: in a file of several processes another one was told to end."""
    return event["signature"] in _STARTS or (event["signature"] == "job-state" and event["to_state"] == "RUNNING")


def plan_told(attempts: Sequence[Row], faults: Sequence[dict[str, Any]], events: Iterable[Row]) -> None:
    """Turn attempts into planned ones, in place, that failed of nothing but the end of their process; its faults fail nothing.

    Unless something failed right before: that is why it ended.
    """
    told = [f for f in faults if f["fault"] == TOLD and f["fatal"]]
    _blame(told, faults, events)
    told = [f for f in told if f["fault"] == TOLD]
    for fault in faults if told else ():
        if fault["fault"] != TOLD and any(_echoes(fault, of) for of in told):
            fault.update(fault=TOLD, cause=None, reason=None, consequence=True)
    own: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for fault in faults:
        if fault["fatal"]:
            own[fault["scope"], fault["job"], fault["attempt"]].append(fault)
    for attempt in attempts:
        failed = own.get((attempt["scope"], attempt["job"], attempt["attempt"]), [])
        if attempt["ended"] == "failed" and failed and all(f["fault"] == TOLD for f in failed):
            attempt.update(ended="planned", planned_because=BECAUSE)
    for fault in told:
        fault["fatal"] = False


def _blame(told: Sequence[dict[str, Any]], faults: Sequence[dict[str, Any]], events: Iterable[Row]) -> None:
    """Let the error that was logged right before a process ended speak for what its end broke; nobody sent that process a signal."""
    files = {(f["scope"], f["file"]) for f in told}
    own = [e for e in events if (e["scope"], e["file"]) in files] if told else []
    signalled = {(e["scope"], e["file"]) for e in own if e["signature"] in _SIGNALS}
    for fault in told:
        where = (fault["scope"], fault["file"])
        stops = [e for e in own if (e["scope"], e["file"]) == where and e["signature"] == _STOPPING and e["line"] < fault["line"]]
        if where in signalled or not stops:
            continue
        stop = stops[0]
        known = [f for f in faults if (f["scope"], f["file"]) == where and f["cause"] and _right_before(f, stop)]
        for reason in known:
            reason["fatal"] = True
        errors = [e for e in own if (e["scope"], e["file"]) == where and e["signature"] == "error-logged" and _right_before(e, stop)]
        if not known and errors and _BY_HOOK not in (stop["text"] or ""):
            said = LEADING_STAMP.sub("", (errors[-1]["text"] or "").partition("\n")[0])
            unknown = {"fault": UNKNOWN.id, "cause": UNKNOWN.cause, "reason": UNKNOWN.reason, "consequence": False}
            fault.update(
                unknown,
                chain=None,
                exception=None,
                root_exception=None,
                root_message=said,
                text=said,
                line=errors[-1]["line"],
                line_at=errors[-1]["at"],
            )


def _right_before(row: Mapping[str, Any], stop: Row) -> bool:
    """Whether an error was logged in the minute before the process began to end."""
    if row["level"] not in ("ERROR", "FATAL") or row["line"] >= stop["line"] or row["at"] is None or stop["at"] is None:
        return False
    return bool(timedelta() <= stop["at"] - row["at"] <= _SOON)


def _echoes(fault: dict[str, Any], told: dict[str, Any]) -> bool:
    """Whether another process (the JobManager) reports the failure `told`."""
    if fault["scope"] != told["scope"] or fault["fingerprint"] != told["_print"] or fault["at"] is None or told["at"] is None:
        return False
    return bool(told["at"] - timedelta(seconds=1) <= fault["at"] <= told["at"] + _SOON)
