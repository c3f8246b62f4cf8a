"""What the logs of Structured Streaming cannot show of its queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from analyzers.derived.failures.failure_signs import BATCH_DONE, BATCH_PLANNED, QUERY_OVER
from analyzers.derived.open_ends.ends import PENDING_LEAST, PENDING_TIMES, Tables, open_end
from analyzers.tables import Row

_SILENT_LEAST = timedelta(minutes=30)
_ENDED_LEAST = timedelta(minutes=10)  # between the end of a driver's log and that of the others: logs are not saved all at once
_OF_BATCHES = frozenset(("query-started", *BATCH_DONE, *BATCH_PLANNED, *QUERY_OVER))
_USUAL = 50  # of its newest batches; between the first and the last that were kept of a long log lies a gap


def of_queries(tables: Tables) -> list[Row]:
    """Batches and drivers of which nobody knows whether they still work."""
    return open_batches(tables) + _silent_queries(tables) + _ended_drivers(tables)


def of_batches(event: Row) -> bool:
    """Whether a line tells of a query's batches or of its end."""
    return event["signature"] in _OF_BATCHES


def _ends(tables: Tables) -> dict[tuple[str, str], datetime]:
    """When the last line of each log was written, by scope and file."""
    return {(r["scope"], r["file"]): r["last_at"] for r in tables.get("log_files", ()) if r["last_at"]}


def _names(tables: Tables) -> dict[str, str | None]:
    return {r["job"]: r.get("name") for r in tables.get("jobs_seen", ())}


def _longest(times: Sequence[datetime]) -> timedelta:
    """The longest time between two of the newest of these, which are in order."""
    return max((later - earlier for earlier, later in pairwise(times[-_USUAL:])), default=timedelta(0))


def _silent_queries(tables: Tables) -> list[Row]:
    """The queries that told no progress for unusually long while another one of their driver did, and of which no open batch is known."""
    ends = _ends(tables)
    told: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["job"] and event["at"] and of_batches(event) and event["signature"] not in BATCH_PLANNED:
            told[event["scope"], event["job"]].append(event)
    newest = {key: max(events, key=lambda e: e["at"]) for key, events in told.items()}
    written = [e for e in tables.get("log_events", ()) if e["signature"] == "batch-written" and e["job"] and e["at"]]
    at_work = {(e["scope"], e["job"]) for e in written if (last := newest.get((e["scope"], e["job"]))) and e["at"] > last["at"]}
    names = _names(tables)
    found = []
    for (scope, job), last in sorted(newest.items()):
        end = ends.get((scope, last["file"]))
        beside = [e for (_, other), e in newest.items() if other != job and e["scope"] == scope and e["file"] == last["file"]]
        if end is None or (scope, job) in at_work or last["signature"] in QUERY_OVER or not any(e["at"] > last["at"] for e in beside):
            continue
        usual = _longest(sorted(e["at"] for e in told[scope, job] if e["signature"] == "query-progress"))
        silent = end - last["at"]
        if silent >= max(_SILENT_LEAST, PENDING_TIMES * usual):
            found.append(open_end("query-silent", last, query=names.get(job) or job, lasted=silent))
    return found


def _ended_drivers(tables: Tables) -> list[Row]:
    """Drivers of queries whose log stops long before others, in the middle of their work: SIGKILL leaves no line (SPK111 tells it where
    another driver went on)."""
    ends = _ends(tables)
    newest: dict[str, datetime] = {}
    for (scope, _), at in ends.items():
        newest[scope] = max(at, newest.get(scope, at))
    told: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["job"] and event["at"] and of_batches(event):
            told[event["scope"], event["job"]].append(event)
    stopped = {(e["scope"], e["file"]) for e in tables.get("log_events", ()) if e["signature"] in ("spark-stopping", *QUERY_OVER)}
    names = _names(tables)
    found = []
    for (scope, job), events in sorted(told.items()):
        last = max(events, key=lambda e: e["at"])
        times = sorted(e["at"] for e in events if e["signature"] == "query-progress")
        end = ends.get((scope, last["file"]))
        if end is None or len(times) < 2 or (scope, last["file"]) in stopped:
            continue
        if end - last["at"] <= max(_ENDED_LEAST, PENDING_TIMES * _longest(times)) <= newest[scope] - end:
            found.append(open_end("driver", last, at=end, query=names.get(job) or job, lasted=newest[scope] - end))
    return found


def open_batches(tables: Tables) -> list[Row]:
    """Per scope of one query: the batch in which its log ends. One that hangs writes no line, as one that works may write none."""
    by_scope: dict[str, list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if of_batches(event):
            by_scope[event["scope"]].append(event)
    judged_by_files = {row["scope"] for row in tables.get("batches", ())}  # SPK107 looks into commits/ itself
    found = []
    for scope, events in sorted(by_scope.items()):
        if scope in judged_by_files:
            continue
        if len({e["job"] for e in events if e["job"]}) > 1:
            found += _open_beside_others(scope, events, tables)
            continue
        events.sort(key=lambda e: (e["seq"] if e["seq"] is not None else 0, e["file"], e["line"]))
        planned: Row | None = None
        done = -1
        for event in events:
            if event["signature"] in BATCH_PLANNED:
                # in Real-time Mode, and with asynchronous progress tracking, offsets may be written behind the end of their batch
                planned = event if event["checkpoint"] is None or event["checkpoint"] > done else planned
                continue
            done = event["checkpoint"] if event["signature"] in BATCH_DONE and event["checkpoint"] is not None else -1
            if event["signature"] not in BATCH_DONE or (planned is not None and event["checkpoint"] == planned["checkpoint"]):
                planned = None
        if planned is not None and planned["checkpoint"] is not None:
            found.append(open_end("batch", planned, batch=planned["checkpoint"]))
    return found


def _open_beside_others(scope: str, events: Sequence[Row], tables: Tables) -> list[Row]:
    """Of the queries of one driver those whose newest batch has been open for clearly longer than those before: of the others
    some is always in the middle of one."""
    ends = _ends(tables)
    names = _names(tables)
    by_job: dict[str, list[Row]] = defaultdict(list)
    for event in events:
        if event["job"] and event["at"] and event["signature"] != "query-started":
            by_job[event["job"]].append(event)
    found = []
    for job, rows in sorted(by_job.items()):
        rows.sort(key=lambda e: (e["at"], e["line"]))
        done = [e for e in rows if e["signature"] == "query-progress"]
        planned = next((e for e in reversed(rows) if e["signature"] in BATCH_PLANNED), None)
        over = rows[-1]["signature"] in QUERY_OVER
        if planned is None or over or not done or done[-1]["checkpoint"] >= planned["checkpoint"] or (scope, planned["file"]) not in ends:
            continue
        since_then = ends[scope, planned["file"]] - planned["at"]
        if since_then >= max(PENDING_LEAST, PENDING_TIMES * _longest([e["at"] for e in done])):
            query = names.get(job) or job
            found.append(open_end("batch-of-query", planned, job=job, batch=planned["checkpoint"], query=query, lasted=since_then))
    return found
