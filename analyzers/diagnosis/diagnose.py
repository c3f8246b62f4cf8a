"""From evidence tables to a report: derive, run the rules, weigh the findings. The one path of live runs, bundles, tests and the fleet."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from analyzers.derived import derive
from analyzers.derived.failures.rest_faults import forgotten
from analyzers.derived.open_ends import batches_before
from analyzers.diagnosis.account import Accounts
from analyzers.diagnosis.contradictions import without_contradictions
from analyzers.diagnosis.coverage import (
    ABSENT,
    FOREIGN,
    LOG_TABLES,
    MISSING_LOG_TEXTS,
    UNLISTED,
    UNMEASURED,
    asked_elsewhere,
    foreign_lines,
    no_topic,
    not_looked_at,
    not_understood,
    rules_without_logs,
    rules_without_rows,
    too_short,
    unread,
    unrecognised,
)
from analyzers.diagnosis.history import history
from analyzers.diagnosis.impact import impacts
from analyzers.diagnosis.looked_at import counts_of, looked_at
from analyzers.diagnosis.network_views import weigh_disagreement
from analyzers.diagnosis.next_commands import Places
from analyzers.diagnosis.noticed import fragment, noticed
from analyzers.diagnosis.programs import Programs
from analyzers.diagnosis.recovered import weigh_passed
from analyzers.diagnosis.run_rules import Outcome, run_rules
from analyzers.diagnosis.same_run import SameRun
from analyzers.diagnosis.verdicts import verdicts_of
from analyzers.diagnosis.window import (
    LOGS_GO_ON,
    ended_before,
    ends_early,
    log_clocks,
    moment,
    newest_per_scope,
    number_from_the_start,
    starts_before,
    within,
)
from analyzers.report.codes import is_own
from analyzers.report.finding import STAGES, Finding, NotChecked, Severity
from analyzers.report.report import Report, Source, Verdict
from analyzers.rules.catalogue import load_rules
from analyzers.tables import Row
from analyzers.tables.by_column import ByColumn
from analyzers.tables.memory import gc_paused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from analyzers.vocabulary.rule import Rule


BARRIER_TABLES = ("vertices", "checkpoint_acks", "barrier_frontier")
_LIVE = ("bootstrap_servers", "groups", "jobs")
"""Tables that only a system that was asked can give: their moment is the report's."""


def judge(
    tables: Mapping[str, Sequence[Row]],
    session: Callable[[], SparkSession],
    *,
    command: str,
    version: str,
    runs: Callable[[str], bool] = lambda code: True,
    keeps: Callable[[Finding], bool] = lambda finding: True,
    since: datetime | timedelta | None = None,
    until: datetime | timedelta | None = None,
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
    absent: Mapping[str, str] | None = None,
    notes: Iterable[str] = (),
    rules: Iterable[Rule] | None = None,
    ended: Callable[[], str | None] = lambda: None,
    own: bool = False,
) -> Report:
    """Judge `tables` (evidence tables by name). `session` is asked for a Spark session only if a rule has rows to look at.

    `runs` and `keeps` choose rules by code and findings; `since` / `until` are times, or ages counted back from the newest evidence.
    `ended` tells why Spark is no more, None while it is there. `own`: rows of log events may be changed, not copied.

    Raises nothing of a rule's own: a crashing rule becomes a defect of the report.
    """
    found = prepared(tables, since, until, own=own)
    judged = load_rules() if rules is None else list(rules)
    outcome = run_rules(
        [r for r in judged if runs(r.code)],
        found.whole,
        session,
        absent=why_missing(found, absent),
        thresholds=thresholds,
        ended=ended,
        untold=why_empty(found),
    )
    return concluded(found, outcome, judged, command=command, version=version, keeps=keeps, notes=notes)


@dataclass
class Prepared:
    """The tables of a run as they were given, those within its window, and with those that are derived from them."""

    tables: Mapping[str, Sequence[Row]]
    evidence: Mapping[str, Sequence[Row]]
    whole: dict[str, Sequence[Row]]
    logged: Mapping[str, datetime]
    stated: Mapping[str, datetime]
    from_: datetime | None
    to: datetime | None


