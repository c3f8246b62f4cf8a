"""The account of a verdict: the product's decisive words, where they were said, and the trouble beside it that explains it.

A rule's template says of what class a failure is. What broke, and what to change, mostly stands in one sentence of the product; where it
does not stand in the verdict's own lines, it stands in the last words of the process beside it.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from analyzers.causal.asks import asks_of, general_steps
from analyzers.causal.beside import Surroundings
from analyzers.causal.changes import part_of_change
from analyzers.causal.explain import Explained, explained
from analyzers.causal.links import LINKS
from analyzers.causal.observation import Entity, Observation
from analyzers.causal.repairs import MEMORY, REPAIRS
from analyzers.causal.stack import own_frames
from analyzers.causal.troubles import effect_of_words, troubles_of, waits_of
from analyzers.causal.words import Said, said_by
from analyzers.components.programs import Program
from analyzers.derived.failures.fault_neighbours import TOLD_BY
from analyzers.diagnosis.asking import MOST_STEPS, because_of_beside, by_mechanism, filled, inferred_as, refused_as
from analyzers.diagnosis.circumstances import circumstances
from analyzers.diagnosis.findings import SHOWS
from analyzers.diagnosis.named import named_in
from analyzers.diagnosis.programs import Programs
from analyzers.diagnosis.settings_named import settings_named
from analyzers.diagnosis.templates import fill
from analyzers.diagnosis.user_lines import place_of, user_line
from analyzers.inference import Inference, infer
from analyzers.inference.decisive import boiler_plate
from analyzers.logs.layouts.roles import SERVERS
from analyzers.logs.scan.selection import mask
from analyzers.report.advice import held_steps, line_of
from analyzers.report.codes import is_own
from analyzers.report.effects import EFFECTS, OF_CAUSE
from analyzers.report.finding import Defect, Finding, Quote, Severity
from analyzers.report.noticed import Noticed
from analyzers.report.report import Because, Verdict
from analyzers.tables import LOG_EVENTS, Row
from analyzers.tables.by_column import column

_QUOTED = frozenset({"WARN", "ERROR", "FATAL"})
_NO_EVENT = dict.fromkeys(LOG_EVENTS.names)
_Place = tuple[str | None, int | None]

_STEPS = frozenset({"job-state", "job-terminal", "task-failed", "task-state", "query-failed", "restart-suppressed"})
"""Steps of a life cycle, which give the reason in the trace below them or not at all."""
_MOST_ROWS = 2_000  # of one verdict: the words of more failures are the same ones again
_SHAPE = 200
_BELIEVED = 0.5
"""From this belief on the explanation is the headline; below it only its words are quoted."""
_PROVEN = 0.6
"""From this belief on the steps of the explanation replace those of the class."""
_MOST_BESIDE = 3
_DECISIVE_GROUPS = 2
_LASTING = frozenset({"barrier-held", "progress-held"})
"""Effects of which a job says nothing while they last: they go on to the end of the evidence."""
_UNFIT = frozenset({"incompatible", "key-type"})
"""Reasons for which every other state of the job is as unfit."""
_OUTSIDE = frozenset({"access", "exhausted", "full", "memory", "unanswered", "unavailable"})
"""Kinds of failure that no other state would end."""

_POSITION = ("topic", "partition", "offset")
"""What the line before each failure may add to what the failures are about: where the record lies."""


@dataclass(frozen=True)
class _Group:
    """Rows of one verdict that say the same."""

    said: Said
    rows: tuple[Row, ...]
    weight: tuple[bool, bool, bool, bool, int]


class Accounts:
    """The accounts of a run's verdicts; only scopes that have a verdict are looked at."""

    def __init__(self, tables: Mapping[str, Sequence[Row]], findings: Sequence[Finding], programs: Programs | None = None) -> None:
        self._tables = tables
        self._programs = programs or Programs(tables, findings)
        self._findings: defaultdict[str, list[Finding]] = defaultdict(list)
        for finding in findings:
            self._findings[finding.scope].append(finding)
        self._rows: dict[str, dict[str, list[Row]]] = {}
        self._troubles: dict[str, list[Observation]] = {}
        self._surroundings: dict[str, Surroundings] = {}
        self._indexes: dict[tuple[str, str, tuple[str, ...]], dict[tuple[Any, ...], list[int]]] = {}

    def of_all(self, verdicts: Sequence[Verdict]) -> tuple[list[Verdict], list[Defect]]:
        """`verdicts` with their accounts; where making one fails, the verdict as it was, and a defect."""
        return _each(verdicts, self.of)

    def of_warnings(self, findings: Sequence[Finding], verdicts: Sequence[Verdict]) -> tuple[list[Finding], list[Defect]]:
        """`findings`, where a scope has no verdict with the words and the surroundings of its warnings; as `of_all` where that fails."""
        judged = {verdict.scope for verdict in verdicts}

        def quoting(finding: Finding) -> Finding:
            alone = finding.severity is Severity.WARNING and finding.scope not in judged
            return self._quoting(finding) if alone else finding

        return _each(findings, quoting)

    def _quoting(self, finding: Finding) -> Finding:
        groups = self._groups(finding.scope, finding.job, finding, [])
        beside, changed = self._beside(finding.scope, finding.headline, finding.subject, groups)
        return replace(finding, words=(self._quote(groups[0]),) if groups else tuple(_samples(finding)), beside=beside, changed=changed)

    def of_noticed(self, rows: Sequence[Noticed]) -> list[Noticed]:
        """`rows`, of scopes without a verdict, those that say most with their surroundings."""
        leads = {id(row) for row in rows if row.telling and (row.inferred or row.loss) and row.evidence}
        alone = Accounts(self._tables, (), self._programs)
        for row in rows:
            if id(row) in leads:
                alone._findings[row.scope]  # its lines are looked at
        return [alone._surrounded(row) if id(row) in leads else row for row in rows]

    def _surrounded(self, noticed: Noticed) -> Noticed:
        shown = noticed.evidence[0]
        place = {(shown.file, shown.line)}
        lines = [row for name in ("log_events", "log_remarks") for row in self._with(name, noticed.scope, ("file", "line"), place)]
        said = said_by({**_NO_EVENT, **lines[0]}) if lines else None
        own = [_Group(said, tuple({**_NO_EVENT, **row} for row in lines), (True, True, True, False, 1))] if said is not None else []
        beside, changed = self._beside(noticed.scope, noticed.inferred, noticed.subject, own, None, noticed.first, None)
        return replace(noticed, beside=beside[:_MOST_BESIDE_NOTICED], changed=changed)

    def of(self, verdict: Verdict) -> Verdict:
        """`verdict` with its words, what explains it, and what the settings are that its steps name."""
        told = self._told(verdict)
        rows = self._of_scope("settings", verdict.scope)
        return replace(told, settings=settings_named((told.headline or "", *told.steps), rows)) if rows else told

    def _told(self, verdict: Verdict) -> Verdict:
        main, mates = self._members(verdict)
        if main is None:
            return verdict
        if main.inferred:
            verdict = replace(verdict, certainty="inferred")
        program = self._programs.of(main)
        own = self._groups(verdict.scope, verdict.job, main, mates)
        words = [self._quote(own[0])] if own else _samples(main)
        effect = str(main.detail.get(SHOWS) or OF_CAUSE[verdict.cause])
        if is_own(verdict.code):
            return self._of_own_rule(verdict, own, words)
        inferred = self._inference(own[0].rows[0]) if own and own[0].said.thrown else None
        verdict = self._with_circumstances(verdict, inferred, program)
        if inferred is not None:
            verdict = inferred_as(refused_as(verdict, inferred, effect, own[0].said, program), inferred, own[0].said, main, program)
            verdict = replace(_advised(verdict, inferred.advice), component=_component(inferred))
        verdict = by_mechanism(verdict, own[0].said, program) if own else verdict
        verdict = _without_general(verdict, main)
        found = self._cause(verdict, effect, own, {(e.file, e.line) for e in main.evidence})
        verdict = self._placed(verdict, own, found)
        if found is None:
            vague = verdict.missing is not None or inferred is None or inferred.kind is None
            return because_of_beside(
                replace(verdict, words=tuple(words)), own[0].said if own else None, program, vague=vague,
                file=own[0].rows[0]["file"] if own else None,
            )  # fmt: skip
        cause = found.by
        because = Because(cause.effect, EFFECTS[cause.effect], cause.first, cause.file, cause.line)
        quotes = tuple(dict.fromkeys((self._quoted(cause), *words)))
        role = self._role(verdict.scope, cause.file)
        neighbour = self._programs.of_file(verdict.scope, cause.file) if cause.file is not None else program
        return _retold(replace(verdict, words=quotes, because=(because,)), effect, found, role, neighbour or program)

    def _of_own_rule(self, verdict: Verdict, own: Sequence[_Group], words: Sequence[Quote]) -> Verdict:
        """The headline and the steps that a user wrote, beside what the lines say."""
        return self._placed(replace(verdict, words=tuple(words)), own, None)

    def _placed(self, verdict: Verdict, own: Sequence[_Group], found: Explained | None) -> Verdict:
        """`verdict` with what it is about, what stands before its failures and beside it, and what changed; `found`: its cause."""
        before = self._before(verdict, own)
        named = self._named(verdict, own, before)
        names = {**named, **verdict.subject}
        beside, changed = self._beside(verdict.scope, verdict.headline, names, own, found, verdict.since, self._called(verdict))
        return replace(verdict, beside=beside, changed=changed, named=named, before=before)

    def _before(self, verdict: Verdict, own: Sequence[_Group]) -> tuple[Quote, ...]:
        """What its log says before each of equal failures (`readers/before_failures.py`)."""
        kinds = {(row["file"], row["signature"], row["root_exception"]) for group in own for row in group.rows}
        for row in self._with("log_events", verdict.scope, ("file", "signature", "root_exception"), kinds):
            detail = row["detail"] or {}
            if "before" in detail:
                return (Quote(detail["before"], None, row["file"], int(detail["before_line"]), int(detail["before_times"])),)
        return ()

    def _called(self, verdict: Verdict) -> str | None:
        """The name of a verdict's job."""
        rows = self._with("jobs_seen", verdict.scope, ("job",), [(verdict.job,)]) if verdict.job is not None else []
        return next((row["name"] for row in rows if row["name"]), None)

    def _named(self, verdict: Verdict, own: Sequence[_Group], before: Sequence[Quote]) -> dict[str, Any]:
        """What the lines of a verdict are about, and that before each of them, beside its subject."""
        rows = [row for group in own[:1] for row in group.rows]
        files = {(row["file"],) for row in rows if row["file"]}
        process = self._with("log_events", verdict.scope, ("file",), files)
        at = named_in([{"text": quote.words} for quote in before], ())
        named = {**{key: at[key] for key in _POSITION if key in at}, **named_in(rows, process)}
        return {key: value for key, value in named.items() if key not in verdict.subject}

    def _with_circumstances(self, verdict: Verdict, inferred: Inference | None, program: Program) -> Verdict:
        """`verdict` with the steps that what its failures have in common asks for, before those of its class."""
        if verdict.job is None:
            return verdict
        faults, attempts = (self._with(table, verdict.scope, ("job",), [(verdict.job,)]) for table in ("faults", "attempts"))
        deploying = [("task-deploying", job) for job in (verdict.job, None)]
        deployed = self._with("log_events", verdict.scope, ("signature", "job"), deploying)
        named = ((row["detail"] or {}).get("named_host") for row in deployed)
        hosts = {host for host in named if host}
        task = verdict.subject.get("task")
        common = circumstances(faults, attempts, hosts)
        in_state = (inferred is None or inferred.kind not in _OUTSIDE) and verdict.reason not in _UNFIT
        steps = held_steps(common.steps(task if isinstance(task, str) else None, in_state=in_state), program)
        return replace(verdict, steps=(*steps, *verdict.steps)[:MOST_STEPS]) if steps else verdict

    @staticmethod
    def _inference(row: Row) -> Inference | None:
        """What the names, words and frames of an event say of the failure."""
        return infer(row["text"] or "", thread=row.get("thread"), logger=row.get("logger"))

    def _role(self, scope: str, file: str | None) -> str | None:
        """Which process wrote a log."""
        return next((row["role"] for row in self._of_scope("log_events", scope) if row["file"] == file and row["role"]), None)

    # ---- what the verdict stands on -------------------------------------------------------------------------------

    def _members(self, verdict: Verdict) -> tuple[Finding | None, list[Finding]]:
        """The finding that the verdict is made of, and the others of its cause and job."""
        same = [f for f in self._findings[verdict.scope] if f.cause == verdict.cause and f.job in (verdict.job, None)]
        mains = [f for f in same if f.code == verdict.code and f.reason == verdict.reason]
        exact = [f for f in mains if f.subject == verdict.subject]
        main = next(iter(exact or mains), None)
        return main, [f for f in same if f is not main and f.severity is Severity.CRITICAL]

    def _of_scope(self, table: str, scope: str) -> list[Row]:
        if table not in self._rows:
            by_scope: dict[str, list[Row]] = defaultdict(list)
            self._rows[table] = by_scope
            wanted = set(self._findings)
            for number, each in enumerate(column(self._tables.get(table, ()), "scope")):
                if each in wanted:
                    by_scope[each].append(self._tables[table][number])
        return self._rows[table].get(scope, [])

    def _with(self, table: str, scope: str, columns: tuple[str, ...], values: Iterable[tuple[Any, ...]]) -> list[Row]:
        """The rows of a scope with one of `values` in `columns`, in their order; looked up, for a scope may have hundreds of verdicts."""
        rows = self._of_scope(table, scope)
        index = self._indexes.get((table, scope, columns))
        if index is None:
            index = self._indexes[table, scope, columns] = {}
            for number, row in enumerate(rows):
                index.setdefault(tuple(row[column] for column in columns), []).append(number)
        return [rows[number] for number in sorted(number for each in set(values) for number in index.get(each, ()))]

    def _groups(self, scope: str, job: str | None, main: Finding, mates: Sequence[Finding]) -> list[_Group]:
        """What the verdict's own lines say, by shape; the most telling first."""
        for findings in ([main], mates):
            places: set[_Place] = {(e.file, e.line) for f in findings for e in f.evidence if e.line is not None}
            places |= self._told_by(scope, places)
            if groups := _grouped(self._own_rows(scope, job, findings, places), places):
                return groups
        return []

    def _told_by(self, scope: str, places: set[_Place]) -> set[_Place]:
        """The places of the lines that say why, of failures whose own lines lack it."""
        own = ((row["detail"] or {}).get(TOLD_BY) for row in self._with("faults", scope, ("file", "line"), places))
        told = [by.partition(":") for by in dict.fromkeys(own) if by][:_MOST_TOLD]
        return {(file, int(line)) for line, _, file in told}

    def _own_rows(self, scope: str, job: str | None, findings: Sequence[Finding], places: set[_Place]) -> list[Row]:
        faults = {fault for f in findings for fault in f.detail.get("fault_ids") or ()}
        rows = self._with("log_events", scope, ("file", "line"), places)
        if faults:
            of_job = self._with("faults", scope, ("job",), [(job,), (None,)])
            rows += [r for r in of_job if r["fault"] in faults and (r["file"], r["line"]) not in places]
        return rows[:_MOST_ROWS]

    @staticmethod
    def _quote(group: _Group) -> Quote:
        first = group.rows[0]
        return Quote(group.said.words, group.said.thrown, first["file"], group.said.line, _reports(group.rows))

    @staticmethod
    def _quoted(trouble: Observation) -> Quote:
        return Quote(trouble.words, trouble.thrown, trouble.file, trouble.line, trouble.count)

    # ---- what explains it -----------------------------------------------------------------------------------------

    def _cause(self, verdict: Verdict, effect: str, own: Sequence[_Group], evidence: set[_Place]) -> Explained | None:
        """The trouble beside the verdict that explains it; none where the verdict's own words state one."""
        stated = effect_of_words(f"{own[0].said.thrown}: {own[0].said.words}") if own else None
        if stated is not None:
            return self._stated(stated, effect, own[0]) if verdict.missing else None
        if verdict.scope not in self._troubles:
            waits, samples = (self._of_scope(name, verdict.scope) for name in ("thread_waits", "stack_samples"))
            remarks = [{**_NO_EVENT, **row} for row in self._of_scope("log_remarks", verdict.scope) if row["level"] in _QUOTED]
            events = self._of_scope("log_events", verdict.scope)
            self._troubles[verdict.scope] = [*troubles_of([*events, *remarks]), *waits_of(waits, samples)]
        times = [row["at"] for group in own for row in group.rows if row["at"] is not None]
        first = min([*times, *([verdict.since] if verdict.since else [])], default=None)
        if effect in _LASTING:
            times += [row["as_of"] for group in own for row in group.rows if row["as_of"] is not None]
        shown = Observation(effect, frozenset(_entities(verdict.subject)), first, max(times, default=first))
        beside = [each for each in self._troubles[verdict.scope] if (each.file, each.event_line) not in evidence]
        found = explained(shown, beside)
        return None if found is not None and own and found.by.words == own[0].said.words else found

    def _beside(
        self, scope: str, headline: str | None, names: Mapping[str, Any], own: Sequence[_Group], cause: Explained | None = None,
        since: datetime | None = None, job: str | None = None,
    ) -> tuple[tuple[Quote, ...], tuple[Quote, ...]]:  # fmt: skip
        """What lines of other processes, of notes, and below an error say of the things that a finding names, and what changed before."""
        if scope not in self._surroundings:
            self._surroundings[scope] = Surroundings(self._of_scope("log_remarks", scope), self._of_scope("log_events", scope))
        around = self._surroundings[scope]
        rows = [row for group in own for row in group.rows]
        times = [row["at"] for row in rows if row["at"] is not None]
        subject = [value for value in names.values() if isinstance(value, str)]
        decisive = " ".join([headline or "", *subject, *(group.said.words for group in own[:_DECISIVE_GROUPS])])
        if cause is not None:
            decisive = f"{decisive} {cause.by.who or ''} {cause.by.words}"
        said = [f"{group.said.thrown}: {group.said.words}" for group in own[:1]]  # of a long headline the end is not looked at
        asks = next(filter(None, map(asks_of, [*said, headline or ""])), None)
        found = around.of(decisive, rows, min(times, default=None), max(times, default=None), _MOST_BESIDE, job, asks)
        changed = around.changed(decisive, rows, min([*times, *([since] if since else [])], default=None), asks)
        quotes = tuple(_quote_of(each.row) for each in found)
        if changed is None or any(each.row is changed for each in found):
            return quotes, ()
        note = changed["level"] is None and not changed.get("chain")
        return quotes, (_quote_of({**changed, "text": part_of_change(changed["text"] or "")} if note else changed),)

    @staticmethod
    def _stated(stated: str, effect: str, own: _Group) -> Explained | None:
        """That the verdict's own words state what its class does not know; None where the two are not linked."""
        link = next((link for link in LINKS if (link.cause, link.effect) == (stated, effect)), None)
        row = own.rows[0]
        by = Observation(
            stated, frozenset(), row["at"], row["at"], _reports(own.rows), own.said.words, own.said.thrown, row["file"], own.said.line,
            text=row["text"] or "",
        )  # fmt: skip
        return Explained(by, link, 1.0) if link is not None else None


