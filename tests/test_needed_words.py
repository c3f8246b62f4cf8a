"""Words spare searches: they must never spare one that would have matched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analyzers.derived.failures import fault_classes
from analyzers.derived.failures.fault_classes import FAULT_CLASSES, FaultClass, classify
from analyzers.derived.failures.needed_words import Candidates, Expressions
from analyzers.diagnosis import culprits, error_tokens, line_names
from analyzers.readers.log_scan import LogOptions, plan, scan
from tests.examples import examples

FIXTURES = Path(__file__).parent.parent / "fixtures"
NAMES = (line_names._PATTERNS, culprits._NAMED, culprits._WORKERS, error_tokens._TOKENS)
PATTERNS = sorted(
    {pattern for c in FAULT_CLASSES for pattern in (c.text, c.frames) if pattern and pattern != "(?!)"}
    | {pattern for each in NAMES for pattern in each.patterns}
)
Case = tuple[tuple[str, ...], str, str]


@pytest.mark.parametrize(
    ("pattern", "text", "may"),
    [
        ("(?:Local|Remote)TransportException", "RemoteTransportException", True),
        ("(?:Local|Remote)TransportException", "TransportException", False),
        ("(?s)Error .*(?:timed out|Broken pipe)", "Error \n Broken pipe", True),
        ("(?s)Error .*(?:timed out|Broken pipe)", "Broken pipe", False),
        ("(?:optional )?needed", "needed", True),
        ("(?:optional )?needed", "optional", False),
        ("(?:once)+ upon", "onceonce upon", True),
        ("(?i)rate limit", "RATE Limit", True),
        ("(?i)rate limit", "late limit", False),
        ("(?i)stall", "\u017fTALL", True),  # the long s is an s to re, and none to lower()
        ("(?i:said)|(?-i:Said)", "SAID", True),
        ("Said", "SAID", True),  # letters are not told apart
        ("(?i)x(?-i:Exact)", "xact", False),
        ("status (?!unknown)known", "status known", True),
        (r"\S", "x", True),
        ("ab", "", True),  # too short to be looked for
        (r"(foo+)bar\1", "foobarfoo", True),
    ],
)
def test_words_that_a_text_must_hold(pattern: str, text: str, may: bool) -> None:
    assert list(Candidates([pattern]).of(text)) == ([0] if may else [])
    assert may or not re.search(pattern, text)


def test_a_pattern_that_asks_for_nothing_is_always_tried() -> None:
    assert list(Candidates([None, "needed", None]).of("")) == [0, 2]


def test_matches_come_expression_by_expression() -> None:
    found = Expressions(r"on (?P<host>\w+)", r"never seen", r"from (?P<host>\w+)")
    assert [m["host"] for m in found.matches("from a on b, from c on d")] == ["b", "d", "a", "c"]


@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_matches_is_never_spared(data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(PATTERNS))
    assert list(Candidates([pattern]).of(data.draw(st.from_regex(pattern)))) == [0]


class _All:
    """Spares nothing."""

    def __init__(self, patterns: int) -> None:
        self._patterns = patterns

    def of(self, text: str) -> Sequence[int]:
        return range(self._patterns)


def _cases() -> list[Case]:
    """Every text of the recordings that could be a fault's, as it is and disturbed: cut, joined with others, and with other digits."""
    tables = scan(plan([str(FIXTURES)], LogOptions()), None)
    told = {(tuple(e["chain"] or ()), e["text"] or "", "\n".join(e["frames"] or ())) for e in tables["log_events"]}
    cases = sorted(told)
    chance = Random(7)
    some = chance.sample(cases, min(len(cases), 1500))
    for (chain, text, frames), (other_chain, other_text, _) in zip(some, reversed(some), strict=True):
        cut = chance.randrange(len(text) + 1)
        cases.append((chain, text[cut:], frames))
        cases.append((other_chain, text[:cut], frames))
        cases.append(((*chain, *other_chain), other_text, frames))
        cases.append((tuple(re.sub(r"\d", lambda m: str(chance.randrange(10)), c) for c in chain), text.upper(), frames))
    return cases


@pytest.mark.long
def test_every_recorded_text_gets_the_class_that_trying_all_of_them_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = _cases()
    assert len(cases) > 5_000

    def classes() -> list[FaultClass]:
        return [classify.__wrapped__(*case) for case in cases]

    quick = classes()
    monkeypatch.setattr(fault_classes, "_by_words", lambda: (_All(len(FAULT_CLASSES)), _All(len(FAULT_CLASSES) + 1)))
    assert [c for c, a, b in zip(cases, quick, classes(), strict=True) if a is not b] == []
    assert len({c.id for c in quick}) > 40
