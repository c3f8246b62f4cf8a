"""Which columns of a facts table people want to see, and how a table is drawn; the other formats carry every column."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from analyzers.report.durations import counted, span
from analyzers.tables import TABLES, Row
from cli.renderers.wording import printable, when

_SHOWN: dict[str, tuple[str, ...]] = {
    "bootstrap_servers": ("entry", "ip", "state", "broker", "connect_ms", "api_versions_ms", "metadata_ms", "why"),
    "brokers": ("broker", "address", "state", "controller", "rack", "connect_ms", "why"),
    "forecast": (
        "scenario",
        "client_version",
        "connector",
        "kind",
        "dead",
        "clients",
        "p_fail_client",
        "p_fail_start",
        "expected_starts",
        "minutes_lost",
    ),
    "forecast_fixes": ("rank", "scenario", "client_version", "change", "p_fail_client", "p_fail_start", "minutes_lost", "note"),
    "preflight": ("question", "answer", "group", "says", "todo"),
    "partitions": ("topic", "partition", "state", "leader", "replicas", "isr", "offline", "adding", "removing"),
    "log_dirs": ("broker", "path", "state", "total_bytes", "usable_bytes", "replicas", "size_bytes", "moving_replicas", "why"),
    "metadata_quorum": ("node", "role", "address", "leader_epoch", "log_end_offset", "lag_offsets", "behind_seconds"),
    "client_quotas": ("user", "client_id", "ip", "key", "value", "groups"),
    "offsets_at": ("topic", "partition", "offset", "record_at", "error"),
    "log_offsets": ("topic", "partition", "log_start", "last_stable", "high_watermark", "at"),
    "groups": ("group", "type", "state", "members", "coordinator", "assignor", "epoch", "error"),
    "members": ("group", "client", "host", "instance", "epoch", "assigned"),
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
    "share_offsets": ("group", "topic", "partition", "start_offset", "lag_records", "error"),
    "checkpoint_files": ("checkpoint", "kind", "state", "version", "operators", "size_bytes", "state_bytes", "mtime", "damage", "path"),
    "operator_states": ("checkpoint", "name", "operator", "parallelism", "subtasks", "size_bytes", "coordinator_bytes", "finished"),
    "subtask_states": ("checkpoint", "operator", "subtask", "size_bytes", "managed_operator_bytes", "managed_keyed_bytes", "channel_bytes"),
    "splits": ("checkpoint", "operator", "role", "subtask", "topic", "partition", "offset", "offset_kind", "identity", "status"),
    "split_audit": ("problem", "checkpoint", "since_checkpoint", "operator", "identity", "subtasks", "offsets", "inferred"),
    "batches": ("batch", "planned", "committed", "planned_at", "damage"),
    "batch_offsets": ("batch", "source", "topic", "partition", "offset"),
    "sources": ("name", "kind", "state", "why"),
}
_ON_A_TERMINAL: dict[str, tuple[str, ...]] = {
    **_SHOWN,
    "preflight": ("question", "answer", "says"),  # what to do is in the findings
    "log_files": ("file", "role", "lines", "first_at", "last_at"),
    "log_counts": ("signature", "events", "first_at", "last_at"),
    "log_events": ("at", "signature", "file", "line"),
}
_MOST_ROWS = 200
"""More scrolls away what matters; `-o json` has them all."""

_MOST_HEALTHY = 12
"""Partitions without a fault that are worth a screen."""

_SENTENCES = ("why", "error", "damage", "note")
_GIVE_WAY = (
    "scenario",
    "connector",
    "role",
    "last_at",
    "at",
    "client",
    "host",
    "rack",
    "metadata_ms",
    "api_versions_ms",
    "log_start",
    "last_stable",
    "replicas",
)
"""Columns left out of a narrow terminal, in this order; `-o json` has them all."""
_LEAST_SENTENCE = 30
_LEAST_NAME = 24

_BAD_STATES = {
    "refused",
    "black-hole",
    "hung",
    "dns",
    "tls",
    "auth",
    "not-kafka",
    "closed",
    "leaderless",
    "leader-unreachable",
    "damaged",
    "failed",
    "dead",
    "offline",
}
_WORRYING_STATES = {"under-replicated", "partial", "empty", "completingrebalance", "preparingrebalance"}


def drawn(name: str, rows: Sequence[Row]) -> RenderableType:
    """`rows` of the table `name`: chosen columns that hold anything, numbers to the right, bad states in colour."""
    if name == "partitions":
        return _partitions(rows)
    if name == "forecast_fixes":
        rows = _first_asked(rows)
    if name == "forecast" and rows and all(row.get("p_fail_start") is None for row in rows):
        return Text(
            f"forecast: it is not known how often clients fail at entries that are {', '.join(sorted({_kind(row) for row in rows}))}"
        )
    if name == "log_counts":
        rows = _summed(rows)
    if name in ("log_events", "log_files"):  # the report says which directory
        rows = [{**row, "file": posixpath.basename(row["file"] or "") or row["file"]} for row in rows]
    return _Fitted(name, _in_words(name, rows))


def _in_words(name: str, rows: Sequence[Row]) -> Sequence[Row]:
    """Two columns of a forecast in one: how many of how many."""
    if name != "forecast":
        return rows
    return [{**row, "dead": f"{row['dead']} of {row['entries']}", "kind": _kind(row), "client_version": _version(row)} for row in rows]


def _kind(row: Row) -> str:
    """The kind that costs a client its time, and how many entries beside it cost none."""
    beside = row["skipped"] if row.get("skipped") and row["kind"] not in ("refused", "dns") else 0
    return f"{row['kind']}, {beside} skipped" if beside else str(row["kind"])


def _summed(rows: Sequence[Row]) -> Sequence[Row]:
    """Counts of all minutes, files, jobs and tasks together: a row for what happened, in the order of its beginning."""
    together: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        together.setdefault((row["scope"], row["signature"]), []).append(row)
    sums = []
    for alike in together.values():
        first, last = (choose((r[c] for r in alike if r[c]), default=None) for c, choose in (("first_at", min), ("last_at", max)))
        sums.append({**alike[0], "events": sum(row["events"] or 0 for row in alike), "first_at": first, "last_at": last})
    return sorted(sums, key=lambda row: (row["first_at"] is None, row["first_at"] and row["first_at"].timestamp(), row["signature"]))


def _first_asked(rows: Sequence[Row]) -> Sequence[Row]:
    """The changes for one forecast; of several the best of each: the notes name them, the other formats have all."""
    asked = {(row["scope"], row["scenario"], row["client_version"]) for row in rows}
    return rows if len(asked) < 2 else [row for row in rows if row["rank"] == 1]


def _version(row: Row) -> str:
    return f"if {row['client_version']}" if row.get("assumed") else str(row["client_version"])


def _partitions(rows: Sequence[Row]) -> RenderableType:
    """Those that suffer; healthy ones only where they are few and all are healthy."""
    suffering = [row for row in rows if row.get("state") not in ("ok", None)]
    healthy = len(rows) - len(suffering)
    if suffering and healthy:
        return Group(_Fitted("partitions", suffering), Text(f"{counted(healthy, 'partition')} more, ok", style="dim"))
    if not suffering and len(rows) > _MOST_HEALTHY:
        return Text(f"partitions ({counted(len(rows), 'row')}): all ok")
    return _Fitted("partitions", rows)


def cells(name: str, rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Headings and texts of the chosen columns of `rows`, for formats without a width."""
    rows = _in_words(name, rows)
    columns = _columns(name, rows)
    return [_heading(column) for column in columns], [[_cell(column, row.get(column)).plain for column in columns] for row in rows]


