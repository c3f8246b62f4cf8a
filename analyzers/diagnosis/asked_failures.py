"""Failures that a JobManager was asked for and no log has, as the events that a log would print for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analyzers.tables import LOG_EVENTS, Row

Tables = Mapping[str, Sequence[Row]]
_LOGGED = frozenset({"checkpoint-failed", "checkpoint-expired", "checkpoint-declined", "checkpoint-not-finalized", "checkpoint-discarded"})


def asked_failures(tables: Tables) -> Iterator[tuple[str, Row]]:
    """Name of the table and event of each: what the JobManager remembers of exceptions, and checkpoints that failed."""
    remembered = {(row["scope"], row["job"]) for row in tables.get("exceptions", ())}
    files = {(row["scope"], row["file"]) for row in tables.get("log_files", ())} if remembered else set()
    for fault in tables.get("faults", ()):
        if (fault["scope"], fault["job"]) in remembered and (fault["scope"], fault["file"]) not in files:
            yield "exceptions", LOG_EVENTS.row({name: fault[name] for name in LOG_EVENTS.names if name in fault})
    failed = [row for row in tables.get("checkpoints", ()) if row["status"] == "FAILED" and not row["savepoint"]]
    if not failed:
        return
    logged = {(e["scope"], e["job"], e["checkpoint"]) for e in tables.get("log_events", ()) if e["signature"] in _LOGGED}
    for place, row in {(row["scope"], row["job"], row["checkpoint"]): row for row in failed}.items():
        if place not in logged:
            said = {"signature": "checkpoint-failed", "at": row["failed_at"] or row["triggered_at"], "text": row["failure"] or ""}
            kept = {name: row[name] for name in ("scope", "as_of", "job", "checkpoint")}
            yield "checkpoints", LOG_EVENTS.row({**kept, **said, "detail": {"reason": row["failure"]} if row["failure"] else None})
