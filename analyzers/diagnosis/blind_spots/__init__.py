"""What the evidence that was read cannot show, so that an all-clear over it has to say so."""

from __future__ import annotations

from datetime import datetime

from analyzers.derived.checkpoints.split_audit_legs import masked_by_beam
from analyzers.diagnosis.blind_spots.checkpoints import open_checkpoints
from analyzers.diagnosis.blind_spots.errors import untold_errors
from analyzers.diagnosis.blind_spots.failures import of_failures
from analyzers.diagnosis.blind_spots.kafka import of_kafka
from analyzers.diagnosis.blind_spots.queries import of_batches, of_queries, open_batches
from analyzers.diagnosis.blind_spots.words import Tables

__all__ = ["starts_before", "unseen", "untold_errors"]

_STARTS = frozenset({"job-restored", "savepoint-restored", "job-initializing", "query-started", "query-resumed"})


def unseen(tables: Tables) -> list[str]:
    """Clauses that follow "nothing wrong found": what stays hidden, and what would show it."""
    logged = {row["job"] for row in tables.get("jobs_seen", ())}
    masked = [name for name in masked_by_beam(tables) if name not in logged]
    said = []
    if masked:
        named = ", ".join(masked[:3]) + (f" and {len(masked) - 3} more" if len(masked) > 3 else "")
        said.append(
            f"whether a split has two readers in one subtask: checkpoints of Beam hide it (job {named}), the logs of the restore tell"
        )
    return said + of_queries(tables) + open_checkpoints(tables) + of_kafka(tables) + of_failures(tables)


def starts_before(since: datetime | None, tables: Tables) -> list[str]:
    """The clause for a window that begins after the jobs did: `tables` are those of all that was read."""
    before = [e for e in tables.get("log_events", ()) if since and e["at"] and e["at"] < since]
    starts = [e["at"] for e in before if e["signature"] in _STARTS]
    if not starts:
        return []
    told = "what is told when a job starts or restores (its splits, its clients' settings)"
    said = [f"{told}: that was at {max(starts):%H:%M:%S} UTC, before --since"]
    if not any(of_batches(e) and e["at"] and since and e["at"] >= since for e in tables.get("log_events", ())):
        said += open_batches({"log_events": before, "batches": tables.get("batches", ())})
    return said
