"""`diag` on many cases in one Spark: each judged as if it lay there alone, and shown as the terminal's card of 80 columns."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from analyzers.bundle.read import read_bundle
from analyzers.diagnosis.diagnose import concluded, prepared
from analyzers.diagnosis.run_rules import Outcome as Judged
from analyzers.diagnosis.run_rules import run_rules
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.rules.catalogue import load_rules
from benchmarks.incidents.adapters import Outcome
from benchmarks.incidents.cases import Case
from benchmarks.incidents.marks import Answer
from cli.renderers import terminal

if TYPE_CHECKING:
    from analyzers.report.report import Report
    from analyzers.tables import Row

COLUMNS = 80
Tables = Mapping[str, Sequence["Row"]]


def judge_each(evidence: Mapping[str, Tables], session: Callable[[], Any]) -> dict[str, tuple[Report, Tables]]:
    """Scope → tables of that scope, to scope → its report, and the tables with those that were derived.

    Raises ``RuntimeError`` when a rule fails: what it would have found is then missing everywhere.
    """
    ready = {scope: prepared(tables) for scope, tables in evidence.items()}
    whole: dict[str, list[Row]] = {}
    for each in ready.values():
        for name, rows in each.whole.items():
            whole.setdefault(name, []).extend(rows)
    rules = load_rules()
    outcome = run_rules(rules, whole, session)
    if outcome.defects:
        raise RuntimeError(f"rules failed: {outcome.defects}")
    found: dict[str, tuple[Report, Tables]] = {}
    for scope, each in ready.items():
        mine = [replace(finding) for finding in outcome.findings if finding.scope == scope]
        clean = [r.code for r in rules if r.code not in {f.code for f in mine} and all(name in each.whole for name in r.tables)]
        own = {one.name: getattr(outcome, one.name) for one in fields(Judged)} | {"findings": mine, "clean": clean, "not_checked": []}
        found[scope] = concluded(each, Judged(**own), rules, command="triage", version="bench"), each.whole
    return found


def tables_of(case: Case) -> Tables:
    """What `diag triage` reads of a case; tables of a bundle win over its logs."""
    if case.evidence != case.path:
        return scan(plan([str(case.evidence)], LogOptions(scope=case.name)))
    return {name: [row | {"scope": case.name} for row in rows] for name, rows in read_bundle(case.path).tables.items()}


def answer_of(report: Report) -> Answer:
    """The card, and its verdicts as named causes; what a page warns of is no advice."""
    return Answer(
        terminal.page(report, width=COLUMNS),
        len(report.verdicts),
        bool(report.verdicts),
        tuple(step for verdict in report.verdicts for step in (verdict.steps or (verdict.fix,))),
    )


class Diag:
    """`diag triage`."""

    name = "diag"
    about = "`diag triage` of the logs and texts or of the bundle: the card of 80 columns; every verdict is a cause named"

    def __init__(self, session: Callable[[], Any] | None = None) -> None:
        """`session`: of a Spark that runs; without one it starts its own."""
        self._session = session

    def absent(self) -> str | None:
        from cli.engine.java import JavaMissing, find_java

        try:
            find_java()
        except JavaMissing as missing:
            return str(missing)
        return None

    def answers(self, cases: Sequence[Case]) -> Iterator[tuple[Case, Outcome]]:
        begun = time.monotonic()
        with self._spark() as session:
            judged = judge_each({case.name: tables_of(case) for case in cases}, session)
            shown = [(case, answer_of(judged[case.name][0])) for case in cases]
        each = (time.monotonic() - begun) / max(1, len(cases))
        yield from ((case, replace(answer, seconds=each)) for case, answer in shown)

    @contextmanager
    def _spark(self) -> Iterator[Callable[[], Any]]:
        if self._session is not None:
            yield self._session
            return
        from cli.engine.spark import Engine

        with Engine.start("local[2]") as engine:
            yield engine.session

    def command(self, case: Case) -> list[str] | None:
        return [sys.executable, "-m", "cli", "triage", str(case.evidence)]
