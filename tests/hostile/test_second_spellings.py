"""Spellings by an author who had not seen the others: what leaves a redacted bundle or report, and what leaves any report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from analyzers.bundle.hiding import Hiding
from analyzers.secrets import scrub
from analyzers.tables import TABLES
from analyzers.tables.evidence import Evidence
from tests.hostile.denial import redacted
from tests.hostile.spellings import Spelling, spellings

PATH = Path(__file__).with_name("second_spellings.txt")
ALL = spellings(PATH)
THIRD = spellings(Path(__file__).with_name("third_spellings.txt"))
THIRD_PROSE = {"secrets: logs": 4, "secrets: json": 1, "secrets: yaml": 1}
"""Secrets in a sentence, a number called pin, what stands behind ``jaas:`` alone."""
PARTS = {"names: of people and their things": 4, "records": 1}
"""Spellings of which a part is left that everybody has: ``Group`` of a name in camel case, a slash between two, one letter."""
PROSE = {"secrets: assignments": 10}
"""Secrets with no name, no form and no sign before them (``login bob x``): a report that is not redacted cannot know them."""


def hidden(text: str) -> str:
    """`text` as a report with ``--redact`` has it, and a note of the run."""
    row = TABLES["log_events"].row({"scope": "", "signature": "x", "text": text})
    found = Hiding(b"0123456789abcdef").evidence(Evidence({"log_events": [row]}, [text]))
    return f"{found.tables['log_events'][0]['text']}\n{found.notes[0]}"


def left(clean: Callable[[str], str], some: list[Spelling]) -> dict[str, int]:
    return dict(Counter(one.kind for one in some if one.survivors(clean(one.text))))


def test_there_are_enough() -> None:
    assert len(ALL) >= 150
    assert len({one.text for one in ALL}) == len(ALL)


@pytest.mark.parametrize("clean", [redacted, hidden])
def test_only_parts_that_everybody_has_are_left_where_names_are_tokens(clean: Callable[[str], str]) -> None:
    assert left(clean, ALL) == PARTS


def test_no_secret_with_a_name_or_a_form_is_left_in_any_report() -> None:
    assert left(scrub, [one for one in ALL if one.kind.startswith("secrets")]) == PROSE


def test_of_a_third_hand_nothing_is_left_where_names_are_tokens() -> None:
    assert len({one.text for one in THIRD} - {one.text for one in ALL}) >= 70
    assert left(redacted, THIRD) == left(hidden, THIRD) == {}
    assert left(scrub, THIRD) == THIRD_PROSE


@pytest.mark.parametrize(
    "text",
    [
        'opened a session, user_agent="Mozilla/5.0 (X11)" user_id="42"',
        "thread [7de-2b1c9a0f77d1-StreamThread-1-producer] of orders-app-5f0e64a1-c3d2-4b79-80e1-f2a3b4c5d6e7-StreamThread-1",
        '"VersionId": "kE3vJ0xT1m8q7s2bYt9n4dUoQ6wLzR5a",',
        "part-00000-5f0e64a1-c3d2-4b79-80e1-f2a3b4c5d6e7-c000.snappy.parquet",
        "KafkaConsumer2FactoryOfRecords3WithSchemaRegistry4",
        "AUTH failed",
        "PASS",
        "1.18.1-SNAPSHOT-2026-11-21T09-35-19Z-3f8e7d6c",
    ],
)
def test_what_programs_name_is_not_drawn(text: str) -> None:
    assert scrub(text) == text
