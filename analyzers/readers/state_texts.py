"""Files and members that hold states of other tools (`analyzers/states/`), read whole up to a bound, as rows of evidence."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from analyzers.budget import BUDGET
from analyzers.bundle.encoding import fits
from analyzers.readers.notes import Line, lines_of
from analyzers.readers.opening import TROUBLES, at_most, open_file, parts, trouble_text
from analyzers.states import flink_rest
from analyzers.states.recognise import MOST_BYTES, states_of
from analyzers.states.state import State
from analyzers.tables import SOURCES, TABLES, Row

MOST_FILES = BUDGET.state_files


@dataclass
class StateText:
    """The states of one file or member, as they are shown; `rest`: what else stands in it."""

    name: str
    states: list[State]
    rest: bytes = b""
    trouble: str | None = None
    lines: list[Line] = field(default_factory=list)
    """What stands beside the states, as notes."""


def read_states(path: str, members: tuple[str, ...], name: str, encoding: str | None) -> StateText | None:
    """The states in a file, or in one of its members; None where there is none, or it cannot be read."""
    data, trouble = b"", None
    try:
        with open_file(path) as stream:
            for inside, text, _ in parts(stream):
                if inside == members:
                    data = at_most(text, MOST_BYTES + 1)
                    break
    except TROUBLES as error:
        trouble = trouble_text(error)
    if len(data) > MOST_BYTES:
        data, trouble = data[:MOST_BYTES], f"is longer than {MOST_BYTES >> 20} MB, of which the beginning was read"
    if encoding is not None:
        data = data.decode(encoding, "replace").encode()
    found = states_of(data)
    if not found.states:
        return None
    why = trouble or next((state.trouble for state in found.states if state.trouble), None)
    return StateText(name, found.states, found.rest.encode(), why, lines_of(data, only=frozenset(found.rest.split("\n"))))


def state_rows(texts: Sequence[StateText], scope: str) -> dict[str, list[Row]]:
    """The rows of all states, by table, and a row of ``sources`` for each text.

    A moment without a time is known by its number (`moment`): the order in which it stands in its file, and files in the order of names.
    """
    tables: dict[str, list[Row]] = {}
    moment = 0
    for text in texts:
        for state in text.states:
            moment += 1
            for name, rows in state.rows.items():
                tables.setdefault(name, []).extend(_row(name, values, text, state.at, moment, scope) for values in rows)
    tables = flink_rest.joined(tables)
    tables["sources"] = [SOURCES.row(_source(text, scope)) for text in texts]
    return tables


def _row(name: str, values: Mapping[str, Any], text: StateText, at: datetime | None, moment: int, scope: str) -> Row:
    table = TABLES[name]
    known: dict[str, Any] = {"scope": scope, "as_of": at, **values}
    if name == "checkpoint_acks" and known.get("vertex") is None:  # whose they are, the path that was asked says, or the file's name
        known |= dict.fromkeys(("vertex", "task"), posixpath.basename(text.name))
    for column, value in (("file", text.name), ("moment", moment)):
        if column in table.names and known.get(column) is None:
            known[column] = value
    for each in table.columns:  # a number of eighty digits is none that a tool has counted
        if not fits(known.get(each.name), each.type):
            known[each.name] = None
    return table.row(known)


def _source(text: StateText, scope: str) -> dict[str, Any]:
    counts = Counter(state.shape for state in text.states)
    return {
        "scope": scope,
        "as_of": max((state.at for state in text.states if state.at), default=None),
        "name": text.name,
        "kind": "states",
        "state": ("partial" if any(state.rows for state in text.states) else "failed") if text.trouble else "ok",
        "why": text.trouble,
        "shapes": ", ".join(f"{number} {shape}" for shape, number in sorted(counts.items())),
        "works": any(state.works for state in text.states),
    }
