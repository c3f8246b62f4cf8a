"""Bundles once more, each copy a scope of its own beside the bundle's: printed in another layout, of fewer rows, redacted.

They are judged together with the bundles: what Spark needs for the 148 rules hardly depends on how many scopes they judge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from unittest.mock import patch

from analyzers.bundle.redact import Redactor
from analyzers.derived import derive
from analyzers.logs.scan import bound
from analyzers.tables import Row
from tests import other_layouts
from tests.bundles import ALL, FIXTURES, INCIDENTS, Case, cases, shown_by
from tests.scans import kept

Tables = Mapping[str, list[Row]]

FEW = {"MOST_ROWS": 150, "MOST_TOLD_ROWS": 50, "GENERIC_ROWS": 40}
"""Bounds as of logs that are a hundred times as long."""
_ILL = (
    "broker-shrink-restart-loop", "lab-beam-duplicate-kafka-rescaled", "lab-commits-denied", "lab-poison-deserialiser", "lab-registry-503",
    "lab-spark-kafka-failing-batch", "lab-topic-recreated-while-down", "stuck-async-barrier",
)  # fmt: skip
_HEALTHY = ("lab-healthy-poison-deserialiser-left-out", "lab-healthy-commits-saw-tooth")
ILL = [Case(FIXTURES / "incidents" / "ill" / name) for name in _ILL]
REDACTED = [*ILL, *(Case(FIXTURES / "incidents" / "healthy" / name) for name in _HEALTHY)]
"""The recordings that are judged redacted, too."""
LAYOUT, FEW_ROWS, HIDDEN = "@layout", "@few-rows", "@redacted"
"""What the scope of a copy ends with."""


def is_copy(scope: str) -> bool:
    return "@" in scope


def in_scope(tables: Tables, scope: str) -> dict[str, list[Row]]:
    return {name: [row | {"scope": scope} for row in rows] for name, rows in tables.items()}


def printed_again() -> Iterator[tuple[str, Tables]]:
    """The copies in other layouts: each bundle in one of them, the next bundle in the next."""
    code = hashlib.blake2b(Path(other_layouts.__file__).read_bytes()).hexdigest()
    turns = other_layouts.turns()
    for case in [*cases("*/fires*"), *INCIDENTS]:
        if not kept(case.path, lambda case=case: other_layouts.can_be_printed(case), "can be printed", code):
            continue
        layout = next(turns)
        yield case.scope + LAYOUT, kept(case.path, lambda case=case, layout=layout: other_layouts.scanned(case, layout), layout, code)


def few_rows() -> Iterator[tuple[str, Tables]]:
    """The copies of recordings of which many rows are then given up."""
    for case in INCIDENTS:
        with patch.multiple(bound, **FEW):
            tables = shown_by(case, FEW)
        if sum(row["events"] for row in tables.get("log_counts", [])) >= max(2 * len(tables.get("log_events", [])), 1):
            yield case.scope + FEW_ROWS, tables


def redacted() -> Iterator[tuple[str, Tables]]:
    for case in REDACTED:
        shown = shown_by(case)
        redactor = Redactor(b"0123456789abcdef")
        redactor.learn(shown)
        yield case.scope + HIDDEN, redactor.tables(shown)


def names_of_jobs() -> dict[str, str]:
    """What the jobs of the recordings that are also judged redacted are called, by id: the ids are the same in both, the names are not."""
    judged = {case.path for case in ALL}  # of one rule only: its own bundles
    tables = [derive(shown_by(case)) for case in REDACTED if case.path in judged]
    rows = [row for kind in ("jobs_seen", "jobs") for each in tables for row in each.get(kind, ())]
    return {row["job"]: row["name"] for row in rows if row["job"] and row["name"]}


COPIES: dict[str, Callable[[], Iterable[tuple[str, Tables]]]] = {
    "printed_again": printed_again,
    "few_rows": few_rows,
    "redacted": redacted,
}
"""By the name of the fixture with which a test asks for them."""
