"""Splits of every connector, from bytes that the connectors themselves wrote."""

from __future__ import annotations

import struct
from array import array
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.checkpoints.beam_splits import SPLIT_CLASS, beam_splits, kafka_mark
from analyzers.checkpoints.cursor import Cursor, DamagedBytes
from analyzers.checkpoints.handles import NamedState
from analyzers.checkpoints.kafka_splits import dynamic_split
from analyzers.checkpoints.snappy_framing import decompress_chunks
from analyzers.checkpoints.source_splits import LEGACY_STATE, READER_STATE, enumerator_splits, holds_splits, reader_splits
from analyzers.checkpoints.split import Split
from tests.examples import examples

STATES = Path(__file__).parent.parent / "fixtures" / "checkpoints" / "written" / "states"


def named(file: str, state: str = READER_STATE) -> tuple[bytes, list[NamedState]]:
    offsets = array("q", map(int, (STATES / f"{file}.offsets").read_text().split()))
    return (STATES / file).read_bytes(), [NamedState(state, "split-distribute", offsets)]


def one_element(element: bytes) -> tuple[bytes, list[NamedState]]:
    return struct.pack(">i", 5) + element, [NamedState(READER_STATE, "split-distribute", array("q", [4]))]


def framed(version: int, body: bytes) -> bytes:
    return struct.pack(">iii", 8 + len(body), version, len(body)) + body


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def coordinator(version: int, payload: bytes, serde: int = 1) -> bytes:
    return struct.pack(">iii", serde, version, len(payload)) + payload


@pytest.mark.parametrize("file", ["kafka-reader-plain", "kafka-reader-snappy"])
def test_kafka_reader_state(file: str) -> None:
    splits = reader_splits(*named(file))
    assert [(s.identity, s.offset, s.offset_kind, s.stopping_offset, s.stopping_kind) for s in splits] == [
        ("orders-0", 42, "next", None, "none"),
        ("orders-1", None, "earliest", 100, "offset"),
        ("a.b_c-d-2", None, "committed", None, "latest"),
        ("orders-3", None, "latest", None, "committed"),
        ("orders-4", 9007199254740993, "next", None, "none"),
    ]
    assert {(s.connector, s.role) for s in splits} == {("kafka", "reader")}


def test_no_marker_is_ever_printed_as_a_number() -> None:
    for file in ("kafka-reader-plain", "kafka-reader-snappy"):
        for split in reader_splits(*named(file)):
            assert (split.offset is None) == (split.offset_kind != "next")
            assert split.offset is None or split.offset >= 0
    for split in reader_splits(*named("kafka-legacy", LEGACY_STATE)):
        assert split.offset is None or split.offset >= 0


def test_legacy_consumer_holds_the_last_record_not_the_next() -> None:
    splits = reader_splits(*named("kafka-legacy", LEGACY_STATE))
    assert [(s.topic, s.partition, s.offset, s.offset_kind) for s in splits] == [
        ("orders", 0, 42, "next"),
        ("x", 3, None, "earliest"),  # one character: the other form of Kryo's strings
        ("payments.eu-west_1", 250, 9007199254740993, "next"),
        ("q" * 200, 1, None, "committed"),
        ("orders", 70000, None, "latest"),
        ("o12345678901234567890123456789012345678901234567890123456789012", 2, None, "none"),
        ("orders", 5, 0, "next"),
    ]


def test_legacy_element_with_a_wrong_hash_is_refused() -> None:
    data, states = named("kafka-legacy", LEGACY_STATE)
    at = data.index(b"orders"[:5])
    with pytest.raises(DamagedBytes, match="hash of topic"):
        reader_splits(data[:at] + b"p" + data[at + 1 :], states)


def test_enumerator_v3_gives_no_offset_for_assigned_splits() -> None:
    splits = enumerator_splits(coordinator(3, (STATES / "kafka-enumerator-v3").read_bytes()))
    assert splits is not None
    found = sorted((s.identity, s.status, s.offset, s.offset_kind, s.role) for s in splits)
    assert found == [("orders-0", "assigned", None, "none", "enumerator"), ("orders-1", "unassigned", None, "earliest", "enumerator")]


