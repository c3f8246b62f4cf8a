"""Derived from the ends of logs: what was still open when they ended, so that nobody can know how it went on."""

from __future__ import annotations

from datetime import datetime

from analyzers.derived.checkpoints.split_audit_legs import masked_by_beam
from analyzers.derived.open_ends.checkpoints import open_checkpoints
from analyzers.derived.open_ends.ends import Tables
from analyzers.derived.open_ends.failures import of_failures
from analyzers.derived.open_ends.kafka import of_kafka
from analyzers.derived.open_ends.processes import of_processes
from analyzers.derived.open_ends.queries import of_batches, of_queries, open_batches
from analyzers.derived.open_ends.retries import of_retries
from analyzers.tables import OPEN_ENDS, Row


def open_ends(tables: Tables) -> list[Row]:
    """Rows of ``open_ends``: what these logs and checkpoints cannot show, and an all-clear over them has to say."""
    logged = {row["job"] for row in tables.get("jobs_seen", ())}
    masked = [
        OPEN_ENDS.row({"scope": c.scope, "job": c.job, "kind": "beam-checkpoint", "name": c.job or c.series, "checkpoint": c.checkpoint})
        for c in masked_by_beam(tables)
        if (c.job or c.series) not in logged
    ]
    return (
        masked
        + of_queries(tables)
        + open_checkpoints(tables)
        + of_kafka(tables)
        + of_failures(tables)
        + of_processes(tables)
        + of_retries(tables)
    )


def batches_before(since: datetime, tables: Tables) -> list[Row]:
    """Rows of ``open_ends``: batches that were open when the window from `since` on began, and of which nothing is in it."""
    events = [event for event in tables.get("log_events", ()) if event["at"]]
    if any(of_batches(event) and event["at"] >= since for event in events):
        return []
    return open_batches({"log_events": [event for event in events if event["at"] < since], "batches": tables.get("batches", ())})
