"""What almost right bytes did to the readers of states (`make fuzz`), each mended where it came from."""

from __future__ import annotations

import time

import pytest

from analyzers.readers.state_texts import StateText, state_rows
from analyzers.states.clocks import clock_of
from analyzers.states.goroutines import read
from analyzers.states.recognise import states_of
from analyzers.states.state import Text
from tests.hostile.fuzz import TARGETS

GROUPS = """\
GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     HOST            CLIENT-ID
orders          orders.v2       0          5               {}              5               consumer-1      /10.0.0.1       c
"""


def test_a_call_of_go_that_goes_on_takes_no_time() -> None:
    """`(?:\\.[\\w.]+)*` behind `[^\\s()]*` tried each way to share the dots: minutes for 1,445 bytes."""
    began = time.process_time()
    list(read(Text(b"goroutine 1 [running]:\n" + b"main.a" + b".b.c" * 300 + b"(x\n\t/a/b.go:1\n")))
    assert time.process_time() - began < 1


def test_a_number_that_no_column_holds_is_not_known() -> None:
    found = states_of(GROUPS.format("9" * 80).encode())
    rows = state_rows([StateText("a", found.states)], "")
    numbers = [value for name, own in rows.items() if name != "sources" for row in own for value in row.values() if isinstance(value, int)]
    assert numbers
    assert max(numbers) < 2**63
    known = state_rows([StateText("a", states_of(GROUPS.format(10).encode()).states)], "")
    assert {name: len(own) for name, own in known.items()} == {name: len(own) for name, own in rows.items()}


@pytest.mark.parametrize("line", ["0001-01-01T00:00:00+14:00", "9999-12-31 23:59:59 -12:00", "Fri Dec 31 23:59:59 EST 9999"])
def test_a_time_that_no_other_zone_has_is_none(line: str) -> None:
    assert clock_of(line) is None
    assert clock_of(line.replace("0001", "2026").replace("9999", "2026")) is not None


@pytest.mark.parametrize(
    "text",
    [
        '# 9999-12-31 23:59:59-12:00 of a scrape\n# TYPE a_b_total counter\na_b_total{x="y"} 1\n',
        '0001-01-01 00:00:00+14:00\nFull thread dump OpenJDK (17):\n\n"a" #1 prio=5\n   java.lang.Thread.State: RUNNABLE\n\tat a.B(D:1)\n',
        (
            '{"kind": "Pod", "metadata": {"name": "a", "creationTimestamp": "0001-01-01T00:00:00+14:00"}, "status": {"phase": "Running", '
            '"containerStatuses": [{"name": "c", "lastState": {"terminated": {"finishedAt": "0001-01-01T00:00:00+14:00"}}}'
            "]}}"
        ),
    ],
)
def test_a_state_of_such_a_time_is_read(text: str) -> None:
    found = states_of(text.encode())
    assert found.states
    assert [state.trouble for state in found.states if "defect" in (state.trouble or "")] == []


def test_blanks_between_a_metric_and_its_value_take_no_time() -> None:
    """Three times as many as one likes stood in a row, each to share the same blanks."""
    began = time.process_time()
    states_of(b'# TYPE a_b_total counter\na_b_total{x="y"} 1\na_b_total' + b" " * 4000 + b"=" + b" " * 4000 + b"x\n")
    assert time.process_time() - began < 1


def test_two_columns_of_one_name_are_no_table() -> None:
    head = "Topic Partition ProducerId ProducerEpoch CoordinatorEpoch StartOffset {}\n"
    row = "orders 0 7 1 2 99 {}\n"
    for last, cell, number in (
        ("LastTimestamp", "1795000000000", 1),
        ("LastTimestamp ProducerId", "1795000000000 kafka-transactions.sh", 0),
    ):
        text = (head.format(last) + row.format(cell)).encode()
        found = states_of(text)
        assert [state.trouble for state in found.states if state.trouble] == []
        assert sum(len(state.rows.get("open_transactions", ())) for state in found.states) == number
        TARGETS["kafka_transactions.read"].read(text)
