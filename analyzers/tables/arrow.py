"""Rows as Arrow tables, and the one place that says which Arrow type a declared column has (Spark's types follow from it)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from analyzers.tables import Row, Table
from analyzers.tables.by_column import column

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_schema(table: Table) -> pa.Schema:
    """The declared columns of `table`."""
    import pyarrow as pa

    types = {
        "string": pa.string(), "long": pa.int64(), "double": pa.float64(), "boolean": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"), "strings": pa.list_(pa.string()), "map": pa.map_(pa.string(), pa.string()),
    }  # fmt: skip
    return pa.schema([pa.field(c.name, types[c.type]) for c in table.columns])


def arrow(table: Table, rows: Sequence[Row], spelled: Callable[[Any], Any] | None = None) -> pa.Table:
    """`rows` as an Arrow table with the declared columns of `table`; `spelled` changes each value before."""
    import pyarrow as pa

    schema = arrow_schema(table)
    columns = []
    for each in schema:
        values = column(rows, each.name)
        if spelled is not None:
            values = [spelled(value) for value in values]
        if pa.types.is_map(each.type):
            values = [None if v is None else list(v.items()) for v in values]
        columns.append(pa.array(values, type=each.type))
    return pa.Table.from_arrays(columns, schema=schema)
