"""Two recordings of one incident have the same ids; two faults have two."""

from __future__ import annotations

from analyzers.report.identity import identity
from tests.report_samples import finding

NAMES = {"f83dbb7e04f400ccfd1258d03b96d7ad": "orders-totals", "0a1b2c3d4e5f60718293a4b5c6d7e8f9": "orders-totals"}


def test_ids_attempts_and_offsets_do_not_count() -> None:
    first = finding(job="f83dbb7e04f400ccfd1258d03b96d7ad", subject={"topic": "orders", "partition": 3, "offset": 12, "attempt": 4})
    again = finding(job="0a1b2c3d4e5f60718293a4b5c6d7e8f9", subject={"topic": "orders", "partition": 3, "offset": 99, "attempt": 1})
    assert identity(first, NAMES) == identity(again, NAMES)
    assert identity(first, NAMES).startswith(f"{first.code}-")


def test_what_is_broken_does() -> None:
    one, other = (finding(subject={"topic": "orders", "partition": number}) for number in (3, 4))
    assert identity(one, NAMES) != identity(other, NAMES)
    assert identity(one, NAMES) != identity(finding(subject=one.subject, reason="else"), NAMES)
    generated = (finding(subject={"group": f"console-consumer-{number}"}) for number in (41077, 980))
    assert len({identity(each, NAMES) for each in generated}) == 1


def test_whose_it_is_does() -> None:
    for key, mine, yours in (("deployment", "shop/orders", "shop/carts"), ("connector", "pay", "audit"), ("connector_task", 0, 1)):
        one, other = (finding(subject={key: value}) for value in (mine, yours))
        assert identity(one, NAMES) != identity(other, NAMES)
    runs = (finding(subject={"run": run, "attempt": attempt, "host": host}) for run, attempt, host in (("a", 3, "x"), ("b", 9, "y")))
    assert len({identity(each, NAMES) for each in runs}) == 1
