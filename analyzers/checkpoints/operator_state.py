"""The stream that an operator-state handle points to: where each element of a named list state begins.

Source: ``org.apache.flink.runtime.state.OperatorBackendSerializationProxy`` (version 5 in 1.8 to 1.17, 6 with a compression flag from
1.18).
The header's serializer snapshots cannot be skipped without their Java classes, so elements are found by the handle's offsets alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzers.budget import BUDGET
from analyzers.checkpoints.cursor import Cursor
from analyzers.checkpoints.handles import NamedState
from analyzers.checkpoints.snappy_framing import decompress_chunks

_FIRST_WITH_FLAG = 6

_MAX_COMPRESSED_ELEMENT = BUDGET.split_bytes


def elements(stream: bytes, states: Sequence[NamedState], name: str) -> Iterator[Cursor]:
    """A cursor at the first byte of each element of the state `name`; its ``end`` is where the next element of any state begins.

    Raises `DamagedBytes` (offsets within `stream`) when the header or an offset makes no sense.
    """
    wanted = next((state for state in states if state.name == name), None)
    if wanted is None or not wanted.offsets:
        return
    head = Cursor(stream)
    version = head.i32("version of operator state")
    if not 1 <= version <= 99:
        raise head.damage(0, "version of operator state (1 to 6)", str(version))
    compressed = version >= _FIRST_WITH_FLAG and head.i8("compression flag") != 0
    if len(set(wanted.offsets)) < len(wanted.offsets):  # each would be read as often as it is named
        raise head.damage(head.pos, f"each element of {name} once", "an offset that is named twice")
    starts = sorted({offset for state in states for offset in state.offsets})
    following = dict(zip(starts, [*starts[1:], len(stream)], strict=True))
    for offset in wanted.offsets:
        end = following[offset]
        if not head.pos <= offset < end <= len(stream):
            raise head.damage(min(max(offset, 0), len(stream)), f"element of {name} inside {len(stream)} bytes", f"offset {offset}")
        if compressed:
            yield Cursor(decompress_chunks(stream, offset, end, _MAX_COMPRESSED_ELEMENT))
        else:
            yield Cursor(stream[offset:end], base=offset)
