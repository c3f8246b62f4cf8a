"""Columns without which a row says nothing: rows of another table under this name, or a bundle of another program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyzers.bundle.errors import BundleError
from analyzers.tables import Row
from analyzers.tables.by_column import column

REQUIRED: dict[str, tuple[str, ...]] = {
    "batches": ("path", "batch"),
    "bootstrap_servers": ("entry", "state"),
    "brokers": ("broker",),
    "checkpoint_acks": ("job", "checkpoint", "vertex", "subtask"),
    "checkpoint_files": ("path", "state"),
    "checkpoints": ("checkpoint", "status"),
    "committed_offsets": ("group", "topic", "partition"),
    "groups": ("group",),
    "log_counts": ("signature", "events"),
    "log_events": ("signature", "file", "line", "text"),
    "log_files": ("file",),
    "log_remarks": ("file", "text"),
    "log_offsets": ("topic", "partition"),
    "members": ("group", "member"),
    "partitions": ("topic", "partition"),
    "pending_transactions": ("path", "operator"),
    "planned_operators": ("source", "operator"),
    "sources": ("name", "kind", "state"),
    "splits": ("path", "identity"),
    "subtask_states": ("path", "operator", "subtask"),
    "subtasks": ("job", "vertex", "subtask"),
    "transactional_ids": ("transactional_id",),
    "vertices": ("job", "vertex"),
}


def check(tables: Mapping[str, Sequence[Row]], path: object) -> None:
    """Raises `BundleError` for a table whose rows are none of it: to judge without them would be to say that all is well."""
    for name, rows in tables.items():
        for needed in ("scope", *REQUIRED.get(name, ())):
            if rows and None in column(rows, needed):
                raise BundleError(
                    f"the bundle {path} is damaged or was edited: rows of {name} have no {needed}",
                    "Copy or save it again; half of the evidence would give a wrong answer.",
                )
