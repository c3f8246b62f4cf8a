"""Files that a bundle holds beside its tables, carried over into the next one without secrets, and without names where it is redacted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

_AT_ONCE = 1 << 20
_LONGEST_BLOCK = 1 << 16
"""Characters that a PEM block may reach over the end of a piece."""


def texts_of(place: Path) -> Iterator[str] | None:
    """The text of the file at `place` in pieces of whole lines, None when it is no text: packed or binary content cannot be cleaned."""
    with place.open("rb") as file:
        head = file.read(4096)
    if b"\0" in head or head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")):
        return None
    return _pieces(place)


def _pieces(place: Path) -> Iterator[str]:
    with place.open("r", encoding="utf-8", errors="surrogateescape", newline="") as file:
        while lines := file.readlines(_AT_ONCE):
            piece = "".join(lines)
            more = 0
            while piece.rfind("-----BEGIN") > piece.rfind("-----END") and more < _LONGEST_BLOCK and (line := file.readline(_LONGEST_BLOCK)):
                piece += line
                more += len(line)
            yield piece


def carry(source: Path, target: Path, clean: Callable[[str], str]) -> list[str]:
    """The files below `source` copied below `target`, texts and names cleaned; the names of those that are no texts and stay out."""
    left_out = []
    for folder, _, names in os.walk(source):
        for name in sorted(names):
            place = Path(folder, name)
            if not place.is_file() or place.is_symlink():
                continue
            inside = place.relative_to(source)
            if not carry_file(place, target.joinpath(*(clean(part) for part in inside.parts)), clean):
                left_out.append(str(inside))
    return sorted(left_out)


def carry_file(place: Path, target: Path, clean: Callable[[str], str]) -> bool:
    """Whether `place` is a text; then its cleaned copy is `target`."""
    pieces = texts_of(place)
    if pieces is None:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.writelines(clean(piece) for piece in pieces)
    return True
