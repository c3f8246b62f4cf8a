"""The report for a ticket or a chat: the verdict first, evidence in code blocks, facts as tables. CommonMark with GitHub's tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from analyzers.report.finding import Evidence, Finding
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

_MARKUP = re.compile(r"([\\`*_\[\]<>|#~])")
_MOST_ROWS = 50
_MOST_EVIDENCE = 6
_EVIDENCE_WIDTH = 400


def render(report: Report) -> str:
    """The whole report; the facts of a table beyond 50 rows are counted, not listed (``-o json`` has them)."""
    return "\n".join([*_verdicts(report), *_findings(report), *_looked_at(report), *_unchecked(report), *_facts(report)]).rstrip() + "\n"


def _text(words: str) -> str:
    """Plain words: nothing in them is markup."""
    return _MARKUP.sub(r"\\\1", printable(words))


def _code(words: str) -> str:
    """One line of code, whatever backticks it has."""
    words = printable(words)
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", words)), default=0))
    return f"{fence} {words} {fence}" if len(fence) > 1 else f"`{words}`"


def _block(lines: Iterable[str]) -> list[str]:
    whole = list(lines)
    fence = "`" * max(3, 1 + max((len(run) for line in whole for run in re.findall(r"`+", line)), default=0))
    return [f"{fence}text", *whole, fence]


def _verdicts(report: Report) -> Iterator[str]:
    if not report.verdicts:
        yield f"**{_text(all_clear(report))}**"
        yield ""
        return
    for verdict in report.verdicts:
        yield from _verdict(verdict, report)


def _verdict(verdict: Verdict, report: Report) -> Iterator[str]:
    yield f"## {_text(titled(verdict))}"
    yield ""
    yield f"**{_text(verdict.says)}**"
    yield ""
    for label, words in rows_of(verdict, report).items():
        yield f"- **{label}:** {_code(words) if label == 'Next' else _text(words)}"
    if evidence := telling(verdict, report.found, _MOST_EVIDENCE):
        yield ""
        yield from _block(_quoted(one) for one in evidence)
    if verdict.timeline:
        yield ""
        yield from _table(("time", "rule", "what"), ((when(m.at), m.code, clipped(m.says, 200)) for m in verdict.timeline))
    yield ""


def _quoted(evidence: Evidence) -> str:
    place = printable(evidence.file or evidence.table) + (f":{evidence.line}" if evidence.line is not None else "")
    return f"{place}: {clipped(evidence.text, _EVIDENCE_WIDTH)}"


def _findings(report: Report) -> Iterator[str]:
    if not report.found:
        return
    yield "### Findings"
    yield ""
    yield from _table(("severity", "code", "since", "what"), (_finding(finding) for finding in report.found))
    yield ""
    advice = advised(report)
    for finding, command in advice:
        assumed = f" Inferred: {_text(finding.inferred)}" if finding.inferred else ""
        yield f"- **{finding.code}:** {_text(finding.fix)}{assumed}" + (f" {_code(command)}" if command else "")
    if advice:
        yield ""


def _finding(finding: Finding) -> tuple[str, str, str, str]:
    return finding.severity.value, finding.code, when(finding.since) if finding.since else "-", finding.says


def _looked_at(report: Report) -> Iterator[str]:
    yield "### Looked at"
    yield ""
    yield f"- {_text(looked_at(report))}"
    for state, words in troubled_sources(report):
        yield f"- **{state}:** {_text(words)}"
    for note in notes_of_their_own(report):
        yield f"- {_text(note)}"
    yield ""


def _unchecked(report: Report) -> Iterator[str]:
    if not report.not_checked and not report.defects:
        return
    yield "### Not checked"
    yield ""
    for line in unchecked_lines(report.not_checked):
        yield f"- {_text(line)}"
    for defect in report.defects:
        yield f"- a defect in diag, {_text(crashed(defect))}"
    yield ""


def _facts(report: Report) -> Iterator[str]:
    for name, rows in sorted(report.facts.items()):
        yield f"### {_text(name)} ({len(rows):,})"
        yield ""
        if rows:
            columns, lines = cells(name, rows[:_MOST_ROWS])
            yield from _table(columns, lines)
            if len(rows) > _MOST_ROWS:
                yield ""
                yield f"{len(rows) - _MOST_ROWS:,} more rows are in `-o json`."
        yield ""


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(columns) + " |"
    yield "|" + " --- |" * len(columns)
    for row in rows:
        yield "| " + " | ".join(_text(cell) for cell in row) + " |"