def test_enumerators_v0_to_v2() -> None:
    split = utf("orders") + struct.pack(">iqq", 4, 17, -(1 << 63))
    v0 = struct.pack(">ii", 2, 0) + struct.pack(">iii", 0, 1, len(split)) + split + struct.pack(">ii", 1, 0)
    v1 = struct.pack(">i", 1) + utf("orders") + struct.pack(">i", 4)
    v2 = struct.pack(">i", 1) + utf("orders") + struct.pack(">ii", 4, 1) + b"\x01"
    found = [enumerator_splits(coordinator(version, payload)) for version, payload in enumerate((v0, v1, v2))]
    assert [[(s.identity, s.status, s.subtask, s.offset) for s in splits or ()] for splits in found] == [
        [("orders-4", "assigned", 0, None)],
        [("orders-4", "assigned", None, None)],
        [("orders-4", "unassigned", None, None)],
    ]
    assert enumerator_splits(coordinator(1, v1, serde=0) + b"tracker of assignments")
    assert enumerator_splits(coordinator(1, v1) + b"more") is None
    assert enumerator_splits(coordinator(1, v1 + b"\x00")) is None


def test_coordinators_of_others_are_not_guessed_at() -> None:
    assert enumerator_splits(b"") is None
    assert enumerator_splits(coordinator(0, b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap")) is None
    assert enumerator_splits(b"any other coordinator's bytes") is None


def test_dynamic_source() -> None:
    splits = reader_splits(*one_element((STATES / "kafka-dynamic-split-v1").read_bytes()))
    assert [(s.connector, s.identity, s.offset) for s in splits] == [("kafka-dynamic", "cluster-a/orders-0", 42)]
    known = enumerator_splits(coordinator(2, (STATES / "kafka-dynamic-enumerator-v2").read_bytes()))
    assert sorted((s.identity, s.status) for s in known or ()) == [("cluster-a/orders-0", "assigned"), ("cluster-a/orders-1", "unassigned")]


def test_dynamic_split_v2_of_a_removed_cluster_is_retained() -> None:
    body = utf("c") + b"\x01" + struct.pack(">qi", 99, 0) + utf("t") + struct.pack(">iqq", 1, 5, -(1 << 63))
    assert dynamic_split(Cursor(body), 2).status == "retained"
    assert reader_splits(*one_element(framed(2, body)))[0].identity == "c/t-1"


def test_number_sequence_and_unknown_sources() -> None:
    body = utf("1-of-4") + struct.pack(">qq", 100, 250)
    assert reader_splits(*one_element(framed(1, body))) == [
        Split("number-sequence", "1-of-4", offset=100, offset_kind="next", stopping_offset=250, stopping_kind="offset")
    ]
    opaque = reader_splits(*one_element(framed(1, b"some other source")))[0]
    assert (opaque.connector, opaque.offset, opaque.offset_kind) == ("opaque", None, "unknown")
    assert opaque == reader_splits(*one_element(framed(1, b"some other source")))[0]


def test_beam_kafka_is_told_by_topic_partition() -> None:
    read = reader_splits(*one_element((STATES / "beam-kafka-read").read_bytes()))
    assert [(s.connector, s.identity, s.offset, s.offset_kind, s.split_index) for s in read] == [
        ("beam-kafka", "orders-0", 1289, "next", 5),
        ("beam-kafka", "orders-3", 9007199254740993, "next", 5),
        ("beam-kafka", "pay.ments-7", 0, "next", 5),
    ]
    fresh = reader_splits(*one_element((STATES / "beam-kafka-fresh").read_bytes()))
    assert [(s.identity, s.offset, s.offset_kind) for s in fresh] == [(s.identity, None, "none") for s in read]


def test_beam_generate_sequence_has_a_mark_of_its_own() -> None:
    splits = reader_splits(*one_element((STATES / "beam-generate-sequence").read_bytes()))
    assert [(s.connector, s.identity, s.offset, s.offset_kind) for s in splits] == [("beam", "splitIndex=2", 2, "mark")]


@pytest.mark.parametrize("newest_first", [True, False], ids=["2.62: alphabetical", "2.31: as declared"])
def test_beam_mark_in_both_field_orders(newest_first: bool) -> None:
    offset, partition, topic, watermark = b"\x92\x14", b"\x00", b"\x0corders", b"\xa2\xbf\x8c\xd9\xbf\x68"
    fields = (offset, partition, topic, watermark) if newest_first else (topic, partition, offset, watermark)
    assert kafka_mark(b"\x02" + b"".join(fields) + b"\x00") == [("orders", 0, 1289)]
    with pytest.raises(DamagedBytes):
        kafka_mark(b"\x02" + b"".join(fields) + b"\x00\x00")


def test_beam_index_without_a_walk() -> None:
    """A source of protocol 1 cannot be walked; the index lies at a fixed place all the same."""
    body = (STATES / "beam-kafka-fresh").read_bytes()[12:]
    assert body[8 : 8 + len(SPLIT_CLASS)] == SPLIT_CLASS.encode()
    cut = body[:300]
    assert [(s.connector, s.identity) for s in beam_splits(cut)] == [("beam", "splitIndex=5")]


def test_states_without_splits_need_not_be_read() -> None:
    assert not holds_splits([NamedState(READER_STATE, "split-distribute", array("q")), NamedState("other", "union", array("q", [1]))])
    assert holds_splits([NamedState(LEGACY_STATE, "union", array("q", [1]))])


@pytest.mark.parametrize("offset", [-1, 0, 3, 1 << 40])
def test_offsets_outside_the_stream_are_damage(offset: int) -> None:
    data, _ = named("kafka-reader-plain")
    with pytest.raises(DamagedBytes):
        reader_splits(data, [NamedState(READER_STATE, "split-distribute", array("q", [offset]))])


def test_snappy_chunks() -> None:
    data = (STATES / "snappy-chunks").read_bytes()
    plain = bytes(((i % 1000) ** 2 // 128 % 11 + (i if i % 997 == 0 else 0)) & 0xFF for i in range(70000))
    assert data.startswith(b"\xff\x06\x00\x00sNaPpY")
    assert decompress_chunks(data, 0, len(data), 1 << 20) == plain
    assert decompress_chunks(b"\xfe\x02\x00\x00zz\x80\x00\x00\x00" + data, 0, len(data) + 10, 1 << 20) == plain  # skippable chunks
    assert plain.startswith(decompress_chunks(data, 0, len(data), 1))  # the limit ends it after a chunk
    assert len(decompress_chunks(data, 0, len(data), 1)) <= 1 << 16


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        (b"\x02\x00\x00\x00", "snappy chunk"),
        (b"\x01\x05\x00\x00\x00\x00\x00\x00a", "checksum"),
        (b"\x00\x05\x00\x00\x00\x00\x00\x00\x09", "9 uncompressed bytes"),
        (b"\x00\x08\x00\x00\x00\x00\x00\x00\x09\x01\x01zz", "copy offset"),
        (b"\x00\x08\x00\x00\x00\x00\x00\x00\xff\xff\xff\x7f", "uncompressed length"),
        (b"\x00\xff\xff\xff", "chunk"),
    ],
)
def test_broken_snappy_chunks(chunk: bytes, expected: str) -> None:
    with pytest.raises(DamagedBytes, match=expected):
        decompress_chunks(chunk, 0, len(chunk), 100)


@settings(max_examples=examples(200), deadline=None)
@given(at=st.integers(0, 328), bit=st.integers(0, 7))
def test_flipped_bits_in_compressed_state_are_found(at: int, bit: int) -> None:
    data, states = named("kafka-reader-snappy")
    whole = reader_splits(data, states)
    flipped = bytearray(data)
    flipped[at] ^= 1 << bit
    try:
        found = reader_splits(bytes(flipped), states)
    except DamagedBytes:
        return
    # whatever passes is what was written: only bytes that carry nothing may differ (header, padding between elements)
    assert found == whole


@settings(max_examples=examples(200), deadline=None)
@given(data=st.data(), file=st.sampled_from(["beam-kafka-read", "beam-generate-sequence", "kafka-dynamic-split-v1"]))
def test_flipped_bits_in_a_split_never_crash(data: st.DataObject, file: str) -> None:
    raw = bytearray((STATES / file).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        splits = reader_splits(*one_element(bytes(raw)))
    except DamagedBytes:
        return
    for split in splits:
        assert split.offset is None or -(1 << 63) <= split.offset < 1 << 63


@settings(max_examples=examples(200), deadline=None)
@given(payload=st.binary(max_size=200), version=st.integers(0, 4), serde=st.integers(0, 2))
def test_any_coordinator_bytes_never_crash(payload: bytes, version: int, serde: int) -> None:
    enumerator_splits(coordinator(version, payload, serde))
    enumerator_splits(payload)
