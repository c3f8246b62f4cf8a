"""What the lines of a failure agree on."""

from __future__ import annotations

from typing import Any

import pytest

from analyzers.diagnosis.named import named_in
from analyzers.tables import LOG_EVENTS

_NONE = dict.fromkeys(LOG_EVENTS.names)


def row(text: str, **more: Any) -> dict[str, Any]:
    return {**_NONE, "text": text, **more}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Offset commit failed on partition payslips-2 at offset 771204", {"topic": "payslips", "partition": 2, "offset": 771204}),
        ("Dead-letter publication failed for: claims-7@918233", {"topic": "claims", "partition": 7, "offset": 918233}),
        ("Commit of settlements [[2]] @770121 failed", {"topic": "settlements", "partition": 2, "offset": 770121}),
        ("Error encountered sending record to topic refunds.approved for task 0_2", {"topic": "refunds.approved"}),
        ("Topic authorization failed; the topic is gone", {}),
        ("a topic partition of persistent://public/default/t", {}),
        ("Committing transaction dedup-eos-out-1-7 failed", {"transactional_id": "dedup-eos-out-1-7"}),
        ('"Label": "crm_users_0_1", status', {"label": "crm_users_0_1"}),
        ("relation public.orders does not exist", {"table": "public.orders"}),
        ("io.debezium.relational.TableSchemaBuilder.create", {}),
        ("restore from hdfs://ha/ck/8e11/chk-580", {"checkpoint": 580, "path": "hdfs://ha/ck/8e11/chk-580"}),
        ("Partitions assigned for group settlement-sap", {"group": "settlement-sap"}),
        ("the group has rebalanced", {}),
    ],
)
def test_names_of_a_text(text: str, named: dict[str, Any]) -> None:
    assert named_in([row(text)], ()) == named


def test_only_what_all_agree_on() -> None:
    rows = [row("partition payslips-2 at offset 5"), row("partition payslips-3 at offset 5")]
    assert named_in(rows, ()) == {"topic": "payslips"}


def test_a_column_comes_before_the_text() -> None:
    assert named_in([row("to topic wrong.one", topic="right")], ()) == {"topic": "right"}


def test_a_process_has_one_group() -> None:
    own = [row("poll timeout has expired")]
    assert named_in(own, [row("", group="billing"), row("")]) == {"group": "billing"}
    assert named_in(own, [row("", group="billing"), row("", group="audit")]) == {}
    assert named_in(own, [row("", group="spark-kafka-source-1f")]) == {}
