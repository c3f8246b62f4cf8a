"""What a run found beside an earlier one that it is compared with (``--baseline``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CHANGES = ("new", "worse", "unknown", "still", "gone")
"""What may become of a finding, in the order in which it is shown. ``unknown``: one look did not judge its rule, or could not see it."""
COUNTS_AS_NEW = ("new", "worse", "unknown")
"""Findings of the run by which it fails: what the baseline could not see may be new."""


@dataclass(frozen=True)
class Missed:
    """A finding of the baseline that the run does not have: ``gone``, or ``unknown``, because."""

    change: str
    code: str
    severity: str
    job: str | None
    subject: Mapping[str, Any]
    says: str
    because: str | None = None


@dataclass(frozen=True)
class Baseline:
    """The earlier look: its name, who judged it, its newest moment (ISO-8601 UTC); how many findings became what, and what is missed.

    `failed`: why nothing is compared, a sentence; all else is empty then.
    """

    name: str
    version: str | None = None
    as_of: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    missed: tuple[Missed, ...] = ()
    remarks: tuple[str, ...] = ()
    failed: str | None = None
