"""``diag rules check``: the examples of rules of a user's own, each a log of its own, scanned and judged as any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyzers.diagnosis.diagnose import prepared
from analyzers.diagnosis.run_rules import run_rules
from analyzers.own_rules.judging import rule_of
from analyzers.own_rules.language import OwnRule, OwnRules
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.report.durations import counted
from analyzers.report.finding import Finding
from analyzers.tables import Row
from cli.engine.spark import Engine
from cli.options.shared import RunOptions
from cli.renderers.wording import printable
from cli.shell.exits import CannotLook, ExitCode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXAMPLE, _COUNTER = "example", "counter_example"
_MOST_LETTERS = 120
_UNKNOWN = "(unknown)"


def check(own: OwnRules, options: RunOptions, engine: Engine | None = None) -> tuple[list[str], int]:
    """A line per rule, and one per fault, apart by tabs; and the exit code: 1 where an example is not as its rule says.

    Starts an engine of its own unless one is given. Raises `CannotLook` where Spark does not start.
    """
    if engine is None:
        from cli.runs import ahead

        with ahead.engine(options) as started:
            return check(own, options, started)
    lines, failed = [], False
    for trial in tried(own, engine.session):
        failed |= bool(trial.faults)
        lines += ["\t".join(("wrong", trial.rule.code, trial.rule.place, printable(fault))) for fault in trial.faults]
        if not trial.faults:
            lines += ["\t".join(("ok", trial.rule.code, trial.rule.place, printable(each.headline or ""))) for each in trial.found]
    return lines, ExitCode.FINDINGS if failed else ExitCode.CLEAN


@dataclass(frozen=True)
class Trial:
    """What came of one rule: `found` is what its example shows, `faults` are clauses about what is not as it says."""

    rule: OwnRule
    found: tuple[Finding, ...]
    faults: tuple[str, ...]


def tried(own: OwnRules, session: Callable[[], SparkSession]) -> list[Trial]:
    """What came of each rule. Raises `CannotLook` where Spark ends meanwhile."""
    logs: dict[str, list[Row]] = {}
    for rule in own.rules:
        for kind, text in ((_EXAMPLE, rule.example), (_COUNTER, rule.counter_example)):
            for name, rows in _scanned(f"{rule.code}/{kind}", text, own).items():
                logs.setdefault(name, []).extend(rows)
    tables: Mapping[str, Sequence[Row]] = prepared(logs, own=True).whole
    outcome = run_rules(list(map(rule_of, own.rules)), tables, session)
    defects = {defect.code: defect.error.partition("\n")[0] for defect in outcome.defects}
    if outcome.ended is not None:
        raise CannotLook(f"Spark ended before all rules had judged: {outcome.ended}", "Give it more (--memory), or check fewer rules.")
    return [_trial(rule, tables, [f for f in outcome.findings if f.code == rule.code], defects.get(rule.code)) for rule in own.rules]


def _scanned(scope: str, text: str, own: OwnRules) -> Mapping[str, Sequence[Row]]:
    made = plan(["-"], LogOptions(scope=scope, stdin=text.lstrip("\n").encode("utf-8", "replace"), apart=False, own=own.signatures))
    try:
        return scan(made)
    finally:
        made.close()


def _trial(rule: OwnRule, tables: Mapping[str, Sequence[Row]], findings: Sequence[Finding], defect: str | None) -> Trial:
    if defect is not None:
        return Trial(rule, (), (f"it could not be judged: {defect}",))
    shown = tuple(finding for finding in findings if finding.scope == f"{rule.code}/{_EXAMPLE}")
    wrong = [finding for finding in findings if finding.scope == f"{rule.code}/{_COUNTER}"]
    faults = [] if shown else [f"its example does not show it: {_why_not(rule, tables)}"]
    faults += [f"its headline names what the example does not hold: {each.headline}" for each in shown if _UNKNOWN in (each.headline or "")]
    for each in wrong:
        line = each.evidence[0]
        faults.append(f"its counter_example shows it, in line {line.line}: {line.text.strip()[:_MOST_LETTERS]}")
    return Trial(rule, shown, tuple(faults))


def _why_not(rule: OwnRule, tables: Mapping[str, Sequence[Row]]) -> str:
    """What the example lacks, a clause."""
    events = [row for row in tables.get("log_events", ()) if row["scope"] == f"{rule.code}/{_EXAMPLE}"]
    matched = [row for row in events if row["signature"] == rule.fires.id]
    if not matched:
        if not any(literal in rule.example for literal in rule.fires.literals):
            return f"it does not have {' or '.join(map(repr, rule.fires.literals))}"
        where = {"line": "a line", "message": "the message of a line, behind time, level and logger", "event": "a line and those below it"}
        return f"the pattern does not match, which is searched in {where[rule.fires.where]}"
    if rule.logs_of and all(row["role"] not in (None, *rule.logs_of) for row in matched):
        return f"it is a log of {matched[0]['role']}, and logs_of has {', '.join(rule.logs_of)}"
    if rule.within_minutes is not None and all(row["at"] is None for row in matched):
        return "its lines have no time that diag reads, and within_minutes needs one"
    if len(matched) < rule.at_least:
        return f"{counted(len(matched), 'line')} match, and at_least is {rule.at_least}"
    if rule.clears is not None and any(row["signature"] == rule.clears.id for row in events):
        return "a line behind them clears them"
    within = f" within {counted(rule.within_minutes, 'minute')}" if rule.within_minutes is not None else ""
    return f"no {rule.at_least} lines{f' of one {rule.subject[0]}' if rule.subject else ''} match{within}"
