"""The card: what an engineer reads first. State, headline, impact, fix, check, picture, story; then what else there is, a row each.

A line is a list of (text, style) pieces, wrapped already; styles are words (`broken`, `risk`, `over`, `do`, `dim`, `strong`), so that
a terminal colours them and a ticket does not.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from analyzers.report.durations import counted, span
from analyzers.report.finding import Evidence, Finding, Severity
from analyzers.report.history import Lane
from analyzers.report.report import RESTARTED_BECAUSE, Report, Verdict
from analyzers.tables import Row
from cli.renderers.acknowledgements import matrix
from cli.renderers.picture import LABEL, picture
from cli.renderers.wording import all_clear, clipped, clock, is_clear, printable, unchecked_by_reason

Line = list[tuple[str, str]]

PROSE = 100  # columns: longer lines are not read
_INDENT = 2
_MOST_STORY = 4
_MOST_BESIDE_GRID = 2
_MOST_ALSO = 5
_MOST_CARDS = 5
_MOST_NOTES = 3
_GRID = 80  # columns of the grid of acknowledgements
_PICTURE_BEFORE = 0.35  # of the time from the first sign to the end is shown before it


@dataclass(frozen=True)
class Told:
    """One row of the story."""

    at: datetime | None
    says: str
    count: int
    place: str


@dataclass(frozen=True)
class Card:
    """What is said of one job, whatever the format; of a job without a verdict only its state and its picture."""

    name: str
    state: str
    style: str
    """Of the state."""
    now: str
    scope: str
    job: str | None
    lanes: Sequence[Lane]
    begin: datetime | None
    end: datetime | None
    verdict: Verdict | None = None
    headline: str = ""
    over: bool = False
    """It is no longer wrong."""
    below: Sequence[tuple[str, str]] = ()
    """Trigger, what was inferred, impact: words and style."""
    advice: Sequence[tuple[str, str, str]] = ()
    """Label, words and style: fix, no help, danger, not known."""
    story: Sequence[Told] = ()
    also: Sequence[tuple[str, str]] = ()
    """Words and code of what else was found."""
    own: Sequence[Finding] = ()
    """The findings of the job."""
    barriers: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    """Those of the report that are of the job; empty where they do not explain its verdict."""


def cards(report: Report) -> list[Card]:
    """One for each job that has a verdict, worst first; without a verdict one for each job whose state is known."""
    by_job: dict[tuple[str, str | None], list[Verdict]] = {}
    for verdict in report.verdicts:
        by_job.setdefault((verdict.scope, verdict.job), []).append(verdict)
    return [_card_of(report, scope, job, verdicts) for (scope, job), verdicts in by_job.items()] or [
        _card_of(report, state["scope"], state["job"], ()) for state in report.job_state
    ]


def _card_of(report: Report, scope: str, job: str | None, verdicts: Sequence[Verdict]) -> Card:
    state = _state_of(report, scope, job)
    lanes = [lane for lane in report.history if lane.scope == scope and lane.job in (job, None)]
    first = verdicts[0] if verdicts else None
    begin, end = _reach(report, first)
    known = Card(_name(report, job), _state_word(state), _state_style(state), _now(report, state), scope, job, lanes, begin, end)
    if first is None:
        return known
    own = [f for f in report.found if f.job in (job, None) and f.scope == scope]
    main = next((f for f in own if f.code == first.code and f.reason == first.reason), None)
    below = []
    if first.trigger and first.says.startswith(RESTARTED_BECAUSE):  # it is another fault than the one that keeps the job down
        below.append((f"Trigger: {_short(first.trigger)}", ""))
    if main is not None and main.inferred:
        below.append((f"Inferred: {printable(main.inferred)}", ""))
    if first.impact:
        below.append((first.impact, "risk"))
    return replace(
        known,
        verdict=first,
        headline=_headline(first),
        over=main is not None and main.severity is not Severity.CRITICAL,
        below=below,
        advice=_advice(first),
        story=story(first, own),
        also=_also(report, verdicts, own),
        own=own,
        barriers={
            name: [row for row in rows if (row["scope"], row["job"]) == (scope, job)]
            for name, rows in report.barriers.items()
            if first.cause == "barrier-unacknowledged"
        },
    )


def lines(report: Report, width: int) -> Iterator[Line]:
    """The whole page of `report`: a card for each job that has a verdict, or the all-clear."""
    width = max(40, width)
    ill = cards(report) if report.verdicts else []
    if len(ill) > 1:
        yield from _jobs(ill, width)
    for number, card in enumerate(ill):
        if number == _MOST_CARDS:
            yield []
            yield [(f"and {counted(len(ill) - number, 'job')} more: -v has them all", "dim")]
            break
        if number or len(ill) > 1:
            yield []
        yield from _card(card, width)
    if not ill:
        yield from _no_verdict(report, width)
    yield from _end(report, width)


def _jobs(ill: Iterable[Card], width: int) -> Iterator[Line]:
    """A row per job: its name, its state, what is wrong in a few words, since when."""
    for card in ill:
        since = clock(card.verdict.since) if card.verdict and card.verdict.since else ""
        room = width - 24 - 13 - 10
        said = f"{clipped(card.headline, room):<{room}}  {since}"
        yield [(f"{clipped(card.name, 23):<24}", "strong"), (f"{card.state:<13}", card.style), (said, "")]


def _card(card: Card, width: int) -> Iterator[Line]:
    assert card.verdict is not None
    yield from _state_line(card, width)
    yield []
    mark = ("✓ ", "over") if card.over else ("✗ ", "broken")
    yield from _wrapped([mark, (card.headline, "strong"), (f"  [{card.verdict.code}]", "dim")], width, _INDENT)
    for words, style in card.below:
        yield from _wrapped([(words, style)], width, _INDENT, first=_INDENT)
    yield []
    number = 0
    for label, words, style in card.advice:
        if label == "fix":
            number += 1
            yield from _labelled(label if number == 1 else "", [(f"{number}  {words}", style)], width, hang=3)
        else:
            yield from _labelled(*(("", [(f"{label}: {words}", style)]) if label != "not known" else (label, [(words, style)])), width)
    if card.verdict.next_command:
        yield [(f"  {'check':<10}", "strong"), (printable(card.verdict.next_command), "do unwrapped")]
    yield from _drawn(card, width)
    story = card.story
    if card.barriers.get("checkpoint_acks") and width >= _GRID:
        yield from ([(line, "")] for line in matrix(card.barriers))
        story = story[-_MOST_BESIDE_GRID:]
    yield from _story(story, width)
    if card.also:
        yield []
    for number, (words, code) in enumerate(card.also[:_MOST_ALSO]):
        yield from _labelled("also" if number == 0 else "", [(words, ""), (f"  [{code}]", "dim")], width)
    if len(card.also) > _MOST_ALSO:
        yield from _labelled("", [(f"and {len(card.also) - _MOST_ALSO} more", "dim")], width)


def _state_line(card: Card, width: int) -> Iterator[Line]:
    state: Line = [(f"  {card.state}", card.style)] if card.state else []
    yield from _wrapped([(card.name, "strong"), *state, (f"  {card.now}", ""), ("  (times are UTC)", "dim")], width, _INDENT)


def _now(report: Report, state: Row | None) -> str:
    """What is true now: restarts, the last checkpoint and its age."""
    if state is not None:
        words = []
        if state["failures"]:
            first, last = state["first_failure_at"], state["last_failure_at"]
            lasted = last - first if first and last else None
            words.append(counted(state["failures"], "failure") + (f" in {span(lasted)}" if lasted else ""))
        unit = "batch" if state["kind"] == "spark" else "checkpoint"
        if state["last_checkpoint_at"]:
            number = f" {state['last_checkpoint']}" if state["last_checkpoint"] is not None else ""
            age = state["last_checkpoint_age_seconds"]
            ago = f", {span(timedelta(seconds=age))} ago" if age and age >= 1 else ""
            words.append(f"last {unit}{number} at {clock(state['last_checkpoint_at'])}{ago}")
        elif state["failures"]:
            words.append(f"no {unit} completed")
        if not state["failures"]:
            words.append("no restarts")
        return "; ".join(words)
    return f"as of {report.as_of:%Y-%m-%d %H:%M:%S}" if report.as_of else ""


def _advice(verdict: Verdict) -> list[tuple[str, str, str]]:
    rows = [("fix", step, "do") for step in verdict.steps or (verdict.fix,)]
    rows += [
        ("no help", _first_sentence(verdict.no_help or ""), ""),
        ("danger", verdict.danger or "", "risk"),
        ("not known", verdict.missing or "", ""),
    ]
    return [(label, printable(words), style) for label, words, style in rows if words]


def _drawn(card: Card, width: int) -> Iterator[Line]:
    rows = picture(card.lanes, card.begin, card.end, min(width, 120) - _INDENT) if card.begin and card.end else []
    if rows:
        yield []
        for label, cells in rows:
            yield [(f"{' ' * _INDENT}{label:<{LABEL}}", "dim"), (cells, "picture" if label else "dim")]


def _reach(report: Report, verdict: Verdict | None) -> tuple[datetime | None, datetime | None]:
    """From a while before the first sign to the end of the evidence."""
    end = report.as_of or report.window[1]
    signs = [at for at in (verdict.since, *(m.at for m in verdict.timeline)) if at] if verdict else []
    if end is None or not signs or end <= min(signs):
        return report.window
    begin = min(signs) - (end - min(signs)) * _PICTURE_BEFORE
    return (max(begin, report.window[0]) if report.window[0] else begin), end


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
            yield from _wrapped([(f"{at}  {row.says}{times}  {row.place}", "")], width, _INDENT + len(at) + 2, first=_INDENT)
            continue
        yield [(f"{' ' * _INDENT}{at}  ", "dim"), (f"{clipped(row.says, room):<{room}}", ""), (times, "strong"), (f"  {row.place}", "dim")]


def story(verdict: Verdict, own: Iterable[Finding]) -> list[Told]:
    """What led to the verdict, in order of time: the findings of its chain, and the first and the last failed attempt."""
    chain = [f for code in verdict.chain for f in own if f.code == code and f.since]
    rows = [Told(f.since, printable(f.headline or f.says), _count(f), _place(f.evidence)) for f in chain]
    attempts = [m for m in verdict.timeline if not m.code and m.at]
    ends = [attempts[0], *([attempts[-1]] if len(attempts) > 1 else [])] if attempts else []
    rows += [Told(m.at, _short(m.says), 1, "") for m in ends]
    rows.sort(key=lambda row: row.at.timestamp() if row.at else 0.0)
    if len(rows) > _MOST_STORY:
        rows = [*rows[: _MOST_STORY - 2], *rows[-2:]]
    return rows


def _also(report: Report, verdicts: Sequence[Verdict], own: Sequence[Finding]) -> list[tuple[str, str]]:
    """Other verdicts of the job, and findings that are in no verdict's chain."""
    others = [(_headline(v), v.code) for v in verdicts[1:]]
    named = {*verdicts[0].chain, *(v.code for v in verdicts)}
    return others + [(printable(f.headline or f.says), f.code) for f in own if f.code not in named]


