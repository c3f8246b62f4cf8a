"""Tables above the row limit as Parquet: a tenth of the size, and read by column. pyarrow is loaded only when one is met."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timezone
from pathlib import Path

from analyzers.bundle.encoding import decoded, storable, written_time
from analyzers.tables import Row, Table
from analyzers.tables.arrow import arrow


def write(path: Path, table: Table, rows: Sequence[Row]) -> None:
    """`rows` (validated) to `path`."""
    import pyarrow.parquet as pq

    pq.write_table(arrow(table, rows, storable), path, compression="zstd")


def read(path: Path, table: Table) -> list[Row]:
    """The rows of `path`; columns that this diag does not declare are dropped. Raises ``ValueError`` when the file is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        stored = file.read(columns=[name for name in file.schema_arrow.names if name in table.names])
    except (pa.ArrowException, OSError) as error:
        raise ValueError(str(error)) from error
    times = [c.name for c in table.columns if c.type == "timestamp" and c.name in stored.column_names]
    maps = [c.name for c in table.columns if c.type == "map" and c.name in stored.column_names]
    rows = []
    for said in stored.to_pylist():
        for name in maps:
            said[name] = None if said[name] is None else dict(said[name])
        for name in times:
            said[name] = None if said[name] is None else written_time(said[name].astimezone(timezone.utc))
        rows.append(decoded(table, said))
    return rows
