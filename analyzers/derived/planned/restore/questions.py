"""The rows of ``preflight`` about planned restores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from analyzers.derived.planned.answers import ORDER
from analyzers.derived.planned.restore.case import CHANGE, Answer, Restore, Tables
from analyzers.derived.planned.restore.claim import claim_mode
from analyzers.derived.planned.restore.files import complete, state_files
from analyzers.derived.planned.restore.operators import left_over, start_empty
from analyzers.derived.planned.restore.parallelism import max_parallelism
from analyzers.derived.planned.restore.positions import double_reading, offsets
from analyzers.derived.planned.restore.transactions import transactions
from analyzers.derived.planned.restore.versions import metadata_version
from analyzers.tables import PLANNED_CHANGES, PREFLIGHT, Row

_QUESTIONS: tuple[Callable[[Restore], Iterator[Answer]], ...] = (
    complete, state_files, left_over, start_empty, max_parallelism, metadata_version, claim_mode, offsets, double_reading, transactions,
)  # fmt: skip


def restore_answers(tables: Tables) -> list[Row]:
    """Rows of ``preflight`` for each row of ``planned_changes`` that restores a checkpoint; what breaks comes first.

    A plan is about its own scope, or about all of them where that is none of the evidence's.
    """
    scopes = {row.get("scope") or "" for row in tables.get("checkpoint_files", ())}
    found: list[Row] = []
    for plan in tables.get("planned_changes", ()):
        if plan["change"] != CHANGE:
            continue
        for scope in [plan["scope"]] if plan["scope"] in scopes or not scopes else sorted(scopes):
            case = Restore(plan, tables, scope)
            job = case.file["job"] if case.file is not None else None
            head = {"scope": scope, "as_of": _newest(case) or plan["as_of"], "job": job, "change": CHANGE, "path": case.path}
            answers = [one for question in _QUESTIONS for one in question(case)]
            found += [PREFLIGHT.row({**head, **one}) for one in sorted(answers, key=lambda one: ORDER.index(one["answer"]))]
    return found


def _newest(case: Restore) -> datetime | None:
    rows = (row for name in ("checkpoint_files", "log_offsets", "planned_operators") for row in case.rows(name))
    return max((row["as_of"] for row in rows if row["as_of"] is not None), default=None)


def restore_row(path: str | None, **more: Any) -> Row:
    """A row of ``planned_changes``; `more` are its columns."""
    return PLANNED_CHANGES.row({"scope": "", "change": CHANGE, "path": path, "claim_mode": "no-claim", "allow_non_restored": False, **more})
