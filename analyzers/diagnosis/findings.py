"""From a row of a rule to a finding: the words, the subject, the evidence."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from analyzers.diagnosis.culprits import named_by
from analyzers.diagnosis.headlines import with_owner
from analyzers.diagnosis.templates import fill, utc
from analyzers.report.advice import fitting, in_one, steps_of
from analyzers.report.codes import is_own
from analyzers.report.effects import OF_CAUSE
from analyzers.report.finding import RULE_KEYS, Evidence, Finding, Severity

if TYPE_CHECKING:
    from analyzers.vocabulary.rule import Rule

_CONTRACT = ("scope", "job", "cause", "reason", "severity", "since", "until", "confidence", "evidence")


_TO_READ = "[[zless {shown_at}   # the lines that show it, and what stands around them]]"
"""The next command of a rule that names none."""


MOST_EVIDENCE = 20
SHOWS = "shows"
"""In the detail of a finding: the effect that it states."""


COUNT_FIELDS = ("failures", "attempts")


def finding_of(rule: Rule, row: dict[str, Any], cut_off: Set[str] = frozenset()) -> Finding:
    """The finding of one row that `rule` gave; in the scopes `cut_off` more failures happened than there are rows."""
    reason = row.get("reason", rule.reason)
    facts = {k: v for k, v in row.items() if not k.startswith("_") and (k not in _CONTRACT or k in ("job", "since", "until"))}
    facts["reason"] = reason
    all_counted = facts.pop("all_counted", False)
    if row.get("scope") in cut_off and not all_counted:
        facts["at_least"] = [name for name in COUNT_FIELDS if facts.get(name) is not None]
    subject = {k: _plain(facts[k]) for k in RULE_KEYS if facts.get(k) is not None and facts[k] != []}
    named = named_by([e["text"] or "" for e in (row.get("evidence") or [])[:MOST_EVIDENCE] if e], subject)
    if "executor" in row and row["executor"] is None:  # the rule looked for it itself: several were lost, and its evidence shows one
        named = {key: value for key, value in named.items() if key not in ("executor", "host", "resource")}
    if row.get("job") is not None:
        named = {key: value for key, value in named.items() if key != "query" or value != row["job"]}
    subject = {k: (subject | named)[k] for k in RULE_KEYS if k in subject or k in named}
    severity = Severity(row["severity"]) if row.get("severity") else rule.severity
    evidence = tuple(
        Evidence(e["table"], e["file"], e["line"], utc(e["at"]), e["text"] or "") for e in (row.get("evidence") or [])[:MOST_EVIDENCE] if e
    )
    confidence = row.get("confidence")
    in_full = (fill(rule.headline, reason, facts) or "").removesuffix(".") or None
    to_type = fill(rule.next_command or _TO_READ, reason, facts | {"shown_at": _shown_at(evidence)}, command=True)
    owner = {} if is_own(rule.code) else subject  # what a user wrote stands as it is
    lines = rule.advice.get(reason or "", rule.advice.get("", ()))
    advice = tuple(replace(line, text=said) for line in lines if (said := fill(line.text, reason, facts)))
    whole = fitting(advice, None)
    return Finding(
        code=rule.code,
        cause=row.get("cause", rule.cause),
        reason=reason,
        stage=rule.stage,
        severity=severity,
        confidence=1.0 if confidence is None else round(min(1.0, max(0.0, float(confidence))), 3),
        job=row.get("job"),
        subject=subject,
        since=utc(row.get("since")),
        until=utc(row.get("until")),
        says=with_owner(fill(rule.says, reason, {**facts, "headline": in_full}), owner) or rule.title,
        inferred=fill(rule.inferred, reason, facts),
        fix=in_one(whole),
        headline=with_owner(fill(rule.headline, reason, facts, brief=True), owner),
        steps=steps_of(whole),
        no_help=fill(rule.no_help, reason, facts),
        danger=fill(rule.danger, reason, facts),
        evidence=evidence,
        page=rule.page,
        scope=row.get("scope") or "",
        missing=fill(rule.missing, reason, facts),
        detail=facts | {"next_command": to_type, SHOWS: row.get("shows") or rule.shows or OF_CAUSE.get(row.get("cause", rule.cause) or "")},
        advice=advice,
        engines=rule.engines.get(reason or "", rule.engines.get("", ())),
    )


def to_read(evidence: Sequence[Evidence]) -> str | None:
    """The command that opens the lines of `evidence`: what is left to do where nothing can be asked any more."""
    return fill(_TO_READ, None, {"shown_at": _shown_at(evidence)}, command=True)


def _shown_at(evidence: Sequence[Evidence]) -> str | None:
    """Where the first line stands that shows it, as ``less`` takes it; null where that is no file of its own that ``zless`` can open."""
    first = next((e for e in evidence if e.file and e.line is not None), None)
    if first is None or first.file is None or "!" in first.file or first.file == "-" or re.search(r"\.(?:xz|zst|lz4|bz2)$", first.file):
        return None
    return f"+{first.line} {shlex.quote(first.file)}"


def _plain(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value