@dataclass(frozen=True)
class _Fitted:
    """Drawn when the width is known: what does not fit is cut off without a trace, and half a sentence can say the opposite."""

    name: str
    rows: Sequence[Row]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = _columns(self.name, self.rows, _ON_A_TERMINAL)
        whole = _table(self.name, self.rows, columns, {})
        if _fits(whole, console, options):
            yield whole
            return
        # the sentences go below, each once
        said = [str(row[c]) for row in self.rows[:_MOST_ROWS] for c in columns if c in _SENTENCES and row.get(c)]
        numbers = {text: f"({number})" for number, text in enumerate(dict.fromkeys(said), start=1)}
        short = _table(self.name, self.rows, columns, numbers)
        for column in (c for c in _GIVE_WAY if c in columns):
            if _fits(short, console, options):
                break
            columns.remove(column)
            short = _table(self.name, self.rows, columns, numbers)
        yield short if _fits(short, console, options) else _table(self.name, self.rows, columns, numbers, whole_names=False)
        for text, number in numbers.items():
            yield Padding(Text(f"{number} {printable(text)}"), (0, 0, 0, 1))


def _fits(table: Table, console: Console, options: ConsoleOptions) -> bool:
    return table.__rich_measure__(console, options.update(max_width=10_000)).minimum <= options.max_width


