"""What happened when, as lanes over one time axis: the picture of a report, for whoever draws it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Span:
    """A stretch of time: `kind` is works (it completed checkpoints), tries (it did not), down."""

    begin: datetime
    end: datetime
    kind: str


@dataclass(frozen=True)
class Mark:
    """A moment: `kind` is completed, expired, failed, left, back; `says` is what a reader hovers for."""

    at: datetime
    kind: str
    says: str = ""
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Lane:
    """One row of the picture, of a job or (None) of all: job, checkpoints, brokers."""

    name: str
    job: str | None
    scope: str
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()
