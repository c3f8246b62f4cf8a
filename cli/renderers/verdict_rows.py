"""A verdict and what it rests on, as labelled rows of plain words: the same ones, in the same order, in every format for people."""

from __future__ import annotations

import re

from analyzers.report.durations import span
from analyzers.report.finding import Finding, Severity
from analyzers.report.report import Report, Verdict
from cli.renderers.wording import printable, quote_place, quoted, subject_words, when

_WHO = re.compile(r"^(?:.*\(\d+/\d+\)|executor \d+|driver): ")
"""The task (of Spark the executor) that a trigger begins with: the verdict names it in words of its own."""


def titled(verdict: Verdict) -> str:
    """Cause, reason and rule."""
    return " · ".join(filter(None, (verdict.cause, verdict.reason, verdict.code)))


def rows_of(verdict: Verdict, report: Report) -> dict[str, str]:
    """Label and words of all that is known beside the sentence itself: trigger, since, where, inferred, fix, not known, next."""
    called = report.job_names.get(verdict.job or "")
    where = [f"in {verdict.scope}"] if verdict.scope else []
    where += ([f"job {verdict.job}" + (f" ({called})" if called else "")] if verdict.job else []) + subject_words(verdict.subject)
    told = verdict.trigger and _WHO.sub("", printable(verdict.trigger)) in printable(verdict.says)
    rows = {
        "Words": "; ".join(f"“{quoted(quote)}” {quote_place(quote)}" for quote in verdict.words),
        "Trigger": None if told else verdict.trigger,
        "Since": _since(verdict, report),
        "Where": ", ".join(where),
        "Inferred": inferred(verdict, report),
        "Fix": verdict.fix,
        "Not known": verdict.missing,
        "Next": verdict.next_command,
    }
    return {label: printable(words) for label, words in rows.items() if words}


def inferred(verdict: Verdict, report: Report) -> str | None:
    """What the finding that a verdict stands on takes to be so, and no line states."""
    same = (f for f in report.found if (f.code, f.scope) == (verdict.code, verdict.scope) and verdict.says.endswith(f.says))
    return next((f.inferred for f in same if f.inferred), None)


def advised(report: Report) -> list[tuple[Finding, str | None]]:
    """Findings that no verdict tells what to do about, each with its next command: critical ones, and warnings where no verdict is."""
    told = {(v.scope, code, job) for v in report.verdicts for code in v.chain for job in (v.job, None)}
    grave = (Severity.CRITICAL,) if report.verdicts else (Severity.CRITICAL, Severity.WARNING)
    once = {(f.code, f.fix): f for f in reversed(report.found) if f.severity in grave and (f.scope, f.code, f.job) not in told}
    return [(finding, finding.detail.get("next_command")) for finding in reversed(once.values())]


def _since(verdict: Verdict, report: Report) -> str | None:
    if verdict.since is None:
        return None
    age = report.as_of - verdict.since if report.as_of and report.as_of >= verdict.since else None
    return f"{when(verdict.since)} UTC" + (f" ({span(age)} before the newest evidence)" if age is not None else "")
