"""Kinds of warnings and errors that only the later of two looks has, and no finding of it explains."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from analyzers.causal.ordinary import is_ordinary, shape_of
from analyzers.comparison.sides import Side
from analyzers.logs.scan.selection import ERROR_LOGGED, EXCEPTION_LOGGED, REMARK, REMARK_GROUPS, mask

_UNKNOWN = frozenset({ERROR_LOGGED, EXCEPTION_LOGGED, REMARK})
_LEVELS = ("WARN", "ERROR", "FATAL")
_VALUES = re.compile(r"#(?:[/,. :-]*#)+")
_SHAPE = 120


@dataclass(frozen=True)
class NewShape:
    """A kind of line that only the later look has: `signature` is its id, `says` its words, `count` how many there are, then the first
    of them."""

    signature: str
    level: str | None
    says: str
    count: int
    file: str | None
    line: int | None
    text: str


def new_shapes(before: Side, after: Side, *, names: bool) -> tuple[list[NewShape], list[str]]:
    """Those kinds, errors first, and a sentence for each reason why a kind may be missing or only seem to be new."""
    remarks = all("log_remarks" in side.tables for side in (before, after))
    known = {key for key, _ in _kinds(before, remarks=remarks, every=True)}
    found: dict[tuple[str, str], NewShape] = {}
    for key, shape in _kinds(after, remarks=remarks, every=False):
        if key in known or (not names and shape.signature in _UNKNOWN):
            continue
        found[key] = replace(found[key], count=found[key].count + shape.count) if key in found else shape
    notes = []
    lacks = [side.called for side in (before, after) if "log_remarks" not in side.tables and side.evidence is not None]
    if len(lacks) == 1:
        notes.append(f"{lacks[0]} has no table of warnings that no signature knows: nothing is said of these")
    if remarks and (full := _full(before)):
        notes.append(f"{full} of {before.called} has more kinds of lines than are kept: a kind that seems new may stand there, too")
    rows = sorted(found.values(), key=lambda each: (-_rank(each.level), -each.count, each.signature, each.says))
    return rows, notes


def _rank(level: str | None) -> int:
    return _LEVELS.index(level) if level in _LEVELS else -1


def _kinds(side: Side, *, remarks: bool, every: bool) -> Iterator[tuple[tuple[str, str], NewShape]]:
    """Each kind of line with what it is known by; without `every` those alone that say something: not what healthy jobs print, nor what
    a finding explains."""
    for each in side.document.get("noticed") or ():
        if not every and (each.get("normal") or each.get("explained_by") or each.get("level") not in _LEVELS):
            continue
        signature, says = each["signature"], str(each.get("says") or "")
        if signature == REMARK:  # stands in log_remarks, too, or cannot be compared
            continue
        place: Mapping[str, Any] = next((one for one in each.get("evidence") or () if isinstance(one, dict)), {})
        text = str(place.get("text") or says)
        yield (
            (signature, _shape(says) if signature in _UNKNOWN else ""),
            NewShape(signature, each.get("level"), says, int(each.get("count") or 1), place.get("file"), place.get("line"), _first(text)),
        )
    if not remarks:
        return
    for row in side.tables["log_remarks"]:
        if not every and (row["level"] not in _LEVELS or is_ordinary(row)):
            continue
        shape = f"{(row['logger'] or '').rpartition('.')[2]}: {_VALUES.sub('#', shape_of(row))}"[:_SHAPE]
        yield (REMARK, shape), NewShape(REMARK, row["level"], shape, row["times"] or 1, row["file"], row["line"], _first(row["text"] or ""))


def _shape(says: str) -> str:
    return _VALUES.sub("#", mask(says))[:_SHAPE]


def _first(text: str) -> str:
    return text.split("\n", 1)[0]


def _full(side: Side) -> str | None:
    """A file of which not all kinds of lines were kept."""
    kinds: dict[str, set[str]] = defaultdict(set)
    for row in side.tables["log_remarks"]:
        kinds[row["file"] or ""].add(shape_of(row))
    return next((file for file, own in sorted(kinds.items()) if len(own) >= REMARK_GROUPS), None)
