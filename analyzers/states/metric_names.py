"""What a metric counts, by the words of its name (`metrics.toml`): exporters write one metric in many ways."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from analyzers.components.toml_files import toml_file

KINDS = ("loss", "read", "written", "read-rate", "written-rate", "mark", "drift", "lag", "age", "beside", "alarm")
LOWEST = -9.2e15
"""At or below it a watermark is none yet: Flink's is Long.MIN, Beam's its thousandth (BoundedWindow.TIMESTAMP_MIN_VALUE), as a fraction."""
HIGHEST = 9.2e18
_NO_LETTERS = re.compile(r"[^a-z0-9]+")
_UNITS = re.compile(r"(?:total|count|value|counter|sum)$")
_NO_VALUES = ("_created", "_bucket")
"""Of OpenMetrics and of histograms: what ends so is no number of the metric itself."""


@dataclass(frozen=True)
class Meaning:
    """What a metric counts; the fields are those of `metrics.toml`."""

    id: str
    kind: str
    says: str
    endings: tuple[str, ...]
    alone: str | None = None
    reason: str | None = None
    when: str | None = None
    bound: float | None = None


@cache
def meanings() -> dict[str, Meaning]:
    """Every meaning by its id."""
    found = toml_file("analyzers.states", "metrics.toml")
    return {key: Meaning(key, **{**row, "endings": tuple(row["endings"])}) for key, row in found.items()}


@cache
def _endings() -> tuple[tuple[str, Meaning], ...]:
    """Endings with what they mean, the longest first."""
    pairs = [(ending, meaning) for meaning in meanings().values() for ending in meaning.endings]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


@lru_cache(maxsize=1 << 14)
def meaning_of(name: str) -> Meaning | None:
    """What the metric of this name counts; None where the table has no such ending."""
    if name.endswith(_NO_VALUES):
        return None
    words = _NO_LETTERS.sub("", name.lower())
    while words:
        for ending, meaning in _endings():
            if words.endswith(ending):
                return meaning
        shorter = _UNITS.sub("", words)
        if shorter == words:
            return None
        words = shorter
    return None
