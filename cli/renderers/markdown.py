"""The report for a ticket or a chat: the card and the story first, all the rest folded. CommonMark with GitHub's tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from analyzers.report.finding import Evidence, Finding
from analyzers.report.outcome import doubt
from analyzers.report.report import Report
from cli.renderers import card, noticing
from cli.renderers.card import Card
from cli.renderers.evidence import telling
from cli.renderers.facts import cells
from cli.renderers.picture import LABEL, picture
from cli.renderers.verdict_rows import advised, rows_of, titled
from cli.renderers.wording import (
    all_clear,
    clipped,
    clock,
    crashed,
    looked_at,
    notes_of_their_own,
    printable,
    troubled_sources,
    unchecked_lines,
    when,
)

_MARKUP = re.compile(r"([\\`*_\[\]<>|#~&]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
"""What is markup, and what makes a link of an address that stands there bare, as GitHub does."""
_MOST_ROWS = 50
_MOST_EVIDENCE = 6
_EVIDENCE_WIDTH = 400
_MOST_CARDS = 10
_MOST_ALSO = 5
_BEHIND = ("Trigger", "Since", "Where")
"""What the card does not say of a verdict."""
_PICTURE = 100  # columns


def render(report: Report) -> str:
    """The whole report; the facts of a table beyond 50 rows are counted, not listed (``-o json`` has them)."""
    folded = [*_evidence(report), *_findings(report), *_all_noticed(report), *_looked_at(report), *_unchecked(report)]
    title = "Evidence, findings, what was looked at" if report.found else "What was looked at"
    lines = ["<details>", f"<summary>{title}</summary>", "", *folded, "</details>", "", *_facts(report)]
    return "\n".join([*_cards(report), *lines]).rstrip() + "\n"


def summary(report: Report) -> str:
    """The card and the story of each job: what is said first."""
    return "\n".join(_cards(report)).rstrip() + "\n"


def escaped(words: str) -> str:
    """Plain words: nothing in them is markup."""
    return _MARKUP.sub(r"\\\1", printable(words))


def _prose(words: str) -> str:
    """Plain words, and as code what stands between single backticks: two of them beside one another would close nothing."""
    parts = re.split(r"(?<!`)`([^`]+)`(?!`)", printable(words))
    return "".join(_code(part) if number % 2 else _MARKUP.sub(r"\\\1", part) for number, part in enumerate(parts))


def _code(words: str) -> str:
    """One line of code, whatever backticks it has."""
    words = printable(words)
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", words)), default=0))
    return f"{fence} {words} {fence}" if len(fence) > 1 else f"`{words}`"


def _block(lines: Iterable[str]) -> list[str]:
    whole = list(lines)
    fence = "`" * max(3, 1 + max((len(run) for line in whole for run in re.findall(r"`+", line)), default=0))
    return [f"{fence}text", *whole, fence]


def _cards(report: Report) -> Iterator[str]:
    ill = card.cards(report) if report.verdicts else []
    if not ill:
        yield f"**{escaped(f'{doubt(report)}.' if card.is_open(report) else all_clear(report))}**"
        yield ""
        yield from _noticed(report)
        yield from _since_baseline(report)
        if card.is_open(report):
            yield from _not_checked(report)
        return
    if len(ill) > 1:
        yield from _table(("job", "state", "verdict"), ((one.name, one.state, clipped(one.headline, 100)) for one in ill))
        yield ""
    for one in ill[:_MOST_CARDS]:
        yield from _card(one)
    yield from _since_baseline(report)
    yield from _not_checked(report)


def _since_baseline(report: Report) -> Iterator[str]:
    rows = card.since_baseline(report)
    yield from (f"- **{label}:** {escaped(words)}" for label, words, _ in rows)
    yield from [""] if rows else []


def _not_checked(report: Report) -> Iterator[str]:
    words = "; ".join(printable(said) for label, said, _ in card.remains(report) if label == "not checked")
    if words:
        yield f"Not checked: {escaped(words)}"
        yield ""


def _noticed(report: Report) -> Iterator[str]:
    """What speaks against an all-clear."""
    rows = [row for row in report.unexplained if report.fragment or row.is_error or row.telling]
    for row in rows[:_MOST_ALSO]:
        rule = f" ({escaped(row.code)})" if row.code else ""
        said = " ".join((noticing.time(row), noticing.says(row))).strip()
        yield f"- **noticed:** {escaped(said)} ×{row.count}. {escaped(row.means)}{rule}"
    if card.is_open(report):
        more, *commands = noticing.decides(report, rows)
        yield f"- **to be sure:** {', or '.join((escaped(more), *map(_code, commands)))}"
    if rows or card.is_open(report):
        yield ""


def _card(one: Card) -> Iterator[str]:
    assert one.verdict is not None
    yield f"### {escaped(one.name)} {escaped(one.state)}".rstrip()
    yield ""
    yield f"{escaped(one.now)}{f' ({escaped(one.times)})' if one.times else ''}".lstrip()
    yield ""
    yield f"**{escaped(one.headline)}** ({escaped(one.verdict.code)})"
    yield from (f"<br>{escaped(words)} {escaped(place)}" for words, place in one.quotes)
    yield from [f"<br>**where** {escaped(one.where)}"] if one.where else []
    yield from ("<br>" + escaped(words) for words, _ in one.below)
    yield ""
    steps = [words for label, words, _ in one.advice if label == "fix"]
    yield from (f"{number}. {_prose(step)}" for number, step in enumerate(steps, 1))
    yield ""
    more = [f"- **{label}:** {escaped(words)}" for label, words, _ in one.advice if label != "fix"]
    more += [f"- **check:** {_code(one.check)}"] if one.check else []
    more += ["- **also:** " + "; ".join(f"{escaped(words)} ({escaped(code)})" for words, code in one.also[:_MOST_ALSO])] if one.also else []
    yield from (*more, *([""] if more else []))
    rows = picture(one.lanes, one.begin, one.end, _PICTURE) if one.begin and one.end else []
    if rows:
        yield from (*_block(f"{label:<{LABEL}}{drawn}" if label else drawn for label, drawn in rows), "")
    if one.story:
        times = {row.at.date() for row in one.story if row.at}
        at = when if len(times) > 1 else clock
        told = ((at(row.at), row.says + (f" ×{row.count}" if row.count > 1 else ""), row.place) for row in one.story)
        yield from (*_table(("time", "what", "where"), told), "")


def _evidence(report: Report) -> Iterator[str]:
    """What each verdict stands on."""
    for verdict in report.verdicts:
        yield f"### {escaped(titled(verdict))}"
        yield ""
        yield escaped(verdict.says)
        yield ""
        yield from (f"- **{label}:** {escaped(words)}" for label, words in rows_of(verdict, report).items() if label in _BEHIND)
        yield ""
        if evidence := telling(verdict, report.found, _MOST_EVIDENCE):
            yield from (*_block(_quoted(one) for one in evidence), "")
        if verdict.timeline:
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
        assumed = f" Inferred: {escaped(finding.inferred)}" if finding.inferred else ""
        yield f"- **{escaped(finding.code)}:** {_prose(finding.fix)}{assumed}" + (f" {_code(command)}" if command else "")
    if advice:
        yield ""


def _finding(finding: Finding) -> tuple[str, str, str, str]:
    return finding.severity.value, finding.code, when(finding.since) if finding.since else "-", finding.says


def _all_noticed(report: Report) -> Iterator[str]:
    rows = report.unexplained
    if not rows:
        return
    yield "### Noticed, and explained by no finding"
    yield ""
    yield from _table(
        ("level", "time", "what", "count", "where", "means", "rule"),
        (
            (row.level or "-", noticing.time(row), noticing.says(row), str(row.count), noticing.place(row), row.means, row.code or "-")
            for row in rows[:_MOST_ROWS]
        ),
    )
    yield ""


def _looked_at(report: Report) -> Iterator[str]:
    yield "### Looked at"
    yield ""
    yield f"- {escaped(looked_at(report))}"
    for state, words in troubled_sources(report):
        yield f"- **{escaped(state)}:** {escaped(words)}"
    for note in notes_of_their_own(report):
        yield f"- {escaped(note)}"
    yield ""


def _unchecked(report: Report) -> Iterator[str]:
    if not report.not_checked and not report.defects:
        return
    yield "### Not checked"
    yield ""
    for line in unchecked_lines(report.not_checked):
        yield f"- {escaped(line)}"
    for defect in report.defects:
        yield f"- a defect in diag, {escaped(crashed(defect))}"
    yield ""


def _facts(report: Report) -> Iterator[str]:
    """The tables, folded as long as there are words above them."""
    judged = bool(report.clean or report.found)
    for name, rows in sorted(report.facts.items()):
        title = f"{escaped(name)} ({len(rows):,})"
        yield from (("<details>", f"<summary>{title}</summary>", "") if judged else (f"### {title}", ""))
        if rows:
            columns, lines = cells(name, rows[:_MOST_ROWS])
            yield from _table(columns, lines)
            if len(rows) > _MOST_ROWS:
                yield ""
                yield f"{len(rows) - _MOST_ROWS:,} more rows are in `-o json`."
        yield from (("", "</details>", "") if judged else ("",))


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(map(escaped, columns)) + " |"
    yield "|" + " --- |" * len(columns)
    for row in rows:
        yield "| " + " | ".join(escaped(cell) for cell in row) + " |"
