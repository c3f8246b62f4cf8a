"""A fleet for people and machines: a line per job, worst first, shared roots above; HTML with the card of each job below its row."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from analyzers.report.fleet import OUTCOMES, FleetReport, JobRow, Root, document
from analyzers.report.report import Report
from cli.renderers import card
from cli.renderers.html import fragment
from cli.renderers.json_rows import inert, plain_values
from cli.renderers.markup import Markup, element, page, text
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


def cards_of(scope: str, report: Report) -> dict[str, Markup]:
    """The card of each job of one scope, for `html`; made where the scope is concluded."""
    return {one.job or "": fragment(report, one, f"{scope} {one.job}") for one in card.cards(report)}


def html(report: FleetReport, cards: Mapping[tuple[str, str], Markup]) -> str:
    """One page: shared roots, then a row per job that opens its card (`cards`: by scope and job)."""
    title = text(summary(report))
    meta = element("p", "diag ", text(report.version), " fleet; all times are UTC", class_="meta")
    return page(
        summary(report),
        [
            element("header", element("h1", title), meta),
            *(_root(root) for root in report.roots),
            *(_job(row, cards.get((row.scope, row.job or ""))) for row in report.jobs),
            *(element("p", "gone: ", text(gone["scope"]), ": ", text(gone["says"])) for gone in report.gone),
            *(element("p", "note: ", text(note)) for note in report.notes),
        ],
    )


def _job(row: JobRow, its_card: Markup | None) -> Markup:
    code = (element("b", text(row.verdicts[0].code)), " ") if row.verdicts else (f"{_WORD[row.outcome]}: ",)
    since = f" {when(row.since) if row.since else ''} "
    head = element("summary", text(called(row)), " ", element("i", text(row.state or "")), since, *code, text(brief(row.says)))
    return element("details", head, its_card or element("p", text(row.says)))


def _root(root: Root) -> Markup:
    return element("details", element("summary", text(root_words(root))), element("p", text(", ".join(root.scopes))), open=True)
