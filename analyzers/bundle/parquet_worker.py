"""The process that reads Parquet files which others made: pyarrow parses them in C++, where a few bytes can end the process or fill memory.

Started by `analyzers.bundle.parquet`, with one question a line on standard input: a file, the table that it should hold, and how much may
come of it. Each row is answered as a line of JSON, as in JSON Lines, and the last line of an answer says how it ended. What is asked is
looked up in the footer first: columns, their types, how many values and bytes they state. Memory and CPU time are bounded for each file by
what its footer states, so that one that lies about itself ends this process and no other.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timezone
from typing import IO, Any

from analyzers.budget import BUDGET
from analyzers.bundle.encoding import written_time
from analyzers.tables import TABLES, Table

ROWS_AT_ONCE = 1024
_LEAST_BYTES = BUDGET.parquet_least_bytes
_TIMES = BUDGET.parquet_times
_MOST_KEPT = BUDGET.parquet_kept_bytes
_LEAST_SECONDS = BUDGET.parquet_least_seconds
_BYTES_A_SECOND = BUDGET.parquet_bytes_a_second
_VALUE_BYTES = 50
"""Of a short text in a list."""
_PAGES = "/proc/self/statm"


class Refused(Exception):
    """A file that is larger, or of other columns, than what was asked for: the message is a clause about it."""


def bound(stated: int, reserved: int) -> None:
    """Let this process have memory and CPU time for `stated` bytes, beyond the address space that it has `reserved` already."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + _LEAST_SECONDS + stated // _BYTES_A_SECOND
    limits = [(resource.RLIMIT_CPU, seconds)]
    if reserved:
        limits.append((resource.RLIMIT_AS, reserved + _LEAST_BYTES + _TIMES * stated))
    for kind, most in limits:
        hard = resource.getrlimit(kind)[1]
        with suppress(ValueError, OSError):  # a system that cannot: the footer is looked at all the same
            resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def address_space() -> int:
    """What this process has reserved now; 0 where the system does not say."""
    try:
        with open(_PAGES, encoding="ascii") as pages:
            return int(pages.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def rows_of(asked: dict[str, Any], reserved: int) -> Iterator[str]:
    """Each row of the file that is `asked` for, as a line. Raises `Refused`, and any error of pyarrow."""
    import pyarrow.parquet as pq

    table = TABLES[asked["table"]]
    bound(0, reserved)
    with pq.ParquetFile(asked["path"], memory_map=False) as file:
        names = _checked(file, table, asked)
        stated = _stated(file, names, asked["most_values"])
    if stated > asked["most_bytes"]:
        raise Refused(f"is larger than there is room for: {asked['most_bytes'] >> 20} MB of all tables are read")
    bound(stated, reserved)
    texts = [column.name for column in table.columns if column.type == "string" and column.name in names]
    # a text that stands in every row is else made as often
    with pq.ParquetFile(asked["path"], memory_map=False, read_dictionary=texts) as file:
        left = asked["most_bytes"] - stated
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=names, use_threads=False):
            left -= sum(_text_bytes(column) for column in batch.columns)
            if left < 0:
                raise Refused(f"is larger than there is room for: {asked['most_bytes'] >> 20} MB of all tables are read")
            yield from _lines(table, batch)


def _checked(file: Any, table: Table, asked: dict[str, Any]) -> list[str]:
    """The columns of `file` that `table` has. Raises `Refused` where one is of another type, or holds more than was asked for."""
    if file.metadata.num_rows > asked["most_rows"]:
        raise ValueError(f"has more rows than the {asked['most_rows']} of its manifest")
    declared = {column.name: column.type for column in table.columns}
    fields = [field for field in file.schema_arrow if field.name in declared]
    for field in fields:
        if not _is(declared[field.name], field.type):
            raise ValueError(f"{field.name} is of type {str(field.type)[:80]}, not a {declared[field.name]}")
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        raise ValueError("it has two columns of one name")
    return names


def _stated(file: Any, names: Iterable[str], most_values: int) -> int:
    """The bytes of the columns `names` when unpacked, as the footer states them. Raises `Refused` for lists of more than `most_values`."""
    wanted, stated, values = set(names), 0, 0
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        for each in range(group.num_columns):
            column = group.column(each)
            if column.path_in_schema.partition(".")[0] in wanted:
                stated += max(column.total_uncompressed_size, 0)
                values += max(column.num_values - group.num_rows, 0)
    if values > most_values:
        raise Refused(f"has longer lists than there is room for: {values:,} values")
    return stated + _VALUE_BYTES * values


def _is(kind: str, found: Any) -> bool:
    """Whether a column of type `found` can be one of ours of type `kind`."""
    from pyarrow import types

    if kind == "strings":
        return bool(types.is_list(found)) and _is("string", found.value_type)
    if kind == "map":
        return bool(types.is_map(found)) and _is("string", found.key_type) and _is("string", found.item_type)
    if kind == "timestamp":
        return bool(types.is_timestamp(found)) and found.tz is not None
    fits = {"string": types.is_string, "long": types.is_integer, "double": types.is_floating, "boolean": types.is_boolean}
    return bool(fits[kind](found)) or (kind == "string" and bool(types.is_large_string(found)))


def _text_bytes(column: Any) -> int:
    """What the texts of a column of pyarrow need when each stands by itself."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type) or not pa.types.is_string(column.type.value_type):
        return int(column.nbytes)
    return pc.sum(pc.take(pc.binary_length(column.dictionary), column.indices)).as_py() or 0


encoded = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def _lines(table: Table, batch: Any) -> Iterator[str]:
    times = [c.name for c in table.columns if c.type == "timestamp" and c.name in batch.schema.names]
    maps = [c.name for c in table.columns if c.type == "map" and c.name in batch.schema.names]
    for row in batch.to_pylist():
        for name in maps:
            row[name] = None if row[name] is None else dict(row[name])
        for name in times:
            row[name] = None if row[name] is None else written_time(row[name].astimezone(timezone.utc))
        yield encoded({name: value for name, value in row.items() if value is not None}) + "\n"


def answer(asked: dict[str, Any], out: IO[str], reserved: int) -> None:
    """One question's rows, and how it ended."""
    import pyarrow as pa

    end: dict[str, str] = {}
    try:
        for line in rows_of(asked, reserved):
            out.write(line)
    except Refused as error:
        end = {"refused": str(error)}
    except MemoryError:
        end = {"refused": "takes more memory than its size and its footer account for"}
    except BrokenPipeError:
        raise
    except Exception as error:  # a column may have any type, and its bytes any error
        end = {"damaged": f"{error}"[:400] or type(error).__name__}
    pa.default_memory_pool().release_unused()
    out.write(f"={json.dumps({**end, 'last': address_space() > reserved + _MOST_KEPT})}\n")
    out.flush()


def main() -> None:
    import pyarrow as pa
    import pyarrow.compute
    import pyarrow.parquet  # what is loaded later would count as memory of a file

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    questions, out = sys.stdin.buffer, os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    reserved = address_space()
    with suppress(BrokenPipeError):
        for line in questions:
            answer(json.loads(line), out, reserved)


if __name__ == "__main__":
    main()
