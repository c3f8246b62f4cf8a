"""Metrics of Flink as people lay them out: a table of jq or a script, a line for each subtask, ``name[0..5]=number`` behind an operator.

Only texts that show watermarks are read: a column or a name of a watermark sets such a table apart.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from analyzers.logs.matching.expressions import expression
from analyzers.states.clocks import Clock, clock_of
from analyzers.states.metric_names import meaning_of
from analyzers.states.metric_store import Sample, Store
from analyzers.states.state import State, Text

SHAPE = "table of metrics"
SIGNS = (b"OutputWatermark", b"InputWatermark")
_MARK = "Watermark"
_ANSWER = expression(r"^\s*(?P<label>[A-Za-z][\w .:>/()-]{0,120}?)\s*\[(?P<subtask>\d{1,5})\]\s{0,8}[:=]?\s{0,8}(?P<json>\[\{.*\}\])\s*$")
_CELLS = expression(r"\s{2,}|\t|\s*\|\s*")
_NUMBER = expression(r"-?\d{1,19}(?:\.\d{1,9})?")
_PAIR = expression(
    r"(?:sum\()?(?P<name>[A-Za-z][\w.]{2,80})\)?(?:\[(?P<first>\d{1,5})(?:(?:\.\.|-)(?P<last>\d{1,5}))?\])?\s?=\s?(?P<value>-?\d{1,19}(?:\.\d{1,9})?)"
)
_SUBTASKS = expression(r"\bsubtasks? (?P<numbers>\d{1,5}(?:,\s?\d{1,5}){0,50}):\s*$")
_LABEL = expression(r"^\s*(?P<label>[A-Za-z][\w .:>/()-]{1,120}?)(?:\s{2,}|\t)")
_TIME = expression(r"^\s*#+ *(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(?: ?(Z|UTC))?(?=[\s,.]|$)")
_LONGEST, _MOST_ROWS, _MOST_SUBTASKS = 4_000, 2_000, 512


def read(text: Text) -> Iterator[State]:
    """Every such layout of a text, in its order."""
    clock = Clock()
    number, lines = 0, text.lines
    while number < len(lines):
        line = lines[number][:_LONGEST]
        clock = _time(line) or clock
        stop, at = number, clock.at if clock.zoned else None
        state, store = State(SHAPE, number, number, at=clock.at), Store()
        if _MARK in line:
            stop = _answers(lines, number, store, at) or _table(lines, number, store, at) or _pairs(lines, number, store, at) or number
        if stop > number:
            state.last = stop
            store.into([state])
            if state.rows:
                yield state
        number = max(stop, number + 1)


def _time(line: str) -> Clock | None:
    """The clock of a line that says the time and nothing else, or begins with it as a remark."""
    if (clock := clock_of(line)) is not None or (m := _TIME.match(line)) is None:
        return clock
    try:
        return Clock(datetime.fromisoformat(f"{m[1]}T{m[2]}").replace(tzinfo=timezone.utc), zoned=m[3] is not None)
    except ValueError:
        return None


def _answers(lines: Sequence[str], first: int, store: Store, at: datetime | None) -> int:
    """Lines with the answer of REST for a subtask each; 0 where these are none."""
    number = first
    while number < len(lines) and number - first < _MOST_ROWS and (m := _ANSWER.match(lines[number][:_LONGEST])) is not None:
        try:
            values = json.loads(m["json"])
        except (ValueError, RecursionError):
            break
        for each in values:
            if isinstance(each, dict) and isinstance(each.get("id"), str) and _NUMBER.fullmatch(str(each.get("value"))):
                _keep(store, each["id"].rpartition(".")[2], m["label"], m["subtask"], str(each["value"]), at, number)
        number += 1
    return number if number > first else 0


def _table(lines: Sequence[str], head: int, store: Store, at: datetime | None) -> int:
    """A head with names of metrics and rows of as many cells; 0 where this is none."""
    names = _cells(lines[head])
    counted = [name for name in names if meaning_of(name) is not None]
    if len(names) < 3 or len(counted) < 2 or any(map(_NUMBER.fullmatch, names)):
        return 0
    subtask = next((place for place, name in enumerate(names) if name.lower() in ("subtask", "subtask_index", "index", "#")), None)
    number = head + 1
    while number < len(lines) and number - head < _MOST_ROWS:
        cells = _cells(lines[number])
        if set(lines[number].strip()) <= set("-+| ") and lines[number].strip():
            number += 1
            continue
        if len(cells) != len(names):
            break
        for name, cell in zip(names, cells, strict=True):
            if name in counted and _NUMBER.fullmatch(cell):
                _keep(store, name, cells[0], cells[subtask] if subtask is not None else None, cell, at, number)
        number += 1
    return number if number > head + 1 else 0


def _cells(line: str) -> list[str]:
    return [cell for cell in _CELLS.split(line[:_LONGEST].strip().strip("|").strip()) if cell]


def _pairs(lines: Sequence[str], first: int, store: Store, at: datetime | None) -> int:
    """Lines that begin with an operator, and name metrics with subtasks in brackets; 0 where this is none."""
    number = first
    while number < len(lines) and (m := _LABEL.match(lines[number][:_LONGEST])) is not None:
        found = list(_PAIR.finditer(lines[number][:_LONGEST], m.end()))
        if not found:
            break
        for pair in found:
            for subtask in _subtasks(lines[number][: pair.start()], pair):
                _keep(store, pair["name"].rpartition(".")[2], m["label"], subtask, pair["value"], at, number)
        number += 1
    return number if number > first else 0


def _subtasks(before: str, pair: re.Match[str]) -> list[str | None]:
    if pair["first"] is not None:
        first, last = int(pair["first"]), int(pair["last"] or pair["first"])
        return [str(n) for n in range(first, min(last, first + _MOST_SUBTASKS) + 1)]
    named = _SUBTASKS.search(before)
    return [each.strip() for each in named["numbers"].split(",")] if named is not None else [None]


def _keep(store: Store, name: str, label: str, subtask: str | None, value: str, at: datetime | None, number: int) -> None:
    key = (name, label, subtask)
    if not store.knows(key):
        store.begin(key, name, {"operator_name": label.strip(), **({"subtask_index": subtask} if subtask is not None else {})})
    store.add(key, Sample(0, at, None, float(value), number + 1))
