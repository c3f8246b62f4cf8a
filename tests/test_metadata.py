"""`_metadata` of every version and every handle code; damage anywhere keeps what was read before it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzers.checkpoints.cursor import Cursor, DamagedBytes, java_text
from analyzers.checkpoints.handles import (
    CHANNEL_KINDS,
    KEYED,
    OPERATOR,
    STREAM,
    HandleCursor,
    Reference,
    keyed_handle,
    operator_handle,
    stream_handle,
)
from analyzers.checkpoints.java_stream import object_in, read_object
from analyzers.checkpoints.metadata import FORMATS, Fact, FileFact, OperatorFact, SubtaskFact, read_metadata
from tests.examples import examples

FIXTURES = Path(__file__).parent.parent / "fixtures" / "checkpoints"
RECORDED = sorted(path for path in FIXTURES.glob("recorded/**/_metadata") if path.is_file())  # Spark has directories of that name
WRITTEN = {path.parent.name: path for path in FIXTURES.glob("written/v*/_metadata")}


def facts(data: bytes, **options: object) -> tuple[list[SubtaskFact], list[OperatorFact], FileFact]:
    found: list[Fact] = list(read_metadata(data, **options))  # type: ignore[arg-type]
    file = found[-1]
    assert isinstance(file, FileFact)
    return [f for f in found if isinstance(f, SubtaskFact)], [f for f in found if isinstance(f, OperatorFact)], file


def utf(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">H", len(raw)) + raw


def i32(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def i64(*values: int) -> bytes:
    return struct.pack(f">{len(values)}q", *values)


# -- real files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", RECORDED, ids=lambda p: "/".join(p.parts[-4:-1]))
def test_recorded_checkpoints_are_read_to_the_last_byte(path: Path) -> None:
    _, operators, file = facts(path.read_bytes(), strict=True)
    assert (file.damage, file.unread_bytes) == (None, 0)
    kind = "savepoint" if path.parent.name.startswith("savepoint-") else "checkpoint"
    if kind == "checkpoint":  # the directory of a savepoint has the job's id, not its number
        assert file.checkpoint == int(path.parent.name.removeprefix("chk-"))
    assert len(operators) == file.operators > 0
    assert file.version in (3, 4, 6)
    assert file.properties is None if file.version == 3 else file.properties is not None and file.properties.kind == kind


def test_there_are_recordings() -> None:
    assert len(RECORDED) >= 20
    assert sorted(WRITTEN) == ["v2", "v3", "v4", "v5", "v6"]


@pytest.mark.parametrize(
    ("version", "sizes"),
    # the sizes that Flink's own OperatorState.getStateSize() gave for these bytes
    [
        ("v2", [1630]),
        ("v3", [5000001693, 930, 0]),
        ("v4", [5000001693, 930, 0]),
        ("v5", [5000001693, 930, 0]),
        ("v6", [5000001693, 1030, 0]),
    ],
)
def test_state_sizes_are_those_of_flink(version: str, sizes: list[int]) -> None:
    _, operators, file = facts(WRITTEN[version].read_bytes(), strict=True)
    assert [operator.size_bytes for operator in operators] == sizes
    assert file.unread_bytes == 0
    assert file.version == int(version[1:])


def test_operator_id_is_in_file_order() -> None:
    _, operators, _ = facts(WRITTEN["v6"].read_bytes())
    assert operators[0].operator == "11223344556677000102030405060708"


def test_names_and_uids_since_v5() -> None:
    for version in ("v5", "v6"):
        _, operators, _ = facts(WRITTEN[version].read_bytes())
        assert [(o.name, o.uid) for o in operators] == [("näme😀", "uid-0"), (None, None), ("done", "done-uid")]
    _, operators, _ = facts(WRITTEN["v4"].read_bytes())
    assert {o.name for o in operators} == {None}


def test_finished_operators_and_subtasks() -> None:
    subtasks, operators, _ = facts(WRITTEN["v6"].read_bytes())
    assert [(o.finished, o.subtasks, o.parallelism, o.max_parallelism) for o in operators] == [
        (False, 5, 6, 128),
        (False, 5, 5, 5),
        (True, 0, 3, 128),
    ]
    assert [(s.subtask, s.finished) for s in subtasks][:5] == [(0, False), (1, False), (2, False), (3, False), (5, True)]


def test_each_kind_of_state_is_counted_on_its_own() -> None:
    subtasks, _, _ = facts(WRITTEN["v6"].read_bytes())
    sizes = [(s.managed_operator_bytes, s.raw_operator_bytes, s.managed_keyed_bytes, s.raw_keyed_bytes, s.channel_bytes) for s in subtasks]
    assert sizes == [
        (100, 77, 0, 0, 0),
        (0, 0, 1000, 33, 0),
        (0, 0, 5_000_000_000, 0, 0),
        (0, 0, 480, 0, 0),
        (0, 0, 0, 0, 0),
        (0, 0, 565, 0, 0),
        (265, 0, 0, 0, 0),
        (0, 0, 0, 0, 0),
        (0, 0, 0, 0, 100),  # three channels share one stream of 50 bytes and own 20, 30 and 50 of it
        (0, 0, 0, 0, 100),
    ]


def test_state_files_that_are_named() -> None:
    references: list[Reference] = []
    facts(WRITTEN["v6"].read_bytes(), references=references)
    assert Reference("relative", "abc", 0, 1000, None) in references
    assert Reference("file", "hdfs://nn/sp/x", 0, 5_000_000_000, None) in references
    assert Reference("segment", "file:/cp/taskowned/job_x_tm_y/seg", 100, 265, False) in references
    assert Reference("segment", "file:/cp/taskowned/job_x_tm_y/seg", 5, 60, True) in references
    assert len(references) == 12


@pytest.mark.parametrize(
    ("version", "kind", "form", "after"),
    [("v4", "savepoint", "canonical", "none"), ("v5", "savepoint", "native", "terminate"), ("v6", "checkpoint", None, None)],
)
def test_properties(version: str, kind: str, form: str | None, after: str | None) -> None:
    properties = facts(WRITTEN[version].read_bytes())[2].properties
    assert properties is not None
    assert (properties.kind, properties.format, properties.after) == (kind, form, after)
    assert properties.flags["discardSubsumed"] is (kind == "checkpoint")
    assert len(properties.flags) == 7


def test_exact_64_bit_checkpoint_id() -> None:
    assert facts(WRITTEN["v6"].read_bytes())[2].checkpoint == (1 << 63) - 1


# -- hand-built: V7, and a byte string for every code ------------------------------------------------------------------

INLINE = b"\x01" + utf("name") + i32(3) + b"abc"
GROUPS = i32(0, 2) + i64(7, 8)
NAMED = i32(1) + utf("state") + b"\x00" + i32(1) + i64(5)
FILES = i32(1) + utf("1.sst") + b"\x02" + i64(40) + utf("file:/shared/1")

STREAM_BYTES = {
    0: (b"", 0),
    1: (INLINE[1:], 3),
    2: (i64(40) + utf("file:/a"), 40),
    3: (GROUPS + INLINE, 3),
    6: (utf("a") + i64(41), 41),
    15: (i64(10, 42) + i32(1) + utf("file:/seg") + utf("id"), 42),
    16: (b"", 0),
}
HEAD_5 = i64(9) + utf("uuid") + i32(0, 2)
CHANGE = i32(0, 2) + i64(77)
KEYED_BYTES = {
    0: (b"", 0),
    3: (GROUPS + INLINE, 3),
    5: (HEAD_5 + INLINE + FILES + i32(0), 43),
    7: (GROUPS + INLINE, 3),
    8: (CHANGE + i32(1) + b"\x03" + GROUPS + INLINE + i32(0) + i64(4) + utf("id"), 3),
    9: (i32(0, 2) + i64(1, 2) + i32(2) + i32(-1, 2) + b"xx" + i32(5, 1) + b"y" + utf("id"), 3),
    10: (i32(0, 2) + i32(1) + i64(0) + INLINE + i64(60, 50) + utf("id"), 60),
    11: (HEAD_5 + i64(40) + INLINE + FILES + FILES + utf("id"), 83),
    12: (GROUPS + INLINE + utf("id"), 3),
    13: (i32(0, 2) + i32(1) + i64(0) + INLINE + i64(60, 50) + utf("id") + utf("filesystem"), 60),
    14: (CHANGE + i32(0) + i32(1) + b"\x09" + i32(0, 2) + i64(1, 2) + i32(0) + utf("i") + i64(4, 8) + utf("id"), 0),
}
OPERATOR_BYTES = {
    0: (b"", 0),
    4: (NAMED + INLINE, 3),
    17: (NAMED + utf("file:/taskowned") + utf("file:/shared") + b"\x00" + b"\x0f" + STREAM_BYTES[15][0], 42),
}


@pytest.mark.parametrize(
    ("read", "layouts", "samples"),
    [(stream_handle, STREAM, STREAM_BYTES), (keyed_handle, KEYED, KEYED_BYTES), (operator_handle, OPERATOR, OPERATOR_BYTES)],
    ids=["stream", "keyed", "operator"],
)
def test_every_code_is_read_whole_and_cut_anywhere_is_damage(read, layouts, samples) -> None:  # type: ignore[no-untyped-def]
    assert set(samples) == set(layouts), "a code without bytes that prove it"
    for code, (body, size) in samples.items():
        data = bytes([code]) + body
        cursor = HandleCursor(data)
        read(cursor, "handle")
        assert (cursor.remaining, cursor.state_bytes, cursor.depth) == (0, size, 0), code
        for end in range(len(data)):
            with pytest.raises(DamagedBytes):
                read(HandleCursor(data[:end]), "handle")


def subtask(index: int, *, channels: tuple[bytes, bytes] = (b"", b""), tail: bytes = b"") -> bytes:
    counts = [i32(1 if channel else 0) + channel for channel in channels]
    return i32(index, 0, 0) + b"\x00\x00" + b"".join(counts) + tail


def metadata(version: int, subtasks: list[bytes], *, tail: bytes) -> bytes:
    names = utf("op") + utf("") if FORMATS[version].named_operators else b""
    operator = names + i64(1, 2) + i32(4, 128) + b"\x00" + i32(len(subtasks)) + b"".join(subtasks)
    return i32(0x4960672D, version) + i64(3) + i32(0, 1) + operator + tail


def properties_tail() -> bytes:
    data = WRITTEN["v6"].read_bytes()
    return data[data.index(b"\xac\xed\x00\x05") :]


def test_v7_names_the_checkpoint_a_subtask_refers_to() -> None:
    data = metadata(7, [subtask(0, tail=b"\x01" + i64(41)), subtask(1, tail=b"\x00")], tail=properties_tail())
    subtasks, _, file = facts(data, strict=True)
    assert [s.referenced_checkpoint for s in subtasks] == [41, None]
    assert (file.version, file.unread_bytes) == (7, 0)


@pytest.mark.parametrize("kind", sorted(CHANNEL_KINDS))
def test_channel_kinds_since_v6(kind: int) -> None:
    single = i32(0, 1, 2) + i32(1) + i64(0) + i64(30) + INLINE
    merged = i32(0) + i64(30) + INLINE + i32(2) + b"zz"
    data = metadata(6, [subtask(0, channels=(bytes([kind]) + (single if kind < 3 else merged), b""))], tail=properties_tail())
    subtasks, _, _ = facts(data, strict=True)
    assert subtasks[0].channel_bytes == 30


def test_channels_before_v6_have_no_kind() -> None:
    single = i32(0, 1, 2) + i32(1) + i64(0) + i64(30) + INLINE
    subtasks, _, _ = facts(metadata(4, [subtask(0, channels=(single, single))], tail=properties_tail()), strict=True)
    assert subtasks[0].channel_bytes == 60


def test_unknown_code_says_where_and_what_was_expected() -> None:
    data = metadata(6, [i32(0, 1) + b"\x2a"], tail=b"")
    _, operators, file = facts(data)
    assert file.damage is not None
    assert file.damage.offset == len(data) - 1
    assert file.damage.expected == "code of managed operator state (0, 4, 17)"
    assert file.damage.found == "42"
    assert [(o.name, o.complete) for o in operators] == [("op", False)]


@pytest.mark.parametrize("data", [b"", b"\x49", b"PK\x03\x04 some other program's file", b"\x49\x60\x67\x2d\x00\x00\x00\x01" + bytes(20)])
def test_other_files_are_damage_at_their_beginning(data: bytes) -> None:
    _, operators, file = facts(data)
    assert operators == []
    assert file.damage is not None
    assert file.damage.offset <= 4
    assert file.unread_bytes == len(data) - file.damage.offset


def test_bytes_after_the_end_are_reported_and_strict_refuses_them() -> None:
    data = WRITTEN["v6"].read_bytes() + b"junk"
    assert facts(data)[2].unread_bytes == 4
    with pytest.raises(DamagedBytes, match="4 more bytes"):
        facts(data, strict=True)


# -- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [WRITTEN["v2"], WRITTEN["v6"], RECORDED[0], RECORDED[-1]], ids=lambda p: "/".join(p.parts[-3:-1]))
def test_cut_at_every_byte_keeps_the_operators_before(path: Path) -> None:
    data = path.read_bytes()
    _, whole, _ = facts(data)
    step = 1 if len(data) < 8000 else 7
    for end in range(0, len(data), step):
        _, operators, file = facts(data[:end])
        complete = [o for o in operators if o.complete]
        assert complete == whole[: len(complete)]
        assert file.operators == len(complete)
        assert file.damage is not None
        assert 0 <= file.damage.offset <= end
        with pytest.raises(DamagedBytes):
            facts(data[:end], strict=True)


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data())
def test_flipped_bits_never_crash(data: st.DataObject) -> None:
    raw = bytearray(data.draw(st.sampled_from([WRITTEN[v] for v in sorted(WRITTEN)])).read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] ^= 1 << data.draw(st.integers(0, 7))
    file = facts(bytes(raw))[2]
    assert 0 <= file.unread_bytes <= len(raw)
    assert repr(facts(bytes(raw))) == repr(facts(bytes(raw)))


@settings(max_examples=examples(200), deadline=None)
@given(tail=st.binary(max_size=300), version=st.integers(2, 7))
def test_anything_after_a_right_head_never_crashes(tail: bytes, version: int) -> None:
    facts(i32(0x4960672D, version) + tail)


@pytest.mark.parametrize("count", [-1, 2, 0x7FFFFFFF, -0x80000000])
def test_made_up_counts_are_bounded_by_what_remains(count: int) -> None:
    for data in (
        i32(0x4960672D, 6) + i64(3) + i32(count),
        i32(0x4960672D, 6) + i64(3) + i32(0, count),
        metadata(6, [i32(0, 1) + b"\x04" + i32(count)], tail=b""),
        metadata(6, [i32(0, 1) + b"\x04" + i32(1) + utf("s") + b"\x00" + i32(count)], tail=b""),
        metadata(6, [i32(0, 0, 0) + b"\x03" + i32(0, count)], tail=b""),
    ):
        assert facts(data)[2].damage is not None


def test_more_subtasks_than_the_parallelism_is_damage() -> None:
    data = metadata(6, [subtask(i) for i in range(5)], tail=properties_tail())
    damage = facts(data)[2].damage
    assert damage is not None
    assert damage.expected == "number of subtask states between 0 and the parallelism 4"


@pytest.mark.parametrize("code", [3, 8, 14])
def test_nesting_is_bounded(code: int) -> None:
    layer = {3: b"\x03" + i32(0, 0), 8: b"\x08" + CHANGE + i32(1), 14: b"\x0e" + CHANGE + i32(1)}[code]
    cursor = HandleCursor(layer * 5000)
    with pytest.raises(DamagedBytes, match="nested at most 16 deep"):
        (stream_handle if code == 3 else keyed_handle)(cursor, "handle")


def test_master_states_must_fill_their_length() -> None:
    body = i32(7) + utf("hook") + i32(1) + b"x"
    for extra, damaged in ((b"", False), (b"!", True)):
        master = struct.pack(">I", 0xC96B1696) + i32(len(body + extra)) + body + extra
        data = i32(0x4960672D, 3) + i64(3) + i32(1) + master + i32(0)
        assert (facts(data)[2].damage is not None) is damaged


# -- primitives ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain", "plain"),
        (b"n\xc3\xa4me", "näme"),
        (b"a\xc0\x80b", "a\x00b"),
        (b"\xed\xa0\xbd\xed\xb8\x80", "\U0001f600"),
        (b"\xed\xa0\xbd", "\ufffd"),
    ],
)
def test_modified_utf8(raw: bytes, text: str) -> None:
    assert java_text(raw) == text


def test_text_that_is_no_utf8_is_damage() -> None:
    with pytest.raises(DamagedBytes, match="modified UTF-8"):
        Cursor(b"\x00\x02\xff\xfe").utf("name")


def test_a_java_stream_is_walked_not_built() -> None:
    found = object_in(properties_tail())
    assert found is not None
    assert found.class_name.endswith("CheckpointProperties")
    assert object_in(properties_tail()[:-1]) is None


def test_java_nesting_and_protocol_1_are_damage() -> None:
    deep = b"\xac\xed\x00\x05" + b"ur\x00\x13[Ljava.lang.Object;" + bytes(8) + b"\x02\x00\x00xp" + i32(1)
    level = b"uq\x00\x7e\x00\x00" + i32(1)
    with pytest.raises(DamagedBytes, match="deep"):
        read_object(Cursor(deep + level * 500), "object")
    external = b"\xac\xed\x00\x05sr\x00\x01E" + bytes(8) + b"\x04\x00\x00xp"
    with pytest.raises(DamagedBytes, match="protocol 1"):
        read_object(Cursor(external + b"\x00"), "object")
