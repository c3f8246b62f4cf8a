"""Record batches as a Fetch answer holds them: bytes → headers and records. Nothing here talks to anybody.

Layout: org.apache.kafka.common.record.DefaultRecordBatch and DefaultRecord (magic 2, Kafka 0.11 and later). The last batch of an answer may
be cut off anywhere: its first 61 bytes tell the times of its records all the same.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

_HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = _HEADER.size  # 61
_CHECKSUM_ENDS_AT = 21
_LENGTH_ENDS_AT = 12  # baseOffset and batchLength; the length counts what follows

_CODECS = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
LARGEST_CHECKED_BYTES = 1 << 20  # the checksum is reckoned in Python, some megabytes a second; the default batch.size is 16 kB
LARGEST_PLAIN_BYTES = 64 << 20  # a damaged or hostile batch of a few bytes may claim gigabytes
MOST_RECORDS = 250_000  # in one batch; a producer's largest request (1 MB) holds half as many of the smallest
_SMALLEST_RECORD = 7  # bytes: length, attributes, two deltas, no key, no value, no headers
_XERIAL = b"\x82SNAPPY\x00"  # org.xerial.snappy: 16 bytes of header, then blocks with their length before them


class Unreadable(Exception):
    """A batch that is not what its header says: `why` in words."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True)
class Batch:
    """One batch. `body` is None when the answer ended inside of it. Times are epoch milliseconds, -1 = none."""

    base_offset: int
    last_offset: int
    magic: int
    attributes: int
    first_timestamp: int
    max_timestamp: int
    producer: int
    epoch: int
    count: int
    body: bytes | None
    checksum: int | None = None  # CRC-32C of all that follows it in the batch
    after_checksum: bytes = b""  # of the header

    @property
    def codec(self) -> str | None:
        """gzip, snappy, lz4, zstd, or None for plain."""
        number = self.attributes & 7
        return _CODECS.get(number, f"codec {number}") if number else None

    @property
    def append_time(self) -> bool:
        """Time stamps are the broker's (message.timestamp.type=LogAppendTime)."""
        return bool(self.attributes & 8)

    @property
    def transactional(self) -> bool:
        return bool(self.attributes & 16)

    @property
    def control(self) -> bool:
        """A commit or abort marker: no consumer ever gets it."""
        return bool(self.attributes & 32)

    @property
    def begins_at(self) -> int:
        """Time of the first record, epoch milliseconds; -1 when the header does not tell it."""
        # bit 6: the log cleaner keeps its delete horizon where the first time stamp was (KIP-534)
        return self.max_timestamp if self.append_time else -1 if self.attributes & 64 else self.first_timestamp


