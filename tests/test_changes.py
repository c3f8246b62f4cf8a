"""Which lines report a change before a failure (`analyzers/causal/changes.py`)."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import pytest

from analyzers.causal.changes import changed, time_in

FIRST = datetime(2026, 3, 4, 10, 0, tzinfo=timezone.utc)


def row(text: str, at: datetime | None = None, **more: Any) -> dict[str, Any]:
    return {"text": text, "at": at, "file": "notes.txt", "line": 1, **more}


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-04 09:40 deployed billing 8.2.0",
        "CHG-3391 expand veh.raw 12 -> 24 partitions, 2026-03-03",
        "2026-03-04 helm upgrade pricing to chart 4",
        "2026-03-04T09:58:00Z Changing PRODUCE quota for user=connect-pos to 524288.0",
    ],
)
def test_a_change_before_it_is_found(text: str) -> None:
    rows = [row("the dashboard is slow"), row(text)]
    assert changed(rows, frozenset(), FIRST) is rows[1]


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-04 10:30 deployed billing 8.2.0",  # afterwards
        "2025-12-01 upgraded the cluster",  # long before
        "05:36 was the planned patching, nothing else was deployed",
        "4m Normal Created pod/billing-0 Created container billing",
        "created",
        "Source: orders (1/4) switched from RUNNING to FAILED.",
    ],
)
def test_what_is_no_change_before_it_is_not(text: str) -> None:
    assert changed([row(text)], frozenset(), FIRST) is None


def test_a_failure_is_no_change() -> None:
    failed = row("2026-03-04 09:40 the deployed job failed", chain=["java.io.IOException: closed"])
    assert changed([failed], frozenset(), FIRST) is None


def test_a_change_of_what_failed_comes_first_then_the_nearer_one() -> None:
    of_other, of_it = row("2026-03-04 09:10 deployed billing 8.2.0"), row("2026-03-04 09:10 deployed fare-scoring 2.1")
    assert changed([of_other, of_it], frozenset({"fare-scoring"}), FIRST) is of_it
    far, near = row("2026-02-25 deployed a"), row("2026-03-04 09:30 deployed b")
    assert changed([far, near], frozenset(), FIRST) is near


def test_a_time_of_day_is_of_the_day_of_the_failure() -> None:
    assert time_in("rollout since 09:12", FIRST) == datetime(2026, 3, 4, 9, 12, tzinfo=timezone.utc)
    assert time_in("no time at all", FIRST) is None
    assert time_in("2026-99-01", FIRST) is None
