"""Flink `_metadata`, versions 2 to 7: bytes → facts, in the order of the file.

Source: ``org.apache.flink.runtime.checkpoint.Checkpoints`` and ``…checkpoint.metadata.MetadataV1Serializer`` to ``MetadataV7Serializer``.
V2 is written by 1.3–1.10, V3 by 1.11–1.15, V4 by 1.16–1.20, V5 by 2.0, V6 by 2.1–2.3, V7 by what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from analyzers.checkpoints.cursor import Cursor, DamagedBytes
from analyzers.checkpoints.handles import (
    Handle,
    HandleCursor,
    Reference,
    channel_handle_v1,
    channel_handle_v2,
    keyed_handle,
    operator_handle,
    stream_handle,
)
from analyzers.checkpoints.properties import Properties, read_properties

MAGIC = 0x4960672D
_MASTER_MAGIC = 0xC96B1696 - (1 << 32)

# Flink refuses a larger one (KeyGroupRangeAssignment.UPPER_BOUND_MAX_PARALLELISM).
_MAX_PARALLELISM = 1 << 15


class Format(NamedTuple):
    """What a version of the file has; each column is a difference that a ``Metadata…Serializer`` makes."""

    named_operators: bool
    chain_length: bool
    coordinator: bool
    finished: bool
    legacy_states: bool
    channels: Callable[[HandleCursor, str], None] | None
    referenced_checkpoint: bool
    properties: bool


# fmt: off
FORMATS: dict[int, Format] = {
    #          names  chain  coord. finish legacy channels           ref.   tail
    2: Format(False, True,  False, False, True,  None,              False, False),
    3: Format(False, False, True,  True,  False, channel_handle_v1, False, False),
    4: Format(False, False, True,  True,  False, channel_handle_v1, False, True),
    5: Format(True,  False, True,  True,  False, channel_handle_v1, False, True),
    6: Format(True,  False, True,  True,  False, channel_handle_v2, False, True),
    7: Format(True,  False, True,  True,  False, channel_handle_v2, True,  True),
}
# fmt: on


class SubtaskFact(NamedTuple):
    """State of one subtask, sizes in bytes; `managed_operator` is the handle that leads to source splits, `changelog` whether its keyed
    state is that of the changelog state backend."""

    operator: str
    subtask: int
    finished: bool = False
    managed_operator_bytes: int = 0
    raw_operator_bytes: int = 0
    managed_keyed_bytes: int = 0
    raw_keyed_bytes: int = 0
    channel_bytes: int = 0
    referenced_checkpoint: int | None = None
    managed_operator: Handle | None = None
    changelog: bool = False

    @property
    def size_bytes(self) -> int:
        return self.managed_operator_bytes + self.raw_operator_bytes + self.managed_keyed_bytes + self.raw_keyed_bytes + self.channel_bytes


class OperatorFact(NamedTuple):
    """One operator; `operator` is its id in hex, in file order (the uid hash). `complete` is false for the one that damage cut."""

    operator: str
    name: str | None
    uid: str | None
    parallelism: int
    max_parallelism: int
    subtasks: int = 0
    size_bytes: int = 0
    coordinator: Handle | None = None
    coordinator_bytes: int | None = None
    finished: bool = False
    complete: bool = True


class FileFact(NamedTuple):
    """The file as a whole; `unread_bytes` is 0 when every byte was accounted for."""

    version: int | None
    checkpoint: int | None
    size_bytes: int
    unread_bytes: int
    operators: int
    state_bytes: int
    properties: Properties | None
    damage: DamagedBytes | None


Fact = SubtaskFact | OperatorFact | FileFact


class _Metadata:
    """One walk over one file; what is known at the moment of damage stays in the attributes."""

    def __init__(self, data: bytes, references: list[Reference] | None) -> None:
        self.cursor = HandleCursor(data, references=references)
        self.version: int | None = None
        self.checkpoint: int | None = None
        self.operators = 0
        self.properties: Properties | None = None
        self.partial: OperatorFact | None = None

    def walk(self) -> Iterator[SubtaskFact | OperatorFact]:
        cursor = self.cursor
        magic = cursor.i32("magic number")
        if magic != MAGIC:
            raise cursor.damage(0, "magic number 4960672d", f"{magic & 0xFFFFFFFF:08x}")
        version = cursor.i32("version")
        form = FORMATS.get(version)
        if form is None:
            raise cursor.damage(4, f"version ({min(FORMATS)} to {max(FORMATS)})", str(version))
        self.version = version
        checkpoint = cursor.i64("checkpoint id")
        if checkpoint < 0:
            raise cursor.damage(8, "checkpoint id (not negative)", str(checkpoint))
        self.checkpoint = checkpoint
        for _ in range(cursor.count("number of master states", 8)):
            _skip_master_state(cursor)
        for _ in range(cursor.count("number of operators", 28)):
            yield from self.operator(form)
            self.operators += 1
        if form.properties:
            self.properties = read_properties(cursor)

    def operator(self, form: Format) -> Iterator[SubtaskFact | OperatorFact]:
        cursor = self.cursor
        name = cursor.utf("operator name") or None if form.named_operators else None
        uid = cursor.utf("operator uid") or None if form.named_operators else None
        operator = cursor.take(16, "operator id").hex()
        at = cursor.pos
        parallelism = cursor.i32("parallelism")
        if not 0 <= parallelism <= _MAX_PARALLELISM:
            raise cursor.damage(at, f"parallelism between 0 and {_MAX_PARALLELISM}", str(parallelism))
        fact = OperatorFact(operator, name, uid, parallelism, cursor.i32("max parallelism"), complete=False)
        self.partial = fact
        if form.chain_length:
            cursor.i32("chain length")
        before = cursor.state_bytes
        if form.coordinator:
            coordinator = stream_handle(cursor, "coordinator state")
            if coordinator is not None:
                fact = fact._replace(coordinator=coordinator, coordinator_bytes=cursor.state_bytes - before)
        at = cursor.pos
        number = cursor.i32("number of subtask states")
        if number == -1 and form.finished:
            fact = fact._replace(finished=True)
            number = 0
        if not 0 <= number <= parallelism:
            raise cursor.damage(at, f"number of subtask states between 0 and the parallelism {parallelism}", str(number))
        for done in range(number):
            self.partial = fact._replace(subtasks=done, size_bytes=cursor.state_bytes - before)
            yield self.subtask(form, operator)
        self.partial = None
        yield fact._replace(subtasks=number, size_bytes=cursor.state_bytes - before, complete=True)

    def subtask(self, form: Format, operator: str) -> SubtaskFact:
        cursor = self.cursor
        at = cursor.pos
        index = cursor.i32("subtask index")
        if index < 0:
            if not form.finished:
                raise cursor.damage(at, "subtask index (not negative)", str(index))
            return SubtaskFact(operator, -(index + 1), finished=True)
        if form.legacy_states:
            cursor.i64("duration")
            for _ in range(cursor.count("number of legacy states")):
                stream_handle(cursor, "legacy state")
        start = cursor.state_bytes
        managed = operator_handle(cursor, "managed operator state") if cursor.i32("flag of managed operator state") else None
        after_managed = cursor.state_bytes
        if cursor.i32("flag of raw operator state"):
            operator_handle(cursor, "raw operator state")
        after_raw = cursor.state_bytes
        keyed = keyed_handle(cursor, "managed keyed state")
        after_keyed = cursor.state_bytes
        keyed_handle(cursor, "raw keyed state")
        after_raw_keyed = cursor.state_bytes
        if form.channels is not None:
            for what in ("input channel state", "result subpartition state"):
                for _ in range(cursor.count(f"number of {what}")):
                    form.channels(cursor, what)
        referenced = None
        if form.referenced_checkpoint and cursor.i8("marker of a referenced checkpoint"):
            referenced = cursor.i64("referenced checkpoint id")
        return SubtaskFact(
            operator,
            index,
            managed_operator_bytes=after_managed - start,
            raw_operator_bytes=after_raw - after_managed,
            managed_keyed_bytes=after_keyed - after_raw,
            raw_keyed_bytes=after_raw_keyed - after_keyed,
            channel_bytes=cursor.state_bytes - after_raw_keyed,
            referenced_checkpoint=referenced,
            managed_operator=managed,
            changelog=keyed is not None and keyed["kind"] == "changelog",
        )


def _skip_master_state(cursor: Cursor) -> None:
    at = cursor.pos
    magic = cursor.i32("magic number of a master state")
    if magic != _MASTER_MAGIC:
        raise cursor.damage(at, f"magic number {_MASTER_MAGIC & 0xFFFFFFFF:08x}", f"{magic & 0xFFFFFFFF:08x}")
    at = cursor.pos
    size = cursor.count("length of a master state")
    inner = Cursor(cursor.take(size, "master state"), base=at + 4)
    inner.i32("version of a master state")
    inner.utf("name of a master state")
    inner.block("master state")
    if inner.remaining:
        raise inner.damage(inner.pos, "end of a master state", f"{inner.remaining} more bytes")


def read_metadata(data: bytes, *, strict: bool = False, references: list[Reference] | None = None) -> Iterator[Fact]:
    """Facts of one `_metadata`: each operator's subtasks, then the operator; last the file.

    State files that a subtask names are appended to `references` before its fact comes; the caller empties the list. (Those of a
    coordinator, which today's Flink keeps inline, come before the operator's first subtask.)

    Tolerant: damage ends the walk, the operators before it stay, the one that it cut comes with ``complete=False``, and the `FileFact`
    says byte and expectation.
    ``strict=True`` raises `DamagedBytes` instead, also for unread bytes at the end.
    """
    walk = _Metadata(data, references)
    damage: DamagedBytes | None = None
    try:
        yield from walk.walk()
        if strict and walk.cursor.remaining:
            raise walk.cursor.damage(walk.cursor.pos, "end of the file", f"{walk.cursor.remaining} more bytes")
    except DamagedBytes as found:
        if strict:
            raise
        damage = found
        if walk.partial is not None:
            yield walk.partial
    unread = 0 if damage is not None else walk.cursor.remaining
    if damage is not None:
        unread = max(0, len(data) - damage.offset)
    yield FileFact(walk.version, walk.checkpoint, len(data), unread, walk.operators, walk.cursor.state_bytes, walk.properties, damage)
