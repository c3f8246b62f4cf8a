"""Tables above the row limit as Parquet: a tenth of the size, and read by column. pyarrow is loaded only when one is met."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timezone
from pathlib import Path
from typing import Any

from analyzers.bundle.encoding import decoded, storable, written_time
from analyzers.bundle.room import Room
from analyzers.tables import Row, Table
from analyzers.tables.arrow import arrow

_ROWS_AT_ONCE = 1024


def write(path: Path, table: Table, rows: Sequence[Row]) -> None:
    """`rows` (validated) to `path`."""
    import pyarrow.parquet as pq

    pq.write_table(arrow(table, rows, storable), path, compression="zstd")


def read(path: Path, table: Table, room: Room, most_rows: int) -> list[Row]:
    """The rows of `path`; columns that this diag does not declare are dropped. Raises ``ValueError`` when the file is damaged, `TooMuch`
    where there is no `room` for what it holds, or it has more than `most_rows`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    times = [c.name for c in table.columns if c.type == "timestamp"]
    maps = [c.name for c in table.columns if c.type == "map"]
    texts = [c.name for c in table.columns if c.type == "string"]
    rows: list[Row] = []
    try:
        held = set(pq.read_schema(path).names)
        # else a text that stands in every row is made as often
        file = pq.ParquetFile(path, read_dictionary=[name for name in texts if name in held])
        if file.metadata.num_rows > most_rows:
            raise ValueError(f"has more rows than the {most_rows} of its manifest")
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        room.text(sum(group.column(number).total_uncompressed_size for group in groups for number in range(group.num_columns)))
        wanted = [name for name in file.schema_arrow.names if name in table.names]
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=wanted):
            room.text(sum(_text_bytes(column) for column in batch.columns))
            for said in batch.to_pylist():
                for name in maps:
                    said[name] = None if said.get(name) is None else dict(said[name])
                for name in times:
                    said[name] = None if said.get(name) is None else written_time(said[name].astimezone(timezone.utc))
                rows.append(decoded(table, said))
    except (pa.ArrowException, OSError, AttributeError, TypeError, OverflowError) as error:  # a column may have any type
        raise ValueError(str(error)) from error
    return rows


def _text_bytes(column: Any) -> int:
    """What the texts of a column of pyarrow need when each stands by itself."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type) or not pa.types.is_string(column.type.value_type):
        return int(column.nbytes)
    return pc.sum(pc.take(pc.binary_length(column.dictionary), column.indices)).as_py() or 0