def prepared(
    tables: Mapping[str, Sequence[Row]],
    since: datetime | timedelta | None = None,
    until: datetime | timedelta | None = None,
    *,
    own: bool = False,
) -> Prepared:
    """What is to be done before any rule judges; with the parameters of `judge`."""
    logged, stated = newest_per_scope(tables)
    newest = max((logged or stated).values(), default=None)
    from_, to = moment(since, newest), moment(until, newest)
    with gc_paused():
        evidence = within(tables, from_, to)
        logged = newest_per_scope(evidence)[0]  # what is later than --until is not known to anybody here
        for name, rows in evidence.items():
            # logs end when their last line was written, however much later a broker was asked or a checkpoint was copied
            clock = {**stated, **logged} if name.startswith("log_") else {**logged, **stated}
            for row in rows if not isinstance(rows, ByColumn) else ():  # dated, or it would have been copied
                if not row["as_of"]:
                    row["as_of"] = clock.get(row["scope"])
        whole = derive(evidence, own=own)
        if from_ is not None and evidence.get("log_events"):
            number_from_the_start(whole, tables["log_events"])
            whole["open_ends"] = [*whole["open_ends"], *batches_before(from_, tables)]
    return Prepared(tables, evidence, whole, logged, stated, from_, to)


def why_missing(found: Prepared, absent: Mapping[str, str] | None = None) -> dict[str, str]:
    """Why a table is not there, in the words of *not checked*; `absent`: what is known of that already."""
    return {
        **ABSENT,
        **(UNLISTED if "checkpoint_files" in found.evidence else {}),
        **(UNMEASURED if found.evidence.get("vertices") else {}),
        **unread(found.evidence),
        **(absent or {}),
    }


def why_empty(found: Prepared) -> dict[str, str]:
    """The same of a table that is there and has no row."""
    return {**MISSING_LOG_TEXTS, **no_topic(found.evidence)}


@gc_paused()
def concluded(
    found: Prepared,
    outcome: Outcome,
    judged: Sequence[Rule],
    *,
    command: str,
    version: str,
    keeps: Callable[[Finding], bool] = lambda finding: True,
    notes: Iterable[str] = (),
) -> Report:
    """The report of what `judged` said."""
    tables, evidence, whole, logged, stated = found.tables, found.evidence, found.whole, found.logged, found.stated
    from_, to = found.from_, found.to
    of_logs = [r for r in judged if {*r.tables} <= LOG_TABLES]
    of_any_log = {r.code for r in of_logs if not r.logs_of}
    if unrecognised(whole):  # whatever these lines are, they are no evidence that a job is well
        codes = {r.code for r in of_logs}
        foreign = {code for code in outcome.clean if code in codes or not asked_elsewhere(evidence)} - of_any_log
        outcome.take_back([NotChecked(code, FOREIGN) for code in sorted(foreign)])
    outcome.take_back(rules_without_logs([r for r in of_logs if r.logs_of and r.code in outcome.clean], whole))
    outcome.take_back(rules_without_rows([r for r in judged if r.code in outcome.clean], whole))
    outcome.take_back(too_short(outcome.clean, whole))
    outcome.take_back(not_looked_at(outcome.clean, whole))
    programs = Programs(whole, outcome.findings)
    every = weigh_passed(weigh_disagreement([programs.fitted(finding) for finding in outcome.findings]), whole, logged)
    findings = sorted((f for f in every if keeps(f) and not ended_before(from_, f)), key=finding_order)
    places = Places(whole)
    known_ill = [finding for finding in findings if finding.severity is not Severity.UNDECIDED]
    verdicts = without_contradictions(verdicts_of(known_ill, whole))
    findings = without_contradictions(findings, first=verdicts)
    run = SameRun(whole)
    named = run.names(findings)
    verdicts, findings = run.verdicts(verdicts, findings, named), named
    accounts = Accounts(whole, findings, programs)
    verdicts, defects = accounts.of_all(verdicts)
    findings, more = accounts.of_warnings(findings, verdicts)
    known = max((logged or stated).values(), default=None)
    as_of = max((row["as_of"] for name in _LIVE for row in tables.get(name, ()) if row["as_of"]), default=known)
    if known is not None and as_of is not None and as_of < known <= as_of + LOGS_GO_ON:
        as_of = known
    first = min((e["at"] for e in evidence.get("log_events", ()) if e["at"]), default=None)
    notes = [*notes, *ends_early(to, logged)]
    return Report(
        tool="diag",
        version=version,
        command=command,
        as_of=as_of,
        window=(from_ or first, to or as_of),
        sources=_sources(evidence) + ([Source("Spark", "spark", "failed", outcome.ended)] if outcome.ended is not None else []),
        verdicts=[
            replace(places.advised(v), next_command=places.completed(v.next_command, v), impact=late_or_lost)
            for v, late_or_lost in zip(verdicts, impacts(verdicts, whole), strict=True)
        ],
        findings=[
            replace(places.advised(f), detail={**f.detail, "next_command": places.completed(f.detail.get("next_command"), f)})
            for f in findings
        ],
        clean=sorted(outcome.clean),
        not_checked=sorted(outcome.not_checked, key=lambda n: n.code),
        defects=sorted([*outcome.defects, *defects, *more], key=lambda d: d.code),
        notes=[
            *notes,
            *forgotten(whole),
            *_planned(whole.get("attempts", ())),
            *_tests(whole.get("log_events", ())),
            *([] if any(f.severity is not Severity.UNDECIDED for f in findings) else foreign_lines(whole)),
            *not_understood(whole),
        ],
        looked_at=looked_at(counts := counts_of(whole)),
        counts=counts,
        log_roles=dict(sorted(Counter(row["role"] or "unknown" for row in evidence.get("log_files", ())).items())),
        job_names={row["job"]: row["name"] for name in ("jobs_seen", "jobs") for row in whole.get(name, ()) if row["job"] and row["name"]},
        job_state=whole.get("job_state", ()),
        history=history(whole, as_of),
        barriers=barriers(verdicts, whole),
        log_clocks=log_clocks(whole.get("log_files", ())),
        unseen=[] if verdicts else [*undecided(findings), *starts_before(from_, tables)],
        noticed=accounts.of_noticed(noticed(whole, every, verdicts, places, judged)),
        fragment=fragment(whole, asked_elsewhere(evidence)),
        left_out=[f.code for f in every if not keeps(f)],
        own_rules={r.code: r.title for r in judged if is_own(r.code)},
    )


