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
from analyzers.report.report import Report
from cli.renderers import card, markdown, noticing
from cli.renderers.card import Card
from cli.renderers.evidence import message
from cli.renderers.facts import cells
from cli.renderers.html_barriers import grid
from cli.renderers.html_picture import LEGEND, Shown, shown, svg
from cli.renderers.html_style import POLICY, SCRIPT, STYLE
from cli.renderers.markup import block, table, text
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
_LEFT_OUT = '<p class="risk">More of this is in -o json: the page would be too long.</p>'


def render(report: Report, host: str | None = None) -> str:
    """The page, below 2 MB; `host` is where diag ran."""
    cards = card.cards(report)[:_MOST_CARDS]
    places = _Places(report.found)
    title = f"{cards[0].name if cards else 'diag ' + report.command}: {cards[0].headline if report.verdicts else 'no verdict'}"
    sections = [
        "".join(_head(report, cards, host or platform.node())),
        *_within(
            _MOST_CARDS_BYTES,
            ("".join(_card(report, one, number, places, len(cards) > 1)) for number, one in enumerate(cards) if one.verdict or one.lanes),
        ),
        "".join(_remains(report)),
        *_within(_MOST_BYTES, _findings(report, places)),
        *_within(_MOST_BYTES, _noticed(report)),
        "".join(_looked_at(report)),
        *_within(_MOST_BYTES, _facts(report)),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><meta name="viewport" content="width=device-width">'
        f'<link rel="icon" href="data:,"><title>{text(clipped(title, 120))}</title><style>{STYLE}</style></head>\n<body>\n'
        + "\n".join(sections)
        + f"\n<script>{SCRIPT}</script></body></html>\n"
    )


def fragment(report: Report, one: Card, name: str) -> str:
    """The card of one job for a page of many; `name` separates its marks from those of others."""
    return "".join(_card(report, one, zlib.crc32(name.encode("utf-8", "replace")), _Places(()), True))


def _within(most: int, parts: Iterable[str]) -> Iterator[str]:
    """The first of `parts` that are no more than `most` bytes together; the others are not even made."""
    for part in parts:
        most -= len(part.encode("utf-8", "replace"))
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

    def linked(self, place: str) -> str:
        """`place` as the story has it, ``file:line … line``, leading to the first of these lines."""
        anchor = self._short.get(place.partition(" … ")[0])
        shown = f'<span title="{text(place)}">{text(clipped(place, _PLACE))}</span>'
        return f'<a href="#{anchor}">{shown}</a>' if anchor else shown

    def taken(self, one: Evidence) -> str:
        """The anchor of `one`, the first time that it is on the page."""
        anchor = self._left.pop((one.file, one.line), None)
        return f' id="{anchor}"' if anchor else ""


def _place(file: str, line: int | None) -> str:
    return printable(posixpath.basename(file)) + (f":{line}" if line is not None else "")


def _button(label: str, copied: str = "") -> str:
    """It copies `copied`, or what stands before it."""
    return f'<button type="button" hidden data-copy="{block(copied, len(copied))}">{label}</button>'


def _head(report: Report, cards: Sequence[Card], host: str) -> Iterator[str]:
    name = cards[0].name if len(cards) == 1 else f"{len(cards)} jobs" if cards else f"diag {report.command}"
    yield f'<header><div class="tools">{_button("copy as Markdown", markdown.summary(report))}</div><h1>{text(name)} '
    yield from (_state(one) for one in cards[:1] if len(cards) == 1)
    begin, end = report.window
    reach = f"{when(begin)} – {when(end)}; " if begin and end else f"as of {when(report.as_of)}; " if report.as_of else ""
    ran = f"{report.tool} {report.version} {report.command} on {host}: {report.looked_at or 'nothing that could be read'}; {reach}"
    yield f'</h1><p class="meta">{text(ran)} all {text(times_are(report))}</p></header>'
    if len(cards) > 1:
        yield "<div><table><thead><tr><th>job</th><th>state</th><th>verdict</th><th>since</th></tr></thead><tbody>"
        for number, one in enumerate(cards):
            link = f'<a href="#job{number}">{text(one.name)}</a>' if one.verdict or one.lanes else text(one.name)
            since = when(one.verdict.since) if one.verdict and one.verdict.since else ""
            yield f'<tr><td>{link}</td><td class="{one.style}">{text(one.state)}</td><td>{text(one.headline)}</td><td>{since}</td></tr>'
        yield "</tbody></table></div>"
    if not report.verdicts:
        yield from _no_verdict(report)


