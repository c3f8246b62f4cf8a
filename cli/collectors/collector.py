"""What a collector is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzers.tables.evidence import Evidence

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Collector:
    """Something to ask beside the logs: what it is called in `sources`, its kind there, and the function that asks."""

    name: str
    kind: str
    ask: Callable[[], Evidence]
