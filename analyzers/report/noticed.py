"""What a run noticed: each kind of WARN, ERROR or fault that the logs hold, whether or not a rule made a finding of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from analyzers.report.finding import Evidence, Quote

REPORTED = "A note reports it; nothing here explains it."
"""What a line of a note means that reports missing or wrong data."""
WENT_ON = 2  # checkpoints or batches completed afterwards that show a job at work; one may have been under way


@dataclass(frozen=True)
class Noticed:
    """All events of one kind in one job: of one signature, or of one shape of message that no signature knows."""

    signature: str
    code: str | None
    """The rule that such lines are about; null where none is."""
    says: str
    """What happened: the signature in words, or the message."""
    means: str
    count: int
    first: datetime | None
    last: datetime | None
    subject: dict[str, Any]
    """What all of the events agree on; of a few values a list."""
    evidence: tuple[Evidence, ...]
    level: str | None
    """The gravest one."""
    scope: str = ""
    job: str | None = None
    normal: bool = False
    """Of itself no fault: a healthy start, stop or restart prints it, too."""
    explained_by: str | None = None
    """The code of a finding that is about these events."""
    completed_since: int | None = None
    """Checkpoints or batches that were completed after the last event; null where the logs show none at all."""
    over: bool = False
    """Its jobs had finished or been stopped before it."""
    next_command: str | None = field(default=None)
    """What would decide."""
    loss: bool = False
    """It reports that something was dropped, refused or not done: that the job goes on does not make it harmless."""
    telling: bool = False
    """Of a run without a verdict one of the lines that say most."""
    stands: str | None = None
    """Of a number that stands still its name and value."""
    inferred: str | None = None
    """Of the one that shows a mechanism: what it suggests, a sentence; nothing of it is stated."""
    steps: tuple[str, ...] = ()
    """What that mechanism asks for."""
    beside: tuple[Quote, ...] = ()
    """Of the line that says most: what lines elsewhere say of the same things."""
    changed: tuple[Quote, ...] = ()
    """And what was changed before it."""

    @property
    def is_error(self) -> bool:
        """Whether it speaks against an all-clear: an error of its own, or a stack trace without a level, that no finding explains."""
        return (self.loss or self.level in ("ERROR", "FATAL")) and not self.normal and self.explained_by is None

    @property
    def is_open(self) -> bool:
        """Whether it is an error after which nothing shows a job at work."""
        return self.is_error and not self.over and (self.loss or (self.completed_since or 0) < WENT_ON)
