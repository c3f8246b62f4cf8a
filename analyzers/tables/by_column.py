"""Rows of a table that has many, held by column: a twentieth of the memory of as many dicts."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import repeat
from operator import eq
from typing import Any, overload

from analyzers.tables.model import Row, Table

NO_NUMBER = -(2**63)  # stands for null among numbers and times
_PACKED = ("long", "timestamp")


class ByColumn(Sequence[Row]):
    """Rows that are made when somebody asks for them: to change one changes nothing here.

    `same`: columns with one value in all rows. Times are given, and held, as milliseconds; `moment` makes the value of a row of them.
    """

    def __init__(self, table: Table, same: Mapping[str, Any], moment: Callable[[int], datetime | None]) -> None:
        self._table, self._same, self._moment = table, dict(same), moment
        self._types = {column.name: column.type for column in table.columns}
        self._numbers = {name: array("q") for name, kind in self._types.items() if kind in _PACKED and name not in self._same}
        self._kinds: list[Mapping[str, Any]] = []  # what rows that came together have in common
        self._kind = array("I")  # of each row

    @classmethod
    def joined(cls, parts: Sequence[ByColumn]) -> ByColumn:
        """The rows of all `parts` (at least one), whatever those of each have in common."""
        whole = cls(parts[0]._table, parts[0]._same, parts[0]._moment)
        whole._same = {}
        for part in parts:
            before = len(whole._kinds)
            whole._kinds += ({**part._same, **kind} for kind in part._kinds)
            whole._kind.extend([before + kind for kind in part._kind])
            for name, held in part._numbers.items():
                whole._numbers[name].extend(held)
        return whole

    def extend(self, count: int, same: Mapping[str, Any], more: Mapping[str, Iterable[int]]) -> None:
        """`count` rows more: what all of them have in common, and numbers or times (NO_NUMBER: none) of each. Names every column."""
        self._kind.extend(array("I", [len(self._kinds)]) * count)
        self._kinds.append(dict(same))
        for name, values in more.items():
            self._numbers[name].extend(values)

    def pick(self, places: Sequence[int]) -> ByColumn:
        """The rows at `places`, held in the same way."""
        picked = ByColumn(self._table, self._same, self._moment)
        picked._kinds = self._kinds
        picked._kind.extend(map(self._kind.__getitem__, places))
        picked._numbers = {name: array("q", map(held.__getitem__, places)) for name, held in self._numbers.items()}
        return picked

    def where(self, name: str, values: Collection[Any]) -> ByColumn:
        """The rows whose column `name`, which rows that came together have in common, is one of `values`."""
        mine = [kind[name] in values for kind in self._kinds]
        return self.pick([at for at, kind in enumerate(self._kind) if mine[kind]])

    def bounded(self, name: str, least: int | None = None, most: int | None = None) -> None:
        """Let no number or time of column `name` be less than `least` or more than `most`; None = open."""
        held = self._numbers[name]
        if least is not None:
            held[:] = array("q", [value if value == NO_NUMBER else max(value, least) for value in held])
        if most is not None:
            held[:] = array("q", [min(value, most) for value in held])  # NO_NUMBER is less than all

    def same(self, name: str, value: Any) -> None:
        """Let all rows have this `value` in column `name`, which they had in common before."""
        self._same[name] = value

    @property
    def is_dated(self) -> bool:
        """Whether all rows say of when they are, and all the same."""
        return self._same.get("as_of") is not None

    def column(self, name: str) -> Iterator[Any]:
        """The values of one column, as rows have them."""
        if name in self._same:
            return repeat(self._same[name], len(self))
        if name not in self._numbers:
            return map([kind[name] for kind in self._kinds].__getitem__, self._kind)
        held = self._numbers[name]
        if self._types[name] == "timestamp":
            return (None if ms == NO_NUMBER else self._moment(ms) for ms in held)
        return (None if value == NO_NUMBER else value for value in held)

    def __eq__(self, other: object) -> bool:
        """As rows: a list of the same ones is equal."""
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    def __len__(self) -> int:
        return len(self._kind)

    def __iter__(self) -> Iterator[Row]:
        names = self._table.names
        return (dict(zip(names, values, strict=True)) for values in zip(*map(self.column, names), strict=True))

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        return {name: self._value(name, at) for name in self._table.names}

    def _value(self, name: str, at: int) -> Any:
        if name in self._same:
            return self._same[name]
        if name not in self._numbers:
            return self._kinds[self._kind[at]][name]
        value = self._numbers[name][at]
        if value == NO_NUMBER:
            return None
        return self._moment(value) if self._types[name] == "timestamp" else value


def where(rows: Sequence[Row], name: str, values: Collection[Any]) -> Sequence[Row]:
    """Those of `rows` whose column `name` is one of `values`, held as they are: where few are wanted, the others need not be made."""
    return rows.where(name, values) if isinstance(rows, ByColumn) else [row for row in rows if row.get(name) in values]


def column(rows: Sequence[Row], name: str) -> list[Any]:
    """The values of one column of `rows`, however they are held."""
    return list(rows.column(name)) if isinstance(rows, ByColumn) else [row.get(name) for row in rows]
