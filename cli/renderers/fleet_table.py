"""A fleet at a terminal: how many jobs are how, what stands behind many of them, a line per cause, then an aligned table, worst first."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby
from textwrap import wrap

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from analyzers.report.durations import counted
from analyzers.report.fleet import OUTCOMES, FleetReport, JobRow, Root
from cli.renderers.fleet_words import WORD, age, called, causes_of, explained, gone_words, no_root, short, summary, thing
from cli.renderers.wording import clipped, printable

LEAST_WIDTH = 80
_WIDE, _AGED = 130, 100
"""Columns from which a job is one line, below that what is wrong stands under it; and from which there is room for its age."""
_MOST_ROWS = 60
_BAR = 20
_STYLES = {"ill": "bold red", "at-risk": "yellow", "unread": "yellow", "undecided": "yellow", "clear": "green"}
_MOST_ROOTS = 10
_MOST_WHY = 400
"""Characters of why a job could not be read: what to do stands at their end."""
Segment = tuple[str, str]
_AGE = 6
Clock = Callable[[datetime | None], str]

SORTS: dict[str, Callable[[JobRow], object]] = {
    "since": lambda row: -row.since.timestamp() if row.since else 0.0,
    "job": lambda row: (row.scope, row.name or row.job or ""),
    "cause": lambda row: (not row.verdicts, row.verdicts[0].cause if row.verdicts else OUTCOMES.index(row.outcome)),
    "state": lambda row: (row.state is None, row.state or ""),
}
"""Orders beside the report's own, worst first, which holds among equals."""
GROUPS = ("cause", "root", "team")
NO_ROOT, NO_TEAM = "no shared root", "no team"


@dataclass(frozen=True)
class View:
    """Which rows are shown, in which order. `team`: a level of the directories, from 1, or an expression; `whole`: well ones, too."""

    sort: str = "worst"
    only_new: bool = False
    group_by: str | None = None
    team: str = "1"
    whole: bool = False

    def of(self, rows: Iterable[JobRow]) -> list[JobRow]:
        """The rows that are shown."""
        kept = [row for row in rows if not self.only_new or any(verdict.change == "new" for verdict in row.verdicts)]
        return sorted(kept, key=SORTS[self.sort]) if self.sort in SORTS else kept  # type: ignore[arg-type]  # each order is of one type


def team_of(row: JobRow, team: str) -> str:
    """Whose job it is: a level of its directories, or what the expression (its first group, if it has any) finds in its name."""
    if team.isdigit():
        levels = row.scope.split("/")
        return levels[int(team) - 1] if 0 < int(team) < len(levels) else NO_TEAM
    match = re.search(team, row.scope) or re.search(team, row.name or "")
    return (match[1] if match.re.groups else match[0]) or NO_TEAM if match else NO_TEAM