_Judged = TypeVar("_Judged", Verdict, Finding)


def _each(whole: Sequence[_Judged], account: Callable[[_Judged], _Judged]) -> tuple[list[_Judged], list[Defect]]:
    """Each with its account. Where making one fails it stays as it was: what is known of the failure must not be lost with its words."""
    accounts, defects = [], []
    for each in whole:
        try:
            accounts.append(account(each))
        except Exception as error:
            accounts.append(each)
            defects.append(Defect(each.code, f"account: {type(error).__name__}: {error}"))
    return accounts, defects


_OF_TABLES = ("metric_troubles", "marks_at_minimum", "sink_skips", "replication_slots")


def _samples(finding: Finding) -> list[Quote]:
    """The first line of a pasted table or scrape that a finding stands on: it is all that was printed."""
    shown = [e for e in finding.evidence if e.table in _OF_TABLES and e.line is not None]
    return [Quote(e.text, None, e.file, e.line) for e in shown[:1]]


def _quote_of(row: Row) -> Quote:
    """A line without its time, level and logger, with the line of the user's code where a trace names one."""
    said = said_by(row)
    frames = own_frames(row["text"] or "")
    if row["level"] is None and not row.get("chain") and _ROW.match(row["text"] or ""):
        return Quote(" ".join((row["text"] or "").partition("\n")[0].split()), None, row["file"], said.line)  # its time belongs to it
    words = _JSON.sub(_unquoted, said.words) if said.words.startswith("{") else said.words
    return Quote(f"{words} at {frames}" if frames else words, said.thrown, row["file"], said.line)


