"""What a run over many jobs says: a row per job, what several of them share, and what is new since the last run. And its JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from analyzers.report.finding import CAUSES, Severity
from analyzers.report.identity import identity
from analyzers.report.outcome import doubt, went_on
from analyzers.report.report import Name, Report, Verdict, shown_state

FORMAT = 1
OUTCOMES = ("ill", "at-risk", "unread", "undecided", "clear")
"""Worst first: a verdict; findings of a warning or more, and no verdict; nothing could be read; too little was read, or an error that
nothing explains; nothing wrong."""
CHANGES = ("new", "still", "gone")


@dataclass
class JobVerdict:
    """One verdict in short; `id` is the same for one fault in two runs."""

    id: str
    code: str
    cause: str
    reason: str | None
    since: datetime | None
    subject: dict[str, Any]
    says: str
    headline: str
    change: str | None = None
    """Against the run before: new or still; None where there is none to compare with."""
    until: datetime | None = None
    """The end of the evidence: until then the job was seen to be ill."""
    names: list[Name] = field(default_factory=list)
    """What its chain names."""


@dataclass
class JobRow:
    """One job of one scope. `job` is its id, `name` what it is called, where the evidence has it."""

    scope: str
    job: str | None
    name: str | None
    outcome: str
    severity: str | None
    state: str | None
    since: datetime | None
    says: str
    verdicts: list[JobVerdict] = field(default_factory=list)
    not_checked: int = 0
    defects: list[str] = field(default_factory=list)
    names: list[Name] = field(default_factory=list)
    """What the job stands on, as far as its evidence shows that."""


LINKS = ("explains", "in-common")


@dataclass(frozen=True)
class Root:
    """One thing that stands behind verdicts of several jobs; `cause` is the most frequent of their causes."""

    kind: str
    value: str
    cause: str
    since: datetime | None
    scopes: tuple[str, ...]
    until: datetime | None = None
    link: str = "explains"
    """``explains``: the verdicts' own chains name it; ``in-common``: the jobs that are ill have it, and others do not."""
    causes: tuple[str, ...] = ()
    jobs: tuple[tuple[str, str | None], ...] = ()
    """Scope and job of each."""


@dataclass
class FleetReport:
    """All jobs, worst first."""

    version: str
    jobs: list[JobRow]
    roots: list[Root] = field(default_factory=list)
    gone: list[dict[str, str]] = field(default_factory=list)
    """Scope, id and words of verdicts of the run before that are no more."""
    notes: list[str] = field(default_factory=list)
    made: datetime | None = None
    """When the run ended: ages count from there."""

    @property
    def clock(self) -> datetime | None:
        """When it was made, or else the end of the newest evidence."""
        return self.made or max((verdict.until for row in self.jobs for verdict in row.verdicts if verdict.until), default=None)


def rows_of(scope: str, report: Report, names_of: Callable[[Verdict], list[Name]] = lambda verdict: []) -> list[JobRow]:
    """The jobs of one scope: those that are ill; where none is, the scope as one. `names_of` gives what a verdict names."""
    states = {row["job"]: shown_state(row) or None for row in report.job_state}
    defects = [defect.code for defect in report.defects]
    by_job: dict[str | None, JobRow] = {}
    for verdict in report.verdicts:
        own = JobVerdict(
            identity(verdict, report.job_names), verdict.code, verdict.cause, verdict.reason, verdict.since, verdict.subject,
            verdict.says, verdict.headline or verdict.says, until=report.as_of, names=names_of(verdict),
        )  # fmt: skip
        row = by_job.get(verdict.job)
        if row is None:
            row = by_job[verdict.job] = JobRow(
                scope, verdict.job, report.job_names.get(verdict.job or ""), "ill", Severity.CRITICAL.value, states.get(verdict.job),
                verdict.since, own.headline, not_checked=len(report.not_checked), defects=defects,
                names=list(report.surroundings),
            )  # fmt: skip
        row.verdicts.append(own)
    if by_job:
        return list(by_job.values())
    job = next(iter(states)) if len(states) == 1 else None
    outcome, says = _without_verdict(report)
    worst = report.worst.value if report.worst else None
    name = report.job_names.get(job or "")
    since = min((f.since for f in report.found if f.since and f.severity is report.worst), default=None) if outcome == "at-risk" else None
    unread = len(report.not_checked)
    return [JobRow(scope, job, name, outcome, worst, states.get(job), since, says, [], unread, defects, list(report.surroundings))]


