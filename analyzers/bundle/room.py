"""How much of a bundle is taken in: it comes by mail, and its tables are held in memory."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from analyzers.budget import BUDGET, Budget
from analyzers.bundle.confined import refuse_outside
from analyzers.bundle.packed import TooMuch
from analyzers.tables import Row

MOST_TEXT_BYTES = BUDGET.table_bytes
MOST_ROW_BYTES = BUDGET.row_bytes
MOST_MANIFEST_BYTES = BUDGET.manifest_bytes


class Room:
    """What there is still room for; raises `TooMuch` where there is none."""

    def __init__(self, budget: Budget | None = None) -> None:
        self._budget = budget = budget or BUDGET
        self._values, self._bytes = budget.table_values, budget.table_bytes

    @property
    def left(self) -> tuple[int, int]:
        """Values, and bytes of text."""
        return self._values, self._bytes

    def rows(self, count: int, columns: int) -> None:
        """`count` rows with so many `columns`."""
        self._values -= count * columns
        if self._values < 0:
            raise TooMuch(f"has more rows than there is room for: {self._budget.table_values:,} values of all tables are read")

    def within(self, row: Row) -> None:
        """The values of the lists and maps of `row`."""
        self._values -= sum(len(value) for value in row.values() if isinstance(value, (list, dict)))
        if self._values < 0:
            raise TooMuch(f"has longer lists than there is room for: {self._budget.table_values:,} values of all tables are read")

    def line(self, size: int) -> None:
        """One row of `size` bytes."""
        if size > self._budget.row_bytes:
            raise TooMuch(f"has a row of more than {self._budget.row_bytes >> 20} MB")
        self.text(size)

    def text(self, size: int) -> None:
        """`size` bytes of text."""
        self._bytes -= size
        if self._bytes < 0:
            raise TooMuch(f"is larger than there is room for: {self._budget.table_bytes >> 20} MB of all tables are read")


def content(place: Path, most: int) -> bytes:
    """All of the file. Raises ``OSError`` for what is no file, such as a pipe, `TooMuch` for one of more than `most` bytes."""
    refuse_outside(place)
    status = os.stat(place)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{place.name} is not a regular file")
    if status.st_size > most:
        raise TooMuch(f"is larger than there is room for: {status.st_size >> 20:,} MB")
    with place.open("rb") as file:
        return file.read(most + 1)  # whatever its size was said to be
