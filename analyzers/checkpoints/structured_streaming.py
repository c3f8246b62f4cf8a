"""Log files of a Spark Structured Streaming checkpoint directory: bytes → what they say.

Source: ``OffsetSeqLog``, ``CommitLog``, ``StreamMetadata``, ``FileStreamSourceLog``, ``KafkaSourceInitialOffsetWriter`` of Apache Spark
(2.1 to 4.1). Every file begins with a line that names its version; Spark itself refuses a file that ends before it is complete.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from analyzers.checkpoints.cursor import DamagedBytes

_VERSION = re.compile(rb"v(\d{1,4})\Z")
_MARKERS = {-1: "latest", -2: "earliest"}
_NO_OFFSET = b"-"


class OffsetLog(NamedTuple):
    """``offsets/N``: what batch N was planned to read, per source in plan order (v2: by source id); a source without offset is ``None``."""

    version: int
    watermark_ms: int | None
    timestamp_ms: int | None
    sources: list[tuple[str, str | None]]


class CommitLog(NamedTuple):
    """``commits/N``: batch N is done."""

    version: int
    next_watermark_ms: int | None


class SourceOffset(NamedTuple):
    """End of a batch in one Kafka partition, exclusive; a marker is named instead of printed."""

    topic: str
    partition: int
    offset: int | None
    offset_kind: str


class InputFile(NamedTuple):
    """One file that a file source planned to read; `batch` is the source's own number, not that of ``offsets/N``."""

    path: str
    timestamp_ms: int | None
    batch: int | None


def _lines(data: bytes, what: str, newest: int) -> tuple[int, list[tuple[int, bytes]]]:
    """Version and the lines after the first, each with its byte offset."""
    if not data:
        raise DamagedBytes(0, f"{what} (v1)", "an empty file")
    lines: list[tuple[int, bytes]] = []
    at = 0
    for line in data.split(b"\n"):
        lines.append((at, line))
        at += len(line) + 1
    version = _VERSION.match(lines[0][1])
    if version is None or not 1 <= int(version[1]) <= newest:
        raise DamagedBytes(0, f"version of {what} (v1 to v{newest})", repr(lines[0][1][:20].decode("latin-1")))
    return int(version[1]), lines[1:]


def _json(at: int, line: bytes, what: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise DamagedBytes(at + error.pos, f"{what} as JSON", error.msg) from None
    except (ValueError, RecursionError) as error:  # not UTF-8, or a number of thousands of digits
        raise DamagedBytes(at, f"{what} as JSON", type(error).__name__) from None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63 else None


def _object(at: int, line: bytes, what: str) -> dict[str, Any]:
    found = _json(at, line, what)
    if not isinstance(found, dict):
        raise DamagedBytes(at, f"{what} as a JSON object", type(found).__name__)
    return found


def read_offset_log(data: bytes) -> OffsetLog:
    """Raises `DamagedBytes` for a file that is empty, cut or of an unknown version."""
    version, lines = _lines(data, "offsets of a batch", 2)
    if not lines:
        raise DamagedBytes(len(data), "metadata of the batch", "end of the file")
    at, first = lines[0]
    batch = _object(at, first, "metadata of the batch") if first.strip() else {}
    sources: list[tuple[str, str | None]] = []
    for index, (line_at, line) in enumerate(lines[1:]):
        if not line and index == len(lines) - 2:
            break  # a newline at the end of the file
        name, text = str(index), line
        if version >= 2:
            head, colon, text = line.partition(b":")
            if not colon:
                raise DamagedBytes(line_at, "source id, colon, offset", repr(line[:20].decode("latin-1")))
            name = head.decode("utf-8", "replace")
        if text == _NO_OFFSET:
            sources.append((name, None))
            continue
        _json(line_at + len(line) - len(text), text, "offset of a source")
        sources.append((name, text.decode("utf-8")))
    if not sources:
        raise DamagedBytes(len(data), "offset of a source", "end of the file")
    return OffsetLog(version, _number(batch.get("batchWatermarkMs")), _number(batch.get("batchTimestampMs")), sources)


def read_commit_log(data: bytes) -> CommitLog:
    """Raises `DamagedBytes` for a file that is empty or of an unknown version; the line after the version may be missing."""
    version, lines = _lines(data, "commit of a batch", 3)  # v3: Spark 4.3, with the sinks' own metadata
    if not lines or not lines[0][1].strip():
        return CommitLog(version, None)
    at, line = lines[0]
    return CommitLog(version, _number(_object(at, line, "metadata of the commit").get("nextBatchWatermarkMs")))


def read_query_id(data: bytes) -> str:
    """The query id in the file ``metadata``; raises `DamagedBytes`."""
    found = _object(0, data, "metadata of the query").get("id")
    if not isinstance(found, str):
        raise DamagedBytes(0, "the id of the query", "none")
    return found


def read_input_files(data: bytes) -> list[InputFile]:
    """``sources/i/N`` of a file source; empty for another source's. Raises `DamagedBytes`."""
    if data.startswith(b"\x00"):
        return []  # Kafka's initial offsets begin with a NUL byte (SPARK-19517)
    _, lines = _lines(data, "log of a source", 2)
    files = []
    for at, line in lines:
        if not line.strip():
            continue
        entry = _json(at, line, "entry of a source")
        if isinstance(entry, dict) and isinstance(entry.get("path"), str):
            files.append(InputFile(entry["path"], _number(entry.get("timestamp")), _number(entry.get("batchId"))))
    return files


def read_initial_offsets(data: bytes) -> list[SourceOffset]:
    """``sources/i/0`` of a Kafka source; empty for another source's."""
    if data.startswith(b"\x00"):
        data = data[1:]
    head, _, rest = data.partition(b"\n")
    text = rest if _VERSION.match(head) else data  # 2.1.0 wrote no version
    return kafka_offsets(text.decode("utf-8", "replace").strip()) or []


def kafka_offsets(text: str) -> list[SourceOffset] | None:
    """Offsets of ``{"topic":{"0":23}}`` in order of topic and partition; ``None`` when `text` is not a Kafka source's."""
    try:
        topics = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(topics, dict) or not topics:
        return None
    found = []
    for topic, partitions in topics.items():
        if not isinstance(partitions, dict):
            return None
        for partition, offset in partitions.items():
            if not (partition.isascii() and partition.isdigit()) or _number(offset) is None:
                return None
            if offset >= 0:
                found.append(SourceOffset(topic, int(partition), offset, "next"))
            else:
                found.append(SourceOffset(topic, int(partition), None, _MARKERS.get(offset, "unknown")))
    return sorted(found, key=lambda row: (row.topic, row.partition)) or None