def _no_verdict(report: Report, width: int) -> Iterator[Line]:
    for card in cards(report)[:_MOST_CARDS]:
        yield from _state_line(card, width)
    if report.job_state:
        yield []
    good = is_clear(report)
    yield from _wrapped(
        [("✓ " if good else "? ", "do" if good else "risk"), (all_clear(report, "below"), "strong" if good else "")], width, _INDENT
    )
    found = sorted(report.found, key=lambda f: -f.severity.rank)
    if found:
        yield []
    for number, finding in enumerate(found[:_MOST_ALSO]):
        style = {Severity.CRITICAL: "broken", Severity.WARNING: "risk"}.get(finding.severity, "")
        said = [(printable(finding.headline or finding.says), style), (f"  [{finding.code}]", "dim")]
        yield from _labelled("noticed" if number == 0 else "", said, width)
        for count, step in enumerate(finding.steps if finding.severity.rank >= Severity.WARNING.rank else (), 1):
            yield from _labelled("", [(f"{count}  {printable(step)}", "do")], width, hang=3)
    if len(found) > _MOST_ALSO:
        yield from _labelled("", [(f"and {len(found) - _MOST_ALSO} more", "dim")], width)


_OPTION = re.compile(r"\((--?[\w-]+[^)]*|diag [^)]*)\)")


