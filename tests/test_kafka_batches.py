"""Headers of record batches as brokers send them: cut off and damaged, they cost what they have bytes and no more."""

from __future__ import annotations

import os
import random
import struct
import time

from kafka.record.default_records import DefaultRecordBatchBuilder

from cli.collectors.kafka_batches import batches

T = 1_700_000_000_000


def batch_at(offset: int, count: int = 3, *, attributes: int = 0, producer: int = -1) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1 << 20)
    for number in range(count):
        builder.append(number, T + number, b"k", b"v" * 50, [])
    data = bytearray(builder.build())
    struct.pack_into(">q", data, 0, offset)
    struct.pack_into(">h", data, 21, attributes)
    struct.pack_into(">q", data, 43, producer)
    return bytes(data)


def test_batches_name_their_times_producers_and_markers() -> None:
    found = list(batches(batch_at(10, attributes=16, producer=7) + batch_at(13, 1, attributes=48, producer=7) + batch_at(14, attributes=8)))
    assert [(b.base_offset, b.last_offset, b.transactional, b.control, b.producer) for b in found] == [
        (10, 12, True, False, 7), (13, 13, True, True, 7), (14, 16, False, False, -1),
    ]  # fmt: skip
    assert [(b.begins_at, b.ends_at, b.append_time) for b in found] == [(T, T + 2, False), (T, T, False), (T + 2, T + 2, True)]


def test_a_delete_horizon_is_no_time_of_a_record() -> None:
    (batch,) = batches(batch_at(0, attributes=64))
    assert batch.begins_at == -1


def test_only_the_stretch_that_was_asked_for() -> None:
    data = b"".join(batch_at(offset) for offset in (0, 3, 6, 9))
    assert [b.base_offset for b in batches(data, 4, 8)] == [3, 6]


def test_an_answer_may_end_anywhere_and_old_formats_end_it() -> None:
    whole = batch_at(0)
    for kept in (0, 20, 60, 61, len(whole) - 1):
        assert [b.base_offset for b in batches(whole + batch_at(3)[:kept])] == [0]
    old = bytearray(batch_at(3))
    old[16] = 1
    assert [b.base_offset for b in batches(whole + bytes(old))] == [0]


def test_damaged_bytes_cost_what_they_have_bytes() -> None:
    """Five damaged bytes of a batch once kept the tool busy for minutes."""
    luck = random.Random(11)
    whole = batch_at(0, 20) + batch_at(20, 1, attributes=48) + batch_at(21, 5)
    slowest, read = 0.0, 0
    for _ in range(int(os.environ.get("DIAG_FUZZ", "5000"))):
        data = bytearray(whole)
        for _ in range(luck.randint(1, 5)):
            data[luck.randrange(len(data))] = luck.choice((0, 1, 0x7F, 0x80, 0xFE, 0xFF, luck.randrange(256)))
        started = time.process_time()
        found = list(batches(bytes(data)))
        slowest = max(slowest, time.process_time() - started)
        assert len(found) <= len(data) // 26  # the smallest batch of any format
        read += len(found)
    assert read
    assert slowest < 1.0
