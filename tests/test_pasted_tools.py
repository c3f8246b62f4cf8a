"""What Kafka's tools, JMX and kcat print, pasted: what is read of it, and that damaged or foreign text neither breaks nor misleads."""

from __future__ import annotations

from typing import Any

import pytest

from analyzers.derived.lag.group_moments import group_moments
from analyzers.states.clocks import clock_of
from analyzers.states.recognise import states_of
from analyzers.tables import METRIC_SAMPLES, OPEN_TRANSACTIONS, PASTED_OFFSETS

HANGING = "Topic\tPartition\tProducerId\tProducerEpoch\tCoordinatorEpoch\tStartOffset\tLastTimestamp\tDuration(min)\n"
PRODUCERS = "ProducerId\tProducerEpoch\tLatestCoordinatorEpoch\tLastSequence\tLastTimestamp\tCurrentTransactionStartOffset\n"


def rows_of(text: str, table: str) -> list[dict[str, Any]]:
    return [row for state in states_of(text.encode()).states for row in state.rows.get(table, ())]


@pytest.mark.parametrize(
    "text",
    [
        HANGING + "orders\tp0\t5\t0\t3\t100\t1700000000000\t12\n",
        HANGING + "orders\t0\t--5\t0\t3\t100\t1700000000000\t12\n",
        HANGING + f"orders\t0\t5\t0\t3\t{'9' * 5000}\t1700000000000\t12\n",
        HANGING + "orders\t0\t5\t0\t3\t\u00b2\t1700000000000\t12\n",
        '"time","kafka.server:type=Fetch:throttle-time"\n1700000000000,"' + "x" * 140_000 + '"\n',
        "Name: a\nContainers:\n  c:\n    Container ID: x\n    Restart Count: 3\nEvents:\n  Normal Killing 3m (x" + "9" * 5000
        + " over 10m)  kubelet  Container c failed liveness probe, will be restarted\n",
        "$ kcat -f '%k p=%p o=%o\\n' -t a\nk p=1 o=" + "9" * 30 + "\n",
    ],
    ids=["partition", "producer", "long-offset", "superscript", "long-cell", "long-count", "long-kcat-offset"],
)  # fmt: skip
def test_a_damaged_cell_costs_its_row(text: str) -> None:
    assert not any("defect" in (state.trouble or "") for state in states_of(text.encode()).states)
    assert rows_of(text, "open_transactions") == []
    assert rows_of(text, "keyed_records") == []


def test_each_command_names_its_own_partition() -> None:
    row = "1000\t1\t4\t88\t1794823200000\t{}\n"
    text = (
        "$ kafka-transactions.sh describe-producers --topic orders --partition 3\n" + PRODUCERS + row.format(500)
        + "$ kafka-transactions.sh describe-producers --partition 7 \\\n   --topic payments\n" + PRODUCERS + row.format(900)
    )  # fmt: skip
    found = [(row["topic"], row["partition"], row["offset"]) for row in rows_of(text, "open_transactions")]
    assert found == [("orders", 3, 500), ("payments", 7, 900)]


@pytest.mark.parametrize(
    ("line", "is_clock"),
    [
        ("--- 09:40 UTC  kafka-consumer-groups.sh --bootstrap-server b1:9092 --describe --group g", True),
        ("2026-11-21 09:35:13 $ kubectl -n a get pods", True),
        ("2026-11-21 09:35:13,123 kafka-producer-network-thread | producer-1 ERROR Uncaught error", False),
        ("2026-11-21T09:36:14Z kafka-connect ERROR task died", False),
    ],
)
def test_only_a_command_stands_behind_its_time(line: str, is_clock: bool) -> None:
    assert (clock_of(line) is not None) is is_clock


def test_keys_are_read_only_where_they_were_printed() -> None:
    command = "$ kafka-console-consumer.sh --topic orders --property print.partition=true{}\n"
    assert rows_of(command.format("") + "Partition:1\tPAID\nPartition:2\tPAID\n", "keyed_records") == []
    with_keys = command.format(" --property print.key=true --property print.headers=true")
    found = rows_of(with_keys + "Partition:1\ta:b\tuser:42\tPAID\nPartition:2\tNO_HEADERS\tnull\tPAID\n", "keyed_records")
    assert [(row["partition"], row["topic"]) for row in found] == [(1, "orders")]


def moment(number: int, committed: int, end: int) -> dict[str, Any]:
    return PASTED_OFFSETS.row({
        "scope": "a", "moment": number, "group": "g", "topic": "t", "partition": 0, "committed": committed, "high_watermark": end,
        "lag_records": end - committed, "client": "c-1", "file": "x", "line": number,
    })  # fmt: skip


def transaction(**more: Any) -> dict[str, Any]:
    return OPEN_TRANSACTIONS.row({"scope": "a", "topic": "t", "partition": 0, "offset": 500, "producer": 7, **more})


def test_a_reader_that_is_caught_up_stands_at_the_newest_transaction() -> None:
    (row,) = group_moments({"pasted_offsets": [moment(1, 500, 560)], "open_transactions": [transaction(ended=True)]})
    assert row["reason"] is None
    (row,) = group_moments({"pasted_offsets": [moment(1, 500, 560)], "open_transactions": [transaction(hanging=True)]})
    assert (row["reason"], row["producer"]) == ("transaction", 7)


def test_two_moments_of_a_saw_tooth_are_no_group_that_falls_behind() -> None:
    looks = [moment(1, 100_000, 106_000), moment(2, 106_000, 161_000)]
    assert group_moments({"pasted_offsets": looks})[0]["reason"] == "moves"
    looks = [*looks, moment(3, 120_000, 290_000)]
    assert group_moments({"pasted_offsets": looks})[0]["reason"] == "behind"


def test_a_quota_that_delays_no_more_is_none() -> None:
    def sample(number: int, name: str, value: float) -> dict[str, Any]:
        place = {"scope": "a", "moment": number, "line": number}
        return METRIC_SAMPLES.row({**place, "name": name, "counts": "quota-delay", "labels": {"client-id": "c-1"}, "value": value})

    looks = [moment(number, 100_000 * number, 100_000 * number + 50_000 * number**2) for number in (1, 2, 3)]
    over = [sample(1, "Fetch.throttle-time", 4364.0), sample(2, "Fetch.throttle-time", 0.0), sample(3, "Produce.throttle-time", 900.0)]
    assert group_moments({"pasted_offsets": looks, "metric_samples": over})[0]["throttled_ms"] == 0.0
