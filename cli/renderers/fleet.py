"""A fleet for people and machines: a line per job, worst first, shared roots above; HTML with the card of each job below its row."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from analyzers.report.fleet import OUTCOMES, FleetReport, JobRow, Root, document
from analyzers.report.report import Report
from cli.renderers import card
from cli.renderers.html import fragment
from cli.renderers.html_style import POLICY, SCRIPT, STYLE
from cli.renderers.json_rows import inert, plain_values
from cli.renderers.markup import text
from cli.renderers.wording import clipped, printable, when

_WORDS = 10
_WIDTHS = (34, 10, 19, 12)
_LEAST_WIDTH = 80
_MOST_JOBS = 12  # named below a shared root
_WORD = {"ill": "ill", "at-risk": "at risk", "unread": "not read", "undecided": "undecided", "clear": "clear"}


def brief(words: str) -> str:
    """The first ten words."""
    said = printable(words).split()
    return " ".join(said[:_WORDS]) + ("…" if len(said) > _WORDS else "")


def called(row: JobRow) -> str:
    """The scope, and the job's name where it says more."""
    name = row.name or row.job
    return printable(f"{row.scope}: {name}" if name and name != row.scope else row.scope)


def summary(report: FleetReport) -> str:
    """How many jobs are how."""
    count = Counter(row.outcome for row in report.jobs)
    parts = [f"{count[outcome]} {_WORD[outcome]}" for outcome in OUTCOMES if count[outcome]]
    return f"{len({row.scope for row in report.jobs})} directories, {len(report.jobs)} jobs: {', '.join(parts) or 'none'}"


def root_words(root: Root) -> str:
    since = f" since {when(root.since)} UTC" if root.since else ""
    return f"{root.kind} {printable(root.value)}: {root.cause}{since}: {len(root.scopes)} jobs"


def render(report: FleetReport, width: int = 120) -> str:
    """Lines for a terminal or a ticket."""
    return "\n".join(clipped(line, max(width, _LEAST_WIDTH)) for line in _lines(report)) + "\n"


def _lines(report: FleetReport) -> Iterator[str]:
    yield summary(report)
    for root in report.roots:
        yield ""
        yield f"shared: {root_words(root)}"
        more = len(root.scopes) - _MOST_JOBS
        yield from (f"    {printable(scope)}" for scope in root.scopes[:_MOST_JOBS])
        yield from [f"    and {more} more"] if more > 0 else []
    yield ""
    yield _row("job", "state", "since (UTC)", "", "verdict")
    for row in report.jobs:
        code = row.verdicts[0].code if row.verdicts else _WORD[row.outcome]
        change = {verdict.change for verdict in row.verdicts}
        mark = "new: " if "new" in change else ""
        more_of = f" (+{len(row.verdicts) - 1})" if len(row.verdicts) > 1 else ""
        yield _row(called(row), row.state or "", when(row.since) if row.since else "", code, mark + brief(row.says) + more_of)
    for gone in report.gone:
        yield f"gone: {printable(gone['scope'])}: {brief(gone['says'])}"
    yield from (f"note: {printable(note)}" for note in report.notes)


def _row(*cells: str) -> str:
    *front, last = cells
    return "  ".join([*(clipped(cell, width).ljust(width) for cell, width in zip(front, _WIDTHS, strict=True)), last]).rstrip()


def plain(report: FleetReport) -> str:
    """One tab-separated line per job and root, for pipes."""
    out = [
        ("root", root.kind, root.value, root.cause, when(root.since), str(len(root.scopes)), ",".join(root.scopes)) for root in report.roots
    ]
    lines = ["\t".join(map(printable, line)) for line in out]
    for row in report.jobs:
        first = row.verdicts[0] if row.verdicts else None
        cells = ("job", row.outcome, row.scope, row.job or "", row.name or "", row.state or "", when(row.since) if row.since else "",
                 first.code if first else "", first.change or "" if first else "", row.says)  # fmt: skip
        lines.append("\t".join(map(printable, cells)))
    lines += ["\t".join(map(printable, ("gone", gone["scope"], gone["id"], gone["says"]))) for gone in report.gone]
    return "\n".join(lines) + "\n"


def as_json(report: FleetReport) -> str:
    return inert(json.dumps(document(report, plain_values), ensure_ascii=False, indent=2, allow_nan=False)) + "\n"


def cards_of(scope: str, report: Report) -> dict[str, str]:
    """The card of each job of one scope, for `html`; made where the scope is concluded."""
    return {one.job or "": fragment(report, one, f"{scope} {one.job}") for one in card.cards(report)}


def html(report: FleetReport, cards: Mapping[tuple[str, str], str]) -> str:
    """One page: shared roots, then a row per job that opens its card (`cards`: by scope and job)."""
    rows = []
    for row in report.jobs:
        code = f"<b>{text(row.verdicts[0].code)}</b> " if row.verdicts else f"{_WORD[row.outcome]}: "
        since = when(row.since) if row.since else ""
        head = f"<summary>{text(called(row))} <i>{text(row.state or '')}</i> {since} {code}{text(brief(row.says))}</summary>"
        rows.append(f"<details>{head}{cards.get((row.scope, row.job or ''), f'<p>{text(row.says)}</p>')}</details>")
    roots = [
        f"<details open><summary>{text(root_words(root))}</summary><p>{text(', '.join(root.scopes))}</p></details>" for root in report.roots
    ]
    gone = [f"<p>gone: {text(each['scope'])}: {text(each['says'])}</p>" for each in report.gone]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><meta name="viewport" content="width=device-width">'
        f'<link rel="icon" href="data:,"><title>{text(summary(report))}</title><style>{STYLE}</style></head>\n<body>\n'
        f'<header><h1>{text(summary(report))}</h1><p class="meta">diag {text(report.version)} fleet; all times are UTC</p></header>\n'
        + "\n".join([*roots, *rows, *gone])
        + f"\n<script>{SCRIPT}</script></body></html>\n"
    )