_ROW = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?Z?(?:\t| ?\||  )")
"""A row of a table that begins with a time."""
_JSON = re.compile(r'^\{.*?"(?:msg|message|error|reason)" ?: ?"((?:[^"\\]|\\.)*)"(.*)$')


def _unquoted(found: re.Match[str]) -> str:
    """Message and values of a line of JSON that no layout knows."""
    return f"{found[1]} {' '.join(_BRACES.sub(' ', found[2]).split())}"


_BRACES = re.compile(r'[{}"]+')


def _advised(verdict: Verdict, advice: Sequence[str]) -> Verdict:
    """`verdict` with what the product itself advises as its first step, marked as the product's words.

    Not where it only leads to a manual, nor where it turns a setting that the page calls no help or a danger.
    """
    warned = set(_SETTING.findall(f"{verdict.no_help or ''} {verdict.danger or ''}"))
    useful = [each.strip() for each in advice if not _MANUAL.search(each) and not warned & set(_SETTING.findall(each))]
    advised = replace(verdict, advice=tuple(advice))
    if not useful:
        return advised
    said = f"“{useful[0]}” {_BY_PRODUCT}"
    own = [step for step in verdict.steps if step not in _GENERAL]
    steps = (*own[: MOST_STEPS - 1], said) if _GIVES_UP.search(useful[0]) else (said, *own)
    return replace(advised, steps=steps[:MOST_STEPS])


