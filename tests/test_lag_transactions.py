"""Lag behind an open transaction: an exactly-once writer at work, or a partition that is blocked."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from analyzers.tables import OPEN_TRANSACTIONS, RECORDS, Row
from tests.lag_evidence import NOW, ago, sample, truth


def transaction(started: datetime | None, state: str | None = "Ongoing", timeout: float | None = None) -> Row:
    of = {"scope": "", "as_of": NOW, "topic": "orders", "partition": 0, "offset": 100, "producer": 7}
    return OPEN_TRANSACTIONS.row(
        of | {"started_at": started, "state": state, "transactional_id": "t", "timeout_ms": timeout and timeout * 1000}
    )


def at_stable(*ends: float, at: float | None = None, clock: str = "create-time") -> Row:
    times = [ago(seconds).isoformat(timespec="milliseconds").replace("+00:00", "Z") for seconds in ends]
    place = {"scope": "", "as_of": NOW, "why": "last-stable", "topic": "orders", "partition": 0, "wanted": 100, "offset": 100}
    return RECORDS.row(place | {"at": None if at is None else ago(at), "clock": clock, "markers": times})


EVERY_TEN_SECONDS = (175.0, 165.0, 155.0, 145.0)


@pytest.mark.parametrize(
    ("open_for", "ends", "expected"),
    [
        (6, EVERY_TEN_SECONDS, "in-transaction"),
        (29, EVERY_TEN_SECONDS, "in-transaction"),
        (120, EVERY_TEN_SECONDS, "blocked"),
        (120, (), "in-transaction"),  # a writer of whom nothing is known may have an interval of minutes
        (120, (1500.0, 1200.0, 900.0, 600.0, 300.0), "in-transaction"),  # every 300 s
        (120, (160.0, 159.5, 158.9, 158.0), "in-transaction"),  # four writers ended theirs with one checkpoint: no rhythm is known
        (1000, (), "blocked"),  # transaction.max.timeout.ms
    ],
)
def test_an_exactly_once_writer_is_not_called_blocked(open_for: float, ends: tuple[float, ...], expected: str) -> None:
    row = truth(sample(100, 500, stable=100), records=[at_stable(*ends)], open_transactions=[transaction(ago(open_for))])
    assert row["truth"] == expected
    assert row["since"] == ago(open_for)


@pytest.mark.parametrize(
    ("open_for", "timeout", "expected"), [(1000, 3600, "in-transaction"), (3700, 3600, "blocked"), (120, 60, "blocked")]
)
def test_a_transactions_own_time_out_is_its_limit_and_is_named(open_for: float, timeout: float, expected: str) -> None:
    row = truth(sample(100, 500, stable=100), records=[at_stable()], open_transactions=[transaction(ago(open_for), timeout=timeout)])
    assert row["truth"] == expected
    assert f"aborts it after {'60 min' if timeout == 3600 else '60 s'}" in row["says"]


def test_a_producers_time_stamp_is_no_age_of_its_transaction() -> None:
    """A back-fill writes records of last year in a transaction that is a second old."""
    samples = sample(100, 500, stable=100)
    assert truth(samples, records=[at_stable(*EVERY_TEN_SECONDS, at=86400)])["truth"] == "in-transaction"
    assert truth(samples, records=[at_stable(*EVERY_TEN_SECONDS, at=86400, clock="log-append-time")])["truth"] == "blocked"


def test_a_transaction_that_no_coordinator_knows_hangs() -> None:
    samples = sample(100, 500, stable=100), sample(100, 600, stable=100, at=NOW - timedelta(seconds=40))
    row = truth(*samples, records=[at_stable()], open_transactions=[transaction(None, None)])
    assert row["truth"] == "blocked"
    assert "it hangs" in row["says"]


@pytest.mark.parametrize(("watched", "expected"), [(40, "in-transaction"), (1000, "blocked")])
def test_a_transaction_that_is_not_shown_may_be_one_that_this_user_may_not_see(watched: float, expected: str) -> None:
    samples = sample(100, 500, stable=100), sample(100, 400, stable=100, at=ago(watched))
    row = truth(*samples, records=[at_stable()], open_transactions=[transaction(None, None) | {"transactional_id": None}])
    assert row["truth"] == expected
    assert ("may not DESCRIBE" in row["says"]) == (expected == "blocked")


def test_a_stable_offset_that_moved_within_the_samples_is_no_block() -> None:
    moving = [sample(s, s + 50, stable=s, at=ago(1200 - 600 * n)) for n, s in enumerate((100, 200, 300))]
    assert truth(*moving)["truth"] == "in-transaction"
