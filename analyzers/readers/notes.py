"""Texts beside the logs that are no logs: notes, settings, sources, outputs of commands. Each line may name what a failure is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from analyzers.budget import BUDGET
from analyzers.readers.opening import TROUBLES, open_file

MOST_BYTES = BUDGET.note_bytes
MOST_LINES = BUDGET.note_lines
MOST_FILES = BUDGET.note_files
_LONGEST = 500
_SHORTEST = 6


class Line(NamedTuple):
    """One line of a text, counted from 1."""

    number: int
    text: str


def lines_of(data: bytes, only: frozenset[str] | None = None) -> list[Line]:
    """The first lines of a text that say something; of `only`, where it is given."""
    lines = data[:MOST_BYTES].decode("utf-8", "replace").splitlines()
    found = (
        Line(number, line.strip()[:_LONGEST])
        for number, line in enumerate(lines, 1)
        if len(line.strip()) >= _SHORTEST and (only is None or line in only)
    )
    return [line for line, _ in zip(found, range(MOST_LINES), strict=False)]


def notes(files: Sequence[tuple[str, str]], also: Iterable[tuple[str, Sequence[Line]]]) -> Iterator[dict[str, object]]:
    """The lines of `files` (path, shown name), and those that were read `also`, as file, line and text."""
    for path, shown in files if len(files) <= MOST_FILES else ():
        with suppress(*TROUBLES), open_file(path) as stream:
            data = stream.read(MOST_BYTES)
            if b"\0" not in data:
                yield from ({"file": shown, "line": line.number, "text": line.text} for line in lines_of(data))
    for shown, lines in also:
        yield from ({"file": shown, "line": line.number, "text": line.text} for line in lines)
