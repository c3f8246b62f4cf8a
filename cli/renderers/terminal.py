"""The report for an engineer at a terminal: what was looked at first, the verdict, its fix and the next command last."""

from __future__ import annotations

import io
import posixpath
import re
from collections.abc import Iterable, Iterator

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from analyzers.report.durations import span
from analyzers.report.finding import Evidence, Severity
from analyzers.report.report import Moment, Report, Verdict
from cli.renderers import card_layout, noticing
from cli.renderers.evidence import message, telling
from cli.renderers.facts import drawn
from cli.renderers.verdict_rows import advised, rows_of, titled
from cli.renderers.wording import all_clear, clipped, clock, crashed, notes_of_their_own, printable, troubled_sources, unchecked_lines, when

_MARKS = {
    Severity.CRITICAL: Text("critical", style="bold red"),
    Severity.WARNING: Text("warning", style="yellow"),
    Severity.INFO: Text("info", style="cyan"),
}
_MOST_MOMENTS = 12
_MOST_NOTICED = 20
_MOST_EVIDENCE = 4
_EVIDENCE_WIDTH = 220
_SAID_BELOW = 40
_MOMENT_WIDTH = 150
_LABEL = 9
_LONG_FOLDER = 16


class _Unwrapped(Text):
    """To be copied into a shell: a line break of ours would cut the command."""


_STYLES = {"broken": "bold red", "risk": "yellow", "over": "dim", "do": "green", "dim": "dim", "strong": "bold"}


def page(report: Report, *, width: int = 80, colour: bool = False, facts: bool = True) -> str:
    """The card of `report` (`cli/renderers/card_layout.py`), what fits one screen; below the tables that its command is about (`facts`).

    Where no rule had a say there is no card: then it is the dossier.
    """
    if not (report.clean or report.findings or report.not_checked or report.defects):
        return render(report, width=width, colour=colour, facts=facts)
    text = io.StringIO()
    console = _console(text, width, colour)
    for part in (*_facts(report), Text()) if facts and report.facts else ():
        console.print(part)
    _print(console, card_layout.lines(report, width))
    return _trimmed(text)


def printed(lines: Iterable[card_layout.Line], *, width: int = 80, colour: bool = False) -> str:
    """`lines`, wrapped already, as the card has its own."""
    text = io.StringIO()
    _print(_console(text, width, colour), lines)
    return _trimmed(text)


def _print(console: Console, lines: Iterable[card_layout.Line]) -> None:
    for line in lines:
        shown = Text()
        for words, style in line:
            shown.append(words, _STYLES.get(style.partition(" ")[0], ""))
        console.print(shown, soft_wrap=True)  # it is wrapped, and a command must not be


def _trimmed(text: io.StringIO) -> str:
    return "".join(line.rstrip() + "\n" for line in text.getvalue().strip("\n").split("\n"))


def _console(text: io.StringIO, width: int, colour: bool) -> Console:
    return Console(
        file=text, width=width, force_terminal=colour, color_system="standard" if colour else None, no_color=not colour,
        markup=False, highlight=False, emoji=False, legacy_windows=False,
    )  # fmt: skip


def render(report: Report, *, width: int = 80, colour: bool = False, facts: bool = True, findings: bool = True) -> str:
    """The dossier: all of the report in at most `width` columns; escape sequences only with `colour`.

    Its `facts` (what was looked at, and the tables) and its `findings` can be had one without the other: the first are known earlier.
    """
    text = io.StringIO()
    console = _console(text, width, colour)
    for part in (*(_facts(report) if facts else ()), *(_judgement(report, width) if findings else ())):
        console.print(part, soft_wrap=isinstance(part, _Unwrapped))
    lines = "".join(line.rstrip() + "\n" for line in text.getvalue().split("\n")).strip("\n")
    return re.sub(r"\n{3,}", "\n\n", lines) + "\n"