def _state(one: Card) -> str:
    return f'<span class="state {one.style}">{text(one.state)}</span>' if one.state else ""


def _no_verdict(report: Report) -> Iterator[str]:
    words = f"{doubt(report)}." if card.is_open(report) else all_clear(report, "below")
    yield f'<section class="card {"well" if is_clear(report) else "open"}"><p class="headline">{text(words)}</p>'
    advice = advised(report)
    wanted = [row for row in report.unexplained if report.fragment or row.is_error][:_MOST_NOTICED]
    yield "<dl>" if advice or wanted or card.is_open(report) else ""
    for row in wanted:
        yield f"<dt>noticed</dt><dd><p>{_noticed_words(row)}</p></dd>"
    if card.is_open(report):
        more, *commands = noticing.decides(report, wanted)
        yield f"<dt>to be sure</dt><dd><p>{text(more)}</p>{''.join(map(_command, commands))}</dd>"
    for finding, command in advice:
        yield f"<dt>{_code(finding.code)}</dt><dd><p>{text(finding.headline or finding.says)}</p>{_steps(finding.steps or (finding.fix,))}"
        yield (_command(command) if command else "") + "</dd>"
    yield "</dl></section>" if advice or wanted or card.is_open(report) else "</section>"


def _noticed_words(row: Noticed) -> str:
    where = " ".join(filter(None, (noticing.time(row), f"×{row.count}", noticing.place(row))))
    code = f" [{text(row.code)}]" if row.code else ""
    return f'{text(noticing.says(row))} <span class="dim">{text(where)}</span>. {text(row.means)}{code}'


def _noticed(report: Report) -> Iterator[str]:
    """All that no finding explains, folded."""
    rows = report.unexplained
    if rows:
        yield f"<details><summary>Noticed, and explained by no finding: {text(noticing.counts(rows))}</summary><ul>"
        yield "".join(f"<li>{_noticed_words(row)}</li>" for row in rows[:_MOST_ROWS]) + "</ul></details>"


def _prose(words: str) -> str:
    return "".join(f"<code>{text(part[1:-1])}</code>" if part[0] == "`" else text(part) for part in re.split(r"(`[^`]+`)", words) if part)


def _steps(steps: Sequence[str]) -> str:
    return '<ol class="do">' + "".join(f"<li>{_prose(step)}</li>" for step in steps if step) + "</ol>"


def _command(command: str) -> str:
    return f"<pre>{text(command)}</pre>{_button('copy command')}"


def _code(code: str, called: str = "") -> str:
    return f'<a href="#{text(code)}" title="{text(called)}">{text(code)}</a>'


