"""One table of a report for spreadsheets and notebooks: its findings, or rows that were collected, as CSV or Parquet."""

from __future__ import annotations

import csv as files
import io
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from analyzers.report.frames import finding_rows
from analyzers.tables import TABLES
from cli.renderers.wording import iso, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from analyzers.report.report import Report

FINDINGS = "findings"
_BEGINS_A_FORMULA = ("=", "+", "-", "@")


def cell(value: object) -> object:
    """`value` in a spreadsheet, which runs a text that begins like a formula: an apostrophe before it says that it is none."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(_BEGINS_A_FORMULA) else text


def csv(report: Report, name: str) -> str:
    """The table `name` of `report` as text; only the line of its columns where it has no rows."""
    return as_csv(table_of(report, name))


def parquet(report: Report, name: str) -> bytes:
    """The table `name` of `report` as one Parquet file."""
    return as_parquet(table_of(report, name))


def table_of(report: Report, name: str) -> pa.Table:
    """The table `name` with its declared columns and types."""
    from analyzers.bundle.encoding import storable
    from analyzers.tables.arrow import arrow

    if name == FINDINGS:
        return findings_table(finding_rows("", report))
    return arrow(TABLES[name], list(report.facts.get(name, ())), storable)


def findings_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows of `finding_rows`."""
    import pyarrow as pa

    from analyzers.bundle.encoding import storable

    moment = pa.timestamp("us", tz="UTC")
    types = {"since": moment, "until": moment, "confidence": pa.float64()}
    names = ("scope", "job", "code", "severity", "cause", "reason", "since", "until", "confidence", "says", "fix", "subject", "id")
    plain = [{key: storable(row[key]) for key in names} for row in rows]
    return pa.Table.from_pylist(plain, schema=pa.schema([(key, types.get(key, pa.string())) for key in names]))


def as_csv(table: pa.Table) -> str:
    """A line of the columns, and one per row; times are ISO-8601 UTC, lists and maps JSON."""
    written = io.StringIO()
    writer = files.writer(written, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows([_flat(value) for value in row.values()] for row in table.to_pylist(maps_as_pydicts="lossy"))
    return written.getvalue()


def _flat(value: Any) -> object:
    if isinstance(value, (list, dict)):
        return cell(json.dumps(value, ensure_ascii=False))
    return cell(iso(value) if hasattr(value, "tzinfo") else value)


def as_parquet(table: pa.Table) -> bytes:
    """One Parquet file."""
    import pyarrow.parquet as pq

    written = io.BytesIO()
    pq.write_table(table, written)
    return written.getvalue()
