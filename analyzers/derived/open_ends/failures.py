"""Failures of which these lines show only a part: what it hit, what came first, or whose it was."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from analyzers.derived.failures.attempts import PLANNED
from analyzers.derived.failures.failure_signs import OF_WORKERS, WORKERS
from analyzers.derived.open_ends.ends import Tables, at_the_end, last_of, open_end
from analyzers.tables import Row

_CONTAINER = re.compile(r"\bcontainer_\w+")


def of_failures(tables: Tables) -> list[Row]:
    """TaskManagers, containers, threads and tasks that something happened to."""
    return (
        _open_registrations(tables) + _nobodys_containers(tables) + _out_of_memory(tables) + _cancelled(tables) + _only_consequences(tables)
    )


def _open_registrations(tables: Tables) -> list[Row]:
    """TaskManagers that had not reached the JobManager by the end of their log."""
    tried: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] == "resourcemanager-unresolved":
            tried[event["scope"], event["file"]].append(event)
        elif event["signature"] == "resourcemanager-registered":
            tried.pop((event["scope"], event["file"]), None)
    return [
        open_end(
            "registration",
            last_of(events),
            name=file.rsplit("/", 1)[-1],
            address=next((e["address"] for e in events if e["address"]), None),
        )
        for (_, file), events in sorted(tried.items())
        if at_the_end(events)
    ]


def _address(events: Sequence[Row]) -> str | None:
    return next((event["address"] for event in events if event["address"]), None)


def _nobodys_containers(tables: Tables) -> list[Row]:
    """Containers that were killed, in logs in which nothing tells that they were a streaming job's."""
    events = tables.get("log_events", ())
    ours = {event["scope"] for event in events if event["signature"] not in WORKERS}
    killed: dict[tuple[str, str], Row] = {}
    for event in events:
        if event["signature"] in WORKERS and event["scope"] not in ours:
            in_text = _CONTAINER.search(event["text"] or "")
            if name := event["resource"] or (in_text and in_text[0]):
                killed.setdefault((event["scope"], name), event)
    return [open_end("container", event, resource=name) for (_, name), event in sorted(killed.items())]


def _out_of_memory(tables: Tables) -> list[Row]:
    """Threads that ran out of memory where neither their process is known nor a task or job is seen to fail of it."""
    return [
        open_end("out-of-memory", fault, name=fault["root_message"] or "OutOfMemoryError")
        for fault in tables.get("faults", ())
        if fault["fault"] == "out-of-memory" and not fault["fatal"]
    ]


def _cancelled(tables: Tables) -> list[Row]:
    """Tasks that were cancelled in lines that show neither a failure nor an order to stop: an excerpt from the middle of a restart."""
    events = tables.get("log_events", ())
    told = {e["scope"] for e in events if e["signature"] in ("job-state", "job-terminal", "task-failed") or e["signature"] in PLANNED}
    first: dict[str, Row] = {}
    for event in events:
        if event["signature"] == "task-transition" and event["to_state"] in ("CANCELING", "CANCELED") and event["scope"] not in told:
            first.setdefault(event["scope"], event)
    return [open_end("cancelled", event) for _, event in sorted(first.items())]


def _only_consequences(tables: Tables) -> list[Row]:
    """Tasks of which these lines show nothing but failures that follow from others: what failed first is not among them."""
    faults = [f for f in tables.get("faults", ()) if f["fatal"] and f["task"] is not None]
    told = {f["scope"] for f in faults if not f["consequence"]}
    ordered = {a["scope"] for a in tables.get("attempts", ()) if a["planned_because"]}
    first: dict[str, Row] = {}
    for fault in faults:
        if fault["scope"] not in told | ordered and fault["fault"] not in OF_WORKERS:
            first.setdefault(fault["scope"], fault)
    return [
        open_end("only-consequences", fault, task=fault["task"], name=(fault["root_exception"] or "").rsplit(".", 1)[-1] or None)
        for _, fault in sorted(first.items())
    ]