def remains(report: Report) -> list[tuple[str, str, str]]:
    """Label, words and style of what was read in part, of what was not checked in one row, and of notes."""
    bad = [s for s in report.sources if s.state != "ok"]
    labels = {"partial": "partly read"}
    rows = [(labels.get(s.state, "not read"), f"{printable(s.name)}: {printable(s.why or s.state)}", "risk") for s in bad[:3]]
    if len(bad) > 3:
        rows.append((rows[-1][0], f"and {len(bad) - 3} more", "risk"))
    rows += [("defect", f"{d.code} crashed, a defect in diag; the other rules judged", "risk") for d in report.defects[:2]]
    reasons = unchecked_by_reason(report.not_checked)
    if reasons and report.verdicts:
        words = [_unchecked(because) for because, _ in reasons[:4]]
        rows.append(("not checked", "; ".join(dict.fromkeys(words)), "dim"))
    said_above = not report.verdicts and not report.facts  # by the all-clear
    notes = () if said_above else report.notes if report.facts else report.notes[:_MOST_NOTES]
    return rows + [("note", printable(note), "dim") for note in notes]


def _end(report: Report, width: int) -> Iterator[Line]:
    """What remains to be said, and where more is."""
    rows = remains(report)
    if rows and not report.verdicts:
        yield []
    before = ""
    for label, words, style in rows:
        yield from _labelled(label if label != before else "", [(words, style)], width)
        before = label
    if report.verdicts:
        yield [("  more: -v, one rule: ", "dim"), (f"diag explain {report.verdicts[0].code}", "dim")]


