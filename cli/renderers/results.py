"""What a run came to, rule by rule: what formats of other tools are made from (`sarif`, `junit`). Of a report, or of two looks compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from analyzers import runbooks
from analyzers.comparison.difference import Difference
from analyzers.comparison.findings import FindingChange
from analyzers.comparison.sides import moment
from analyzers.report.baseline import COUNTS_AS_NEW
from analyzers.report.finding import Finding, Severity
from analyzers.report.fleet import FleetReport
from analyzers.report.identity import identity
from analyzers.report.report import Report
from cli.renderers.wording import iso, printable

_LEVELS = {"critical": Severity.CRITICAL, "warning": Severity.WARNING, "info": Severity.INFO}


@dataclass(frozen=True)
class Place:
    """A line that shows it."""

    file: str | None
    line: int | None
    text: str


@dataclass(frozen=True)
class Result:
    """A finding. `change` is what became of it since the baseline, `because` why that is not known; `missed`: only the baseline has it."""

    code: str
    severity: Severity
    id: str | None
    says: str
    job: str | None
    subject: Mapping[str, Any]
    places: tuple[Place, ...] = ()
    fix: tuple[str, ...] = ()
    change: str | None = None
    because: str | None = None
    missed: bool = False
    more: Mapping[str, Any] | None = None
    """What else is known: cause, reason, since, until, confidence."""

    def fails(self, fail_on: str) -> bool:
        """Whether the exit code is 1 for it."""
        new = not self.missed and (self.change is None or self.change in COUNTS_AS_NEW)
        return new and fail_on != "never" and self.severity.rank >= Severity(fail_on).rank


@dataclass(frozen=True)
class Trouble:
    """What prevented a look, or a part of it: ``failed``, ``partial`` or ``defect``; what it is about, and why."""

    state: str
    about: str
    why: str


@dataclass(frozen=True)
class Results:
    """All of a run. `is_compared`: whether each result has a change. `unchecked`: by rule why it did not judge. `titles`: of rules of a
    user's own, by code."""

    command: str
    version: str
    as_of: datetime | None
    results: tuple[Result, ...]
    clean: tuple[str, ...] = ()
    unchecked: tuple[tuple[str, str], ...] = ()
    troubles: tuple[Trouble, ...] = ()
    notes: tuple[str, ...] = ()
    is_compared: bool = False
    titles: Mapping[str, str] = field(default_factory=dict)

    def title(self, code: str) -> str:
        """What a rule finds; empty where that is not known."""
        return self.titles.get(code) or title(code)


def title(code: str) -> str:
    """The title of the page of a rule; empty where there is none."""
    try:
        return runbooks.page(code).partition("\n")[0].partition(": ")[2]
    except FileNotFoundError:  # a report of another version has it
        return ""


def of_report(report: Report) -> Results:
    """What a report says."""
    baseline = report.baseline
    missed = baseline.missed if baseline is not None else ()
    return Results(
        report.command,
        report.version,
        report.as_of,
        (
            *(_of_finding(each, report) for each in report.found),
            *(
                Result(each.code, _LEVELS[each.severity], None, printable(each.says), each.job, each.subject,
                       change=each.change, because=each.because, missed=True)
                for each in missed
                if each.severity in _LEVELS
            ),
        ),
        tuple(sorted(report.clean)),
        tuple(sorted((each.code, each.because) for each in report.not_checked)),
        (
            *(Trouble(each.state, each.name, each.why or each.state) for each in report.sources if each.state != "ok"),
            *(Trouble("defect", each.code, (each.error.splitlines() or ["it crashed"])[0]) for each in report.defects),
        ),
        (*report.notes, *(_about_baseline(report))),
        baseline is not None and baseline.failed is None,
        report.own_rules,
    )  # fmt: skip


def _about_baseline(report: Report) -> list[str]:
    if report.baseline is None:
        return []
    failed = [f"baseline {report.baseline.name}: {report.baseline.failed}"] if report.baseline.failed else []
    return [*failed, *report.baseline.remarks]


def _of_finding(finding: Finding, report: Report) -> Result:
    known = {
        "cause": finding.cause, "reason": finding.reason, "stage": finding.stage, "since": iso(finding.since), "until": iso(finding.until),
        "confidence": finding.confidence, "passed": finding.passed,
    }  # fmt: skip
    return Result(
        finding.code,
        finding.severity,
        identity(finding, report.job_names),
        printable(finding.headline or finding.says),
        report.job_names.get(finding.job or "", finding.job),
        finding.subject,
        tuple(Place(each.file, each.line, each.text) for each in finding.evidence),
        tuple(map(printable, finding.steps or ((finding.fix,) if finding.fix else ()))),
        finding.change,
        finding.was,
        more={key: value for key, value in known.items() if value not in (None, False)},
    )


def of_fleet(report: FleetReport, findings: Iterable[Mapping[str, Any]]) -> Results:
    """What was found in the jobs of a fleet: `findings` are rows of `finding_rows`."""
    names = {(row.scope, row.job): row.name for row in report.jobs if row.name}
    return Results(
        "fleet",
        report.version,
        None,
        tuple(_of_row(row, names) for row in findings if row["severity"] in _LEVELS),
        troubles=(
            *(Trouble("failed", row.scope, row.says) for row in report.jobs if row.outcome == "unread"),
            *(Trouble("defect", code, "it crashed") for code in sorted({code for row in report.jobs for code in row.defects})),
        ),
        notes=tuple(report.notes),
    )


def _of_row(row: Mapping[str, Any], names: Mapping[tuple[str, str | None], str]) -> Result:
    job = names.get((row["scope"], row["job"])) or row["job"]
    known = {"scope": row["scope"], "cause": row["cause"], "reason": row["reason"], "since": iso(row["since"]), "until": iso(row["until"])}
    return Result(
        row["code"], _LEVELS[row["severity"]], None, printable(row["says"]), " / ".join(filter(None, (row["scope"], job))) or None,
        json.loads(row["subject"]), fix=(printable(row["fix"]),) if row["fix"] else (),
        more={key: value for key, value in known.items() if value},
    )  # fmt: skip


def of_difference(found: Difference) -> Results:
    """What two looks have in common, and what only one has."""
    return Results(
        "diff",
        found.b.version,
        moment(found.b.ends),
        tuple(_of_change(each) for each in found.findings),
        troubles=tuple(Trouble("failed", *_apart(words)) for words in found.unread),
        notes=found.remarks,
        is_compared=True,
    )


def _apart(words: str) -> tuple[str, str]:
    name, _, why = words.partition(": ")
    return name, why


def _of_change(each: FindingChange) -> Result:
    place = (Place(each.file, each.line, each.text or ""),) if each.file else ()
    missed = each.change == "gone" or each.only_in == "A"
    return Result(
        each.code, _LEVELS.get(each.severity, Severity.INFO), each.id, printable(each.says), each.job, each.subject, place,
        change=each.change, because=each.because or each.was, missed=missed,
    )  # fmt: skip
