"""The report as JSON, format 1 (`report/schema.py`): the machine's contract. Keys are only ever added, at the end of their object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analyzers.report.baseline import CHANGES, Baseline
from analyzers.report.finding import SUBJECT_KEYS, Evidence, Finding, Quote
from analyzers.report.identity import identity
from analyzers.report.noticed import Noticed
from analyzers.report.report import Report, Verdict
from analyzers.tables import TABLES, Row
from cli.renderers.json_rows import ENCODER, indented, inert, lines, plain_values
from cli.renderers.wording import subject_words

FORMAT = 1
_FACTS = "(facts)"
MOST_EVIDENCE = 20


def render(report: Report) -> str:
    """The same report gives the same bytes: order and number format are fixed."""
    return "".join(chunks(report))


def chunks(report: Report) -> Iterator[str]:
    """`render` in parts: tables of a hundred thousand rows are never in memory as text, nor as a second copy of their rows."""
    before, _, after = indented({**_values(report), "facts": _FACTS}).partition(f'"facts": "{_FACTS}"')
    yield f'{before}"facts": {{'
    for number, (name, rows) in enumerate(sorted(report.facts.items())):
        yield inert(f"{',' * bool(number)}\n    {ENCODER.encode(plain_values(name))}: [")
        yield from lines(name, rows)
        yield "\n    ]" if rows else "]"
    yield ("\n  }" if report.facts else "}") + after + "\n"


def document(report: Report) -> dict[str, Any]:
    """The report as plain values; times are ISO-8601 UTC, text is valid Unicode."""
    facts = {name: [_fact(name, row) for row in rows] for name, rows in sorted(report.facts.items())}
    whole: dict[str, Any] = plain_values({**_values(report), "facts": facts})
    return whole


def _values(report: Report) -> dict[str, Any]:
    """Everything but the facts, whose place is kept."""
    verdicts = [_verdict(v) | {"id": identity(v, report.job_names)} for v in report.verdicts]
    found: dict[str, Any] = {
        "format": FORMAT,
        "tool": report.tool,
        "version": report.version,
        "as_of": report.as_of,
        "window": {"from": report.window[0], "to": report.window[1]},
        "sources": [{"name": s.name, "kind": s.kind, "state": s.state, "why": s.why} for s in report.sources],
        "verdicts": verdicts,
        "verdict": verdicts[0] if verdicts else None,
        "facts": {},
        "findings": [
            _finding(f) | {"id": identity(f, report.job_names), "explained_by": _explained_by(f, report.verdicts)}
            for f in sorted(report.findings, key=_order)
        ],
        "clean": sorted(report.clean),
        "not_checked": [{"code": n.code, "because": n.because} for n in sorted(report.not_checked, key=lambda n: (n.code, n.because))],
        "defects": [{"code": d.code, "error": d.error} for d in sorted(report.defects, key=lambda d: (d.code, d.error))],
        "command": report.command,
        "notes": list(report.notes),
        "looked_at": report.looked_at,
        "unseen": list(report.unseen),
        "job_state": [_fact("job_state", row) for row in report.job_state],
        "noticed": [_noticed(each) for each in report.noticed],
        "fragment": report.fragment,
        "log_roles": dict(report.log_roles),
    }
    if report.own_rules:
        found["own_rules"] = [{"code": code, "title": title} for code, title in sorted(report.own_rules.items())]
    if report.baseline is not None:
        found["baseline"] = _baseline(report.baseline)
    if "forecast" in report.facts:
        found["forecast"] = _forecast(report)
    return found


def _baseline(baseline: Baseline) -> dict[str, Any]:
    return {
        "name": baseline.name,
        "version": baseline.version,
        "as_of": baseline.as_of,
        "counts": {change: baseline.counts.get(change, 0) for change in CHANGES},
        "missed": [{**vars(each), "subject": _subject(each.subject)} for each in baseline.missed],
        "remarks": list(baseline.remarks),
        "failed": baseline.failed,
    }


def _forecast(report: Report) -> list[dict[str, Any]]:
    """The rows of the table, each with the changes that were weighed for it."""
    changes = report.facts.get("forecast_fixes", [])
    about = ("scope", "scenario", "client_version")
    return [
        {
            **_fact("forecast", row),
            "fixes": [_fact("forecast_fixes", change) for change in changes if all(change.get(key) == row.get(key) for key in about)],
        }
        for row in report.facts["forecast"]
    ]


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "cause": verdict.cause,
        "reason": verdict.reason,
        "code": verdict.code,
        "job": verdict.job,
        "since": verdict.since,
        "trigger": verdict.trigger,
        "subject": _subject(verdict.subject),
        "says": verdict.says,
        "fix": verdict.fix,
        "confidence": verdict.confidence,
        "chain": list(verdict.chain),
        "timeline": [{"at": m.at, "code": m.code, "says": m.says} for m in verdict.timeline],
        "missing": verdict.missing,
        "next_command": verdict.next_command,
        "headline": verdict.headline,
        "steps": list(verdict.steps),
        "no_help": verdict.no_help,
        "danger": verdict.danger,
        "impact": verdict.impact,
        "certainty": verdict.certainty,
        "words": [_quote(quote) for quote in verdict.words],
        "beside": [_quote(quote) for quote in verdict.beside],
        "changed": [_quote(quote) for quote in verdict.changed],
        "settings": [_quote(quote) for quote in verdict.settings],
        "before": [_quote(quote) for quote in verdict.before],
        "named": dict(verdict.named),
        "where": ", ".join(subject_words(verdict.subject)) or None,
        "because": [{"effect": b.effect, "says": b.says, "at": b.at, "file": b.file, "line": b.line} for b in verdict.because],
        "component": verdict.component,
        "advice": list(verdict.advice),
        **({"scope": verdict.scope} if verdict.scope else {}),
    }


def _quote(quote: Quote) -> dict[str, Any]:
    return {"text": quote.words, "exception": quote.thrown, "file": quote.file, "line": quote.line, "count": quote.count}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "cause": finding.cause,
        "reason": finding.reason,
        "stage": finding.stage,
        "severity": finding.severity.value,
        "confidence": finding.confidence,
        "job": finding.job,
        "subject": _subject(finding.subject),
        "since": finding.since,
        "until": finding.until,
        "says": finding.says,
        "inferred": finding.inferred,
        "fix": finding.fix,
        "evidence": [_evidence(e) for e in finding.evidence[:MOST_EVIDENCE]],
        "page": finding.page,
        "missing": finding.missing,
        "headline": finding.headline,
        "steps": list(finding.steps),
        "no_help": finding.no_help,
        "danger": finding.danger,
        "passed": finding.passed,
        "words": [_quote(quote) for quote in finding.words],
        "beside": [_quote(quote) for quote in finding.beside],
        "changed": [_quote(quote) for quote in finding.changed],
        **({"scope": finding.scope} if finding.scope else {}),
        **({"change": finding.change, "was": finding.was} if finding.change else {}),
    }


def _explained_by(finding: Finding, verdicts: Sequence[Verdict]) -> str | None:
    """The code of the verdict that a finding is a consequence of, or a symptom."""
    of_job = (v for v in verdicts if v.scope == finding.scope and finding.job in (v.job, None))
    return next((v.code for v in of_job if finding.code in v.chain and finding.code != v.code), None)


def _noticed(noticed: Noticed) -> dict[str, Any]:
    return {
        "signature": noticed.signature,
        "code": noticed.code,
        "says": noticed.says,
        "count": noticed.count,
        "first": noticed.first,
        "last": noticed.last,
        "subject": _subject(noticed.subject),
        "evidence": [_evidence(e) for e in noticed.evidence],
        "means": noticed.means,
        "level": noticed.level,
        "job": noticed.job,
        "normal": noticed.normal,
        "explained_by": noticed.explained_by,
        "completed_since": noticed.completed_since,
        "over": noticed.over,
        "next_command": noticed.next_command,
        "telling": noticed.telling,
        "inferred": noticed.inferred,
        "steps": list(noticed.steps),
        "beside": [_quote(quote) for quote in noticed.beside],
        "changed": [_quote(quote) for quote in noticed.changed],
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {"table": evidence.table, "file": evidence.file, "line": evidence.line, "at": evidence.at, "text": evidence.text}


def _subject(subject: Mapping[str, Any]) -> dict[str, Any]:
    """Only what is known, in the declared order; keys of no contract stay out."""
    return {key: subject[key] for key in SUBJECT_KEYS if subject.get(key) is not None}


def _fact(table: str, row: Row) -> dict[str, Any]:
    names = TABLES[table].names if table in TABLES else tuple(sorted(row))
    return row if tuple(row) == names else {name: row.get(name) for name in names}


def _order(finding: Finding) -> tuple[int, str, str, str]:
    subject = json.dumps(plain_values(_subject(finding.subject)), ensure_ascii=False)
    return (-finding.severity.rank, finding.code, finding.job or "", subject)
