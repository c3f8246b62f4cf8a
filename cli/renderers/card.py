"""The card: what an engineer reads first of each job, in any format. State, headline, impact, fix, check, picture, story, what else.

Styles are words (`broken`, `risk`, `over`, `do`, `dim`, `strong`), so that a terminal colours them and a ticket does not.
"""

from __future__ import annotations

import posixpath
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from analyzers.diagnosis.coverage import NOT_UNDERSTOOD
from analyzers.diagnosis.culprits import owner_words
from analyzers.report.baseline import CHANGES, COUNTS_AS_NEW
from analyzers.report.durations import counted, span
from analyzers.report.finding import Evidence, Finding, Quote, Severity
from analyzers.report.history import Lane
from analyzers.report.left_out import is_of_left_out
from analyzers.report.noticed import Noticed
from analyzers.report.outcome import doubt
from analyzers.report.report import RESTARTED_BECAUSE, Report, Verdict, shown_state
from analyzers.tables import Row
from cli.renderers.wording import (
    clipped,
    clock,
    nothing_wrong,
    printable,
    quote_place,
    quoted,
    subject_words,
    times_are,
    unchecked_by_reason,
)

_BEGINNING = 60
_MOST_STORY, _LEAST_STORY = 4, 2  # rows: the page fits a screen
_MOST_NOTES = 3
_MOST_NOTES_BELOW = 1  # a verdict: what its numbers rest on; -v has the others
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
    times: str = ""
    """Of whose clock they are."""
    verdict: Verdict | None = None
    headline: str = ""
    over: bool = False
    """It is no longer wrong."""
    quotes: Sequence[tuple[str, str]] = ()
    """The decisive words, and where they were printed."""
    where: str = ""
    """The place, as far as the headline and the decisive words do not name it."""
    below: Sequence[tuple[str, str]] = ()
    """Trigger, what was inferred, impact: words and style."""
    advice: Sequence[tuple[str, str, str]] = ()
    """Label, words and style: fix, no help, danger, not known."""
    check: str | None = None
    """The command that can answer what is open; none that a step has, or that this run was."""
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
    known = Card(
        name=_name(report, scope, job, first),
        state=_state_word(state),
        style=_state_style(state),
        now=_now(report, state),
        scope=scope,
        job=job,
        lanes=lanes,
        begin=begin,
        end=end,
        times=times_are(report) if end is not None or (state is not None and _has_times(state)) else "",
    )
    if first is None:
        return known
    own = [f for f in report.found if f.job in (job, None) and f.scope == scope]
    main = next((f for f in own if f.code == first.code and f.reason == first.reason), None)
    also = _also(report, verdicts, own)
    below = [(became(main), "risk" if main.change in COUNTS_AS_NEW else "")] if main is not None and main.change else []
    if first.trigger and first.says.startswith(RESTARTED_BECAUSE):  # it is another fault than the one that keeps the job down
        below.append((f"Trigger: {_short(first.trigger)}", ""))
    if main is not None and main.inferred:
        below.append((f"Inferred: {printable(main.inferred)}", ""))
    taken = bool(first.words) + bool(first.beside) + bool(_where(first)) + (len(also) > 1)
    if first.impact:
        below.append((printable(first.impact), "risk"))
    return replace(
        known,
        verdict=first,
        headline=_uncut(first),
        over=main is not None and main.severity is not Severity.CRITICAL,
        quotes=_quotes(first),
        where=_where(first),
        below=below,
        advice=_advice(first),
        check=_check(report, first),
        story=story(first, own, max(_LEAST_STORY, _MOST_STORY - taken)),
        also=also,
        own=own,
        barriers={
            name: [row for row in rows if (row["scope"], row["job"]) == (scope, job)]
            for name, rows in report.barriers.items()
            if first.cause == "barrier-unacknowledged"
        },
    )