@dataclass(frozen=True)
class Record:
    """One record; `value` None is a tombstone."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def batches(data: bytes) -> Iterator[Batch]:
    """The batches in `data`, the last one perhaps without its body. Raises `Unreadable` for a format before magic 2."""
    at = 0
    while len(data) - at >= HEADER_BYTES:
        base, length, _, magic, crc, attributes, last_delta, first, highest, producer, epoch, _, count = _HEADER.unpack_from(data, at)
        if magic != 2:
            raise Unreadable(f"records in the format of Kafka before 0.11 (magic {magic})")
        end = at + _LENGTH_ENDS_AT + length
        if length < HEADER_BYTES - _LENGTH_ENDS_AT:
            raise Unreadable(f"a batch of {length} bytes at offset {base}")
        body = data[at + HEADER_BYTES : end] if end <= len(data) else None
        covered = data[at + _CHECKSUM_ENDS_AT : at + HEADER_BYTES]
        yield Batch(base, base + last_delta, magic, attributes, first, highest, producer, epoch, count, body, crc, covered)
        at = end


def damage(batch: Batch) -> str | None:
    """Why the bytes of a batch are not those that its checksum was made of (what Java clients refuse: check.crcs); None where they are.

    None, too, for a batch above `LARGEST_CHECKED_BYTES`.
    """
    from kafka.record.util import calc_crc32c

    if batch.body is None or batch.checksum is None or len(batch.body) > LARGEST_CHECKED_BYTES:
        return None
    made = calc_crc32c(batch.after_checksum + batch.body)
    if made == batch.checksum:
        return None
    return f"the batch at offset {batch.base_offset} is damaged: its checksum is {batch.checksum}, that of its bytes {made}"


def records(batch: Batch, *, since: int = 0) -> Iterator[Record]:
    """The records of a whole batch from offset `since` on, none of a marker.

    Nothing that a batch says of itself is believed beyond the bytes that it has: the work is bounded by these, and by `MOST_RECORDS`.
    Raises `Unreadable` when it cannot be decompressed or is not what it says.
    """
    if batch.body is None or batch.control:
        return
    damaged = f"the records of the batch at offset {batch.base_offset} are damaged"
    if not 0 <= batch.count <= MOST_RECORDS:
        raise Unreadable(f"the batch at offset {batch.base_offset} claims to hold {batch.count:,} records")
    try:
        body = _decompressed(batch.codec, batch.body)
        if batch.count * _SMALLEST_RECORD > len(body):
            raise Unreadable(f"{damaged}: {batch.count:,} records do not fit into its {len(body):,} bytes")
        at = 0
        for _ in range(batch.count):
            size, at = _varint(body, at)
            end = at + size
            if size < _SMALLEST_RECORD - 1 or end > len(body):
                raise IndexError
            record = _record(batch, body, at, end, since)
            if record is not None:
                yield record
            at = end
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise Unreadable(damaged) from error


def _record(batch: Batch, body: bytes, at: int, end: int, since: int) -> Record | None:
    """The record that ends at `end`; None where it lies before the offset `since`."""
    time_delta, at = _varint(body, at + 1)
    offset_delta, at = _varint(body, at)
    if batch.base_offset + offset_delta < since:
        return None
    key, at = _bytes(body, at, end)
    value, at = _bytes(body, at, end)
    count, at = _varint(body, at)
    if not 0 <= count <= end - at:
        raise IndexError
    headers = []
    for _ in range(count):
        name, at = _bytes(body, at, end)
        held, at = _bytes(body, at, end)
        headers.append(((name or b"").decode("utf-8", "replace"), held))
    if at != end:
        raise IndexError
    timestamp = batch.max_timestamp if batch.append_time else batch.first_timestamp + time_delta
    return Record(batch.base_offset + offset_delta, timestamp, key, value, tuple(headers))


def _bytes(body: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    size, at = _varint(body, at)
    if size < 0:
        return None, at
    if at + size > end:
        raise IndexError
    return body[at : at + size], at + size


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7
        if shift > 63:
            raise IndexError


def _decompressed(codec: str | None, data: bytes) -> bytes:
    if codec is None:
        return data
    plain = _plain(codec, data)
    if len(plain) > LARGEST_PLAIN_BYTES:
        raise Unreadable(f"its {codec} compression holds more than {LARGEST_PLAIN_BYTES >> 20} MB: not read")
    return plain


def _plain(codec: str, data: bytes) -> bytes:
    """What `data` holds, at most one byte more than `LARGEST_PLAIN_BYTES`."""
    most = LARGEST_PLAIN_BYTES + 1
    try:
        if codec == "gzip":
            return zlib.decompressobj(wbits=47).decompress(data, most)
        if codec == "zstd":
            import zstandard

            with zstandard.ZstdDecompressor().stream_reader(data) as reader:
                return bytes(reader.read(most))
        import pyarrow as pa  # has both; loaded only for a topic that needs it

        if codec == "lz4":
            with pa.CompressedInputStream(pa.BufferReader(data), "lz4") as stream:
                return bytes(stream.read(most))
        if codec == "snappy":
            blocks = [(block, _plain_size(block)) for block in _snappy_blocks(data)]
            if sum(size for _, size in blocks) >= most:
                raise ValueError(f"it claims to hold {sum(size for _, size in blocks):,} bytes")
            return b"".join(bytes(pa.decompress(block, decompressed_size=size, codec="snappy")) for block, size in blocks)
    except Exception as error:  # each codec has its own errors, and all mean the same
        raise Unreadable(
            f"its {codec} compression is damaged ({str(error).splitlines()[0] if str(error) else type(error).__name__})"
        ) from error
    raise Unreadable(f"compressed with {codec}, which this diag does not know")


def _snappy_blocks(data: bytes) -> Sequence[bytes]:
    if not data.startswith(_XERIAL):
        return [data]
    blocks, stream = [], io.BytesIO(data[16:])
    while head := stream.read(4):
        size = struct.unpack(">i", head)[0]
        if not 0 < size <= len(data):
            raise ValueError(f"a block of {size:,} bytes")
        blocks.append(stream.read(size))
    return blocks


def _plain_size(block: bytes) -> int:
    """Raw snappy begins with the size of what it holds, a varint without a sign."""
    value = 0
    for shift, byte in enumerate(block[:5]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value
    raise IndexError


def moment(milliseconds: int) -> datetime | None:
    """The time of a record; None for none (-1, or outside of what a calendar holds)."""
    if not 0 <= milliseconds < 253_402_300_800_000:
        return None
    return datetime.fromtimestamp(milliseconds // 1000, timezone.utc).replace(microsecond=milliseconds % 1000 * 1000)
