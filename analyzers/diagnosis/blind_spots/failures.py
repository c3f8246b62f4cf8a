"""Failures of which these lines show only a part: what it hit, what came first, or whose it was."""

from __future__ import annotations

import re
from collections import defaultdict

from analyzers.derived.failures.attempts import PLANNED
from analyzers.derived.failures.failure_signs import OF_WORKERS, WORKERS
from analyzers.diagnosis.blind_spots.words import Tables, at_the_end, few
from analyzers.tables import Row

_CONTAINER = re.compile(r"\bcontainer_\w+")


def of_failures(tables: Tables) -> list[str]:
    """TaskManagers, containers, threads and tasks that something happened to."""
    return (
        _open_registrations(tables) + _nobodys_containers(tables) + _out_of_memory(tables) + _cancelled(tables) + _only_consequences(tables)
    )


def _open_registrations(tables: Tables) -> list[str]:
    """TaskManagers that had not reached the JobManager by the end of their log."""
    tried: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] == "resourcemanager-unresolved":
            tried[event["scope"], event["file"]].append(event)
        elif event["signature"] == "resourcemanager-registered":
            tried.pop((event["scope"], event["file"]), None)
    said = []
    for (_, file), events in sorted(tried.items()):
        if at_the_end(events):
            name = file.rsplit("/", 1)[-1]
            where = next((f" at {e['address']}" for e in events if e["address"]), "")
            said.append(f"whether the TaskManager of {name} reaches the JobManager{where}: its log ends before it did")
    return few(said, "TaskManagers")


def _nobodys_containers(tables: Tables) -> list[str]:
    """Containers that were killed, in logs in which nothing tells that they were a streaming job's."""
    events = tables.get("log_events", ())
    ours = {event["scope"] for event in events if event["signature"] not in WORKERS}
    named = {e["resource"] or _CONTAINER.search(e["text"] or "") for e in events if e["signature"] in WORKERS and e["scope"] not in ours}
    names = sorted({each if isinstance(each, str) else each[0] for each in named if each})
    return few(
        [f"whose container {name} was, which these lines say was killed: nothing beside it is a streaming job's" for name in names],
        "containers",
    )


def _out_of_memory(tables: Tables) -> list[str]:
    """Threads that ran out of memory where neither their process is known nor a task or job is seen to fail of it."""
    said = []
    for fault in tables.get("faults", ()):
        if fault["fault"] == "out-of-memory" and not fault["fatal"]:
            when = f" at {fault['at']:%Y-%m-%d %H:%M:%S} UTC" if fault["at"] else ""
            where = f"{fault['file']}:{fault['line']}"
            what = fault["root_message"] or "OutOfMemoryError"
            said.append(
                f"whether a job suffers from the memory that ran out{when} ({where}: {what}): no task, job or worker is seen to fail of it"
            )
    return few(said, "threads")


def _cancelled(tables: Tables) -> list[str]:
    """Tasks that were cancelled in lines that show neither a failure nor an order to stop: an excerpt from the middle of a restart."""
    events = tables.get("log_events", ())
    told = {e["scope"] for e in events if e["signature"] in ("job-state", "job-terminal", "task-failed") or e["signature"] in PLANNED}
    first: dict[str, Row] = {}
    for event in events:
        if event["signature"] == "task-transition" and event["to_state"] in ("CANCELING", "CANCELED") and event["scope"] not in told:
            first.setdefault(event["scope"], event)
    when = [f" at {e['at']:%H:%M:%S} UTC" if e["at"] else "" for _, e in sorted(first.items())]
    return few([f"why tasks were cancelled{at}: the lines show neither a failure nor an order to stop" for at in when], "scopes")


def _only_consequences(tables: Tables) -> list[str]:
    """Tasks of which these lines show nothing but failures that follow from others: what failed first is not among them."""
    faults = [f for f in tables.get("faults", ()) if f["fatal"] and f["task"] is not None]
    told = {f["scope"] for f in faults if not f["consequence"]}
    ordered = {a["scope"] for a in tables.get("attempts", ()) if a["planned_because"]}
    first: dict[str, Row] = {}
    for fault in faults:
        if fault["scope"] not in told | ordered and fault["fault"] not in OF_WORKERS:
            first.setdefault(fault["scope"], fault)
    said = []
    for _, fault in sorted(first.items()):
        when = f" at {fault['at']:%H:%M:%S} UTC" if fault["at"] else ""
        what = (fault["root_exception"] or "").rsplit(".", 1)[-1]
        said.append(
            f"why {fault['task']} failed{when}: {f'{what} is' if what else 'these lines show'} only what follows from another failure or "
            "an order; the JobManager's log just before has the first"
        )
    return few(said, "scopes")
