"""What a task was doing when it failed: read off its thread, its frames, and what the engine says of it."""

from __future__ import annotations

import re
from functools import cache

from analyzers.inference.data import table
from analyzers.inference.link import Failure


def phases() -> tuple[str, ...]:
    """All phases, in the order in which they are looked for."""
    return tuple(table("phases"))


def phase_of(failure: Failure, thread: str | None = None) -> tuple[str, str] | None:
    """The phase, and the frame, thread or words that show it."""
    frames = [frame if "(" in frame else f"{frame}(" for link in failure.chain for frame in link.frames]
    words = "\n".join(link.said[:1_000] for link in failure.chain)
    bare = "\n".join(frame.removesuffix("(") for frame in frames)
    placed = "\n".join(frames)
    for phase, of_thread, of_frames, of_words in _rows():
        if of_frames and (found := of_frames.search(placed) or of_frames.search(bare)):
            line = placed[placed.rfind("\n", 0, found.start()) + 1 :].partition("\n")[0] if found.string is placed else found[0]
            return phase, f"frame {line.removesuffix('(').partition('(')[0]}"
        if of_words and (found := of_words.search(words)):
            return phase, f"“{found[0].strip()}”"
        if thread and of_thread and of_thread.search(thread):
            return phase, f"thread {thread}"
    return None


@cache
def _rows() -> tuple[tuple[str, re.Pattern[str] | None, re.Pattern[str] | None, re.Pattern[str] | None], ...]:
    return tuple(
        (
            phase,
            *(re.compile("|".join(row[column]), re.MULTILINE) if row.get(column) else None for column in ("threads", "frames", "words")),
        )  # type: ignore[misc]
        for phase, row in table("phases").items()
    )