def _without_general(verdict: Verdict, main: Finding) -> Verdict:
    """`verdict` without the general steps of its page, where another step is about this very case."""
    general = {line.text for line in main.advice if line.general} | _GENERAL
    if all(step in main.steps or step in _GENERAL for step in verdict.steps):
        return verdict
    return replace(verdict, steps=tuple(step for step in verdict.steps if step not in general))


_MOST_TOLD, _MOST_BESIDE_NOTICED = 5, 2
_BY_PRODUCT = "(the product's own words)"
_GIVES_UP = re.compile(
    r"(?i)\bsnapshot|\ballowNonRestored|\bwithout (?:\w+ )?state|\b(?:clean|delet|drop|remov|reset|truncat|recreat|wip)\w*\b|\bfrom scratch"
)
"""Advice that gives up what may still be there: it comes after what looks for that."""
_GENERAL = frozenset(line_of(step).text for step in general_steps())
"""Steps for a kind of failure, which give way to one about this very case."""
_SETTING = re.compile(r"--[\w-]+|\b[a-z][\w-]*(?:\.[\w-]+)+\b")
_MANUAL = re.compile(
    r"(?i)\b(?:learn more|for more (?:information|details)|see (?:the )?[\w ]{0,30}(?:doc|guide|manual|https?:)|refer to|contact"
    r"|linked exception|nested exception|(?:previous|following) (?:message|error)s?"
    r"|(?:check|see|consult|examine) (?:the )?(?:\w+ )?(?:log|cause)s?)\b"
)
"""Advice that only sends the reader elsewhere."""


