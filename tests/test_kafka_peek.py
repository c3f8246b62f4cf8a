"""What is told of a record beside its neighbours, and what a damaged batch holds all the same."""

from __future__ import annotations

import asyncio
import json
import struct
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli.collectors.kafka_cluster import Cluster
from cli.collectors.kafka_peek import differences, looks_of, shown
from cli.collectors.kafka_records import Record, Want, read_records
from cli.runs.second_look import window_at
from cli.shell.exits import UsageError

T = 1_700_000_000_000


def beside(value: bytes | None, *others: bytes | None, key: bytes | None = b"k") -> list[str]:
    own = Record(0, T, None, key, value, ())
    around = [Record(number + 1, T, None, b"k", other, ()) for number, other in enumerate(others)]
    looks = {record.offset: looks_of(record.value) for record in (own, *around)}
    return differences(own, looks[0], around, looks)


def document(**fields: object) -> bytes:
    return json.dumps(fields).encode()


USUAL = [document(id=n, amount=1.5) for n in range(4)]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (document(id=9, amount="n/a"), "field amount is text, in its neighbours number"),
        (document(id=9), "field amount is missing"),
        (b'{"id": 9, "amo', "decodes as utf-8, its neighbours as utf-8 and json"),
        (b"\xff\xfe", "decodes as nothing known"),
        (None, "tombstone"),
        (b"", "it is empty"),
        (document(id=9, amount=1.0, pad="x" * 9000), "bytes, its neighbours about"),
    ],
)
def test_what_makes_a_record_odd(value: bytes | None, words: str) -> None:
    assert any(words in said for said in beside(value, *USUAL))


def test_a_record_like_its_neighbours_is_not_odd() -> None:
    assert beside(document(id=5, amount=3), *USUAL) == []
    assert beside(b"\xff", document(id=1)) == []  # one neighbour tells nothing
    assert beside(None, None, None, b"a") == []  # a compacted topic


def test_schema_ids_are_read_and_compared() -> None:
    framed = [b"\0" + struct.pack(">i", 41) + b"\x02\x04ab"] * 3
    assert looks_of(framed[0]).schema_id == 41
    assert beside(b"\0" + struct.pack(">i", 99) + b"\x02\x04ab", *framed) == ["its schema id is 99, its neighbours have 41"]


def test_contents_are_shown_as_text_or_hexadecimal() -> None:
    assert (shown(b"abc"), shown(b"\xff\x00"), shown(None)) == ("abc", "hex ff00", None)


def test_a_place_to_peek_at() -> None:
    assert window_at("orders.v2:3:17").from_offset == 17
    with pytest.raises(UsageError, match="names no record"):
        window_at("orders-3@17")


class DamagedLog:
    """Stands for a cluster of one partition with records 0 to 19; the batch of 5 to `last` is damaged. Notes the questions."""

    def __init__(self, last: int) -> None:
        self.damaged = range(5, last + 1)
        self.asked: list[tuple[int, bool]] = []
        self.leaders = {("orders", 0): 1}
        self.brokers = {1: None}

    async def reach(self, node: int) -> None:
        pass

    def name(self, node: int) -> str:
        return f"broker {node}"

    async def ask_library(self, ask: str, take: Any, **question: Any) -> str:
        ((number, _, _, at, most, until),) = question["wants"]
        self.asked.append((at, question["checked"]))
        for offset in range(at, min(at + most, 20)):
            if question["checked"] and offset in self.damaged:
                error = [-199, "fetch of message set failed: CRC error at offset 5"]
                take({"want": number, "error": error, "damaged": True, "batch": 5})
                return ""
            if until is not None and offset > until:
                take({"want": number, "beyond": offset})
                return ""
            take({"want": number, "offset": offset, "at": T, "clock": 1, "key": None, "value": "dg==", "headers": []})
        if at + most > 20:
            take({"want": number, "log_end": 20})
        return ""


@pytest.mark.parametrize("last", [5, 7, 19])
def test_what_a_damaged_batch_holds_is_shown_and_marked(last: int) -> None:
    log = DamagedLog(last)
    want = Want("orders", 0, 3, most=10, whole=True)
    reading = asyncio.run(read_records(cast(Cluster, log), [want]))[want]
    assert [record.offset for record in reading.records] == list(range(3, 13))
    assert sorted(reading.damaged) == list(range(5, min(last, 12) + 1))
    assert all("the batch at offset 5 is damaged" in why for why in reading.damaged.values())
    assert reading.error is None
    assert len(log.asked) <= 6


def test_a_leader_that_is_silent_leaves_a_reason() -> None:
    async def silent(ask: str, take: Any, **question: Any) -> str:
        return "no answer in 4.0 s"

    log = DamagedLog(5)
    cluster = SimpleNamespace(leaders=log.leaders, brokers=log.brokers, reach=log.reach, name=log.name, ask_library=silent)
    want = Want("orders", 0, 3)
    reading = asyncio.run(read_records(cast(Cluster, cluster), [want]))[want]
    assert (reading.records, reading.error) == ([], "its leader broker 1 cannot be asked: no answer in 4.0 s")
