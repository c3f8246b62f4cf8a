"""The report as one self-contained page: nothing is loaded from anywhere, and nothing of the evidence is markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from analyzers.report.report import Report, Verdict
from cli.renderers.evidence import telling
from cli.renderers.facts import cells
from cli.renderers.verdict_rows import advised, rows_of, titled
from cli.renderers.wording import (
    all_clear,
    clipped,
    crashed,
    looked_at,
    notes_of_their_own,
    printable,
    troubled_sources,
    unchecked_lines,
    when,
)

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; background: #fff }
h1 { font-size: 1.2rem } h2 { font-size: 1.05rem; margin: 1.6rem 0 .4rem } h1.bad { border-left: .35rem solid #c62828; padding-left: .6rem }
h1.well { border-left: .35rem solid #2e7d32; padding-left: .6rem } p.says { font-weight: 600 }
dt { font-weight: 600 } dd { margin: 0 0 .4rem }
pre { background: #f4f4f4; padding: .6rem; overflow-x: auto; white-space: pre-wrap } table { border-collapse: collapse; font-size: .9rem }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid #ddd; vertical-align: top } .critical { color: #c62828 }
.warning { color: #a15c00 } .fix { color: #1b5e20 } details { margin: .6rem 0 } .wide { overflow-x: auto }
@media (prefers-color-scheme: dark) { body { color: #e4e4e4; background: #161616 } pre { background: #242424 } th, td { border-color: #444 }
.critical { color: #ff8a80 } .warning { color: #ffcc80 } .fix { color: #a5d6a7 } }
"""
_MOST_ROWS = 1_000
_MOST_EVIDENCE = 8
_EVIDENCE_WIDTH = 1_000


def render(report: Report) -> str:
    """The whole report; of a facts table the first 1,000 rows."""
    title = f"diag {report.command or ''}".strip() + (f": {report.verdicts[0].cause}" if report.verdicts else ": no verdict")
    body = "\n".join([*_verdicts(report), *_findings(report), *_looked_at(report), *_facts(report)])
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _text(words: str) -> str:
    return escape(printable(words))


def _verdicts(report: Report) -> Iterator[str]:
    if not report.verdicts:
        sick = bool(report.found or report.defects or not report.clean)
        yield f'<h1 class="{"" if sick else "well"}">{_text(all_clear(report))}</h1>'
    for verdict in report.verdicts:
        yield from _verdict(verdict, report)


def _verdict(verdict: Verdict, report: Report) -> Iterator[str]:
    yield f'<h1 class="bad">{_text(titled(verdict))}</h1>'
    yield f'<p class="says">{_text(verdict.says)}</p>'
    yield "<dl>" + "".join(_row(label, words) for label, words in rows_of(verdict, report).items()) + "</dl>"
    evidence = telling(verdict, report.found, _MOST_EVIDENCE)
    if evidence:
        lines = [
            f"{e.file or e.table}{'' if e.line is None else f':{e.line}'}: {clipped(e.text, _EVIDENCE_WIDTH)}" for e in evidence
        ]  # fmt: skip
        yield "<h2>Evidence</h2><pre>" + "\n".join(_text(line) for line in lines) + "</pre>"
    if verdict.timeline:
        yield "<h2>Timeline</h2>"
        yield from _table(("time (UTC)", "rule", "what"), ((when(m.at), m.code, m.says) for m in verdict.timeline))


def _row(label: str, words: str) -> str:
    shown = f"<pre>{_text(words)}</pre>" if label == "Next" else _text(words)
    return f'<dt>{label}</dt><dd class="{"fix" if label == "Fix" else ""}">{shown}</dd>'


def _findings(report: Report) -> Iterator[str]:
    if report.found:
        yield "<h2>Findings</h2>"
        rows = ((f.severity.value, f.code, when(f.since) if f.since else "-", f.says) for f in report.found)
        yield from _table(("severity", "code", "since (UTC)", "what"), rows, marked=True)
        for finding, command in advised(report):
            known = {"Fix": f"{finding.code}: {finding.fix}", "Inferred": finding.inferred, "Next": command}
            yield "<dl>" + "".join(_row(label, words) for label, words in known.items() if words) + "</dl>"


def _looked_at(report: Report) -> Iterator[str]:
    yield f"<h2>Looked at</h2><ul><li>{_text(looked_at(report))}</li>"
    for state, words in troubled_sources(report):
        yield f'<li class="warning">{state}: {_text(words)}</li>'
    for note in notes_of_their_own(report):
        yield f"<li>{_text(note)}</li>"
    for line in unchecked_lines(report.not_checked):
        yield f"<li>not checked, because {_text(line)}</li>"
    for defect in report.defects:
        yield f"<li>a defect in diag, {_text(crashed(defect))}</li>"
    yield "</ul>"


def _facts(report: Report) -> Iterator[str]:
    for name, rows in sorted(report.facts.items()):
        left_out = f", the first {_MOST_ROWS:,} shown" if len(rows) > _MOST_ROWS else ""
        yield f"<details><summary>{_text(name.replace('_', ' '))} ({len(rows):,}{left_out})</summary>"
        if rows:
            yield from _table(*cells(name, rows[:_MOST_ROWS]))
        yield "</details>"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, marked: bool = False) -> Iterator[str]:
    yield '<div class="wide"><table><tr>' + "".join(f"<th>{_text(column)}</th>" for column in columns) + "</tr>"
    for row in rows:
        kind = f' class="{escape(row[0])}"' if marked else ""
        yield f"<tr{kind}>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>"
    yield "</table></div>"