def _quotes(verdict: Verdict) -> list[tuple[str, str]]:
    """The decisive words, but for those that the headline holds and the advice, which is the first step.

    Of a neighbour that explains the verdict they come first, and are marked.
    """
    causes, headline = len(verdict.because), _uncut(verdict)
    rows = []
    for number, quote in enumerate(verdict.words):
        words = quoted(quote)
        if _share(printable(quote.words), headline) < _MOSTLY:
            rows.append((f"{'because ' if number < causes else ''}“{_without_advice(words, verdict)}”", quote_place(quote)))
    shown = " ".join((headline, *(row for row, _ in rows)))
    for quote in verdict.beside:
        if len(rows) < _MOST_QUOTES and _share(words := quoted(quote), shown) < _MOSTLY:
            rows.append((f"{BESIDE} “{words}”", quote_place(quote)))
            shown = f"{shown} {words}"
    marked = ((CHANGED, verdict.changed), (BEFORE, verdict.before), (SET, verdict.settings))
    last = ((mark, quote) for mark, quotes in marked for quote in quotes)
    return [*rows, *((f"{mark} “{words}”", quote_place(quote)) for mark, quote in last if _share(words := quoted(quote), shown) < _MOSTLY)]


BESIDE = "beside"
"""How the row of a line begins that names the same things as the verdict."""
BEFORE = "before each"
"""How the row of a line begins that stands before each failure."""
CHANGED = "changed before"
"""How the row of a line begins that reports a change before it."""
SET = "now set"
"""How the row of a line begins that gives a setting which the steps name."""
_MOST_QUOTES = 5


def finding_quotes(finding: Finding) -> list[tuple[str, str]]:
    """The decisive words of a warning, and what other lines say of the same things, as far as nothing above holds them."""
    return _not_shown(
        printable(finding.headline or finding.says),
        ((finding.words, ""), (finding.beside, f"{BESIDE} "), (finding.changed, f"{CHANGED} ")),
    )


def noticed_quotes(noticed: Noticed) -> list[tuple[str, str]]:
    """What other lines say of the same things as a line that no rule explains."""
    return _not_shown(printable(noticed.says), ((noticed.beside, f"{BESIDE} "), (noticed.changed, f"{CHANGED} ")))


def _not_shown(shown: str, marked: Iterable[tuple[Sequence[Quote], str]]) -> list[tuple[str, str]]:
    rows = []
    for quote, mark in ((quote, mark) for quotes, mark in marked for quote in quotes):
        words = quoted(quote)
        if _share(words, shown) < _MOSTLY:
            rows.append((f"{mark}“{words}”", quote_place(quote)))
            shown = f"{shown} {words}"
    return rows


_MOSTLY = 0.6
_LEAST_QUOTED = 20  # letters


def _share(words: str, headline: str) -> float:
    """How many of `words` stand in the headline."""
    own = words.split()
    return sum(word.strip(".,:") in headline for word in own) / len(own) if own else 1.0


def _without_advice(words: str, verdict: Verdict) -> str:
    """`words` without the sentence that stands as a step below them."""
    for advice in verdict.advice:
        if any(advice.strip() in step for step in verdict.steps):
            left = " ".join(words.replace(printable(advice), " ").split())
            words = left if len(left) >= _LEAST_QUOTED else words
    return words


_LARGE = 1_000
_NOT_PLACES = ("exception", "user_frame", "user_line", "error", "run", "query")
"""Keys of a subject that the decisive words print, or that name no place."""


def _where(verdict: Verdict) -> str:
    """What the subject holds and nothing above the row shows."""
    shown = " ".join((_headline(verdict), *(quote.words for quote in verdict.words), *verdict.steps))

    def is_shown(key: str, value: Any) -> bool:
        values = value if isinstance(value, (list, tuple)) else [value]
        topic = verdict.subject.get("topic") or verdict.named.get("topic")
        if all(isinstance(each, int) and each < _LARGE for each in values):  # a small number says it beside what it numbers only
            words = f"{topic}-" if key == "partition" else f"{key.replace('_', ' ')}="
            return all(f"{words}{each}" in shown or f"{key.replace('_', ' ')} {each}" in shown.lower() for each in values)
        return all(re.search(rf"(?<!\w){re.escape(str(each))}(?!\w)", shown) for each in values)

    subject = {key: value for key, value in (*verdict.subject.items(), *verdict.named.items()) if key not in _NOT_PLACES}
    left = {key: value for key, value in subject.items() if key == "subtask" or not is_shown(key, value)}
    if "subtask" in left:
        left = {key: verdict.subject.get(key) for key in ("task", "parallelism") if key in verdict.subject} | left
    for key, needed in (("parallelism", "subtask"), ("attempt", "task")):
        left.pop(key, None) if needed not in left else None
    worker, host = left.pop("resource", None), left.pop("host", None)
    on = " @ ".join(printable(str(name)) for name in (worker, host) if name is not None)
    task, *others = subject_words(left) if left else [""]
    return ", ".join(filter(None, (f"{task} on {on}".strip() if on else task, *others, printable(verdict.component or ""))))


