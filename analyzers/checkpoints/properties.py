"""The tail of `_metadata` V4 and later: `CheckpointProperties` as one Java object.

Source: ``org.apache.flink.runtime.checkpoint.CheckpointProperties`` and ``SavepointType``, ``CheckpointType``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from analyzers.checkpoints.cursor import Cursor
from analyzers.checkpoints.java_stream import JavaObject, read_object

_CLASS = "org.apache.flink.runtime.checkpoint.CheckpointProperties"


class Properties(NamedTuple):
    """What the tail says: `kind` checkpoint, savepoint or unknown; `format` canonical or native and `after` none, suspend or terminate
    for a savepoint; the discard flags by name."""

    kind: str
    format: str | None
    after: str | None
    flags: dict[str, bool]


# Checkpoints of one setting end in the same bytes: walking them again would be a fifth of the work on a root with thousands.
_LONGEST_KNOWN = 2048
_MOST_KNOWN = 32
_known: dict[bytes, Properties] = {}


def read_properties(cursor: Cursor) -> Properties:
    """Raises `DamagedBytes` when the tail is missing, cut or cannot be walked; the cursor then stands where the walk ended."""
    at = cursor.pos
    tail = bytes(cursor.data[at : cursor.end]) if cursor.remaining <= _LONGEST_KNOWN else b""
    if tail in _known:
        cursor.pos = cursor.end
        return _known[tail]
    properties = _walked(cursor, at)
    if tail and not cursor.remaining and len(_known) < _MOST_KNOWN:
        _known[tail] = properties
    return properties


def _walked(cursor: Cursor, at: int) -> Properties:
    found = read_object(cursor, "checkpoint properties")
    if not isinstance(found, JavaObject) or found.class_name != _CLASS:
        name = found.class_name if isinstance(found, JavaObject) else type(found).__name__
        raise cursor.damage(at, f"an object of {_CLASS}", name)
    flags = {name: value for name, value in sorted(found.fields.items()) if isinstance(value, bool)}
    snapshot: Any = found.fields.get("checkpointType")
    if not isinstance(snapshot, JavaObject):
        return Properties("unknown", None, None, flags)
    simple = snapshot.class_name.rsplit(".", 1)[-1]
    kind = {"CheckpointType": "checkpoint", "SavepointType": "savepoint"}.get(simple, "unknown")
    return Properties(kind, _constant(snapshot, "formatType"), _constant(snapshot, "postCheckpointAction"), flags)


def _constant(snapshot: JavaObject, name: str) -> str | None:
    value = snapshot.fields.get(name)
    constant = value.fields.get("constant") if isinstance(value, JavaObject) else None
    return constant.lower() if isinstance(constant, str) else None
