"""An observation: one effect, where and when it showed, in the words of the process that reported it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

Entity = tuple[str, ...]
"""A thing that can be ill: its kind, then what identifies it: ``("task", "enrich")``, ``("subtask", "enrich", "2")``."""

Certainty = Literal["stated", "implied", "inferred"]
"""How an observation is known: a process reports it, another observation requires it, or it was read from names alone."""


class Holder(NamedTuple):
    """The thread that holds a lock, the call that it is in meanwhile, and what that call goes to."""

    lock: str
    owner: str
    owner_call: str | None
    owner_system: str | None


@dataclass(frozen=True)
class Observation:
    """One effect. `count` equal reports of it lie between `first` and `last` (UTC; None where the lines have no time)."""

    effect: str
    where: frozenset[Entity]
    first: datetime | None
    last: datetime | None
    count: int = 1
    words: str = ""
    """The product's own sentence, whole; of a thread the call that it waits in."""
    thrown: str | None = None
    """Class of the exception whose message `words` are."""
    file: str | None = None
    line: int | None = None
    certainty: Certainty = "stated"
    text: str = ""
    """The event as it was printed, whose first line is `event_line` of `file`; its words may stand below."""
    event_line: int | None = None
    who: str | None = None
    """Of a thread its name, which for a task is that of the subtask."""
    holder: Holder | None = None
    """Of a thread that waits for a lock: who has it."""

    def of(self, kind: str) -> frozenset[Entity]:
        """Its entities of one kind."""
        return frozenset(entity for entity in self.where if entity[0] == kind)
