"""What is known of one group × partition when its lag is judged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from analyzers.derived.lag.lag_readers import Held, Read, Reader
from analyzers.derived.lag.lag_status import Look
from analyzers.tables import Row

Verdict = dict[str, Any]
"""Columns of a row of ``lag_truth``."""


@dataclass
class Case:
    """All that is known of one group × partition. `looks` are the complete samples, oldest first."""

    row: Row
    looks: list[Look]
    group: Row | None = None
    reader: Reader | None = None
    record: Row | None = None
    at_stable: Row | None = None
    transaction: Row | None = None
    version: str | None = None
    held: list[Held] = field(default_factory=list)
    position: int | None = None
    position_from: str | None = None
    reads: list[Read] = field(default_factory=list)
    committed_by_reader: int | None = None

    @property
    def now(self) -> Look:
        return self.looks[-1]

    @property
    def reached(self) -> int:
        """The offset that the group is known to have reached."""
        return max(self.now.committed, self.position or 0, self.held[-1].offset if self.held else 0)

    @property
    def empty_offsets(self) -> int:
        """Offsets right behind the commit that hold no record: compaction removed them, or they are ends of transactions."""
        start, record = max(self.now.committed, self.now.log_start), self.record
        if record is None or record.get("offset") is None or record.get("wanted") != start:
            return 0
        return max(0, min(int(record["offset"]), self.now.end) - start)

    @property
    def members(self) -> int | None:
        return None if self.group is None else self.group.get("members")

    @property
    def assigns_itself(self) -> bool:
        """No member, and none ever joined: Flink, Spark, Beam. They commit with their checkpoints only."""
        return self.row.get("member") is None and (self.group is None or self.group.get("simple") is not False) and not self.members
