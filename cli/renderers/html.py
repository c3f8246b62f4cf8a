"""The report as one self-contained page: nothing is loaded from anywhere, and nothing of the evidence is markup.

The card first, in the terminal's words; its picture; then what it rests on, what was looked at, and the tables.
"""

from __future__ import annotations

import platform
import posixpath
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence

from analyzers.report.durations import counted
from analyzers.report.finding import Evidence, Finding, Severity
from analyzers.report.noticed import Noticed
from analyzers.report.outcome import doubt
from analyzers.report.report import Report, Verdict
from cli.renderers import card, markdown, noticing
from cli.renderers.card import Card
from cli.renderers.evidence import message
from cli.renderers.facts import cells
from cli.renderers.html_barriers import grid
from cli.renderers.html_picture import LEGEND, Shown, shown, svg
from cli.renderers.markup import Markup, block, element, joined, page, table, text
from cli.renderers.verdict_rows import advised, titled
from cli.renderers.wording import (
    all_clear,
    clipped,
    clock,
    crashed,
    is_clear,
    looked_at,
    notes_of_their_own,
    printable,
    subject_words,
    times_are,
    troubled_sources,
    unchecked_lines,
    when,
)

_MOST_CARDS_BYTES = 1_000_000
_MOST_BYTES = 400_000  # of findings, and of tables: with the cards the page stays below 2 MB
_MOST_CARDS = 50
_MOST_NOTICED = 10
_MOST_ROWS = 1_000
_MOST_FACTS = 300_000  # characters of all tables together
_MOST_TEXT = 6_000  # of one piece of evidence: its frames
_GIST = 200
_PLACE = 48
_SHORT = 100  # what fits one line and has nothing to fold
_LEFT_OUT = element("p", "More of this is in -o json: the page would be too long.", class_="risk")


def render(report: Report, host: str | None = None) -> str:
    """The page, below 2 MB; `host` is where diag ran."""
    cards = card.cards(report)[:_MOST_CARDS]
    places = _Places(report.found)
    title = f"{cards[0].name if cards else 'diag ' + report.command}: {cards[0].headline if report.verdicts else 'no verdict'}"
    return page(
        clipped(title, 120),
        [
            joined(_head(report, cards, host or platform.node())),
            *_within(
                _MOST_CARDS_BYTES,
                (_card(report, one, number, places, len(cards) > 1) for number, one in enumerate(cards) if one.verdict or one.lanes),
            ),
            joined(_remains(report)),
            *_within(_MOST_BYTES, _findings(report, places)),
            *_within(_MOST_BYTES, _noticed(report)),
            joined(_looked_at(report)),
            *_within(_MOST_BYTES, _facts(report)),
        ],
    )


def fragment(report: Report, one: Card, name: str) -> Markup:
    """The card of one job for a page of many; `name` separates its marks from those of others."""
    return _card(report, one, zlib.crc32(name.encode("utf-8", "replace")), _Places(()), True)


def _within(most: int, parts: Iterable[Markup]) -> Iterator[Markup]:
    """The first of `parts` that are no more than `most` bytes together; the others are not even made."""
    for part in parts:
        most -= len(part)
        if most < 0:
            yield _LEFT_OUT
            return
        yield part


