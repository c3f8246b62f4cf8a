"""Which findings and verdicts explain which lines of the logs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from analyzers.derived.failures.fault_classes import UNKNOWN, FaultClass, classify
from analyzers.derived.failures.fault_classes import by_id as fault_class
from analyzers.derived.failures.log_messages import message
from analyzers.diagnosis.related_rules import SPEAK_BY_THEIR_TRACE
from analyzers.logs.scan.selection import ERROR_LOGGED, EXCEPTION_LOGGED
from analyzers.report.finding import Finding, Severity
from analyzers.report.report import Verdict
from analyzers.rules.catalogue import load_rules
from analyzers.tables import Row

if TYPE_CHECKING:
    from analyzers.vocabulary.rule import Rule

Tables = Mapping[str, Sequence[Row]]
Key = tuple[str, str | None, str, str]
"""Scope, job, signature, and shape of the message where no signature knows it."""
UNSIGNED = frozenset({ERROR_LOGGED, EXCEPTION_LOGGED})


@lru_cache(maxsize=1)
def rules_by_code() -> dict[str, Rule]:
    return {rule.code: rule for rule in load_rules()}


class Explanations:
    """Which findings are about which events."""

    def __init__(self, tables: Tables, findings: Iterable[Finding], verdicts: Iterable[Verdict]) -> None:
        self._faults = {
            (row["scope"], row["file"], row["line"]): fault_class(row["fault"]) for row in tables.get("faults", ()) if row["fault"]
        }
        self._found: dict[str, list[Finding]] = defaultdict(list)
        self._places: dict[tuple[str, str | None, int | None], str] = {}
        for finding in findings:
            if finding.severity is not Severity.UNDECIDED:
                self._found[finding.scope].append(finding)
                for one in finding.evidence:
                    self._places.setdefault((finding.scope, one.file, one.line), finding.code)
        self._verdicts: dict[str, list[Verdict]] = defaultdict(list)
        for verdict in verdicts:
            self._verdicts[verdict.scope].append(verdict)

    def fault_of(self, events: Sequence[Row]) -> FaultClass | None:
        """The class of the first event that has one; of those that speak by their trace also the unknown class."""
        for event in events:
            fault = self._faults.get((event["scope"], event["file"], event["line"]))
            if fault is None and (event["chain"] or event["signature"] in SPEAK_BY_THEIR_TRACE):
                fault = classify(tuple(event["chain"] or ()), message(event), "\n".join(event["frames"] or ()))
            if fault is not None and fault is not UNKNOWN:
                return fault
        return None

    def explained_by(self, key: Key, events: Sequence[Row], code: str | None, fault: FaultClass | None) -> str | None:
        scope, job, signature, _ = key
        for event in events:
            if event["file"] and (said := self._places.get((scope, event["file"], event["line"]))):
                return said
        rules = rules_by_code()
        by_rule = code is not None and signature not in UNSIGNED
        for finding in self._found.get(scope, ()) if by_rule or fault is not None else ():
            if finding.job == job or None in (finding.job, job):
                reads = rules[finding.code].faults if finding.code in rules else ()
                if (by_rule and finding.code == code) or (fault is not None and fault.id in reads):
                    return finding.code
        for verdict in self._verdicts.get(scope, ()):
            same = fault is not None and (fault.consequence or fault.cause == verdict.cause)
            same = same or (by_rule and code in rules and rules[code].cause == verdict.cause)
            if same and (verdict.job == job or None in (verdict.job, job)):
                return verdict.code
        return None