def finding_order(f: Finding) -> tuple[object, ...]:
    return (-f.severity.rank, f.code, f.job or "", sorted((k, str(v)) for k, v in f.subject.items()), STAGES.index(f.stage), f.scope)


def _sources(tables: Mapping[str, Sequence[Row]]) -> list[Source]:
    rows = sorted(tables.get("sources", ()), key=lambda r: (r["kind"] or "", r["name"] or ""))
    return [Source(r["name"], r["kind"], r["state"], r["why"]) for r in rows]


def _planned(attempts: Sequence[Row]) -> list[str]:
    """A sentence per job whose stops or restarts somebody ordered."""
    out: dict[tuple[str, str], int] = {}
    for a in attempts:
        if a["ended"] == "planned":
            key = (a["job"], a["planned_because"] or "ordered")
            out[key] = out.get(key, 0) + 1
    return [f"planned: job {job} was stopped or restarted {n}× on purpose ({why})" for (job, why), n in sorted(out.items())]


def _tests(events: Sequence[Row]) -> list[str]:
    """A sentence per file that is the output of tests that passed."""
    files = dict.fromkeys(event["file"] for event in events if event["signature"] == "tests-passed")
    return [f"{file} is the output of tests that passed: the failures in it were provoked and are left out" for file in files]


MOST_ALIKE = 2  # of what is open for one reason


def barriers(verdicts: Iterable[Verdict], tables: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """What the grid of acknowledgements is drawn with, for the jobs that it explains."""
    jobs = {(verdict.scope, verdict.job) for verdict in verdicts if verdict.cause == "barrier-unacknowledged"}
    shown = {name: [row for row in tables.get(name, ()) if (row["scope"], row["job"]) in jobs] for name in BARRIER_TABLES if jobs}
    return shown if shown.get("checkpoint_acks") else {}


def undecided(findings: Sequence[Finding]) -> list[str]:
    """Clauses that follow "nothing wrong found": what the evidence does not show, of each kind the first ones."""
    by_kind: dict[tuple[str, str | None], list[str]] = defaultdict(list)
    for finding in findings:
        if finding.severity is Severity.UNDECIDED:
            by_kind[finding.code, finding.reason].append(finding.says)
    return [
        clause
        for says in by_kind.values()
        for clause in (*says[:MOST_ALIKE], *([f"and the same of {len(says) - MOST_ALIKE} more"] if len(says) > MOST_ALIKE else []))
    ]
