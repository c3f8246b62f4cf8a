"""A fleet as one page: tiles, what stands behind many jobs, a bar per cause, and a table to sort and filter whose rows open cards.

A card travels packed, in a third of its bytes; the page's script unpacks the one that is opened. Without script the page is the table,
worst first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from analyzers.report.durations import counted
from analyzers.report.fleet import OUTCOMES, FleetReport, JobRow, Root
from analyzers.report.report import Report
from cli.renderers import card
from cli.renderers.fleet_strip import Strip, drawn, not_drawn, reach, strip_of
from cli.renderers.fleet_table import NO_TEAM, team_of
from cli.renderers.fleet_words import MEANS, WORD, age, causes_of, changed, explained, no_root, summary, thing
from cli.renderers.html import fragment
from cli.renderers.markup import Markup, element, packed, page, text
from cli.renderers.wording import clipped, clock, printable, when

_MOST_ROOTS = 6
_MOST_NAMED = 24
_SAYS = 300
_MOST_GONE = 200
_CHANGES = {
    "new": "verdicts that the run before did not have",
    "still": "verdicts that the run before had, too",
    "gone": "verdicts of the run before that are no more",
}
_SIGNS = (
    ("works", "■", "completes checkpoints"), ("tries", "■", "runs and completes none"), ("down", "■", "down"),
    ("failed", "|", "restart"), ("expired", "|", "expired checkpoint"), ("since", "|", "ill since"),
)  # fmt: skip
_LEGEND = element(
    "p", *(element("span", element("b", sign, class_=f"sign-{kind}"), f" {words}") for kind, sign, words in _SIGNS), class_="legend signs"
)
Pages = Mapping[tuple[str, str], "OfPage"]


@dataclass(frozen=True)
class OfPage:
    """What a page has of one job beside its row."""

    card: str = ""
    strip: Strip = field(default_factory=Strip)


def pages_of(scope: str, report: Report) -> dict[str, OfPage]:
    """By job of one scope its card, packed, and its strip. Runs on executors."""
    return {
        one.job or "": OfPage(
            packed(fragment(report, one, f"{scope} {one.job}")), strip_of(lane for lane in one.lanes if lane.job is not None)
        )
        for one in card.cards(report)
    }


def html(report: FleetReport, pages: Pages, team: str | None = None) -> str:
    """The page; `pages` by scope and job. `team` finds whose a job is (`fleet_table.team_of`)."""
    title = summary(report)
    return page(
        title,
        [
            element("header", element("h1", text(title)), element("p", text(_about(report)), class_="meta")),
            element("div", *_tiles(report), class_="tiles"),
            *(element("p", text(words), class_="meta") for words in explained(report)),
            *_roots(report),
            *_causes(report.jobs),
            _filters(report, team),
            _LEGEND,
            _table(report, pages, team),
            *_gone(report),
            *(element("p", "note: ", text(note), class_="meta") for note in report.notes),
        ],
        more="fleet",
    )


def _about(report: FleetReport) -> str:
    """How old the page is: a tab that was left open looks like one of today."""
    newest = max((verdict.until for row in report.jobs for verdict in row.verdicts if verdict.until), default=None)
    made = f"made {when(report.made)[:16]}, ages count back from there; " if report.made else ""
    until = f"newest evidence of an ill job {when(newest)[:16]}; " if newest else ""
    return f"diag {report.version} fleet; {made}{until}all times are UTC"


def _tiles(report: FleetReport) -> Iterator[Markup]:
    count = Counter(row.outcome for row in report.jobs)
    for outcome in OUTCOMES:
        if count[outcome] or outcome in ("ill", "undecided", "clear", "unread"):
            yield _tile(count[outcome], WORD[outcome], f"tile {outcome}", outcome, MEANS[outcome])
    for change, number in changed(report).items():
        yield _tile(number, change, f"tile {change}", "" if change == "gone" else change, _CHANGES[change])


def _tile(number: int, label: str, kind: str, shows: str, means: str) -> Markup:
    inner = (element("b", f"{number:,}"), " ", element("span", label))
    off = not (shows and number)
    return element("button", *inner, type="button", class_=kind, data_only=shows, aria_pressed="false", disabled=off, title=means)


def _roots(report: FleetReport) -> Iterator[Markup]:
    for link, title in (("explains", "Shared roots"), ("in-common", "In common: a hint, no proof")):
        own = [(number, root) for number, root in enumerate(report.roots) if root.link == link]
        if own:
            yield element("h2", title)
            folded = [_root(number, root) for number, root in own]
            more = folded[_MOST_ROOTS:]
            rest = (
                element("details", element("summary", f"{counted(len(more), 'other', 'others')}"), *more, class_="rest") if more else None
            )
            yield element("div", *folded[:_MOST_ROOTS], rest, class_=f"roots {link}")
        elif link == "explains" and (why := no_root(report)) is not None:
            yield element("p", text(why), class_="meta")


def _root(number: int, root: Root) -> Markup:
    since = f" since {when(root.since)}" if root.since else ""
    names = list(dict.fromkeys(scope for scope, _ in root.jobs)) or list(root.scopes)
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    named = text(", ".join(map(printable, names[:_MOST_NAMED])) + more)
    many = len(root.jobs) or len(root.scopes)
    head = (element("b", counted(many, "job")), ": ", element("strong", text(thing(root))), " ", text(causes_of(root)), since)
    only = element("button", "show these jobs", type="button", class_="only", data_root=str(number), hidden=True)
    return element("details", element("summary", *head), element("p", named, class_="dim"), only)


def _causes(rows: Sequence[JobRow]) -> Iterator[Markup]:
    count = Counter(row.verdicts[0].cause for row in rows if row.verdicts)
    if not count:
        return
    most = max(count.values())
    yield element("h2", "Causes")
    bars = []
    for cause, number in sorted(count.items(), key=lambda each: (-each[1], each[0])):
        bar = element("svg", element("rect", width=f"{number / most * 100:.1f}%", height="100%"), class_="bar", aria_hidden="true")
        bars.append(element("button", element("span", text(cause)), bar, element("b", f"{number:,}"), type="button", data_cause=cause,
                            aria_pressed="false"))  # fmt: skip
    yield element("div", *bars, class_="causes")


def _filters(report: FleetReport, team: str | None) -> Markup:
    causes = sorted({row.verdicts[0].cause for row in report.jobs if row.verdicts})
    states = sorted({row.state for row in report.jobs if row.state})
    chosen = [
        _select("outcome", "all outcomes", [(outcome, WORD[outcome]) for outcome in OUTCOMES]),
        _select("cause", "all causes", [(cause, cause) for cause in causes]),
        _select("state", "all states", [(state, state) for state in states]),
    ]
    if team is not None:
        teams = sorted({team_of(row, team) for row in report.jobs}, key=lambda each: (each == NO_TEAM, each))
        chosen.append(_select("team", "all teams", [(each, each) for each in teams]))
    if changed(report):
        chosen.append(_select("change", "new and still there", [("new", "only new"), ("still", "only still there")]))
    find = element("input", type="search", name_="text", placeholder="filter by text  ( / )", aria_label="filter by text")
    end = (
        element("button", "show all", type="button", class_="reset"),
        " ",
        element("output", counted(len(report.jobs), "job"), aria_live="polite"),
    )
    return element("form", find, *chosen, *end, class_="filters", role="search", hidden=True)


def _select(name: str, every: str, options: Sequence[tuple[str, str]]) -> Markup:
    inner = (element("option", text(label), value=value) for value, label in options)
    return element("select", element("option", every, value=""), *inner, name_=name, aria_label=every)


def _table(report: FleetReport, pages: Pages, team: str | None) -> Markup:
    since = [row.since for row in report.jobs if row.since]
    shown = reach([each.strip for each in pages.values()], since)
    of_root: dict[tuple[str, str | None], list[str]] = {}
    for number, root in enumerate(report.roots):
        for job in root.jobs:
            of_root.setdefault(job, []).append(str(number))
    rows = []
    for number, row in enumerate(report.jobs):
        own = pages.get((row.scope, row.job or ""), OfPage())
        rows.append(_row(number, row, own, shown, of_root.get((row.scope, row.job), ()), team, report.clock))
    axis = element("small", text(_axis(shown))) if shown else None
    names = [("job", "job"), ("state", "state"), ("since", "since"), ("cause", "cause"), ("says", "what is wrong")]
    heads = [element("th", _sorter(key, label), scope="col", class_=f"of-{key}", aria_sort="none") for key, label in names]
    last = element("th", "what it did ", axis, scope="col", class_="of-strip")
    body = element("tbody", *rows)
    return element("table", element("thead", element("tr", *heads, last)), body, class_="fleet")


def _sorter(key: str, label: str) -> Markup:
    return element("button", label, type="button", data_sort=key)


def _axis(shown: tuple[datetime, datetime]) -> str:
    begin, end = shown
    return f"{when(begin)[5:16]} – {when(end)[5:16] if begin.date() != end.date() else clock(end)[:5]}"


def _row(
    number: int,
    row: JobRow,
    own: OfPage,
    shown: tuple[datetime, datetime] | None,
    roots: Sequence[str],
    team: str | None,
    now: datetime | None,
) -> Markup:
    first = row.verdicts[0] if row.verdicts else None
    cause = first.cause if first else ""
    change = "new" if any(each.change == "new" for each in row.verdicts) else first.change if first else None
    name = row.name or row.job
    inner = (element("b", text(row.scope)), *((" ", element("span", text(name), class_="dim")) if name and name != row.scope else ()))
    opened = (
        element("button", *inner, type="button", class_="open", aria_expanded="false", data_card=own.card)
        if own.card
        else element("div", *inner)
    )
    more = element("span", f"+{len(row.verdicts) - 1}", class_="more", title="more verdicts") if len(row.verdicts) > 1 else None
    new = element("span", "new", class_="fresh") if change == "new" else None
    line = drawn(own.strip, row.since, shown) if shown else None
    missing = None if line else element("small", text(not_drawn(own.strip, row.since)), class_="dim")
    old = element("small", age(row.since, now), class_="dim") if row.since else None
    cells = (
        _cell("job", opened),
        _cell("state", text(row.state or "")),
        _cell("since", when(row.since)[:16] if row.since else "", *((" ", old) if old else ())),
        _cell("cause", element("span", text(cause) if first else WORD[row.outcome], class_=f"outcome {row.outcome}")),
        _cell("says", *((new, " ") if new else ()), text(clipped(row.says, _SAYS)), *((" ", more) if more else ())),
        _cell("strip", line or missing),
    )
    return element(
        "tr",
        *cells,
        class_=f"row {row.outcome}",
        data_n=str(number),
        data_outcome=row.outcome,
        data_cause=cause,
        data_state=printable(row.state or ""),
        data_change=change,
        data_root=" ".join(roots) or None,
        data_team=printable(team_of(row, team)) if team is not None else None,
    )


def _cell(label: str, *parts: Markup | str | None) -> Markup:
    called = {"job": "", "strip": "", "says": "what is wrong"}.get(label, label)
    return element("td", *parts, data_label=called, class_=f"of-{label}")


def _gone(report: FleetReport) -> Iterator[Markup]:
    if report.gone:
        items = (element("li", element("b", text(each["scope"])), " ", text(each["says"])) for each in report.gone[:_MOST_GONE])
        yield element("details", element("summary", f"Gone since the run before: {len(report.gone):,}"), element("ul", *items))
