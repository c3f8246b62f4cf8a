"""Samples of metrics on their way from a text to rows: bounded, and only of metrics that the table knows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from analyzers.budget import BUDGET
from analyzers.secrets import scrub
from analyzers.states.metric_names import meaning_of
from analyzers.states.state import State, Values

MOST_SERIES = BUDGET.metric_series
MOST_SAMPLES, FEWEST_SAMPLES = 64, 4
"""Of one series: with more, every second one of those between the first and the last is left out. The more series, the fewer of each."""
MOST_ROWS = BUDGET.metric_rows
_LONGEST_LABEL = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECONDS = 1e11  # a time stamp above it: seconds would be in the year 5138


class Sample(NamedTuple):
    """One number. `place`: index of the scrape in its text."""

    place: int
    at: datetime | None
    of_day: float | None
    value: float
    line: int


@dataclass
class _Series:
    """The samples of one metric with the same labels."""

    name: str
    counts: str
    labels: dict[str, str]
    samples: list[Sample] = field(default_factory=list)

    def add(self, sample: Sample, most: int) -> None:
        self.samples.append(sample)
        if len(self.samples) > most:
            self.samples = [*self.samples[:-1:2], self.samples[-1]]


class Store:
    """The series of one text."""

    def __init__(self) -> None:
        self._series: dict[object, _Series | None] = {}
        self.left_out = 0

    def knows(self, key: object) -> bool:
        """Whether a series was begun under `key`, so that its labels need not be read again."""
        return key in self._series

    def begin(self, key: object, name: str, labels: Mapping[str, str]) -> None:
        """Begin a series; of a metric that is unknown, or one too many, nothing is kept."""
        meaning = meaning_of(name)
        held = meaning is not None and len(self._series) < MOST_SERIES
        self.left_out += meaning is not None and not held
        shown = {k: scrub(f"{k}={v[:_LONGEST_LABEL]}").partition("=")[2] for k, v in labels.items()} if held else {}
        self._series[key] = _Series(name, meaning.id, shown) if meaning is not None and held else None

    def add(self, key: object, sample: Sample) -> None:
        """One more number of the series that was begun under `key`."""
        series = self._series[key]
        if series is not None and math.isfinite(sample.value):
            series.add(sample, max(FEWEST_SAMPLES, min(MOST_SAMPLES, MOST_ROWS // len(self._series))))

    def rows(self) -> Iterator[tuple[int, Values]]:
        """Each row with the scrape that it belongs to."""
        for series in filter(None, self._series.values()):
            for sample in series.samples:
                yield sample.place, {
                    "at": sample.at, "of_day": sample.of_day, "name": series.name, "counts": series.counts, "labels": series.labels,
                    "value": sample.value, "line": sample.line,
                }  # fmt: skip

    def grew(self) -> bool:
        """Whether a job is at work: what it reads or writes grew from one sample to the next."""
        works = ("records-read", "records-written")
        return any(
            s is not None and s.counts in works and s.samples and s.samples[-1].value > s.samples[0].value for s in self._series.values()
        )

    def into(self, states: list[State]) -> None:
        """The rows in the states that they belong to; what was left out is their trouble."""
        for place, values in self.rows():
            states[place].add("metric_samples", values)
            if values["at"] is not None:
                states[place].at = max(states[place].at or values["at"], values["at"])
        if states:
            states[-1].works = self.grew()
            if self.left_out:
                states[-1].trouble = f"holds {self.left_out:,} more series than the {MOST_SERIES:,} that were read"


def moment_of(stamp: float | str) -> datetime | None:
    """A Prometheus time stamp: seconds with a fraction, or milliseconds."""
    try:
        number = float(stamp)
        return _EPOCH + timedelta(milliseconds=round(number if abs(number) > _MILLISECONDS else number * 1000))
    except (ValueError, OverflowError):
        return None
