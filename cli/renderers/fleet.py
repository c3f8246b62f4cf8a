"""A fleet for pipes and machines; `fleet_table` is for a terminal, `fleet_page` for a browser."""

from __future__ import annotations

import json
from collections.abc import Iterable

from analyzers.report.fleet import FleetReport, JobRow, document
from cli.renderers.json_rows import inert, plain_values
from cli.renderers.wording import printable, when


def plain(report: FleetReport, rows: Iterable[JobRow] | None = None) -> str:
    """One tab-separated line per job and root, for pipes; `rows`: those that are shown, in their order."""
    out = [
        ("root", root.kind, root.value, root.cause, when(root.since), str(len(root.scopes)), ",".join(root.scopes), root.link)
        for root in report.roots
    ]
    lines = ["\t".join(map(printable, line)) for line in out]
    for row in report.jobs if rows is None else rows:
        first = row.verdicts[0] if row.verdicts else None
        cells = ("job", row.outcome, row.scope, row.job or "", row.name or "", row.state or "", when(row.since) if row.since else "",
                 first.code if first else "", first.change or "" if first else "", row.says)  # fmt: skip
        lines.append("\t".join(map(printable, cells)))
    lines += ["\t".join(map(printable, ("gone", gone["scope"], gone["id"], gone["says"]))) for gone in report.gone]
    return "\n".join(lines) + "\n"


def as_json(report: FleetReport) -> str:
    return inert(json.dumps(document(report, plain_values), ensure_ascii=False, indent=2, allow_nan=False)) + "\n"
