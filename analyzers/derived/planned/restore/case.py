"""One planned restore: the checkpoint, how it is to be restored, and what it is to meet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from analyzers.derived.planned.answers import MOST_KEPT
from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]
CHANGE = "restore"
Answer = dict[str, Any]
"""Columns of a row of ``preflight`` (`answers.answer`)."""


@dataclass(frozen=True)
class Restore:
    """The rows of one scope of `tables`, for one row of ``planned_changes``."""

    plan: Row
    tables: Tables
    scope: str

    def rows(self, name: str) -> list[Row]:
        return [row for row in self.tables.get(name, ()) if (row.get("scope") or "") == self.scope]

    @cached_property
    def files(self) -> list[Row]:
        """Rows of ``checkpoint_files`` that may be the one: all, or those below the path that was named."""
        found = self.rows("checkpoint_files")
        named = str(self.plan["path"] or "").rstrip("/")
        own = [row for row in found if row["path"] == named or str(row["path"]).startswith((f"{named}/", f"{named}!"))]
        return own or found

    @cached_property
    def file(self) -> Row | None:
        return self.files[0] if len(self.files) == 1 else None

    @cached_property
    def path(self) -> str | None:
        return str(self.file["path"]) if self.file is not None else self.plan["path"]

    @cached_property
    def operators(self) -> list[Row]:
        """Those of the checkpoint, with and without state."""
        return [row for row in self.rows("operator_states") if row["path"] == self.path]

    @cached_property
    def whole(self) -> bool:
        """Whether every operator of the checkpoint is known."""
        return self.file is not None and self.file["state"] == "complete" and len(self.operators) == self.file["operators"]

    @cached_property
    def with_state(self) -> list[Row]:
        """Operators of which Flink asks that they be in the program (OperatorSubtaskState.hasState, or a coordinator's state)."""
        return [row for row in self.operators if row["size_bytes"] or row["coordinator_bytes"] is not None]

    @cached_property
    def program(self) -> list[Row]:
        """What is known of the program's operators."""
        return self.rows("planned_operators")

    @cached_property
    def planned(self) -> dict[str, Row]:
        """The same by operator id; of several sources the one that shows most: a checkpoint, a JobManager, a plan."""
        shown_by = sorted(self.program, key=lambda row: ("plan", "rest", "checkpoint").index(row["source"]))
        return {row["operator"]: row for row in shown_by}

    @cached_property
    def shows_all(self) -> bool:
        """Whether every operator of the program is in `planned`: a checkpoint of it is there, or no vertex chains two."""
        return bool(self.program) and (any(row["source"] == "checkpoint" for row in self.program) or self.chained == 0)

    @cached_property
    def chained(self) -> int | None:
        """Operators of the program whose ids are not shown; None where their number is not shown either."""
        hidden = [row["chained"] for row in self.program if row["source"] != "checkpoint"]
        return None if not hidden or None in hidden else sum(hidden)

    @cached_property
    def engine_version(self) -> str | None:
        """Flink's version that restores: as stated, else that of the JobManager that was asked."""
        return self.plan["engine_version"] or next((row["engine_version"] for row in self.program if row["engine_version"]), None)

    @cached_property
    def no_broker(self) -> str:
        """Why nothing is known of Kafka, as a clause."""
        asked = any(row["kind"] == "kafka" for row in self.rows("sources"))
        return "no broker that was asked has answered" if asked else "no broker was asked"


def named(row: Row) -> str:
    """An operator for a sentence: its name, else its uid, and its id in any case."""
    said = row["name"] or row["uid"]
    return f"{said} ({row['operator']})" if said else str(row["operator"])


def about(rows: Sequence[Row]) -> Answer:
    """The columns that say which operators an answer is about."""
    names = [str(row["name"] or row["uid"] or row["operator"]) for row in rows[:MOST_KEPT]]
    return {"operators": names or None, "number": len(rows) or None}


def version_of(said: str | None) -> tuple[int, int] | None:
    """Major and minor of ``1.20.5``, ``2.3-SNAPSHOT``; None for what is none."""
    match = re.match(r"(\d{1,3})\.(\d{1,3})(?!\d)", said or "")
    return (int(match[1]), int(match[2])) if match else None