def _unchecked(because: str) -> str:
    option = _OPTION.search(because)
    words = {"--bootstrap-server": "live brokers (-b)", "--flink-rest": "JobManager (--flink-rest)"}
    if option and option[1] in words:
        return words[option[1]]
    return re.sub(r"^no (.*?) (?:was|were) (?:given|read|asked|looked at)\b", r"\1", printable(because)).removeprefix("log of ")


def _headline(verdict: Verdict) -> str:
    return printable(verdict.headline or verdict.says)


def _first_sentence(words: str) -> str:
    """The page of the rule has the others."""
    return re.split(r"(?<=[a-z)])\.\s", printable(words), maxsplit=1)[0].rstrip(".")


def _short(words: str) -> str:
    return clipped(words, 150)


def _name(report: Report, job: str | None) -> str:
    if job is None:
        return "no job in particular"
    return printable(report.job_names.get(job) or job)


def _state_of(report: Report, scope: str, job: str | None) -> Row | None:
    return next((row for row in report.job_state if row["scope"] == scope and row["job"] == job), None)


def _state_word(state: Row | None) -> str:
    if state is None or not state["state"]:
        return ""
    return "RESTARTING" if state["loops"] and state["state"] == "RUNNING" else str(state["state"])


def _state_style(state: Row | None) -> str:
    word = _state_word(state)
    return "broken" if word in ("RESTARTING", "FAILED", "FAILING") else "over" if word in ("CANCELED", "FINISHED", "SUSPENDED") else "do"


def _count(finding: Finding) -> int:
    number = finding.detail.get("failures")
    return number if isinstance(number, int) else 1


def _place(evidence: Sequence[Evidence]) -> str:
    """``jobmanager.log:487``, and of several lines of one file the last one too."""
    at = [e for e in evidence if e.file and e.line is not None]
    if not at:
        return ""
    name = posixpath.basename(at[0].file or "")
    last = next((e.line for e in reversed(at) if e.file == at[0].file and e.line != at[0].line), None)
    return printable(f"{name}:{at[0].line}" + (f" … {last}" if last is not None and (last or 0) > (at[0].line or 0) else ""))


def _labelled(label: str, pieces: Line, width: int, hang: int = 0) -> list[Line]:
    """``  label     words``, wrapped below the words."""
    head = f"{' ' * _INDENT}{label:<10}" if len(label) < 10 else f"{' ' * _INDENT}{label}  "
    return list(_wrapped([(head, "strong"), *pieces], width, len(head) + hang))


def _wrapped(pieces: Line, width: int, indent: int, first: int = 0) -> Iterator[Line]:
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