def render(report: FleetReport, width: int = 120, view: View | None = None, *, colour: bool = False) -> str:
    """Lines for a terminal or a ticket, none wider than `width` (80 at least)."""
    out = io.StringIO()
    width = max(width, LEAST_WIDTH)
    console = Console(
        file=out, width=width, force_terminal=colour, color_system="standard" if colour else None, no_color=not colour,
        markup=False, highlight=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    for line in _lines(report, width, view or View()):
        text = Text()
        for words, style in line:
            text.append(words, style if colour else "")
        text.truncate(width, overflow="ellipsis")
        text.rstrip()
        console.print(text, soft_wrap=True)
    return out.getvalue()


def _lines(report: FleetReport, width: int, view: View) -> Iterator[Sequence[Segment]]:
    yield from _wrapped(summary(report), width, "bold")
    for words in explained(report):
        yield from _wrapped(words, width, "dim", "  ")
    clock = partial(short, now=report.clock)
    yield from _roots(report.roots, width, clock)
    if (why := no_root(report)) is not None:
        yield []
        yield from _wrapped(why, width, "dim")
    yield from _causes(report.jobs, clock)
    rows = grouped(report, view.of(report.jobs), view)
    shown, left = cut(rows, view)
    if shown:
        yield from _table(report, shown, width, view, clock)
    if left:
        yield []
        yield from _wrapped(f"{left}: -v lists them; -o html=fleet.html has all of them, to sort and to filter", width, "dim")
    for each in report.gone if not report.gone else [None, *report.gone]:
        yield [] if each is None else [("gone  ", "green"), (gone_words(each), "")]
    for note in report.notes:
        yield from _wrapped(f"note: {printable(note)}", width, "dim")


def _wrapped(words: str, width: int, style: str, indent: str = "") -> Iterator[Sequence[Segment]]:
    """All of it: what a line is too short for goes below it."""
    yield from ([(line, style)] for line in _lines_of(words, width, indent, f"{indent}  "))


def _lines_of(words: str, width: int, first: str = "", further: str = "") -> list[str]:
    """Broken between words: a name with hyphens is copied as one."""
    return wrap(words, width, initial_indent=first, subsequent_indent=further, break_on_hyphens=False)


def cut(rows: Sequence[JobRow], view: View) -> tuple[Sequence[JobRow], str]:
    """The rows that fit a screen or a ticket, and how many do not: ``340 more and 600 well``, or nothing."""
    shown = rows if view.whole else [row for row in rows if row.outcome != "clear"][:_MOST_ROWS]
    more = Counter("well" if row.outcome == "clear" else "more" for row in rows)
    more.subtract("well" if row.outcome == "clear" else "more" for row in shown)
    return shown, " and ".join(f"{number:,} {kind}" for kind in ("more", "well") if (number := more[kind]))


def _roots(roots: Sequence[Root], width: int, clock: Clock) -> Iterator[Sequence[Segment]]:
    for title, own in (
        ("SHARED ROOTS", [root for root in roots if root.link == "explains"]),
        ("IN COMMON (A HINT, NO PROOF)", [root for root in roots if root.link != "explains"]),
    ):
        if own:
            yield []
            yield [(title, "dim")]
        for root in own[:_MOST_ROOTS]:
            yield [(f"{len(root.jobs):>5} ", "bold"), (thing(root), "bold"), (f"  {causes_of(root)}", "")]
            since = f"      since {clock(root.since)}: " if root.since else "      "
            names = list(dict.fromkeys(printable(scope) for scope, _ in root.jobs))
            named, left = [*names], ""
            while len(named) > 1 and cell_len(f"{since}{', '.join(named)}{left}") > width:
                named.pop()
                left = f" and {len(names) - len(named):,} more"
            yield [(f"{since}{', '.join(named)}{left}", "dim")]
        if len(own) > _MOST_ROOTS:
            yield [(f"      and {counted(len(own) - _MOST_ROOTS, 'other thing', 'others')}: -o html=fleet.html", "dim")]


def _causes(rows: Sequence[JobRow], clock: Clock) -> Iterator[Sequence[Segment]]:
    by_cause: dict[str, list[JobRow]] = {}
    for row in rows:
        if row.verdicts:
            by_cause.setdefault(row.verdicts[0].cause, []).append(row)
    if not by_cause:
        return
    yield []
    yield [("CAUSES", "dim")]
    most, widest = max(map(len, by_cause.values())), max(map(len, by_cause))
    for cause, own in sorted(by_cause.items(), key=lambda each: (-len(each[1]), each[0])):
        bar = "█" * max(1, round(len(own) / most * _BAR))
        since = min((row.since for row in own if row.since), default=None)
        new = sum(any(verdict.change == "new" for verdict in row.verdicts) for row in own)
        words = "  ".join(filter(None, (f"since {clock(since)}" if since else "", f"{new} new" if new else "")))
        yield [(f"{len(own):>5} {cause.ljust(widest)}  ", ""), (bar.ljust(_BAR), "red"), (f"  {words}", "dim")]


def group_of(report: FleetReport, view: View) -> Callable[[JobRow], str]:
    of_root = {job: thing(root) for root in reversed(report.roots) for job in root.jobs}
    groups: dict[str | None, Callable[[JobRow], str]] = {
        "team": lambda row: team_of(row, view.team),
        "root": lambda row: of_root.get((row.scope, row.job), NO_ROOT),
        "cause": cause_of,
    }
    return groups.get(view.group_by, lambda row: "")


def grouped(report: FleetReport, rows: Sequence[JobRow], view: View) -> list[JobRow]:
    """The groups of most jobs first; those of none are last."""
    of = group_of(report, view)
    sizes = Counter(map(of, rows))
    order = {group: place for place, group in enumerate(sorted(sizes, key=lambda each: (each in (NO_ROOT, NO_TEAM), -sizes[each], each)))}
    return sorted(rows, key=lambda row: order[of(row)])


def cause_of(row: JobRow) -> str:
    return row.verdicts[0].cause if row.verdicts else WORD[row.outcome]


def _table(report: FleetReport, rows: Sequence[JobRow], width: int, view: View, clock: Clock) -> Iterator[Sequence[Segment]]:
    compared = any(verdict.change for row in report.jobs for verdict in row.verdicts)
    several = Counter(row.scope for row in rows)
    names = [called(row, alone=several[row.scope] == 1) for row in rows]
    state = max(5, *(cell_len(row.state or "") for row in rows))
    cause = max(5, *(cell_len(cause_of(row)) for row in rows))
    state, change, since = min(state, 12), 4 if compared else 0, 11
    wide = width >= _WIDE
    old = _AGE if width >= _AGED and any(row.since for row in rows) else 0
    taken = state + since + cause + (change + 2 if change else 0) + (old + 2 if old else 0) + 3 * 2
    job = max(12, min(max(map(cell_len, names)), (width - taken) * 2 // 5 if wide else width - taken))
    columns = [job, *([change] if change else []), state, since, *([old] if old else []), cause]
    titles = ["JOB", *(["CHG"] if change else []), "STATE", "SINCE (UTC)", *(["AGE"] if old else []), "CAUSE"]
    titles += ["WHAT IS WRONG"] if wide else []
    room = width - (sum(columns) + 2 * len(columns)) if wide else width - 4
    yield []
    yield [(_cells(columns, titles), "dim")]
    named = dict(zip(map(id, rows), names, strict=True))
    of = group_of(report, view)
    sizes = Counter(map(of, view.of(report.jobs)))
    for group, own in groupby(rows, of):
        if group:
            yield [(f"── {printable(group)} ({counted(sizes[group], 'job')})", "bold")]
        for row in own:
            style = _STYLES[row.outcome]
            new = "new" if any(verdict.change == "new" for verdict in row.verdicts) else ""
            more = f" (+{len(row.verdicts) - 1})" if len(row.verdicts) > 1 else ""
            says = clipped_words(row.says, room - len(more)) + more
            below: list[str] = []
            if row.outcome == "unread" and len(row.says) > room:
                says, below = "", _lines_of(clipped(row.says, _MOST_WHY), width - 4)
            elif not wide:
                says, below = "", [says]
            front = [_name(row, named[id(row)], job), *([new] if change else []), row.state or "", clock(row.since)]
            front += [*([age(row.since, report.clock)] if old else []), cause_of(row)]
            cells = [set_cell_size(clipped(cell, size), size) for cell, size in zip(front, columns, strict=True)]
            yield [("  ".join(cells[:-1]) + "  ", ""), (cells[-1], style), (f"  {says}" if says else "", "")]
            yield from ([(f"    {line}", "dim")] for line in below)


def _cells(columns: Sequence[int], cells: Sequence[str]) -> str:
    sized = [set_cell_size(cell, size) for cell, size in zip(cells, columns, strict=False)]
    return "  ".join([*sized, *cells[len(columns) :]])


def _name(row: JobRow, name: str, most: int) -> str:
    """The name of a job; one that is too long is its directory alone, and of that beginning and end: many pods end alike."""
    if cell_len(name) > most and cell_len(name := printable(row.scope)) > most:
        front = (most - 1) // 2
        return f"{name[:front]}…{name[1 + front - most :]}"
    return name


def clipped_words(words: str, most: int) -> str:
    """`words` on one line, cut behind a word."""
    said = printable(words)
    if len(said) <= most:
        return said
    return (said[: most - 1].rpartition(" ")[0].rstrip(" ,;:-(") or said[: most - 2]) + " …"
