"""What a task was doing when it failed: read off its thread, its frames, and what the engine says of it."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from analyzers.components import role_of
from analyzers.inference.data import table
from analyzers.inference.link import Failure

_OF_NOBODY = frozenset(("runtime", "library"))


class _Row(NamedTuple):
    phase: str
    threads: re.Pattern[str] | None
    frames: re.Pattern[str] | None
    words: re.Pattern[str] | None


def phases() -> tuple[str, ...]:
    """All phases, in the order in which they are looked for."""
    return tuple(table("phases"))


def phase_of(failure: Failure, thread: str | None = None, client: str | None = None) -> tuple[str, str] | None:
    """The phase, and the frame, words or thread that show it; `client`: the package of the client that failed, whose frames say nothing.

    The frames of the deepest exception count first: the outer ones belong to whoever reports it.
    """
    for link in reversed(failure.chain):
        frames = [frame for frame in link.frames if not _says_nothing(frame, client)]
        if frames and (found := _by_frames(frames)) is not None:
            return found
    words = "\n".join(link.said[:1_000] for link in failure.chain)
    for row in _rows():
        if row.words and (said := row.words.search(words)):
            return row.phase, f"“{said[0].strip()}”"
    if thread:
        for row in _rows():
            if row.threads and row.threads.search(thread):
                return row.phase, f"thread {thread}"
    return None


def _says_nothing(frame: str, client: str | None) -> bool:
    if client is not None and frame.startswith(client):
        return True
    return "." in frame and "/" not in frame and "::" not in frame and ":" not in frame and role_of(frame) in _OF_NOBODY


def _by_frames(frames: list[str]) -> tuple[str, str] | None:
    placed = "\n".join(frame if "(" in frame else f"{frame}(" for frame in frames)
    bare = "\n".join(frames)
    for row in _rows():
        if row.frames is None:
            continue
        if found := row.frames.search(placed) or row.frames.search(bare):
            at = found.string.rfind("\n", 0, found.start()) + 1
            return row.phase, f"frame {found.string[at:].partition(chr(10))[0].partition('(')[0]}"
    return None


@cache
def _rows() -> tuple[_Row, ...]:
    def expression(row: dict[str, list[str]], column: str) -> re.Pattern[str] | None:
        return re.compile("|".join(row[column]), re.MULTILINE) if row.get(column) else None

    return tuple(
        _Row(phase, expression(row, "threads"), expression(row, "frames"), expression(row, "words"))
        for phase, row in table("phases").items()
    )