def _component(inferred: Inference) -> str | None:
    """``flink-connector-jdbc 3.1.2``, where the trace names the jar and its version."""
    name, version = inferred.connector or (None, None)
    return f"{name} {version}" if name and version else None


def _retold(verdict: Verdict, effect: str, found: Explained, role: str | None, program: Program) -> Verdict:
    """`verdict` with the headline and the steps of what explains it, as far as that is believed."""
    cause, repair = found.by, REPAIRS.get(found.by.effect)
    if repair is None or effect in REPAIRS or found.belief < (_BELIEVED if verdict.missing else _PROVEN):
        return verdict
    own = user_line(cause.text)
    engine, memory = MEMORY.get(role or "", ("", None))
    facts = {
        "own": own_frames(cause.text) or (place_of(own) if own else None),
        "process": posixpath.basename(cause.file) if cause.file else None,
        "words": cause.words,
        "who": cause.who or "A thread",
        "memory": memory if engine in program.names or role in SERVERS else None,
        **(cause.holder._asdict() if cause.holder else {}),
    }
    root = fill(repair.headline, None, facts, brief=True) or ""
    headline = f"{root.rstrip('.')}, so {_outcome(verdict, effect)}."
    steps = filled(repair.steps, program, facts)
    proven = found.belief >= _PROVEN
    return replace(
        verdict,
        headline=headline,
        says=f"{headline} {verdict.says}",
        steps=steps if proven else (*steps, *verdict.steps)[:MOST_STEPS],
        missing=None if proven else verdict.missing,
    )