_ANSWERED = (
    ("flink-rest", re.compile(r"diag (?:triage|checkpoint-inspect) --flink-rest ")),
    ("flink-rest", re.compile(r"curl -s http://JOBMANAGER:8081/")),
    ("kafka", re.compile(r"diag broker-health --bootstrap-server ")),
)
"""What a command asks that a run with this source, read whole, has asked."""


def _check(report: Report, verdict: Verdict) -> str | None:
    command = printable(verdict.next_command or "")
    typed = re.split(r"\s+#", command)[0]
    whole = {source.kind for source in report.sources if source.state == "ok"}
    answered = any(kind in whole and asks.match(typed) for kind, asks in _ANSWERED)
    return None if not typed or answered or any(typed in step for step in verdict.steps) else command


def _now(report: Report, state: Row | None) -> str:
    """What is true now: restarts, the last checkpoint and its age."""
    if state is not None:
        words = []
        if state["failures"]:
            first, last = state["first_failure_at"], state["last_failure_at"]
            lasted = last - first if first and last else None
            words.append(counted(state["failures"], "failure") + (f" in {span(lasted)}" if lasted else ""))
        unit = "batch" if state["kind"] == "spark" else "checkpoint"
        number = f" {state['last_checkpoint']}" if state["last_checkpoint"] is not None else ""
        if state["last_checkpoint_at"]:
            age = state["last_checkpoint_age_seconds"]
            ago = f", {span(timedelta(seconds=age))} ago" if age and age >= 1 else ""
            words.append(f"last {unit}{number} at {clock(state['last_checkpoint_at'])}{ago}")
        elif number:  # at a time of day that no line dates
            words.append(f"last {unit}{number}")
        elif state["failures"]:
            words.append(f"no {unit} completed in these logs")
        if not state["failures"] and state["state"] is not None:  # of a connector no log counts its starts
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


def _reach(report: Report, verdict: Verdict | None) -> tuple[datetime | None, datetime | None]:
    """From a while before the first sign to the end of the evidence."""
    end = report.as_of or report.window[1]
    signs = [at for at in (verdict.since, *(m.at for m in verdict.timeline)) if at] if verdict else []
    if end is None or not signs or end <= min(signs):
        return report.window
    begin = min(signs) - (end - min(signs)) * _PICTURE_BEFORE
    return (max(begin, report.window[0]) if report.window[0] else begin), end


def story(verdict: Verdict, own: Iterable[Finding], most: int = _MOST_STORY) -> list[Told]:
    """What led to the verdict, in order of time: the findings of its chain, and the first and the last failed attempt."""
    chain = [f for code in verdict.chain for f in own if f.code == code and f.since]
    rows = [Told(f.since, _once(f, verdict), _count(f), _place(f.evidence)) for f in chain]
    attempts = [m for m in verdict.timeline if not m.code and m.at]
    ends = [attempts[0], *([attempts[-1]] if len(attempts) > 1 else [])] if attempts else []
    rows += [Told(m.at, _short(m.says), 1, "") for m in ends]
    rows.sort(key=lambda row: row.at.timestamp() if row.at else 0.0)
    if len(rows) > most:
        rows = [*rows[: most - 2], *rows[-2:]]
    return rows


