"""A fleet for a ticket or a chat: what a terminal shows, as CommonMark with GitHub's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from itertools import groupby

from analyzers.report.durations import counted, few
from analyzers.report.fleet import FleetReport, Root
from cli.renderers.fleet_table import View, cause_of, cut, group_of, grouped
from cli.renderers.fleet_trend import Trend, named, rows_of
from cli.renderers.fleet_words import age, called, causes_of, explained, gone_words, no_root, short, summary, thing
from cli.renderers.markdown import escaped
from cli.renderers.wording import clipped

_SAYS = 300
_MOST_ROOTS = _MOST_NAMED = 10
_MOST_GONE = 50


def render(report: FleetReport, view: View | None = None) -> str:
    """The whole: summary, roots, causes, then the rows that `view` chooses, as many as at a terminal."""
    return "\n".join(_lines(report, view or View())).rstrip() + "\n"


def trend(runs: Sequence[datetime], counts: Trend) -> str:
    """A table with a column per run, the newest last."""
    times = [f"{at.astimezone(timezone.utc):%Y-%m-%d %H:%M}" for at in runs]
    out: list[str] = []
    for kind, own in counts.items():
        rows = [[escaped(named(what)), *(f"{each:,}" for each in many)] for what, many in rows_of(kind, own, len(runs))]
        if rows:
            out += [*_table([f"{kind} per run (UTC)", *times], rows), ""]
    return "\n".join(out).rstrip() + "\n"


def _lines(report: FleetReport, view: View) -> Iterator[str]:
    now = report.clock
    yield f"### {escaped(summary(report))}"
    yield ""
    yield from (f"- {escaped(words)}" for words in explained(report))
    yield "- all times are UTC" + (f"; ages count back from {now:%Y-%m-%d %H:%M}" if now else "")
    why = no_root(report)
    yield from (f"- {escaped(why)}",) if why is not None else ()
    for title, link in (("Shared roots", "explains"), ("In common: a hint, no proof", "in-common")):
        own = [root for root in report.roots if root.link == link]
        if own:
            yield from ("", f"**{title}**", "")
            yield from _table(["jobs", "what", "cause", "since", "which"], (_root(root, now) for root in own[:_MOST_ROOTS]))
            if len(own) > _MOST_ROOTS:
                yield from ("", f"and {counted(len(own) - _MOST_ROOTS, 'other thing', 'others')}")
    count = Counter(row.verdicts[0].cause for row in report.jobs if row.verdicts)
    if count:
        yield from ("", "**Causes**", "")
        most_first = sorted(count.items(), key=lambda each: (-each[1], each[0]))
        yield from _table(["jobs", "cause"], ([f"{many:,}", cause] for cause, many in most_first))
    yield from _jobs(report, view, now)
    if report.gone:
        yield from ("", "**Gone since the run before**", "")
        yield from (f"- {escaped(gone_words(each))}" for each in report.gone[:_MOST_GONE])
        if len(report.gone) > _MOST_GONE:
            yield f"- and {len(report.gone) - _MOST_GONE:,} more"
    yield from ("",) if report.notes else ()
    yield from (f"- note: {escaped(note)}" for note in report.notes)


def _root(root: Root, now: datetime | None) -> list[str]:
    names = list(dict.fromkeys(scope for scope, _ in root.jobs))
    return [f"{len(root.jobs):,}", f"**{escaped(thing(root))}**", causes_of(root), short(root.since, now), escaped(few(names, _MOST_NAMED))]


def _jobs(report: FleetReport, view: View, now: datetime | None) -> Iterator[str]:
    rows, left = cut(grouped(report, view.of(report.jobs), view), view)
    several = Counter(row.scope for row in rows)
    compared = any(verdict.change for row in report.jobs for verdict in row.verdicts)
    head = ["job", *(["change"] if compared else []), "state", "since", "age", "cause", "what is wrong"]
    for group, own in groupby(rows, group_of(report, view)):
        yield from ("", f"**{escaped(group or 'Jobs')}**", "")
        found = []
        for row in own:
            more = f" (+{len(row.verdicts) - 1})" if len(row.verdicts) > 1 else ""
            new = "new" if any(verdict.change == "new" for verdict in row.verdicts) else ""
            front = [escaped(called(row, alone=several[row.scope] == 1)), *([new] if compared else []), escaped(row.state or "")]
            found.append([*front, short(row.since, now), age(row.since, now), cause_of(row), escaped(clipped(row.says, _SAYS)) + more])
        yield from _table(head, found)
    if left:
        yield from ("", f"{left}: `-o html=fleet.html` has all of them, to sort and to filter")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |"
