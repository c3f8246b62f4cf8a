"""Rows of the table: what was measured, what is asked, what came out, and whether that is enough."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.measuring import Cost, cpu, middle, ratio, wall

HEAD = "| what | goal | measured | |\n|---|---|---|---|"
_ROUNDED = 0.005  # a figure that prints as the goal meets it


@dataclass(frozen=True)
class Row:
    """One line. `goal`: None = none was set. `least`: the figure must be at least the goal, else at most. `detail`: what it is made of.
    `unit`: what the figure is, a ratio or seconds."""

    what: str
    goal: float | None
    figure: float | None
    detail: str = ""
    least: bool = False
    unit: str = "×"

    def met(self) -> bool | None:
        """None = there is no goal, or nothing was measured."""
        if self.goal is None or self.figure is None:
            return None
        return self.figure >= self.goal - _ROUNDED if self.least else self.figure <= self.goal + _ROUNDED

    def text(self) -> str:
        goal = "–" if self.goal is None else f"{'≥' if self.least else '≤'} {self.goal:.2f}{self.unit}"
        figure = "not measured" if self.figure is None else f"**{self.figure:.2f}{self.unit}**"
        return f"| {self.what} | {goal} | {figure}{' ' + self.detail if self.detail else ''} | {self._verdict()} |"

    def _verdict(self) -> str:
        met = self.met()
        if met is None or self.goal is None or self.figure is None:
            return ""
        return "met" if met else f"missed by {100 * abs(self.figure - self.goal) / self.goal:.0f} %"


def compared(what: str, goal: float | None, ours: Sequence[Cost], theirs: Sequence[Cost], of: Callable[[Cost], float]) -> Row:
    """The median of the ratios of the rounds, with the medians and the range behind it."""
    each = sorted(of(mine) / of(other) for mine, other in zip(ours, theirs, strict=True))
    unit = "s" if of is wall else "CPU s" if of is cpu else "MB"
    detail = f"({middle(ours, of):.2f} / {middle(theirs, of):.2f} {unit}; rounds {each[0]:.2f}–{each[-1]:.2f})"
    return Row(what, goal, ratio(ours, theirs, of), detail)


def taken(what: str, goal: float | None, seconds: Sequence[float]) -> Row:
    """The median of some seconds, and their range."""
    return Row(what, goal, statistics.median(seconds), f"({min(seconds):.2f}–{max(seconds):.2f} s)", unit=" s")
