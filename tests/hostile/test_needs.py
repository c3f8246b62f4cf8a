"""No need silences its rule: a few of `needs`, which attacks all of them."""

from __future__ import annotations

import pytest

from analyzers.logs.scan.bound import AT_LEAST
from analyzers.rules.catalogue import load_rules
from analyzers.vocabulary.quick_looks import STAY
from cli.engine.spark import Engine
from tests.hostile.needs import silenced


@pytest.mark.parametrize("code", ["BRK105", "LAG405", "LAG501", "RST302"])
def test_what_a_rule_finds_in_damaged_evidence_its_need_lets_it_look_at(code: str, engine: Engine) -> None:
    (rule,) = (rule for rule in load_rules() if rule.code == code)
    found, silent = silenced(rule, engine.session(), 8, 1)
    assert found, "none of the damaged bundles shows anything"
    assert [(scope, finding.says) for scope, _, finding in silent] == []


def test_needs_know_how_many_rows_stay() -> None:
    assert AT_LEAST[0] == STAY
