"""What a failure means for the job: the first row of `decisions.toml` that fits its role, kind and phase."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from analyzers.inference.data import table

EFFECTS = (
    "call-unanswered", "call-refused", "call-fails", "record-fails", "position-gone", "checkpoints-expire", "snapshot-fails", "restore-fails", "commit-missing", "worker-gone",
    "leader-gone", "never-running", "none",
)  # fmt: skip


@dataclass(frozen=True)
class Decision:
    """A row. `narrow`: how many of role, kind and phase it asks for."""

    cause: str | None
    reason: str | None
    effect: str
    why: str
    narrow: int


@cache
def rows() -> tuple[tuple[frozenset[str], frozenset[str], frozenset[str], re.Pattern[str] | None, re.Pattern[str] | None, Decision], ...]:
    """Each row: roles, kinds, phases (empty: any), expressions for the thread and for what is said, what it decides."""
    return tuple(
        (
            frozenset(row.get("role", ())),
            frozenset(row.get("kind", ())),
            frozenset(row.get("phase", ())),
            re.compile(row["thread"]) if "thread" in row else None,
            re.compile(row["says"]) if "says" in row else None,
            Decision(row.get("cause"), row.get("reason"), row["effect"], row["why"], sum(key in row for key in ("role", "kind", "phase"))),
        )
        for row in table("decisions")["row"]
    )


def decide(role: str, kind: str | None, phase: str | None, thread: str | None = None, said: str = "") -> Decision:
    """The first row that fits; the last one fits all."""
    for roles, kinds, phases, of_thread, of_words, decision in rows():
        if (roles and role not in roles) or (kinds and kind not in kinds) or (phases and phase not in phases):
            continue
        if of_thread is not None and not (thread and of_thread.search(thread)):
            continue
        if of_words is not None and not of_words.search(said):
            continue
        return decision
    raise AssertionError("the last row asks for nothing")
