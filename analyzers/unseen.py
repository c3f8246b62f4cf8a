"""What the evidence that was read cannot show, so that an all-clear over it has to say so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from analyzers.derived.split_audit import masked_by_beam
from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_OVER = frozenset({"query-stopped", "query-failed", "query-exception", "spark-application-ended"})


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
    return said + _open_batches(tables)


def _open_batches(tables: Tables) -> list[str]:
    """Per scope of one query: the batch in which its log ends. One that hangs writes no line, as one that works may write none."""
    by_scope: dict[str, list[Row]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] in ("query-started", "batch-planned", "query-progress") or event["signature"] in _OVER:
            by_scope[event["scope"]].append(event)
    judged_by_files = {row["scope"] for row in tables.get("batches", ())}  # SPK107 looks into commits/ itself
    said = []
    for scope, events in sorted(by_scope.items()):
        if scope in judged_by_files or len({e["job"] for e in events if e["job"]}) > 1:
            continue  # of several queries nobody can say whose batch it is
        events.sort(key=lambda e: (e["seq"] if e["seq"] is not None else 0, e["file"], e["line"]))
        planned: Row | None = None
        for event in events:
            if event["signature"] == "batch-planned":
                planned = event
            elif event["signature"] != "query-progress" or (planned is not None and event["checkpoint"] == planned["checkpoint"]):
                planned = None
        if planned is not None and planned["checkpoint"] is not None:
            when = f", planned at {planned['at']:%H:%M:%S} UTC" if planned["at"] else ""
            batch = planned["checkpoint"]
            said.append(
                f"whether batch {batch} ends: what was looked at stops within it{when}, and a batch that hangs writes no line; "
                f"commits/{batch} in the query's checkpoint tells, or a thread dump of the driver"
            )
    return said