def _outcome(verdict: Verdict, effect: str) -> str:
    """What the verdict's class says of the job, with the name of what is concerned."""
    subject = verdict.subject
    name = next((str(subject[key]) for key in ("executor", "resource", "container", "pod") if subject.get(key) is not None), None)
    if effect == "worker-gone" and name:
        return f"worker {name} is gone"
    if effect in _OUTCOMES:
        return _OUTCOMES[effect]
    return EFFECTS[effect]


_OUTCOMES = {"attempt-fails": "the job fails", "barrier-held": "checkpoints expire"}


def _grouped(rows: Iterable[Row], evidence: set[_Place]) -> list[_Group]:
    groups: dict[tuple[str | None, str], list[tuple[Row, Said]]] = defaultdict(list)
    for row in rows:
        said = said_by(row)
        if said.words:
            groups[said.thrown, mask(said.words)[:_SHAPE]].append((row, said))
    found = []
    for own in _deepened(list(groups.values())):
        of_own = tuple(row for row, _ in own)
        chained = any(row["chain"] for row in of_own)
        tells = chained or any(row["level"] in _QUOTED or row["signature"] == "task-stuck-cancelling" for row in of_own)
        if not tells and (any(row["signature"] in _STEPS for row in of_own) or not _says_why(own[0][1].words)):
            continue  # a step of a life cycle, which gives no reason
        shown = any((row["file"], row["line"]) in evidence for row in of_own)
        says = not boiler_plate(own[0][1].thrown or "", own[0][1].words)
        found.append(_Group(own[0][1], of_own, (tells, says, shown, chained, _reports(of_own))))
    return sorted(found, key=lambda group: group.weight, reverse=True)


