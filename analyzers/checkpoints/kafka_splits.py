"""Kafka positions as Flink's connectors write them: splits, enumerator state, DynamicKafkaSource, the legacy consumer.

Source (flink-connector-kafka): ``KafkaPartitionSplitSerializer``, ``KafkaSourceEnumStateSerializer``,
``DynamicKafkaSourceSplitSerializer``, ``DynamicKafkaSourceEnumStateSerializer``; up to v3.4.0 ``KafkaTopicPartition`` and
``KafkaTopicPartitionStateSentinel``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from analyzers.checkpoints.cursor import Cursor
from analyzers.checkpoints.split import Split

_NO_STOP = -(1 << 63)
# KafkaPartitionSplit: LATEST_OFFSET, EARLIEST_OFFSET, COMMITTED_OFFSET; a split that still carries one has never emitted a record.
_MARKERS = {-1: "latest", -2: "earliest", -3: "committed", _NO_STOP: "none"}
_LEGACY_MARKERS = {-915623761776: "none", -915623761775: "earliest", -915623761774: "latest", -915623761773: "committed"}
_ENUMERATOR_STATUS = {0: "assigned", 1: "unassigned"}

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}\Z")


def _topic(cursor: Cursor) -> str:
    at = cursor.pos
    topic = cursor.utf("topic")
    if not _TOPIC.match(topic):
        raise cursor.damage(at, "topic name", repr(topic[:40]))
    return topic


def _partition(cursor: Cursor) -> int:
    at = cursor.pos
    partition = cursor.i32("partition")
    if partition < 0:
        raise cursor.damage(at, "partition (not negative)", str(partition))
    return partition


def _version(cursor: Cursor, what: str, known: int) -> None:
    at = cursor.pos
    version = cursor.i32(what)
    if version != known:
        raise cursor.damage(at, f"{what} {known}", str(version))


def _finish(cursor: Cursor, what: str) -> None:
    if cursor.remaining:
        raise cursor.damage(cursor.pos, f"end of {what}", f"{cursor.remaining} more bytes")


def kafka_split(cursor: Cursor) -> Split:
    """KafkaPartitionSplit version 0, up to the end of `cursor`; the starting offset is the next one to read."""
    topic, partition = _topic(cursor), _partition(cursor)
    start, stop = cursor.i64("starting offset"), cursor.i64("stopping offset")
    _finish(cursor, "split")
    kind = "next" if start >= 0 else _MARKERS.get(start, "unknown")
    return Split(
        connector="kafka",
        identity=f"{topic}-{partition}",
        topic=topic,
        partition=partition,
        offset=start if start >= 0 else None,
        offset_kind=kind,
        stopping_offset=stop if stop >= 0 else None,
        stopping_kind="offset" if stop >= 0 else _MARKERS.get(stop, "unknown"),
    )


def dynamic_split(cursor: Cursor, version: int) -> Split:
    """DynamicKafkaSourceSplit version 1 or 2: a cluster id and a Kafka split."""
    cluster = cursor.utf("cluster id")
    # A retained split belongs to a cluster that left the metadata: kept for its offset, read by nobody.
    retained = version >= 2 and cursor.i8("flag of retention") != 0
    if retained:
        cursor.i64("retained until")
    _version(cursor, "version of the Kafka split", 0)
    split = kafka_split(cursor)
    status = "retained" if retained else split.status
    return split._replace(connector="kafka-dynamic", identity=f"{cluster}/{split.identity}", status=status)


def _assigned(topic: str, partition: int, status: str) -> Split:
    # A start marker says nothing about progress (it is written once, at discovery), so the enumerator's rows carry no offset.
    return Split("kafka", f"{topic}-{partition}", topic, partition, status=status, role="enumerator")


def _status(cursor: Cursor) -> str:
    return _ENUMERATOR_STATUS.get(cursor.i32("status of split"), "unknown")


def _sized_split(cursor: Cursor) -> Split:
    at = cursor.pos + 4
    return kafka_split(Cursor(cursor.block("split"), base=cursor.base + at))


def _enumerator_v0(cursor: Cursor) -> Iterator[Split]:
    subtasks = cursor.count("number of subtasks", 8)
    if subtasks:
        _version(cursor, "version of the Kafka split", 0)
    for _ in range(subtasks):
        subtask = cursor.i32("subtask")
        for _ in range(cursor.count("number of splits", 4)):
            split = _sized_split(cursor)
            yield split._replace(role="enumerator", status="assigned", subtask=subtask, offset=None, offset_kind="none")


def _enumerator_v1(cursor: Cursor) -> Iterator[Split]:
    for _ in range(cursor.count("number of partitions", 6)):
        yield _assigned(_topic(cursor), _partition(cursor), "assigned")


def _enumerator_v2(cursor: Cursor) -> Iterator[Split]:
    for _ in range(cursor.count("number of partitions", 10)):
        topic, partition = _topic(cursor), _partition(cursor)
        yield _assigned(topic, partition, _status(cursor))
    cursor.i8("flag of the first discovery")


def _enumerator_v3(cursor: Cursor) -> Iterator[Split]:
    splits = cursor.count("number of splits", 8)
    _version(cursor, "version of the Kafka split", 0)
    for _ in range(splits):
        split = _sized_split(cursor)
        status = _status(cursor)
        if status == "unassigned":
            yield split._replace(role="enumerator", status=status)
        else:
            yield split._replace(role="enumerator", status=status, offset=None, offset_kind="none")
    cursor.i8("flag of the first discovery")


ENUMERATORS: dict[int, Callable[[Cursor], Iterator[Split]]] = {0: _enumerator_v0, 1: _enumerator_v1, 2: _enumerator_v2, 3: _enumerator_v3}


def kafka_enumerator(cursor: Cursor, version: int) -> list[Split]:
    """KafkaSourceEnumState version 0 to 3, up to the end of `cursor`; raises `DamagedBytes` for anything else."""
    read = ENUMERATORS.get(version)
    if read is None:
        raise cursor.damage(cursor.pos, f"version of the enumerator (0 to {max(ENUMERATORS)})", str(version))
    splits = list(read(cursor))
    _finish(cursor, "enumerator state")
    return splits


def dynamic_enumerator(cursor: Cursor, version: int) -> list[Split]:
    """DynamicKafkaSourceEnumState version 1 to 3: streams with their clusters, then one Kafka enumerator state per cluster."""
    if version not in (1, 2, 3):
        raise cursor.damage(cursor.pos, "version of the dynamic enumerator (1 to 3)", str(version))
    for _ in range(cursor.count("number of streams", 6)):
        cursor.utf("stream id")
        for _ in range(cursor.count("number of clusters", 8)):
            _skip_cluster(cursor, version)
    inner = cursor.i32("version of the Kafka enumerator")
    splits: list[Split] = []
    for retained in (False, True)[: 2 if version == 3 else 1]:
        for _ in range(cursor.count("number of cluster states", 6)):
            cluster = cursor.utf("cluster id")
            if retained:
                cursor.i64("retained until")
            at = cursor.pos + 4
            state = Cursor(cursor.block("enumerator state of a cluster"), base=cursor.base + at)
            found = kafka_enumerator(state, inner)
            if not retained:
                splits += [s._replace(connector="kafka-dynamic", identity=f"{cluster}/{s.identity}") for s in found]
    _finish(cursor, "enumerator state")
    return splits


def _skip_cluster(cursor: Cursor, version: int) -> None:
    cursor.utf("cluster id")
    for _ in range(cursor.count("number of topics", 2)):
        cursor.utf("topic")
    cursor.utf("bootstrap servers")
    if version >= 2:
        for _ in range(2):
            if cursor.i8("flag of an offsets initializer"):
                cursor.block("offsets initializer")


def legacy_element(cursor: Cursor) -> Split:
    """One element of ``topic-partition-offset-states`` (FlinkKafkaConsumer): Kryo's KafkaTopicPartition, then the last processed offset.

    Raises `DamagedBytes`, also when the hash inside does not fit topic and partition.
    """
    at = cursor.pos
    class_id = _varint(cursor)
    if class_id == 0:
        raise cursor.damage(at, "a KafkaTopicPartition", "null")
    if class_id == 1:
        _varint(cursor)
        _kryo_text(cursor)
    _reference_marker(cursor)
    cached_hash, partition = _zigzag(_varint(cursor)), _zigzag(_varint(cursor))
    _reference_marker(cursor)
    topic = _kryo_text(cursor)
    if cached_hash != _int32(31 * _java_hash(topic) + partition):
        raise cursor.damage(at, "hash of topic and partition", f"{cached_hash} for {topic[:40]!r}, {partition}")
    last = cursor.i64("last processed offset")
    _finish(cursor, "element")
    kind = "next" if last >= -1 else _LEGACY_MARKERS.get(last, "unknown")
    # The state holds the last record that was processed, every other source the next one to read.
    return Split("kafka-legacy", f"{topic}-{partition}", topic, partition, last + 1 if kind == "next" else None, kind)


def _reference_marker(cursor: Cursor) -> None:
    at = cursor.pos
    marker = _varint(cursor)
    if marker != 1:
        raise cursor.damage(at, "reference marker 1", str(marker))


def _varint(cursor: Cursor) -> int:
    value = shift = 0
    while True:
        byte = cursor.i8("variable-length number")
        value |= (byte & 0x7F) << shift
        if byte >= 0:
            return value
        shift += 7
        if shift > 63:
            raise cursor.damage(cursor.pos, "number of at most 10 bytes", "more")


def _zigzag(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def _kryo_text(cursor: Cursor) -> str:
    at = cursor.pos
    first = cursor.i8("text") & 0xFF
    if first & 0x80:
        size, shift = first & 0x3F, 6
        more = bool(first & 0x40)
        while more and shift < 32:
            byte = cursor.i8("length of text") & 0xFF
            size |= (byte & 0x7F) << shift
            shift += 7
            more = bool(byte & 0x80)
        raw = cursor.take(size - 1, "text")
    else:
        found = bytearray()
        byte = first
        while not byte & 0x80:
            found.append(byte)
            byte = cursor.i8("text") & 0xFF
        raw = bytes([*found, byte & 0x7F])
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise cursor.damage(at, "text", raw[:16].hex()) from None


def _java_hash(text: str) -> int:
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return value


def _int32(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value