def _facts(report: Report) -> Iterator[RenderableType]:
    yield _labelled([("Looked at", _looked_at(report))])
    yield from _sources(report)
    for name, rows in sorted(report.facts.items()):
        yield Text()
        yield drawn(name, rows)


def _judgement(report: Report, width: int) -> Iterator[RenderableType]:
    if report.found:
        yield _heading("Findings")
        yield _findings(report, width)
    yield from _noticed(report)
    yield from _rest(report)
    yield from _advice(report)
    for verdict in reversed(report.verdicts):
        yield from _verdict(verdict, report)
    if not report.verdicts:
        yield Rule(style="dim")
        yield Text(all_clear(report), style="bold")


def _looked_at(report: Report) -> Text:
    words = printable(report.looked_at) or "nothing that could be read"
    begin, end = report.window
    if begin and end:
        same_day = begin.date() == end.date()
        words += f"; {when(begin)} – {clock(end) if same_day else when(end)} UTC ({span(end - begin)})"
    elif report.as_of:
        words += f"; as of {when(report.as_of)} UTC"
    return Text(words)


def _sources(report: Report) -> Iterator[RenderableType]:
    bad = troubled_sources(report)
    rows = [(state, Text(words, style="yellow")) for state, words in bad[:10]]
    if len(bad) > len(rows):
        rows.append(("", Text(f"and {len(bad) - len(rows)} more; -o json has all", style="yellow")))
    if rows:
        yield _labelled(rows)