def _deepened(groups: Sequence[list[tuple[Row, Said]]]) -> list[list[tuple[Row, Said]]]:
    """`groups`, those whose chain of exceptions is the beginning of another one's added to that: a log prints the whole trace once."""
    chains = [tuple(_SPACES.sub(" ", each) for each in own[0][0]["chain"] or ()) for own in groups]
    into: dict[int, int] = {}
    for number, chain in enumerate(chains):
        longer = [n for n, other in enumerate(chains) if chain and len(other) > len(chain) and other[: len(chain)] == chain]
        if longer:
            into[number] = max(longer, key=lambda n: len(chains[n]))
    return [
        own + [each for other, target in into.items() if target == number for each in groups[other]]
        for number, own in enumerate(groups)
        if number not in into
    ]


_SPACES = re.compile(r"\s+")


def _says_why(words: str) -> bool:
    """Whether a line without an exception names a kind of failure."""
    inferred = infer(words)
    return inferred is not None and inferred.kind is not None


def _reports(rows: Sequence[Row]) -> int:
    """In how many lines the same was said."""
    return len({(row["file"], row["line"]) for row in rows})


def _entities(subject: Mapping[str, Any]) -> Iterable[Entity]:
    task, subtask = subject.get("task"), subject.get("subtask")
    if isinstance(task, str):
        yield "task", task
        if isinstance(subtask, int):
            yield "subtask", task, str(subtask)
    for kind, keys in (
        ("worker", ("resource", "executor", "container")),
        ("host", ("host",)),
        ("group", ("group",)),
        ("broker", ("address",)),
        ("service", ("address",)),
    ):
        for key in keys:
            if isinstance(value := subject.get(key), (str, int)):
                yield kind, str(value)
