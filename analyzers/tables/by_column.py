"""Rows of a table that has many, held by column: a twentieth of the memory of as many dicts."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
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
        self._columns: dict[str, list[Any] | array[int]] = {
            name: array("q") if kind in _PACKED else [] for name, kind in self._types.items() if name not in self._same
        }
        self._count = 0

    def extend(self, count: int, same: Mapping[str, Any], more: Mapping[str, Iterable[int]]) -> None:
        """`count` rows more: what all of them have in common, and numbers or times (NO_NUMBER: none) of each. Names every column."""
        for name, value in same.items():
            self._columns[name].extend([value] * count)
        for name, values in more.items():
            self._columns[name].extend(values)
        self._count += count

    def pick(self, places: Sequence[int]) -> ByColumn:
        """The rows at `places`, held in the same way."""
        picked = ByColumn(self._table, self._same, self._moment)
        for name, held in self._columns.items():
            picked._columns[name].extend([held[at] for at in places])
        picked._count = len(places)
        return picked

    @property
    def is_dated(self) -> bool:
        """Whether all rows say of when they are."""
        return self._same.get("as_of") is not None

    def column(self, name: str) -> Iterator[Any]:
        """The values of one column, as rows have them."""
        if name in self._same:
            return iter([self._same[name]] * self._count)
        held = self._columns[name]
        if self._types[name] == "timestamp":
            return (None if ms == NO_NUMBER else self._moment(ms) for ms in held)
        return (None if value == NO_NUMBER else value for value in held)

    def __eq__(self, other: object) -> bool:
        """As rows: a list of the same ones is equal."""
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        names = self._table.names
        return (dict(zip(names, values, strict=True)) for values in zip(*map(self.column, names), strict=True))

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(self._count))]
        return {name: self._value(name, at) for name in self._table.names}

    def _value(self, name: str, at: int) -> Any:
        if name in self._same:
            return self._same[name]
        value = self._columns[name][at]
        if value == NO_NUMBER:
            return None
        return self._moment(value) if self._types[name] == "timestamp" else value


def column(rows: Sequence[Row], name: str) -> list[Any]:
    """The values of one column of `rows`, however they are held."""
    return list(rows.column(name)) if isinstance(rows, ByColumn) else [row.get(name) for row in rows]