def _card(report: Report, one: Card, number: int, places: _Places, named: bool) -> Iterator[str]:
    """One job, `named` where it is one of several: its card, its picture, the grid of its barriers."""
    kind = "over" if one.over else "well" if one.verdict is None else ""
    yield f'<section class="card {kind}" id="job{number}">'
    yield f'<h2 class="job">{text(one.name)} {_state(one)}</h2>' if named else ""
    yield f'<p class="now">{text(one.now)}' + (f"; job {text(one.job)}" if one.job and one.job != one.name else "") + "</p>"
    if one.verdict is not None:
        mark = "✓" if one.over else '<span class="broken">✗</span>'
        code = _code(one.verdict.code, titled(one.verdict))
        yield f'<p class="headline{" over" if one.over else ""}">{mark} {text(one.headline)} {code}</p>'
        yield from (
            f'<blockquote>{text(words)} <span class="place">{places.linked(place)}</span></blockquote>' for words, place in one.quotes
        )
        yield f'<p><span class="place">where</span> {text(one.where)}</p>' if one.where else ""
        yield from (f'<p class="{style}">{text(words)}</p>' for words, style in one.below)
        steps = [words for label, words, _ in one.advice if label == "fix"]
        yield "<dl>" + (f"<dt>fix</dt><dd>{_steps(steps)}</dd>" if steps else "")
        yield from (f'<dt>{label}</dt><dd class="{style}">{text(words)}</dd>' for label, words, style in one.advice if label != "fix")
        yield f"<dt>check</dt><dd>{_command(one.check)}</dd>" if one.check else ""
        yield "</dl>"
    yield from _picture(one, number, places)
    if one.story:
        days = len({row.at.date() for row in one.story if row.at}) > 1
        yield '<div class="story"><table><tbody>'
        for row in one.story:
            words = text(row.says) + (f" <b>×{row.count}</b>" if row.count > 1 else "")
            at, place = (when if days else clock)(row.at), places.linked(row.place)
            yield f'<tr><td class="at">{at}</td><td>{words}</td><td class="place">{place}</td></tr>'
        yield "</tbody></table></div>"
    yield from grid(one.barriers)
    if one.also:
        yield "<dl><dt>also</dt><dd>" + "".join(f"<p>{text(words)} {_code(code)}</p>" for words, code in one.also) + "</dd></dl>"
    yield "</section>"


def _picture(one: Card, number: int, places: _Places) -> Iterator[str]:
    """The picture, a legend of its signs, and folded below it a row for each: where a sign leads that no evidence is about."""
    if one.begin is None or one.end is None or one.end <= one.begin:
        return
    signs = shown(one.lanes, one.begin, one.end)

    rows = {id(sign): f"s{number}-{row}" for row, sign in enumerate(signs)}

    def anchor(sign: Shown) -> str:
        return places.of(sign.marks[0].file, sign.marks[0].line) or rows[id(sign)]

    drawn = svg(number, one.lanes, one.begin, one.end, signs, anchor)
    if not drawn:
        return
    kinds = dict.fromkeys(sign.kind for sign in signs)
    day = f"{one.begin:%Y-%m-%d}" + (f" – {one.end:%Y-%m-%d}" if one.end.date() != one.begin.date() else "")
    yield drawn + f'<p class="legend"><i>{day} UTC</i> {" ".join(f"<i>{LEGEND[kind]}</i>" for kind in LEGEND if kind in kinds)}</p>'
    if signs:
        yield f"<details><summary>What the picture shows ({len(signs):,})</summary><table><tbody>"
        for sign in sorted(signs, key=lambda each: each.marks[0].at):
            first = sign.marks[0]
            place = places.linked(_place(first.file, first.line)) if first.file else ""
            says = text(clipped(sign.says, 400))
            yield f'<tr id="{rows[id(sign)]}"><td class="at">{when(first.at)}</td><td>{says}</td><td class="place">{place}</td></tr>'
        yield "</tbody></table></details>"


def _remains(report: Report) -> Iterator[str]:
    rows = [(state, words, "risk") for state, words in troubled_sources(report)]
    rows += [row for row in card.remains(report) if row[0] in ("not checked", "defect")]
    if rows:
        yield "<dl>" + "".join(f'<dt>{label}</dt><dd class="{style}">{text(words)}</dd>' for label, words, style in rows) + "</dl>"


