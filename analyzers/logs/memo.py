"""What was found out about a text is found out once: storms repeat the same lines a hundred thousand times, but for times and numbers.

Two texts that differ only in their digits have one *shape*. Where nothing that looks at a text cares which digit stands where, all texts
of one shape say the same, but for the few parts of them by which events are told apart (`Parted`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

UNSEEN = object()  # not known
OWN = object()  # of a shape: its texts say different things
LIMIT_BYTES = 16 << 20
_OVERHEAD = 900  # of an entry beside its text
_SHAPE = bytes.maketrans(b"123456789", b"000000000")
_NO_DIGIT_MATTERS = re.compile(r"\\d|\{\d*,?\d*\}|0-9|\(\?P<\w+>")
DIGIT = re.compile(r"[0-9]")


def sees_digits(pattern: str) -> bool:
    """Whether an expression may tell one digit from another; in doubt it may."""
    return "(?P=" in pattern or bool(DIGIT.search(_NO_DIGIT_MATTERS.sub("", pattern)))


class Parted:
    """What the texts of one shape say, by the bytes that stand at `spans`."""

    __slots__ = ("known", "spans")

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self.spans = tuple(spans)
        self.known: dict[bytes, Any] = {}

    def key(self, text: bytes) -> bytes:
        return b"\n".join([text[start:end] for start, end in self.spans])


class Memo:
    """Texts and what they say, in bounded memory: forgets all when it is full, which costs less than to know what is oldest."""

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._limit, self._bytes = limit, 0
        self._texts: dict[bytes, Any] = {}
        self._shapes: dict[bytes, Any] = {}

    def of(self, text: bytes, by_shape: bool = False) -> Any:
        """What `text` says; UNSEEN if that is not known. `by_shape`: what other texts of its shape said holds for it as well."""
        if by_shape:
            found = self._shapes.get(text.translate(_SHAPE), UNSEEN)
            if found.__class__ is Parted:
                return found.known.get(found.key(text), UNSEEN)
            if found is not OWN:
                return found
        return self._texts.get(text, UNSEEN)

    def remember(self, text: bytes, what: Any) -> None:
        """From now on `text` says `what`."""
        self._grow(len(text))
        self._texts[text] = what

    def remember_shape(self, text: bytes, what: Any, parts: Sequence[str] = ()) -> None:
        """From now on every text of this shape says `what`, as long as `parts`, wherever they stand in it, are the same."""
        shape = text.translate(_SHAPE)
        places = [_places(text, part.encode()) for part in parts]
        if b"0x" in shape or not all(places):  # the zero of a hexadecimal number is no digit like others
            self.own(text, what)
        elif not places:
            self._grow(len(shape))
            self._shapes[shape] = what
        else:
            self._grow(len(shape))
            spans = {span for found in places for span in found}
            parted = self._shapes.get(shape)
            if parted.__class__ is not Parted or not spans.issuperset(parted.spans):
                # a part may stand elsewhere by chance as well: where it truly stands, it stands in all texts of this shape
                spans &= set(parted.spans) if parted.__class__ is Parted else spans
                parted = self._shapes[shape] = Parted(sorted(spans))
            parted.known[parted.key(text)] = what

    def own(self, text: bytes, what: Any) -> None:
        """From now on `text` says `what`, and others of its shape are looked at one by one."""
        self._grow(len(text))
        self._shapes[text.translate(_SHAPE)] = OWN
        self.remember(text, what)

    def _grow(self, size: int) -> None:
        self._bytes += size + _OVERHEAD
        if self._bytes > self._limit:
            self._texts.clear()
            self._shapes.clear()
            self._bytes = size + _OVERHEAD


def _places(text: bytes, part: bytes) -> list[tuple[int, int]]:
    found, at = [], text.find(part)
    while at >= 0:
        found.append((at, at + len(part)))
        at = text.find(part, at + 1)
    return found