class _Places:
    """Where on the page each line of evidence stands."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._ids: dict[tuple[str | None, int | None], str] = {}
        self._short: dict[str, str] = {}
        for finding in findings:
            for one in finding.evidence:
                if one.file and one.line is not None and (one.file, one.line) not in self._ids:
                    self._ids[one.file, one.line] = f"e{len(self._ids) + 1}"
                    self._short.setdefault(_place(one.file, one.line), self._ids[one.file, one.line])
        self._left = dict(self._ids)

    def of(self, file: str | None, line: int | None) -> str | None:
        return self._ids.get((file, line))

    def linked(self, place: str) -> Markup:
        """`place` as the story has it, ``file:line … line``, leading to the first of these lines."""
        anchor = self._short.get(place.partition(" … ")[0])
        shown = element("span", text(clipped(place, _PLACE)), title=printable(place))
        return element("a", shown, href=f"#{anchor}") if anchor else shown

    def taken(self, one: Evidence) -> str | None:
        """The anchor of `one`, the first time that it is on the page."""
        return self._left.pop((one.file, one.line), None)


def _place(file: str, line: int | None) -> str:
    return printable(posixpath.basename(file)) + (f":{line}" if line is not None else "")


def _button(label: str, copied: str = "") -> Markup:
    """It copies `copied`, or what stands before it."""
    return element("button", label, type="button", hidden=True, data_copy=copied)


def _head(report: Report, cards: Sequence[Card], host: str) -> Iterator[Markup]:
    name = cards[0].name if len(cards) == 1 else f"{len(cards)} jobs" if cards else f"diag {report.command}"
    begin, end = report.window
    reach = f"{when(begin)} – {when(end)}; " if begin and end else f"as of {when(report.as_of)}; " if report.as_of else ""
    ran = f"{report.tool} {report.version} {report.command} on {host}: {report.looked_at or 'nothing that could be read'}; {reach}"
    yield element(
        "header",
        element("div", _button("copy as Markdown", markdown.summary(report)), class_="tools"),
        element("h1", text(name), " ", *(_state(one) for one in cards[:1] if len(cards) == 1)),
        element("p", text(ran), " all ", text(times_are(report)), class_="meta"),
    )
    if len(cards) > 1:
        head = element("tr", *(element("th", column) for column in ("job", "state", "verdict", "since")))
        rows = (_row(one, number) for number, one in enumerate(cards))
        yield element("div", element("table", element("thead", head), element("tbody", *rows)))
    if not report.verdicts:
        yield _no_verdict(report)


def _row(one: Card, number: int) -> Markup:
    name = element("a", text(one.name), href=f"#job{number}") if one.verdict or one.lanes else text(one.name)
    since = when(one.verdict.since) if one.verdict and one.verdict.since else ""
    cells = (element("td", name), element("td", text(one.state), class_=one.style), element("td", text(one.headline)), element("td", since))
    return element("tr", *cells)


def _state(one: Card) -> Markup | None:
    return element("span", text(one.state), class_=f"state {one.style}") if one.state else None


def _no_verdict(report: Report) -> Markup:
    words = f"{doubt(report)}." if card.is_open(report) else all_clear(report, "below")
    wanted = [row for row in report.unexplained if report.fragment or row.is_error or row.telling][:_MOST_NOTICED]
    rows = [_told("noticed", element("p", *_noticed_words(row))) for row in wanted]
    if card.is_open(report):
        more, *commands = noticing.decides(report, wanted)
        rows.append(_told("to be sure", element("p", text(more)), *map(_command, commands)))
    for finding, command in advised(report):
        says = element("p", text(finding.headline or finding.says))
        rows.append(_told(_code(finding.code), says, _steps(finding.steps or (finding.fix,)), _command(command) if command else None))
    headline = element("p", text(words), class_="headline")
    return element("section", headline, element("dl", *rows) if rows else None, class_=f"card {'well' if is_clear(report) else 'open'}")


def _told(label: Markup | str, *parts: Markup | str | None, style: str | None = None) -> Markup:
    """A row of a list: its words, under its label."""
    return joined((element("dt", label), element("dd", *parts, class_=style)))


def _noticed_words(row: Noticed) -> Iterator[Markup | str]:
    where = " ".join(filter(None, (noticing.time(row), f"×{row.count}", noticing.place(row))))
    yield from (text(noticing.says(row)), " ", element("span", text(where), class_="dim"), ". ", text(row.means))
    yield f" [{row.code}]" if row.code else ""


def _noticed(report: Report) -> Iterator[Markup]:
    """All that no finding explains, folded."""
    rows = report.unexplained
    if rows:
        title = element("summary", "Noticed, and explained by no finding: ", text(noticing.counts(rows)))
        yield element("details", title, element("ul", *(element("li", *_noticed_words(row)) for row in rows[:_MOST_ROWS])))


def _prose(words: str) -> Iterator[Markup | str]:
    for number, part in enumerate(re.split(r"`([^`]+)`", printable(words))):
        yield element("code", part) if number % 2 else part


def _steps(steps: Sequence[str]) -> Markup:
    return element("ol", *(element("li", *_prose(step)) for step in steps if step), class_="do")


def _command(command: str) -> Markup:
    return joined((element("pre", text(command)), _button("copy command")))


def _code(code: str, called: str = "") -> Markup:
    return element("a", text(code), href=f"#{printable(code)}", title=printable(called))


def _card(report: Report, one: Card, number: int, places: _Places, named: bool) -> Markup:
    """One job, `named` where it is one of several: its card, its picture, the grid of its barriers."""
    return element(
        "section",
        element("h2", text(one.name), " ", _state(one), class_="job") if named else None,
        element("p", text(one.now), *(("; job ", text(one.job)) if one.job and one.job != one.name else ()), class_="now"),
        *(_verdict(one, one.verdict, places) if one.verdict is not None else ()),
        *_picture(one, number, places),
        _story(one, places) if one.story else None,
        *grid(one.barriers),
        element("dl", _told("also", *(element("p", text(words), " ", _code(code)) for words, code in one.also))) if one.also else None,
        class_=f"card {'over' if one.over else 'well' if one.verdict is None else ''}",
        id=f"job{number}",
    )


def _verdict(one: Card, verdict: Verdict, places: _Places) -> Iterator[Markup]:
    mark = "✓" if one.over else element("span", "✗", class_="broken")
    code = _code(verdict.code, titled(verdict))
    yield element("p", mark, " ", text(one.headline), " ", code, class_=f"headline{' over' if one.over else ''}")
    for words, place in one.quotes:
        yield element("blockquote", text(words), " ", element("span", places.linked(place), class_="place"))
    if one.where:
        yield element("p", element("span", "where", class_="place"), " ", text(one.where))
    yield from (element("p", text(words), class_=style) for words, style in one.below)
    steps = [words for label, words, _ in one.advice if label == "fix"]
    rows = [_told("fix", _steps(steps))] if steps else []
    rows += [_told(label, text(words), style=style) for label, words, style in one.advice if label != "fix"]
    rows += [_told("check", _command(one.check))] if one.check else []
    yield element("dl", *rows)


def _story(one: Card, places: _Places) -> Markup:
    days = len({row.at.date() for row in one.story if row.at}) > 1
    rows = []
    for row in one.story:
        words = (text(row.says), *((" ", element("b", f"×{row.count}")) if row.count > 1 else ()))
        rows.append(_event((when if days else clock)(row.at), words, places.linked(row.place)))
    return element("div", element("table", element("tbody", *rows)), class_="story")


def _event(at: str, words: Iterable[Markup | str], place: Markup | None, anchor: str | None = None) -> Markup:
    cells = (element("td", at, class_="at"), element("td", *words), element("td", place, class_="place"))
    return element("tr", *cells, id=anchor)


def _picture(one: Card, number: int, places: _Places) -> Iterator[Markup]:
    """The picture, a legend of its signs, and folded below it a row for each: where a sign leads that no evidence is about."""
    if one.begin is None or one.end is None or one.end <= one.begin:
        return
    signs = shown(one.lanes, one.begin, one.end)
    rows = {id(sign): f"s{number}-{row}" for row, sign in enumerate(signs)}

    def anchor(sign: Shown) -> str:
        return places.of(sign.marks[0].file, sign.marks[0].line) or rows[id(sign)]

    drawn = svg(number, one.lanes, one.begin, one.end, signs, anchor)
    if drawn is None:
        return
    kinds = dict.fromkeys(sign.kind for sign in signs)
    day = f"{one.begin:%Y-%m-%d}" + (f" – {one.end:%Y-%m-%d}" if one.end.date() != one.begin.date() else "")
    yield drawn
    signed = joined((element("i", LEGEND[kind]) for kind in LEGEND if kind in kinds), " ")
    yield element("p", element("i", f"{day} UTC"), " ", signed, class_="legend")
    if signs:
        told = []
        for sign in sorted(signs, key=lambda each: each.marks[0].at):
            first = sign.marks[0]
            place = places.linked(_place(first.file, first.line)) if first.file else None
            told.append(_event(when(first.at), (text(clipped(sign.says, 400)),), place, rows[id(sign)]))
        title = element("summary", f"What the picture shows ({len(signs):,})")
        yield element("details", title, element("table", element("tbody", *told)))


def _remains(report: Report) -> Iterator[Markup]:
    rows = [(state, words, "risk") for state, words in troubled_sources(report)]
    rows += [row for row in card.remains(report) if row[0] in ("not checked", "defect")]
    rows += card.since_baseline(report)
    if rows:
        yield element("dl", *(_told(text(label), text(words), style=style) for label, words, style in rows))


def _findings(report: Report, places: _Places) -> Iterator[Markup]:
    """Every finding with all that proves it; those that no verdict stands on are folded."""
    if not report.found:
        return
    chains = {code for verdict in report.verdicts for code in verdict.chain}
    told = {finding.code for finding, _ in advised(report)} if report.verdicts else set()
    styles = {Severity.CRITICAL: "broken", Severity.WARNING: "risk"}
    seen: set[str] = set()
    yield element("h2", "Findings and their evidence")
    for finding in sorted(report.found, key=lambda f: f.code not in chains):
        anchor = None if finding.code in seen else printable(finding.code)
        seen.add(finding.code)
        mark = element("span", finding.severity.value, class_=styles.get(finding.severity, "dim"))
        job = report.job_names.get(finding.job or "") or finding.job or finding.scope
        since = f"{when(finding.since)} – {when(finding.until)}" if finding.since and finding.until else when(finding.since)
        about = [*([f"job {job}"] if job else []), *subject_words(finding.subject), *([since] if finding.since else [])]
        yield element(
            "details",
            element("summary", element("b", text(finding.code)), " ", mark, " ", text(finding.headline or finding.says)),
            element("p", text(finding.says)) if finding.headline and finding.headline != finding.says else None,
            element("p", text("; ".join(about)), class_="dim"),
            element("p", "Inferred: ", text(finding.inferred)) if finding.inferred else None,
            element("p", text(finding.fix), class_="do") if finding.code in told else None,
            element("ul", *(_evidence(one, places) for one in finding.evidence), class_="evidence"),
            id=anchor,
            open=finding.code in chains,
        )


def _evidence(one: Evidence, places: _Places) -> Markup:
    """One line; the whole text, with its frames, is folded."""
    words = one.text[:_MOST_TEXT]
    gist = clipped(message(words), _GIST)
    place = element("span", text(_place(one.file or one.table, one.line)), class_="place", title=printable(one.file or one.table))
    at = element("span", clock(one.at) if one.at else "", class_="at")
    line = joined((place, " ", at, " ", element("span", text(gist), class_="gist")))
    if gist == printable(words) and len(gist) <= _SHORT:
        return element("li", line, id=places.taken(one))
    whole = element("details", element("summary", line), element("pre", block(one.text, _MOST_TEXT)))
    return element("li", whole, id=places.taken(one))


def _looked_at(report: Report) -> Iterator[Markup]:
    """One section: what was read, and what was not checked."""
    yield element("h2", "Looked at", id="looked-at")
    notes = (element("li", text(note)) for note in notes_of_their_own(report))
    defects = (element("li", "a defect in diag, ", text(crashed(defect))) for defect in report.defects)
    yield element("ul", element("li", text(looked_at(report))), *notes, *defects)
    if report.not_checked:
        title = element("summary", f"Not checked: {counted(len(report.not_checked), 'rule')}")
        yield element("details", title, element("ul", *(element("li", text(line)) for line in unchecked_lines(report.not_checked))))


def _facts(report: Report) -> Iterator[Markup]:
    """The tables, each within its share of the page; open where nothing was judged: then they are the report."""
    room = _MOST_FACTS // max(1, len(report.facts))
    opened = not report.clean and not report.found
    for name, rows in sorted(report.facts.items()):
        columns, shown_rows = cells(name, rows[:_MOST_ROWS]) if rows else ([], [])
        width = sum(len(column) + 24 for column in columns)
        kept, used = 0, 0
        while kept < len(shown_rows) and used < room:
            used += width + sum(map(len, shown_rows[kept]))
            kept += 1
        many = f" ({len(rows):,}{f', the first {kept:,} shown' if len(rows) > kept else ''})"
        title = element("summary", text(name.replace("_", " ")), many)
        yield element("details", title, table(columns, shown_rows[:kept]) if kept else None, id=printable(name), open=opened)
