"""State handles of `_metadata`: every code as a row of a table.

Source: ``org.apache.flink.runtime.checkpoint.metadata.MetadataV2V3SerializerBase`` and ``ChannelStateHandleSerializerV1/V2`` (1.3 to 2.3
and main). The code byte decides, never the version of the file: 1.15 writes code 12 inside V3, 1.20 writes 15 to 17 inside V4.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from analyzers.budget import BUDGET
from analyzers.checkpoints.cursor import Cursor

Handle = dict[str, Any]
Read = Callable[["HandleCursor", str], Any]

MAX_NAMED_STATES = BUDGET.named_states

MODES = ("split-distribute", "union", "broadcast")


class Reference(NamedTuple):
    """A state file that `_metadata` names: `kind` file (absolute), relative (to the directory of `_metadata`) or segment of a merged file.

    `start` is the first byte inside the file, `size` the bytes used; `shared` is known for segments only.
    """

    kind: str
    path: str
    start: int
    size: int
    shared: bool | None


class NamedState(NamedTuple):
    """One list or broadcast state inside an operator-state stream; `offsets` are byte positions of its elements in that stream."""

    name: str
    mode: str
    offsets: array[int]


class HandleCursor(Cursor):
    """A cursor that adds up the state it passes (`state_bytes`, as Flink's ``getStateSize``) and notes the files in `references`."""

    __slots__ = ("references", "state_bytes")

    def __init__(self, data: bytes, pos: int = 0, *, base: int = 0, references: list[Reference] | None = None) -> None:
        super().__init__(data, pos, base=base)
        self.references = references
        self.state_bytes = 0


class Layout(NamedTuple):
    """What follows a code byte: field names with the function that reads each."""

    kind: str
    fields: tuple[tuple[str, Read], ...] = ()


def _read(cursor: HandleCursor, layouts: Mapping[int, Layout], what: str) -> Handle | None:
    at = cursor.pos
    code = cursor.i8(f"code of {what}")
    layout = layouts.get(code)
    if layout is None:
        raise cursor.damage(at, f"code of {what} ({', '.join(map(str, layouts))})", str(code))
    if code == 0:
        return None
    return _fields(cursor, layout, what)


def _fields(cursor: HandleCursor, layout: Layout, what: str) -> Handle:
    cursor.deeper(what)
    before = cursor.state_bytes
    handle: Handle = {"kind": layout.kind}
    for name, read in layout.fields:
        handle[name] = read(cursor, name)
    if "state size" in handle:
        # Many of these share one stream, each says how much of it is its own: the streams must not be added up.
        cursor.state_bytes = before + handle["state size"]
    cursor.depth -= 1
    return handle


def stream_handle(cursor: HandleCursor, what: str) -> Handle | None:
    """Where bytes of state lie: inline (``data``), a file (``path``, ``size``) or a segment of one; ``None`` for the null handle."""
    handle = _read(cursor, STREAM, what)
    if handle is None:
        return None
    if "data" in handle:
        cursor.state_bytes += len(handle["data"])
    elif "path" in handle:
        cursor.state_bytes += handle["size"]
        if cursor.references is not None:
            scope = handle.get("scope")
            shared = None if scope is None else scope == 1
            cursor.references.append(Reference(handle["kind"], handle["path"], handle.get("start", 0), handle["size"], shared))
    return handle


def keyed_handle(cursor: HandleCursor, what: str) -> Handle | None:
    """Keyed state; of nested handles only size and files are noted."""
    return _read(cursor, KEYED, what)


def operator_handle(cursor: HandleCursor, what: str) -> Handle | None:
    """Operator state: ``states`` (list of `NamedState`) and ``stream`` (see `stream_handle`)."""
    return _read(cursor, OPERATOR, what)


def channel_handle_v1(cursor: HandleCursor, what: str) -> None:
    """In-flight data of one channel, V3 to V5: no code byte."""
    _fields(cursor, CHANNEL, what)


def channel_handle_v2(cursor: HandleCursor, what: str) -> None:
    """In-flight data, V6 and later: a kind byte; the merged kinds hold all channels of a subtask in one handle."""
    at = cursor.pos
    kind = cursor.i8(f"kind of {what}")
    layout = CHANNEL_KINDS.get(kind)
    if layout is None:
        raise cursor.damage(at, f"kind of {what} ({', '.join(map(str, CHANNEL_KINDS))})", str(kind))
    _fields(cursor, layout, what)


def _named_states(cursor: HandleCursor, what: str) -> list[NamedState]:
    at = cursor.pos
    number = cursor.count(f"number of {what}", 7)
    if number > MAX_NAMED_STATES:
        raise cursor.damage(at, f"number of {what} below {MAX_NAMED_STATES}", str(number))
    states = []
    for _ in range(number):
        name = cursor.utf("state name")
        mode_at = cursor.pos
        mode = cursor.i8("distribution mode")
        if not 0 <= mode < len(MODES):
            raise cursor.damage(mode_at, f"distribution mode (0 to {len(MODES) - 1})", str(mode))
        states.append(NamedState(name, MODES[mode], cursor.longs("element offsets")))
    return states


def _local_files(cursor: HandleCursor, what: str) -> int:
    number = cursor.count(f"number of {what}", 3)
    for _ in range(number):
        cursor.utf(f"local name in {what}")
        stream_handle(cursor, what)
    return number


def _keyed_handles(cursor: HandleCursor, what: str) -> int:
    number = cursor.count(f"number of {what}", 1)
    for _ in range(number):
        keyed_handle(cursor, what)
    return number


def _changelog_entries(cursor: HandleCursor, what: str) -> int:
    number = cursor.count(f"number of {what}", 8)
    for _ in range(number):
        cursor.i32("key group of a change")
        size = cursor.count("length of a change")
        cursor.skip(size, "a change")
        cursor.state_bytes += size
    return number


def _changelog_files(cursor: HandleCursor, what: str) -> int:
    number = cursor.count(f"number of {what}", 9)
    for _ in range(number):
        cursor.i64("offset in a changelog file")
        stream_handle(cursor, what)
    return number


_i8, _i32, _i64, _size, _utf = Cursor.i8, Cursor.i32, Cursor.i64, Cursor.size, Cursor.utf

_GROUPS: tuple[tuple[str, Read], ...] = (("first key group", _i32), ("number of key groups", _i32))
_KEY_GROUPS: tuple[tuple[str, Read], ...] = (
    ("first key group", _i32),
    ("key-group offsets", Cursor.skip_longs),
    ("stream", stream_handle),
)
_INCREMENTAL_FILES: tuple[tuple[str, Read], ...] = (
    ("meta state", stream_handle),
    ("shared files", _local_files),
    ("private files", _local_files),
)
_INCREMENTAL_HEAD: tuple[tuple[str, Read], ...] = (("checkpoint id of increment", _i64), ("backend id", _utf), *_GROUPS)
_CHANGELOG: tuple[tuple[str, Read], ...] = (
    *_GROUPS,
    ("checkpointed size", _i64),
    ("materialised state", _keyed_handles),
    ("changes", _keyed_handles),
    ("materialisation id", _i64),
)
_CHANGELOG_FILES: tuple[tuple[str, Read], ...] = (
    *_GROUPS,
    ("changelog files", _changelog_files),
    ("state size", _size),
    ("checkpointed size", _i64),
    ("handle id", _utf),
)
_ID: tuple[tuple[str, Read], ...] = (("handle id", _utf),)

STREAM: dict[int, Layout] = {
    0: Layout("null"),
    1: Layout("inline", (("name", _utf), ("data", Cursor.block))),
    2: Layout("file", (("size", _size), ("path", _utf))),
    3: Layout("key-groups", _KEY_GROUPS),
    6: Layout("relative", (("path", _utf), ("size", _size))),
    15: Layout("segment", (("start", _size), ("size", _size), ("scope", _i32), ("path", _utf), ("logical file id", _utf))),
    16: Layout("empty-segment"),
}

KEYED: dict[int, Layout] = {
    0: Layout("null"),
    3: Layout("key-groups", _KEY_GROUPS),
    5: Layout("incremental", (*_INCREMENTAL_HEAD, *_INCREMENTAL_FILES)),
    7: Layout("savepoint", _KEY_GROUPS),
    8: Layout("changelog", (*_CHANGELOG, *_ID)),
    9: Layout("changelog-bytes", (*_GROUPS, ("from", _i64), ("to", _i64), ("changes", _changelog_entries), *_ID)),
    10: Layout("changelog-files", _CHANGELOG_FILES),
    11: Layout("incremental", (*_INCREMENTAL_HEAD, ("checkpointed size", _i64), *_INCREMENTAL_FILES, *_ID)),
    12: Layout("key-groups", (*_KEY_GROUPS, *_ID)),
    13: Layout("changelog-files", (*_CHANGELOG_FILES, ("storage", _utf))),
    14: Layout("changelog", (*_CHANGELOG, ("checkpoint id", _i64), *_ID)),
}

_MERGED_DIRECTORIES: tuple[tuple[str, Read], ...] = (("task-owned directory", _utf), ("shared directory", _utf), ("is empty", _i8))

OPERATOR: dict[int, Layout] = {
    0: Layout("null"),
    4: Layout("partitionable", (("states", _named_states), ("stream", stream_handle))),
    17: Layout("segment-partitionable", (("states", _named_states), *_MERGED_DIRECTORIES, ("stream", stream_handle))),
}

CHANNEL = Layout(
    "channel",
    (
        ("subtask of channel", _i32),
        ("gate or partition", _i32),
        ("channel or subpartition", _i32),
        ("offsets of channel", Cursor.skip_longs),
        ("state size", _size),
        ("channel state", stream_handle),
    ),
)
_MERGED_CHANNELS = Layout(
    "merged-channels",
    (("subtask of channels", _i32), ("state size", _size), ("channel state", stream_handle), ("packed channel offsets", Cursor.block)),
)
CHANNEL_KINDS: dict[int, Layout] = {1: CHANNEL, 2: CHANNEL, 3: _MERGED_CHANNELS, 4: _MERGED_CHANNELS}
