"""Quick looks in Python at the rows of a rule, for its ``needs``: whether it could find anything in them.

Each may only say no where the rule itself would: what is not known counts as yes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import Any

from analyzers.tables import Row

__all__ = ["attempts_of", "captured", "grouped", "is_failure", "lasted", "persisted", "silent_for"]


def captured(row: Row, name: str) -> str | None:
    """What the row's signature has captured under `name`."""
    found: str | None = (row["detail"] or {}).get(name)
    return found


def is_failure(fault: Row) -> bool:
    """Whether a fault failed something and is no consequence of another, as `failures` wants them."""
    return bool(fault["fatal"] and not fault["consequence"])


def attempts_of(faults: Sequence[Row]) -> int:
    """How many attempts `faults` are of, as `failures` counts them."""
    return len({row["attempt"] for row in faults} - {None}) + sum(row["unkept"] or 0 for row in faults)


def grouped(rows: Iterable[Row], *by: str | Callable[[Row], Any]) -> Mapping[tuple[Any, ...], list[Row]]:
    """`rows` by scope and `by` (columns, or what is made of a row), in their order."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        key = (row["scope"], *(row[name] if isinstance(name, str) else name(row) for name in by))
        groups[key].append(row)
    return groups


def lasted(rows: Iterable[Row]) -> float:
    """Seconds from the first to the last of `rows`; 0 without times."""
    times = [row["at"] for row in rows if row["at"] is not None]
    return (max(times) - min(times)).total_seconds() if times else 0.0


def silent_for(rows: Iterable[Row], *, unknown: float) -> float:
    """Seconds from the last of `rows` to the end of their logs; `unknown` where they have no times."""
    pairs = [(row["at"], row["as_of"]) for row in rows if row["at"] is not None and row["as_of"] is not None]
    return (max(end for _, end in pairs) - max(at for at, _ in pairs)).total_seconds() if pairs else unknown


def persisted(rows: Sequence[Row], *, enough: int = 1, lasting: float = 0.0, fresh: float = inf) -> bool:
    """Whether there are `enough` rows, over `lasting` seconds, and up to the end of their logs but for `fresh` seconds."""
    return len(rows) >= enough and lasted(rows) >= lasting and silent_for(rows, unknown=0) <= fresh
