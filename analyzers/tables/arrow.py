"""Rows as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analyzers.tables import Row, Table
from analyzers.tables.by_column import column

if TYPE_CHECKING:
    import pyarrow as pa


def arrow(table: Table, rows: Sequence[Row]) -> pa.Table:
    """`rows` as an Arrow table with the declared columns of `table`."""
    import pyarrow as pa

    types = {
        "string": pa.string(), "long": pa.int64(), "double": pa.float64(), "boolean": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"), "strings": pa.list_(pa.string()), "map": pa.map_(pa.string(), pa.string()),
    }  # fmt: skip
    schema = pa.schema([pa.field(c.name, types[c.type]) for c in table.columns])
    columns = []
    for each in table.columns:
        values = column(rows, each.name)
        if each.type == "map":
            values = [None if v is None else list(v.items()) for v in values]
        columns.append(pa.array(values, type=types[each.type]))
    return pa.Table.from_arrays(columns, schema=schema)
