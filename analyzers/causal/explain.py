"""Which observed trouble explains an effect: a declared link, a shared or open entity, and a time that fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from analyzers.causal.links import LINKS, WEIGHT, Link
from analyzers.causal.observation import Observation

_SCOPE_ONLY = 0.6
"""How much is left of a link whose two sides the scope alone joins."""
_CLOCKS = timedelta(minutes=2)
"""Clocks of two hosts differ, and a process is often declared dead before its last line is written."""


@dataclass(frozen=True)
class Explained:
    """`by` explains the effect asked about; `belief` in (0, 1] weighs the links on the way."""

    by: Observation
    link: Link
    belief: float


def explained(effect: Observation, troubles: Sequence[Observation]) -> Explained | None:
    """The trouble that explains `effect` best; None where none is linked to it, joined with it and in time."""
    found = [each for link in LINKS if link.effect == effect.effect for each in _through(link, effect, troubles)]
    return max(found, key=lambda each: (each.belief, -_seconds_before(each.by, effect), each.by.count), default=None)


def _through(link: Link, effect: Observation, troubles: Iterable[Observation]) -> Iterable[Explained]:
    for trouble in troubles:
        if trouble.effect != link.cause or not in_time(trouble, effect, link.within):
            continue
        joined = join(link, trouble, effect)
        if joined:
            yield Explained(trouble, link, WEIGHT[link.proof] * joined)


def join(link: Link, cause: Observation, effect: Observation) -> float:
    """How firmly the two sides of `link` are joined: 1 by an entity of its kind, less by the scope, 0 where they name different ones."""
    ours, theirs = cause.of(link.via), effect.of(link.via)
    if ours & theirs:
        return 1.0
    if (ours and theirs) or not link.alone:
        return 0.0
    return _SCOPE_ONLY


def in_time(cause: Observation, effect: Observation, within: timedelta) -> bool:
    """Whether `cause` began before `effect` was over, and `effect` began before `cause` had been over for `within`."""
    if cause.first is None or cause.last is None or effect.first is None or effect.last is None:
        return True  # of undated lines the order is not known
    return cause.first <= effect.last + _CLOCKS and effect.first - cause.last <= within


def _seconds_before(cause: Observation, effect: Observation) -> float:
    def moment(at: datetime | None) -> float:
        return at.timestamp() if at is not None else 0.0

    return abs(moment(effect.first) - moment(cause.first)) if cause.first and effect.first else 0.0
