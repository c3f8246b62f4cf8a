"""Splits of Beam's FlinkRunner: identity and position without building a Java object.

Source: ``org.apache.beam.runners.flink.translation.wrappers.streaming.io.source.FlinkSourceSplit`` (fields splitIndex, beamSplitSource,
splitState) and ``org.apache.beam.sdk.io.kafka.KafkaCheckpointMark`` (Avro; field order as declared up to 2.31, alphabetical from 2.62).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any

from analyzers.checkpoints.cursor import Cursor, DamagedBytes
from analyzers.checkpoints.java_stream import JavaObject, object_in
from analyzers.checkpoints.split import Split

SPLIT_CLASS = "org.apache.beam.runners.flink.translation.wrappers.streaming.io.source.FlinkSourceSplit"

# Without a walk (an externalizable source): the class description is the same for every source, so splitIndex lies at a fixed place.
_PREFIX = b"\xac\xed\x00\x05sr" + struct.pack(">H", len(SPLIT_CLASS)) + SPLIT_CLASS.encode() + bytes.fromhex("67808be985b058ac")
_INDEX_AT = 191
_BYTE_ARRAY = b"ur\x00\x02[B" + bytes.fromhex("acf317f8060854e002000078") + b"p"

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}\Z")
_NEXT_NAMES = ("nextOffset", "next", "offset", "position")


def is_beam(body: bytes) -> bool:
    return body.startswith(_PREFIX)


def beam_splits(body: bytes) -> list[Split]:
    """The split of `body`, as one row per topic-partition for KafkaIO; raises `DamagedBytes` when not even the index can be read."""
    found = object_in(body)
    if found is not None and found.class_name == SPLIT_CLASS and found.long("splitIndex") is not None:
        source, raw_state = found.fields.get("beamSplitSource"), found.fields.get("splitState")
        state = raw_state.fields.get("raw") if isinstance(raw_state, JavaObject) else None
        index = found.fields["splitIndex"]
    else:
        source = None
        cursor = Cursor(body, min(_INDEX_AT, len(body)))
        index = cursor.i32("splitIndex")
        at = body.rfind(_BYTE_ARRAY)
        state = body[at + len(_BYTE_ARRAY) + 4 :] if at >= 0 else None
    source_class = source.class_name if isinstance(source, JavaObject) else ""
    rows = _kafka_io(source_class, source, state)
    if rows is None:
        offset, kind = _position(source_class, state)
        rows = [Split("beam", f"splitIndex={index}", offset=offset, offset_kind=kind)]
    return [row._replace(split_index=index) for row in rows]


def _kafka_io(source_class: str, source: Any, state: bytes | None) -> list[Split] | None:
    """KafkaIO's topic-partitions, from the mark where there is one, else from the source; ``None`` for another source."""
    if source_class and "kafka" not in source_class.lower():
        return None
    partitions: dict[tuple[str, int], int | None] = {}
    if isinstance(source, JavaObject):
        partitions = dict.fromkeys(_topic_partitions(source))
    if state is not None:
        try:
            partitions.update({(topic, partition): offset for topic, partition, offset in kafka_mark(state)})
        except DamagedBytes:
            if not partitions:
                return None
    return [
        Split("beam-kafka", f"{topic}-{partition}", topic, partition, offset, "none" if offset is None else "next")
        for (topic, partition), offset in sorted(partitions.items())
    ] or None


def _topic_partitions(source: JavaObject) -> Iterator[tuple[str, int]]:
    """Every ``org.apache.kafka.common.TopicPartition`` that can be reached from `source`."""
    seen: set[int] = set()
    waiting: list[Any] = [source]
    while waiting:
        step = waiting.pop()
        if not isinstance(step, JavaObject) or id(step) in seen:
            continue
        seen.add(id(step))
        topic, partition = step.fields.get("topic"), step.long("partition")
        if step.class_name == "org.apache.kafka.common.TopicPartition" and isinstance(topic, str) and partition is not None:
            yield topic, partition
        waiting += step.fields.values()
        waiting += step.items


def kafka_mark(state: bytes) -> list[tuple[str, int, int]]:
    """(topic, partition, next offset) of each partition of a KafkaCheckpointMark; raises `DamagedBytes` when `state` is none."""
    cursor = Cursor(state)
    marks = []
    while True:
        at = cursor.pos
        number = _long(cursor, "number of marks")
        if number < 0:  # Avro: a negative count is followed by the size of the block
            number = -number
            _long(cursor, "size of marks")
        if number == 0:
            break
        if number > cursor.remaining:
            raise cursor.damage(at, f"number of marks up to {cursor.remaining}", str(number))
        marks += [_mark(cursor) for _ in range(number)]
    if cursor.remaining:
        raise cursor.damage(cursor.pos, "end of the mark", f"{cursor.remaining} more bytes")
    return marks


def _mark(cursor: Cursor) -> tuple[str, int, int]:
    at = cursor.pos
    try:
        offset, partition = _long(cursor, "next offset"), _long(cursor, "partition")
        topic = _text(cursor)
    except DamagedBytes:
        cursor.pos = at
        topic, partition, offset = _text(cursor), _long(cursor, "partition"), _long(cursor, "next offset")
    _long(cursor, "watermark")
    if partition < 0 or offset < 0:
        raise cursor.damage(at, "partition and offset (not negative)", f"{partition}, {offset}")
    return topic, partition, offset


def _long(cursor: Cursor, what: str) -> int:
    value = shift = 0
    while True:
        byte = cursor.i8(what)
        value |= (byte & 0x7F) << shift
        if byte >= 0:
            return value >> 1 ^ -(value & 1)
        shift += 7
        if shift > 63:
            raise cursor.damage(cursor.pos, f"{what} of at most 10 bytes", "more")


def _text(cursor: Cursor) -> str:
    at = cursor.pos
    size = _long(cursor, "length of topic")
    topic = cursor.take(size, "topic").decode("latin-1")
    if not _TOPIC.match(topic):
        raise cursor.damage(at, "topic name", repr(topic[:40]))
    return topic


def _position(source_class: str, state: bytes | None) -> tuple[int | None, str]:
    """The position of a source that is not Kafka, as far as its mark tells."""
    if state is None:
        return None, "none"
    mark = object_in(state)
    if mark is not None:
        for name in _NEXT_NAMES:
            value = mark.long(name)
            if value is not None:
                return value, "next" if name.startswith("next") else "mark"
        return None, "unknown"
    if source_class.endswith("CountingSource$UnboundedCountingSource") and len(state) >= 8:
        return struct.unpack_from(">q", state)[0], "mark"
    return None, "unknown"
