"""Snappy framing format: what Flink writes with ``execution.checkpointing.snapshot-compression``.

Source: snappy's ``framing_format.txt`` and ``format_description.txt``. Written here instead of taking a codec: only the splits of a source
are ever decompressed, a few kilobytes, and the output must stay bounded whatever the bytes say.
"""

from __future__ import annotations

from functools import lru_cache

from analyzers.checkpoints.cursor import Cursor

_COMPRESSED, _PLAIN, _PADDING, _STREAM_ID = 0x00, 0x01, 0xFE, 0xFF
_MAX_CHUNK = 1 << 16  # the format allows no larger chunk


def decompress_chunks(data: bytes, start: int, end: int, limit: int) -> bytes:
    """Decompress the chunks of `data` between `start` and `end`, at most about `limit` bytes of output.

    Raises `DamagedBytes` (offsets within `data`) for a broken chunk or a wrong checksum.
    """
    cursor = Cursor(data[:end], start)
    parts: list[bytes] = []
    size = 0
    while cursor.remaining and size < limit:
        at = cursor.pos
        kind = cursor.i8("chunk type") & 0xFF
        length = int.from_bytes(cursor.take(3, "chunk length"), "little")
        body = cursor.take(length, "chunk")
        if kind in (_COMPRESSED, _PLAIN):
            part = _decompress(body[4:], cursor, at + 8) if kind == _COMPRESSED else body[4:]
            wanted, found = int.from_bytes(body[:4], "little"), _masked_crc(part)
            if wanted != found or length < 4:
                raise cursor.damage(at, f"chunk with checksum {wanted:08x}", f"{found:08x}")
            parts.append(part)
            size += len(part)
        elif kind != _STREAM_ID and kind < 0x80:
            raise cursor.damage(at, "snappy chunk (0, 1, 0x80 to 0xFF)", f"0x{kind:02X}")
    return b"".join(parts)


def _decompress(block: bytes, outer: Cursor, at: int) -> bytes:
    cursor = Cursor(block, base=at)
    size = _varint(cursor)
    if size > _MAX_CHUNK:
        raise outer.damage(at, f"uncompressed length up to {_MAX_CHUNK}", str(size))
    out = bytearray()
    while cursor.remaining:
        tag = cursor.i8("tag") & 0xFF
        if tag & 3 == 0:
            length = tag >> 2
            if length >= 60:
                length = int.from_bytes(cursor.take(length - 59, "literal length"), "little")
            out += cursor.take(length + 1, "literal")
        else:
            _copy(cursor, tag, out)
        if len(out) > size:
            raise outer.damage(at, f"{size} uncompressed bytes", "more")
    if len(out) != size:
        raise outer.damage(at, f"{size} uncompressed bytes", str(len(out)))
    return bytes(out)


def _copy(cursor: Cursor, tag: int, out: bytearray) -> None:
    kind = tag & 3
    if kind == 1:
        length = 4 + (tag >> 2 & 7)
        offset = (tag >> 5) << 8 | cursor.i8("copy offset") & 0xFF
    else:
        length = 1 + (tag >> 2)
        offset = int.from_bytes(cursor.take(2 if kind == 2 else 4, "copy offset"), "little")
    if not 0 < offset <= len(out):
        raise cursor.damage(cursor.pos, f"copy offset between 1 and {len(out)}", str(offset))
    start = len(out) - offset
    if offset >= length:
        out += out[start : start + length]
    else:
        pattern = bytes(out[start:])
        out += (pattern * (length // offset + 1))[:length]


def _varint(cursor: Cursor) -> int:
    value = shift = 0
    while True:
        byte = cursor.i8("uncompressed length")
        value |= (byte & 0x7F) << shift
        if byte >= 0:
            return value
        shift += 7
        if shift > 28:
            raise cursor.damage(cursor.pos, "uncompressed length of at most 5 bytes", "more")


@lru_cache(maxsize=1)
def _crc_table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)


def _masked_crc(data: bytes) -> int:
    """CRC-32C, rotated and offset as the framing format asks."""
    table = _crc_table()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
