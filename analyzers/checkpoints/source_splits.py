"""Operator state and coordinator state → source splits, whatever connector wrote them.

Source: ``SourceOperator`` (state ``SourceReaderState``), ``SimpleVersionedSerialization``, ``SourceCoordinator``. Every FLIP-27 source has
the same envelope; which connector it is, is told by the shape of the bytes inside, since no name is stored with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

from analyzers.checkpoints.beam_splits import beam_splits, is_beam
from analyzers.checkpoints.cursor import Cursor, DamagedBytes
from analyzers.checkpoints.handles import NamedState
from analyzers.checkpoints.kafka_splits import dynamic_enumerator, dynamic_split, kafka_enumerator, kafka_split, legacy_element
from analyzers.checkpoints.operator_state import elements
from analyzers.checkpoints.split import Split

READER_STATE = "SourceReaderState"
LEGACY_STATE = "topic-partition-offset-states"
UNNAMED_STATE = "_default_"
"""DefaultOperatorStateBackend.DEFAULT_OPERATOR_STATE_NAME: ListCheckpointed functions, and Beam's source before FLIP-27."""


def holds_splits(states: Sequence[NamedState]) -> bool:
    """Whether these named states belong to a source with at least one split (otherwise their stream need not be read)."""
    return any(state.name in (READER_STATE, LEGACY_STATE) and state.offsets for state in states)


def may_be_legacy_beam(states: Sequence[NamedState]) -> bool:
    """Whether Beam's UnboundedSourceWrapper may have written this: its list state has no name of its own."""
    return any(state.name == UNNAMED_STATE and state.offsets for state in states)


def is_legacy_beam(stream: bytes) -> bool:
    """Whether `stream` holds sources of Beam: pairs of a Java-serialised UnboundedSource and a mark in the coder of that source."""
    return b"org.apache.beam." in stream


def reader_splits(stream: bytes, states: Sequence[NamedState]) -> list[Split]:
    """Splits that one reader subtask holds; raises `DamagedBytes` (offsets within `stream`)."""
    splits: list[Split] = []
    for cursor in elements(stream, states, READER_STATE):
        splits += _element(cursor)
    splits += [legacy_element(cursor) for cursor in elements(stream, states, LEGACY_STATE)]
    return splits


def _element(cursor: Cursor) -> list[Split]:
    element = Cursor(cursor.block("split"))
    version = element.i32("version of the split")
    body = element.block("split")
    if element.remaining:
        raise element.damage(element.pos, "end of the split", f"{element.remaining} more bytes")
    if is_beam(body):
        return beam_splits(body)
    for read in _SPLITS.get(version, ()):
        try:
            return [read(Cursor(body))]
        except DamagedBytes:
            continue
    return [Split("opaque", f"sha256:{sha256(body).hexdigest()[:16]}", offset_kind="unknown")]


def _number_sequence(cursor: Cursor) -> Split:
    """NumberSequenceSplit version 1, also of DataGeneratorSource: id, next number, last number."""
    identity = cursor.utf("split id")
    current, last = cursor.i64("next number"), cursor.i64("last number")
    if cursor.remaining or not identity or current > last + 1:
        raise cursor.damage(cursor.pos, "end of the split", f"{cursor.remaining} more bytes")
    return Split("number-sequence", identity, offset=current, offset_kind="next", stopping_offset=last, stopping_kind="offset")


_SPLITS: dict[int, tuple[Callable[[Cursor], Split], ...]] = {
    0: (kafka_split,),
    1: (lambda cursor: dynamic_split(cursor, 1), _number_sequence),
    2: (lambda cursor: dynamic_split(cursor, 2),),
}


def enumerator_splits(data: bytes) -> list[Split] | None:
    """Splits that a source coordinator knows; ``None`` when it is another coordinator or a source whose format is not known here."""
    try:
        cursor = Cursor(data)
        serde = cursor.i32("version of the coordinator")
        version = cursor.i32("version of the enumerator")
        at = cursor.pos + 4
        payload = cursor.block("enumerator state")
        # Version 0 is followed by the tracker of assignments, which later versions keep in the readers.
        if serde not in (0, 1) or (serde == 1 and cursor.remaining):
            return None
    except DamagedBytes:
        return None
    for read in (kafka_enumerator, dynamic_enumerator):
        try:
            return read(Cursor(payload, base=at), version)
        except DamagedBytes:
            continue
    return None
