"""The card in rows of a terminal: pieces of text with a style, wrapped already (`card.py` has what is said)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from analyzers.logs.scan.selection import REMARK
from analyzers.report.durations import counted
from analyzers.report.finding import Finding, Severity
from analyzers.report.outcome import doubt
from analyzers.report.report import Report
from cli.renderers import noticing
from cli.renderers.acknowledgements import matrix
from cli.renderers.card import BEFORE, BESIDE, CHANGED, SET, Card, Told, cards, changed, finding_quotes, is_open, noticed_quotes, remains
from cli.renderers.picture import LABEL, picture
from cli.renderers.wording import all_clear, clipped, clock, is_clear, nothing_wrong, printable

Line = list[tuple[str, str]]

PROSE = 100  # columns: longer lines are not read
_INDENT = 2
_MOST_BESIDE_GRID = 2
_MOST_QUOTED = 4  # lines of a quotation
_MOST_ALONE = 4  # of the only one
_MOST_OF_BESIDE = 3
_SCREEN = 39
_MOST_ALSO = 5
_MOST_CARDS = 5
_MOST_NOTICED = 5
_MOST_BESIDE_CLEAR = 2
_GRID = 80  # columns of the grid of acknowledgements


def lines(report: Report, width: int) -> Iterator[Line]:
    """The whole page of `report`: a card for each job that has a verdict, or the all-clear."""
    width = max(40, width)
    ill = cards(report) if report.verdicts else []
    if len(ill) == 1:
        yield from _fitted(report, ill[0], width)
        return
    if ill:
        yield from _jobs(ill, width)
    for number, card in enumerate(ill):
        if number == _MOST_CARDS:
            yield []
            yield [(f"and {counted(len(ill) - number, 'job')} more: -v has them all", "dim")]
            break
        if number or len(ill) > 1:
            yield []
        yield from _card(card, width, first=not number)
    if not ill:
        yield from _no_verdict(report, width)
    yield from _end(report, width)


def _fitted(report: Report, card: Card, width: int) -> Iterator[Line]:
    """The page of one job. What other lines say gives way where it would not fit a screen, then all but the end of the story."""
    end = list(_end(report, width))
    beside = [quote for quote in card.quotes if quote[0].startswith((BEFORE, BESIDE, CHANGED, SET))]
    own = [quote for quote in card.quotes if quote not in beside]
    rows: list[Line] = []
    shorter = [(number, card.story) for number in range(len(beside), -1, -1)] + [(0, card.story[-1:])]
    for number, story in shorter:
        rows = list(_card(replace(card, quotes=[*own, *beside[:number]], story=story), width, first=True))
        if len(rows) + len(end) <= _SCREEN:
            break
    yield from (*rows, *end)


def _jobs(ill: Iterable[Card], width: int) -> Iterator[Line]:
    """A row per job: its name, its state, what is wrong in a few words, since when."""
    for card in ill:
        since = clock(card.verdict.since) if card.verdict and card.verdict.since else ""
        room = width - 24 - 13 - 10
        said = f"{clipped(card.headline, room):<{room}}  {since}"
        yield [(f"{clipped(card.name, 23):<24}", "strong"), (f"{card.state:<13}", card.style), (said, "")]


def _card(card: Card, width: int, *, first: bool) -> Iterator[Line]:
    assert card.verdict is not None
    yield from _state_line(card, width, first=first)
    yield []
    mark = ("✓ ", "over") if card.over else ("✗ ", "broken")
    yield from wrapped([mark, (card.headline, "strong"), (f"  [{card.verdict.code}]", "dim")], width, _INDENT)
    for words, place in card.quotes:
        beside = words.startswith((BEFORE, BESIDE, CHANGED, SET))
        yield from _quote(words, place, width, _MOST_OF_BESIDE if beside else _MOST_QUOTED if len(card.quotes) > 1 else _MOST_ALONE)
    if card.where:
        yield from wrapped([("where  ", "dim"), (card.where, "")], width, _INDENT + 7, first=_INDENT)
    for words, style in card.below:
        yield from wrapped([(words, style)], width, _INDENT, first=_INDENT)
    yield []
    number = 0
    for label, words, style in card.advice:
        if label == "fix":
            number += 1
            yield from labelled(label if number == 1 else "", [(f"{number}  {words}", style)], width, hang=3)
        else:
            yield from labelled(*(("", [(f"{label}: {words}", style)]) if label != "not known" else (label, [(words, style)])), width)
    if card.check:
        yield [(f"  {'check':<10}", "strong"), (card.check, "do unwrapped")]
    yield from _drawn(card, width)
    story = card.story
    if card.barriers.get("checkpoint_acks") and width >= _GRID:
        yield from ([(line, "")] for line in matrix(card.barriers))
        story = story[-_MOST_BESIDE_GRID:]
    yield from _story(story, width)
    if card.also:
        yield []
    for number, (words, code) in enumerate(card.also[:_MOST_ALSO]):
        yield from labelled("also" if number == 0 else "", [(words, ""), (f"  [{code}]", "dim")], width)
    if len(card.also) > _MOST_ALSO:
        yield from labelled("", [(f"and {len(card.also) - _MOST_ALSO} more", "dim")], width)


def _quote(words: str, place: str, width: int, most: int) -> Iterator[Line]:
    """The decisive words between quotation marks, at most so many lines of them, and where they were printed."""
    room = (min(width, PROSE) - 2 * _INDENT) * most - len(place) - 6
    yield from wrapped([(_clipped(words, room), "strong"), (f"  {place}", "dim")], width, 2 * _INDENT, first=2 * _INDENT)


def _clipped(words: str, room: int) -> str:
    """A quotation of at most so many letters. What is left out stands in the middle: a message often says at its end what is wrong."""
    if len(words) <= room:
        return words
    end = words[-int(room * _SHARE_OF_END) :].partition(" ")[2] or words[-int(room * _SHARE_OF_END) :]
    return f"{clipped(words, room - len(end) - 1)} {end}"


_SHARE_OF_END, _MOST_OF_NOTICED = 0.4, 200


def _state_line(card: Card, width: int, *, first: bool = True) -> Iterator[Line]:
    state: Line = [(f"  {card.state}", card.style)] if card.state else []
    zone: Line = [(f"  ({card.times})", "dim")] if first and card.times else []
    yield from wrapped([(card.name, "strong"), *state, (f"  {card.now}", ""), *zone], width, _INDENT)


def _drawn(card: Card, width: int) -> Iterator[Line]:
    rows = picture(card.lanes, card.begin, card.end, min(width, 120) - _INDENT) if card.begin and card.end else []
    if rows:
        yield []
        for label, cells in rows:
            yield [(f"{' ' * _INDENT}{label:<{LABEL}}", "dim"), (cells, "picture" if label else "dim")]


def _story(told: Sequence[Told], width: int) -> Iterator[Line]:
    if not told:
        return
    yield []
    several_days = len({row.at.date() for row in told if row.at}) > 1
    for row in told:
        at = f"{row.at:%m-%d %H:%M:%S}" if several_days and row.at else clock(row.at)
        times = f"  ×{row.count}" if row.count > 1 else ""
        room = min(width, 120) - _INDENT - len(at) - 2 - len(times) - len(row.place) - 2
        if room < 24:
            yield from wrapped([(f"{at}  {row.says}{times}  {row.place}", "")], width, _INDENT + len(at) + 2, first=_INDENT)
            continue
        yield [(f"{' ' * _INDENT}{at}  ", "dim"), (f"{clipped(row.says, room):<{room}}", ""), (times, "strong"), (f"  {row.place}", "dim")]


def _no_verdict(report: Report, width: int) -> Iterator[Line]:
    for number, card in enumerate(cards(report)[:_MOST_CARDS]):
        yield from _state_line(card, width, first=not number)
    if report.job_state:
        yield []
    found = sorted(report.found, key=lambda f: -f.severity.rank)
    found.sort(key=lambda finding: finding.passed)
    warned = bool(found) and found[0].severity.rank >= Severity.WARNING.rank and not found[0].passed
    if not warned:
        yield from _outcome(report, width)
        yield from ([[]] if found else [])
    for number, finding in enumerate(found[:_MOST_ALSO]):
        yield from _finding(finding, width, "found" if number == 0 and not warned else "")
    if len(found) > _MOST_ALSO:
        yield from labelled("", [(f"and {len(found) - _MOST_ALSO} more", "dim")], width)
    if warned:
        yield []
        yield from _outcome(report, width)
    yield from _noticed(report, width)


def _outcome(report: Report, width: int) -> Iterator[Line]:
    """What the run came to, where it came to no verdict."""
    if is_open(report):
        yield from wrapped([("? ", "risk"), (f"{doubt(report)}.", "strong")], width, _INDENT)
        return
    good = is_clear(report)
    words = (nothing_wrong(report) or all_clear(report, "above"), "strong" if good else "")
    yield from wrapped([("✓ ", "do") if good else ("? ", "risk"), words], width, _INDENT)


def _finding(finding: Finding, width: int, label: str) -> Iterator[Line]:
    """A warning with what speaks for it and what to do; of less than that one row."""
    style = {Severity.CRITICAL: "broken", Severity.WARNING: "risk"}.get(finding.severity, "")
    said = [(f"{changed(finding)}{printable(finding.headline or finding.says)}", style), (f"  [{finding.code}]", "dim")]
    if finding.severity.rank < Severity.WARNING.rank or finding.passed:
        yield from labelled(label or "found", [("has passed: ", "over"), *said] if finding.passed else said, width)
        return
    yield from wrapped([("! ", "risk"), *said], width, _INDENT)
    for words, place in finding_quotes(finding):
        yield from _quote(words, place, width, _MOST_QUOTED)
    for number, step in enumerate(finding.steps, 1):
        yield from labelled("fix" if number == 1 else "", [(f"{number}  {printable(step)}", "do")], width, hang=3)


def _noticed(report: Report, width: int) -> Iterator[Line]:
    """What the logs hold beside the findings: each kind in a text that is too little or has errors, else only how many."""
    rows = report.unexplained
    telling = [row for row in rows if row.telling]
    wanted = [*telling, *(row for row in rows if not row.telling and (is_open(report) or row.is_error))]
    wanted = wanted if is_open(report) else wanted[: max(_MOST_BESIDE_CLEAR, len(telling))]
    leads = [row for row in wanted[:_MOST_NOTICED] if row.inferred]
    meant: set[str] = set()
    for number, row in enumerate(wanted[:_MOST_NOTICED]):
        at = noticing.time(row)
        where = [(f"  ×{row.count}", "strong"), (f"  {noticing.place(row)}", "dim")]
        yield from labelled("" if number else "noticed", [(f"{at}  " if at else "", "dim"), (noticing.says(row), ""), *where], width)
        code = [(f"  [{row.code}]", "dim")] if row.code else []
        if row.means not in meant and not (leads and row.signature == REMARK):
            yield from labelled("", [(row.means, "dim"), *code], width)
        meant.add(row.means)
        for words, place in noticed_quotes(row):
            yield from labelled("", [(_clipped(words, _MOST_OF_NOTICED), ""), (f"  {place}", "dim")], width)
    rest = [row for row in rows if row not in wanted[:_MOST_NOTICED]]
    if rest:
        words = f"{'and ' if wanted else ''}{noticing.counts(rest)}: -v has them"
        yield from labelled("" if wanted else "noticed", [(words, "dim")], width)
    said = doubt(report) or ""
    for row in leads:
        inferred = printable(row.inferred or "")
        if inferred[1:].rstrip(".") not in said:
            yield from labelled("inferred", [(inferred, "strong")], width)
        for number, step in enumerate(row.steps, 1):
            yield from labelled("fix" if number == 1 else "", [(f"{number}  {printable(step)}", "do")], width, hang=3)
    if is_open(report):
        more, *command = noticing.decides(report, wanted)
        yield [("  to be sure: ", "strong"), (more + (", or" if command else ""), "do")]
        yield from ([(f"{' ' * 14}{each}", "do unwrapped")] for each in command)
        yield from (line for hidden in report.unseen for line in wrapped([("  not seen: ", "strong"), (printable(hidden), "")], width, 12))


def _end(report: Report, width: int) -> Iterator[Line]:
    """What remains to be said, and where more is."""
    rows = remains(report)
    if rows and not report.verdicts:
        yield []
    before = ""
    for label, words, style in rows:
        yield from labelled(label if label != before else "", [(words, style)], width)
        before = label
    if report.verdicts:
        yield [("  more: -v, one rule: ", "dim"), (f"diag explain {report.verdicts[0].code}", "dim")]


def labelled(label: str, pieces: Line, width: int, hang: int = 0) -> list[Line]:
    """``  label     words``, wrapped below the words."""
    head = f"{' ' * _INDENT}{label:<10}" if len(label) < 10 else f"{' ' * _INDENT}{label}  "
    return list(wrapped([(head, "strong"), *pieces], width, len(head) + hang))


def wrapped(pieces: Line, width: int, indent: int, first: int = 0) -> Iterator[Line]:
    """`pieces` as one paragraph of at most `PROSE` columns, further lines indented; words are not broken, however long."""
    room = min(width, PROSE)
    line: Line = [(" " * first, "")] if first else []
    used = first
    for text, style in pieces:
        for word in re.findall(r"\s*\S+|\s+$", text):
            if used + len(word.rstrip()) > room and used > indent and word.strip():
                yield line
                line, used, word = [(" " * indent, "")], indent, word.lstrip()
            line.append((word, style))
            used += len(word)
    if line:
        yield line
