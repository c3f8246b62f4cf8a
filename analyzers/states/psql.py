"""Tables as psql prints them: aligned, or expanded (``\\x``), each row with the number of its line.

Source: psql's aligned and expanded formats of PostgreSQL 10 to 18.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzers.logs.matching.expressions import expression

MOST_ROWS, LONGEST = 1_000, 2_000
_RULE = expression(r"^[\s|]*-{2,}[-+|\s]*$")
_RECORD = expression(r"^-\[ RECORD \d+ \][-+]*\s*$")
_FIELD = expression(r"^(?P<name>\w[\w. ]{0,62}?)\s*\|\s?(?P<value>.*)$")

Rows = list[tuple[dict[str, str], int]]
"""Rows by the names of their columns, and the number of the line of each, from 1."""


def tables(lines: Sequence[str]) -> Iterator[tuple[int, int, Rows]]:
    """First line and line behind the end, from 0, and rows of each table in `lines`, in their order."""
    at = 0
    while at < len(lines):
        if (found := table_at(lines, at)) is None:
            at += 1
            continue
        rows, stop = found
        yield at, stop, rows
        at = stop


def table_at(lines: Sequence[str], at: int) -> tuple[Rows, int] | None:
    """The rows of the table that begins at line `at`, from 0, and the line behind its end; None where none begins."""
    if _is_head(lines, at):
        return _aligned(lines, at)
    return _expanded(lines, at) if _RECORD.match(lines[at][:LONGEST]) else None


def _is_head(lines: Sequence[str], at: int) -> bool:
    return "|" in lines[at][:LONGEST] and at + 1 < len(lines) and _RULE.match(lines[at + 1][:LONGEST]) is not None


def _aligned(lines: Sequence[str], head: int) -> tuple[Rows, int]:
    names = [cell.strip() for cell in lines[head][:LONGEST].split("|")]
    rows: Rows = []
    at = head + 2
    while at < len(lines) and len(rows) < MOST_ROWS:
        cells = [cell.strip() for cell in lines[at][:LONGEST].split("|")]
        if len(cells) != len(names):
            break
        rows.append((dict(zip(names, cells, strict=True)), at + 1))
        at += 1
    return rows, at


def _expanded(lines: Sequence[str], first: int) -> tuple[Rows, int]:
    rows: Rows = []
    at = first
    while at < len(lines) and len(rows) <= MOST_ROWS:
        line = lines[at][:LONGEST]
        if _RECORD.match(line):
            rows.append(({}, at + 1))
        elif (field := _FIELD.match(line)) is not None:
            rows[-1][0][field["name"]] = field["value"].strip()
        else:
            break
        at += 1
    return rows, at
