"""One source split as a checkpoint holds it."""

from __future__ import annotations

from typing import NamedTuple


class Split(NamedTuple):
    """`offset` is the next position to read, set only for a real position; a marker is named in `offset_kind` instead.

    `offset_kind`: next; earliest, latest, committed (never read yet); mark (a position in the source's own terms, of which only the
    order is known); none; unknown. `stopping_kind`: none, offset, latest, committed. `split_index` is Beam's, whose meaning changes
    with the number of splits.
    """

    connector: str
    identity: str
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    offset_kind: str = "none"
    stopping_offset: int | None = None
    stopping_kind: str = "none"
    status: str = "assigned"
    role: str = "reader"
    subtask: int | None = None
    split_index: int | None = None
