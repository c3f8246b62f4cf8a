"""Record batches as brokers send them, every compression, cut off and damaged; and what is told of a record beside its neighbours."""

from __future__ import annotations

import gzip
import json
import os
import random
import struct

import pyarrow as pa
import pytest
import zstandard
from kafka.record.default_records import DefaultRecordBatchBuilder

from cli.collectors.kafka_batches import Record, Unreadable, batches, damage, records
from cli.collectors.kafka_peek import differences, looks_of, shown
from cli.runs.second_look import window_at
from cli.shell.exits import UsageError

T = 1_700_000_000_000


def plain(count: int = 3, *, codec: int = 0) -> bytes:
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 20)
    for number in range(count):
        builder.append(number, T + number, f"k{number}".encode(), b"v" * 50, [("trace", b"1")])
    return bytes(builder.build())


def packed(codec: int, body: bytes, count: int = 3) -> bytes:
    """The batch of `plain` with its records compressed elsewhere: kafka-python has not every codec."""
    header = bytearray(plain(count)[:61])
    struct.pack_into(">i", header, 8, 61 - 12 + len(body))
    struct.pack_into(">h", header, 21, codec)
    return bytes(header) + body


def lz4(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "lz4") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


def xerial(data: bytes) -> bytes:
    """Snappy as Java clients write it: in blocks, each with its length before it."""
    blocks = b""
    for at in range(0, len(data), 64):
        block = bytes(pa.compress(data[at : at + 64], codec="snappy", asbytes=True))
        blocks += struct.pack(">i", len(block)) + block
    return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + blocks


BODY = plain()[61:]


@pytest.mark.parametrize(
    "data",
    [
        plain(),
        packed(1, gzip.compress(BODY)),
        packed(2, xerial(BODY)),
        packed(2, bytes(pa.compress(BODY, codec="snappy", asbytes=True))),
        packed(3, lz4(BODY)),
        packed(4, zstandard.ZstdCompressor().compress(BODY)),
    ],
    ids=["plain", "gzip", "snappy of Java", "snappy of librdkafka", "lz4", "zstd"],
)
def test_every_compression_holds_the_same_records(data: bytes) -> None:
    (batch,) = batches(data)
    found = list(records(batch))
    assert [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in found] == [
        (number, T + number, f"k{number}".encode(), b"v" * 50, (("trace", b"1"),)) for number in range(3)
    ]


@pytest.mark.parametrize("codec", [1, 2, 3, 4, 6])
def test_damaged_compression_is_said(codec: int) -> None:
    (batch,) = batches(packed(codec, b"\x10garbage that nothing wrote"))
    with pytest.raises(Unreadable, match=r"damaged|does not know"):
        list(records(batch))


@pytest.mark.parametrize(
    "data",
    [
        packed(1, gzip.compress(bytes(1 << 20))),
        packed(2, b"\xff\xff\xff\xff\x0f" + b"x"),  # claims 4 GB
        packed(3, lz4(bytes(1 << 20))),
        packed(4, zstandard.compress(bytes(1 << 20))),
    ],
    ids=["gzip", "snappy", "lz4", "zstd"],
)
def test_a_few_bytes_that_hold_very_many_are_not_unpacked(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cli.collectors.kafka_batches.LARGEST_PLAIN_BYTES", 1 << 16)
    (batch,) = batches(data)
    with pytest.raises(Unreadable, match=r"holds more than|claims to hold"):
        list(records(batch))


def test_damaged_records_are_said() -> None:
    (batch,) = batches(plain()[:61] + b"\x7f" + BODY[1:])
    with pytest.raises(Unreadable, match="damaged"):
        list(records(batch))


def batch_of(body: bytes, count: int) -> bytes:
    """A batch that claims to hold `count` records in `body`, plain."""
    made = bytearray(packed(0, body))
    struct.pack_into(">i", made, 57, count)
    return bytes(made)


@pytest.mark.parametrize(
    "data",
    [
        batch_of(BODY, 2**31 - 1),
        batch_of(BODY, -1),
        batch_of(b"\x00" * 4096, 500),  # records without a byte
        batch_of(b"\x01" * 4096, 500),  # records of a negative size: the same byte again and again
        batch_of(BODY[:6] + b"\xfe\xff\xff\xff\x0f" + BODY[11:], 3),  # a key that ends behind the record
        batch_of(b"\x18\x00\x00\x00\x01\x01\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", 1),  # headers without end
    ],
    ids=["count", "negative count", "empty", "negative", "key", "headers"],
)
def test_what_a_batch_claims_is_not_believed(data: bytes) -> None:
    (batch,) = batches(data)
    with pytest.raises(Unreadable):
        list(records(batch))


def test_damaged_bytes_never_make_more_records_than_there_are_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five damaged bytes of a batch once kept the tool busy for minutes; pytest's own time-out ends a run that hangs."""
    monkeypatch.setattr("cli.collectors.kafka_batches.LARGEST_PLAIN_BYTES", 1 << 20)  # freed arrays of 64 MB use up address space
    luck = random.Random(11)
    bodies = [plain(20), packed(1, gzip.compress(BODY)), packed(2, xerial(BODY)), packed(3, lz4(BODY)), packed(4, zstandard.compress(BODY))]
    read = refused = 0
    for number in range(int(os.environ.get("DIAG_FUZZ", "5000"))):
        data = bytearray(bodies[number % len(bodies)])
        for _ in range(luck.randint(1, 5)):
            data[luck.randrange(17 if luck.random() < 0.9 else 0, len(data))] = luck.choice(
                (0, 1, 0x7F, 0x80, 0xFE, 0xFF, luck.randrange(256))
            )
        try:
            for batch in batches(bytes(data)):
                read += len(found := list(records(batch)))
                assert len(found) <= (1 << 20) // 7
                damage(batch)
        except Unreadable:
            refused += 1
    assert read
    assert refused


@pytest.mark.parametrize("kept", [0, 20, 60, 61, 100])
def test_an_answer_may_end_anywhere(kept: int) -> None:
    found = list(batches(plain() + plain()[:kept]))
    assert len(found) == (2 if kept >= 61 else 1)
    assert found[0].body is not None
    if kept >= 61:  # the header alone tells the times
        assert (found[1].body, found[1].begins_at) == (None, T)


def test_records_of_old_brokers_are_named() -> None:
    old = bytearray(plain())
    old[16] = 1
    with pytest.raises(Unreadable, match="magic 1"):
        list(batches(bytes(old)))


def beside(value: bytes | None, *others: bytes | None, key: bytes | None = b"k") -> list[str]:
    own = Record(0, T, key, value, ())
    around = [Record(number + 1, T, b"k", other, ()) for number, other in enumerate(others)]
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


def test_a_changed_byte_is_found_by_the_checksum() -> None:
    """In a value it makes another record that reads as well as the true one."""
    whole = plain()
    (batch,) = batches(whole)
    assert damage(batch) is None
    (batch,) = batches(whole.replace(b"v" * 50, b"v" * 49 + b"w", 1))
    assert next(record.value for record in records(batch)) == b"v" * 49 + b"w"
    assert (damage(batch) or "").startswith("the batch at offset 0 is damaged: its checksum is ")
