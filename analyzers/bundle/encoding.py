"""One row of a table as one line of JSON, and back; every value is checked against the declared schema on both ways."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from analyzers.bundle.errors import SchemaMismatch
from analyzers.tables import ColumnType, Row, Table


def written_time(at: datetime | None) -> str | None:
    """ISO-8601 UTC with ``Z``, to the millisecond; microseconds where the clock gave them. Raises `SchemaMismatch` without a zone."""
    if at is None:
        return None
    if at.tzinfo is None:
        raise SchemaMismatch(f"{at} has no zone")
    at = at.astimezone(timezone.utc)
    return at.isoformat(timespec="microseconds" if at.microsecond % 1000 else "milliseconds").replace("+00:00", "Z")


def read_time(text: str | None) -> datetime | None:
    """The aware UTC time that `text` writes. Raises ``ValueError``."""
    if text is None:
        return None
    at = datetime.fromisoformat(re.sub(r"Z$", "+00:00", text))  # 3.10 reads no Z
    if at.tzinfo is None:
        raise ValueError(f"{text} has no zone")
    return at.astimezone(timezone.utc)


_PYTHON: dict[ColumnType, tuple[type, ...]] = {
    "string": (str,),
    "long": (int,),
    "double": (float, int),
    "boolean": (bool,),
    "timestamp": (datetime,),
    "strings": (list, tuple),
    "map": (dict,),
}


def fits(value: Any, kind: ColumnType) -> bool:
    """Whether `value` may stand in a column of type `kind`."""
    if value is None:
        return True
    if not isinstance(value, _PYTHON[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return False
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, (list, tuple)):
        return all(v is None or isinstance(v, str) for v in value)
    if isinstance(value, dict):
        return all(isinstance(k, str) and (v is None or isinstance(v, str)) for k, v in value.items())
    return True


def validate(table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Raises `SchemaMismatch` for a row with an undeclared or missing column or a value of another type."""
    declared = {c.name: c.type for c in table.columns}
    for number, row in enumerate(rows):
        if row.keys() != declared.keys():
            unknown, lacking = sorted(row.keys() - declared.keys()), sorted(declared.keys() - row.keys())
            raise SchemaMismatch(f"{table.name}, row {number}: unknown columns {unknown}, missing columns {lacking}")
        for name, value in row.items():
            if not fits(value, declared[name]):
                raise SchemaMismatch(f"{table.name}, row {number}: {name} is {value!r:.80}, not a {declared[name]}")


def lines(table: Table, rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    """Each of `rows` as a line: declared order, nulls left out."""
    times = {c.name for c in table.columns if c.type == "timestamp"}
    for row in rows:
        said = {name: written_time(row[name]) if name in times else storable(row[name]) for name in table.names if row[name] is not None}
        yield json.dumps(said, ensure_ascii=False, separators=(",", ":")) + "\n"


def encodable(rows: Sequence[Row]) -> Sequence[Row]:
    """`rows` with each lone surrogate spelled out: file names hold them, which are bytes, and so does the JSON of others."""
    return [{name: storable(value) for name, value in row.items()} if any(map(_has_surrogates, row.values())) else row for row in rows]


def _has_surrogates(value: Any) -> bool:
    if isinstance(value, str):
        if value.isascii():
            return False
        try:
            value.encode()
        except UnicodeEncodeError:
            return True
        return False
    if isinstance(value, (list, tuple)):
        return any(map(_has_surrogates, value))
    return isinstance(value, dict) and any(_has_surrogates(each) for pair in value.items() for each in pair)


def storable(value: Any) -> Any:
    """`value` as files can hold it: maps in the order of their keys (same rows, same bytes), undecodable bytes spelled out."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, (list, tuple)):
        return [storable(v) for v in value]
    if isinstance(value, dict):
        return {storable(k): storable(v) for k, v in sorted(value.items())}
    return value


def decoded(table: Table, said: Mapping[str, Any]) -> Row:
    """The row that a line's object describes; columns that this diag does not declare are dropped. Raises ``ValueError``."""
    row: Row = {}
    for column in table.columns:
        value = said.get(column.name)
        if value is not None and column.type == "timestamp":
            if not isinstance(value, str):
                raise ValueError(f"{column.name} is {value!r:.80}, not a time")
            value = read_time(value)
        elif value is not None and column.type == "double" and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not fits(value, column.type):
            raise ValueError(f"{column.name} is {value!r:.80}, not a {column.type}")
        row[column.name] = value
    return row
