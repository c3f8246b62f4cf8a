"""The bundles of `fixtures/`, as the tests of rules and pages see them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analyzers.bundle.read import read_bundle
from analyzers.derived import derive
from analyzers.diagnosis.frames import Chosen
from analyzers.diagnosis.run_rules import can_find
from analyzers.readers.log_scan import LogOptions, plan, scan
from analyzers.rules.catalogue import load_rules
from analyzers.tables import TABLES, Row
from analyzers.vocabulary.rule import Rule
from tests.scans import kept

FIXTURES = Path(__file__).parent.parent / "fixtures"


@dataclass(frozen=True)
class Case:
    """One bundle of `fixtures/`: ``CODE/fires…``, ``CODE/quiet…``, ``incidents/ill/…`` or ``incidents/healthy/…``."""

    path: Path

    @property
    def scope(self) -> str:
        return self.path.relative_to(FIXTURES).as_posix()

    @property
    def code(self) -> str:
        return self.path.parent.name

    @property
    def recorded(self) -> bool:
        return self.path.parent.parent.name == "incidents"

    @property
    def expect(self) -> dict[str, Any]:
        file = self.path / "expect.json"
        return json.loads(file.read_text()) if file.exists() else {}


def cases(pattern: str) -> list[Case]:
    return [Case(p) for p in sorted(FIXTURES.glob(pattern)) if (p / "raw").is_dir() or (p / "manifest.json").is_file()]


def shown_by(case: Case, *bounds: object) -> dict[str, list[Row]]:
    """The tables of one bundle, as --bundle reads them: tables win over raw files. `bounds`: of rows, if not the usual."""
    found: dict[str, list[Row]] = kept(case.path, lambda: _shown_by(case), case.scope, *bounds)
    return found


def _shown_by(case: Case) -> dict[str, list[Row]]:
    bundle = read_bundle(case.path)
    found = scan(plan([str(bundle.raw_dir)], LogOptions(scope=case.scope)), None) if bundle.raw_dir is not None else {}
    return {name: [row | {"scope": case.scope} for row in rows] for name, rows in {**found, **bundle.tables}.items()}


def looks_at(rule: Rule, case: Case) -> bool:
    """Whether `rule` has rows to look at in a bundle."""
    tables = shown_by(case)
    if any(TABLES[name].derived for name in rule.tables):
        tables = derive(tables)
    return all(name in tables for name in rule.tables) and can_find(rule, Chosen(tables), {})


RULE = os.environ.get("DIAG_RULE")
"""``make rule CODE=CKP101``: the bundles of this rule, and the healthy ones that have rows of the kinds which it reads."""
FIRES = cases(f"{RULE or '*'}/fires*")
QUIET = cases(f"{RULE or '*'}/quiet*")
INCIDENTS = cases("incidents/*/*")
ALL = [*FIRES, *QUIET, *INCIDENTS]
HEALTHY = [c for c in (cases("*/quiet*") + INCIDENTS if RULE else ALL) if c.expect.get("healthy")]


def without_need(code: str | None) -> list[Rule]:
    """All rules, the one of `code` without its need: what it would say of a bundle that is well must not hang on the need's no."""
    return [replace(rule, needs=None) if rule.code == code else rule for rule in load_rules()]


OWN = [*FIRES, *QUIET]
if RULE:
    asked = next(rule for rule in without_need(RULE) if rule.code == RULE)
    HEALTHY = [case for case in HEALTHY if case in OWN or looks_at(asked, case)]
    ALL = [*OWN, *(case for case in HEALTHY if case not in OWN)]