def _columns(name: str, rows: Sequence[Row], shown: Mapping[str, tuple[str, ...]] = _SHOWN) -> list[str]:
    wanted = shown.get(name) or (TABLES[name].names if name in TABLES else tuple(sorted({key for row in rows for key in row})))
    columns = [c for c in wanted if any(row.get(c) not in (None, [], "") for row in rows)]
    if all(str(row.get("ip") or "") in str(row.get("entry", "")) for row in rows):
        columns = [c for c in columns if c != "ip"]  # the entry is the address itself
    if name in ("forecast", "forecast_fixes"):  # what is the same everywhere tells nothing
        same = {c for c in ("scenario", "client_version") if len({row.get(c) for row in rows}) == 1}
        columns = [c for c in columns if c not in same or (c == "client_version" and name == "forecast")]
    return columns


def _table(name: str, rows: Sequence[Row], columns: list[str], notes: dict[str, str], *, whole_names: bool = True) -> Table:
    """`notes` stand for the sentences that are printed elsewhere."""
    declared = {column.name: column.type for column in TABLES[name].columns} if name in TABLES else {}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title=_title(name, rows), title_justify="left", title_style="bold")
    cells = [
        [_cell(c, notes.get(str(row.get(c)), row.get(c)) if c in _SENTENCES else row.get(c)) for c in columns] for row in rows[:_MOST_ROWS]
    ]
    for number, column in enumerate(columns):
        heading = _heading(column).replace(" ", "\n")  # values are narrower than their names
        if (declared.get(column) in ("long", "double") and column != "dead") or column in ("first_at", "last_at"):
            widest = max((len(row[number]) for row in cells), default=0)  # "3 d 22 h" is one value, not three words
            table.add_column(heading, justify="right", no_wrap=True, min_width=widest)
            continue
        # names are compared by eye, down the column: they stay whole
        most = _LEAST_SENTENCE if column in _SENTENCES else _LEAST_NAME
        widest = max((len(row[number]) for row in cells), default=0)
        table.add_column(heading, overflow="fold", min_width=min(widest, most) if whole_names else None)
    for row in cells:
        table.add_row(*row)
    return table


def _title(name: str, rows: Sequence[Row]) -> str:
    left_out = f", the first {_MOST_ROWS} shown; -o json has all" if len(rows) > _MOST_ROWS else ""
    return f"{name.replace('_', ' ')} ({counted(len(rows), 'row')}{left_out})"


_OF_A_VOLUME = ("total_bytes", "usable_bytes")
_HEADINGS = {
    "p_fail_client": "one fails", "p_fail_start": "start fails", "expected_starts": "starts needed", "minutes_lost": "failing starts take",
    "client_version": "client", "scenario": "what if", "total_bytes": "total GB", "usable_bytes": "usable GB",
}  # fmt: skip


def _heading(column: str) -> str:
    if column in _HEADINGS:
        return _HEADINGS[column]
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
    if column in _OF_A_VOLUME:
        return Text(f"{value / 1e9:,.1f}")
    if isinstance(value, int):
        return Text(f"{value:,}" if column.endswith(("_bytes", "lag_records")) else str(value))
    if isinstance(value, float):
        return Text(_FLOATS.get(column, "{:.1f}".format)(value))
    if isinstance(value, (list, tuple)):
        return Text(",".join(printable(str(v)) for v in value))
    text = printable(str(value))
    return Text(text, style=style(column, text))


def _percent(value: float) -> str:
    """Never 0 or 100 for what is neither."""
    if value in (0.0, 1.0):
        return f"{value:.0%}"
    return "<0.1%" if value < 0.001 else ">99.9%" if value > 0.999 else f"{value:.1%}"


def _starts(value: float) -> str:
    return f"{value:.0e}".replace("e+", "e").replace("e0", "e") if value >= 1000 else f"{value:.1f}"


def _minutes(value: float) -> str:
    return "for ever" if value > 60 * 24 * 365 else span(timedelta(minutes=value)) if value else "none"


_FLOATS = {"p_fail_client": _percent, "p_fail_start": _percent, "expected_starts": _starts, "minutes_lost": _minutes}


def style(column: str, text: str) -> str:
    """How a cell is marked: states that are bad, states that worry."""
    if column != "state":
        return ""
    lowered = text.lower()
    return "bold red" if lowered in _BAD_STATES else "yellow" if lowered in _WORRYING_STATES else ""