def _without_verdict(report: Report) -> tuple[str, str]:
    failed = next((source for source in report.sources if source.state == "failed"), None)
    if failed is not None and not report.clean and not report.findings:
        return "unread", failed.why or f"{failed.name} could not be read"
    grave = [f for f in report.found if f.severity.rank >= Severity.WARNING.rank]
    if grave:
        worst = max(grave, key=lambda f: f.severity.rank)
        return "at-risk", worst.headline or worst.says
    why = doubt(report)
    if why or report.unseen:
        return "undecided", why or f"not seen: {report.unseen[0]}"
    if not report.clean:
        return "undecided", "no rule had anything to look at"
    return "clear", went_on(report) or f"nothing {'else ' * bool(report.left_out)}wrong found"


def document(report: FleetReport, plain: Any) -> dict[str, Any]:
    """The JSON document; `plain` makes values plain."""
    found: dict[str, Any] = plain({
        "format": FORMAT,
        "tool": "diag",
        "version": report.version,
        "command": "fleet",
        "made": report.made,
        "roots": [asdict(root) for root in report.roots],
        "jobs": [asdict(row) for row in report.jobs],
        "gone": report.gone,
        "notes": report.notes,
    })  # fmt: skip
    return found


def fleet_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of what ``diag fleet -o json`` prints. Keys may be added, never changed or removed."""
    text, maybe = {"type": "string"}, {"type": ["string", "null"]}
    time = {"type": ["string", "null"], "format": "date-time"}

    def thing(**keys: Mapping[str, Any]) -> dict[str, Any]:
        return {"type": "object", "properties": keys, "required": list(keys)}

    def many(of: Mapping[str, Any]) -> dict[str, Any]:
        return {"type": "array", "items": of}

    name = thing(kind=text, value=text)
    verdict = thing(
        id=text, code=text, cause={"enum": list(CAUSES)}, reason=maybe, since=time, subject={"type": "object"}, says=text, headline=text,
        change={"enum": [*CHANGES, None]}, until=time, names=many(name),
    )  # fmt: skip
    row = thing(
        scope=text, job=maybe, name=maybe, outcome={"enum": list(OUTCOMES)}, severity=maybe, state=maybe, since=time, says=text,
        verdicts=many(verdict), not_checked={"type": "integer"}, defects=many(text), names=many(name),
    )  # fmt: skip
    root = thing(
        kind=text, value=text, cause={"enum": list(CAUSES)}, since=time, scopes=many(text), until=time, link={"enum": list(LINKS)},
        causes=many({"enum": list(CAUSES)}), jobs=many(many(maybe)),
    )  # fmt: skip
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "diag fleet, format 1",
        **thing(
            format={"const": FORMAT}, tool=text, version=text, command={"const": "fleet"}, made=time, roots=many(root), jobs=many(row),
            gone=many(thing(scope=text, id=text, says=text)), notes=many(text),
        ),
    }  # fmt: skip


def in_order(rows: Sequence[JobRow]) -> list[JobRow]:
    """Worst first; of equals the longest ill first."""
    last = datetime.max
    return sorted(
        rows,
        key=lambda row: (
            OUTCOMES.index(row.outcome),
            -Severity(row.severity).rank if row.severity else 0,
            row.since.replace(tzinfo=None) if row.since else last,
            row.scope,
            row.job or "",
        ),
    )
