"""Which columns of a facts table people want to see, and how a table is drawn; the other formats carry every column."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from analyzers.tables import TABLES, Row
from cli.renderers.wording import counted, printable, when

_SHOWN: dict[str, tuple[str, ...]] = {
    "bootstrap_servers": ("entry", "ip", "state", "broker", "connect_ms", "api_versions_ms", "metadata_ms", "why"),
    "brokers": ("broker", "address", "state", "controller", "rack", "connect_ms", "why"),
    "partitions": ("topic", "partition", "state", "leader", "replicas", "isr", "offline"),
    "log_offsets": ("topic", "partition", "log_start", "last_stable", "high_watermark", "at"),
    "groups": ("group", "type", "state", "members", "coordinator", "error"),
    "members": ("group", "client", "host", "instance", "assigned"),
    "committed_offsets": (
        "group",
        "topic",
        "partition",
        "committed",
        "log_start",
        "last_stable",
        "high_watermark",
        "lag_records",
        "client",
        "host",
        "error",
    ),
    "checkpoint_files": ("checkpoint", "kind", "state", "version", "operators", "size_bytes", "state_bytes", "mtime", "damage", "path"),
    "operator_states": ("checkpoint", "name", "operator", "parallelism", "subtasks", "size_bytes", "coordinator_bytes", "finished"),
    "subtask_states": ("checkpoint", "operator", "subtask", "size_bytes", "managed_operator_bytes", "managed_keyed_bytes", "channel_bytes"),
    "splits": ("checkpoint", "operator", "role", "subtask", "topic", "partition", "offset", "offset_kind", "identity", "status"),
    "batches": ("batch", "planned", "committed", "planned_at", "damage"),
    "batch_offsets": ("batch", "source", "topic", "partition", "offset"),
    "sources": ("name", "kind", "state", "why"),
}
_MOST_ROWS = 200
"""More scrolls away what matters; `-o plain` and `-o json` have them all."""

_BAD_STATES = {
    "refused",
    "black-hole",
    "hung",
    "dns",
    "tls",
    "auth",
    "not-kafka",
    "leaderless",
    "leader-unreachable",
    "damaged",
    "failed",
    "dead",
}
_WORRYING_STATES = {"under-replicated", "partial", "empty", "completingrebalance", "preparingrebalance"}


def drawn(name: str, rows: list[Row]) -> Table:
    """`rows` of the table `name`: chosen columns that hold anything, numbers to the right, bad states in colour."""
    declared = {column.name: column.type for column in TABLES[name].columns} if name in TABLES else {}
    wanted = _SHOWN.get(name) or tuple(declared) or tuple(sorted({key for row in rows for key in row}))
    columns = [c for c in wanted if any(row.get(c) not in (None, [], "") for row in rows)]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title=_title(name, rows), title_justify="left", title_style="bold")
    for column in columns:
        number = declared.get(column) in ("long", "double")
        table.add_column(_heading(column), justify="right" if number else "left", overflow="fold", no_wrap=number)
    for row in rows[:_MOST_ROWS]:
        table.add_row(*(_cell(column, row.get(column)) for column in columns))
    return table


def _title(name: str, rows: list[Row]) -> str:
    left_out = f", the first {_MOST_ROWS} shown; -o plain has all" if len(rows) > _MOST_ROWS else ""
    return f"{name.replace('_', ' ')} ({counted(len(rows), 'row')}{left_out})"


def _heading(column: str) -> str:
    for suffix, unit in (("_ms", " ms"), ("_bytes", " bytes"), ("_records", "")):
        if column.endswith(suffix):
            return column.removesuffix(suffix).replace("_", " ") + unit
    return column.replace("_", " ")


def _cell(column: str, value: Any) -> Text:
    if value is None or value == []:
        return Text("-", style="dim")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, datetime):
        return Text(when(value))
    if isinstance(value, int):
        return Text(f"{value:,}" if column.endswith(("_bytes", "lag_records")) else str(value))
    if isinstance(value, float):
        return Text(f"{value:.1f}")
    if isinstance(value, (list, tuple)):
        return Text(",".join(printable(str(v)) for v in value))
    text = printable(str(value))
    return Text(text, style=_style(column, text))


def _style(column: str, text: str) -> str:
    if column != "state":
        return ""
    lowered = text.lower()
    return "bold red" if lowered in _BAD_STATES else "yellow" if lowered in _WORRYING_STATES else ""
