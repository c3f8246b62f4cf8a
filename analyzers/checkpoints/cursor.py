"""A bounds-checked walk over big-endian bytes, as Java's ``DataOutputStream`` writes them."""

from __future__ import annotations

import struct
from array import array
from sys import byteorder

from analyzers.budget import BUDGET

_I8 = struct.Struct(">b").unpack_from
_I16 = struct.Struct(">h").unpack_from
_U16 = struct.Struct(">H").unpack_from
_I32 = struct.Struct(">i").unpack_from
_I64 = struct.Struct(">q").unpack_from

MAX_DEPTH = BUDGET.handle_depth


class DamagedBytes(ValueError):
    """The bytes stop making sense: at `offset` something else was `expected` than what was `found`."""

    def __init__(self, offset: int, expected: str, found: str) -> None:
        super().__init__(f"byte {offset}: expected {expected}, found {found}")
        self.offset = offset
        self.expected = expected
        self.found = found

    def __reduce__(self) -> tuple[type[DamagedBytes], tuple[int, str, str]]:
        return type(self), (self.offset, self.expected, self.found)


def java_text(raw: bytes) -> str:
    """Decode modified UTF-8: NUL is ``C0 80``, characters outside the BMP are two 3-byte surrogates.

    Source: ``java.io.DataInput``. Raises ``UnicodeDecodeError``; a lone surrogate becomes U+FFFD, so that every output can carry the text.
    """
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.replace(b"\xc0\x80", b"\x00").decode("utf-8", "surrogatepass")
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Cursor:
    """Read big-endian values of `data` from `pos` on; every method raises `DamagedBytes` instead of reading past the end.

    `what` names the value that is read, for the message; `base` is added to reported offsets (a cursor over a part of a file).
    """

    __slots__ = ("base", "data", "depth", "end", "pos")

    def __init__(self, data: bytes, pos: int = 0, *, base: int = 0) -> None:
        self.data = data
        self.pos = pos
        self.end = len(data)
        self.base = base
        self.depth = 0

    @property
    def remaining(self) -> int:
        return self.end - self.pos

    def damage(self, at: int, expected: str, found: str) -> DamagedBytes:
        return DamagedBytes(self.base + at, expected, found)

    def _short(self, what: str, size: int) -> DamagedBytes:
        return self.damage(self.pos, f"{what} ({size} bytes)", f"{self.remaining} bytes left")

    def i8(self, what: str) -> int:
        try:
            value: int = _I8(self.data, self.pos)[0]
        except struct.error:
            raise self._short(what, 1) from None
        self.pos += 1
        return value

    def i16(self, what: str) -> int:
        try:
            value: int = _I16(self.data, self.pos)[0]
        except struct.error:
            raise self._short(what, 2) from None
        self.pos += 2
        return value

    def i32(self, what: str) -> int:
        try:
            value: int = _I32(self.data, self.pos)[0]
        except struct.error:
            raise self._short(what, 4) from None
        self.pos += 4
        return value

    def i64(self, what: str) -> int:
        try:
            value: int = _I64(self.data, self.pos)[0]
        except struct.error:
            raise self._short(what, 8) from None
        self.pos += 8
        return value

    def size(self, what: str) -> int:
        """A state size: an ``i64`` that cannot be negative."""
        value = self.i64(what)
        if value < 0:
            raise self.damage(self.pos - 8, f"{what} (not negative)", str(value))
        return value

    def count(self, what: str, each: int = 1) -> int:
        """A number of things of at least `each` bytes that follow; bounded by the bytes that remain."""
        value = self.i32(what)
        if value < 0 or value * each > self.end - self.pos:
            room = max(0, self.remaining // each)
            raise self.damage(self.pos - 4, f"{what} between 0 and {room}", str(value))
        return value

    def take(self, size: int, what: str) -> bytes:
        start = self.pos
        if size < 0 or size > self.end - start:
            raise self._short(what, size)
        self.pos = start + size
        return self.data[start : start + size]

    def skip(self, size: int, what: str) -> None:
        if size < 0 or size > self.end - self.pos:
            raise self._short(what, size)
        self.pos += size

    def block(self, what: str) -> bytes:
        """``i32`` length and that many bytes."""
        return self.take(self.count(what), what)

    def utf(self, what: str) -> str:
        """``writeUTF``: an unsigned 16-bit length in bytes and modified UTF-8."""
        start = self.pos
        try:
            size: int = _U16(self.data, start)[0]
        except struct.error:
            raise self._short(what, 2) from None
        self.pos = start + 2
        raw = self.take(size, what)
        try:
            return java_text(raw)
        except UnicodeDecodeError:
            raise self.damage(start + 2, f"{what} as modified UTF-8", raw[:16].hex()) from None

    def longs(self, what: str) -> array[int]:
        """``i32`` n and n × ``i64``; kept in 8 bytes each, so that a made-up count costs no more memory than the file."""
        values = array("q")
        values.frombytes(self.take(8 * self.count(what, 8), what))
        if byteorder == "little":
            values.byteswap()
        return values

    def skip_longs(self, what: str) -> int:
        """As `longs`, but only the number of them."""
        number = self.count(what, 8)
        self.pos += 8 * number
        return number

    def deeper(self, what: str) -> None:
        """Enter one more level of nesting; the caller sets `depth` back."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.damage(self.pos, f"{what} nested at most {MAX_DEPTH} deep", "more")
