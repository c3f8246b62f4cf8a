"""The texts of rules, in their decorators and on their pages: what they name is there to be named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from analyzers.rules.catalogue import load_rules
from analyzers.runbooks import OPTIONAL, SECTIONS, advice_by_reason, by_reason, codes, page, sections, shown, texts_by_reason
from analyzers.tables import TABLES
from analyzers.tables.arrow import arrow
from analyzers.vocabulary.rule import Rule, Text

if TYPE_CHECKING:
    from cli.engine.spark import Engine

RULES = [rule for rule in load_rules() if rule.code == os.environ.get("DIAG_RULE", rule.code)]
MADE_BY_THE_TEMPLATE = {"subtask_shown", "shown_at", "headline", "scope", "job", "reason", "since", "until"}
_FIELD = re.compile(r"\{(\w*)\}")
PAGES = [code for code in codes() if code == os.environ.get("DIAG_RULE", code)]


def texts(rule: Rule) -> Iterator[tuple[str, str]]:
    """Where a text of `rule` stands, and the text."""
    spoken: dict[str, Text | None] = {
        "says": rule.says, "fix": rule.fix, "headline": rule.headline, "no help": rule.no_help, "danger": rule.danger,
        "inferred": rule.inferred, "missing": rule.missing, "next_command": rule.next_command,
    }  # fmt: skip
    for name, text in spoken.items():
        if isinstance(text, str):
            yield name, text
        for reason, words in (text or {}).items() if not isinstance(text, str) else ():
            yield f"{name} {reason}".strip(), words


def test_every_field_of_a_text_is_a_column_of_its_rule(engine: Engine) -> None:
    """Nobody notices a wrong name before a bundle has that reason: the reader of the report would."""
    session = engine.session()
    frames = {name: session.createDataFrame(arrow(table, [])) for name, table in TABLES.items()}
    wrong = []
    for rule in RULES:
        columns = set(rule.judge(*(frames[name] for name in (*rule.tables, *rule.optional))).columns)
        known = {name for name in columns if not name.startswith("_")} | MADE_BY_THE_TEMPLATE
        known |= {name.removesuffix("_seconds") + "_shown" for name in columns if name.endswith("_seconds")}
        for place, text in texts(rule):
            wrong += [f"{rule.code} {place}: {{{field}}}" for field in _FIELD.findall(text) if field not in known]
    assert wrong == []


def test_brackets_of_optional_parts_are_closed() -> None:
    wrong = [f"{r.code} {place}" for r in RULES for place, text in texts(r) if re.sub(r"\[\[(?:(?!\[\[|\]\]).)*\]\]", "", text).count("[[")]
    assert wrong == []


def test_a_page_has_its_sections_in_order_and_at_most_three_steps() -> None:
    wrong = []
    for code in PAGES:
        found = sections(page(code))
        wanted = [name for name in SECTIONS if name in found or name not in OPTIONAL]
        wrong += [f"{code}: {list(found)}"] if list(found) != wanted else []
        wrong += [f"{code}: {name} is empty" for name, text in found.items() if not text.strip()]
        for reason, text in texts_by_reason(found.get("Fix", "")).items():
            numbers = set(re.findall(r"^(?:\[\[)?(\d+)\. ", text, re.MULTILINE))  # several of one number are alternatives
            wrong += [f"{code} {reason}: steps {sorted(numbers)}"] if not numbers or numbers > {"1", "2", "3"} else []
    assert wrong == []


def test_a_section_has_a_text_per_reason() -> None:
    section = "1. Start it: {address}.\nIt is down.\n### gone\n1. Take {address} out.\n2. Restart it[[ on {host}]]."
    assert by_reason(section) == {"": "1. Start it: {address}. It is down.", "gone": "1. Take {address} out. 2. Restart it[[ on {host}]]."}
    lines = {reason: [(line.number, line.text) for line in own] for reason, own in advice_by_reason(section).items()}
    assert lines == {
        "": [(1, "Start it: {address}."), (None, "It is down.")],
        "gone": [(1, "Take {address} out."), (2, "Restart it[[ on {host}]].")],
    }


def test_a_page_is_shown_without_the_marks_of_its_templates() -> None:
    for code in PAGES:
        text = shown(code)
        spoken = "".join(text for name, text in sections(text).items() if name in ("Headline", "Fix", "No help", "Danger"))
        assert not re.search(r"\[\[|\]\]|\{\w+\}", spoken), code


@pytest.mark.parametrize("rule", RULES, ids=[r.code for r in RULES])
def test_the_title_is_that_of_the_page(rule: Rule) -> None:
    assert page(rule.code).splitlines()[0] == f"# {rule.code}: {rule.title}"
