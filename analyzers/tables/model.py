"""The declared schema of every evidence table: one place, a sentence per column. Imports neither pyspark nor pyarrow.

A row is a plain ``dict`` with exactly the declared columns (missing = ``None``). Times are aware UTC ``datetime`` with
millisecond precision in memory and ISO-8601 ``…Z`` in files. Every table begins with ``scope`` (one incident), ``as_of``, ``job``.
Columns are only ever added: a bundle names the columns it was written with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

Row = dict[str, Any]
ColumnType = Literal["string", "long", "double", "boolean", "timestamp", "strings", "map"]


@dataclass(frozen=True)
class Column:
    """One column: name, logical type (``strings`` = list of string, ``map`` = string to string), what it says."""

    name: str
    type: ColumnType
    says: str


@dataclass(frozen=True)
class Table:
    """One table: its columns in file order; ``derived`` tables are computed and never stored in a bundle."""

    name: str
    says: str
    columns: tuple[Column, ...]
    derived: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    @cached_property
    def _empty(self) -> Row:
        return dict.fromkeys(self.names)

    def row(self, values: Mapping[str, Any]) -> Row:
        """Exactly the declared columns, ``None`` where `values` has none; raises ``KeyError`` for an undeclared one."""
        row = {**self._empty, **values}
        if len(row) != len(self.columns):
            raise KeyError(f"{self.name}: no such column: {', '.join(sorted(set(values) - set(self.names)))}")
        return row


def columns(spec: str) -> tuple[Column, ...]:
    found = []
    for line in filter(str.strip, spec.splitlines()):  # the shared parts leave blank lines where they are joined
        name, kind, says = line.strip().split(None, 2)
        found.append(Column(name, kind, says))  # type: ignore[arg-type]  # the literal is checked by tests/test_tables.py
    return tuple(found)


HEAD = """
scope string the incident this row belongs to (one bundle, one run, one directory of a fleet)
as_of timestamp moment of collection, or the newest event of the evidence
job string job id (Flink: 32 hex digits; Spark: query id); null if unknown
"""

PLACE = """
task string task (vertex) name as logged, without the subtask suffix
subtask long subtask index, counted from 0
parallelism long number of subtasks of the task
execution string execution attempt id
topic string Kafka topic
partition long Kafka partition
offset long Kafka offset
broker long Kafka node id (negative: bootstrap entry -1-index; coordinator ids are folded back)
address string host:port that the line names
resource string TaskManager resource id, container, pod or executor that the line names
checkpoint long checkpoint id (Structured Streaming: batch id)
"""

FAULT = """
exception string class of the outermost exception
root_exception string class of the deepest exception of the chain (serialised wrappers resolved)
root_message string message of the deepest exception, first line
chain strings the causal chain, outermost first, each "class: message" (message clipped)
user_frame string first stack frame that belongs to no framework
"""


def table(name: str, says: str, spec: str, *, derived: bool = False) -> Table:
    return Table(name, says, columns(HEAD + spec), derived)