def _findings(report: Report, places: _Places) -> Iterator[str]:
    """Every finding with all that proves it; those that no verdict stands on are folded."""
    if not report.found:
        return
    chains = {code for verdict in report.verdicts for code in verdict.chain}
    told = {finding.code for finding, _ in advised(report)} if report.verdicts else set()
    styles = {Severity.CRITICAL: "broken", Severity.WARNING: "risk"}
    seen: set[str] = set()
    yield "<h2>Findings and their evidence</h2>"
    for finding in sorted(report.found, key=lambda f: f.code not in chains):
        anchor = "" if finding.code in seen else f' id="{text(finding.code)}"'
        seen.add(finding.code)
        mark = f'<span class="{styles.get(finding.severity, "dim")}">{finding.severity.value}</span>'
        job = report.job_names.get(finding.job or "") or finding.job or finding.scope
        since = f"{when(finding.since)} – {when(finding.until)}" if finding.since and finding.until else when(finding.since)
        about = [*([f"job {job}"] if job else []), *subject_words(finding.subject), *([since] if finding.since else [])]
        parts = [
            f"<details{anchor}{' open' if finding.code in chains else ''}><summary><b>{text(finding.code)}</b> {mark} ",
            f"{text(finding.headline or finding.says)}</summary>",
            f"<p>{text(finding.says)}</p>" if finding.headline and finding.headline != finding.says else "",
            f'<p class="dim">{text("; ".join(about))}</p>',
            f"<p>Inferred: {text(finding.inferred)}</p>" if finding.inferred else "",
            f'<p class="do">{text(finding.fix)}</p>' if finding.code in told else "",
            '<ul class="evidence">' + "".join(_evidence(one, places) for one in finding.evidence) + "</ul></details>",
        ]
        yield "".join(parts)


def _evidence(one: Evidence, places: _Places) -> str:
    """One line; the whole text, with its frames, is folded."""
    words = one.text[:_MOST_TEXT]
    gist = clipped(message(words), _GIST)
    place = f'<span class="place" title="{text(one.file or one.table)}">{text(_place(one.file or one.table, one.line))}</span>'
    line = f'{place} <span class="at">{clock(one.at) if one.at else ""}</span> <span class="gist">{text(gist)}</span>'
    if gist == printable(words) and len(gist) <= _SHORT:
        return f"<li{places.taken(one)}>{line}</li>"
    return f"<li{places.taken(one)}><details><summary>{line}</summary><pre>{block(one.text, _MOST_TEXT)}</pre></details></li>"


def _looked_at(report: Report) -> Iterator[str]:
    """One section: what was read, and what was not checked."""
    yield f'<h2 id="looked-at">Looked at</h2><ul><li>{text(looked_at(report))}</li>'
    yield from (f"<li>{text(note)}</li>" for note in notes_of_their_own(report))
    yield from (f"<li>a defect in diag, {text(crashed(defect))}</li>" for defect in report.defects)
    yield "</ul>"
    if report.not_checked:
        yield f"<details><summary>Not checked: {counted(len(report.not_checked), 'rule')}</summary><ul>"
        yield "".join(f"<li>{text(line)}</li>" for line in unchecked_lines(report.not_checked)) + "</ul></details>"


def _facts(report: Report) -> Iterator[str]:
    """The tables, each within its share of the page; open where nothing was judged: then they are the report."""
    room = _MOST_FACTS // max(1, len(report.facts))
    opened = " open" if not report.clean and not report.found else ""
    for name, rows in sorted(report.facts.items()):
        columns, lines = cells(name, rows[:_MOST_ROWS]) if rows else ([], [])
        width = sum(len(column) + 24 for column in columns)
        kept, used = 0, 0
        while kept < len(lines) and used < room:
            used += width + sum(map(len, lines[kept]))
            kept += 1
        title = f"{text(name.replace('_', ' '))} ({len(rows):,}{f', the first {kept:,} shown' if len(rows) > kept else ''})"
        body = "".join(table(columns, lines[:kept])) if kept else ""
        yield f'<details id="{text(name)}"{opened}><summary>{title}</summary>{body}</details>'