def _once(finding: Finding, verdict: Verdict) -> str:
    """What a finding says; of what stands above as the headline only how it begins."""
    words = printable(finding.headline or finding.says)
    return textwrap.shorten(words, _BEGINNING, placeholder="…") if words == _headline(verdict) else words


def _also(report: Report, verdicts: Sequence[Verdict], own: Sequence[Finding]) -> list[tuple[str, str]]:
    """Other verdicts of the job, and findings that are in no verdict's chain."""
    others = [(_headline(v), v.code) for v in verdicts[1:]]
    named = {*verdicts[0].chain, *(v.code for v in verdicts)}
    return others + [(f"{changed(f)}{printable(f.headline or f.says)}", f.code) for f in own if f.code not in named]


def changed(finding: Finding) -> str:
    """What became of a finding since the baseline, as a mark before its words; nothing where there is none."""
    return f"{finding.change}: " if finding.change else ""


def became(finding: Finding) -> str:
    """What became of a finding since the baseline, a sentence."""
    was = f": {printable(finding.was)}" if finding.was else ""
    says = {
        "new": "New since the baseline",
        "worse": f"Worse than in the baseline{was}",
        "still": f"Still there since the baseline{was}",
        "unknown": f"Whether it is new is not known{was}",
    }
    return f"{says.get(finding.change or '', '')}."


def since_baseline(report: Report) -> list[tuple[str, str, str]]:
    """Label, words and style of what became of the findings of the baseline."""
    baseline = report.baseline
    if baseline is None:
        return []
    if baseline.failed is not None:
        return [("baseline", printable(f"{baseline.name}: {baseline.failed}"), "risk")]
    until = f" (until {baseline.as_of[:19].replace('T', ' ')})" if baseline.as_of else ""
    counts = ", ".join(f"{number} {_NUMBERED.get(each, each)}" for each in CHANGES if (number := baseline.counts.get(each)))
    rows = [("baseline", printable(f"{baseline.name}{until}: {counts or 'no findings in both'}"), "")]
    rows += [("baseline", printable(words), "dim") for words in baseline.remarks]
    for change in ("gone", "unknown"):
        missed = [each for each in baseline.missed if each.change == change]
        rows += [(change, printable(f"{each.says} [{each.code}]" + _clause(each.because)), "") for each in missed[:_MOST_MISSED]]
        if len(missed) > _MOST_MISSED:
            rows.append((change, f"and {len(missed) - _MOST_MISSED} more: -o json has them", "dim"))
    return rows


def _clause(because: str | None) -> str:
    return f": {because}" if because else ""


_NUMBERED = {"still": "still there"}
_MOST_MISSED = 5


def is_open(report: Report) -> bool:
    """Whether all there is to say is why there is no verdict, and what was noticed."""
    if not (report.clean or report.fragment) or report.found or report.verdicts or report.defects:
        return False
    return all(source.state == "ok" for source in report.sources) and doubt(report) is not None


_OPTION = re.compile(r"\((--?[\w-]+[^)]*|diag [^)]*)\)")


def remains(report: Report) -> list[tuple[str, str, str]]:
    """Label, words and style of what was read in part, of what was not checked in one row, and of notes."""
    bad = [s for s in report.sources if s.state != "ok"]
    compared = since_baseline(report)
    labels = {"partial": "partly read"}
    rows = compared + [(labels.get(s.state, "not read"), f"{printable(s.name)}: {printable(s.why or s.state)}", "risk") for s in bad[:3]]
    if len(bad) > 3:
        rows.append((rows[-1][0], f"and {len(bad) - 3} more", "risk"))
    rows += [("defect", f"{d.code} crashed, a defect in diag; the other rules judged", "risk") for d in report.defects[:2]]
    engines = {state["kind"] for state in report.job_state}
    reasons = [because for because, _ in unchecked_by_reason(report.not_checked) if not _is_of_another(because, engines)]
    in_rows = bool(report.verdicts or is_open(report) or nothing_wrong(report))  # else the all-clear says it
    if nothing_wrong(report):
        rows += [("not seen", printable(hidden), "") for hidden in report.unseen]
    if reasons and in_rows:
        words = [_unchecked(because) for because in reasons[: 3 if report.verdicts else 4]]
        if len(reasons) > len(words) and not report.verdicts:  # an all-clear hides nothing
            words.append(f"{len(reasons) - len(words)} more: -v")
        rows.append(("not checked", "; ".join(dict.fromkeys(words)), "dim"))
    always = [note for note in report.notes if is_of_left_out(note)]
    strange = [note for note in report.notes if note.startswith(NOT_UNDERSTOOD)]
    most = len(report.notes) if report.facts else _MOST_NOTES_BELOW if report.verdicts else _MOST_NOTES
    notes = report.notes[:most] if in_rows or report.facts else strange
    return rows + [("note", printable(note), "dim") for note in dict.fromkeys((*notes, *always))]