def _findings(report: Report, width: int) -> Table:
    """Whole sentences for the first verdict's own finding and for what no verdict below tells in full, a line for the rest."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    several_days = len({f.since.date() for f in report.found if f.since}) > 1
    told = {(job, m.code, m.says) for v in report.verdicts for m in v.timeline if len(m.says) <= _MOMENT_WIDTH for job in (v.job, None)}
    own = {(v.job, v.code) for v in report.verdicts[1:]} - {(v.job, v.code) for v in report.verdicts[:1]}
    room = width - len("critical BRK101  ") - len(when(report.as_of) if several_days else clock(report.as_of))
    for finding in report.found:
        since = (when if several_days else clock)(finding.since) if finding.since else "-"
        key = (finding.job, finding.code)
        below = key in own or (*key, finding.says.rstrip(".")) in told  # the timeline has the first sentence of each
        says = clipped(finding.says, max(room, _SAID_BELOW)) if below else printable(finding.says)
        table.add_row(_MARKS[finding.severity], finding.code, since, Text(says, no_wrap=below, overflow="ellipsis"))
    return table


def _noticed(report: Report) -> Iterator[RenderableType]:
    """What the logs hold that no finding explains."""
    rows = report.unexplained
    if not rows:
        return
    yield _heading("Noticed, and explained by no finding")
    table = Table.grid(padding=(0, 1))
    for style in ("", "bold", "dim"):
        table.add_column(no_wrap=True, style=style)
    table.add_column(overflow="fold")
    for row in rows[:_MOST_NOTICED]:
        mark = Text(row.level or "", style="red" if row.is_error else "dim" if row.normal else "yellow")
        where = f"  ×{row.count}  {noticing.place(row)}"
        table.add_row(
            mark, row.code or "", noticing.time(row), Text.assemble(noticing.says(row), (where, "cyan"), "\n", (row.means, "dim"))
        )
    yield table
    if len(rows) > _MOST_NOTICED:
        yield Text(f"and {len(rows) - _MOST_NOTICED} more kinds; -o json has all", style="dim")


def _rest(report: Report) -> Iterator[RenderableType]:
    if report.not_checked:
        yield _heading("Not checked")
        for line in unchecked_lines(report.not_checked):
            yield Padding(Text(line, style="dim"), (0, 0, 0, 2))
    if report.defects:
        yield _heading("Defects in diag (the other rules still judged)")
        for defect in report.defects:
            yield Padding(Text(clipped(crashed(defect), 200), style="magenta"), (0, 0, 0, 2))
    if notes := notes_of_their_own(report):
        yield _heading("Notes")
        for note in notes:
            yield Padding(Text(printable(note)), (0, 0, 0, 2))


def _advice(report: Report) -> Iterator[RenderableType]:
    advice = advised(report)
    if advice:
        yield _heading("What to do")
    for finding, command in advice:
        assumed = [("INFERRED", Text(printable(finding.inferred)))] if finding.inferred else []
        yield _labelled([(finding.code, Text(printable(finding.fix), style="green")), *assumed])
        if command:
            yield _next(command)


def _next(command: str) -> _Unwrapped:
    return _Unwrapped(f"{'NEXT':<{_LABEL}}  {printable(command)}")


def _verdict(verdict: Verdict, report: Report) -> Iterator[RenderableType]:
    yield Text()
    yield Rule(Text(titled(verdict), style="bold red"), align="left", style="red")
    if verdict.timeline:
        yield _timeline(verdict.timeline)
        yield Text()
    known = rows_of(verdict, report)
    shown = telling(verdict, report.found, _MOST_EVIDENCE)
    folder = _common_folder(shown)
    quoted = ([Text(f"in {printable(folder)}", style="cyan")] if folder else []) + [_quoted(one, folder) for one in shown]
    rows: list[tuple[str, RenderableType]] = [("WHY", Text(printable(verdict.says), style="bold"))]
    rows += [(label.upper(), Text(known[label])) for label in ("Since", "Where") if label in known]
    rows += [("INFERRED", Text(known["Inferred"]))] if "Inferred" in known else []
    rows += [("" if number else "EVIDENCE", one) for number, one in enumerate(quoted)]
    rows += [(label.upper(), Text(known[label], style=style)) for label, style in (("Fix", "green"), ("Not known", "")) if label in known]
    yield _labelled([*([("TRIGGER", Text(known["Trigger"]))] if "Trigger" in known else []), *rows])
    if "Next" in known:
        yield _next(known["Next"])


def _timeline(moments: Iterable[Moment]) -> Table:
    shown = list(moments)
    left_out = len(shown) - _MOST_MOMENTS
    if left_out > 0:  # how it began and how it stands matter more than the repetitions between
        shown = [*shown[: _MOST_MOMENTS // 2], *shown[-_MOST_MOMENTS // 2 :]]
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    several_days = len({m.at.date() for m in shown if m.at}) > 1
    for number, moment in enumerate(shown):
        if left_out > 0 and number == _MOST_MOMENTS // 2:
            table.add_row("…", "", Text(f"{left_out} more", style="dim"))
        table.add_row((when if several_days else clock)(moment.at), moment.code, Text(clipped(moment.says, _MOMENT_WIDTH)))
    return table


def _common_folder(shown: Iterable[Evidence]) -> str:
    """The directory that all of `shown` lie in, when it is long enough to be worth a line of its own; else nothing."""
    files = {evidence.file for evidence in shown if evidence.file}
    folder = posixpath.commonpath({posixpath.dirname(file) for file in files}) if files and len({f[:1] == "/" for f in files}) == 1 else ""
    return folder + "/" if len(folder) >= _LONG_FOLDER else ""


def _quoted(evidence: Evidence, folder: str) -> Text:
    place = printable((evidence.file or evidence.table).removeprefix(folder)) + (f":{evidence.line}" if evidence.line is not None else "")
    time = f" {clock(evidence.at)}" if evidence.at else ""
    return Text.assemble((place, "cyan"), f" {time} {clipped(message(evidence.text), _EVIDENCE_WIDTH)}")


def _labelled(rows: Iterable[tuple[str, RenderableType]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold", min_width=_LABEL)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(label, value)
    return table


def _heading(words: str) -> Padding:
    return Padding(Text(words, style="bold"), (1, 0, 0, 0))
