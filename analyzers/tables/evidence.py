"""Evidence of one run, and what has to be said about how it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analyzers.tables import Row


@dataclass
class Evidence:
    """Evidence tables, and what has to be said about how they were found.

    `absent`: why a table is missing. `stop`: what ended the reading before its end (Ctrl-C, SIGTERM); the tables hold what was read.
    `redaction`: how the bundle was redacted that it is saved in, as its manifest says it.
    """

    tables: Mapping[str, Sequence[Row]]
    notes: list[str] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    stop: BaseException | None = None
    redaction: Mapping[str, Any] = field(default_factory=dict)
