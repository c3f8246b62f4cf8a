"""Operator state of a sink's committer → the Kafka transactions that a restore commits again.

Sources: Flink's ``CommitterOperator`` (state ``streaming_committer_raw_states``) and ``CommittableCollectorSerializer`` version 2 (1.15 and
later): checkpoints, in them subtasks, in them requests, each list in ``SimpleVersionedSerialization``; the connector's
``KafkaCommittableSerializer`` (version 1, and 2 with one byte more): producer epoch, producer id, transactional id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from analyzers.checkpoints.cursor import Cursor
from analyzers.checkpoints.handles import NamedState
from analyzers.checkpoints.operator_state import elements

COMMITTER_STATE = "streaming_committer_raw_states"
LEGACY_STATES = ("next-transactional-id-hint", "next-transactional-id-hint-v2")
"""Of FlinkKafkaProducer, whose pending transactions are in a serializer of its own."""

_COLLECTOR_MAGIC = 0xB91F252C - (1 << 32)
_COLLECTOR_VERSION = 2
_DONE = (2, 3)
"""CommitRequestState: RECEIVED, RETRY, FAILED, COMMITTED."""


class Transaction(NamedTuple):
    """One transaction that was flushed for a checkpoint and is to be committed after it."""

    checkpoint: int
    transactional_id: str
    producer: int
    producer_epoch: int


def is_committer(states: Sequence[NamedState]) -> bool:
    """Whether a sink's committer has something to commit in this state."""
    return any(state.name == COMMITTER_STATE and state.offsets for state in states)


def is_legacy_producer(states: Sequence[NamedState]) -> bool:
    """Whether FlinkKafkaProducer (exactly once) wrote this state."""
    return any(state.name in LEGACY_STATES and state.offsets for state in states)


def transactions(stream: bytes, states: Sequence[NamedState]) -> list[Transaction]:
    """The Kafka transactions of one committer subtask. Raises `DamagedBytes` for another sink's committables, or another layout."""
    return [found for element in elements(stream, states, COMMITTER_STATE) for found in _element(element)]


def _element(cursor: Cursor) -> Iterator[Transaction]:
    element = Cursor(cursor.block("committables"))
    at = element.pos
    version = element.i32("version of the committables")
    if version != _COLLECTOR_VERSION:
        raise element.damage(at, f"version of the committables ({_COLLECTOR_VERSION})", str(version))
    body = Cursor(element.block("committables"))
    magic = body.i32("magic number")
    if magic != _COLLECTOR_MAGIC:
        raise body.damage(0, "magic number b91f252c", f"{magic & 0xFFFFFFFF:08x}")
    for checkpoint_version, checkpoint in _versioned(body, "checkpoints", 12):
        yield from _checkpoint(checkpoint, checkpoint_version)


def _checkpoint(cursor: Cursor, version: int) -> Iterator[Transaction]:
    number = cursor.i64("checkpoint id")
    if version:
        cursor.i32("number of subtasks")
    for subtask_version, subtask in _versioned(cursor, "subtasks", 16):
        yield from _subtask(subtask, subtask_version, number)


def _subtask(cursor: Cursor, version: int, number: int) -> Iterator[Transaction]:
    if version:
        cursor.i32("subtask")
    for _, request in _versioned(cursor, "requests", 8):
        kind = request.i32("version of the committable")
        committable = Cursor(request.block("committable"))
        request.i32("number of retries")
        state = request.i32("state of the request")
        if kind not in (1, 2):
            raise request.damage(0, "version of a Kafka committable (1 or 2)", str(kind))
        epoch, producer = committable.i16("producer epoch"), committable.i64("producer id")
        transactional_id = committable.utf("transactional id")
        if not transactional_id or producer < 0 or epoch < 0 or committable.remaining > kind - 1:
            raise committable.damage(committable.pos, "end of a Kafka committable", f"{committable.remaining} more bytes")
        if state not in _DONE:
            yield Transaction(number, transactional_id, producer, epoch)


def _versioned(cursor: Cursor, what: str, least: int) -> Iterator[tuple[int, Cursor]]:
    """The version and one cursor per item of a list of ``SimpleVersionedSerialization``; an item has at least `least` bytes."""
    version = cursor.i32(f"version of the {what}")
    if not 0 <= version <= 9:
        raise cursor.damage(cursor.pos - 4, f"version of the {what} (0 to 9)", str(version))
    for _ in range(cursor.count(f"number of {what}", least)):
        yield version, Cursor(cursor.block(what))