def _unchecked(because: str) -> str:
    option = _OPTION.search(because)
    words = {"--bootstrap-server": "live brokers (-b)", "--flink-rest": "JobManager (--flink-rest)"}
    if option and option[1] in words:
        return words[option[1]]
    return re.sub(r"^no (.*?) (?:was|were) (?:given|read|asked|looked at)\b", r"\1", printable(because))


def _is_of_another(because: str, engines: set[str]) -> bool:
    """Whether it is only of an engine that runs none of the jobs."""
    words = because.replace("(a TaskManager, a Spark executor)", "")
    of_spark = "Spark" in words or "Structured Streaming" in words
    of_flink = any(name in words for name in ("JobManager", "TaskManager", "Flink"))
    return bool(engines) and of_spark != of_flink and ((of_spark and "spark" not in engines) or (of_flink and engines == {"spark"}))


def _headline(verdict: Verdict) -> str:
    return printable(verdict.headline or verdict.says)


def _uncut(verdict: Verdict) -> str:
    """The headline; without what the decisive words, which stand below it whole, say again behind a colon."""
    headline = _headline(verdict)
    below = " ".join(quoted(quote) for quote in verdict.words)
    for colon in re.finditer(": ", headline):
        rest = headline[colon.end() :].rstrip("….")
        if len(rest) >= _RECOGNISED and rest[:_COMPARED] in below and len(below) > len(rest):
            return headline[: colon.start()] + "."
    return headline


_RECOGNISED, _COMPARED = 24, 40
"""So many letters of a quotation are no chance, and so many are compared."""


def _first_sentence(words: str) -> str:
    """The page of the rule has the others."""
    return re.split(r"(?<=[a-z)])\.\s", printable(words), maxsplit=1)[0].rstrip(".")


def _short(words: str) -> str:
    return clipped(words, 150)


_OWNERS = (("group", "consumer group"), ("query", "query"), ("client", "client"), ("broker", "broker"), ("topic", "topic"))
"""Keys of a subject that say what a fault is about where no job is known, and the words for them."""


def _name(report: Report, scope: str, job: str | None, verdict: Verdict | None) -> str:
    if job is None:
        about = _about(verdict)
        return f"{about} in {printable(scope)}" if scope and about else printable(scope) or about or "no job is named"
    name = printable(report.job_names.get(job) or job)
    return f"{name} in {printable(scope)}" if scope else name


def _about(verdict: Verdict | None) -> str:
    """Whose fault it is where no job is known."""
    subject = verdict.subject if verdict is not None else {}
    known = ((words, subject[key]) for key, words in _OWNERS if subject.get(key) is not None)
    if owner := owner_words(subject):
        return printable(owner)
    words, value = next(known, ("", None))
    if isinstance(value, (list, tuple)):
        words, value = f"{words}s" if len(value) > 1 else words, ", ".join(map(str, value))
    return printable(f"{words} {value}") if words else ""


def _has_times(state: Row) -> bool:
    return any(state[name] is not None for name in ("first_failure_at", "last_checkpoint_at"))


def _state_of(report: Report, scope: str, job: str | None) -> Row | None:
    return next((row for row in report.job_state if row["scope"] == scope and row["job"] == job), None)


def _state_word(state: Row | None) -> str:
    return shown_state(state) if state is not None else ""


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
