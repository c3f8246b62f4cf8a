"""Queries whose sink takes their batches for committed already: by its lines, by batches that it did not read, or by the table's number.

Sinks of Structured Streaming add a batch only if its number is above the one that the table holds. A query that is started with an empty
checkpoint directory counts from 0 again; the table remembers the numbers of before. What was skipped is read and not written; as the file
sink does not touch the rows of such a batch, its progress shows no rows, while the offsets move.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzers.tables import SINK_SKIPS, Row

Tables = Mapping[str, Sequence[Row]]
SKIPPED = "batch-commit-skipped"
STARTED, PROGRESS = "query-started", "query-progress"
_BEGINS = (STARTED, "query-resumed")
_LOOKED_AT = frozenset({SKIPPED, PROGRESS, *_BEGINS})
_ENOUGH_UNREAD = 3
"""Batches: offsets of Kafka move without rows where transactions end."""
_FILE_SINK = "FileSink["


def batch_skips(tables: Tables) -> list[Row]:
    """Rows of ``sink_skips``, one per query."""
    batches: dict[tuple[str, str | None], list[Row]] = defaultdict(list)
    for row in tables.get("query_batches", ()):
        if row["batch"] is not None:
            batches[row["scope"], row["query"]].append(row)
    for rows in batches.values():
        rows.sort(key=lambda row: (row["batch"], row["at"] is not None and row["at"].timestamp()))
    events = [event for event in tables.get("log_events", ()) if event["signature"] in _LOOKED_AT]
    found: dict[tuple[str, str | None], dict[str, Any]] = {}
    for made in (*_by_lines(batches, events), *_by_progress(batches, events), *_by_table(batches, tables)):
        found.setdefault((made["scope"], made["job"]), made)
    return [SINK_SKIPS.row({**made, **_of_query(made, batches, events, tables)}) for made in found.values()]


def _by_lines(batches: Mapping[tuple[str, str | None], list[Row]], events: Sequence[Row]) -> Iterator[dict[str, Any]]:
    lines: dict[tuple[str, str | None, str], list[Row]] = defaultdict(list)
    runs: dict[tuple[str, str], int] = defaultdict(int)
    for event in events:
        runs[event["scope"], event["file"]] += event["signature"] in _BEGINS
        detail = event["detail"] or {}
        number = event["checkpoint"] if event["checkpoint"] is not None else detail.get("version")
        if event["signature"] == SKIPPED and number is not None:
            lines[event["scope"], detail.get("query") or event["job"], event["file"]].append(
                {**event, "checkpoint": int(number), "run": runs[event["scope"], event["file"]]}
            )
    for (scope, query, _), own in lines.items():
        numbers = {event["checkpoint"] for event in own}
        of_runs = {(event["run"], event["checkpoint"]) for event in own}
        if not any((run, number + 1) in of_runs for run, number in of_runs):
            continue  # after a failure one batch is done again
        own.sort(key=lambda event: event["checkpoint"])
        first, last = own[0], own[-1]
        later = any(row["batch"] > last["checkpoint"] and row["rows"] for row in batches.get((scope, query), ()))
        yield {
            "scope": scope, "job": query, "as_of": last["at"], "reason": "batches-hole" if later else "batches-skipped",
            "first": first["checkpoint"], "newest": last["checkpoint"], "skips": len(numbers), "at": first["at"], "until": last["at"],
            "application": (last["detail"] or {}).get("application"), "file": first["file"], "line": first["line"], "text": first["text"],
        }  # fmt: skip


def _by_progress(batches: Mapping[tuple[str, str | None], list[Row]], events: Sequence[Row]) -> Iterator[dict[str, Any]]:
    logged = {(event["scope"], event["file"], event["line"]): event["at"] for event in events if event["signature"] == PROGRESS}
    for (scope, query), rows in batches.items():
        unread: list[Row] = []
        for row in rows:
            if row["moved"] and row["rows"] == 0 and (row["sink"] or "").startswith(_FILE_SINK):
                unread.append(row)
            elif unread or row["rows"]:
                break
        if len(unread) < _ENOUGH_UNREAD or any(row["rows"] for row in rows if row["batch"] < unread[0]["batch"]):
            continue
        first, last = unread[0], unread[-1]
        hole = any(row["rows"] for row in rows if row["batch"] > last["batch"])
        yield {
            "scope": scope, "job": query, "as_of": last["at"], "reason": "batches-hole" if hole else "batches-unread",
            "first": first["batch"], "newest": last["batch"], "skips": len(unread), "until": last["at"],
            "at": logged.get((scope, first["file"], first["line"])) or first["at"], "file": first["file"], "line": first["line"],
            "text": f"batch {first['batch']}: numInputRows 0, the offsets moved, sink {first['sink']}",
        }  # fmt: skip


def _by_table(batches: Mapping[tuple[str, str | None], list[Row]], tables: Tables) -> Iterator[dict[str, Any]]:
    for (scope, query), rows in batches.items():
        first, last = rows[0], rows[-1]
        commit = _held(rows, scope, tables)
        if commit is None or first["batch"] >= last["batch"] or last["batch"] >= commit["committed"]:
            continue
        if commit["committed_at"] and first["at"] and commit["committed_at"] < first["at"]:
            yield {
                "scope": scope, "job": query, "as_of": last["at"], "reason": "batches-anew", "first": first["batch"],
                "newest": last["batch"], "at": first["at"], "until": last["at"], "file": commit["file"], "line": commit["line"],
                "text": f"{commit['table_name'] or 'the table'}: {commit['application'] or '_spark_metadata'} {commit['committed']}",
            }  # fmt: skip


def _held(rows: Sequence[Row], scope: str, tables: Tables, application: str | None = None) -> Row | None:
    """What the table holds for the query: under its name or id, or its `application`, or in the directory that it writes to."""
    names = {name for row in rows for name in (row["name"], row["query"]) if name} | {application or ""}
    paths = {row["sink"][len(_FILE_SINK) : -1] for row in rows if (row["sink"] or "").startswith(_FILE_SINK)}
    own = [
        commit
        for commit in tables.get("sink_commits", ())
        if commit["scope"] == scope
        and ((commit["writer"] == "delta" and commit["application"] in names)
             or (commit["writer"] == "files" and any(_same(commit["table_name"] or "", path) for path in paths)))
    ]  # fmt: skip
    return max(own, key=lambda commit: commit["committed"], default=None)


def _of_query(
    made: Mapping[str, Any], batches: Mapping[tuple[str, str | None], list[Row]], events: Sequence[Row], tables: Tables
) -> dict[str, Any]:
    """Its name and directory, and what the table holds."""
    rows = batches.get((made["scope"], made["job"]), [])
    commit = _held(rows, made["scope"], tables, made.get("application"))
    sink = next((row["sink"] for row in reversed(rows) if (row["sink"] or "").startswith(_FILE_SINK)), None)
    own = (event for event in reversed(events) if (event["scope"], event["job"]) == (made["scope"], made["job"]))
    detail = next((event["detail"] for event in own if event["signature"] == STARTED), None) or {}
    return {
        "job_name": next((row["name"] for row in rows if row["name"]), None) or detail.get("query_name"),
        "directory": detail.get("path"),
        "application": made.get("application") or (commit and commit["application"]),
        "table_name": (commit and commit["table_name"]) or (sink and sink[len(_FILE_SINK) : -1]),
        "committed": commit and commit["committed"],
        "committed_at": commit and commit["committed_at"],
    }


def _same(listed: str, written: str) -> bool:
    """Whether two paths are one directory: s3, s3a and s3n are one store, and `hdfs dfs -ls /a` lists hdfs://nn:8020/a."""
    one, other = (path.rpartition("://")[2].removeprefix("file:").rstrip("/") for path in (listed, written))
    return one == other or (one.startswith("/") and "://" not in listed and other.partition("/")[2] == one[1:])
