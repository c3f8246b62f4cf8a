"""What was found out about a text is found out once: storms repeat the same lines a hundred thousand times, but for times and numbers.

Two texts that differ only in their digits have one *shape*. Where nothing that looks at a text cares which digit stands where, all texts
of one shape say the same, but for the few parts of them by which events are told apart (`Parted`). Of ids (of jobs, executions,
allocations: hexadecimal) also the letters differ; a job that restarts makes hundreds of new ones each time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression

Span = tuple[int, int]
Renamed = Callable[[Mapping[str, str]], Any]

UNSEEN = object()  # not known
OWN = object()  # of a shape: its texts say different things
LIMIT_BYTES = BUDGET.remembered_bytes
_OVERHEAD = 900  # of an entry beside its text
NO_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_NO_DIGIT_MATTERS = expression(r"\\d|\{\d*,?\d*\}|0-9|\(\?P<\w+>")
DIGIT = expression(r"[0-9]")
ID = expression(r"[0-9a-f]{8}")
_IDS = expression(rb"[0-9a-f]{8}[0-9a-f-]*")  # of eight and more; a UUID is one
_NO_LETTER = bytes(range(ord("0"), ord("9") + 1)) + b"-"
_LETTERS = bytes.maketrans(b"0123456789abcdef", b"a" * 16)
_FIGURES = bytes.maketrans(b"0123456789abcdef", b"1" * 16)


def sees_digits(pattern: str) -> bool:
    """Whether an expression may tell one digit from another; in doubt it may."""
    return "(?P=" in pattern or bool(DIGIT.search(_NO_DIGIT_MATTERS.sub("", pattern)))


def all_letters(text: bytes) -> bytes:
    """`text` had it ids of nothing but letters."""
    return _IDS.sub(_all_letters, text)


def all_figures(text: bytes) -> bytes:
    """`text` had it ids that are digits up to the last letter, which makes them ids."""
    return _IDS.sub(_all_figures, text)


def _all_letters(found: re.Match[bytes]) -> bytes:
    """A number is no id: it stays."""
    run = found[0]
    return run.translate(_LETTERS) if run.strip(_NO_LETTER) else run


def _all_figures(found: re.Match[bytes]) -> bytes:
    run = found[0]
    return run[:-1].translate(_FIGURES) + b"a" if run.strip(_NO_LETTER) else run


class Parted:
    """What the texts of one shape say, by their parts.

    A part may stand elsewhere by chance as well: where it truly stands, it stands in all texts of this shape. `renamed` says what a text
    with other parts says.
    """

    __slots__ = ("known", "places", "renamed", "spans")

    def __init__(self, places: dict[str, set[Span]], renamed: Renamed | None) -> None:
        self.places, self.renamed = places, renamed
        self.spans = tuple(sorted({span for found in places.values() for span in found}))
        self.known: dict[bytes, Any] = {}

    def key(self, text: bytes) -> bytes:
        return b"\n".join([text[start:end] for start, end in self.spans])

    def of(self, text: bytes) -> Any:
        key = self.key(text)
        found = self.known.get(key, UNSEEN)
        if found is UNSEEN and self.renamed is not None:
            names = self._names(text)
            if names is not None:
                found = self.known[key] = self.renamed(names)
        return found

    def _names(self, text: bytes) -> dict[str, str] | None:
        """What stands for each part in this text; None where its places disagree."""
        names = {}
        for part, spans in self.places.items():
            values = {text[start:end] for start, end in spans}
            if len(values) != 1:
                return None
            names[part] = values.pop().decode("utf-8", "replace")
        return names

    def narrowed(self, places: dict[str, set[Span]]) -> dict[str, set[Span]]:
        """`places` without those at which a part stands by chance."""
        mine = set(self.spans)
        return {part: spans & mine or spans for part, spans in places.items()}


class Memo:
    """Texts and what they say, in bounded memory: forgets all when it is full, which costs less than to know what is oldest.

    What holds for any ids is few and has a bound of its own.
    """

    def __init__(self, limit: int = LIMIT_BYTES) -> None:
        self._limit, self._bytes = limit, 0
        self._texts: dict[bytes, Any] = {}
        self._shapes: dict[bytes, Any] = {}
        self._of_ids: dict[bytes, Any] = {}  # by shape, all ids made the same
        self._lasting = 0  # bytes of what is kept longer

    def of(self, text: bytes, by_shape: bool = False) -> Any:
        """What `text` says; UNSEEN if that is not known. `by_shape`: what other texts of its shape said holds for it as well."""
        if by_shape:
            shape = text.translate(NO_DIGITS)
            found = self._shapes.get(shape, UNSEEN)
            if found is UNSEEN and self._of_ids:
                found = self._of_ids.get(all_letters(shape), UNSEEN)
                if found is not UNSEEN:  # these ids will come again
                    self._grow(len(shape))
                    self._shapes[shape] = found
            if found.__class__ is Parted:
                return self._of_parts(found, text)
            if found is not OWN:
                return found
        return self._texts.get(text, UNSEEN)

    def holds_for_any_ids(self, text: bytes) -> bool:
        """Whether somebody found out that texts of this shape say the same whatever ids stand in them."""
        return all_letters(text.translate(NO_DIGITS)) in self._of_ids

    def remember(self, text: bytes, what: Any) -> None:
        """From now on `text` says `what`."""
        self._grow(len(text))
        self._texts[text] = what

    def remember_shape(
        self, text: bytes, what: Any, parts: Sequence[str] = (), renamed: Renamed | None = None, *, any_ids: bool = False
    ) -> None:
        """From now on every text of this shape says `what`, as long as `parts`, wherever they stand in it, are the same; one with other
        parts says what `renamed` makes of them, by the part that stands here.

        `any_ids`: whatever ids stand in it.
        """
        shape, shapes = text.translate(NO_DIGITS), self._shapes
        places = {part: _places(text, part.encode()) for part in parts}
        if b"0x" in shape or not all(places.values()):  # the zero of a hexadecimal number is no digit like others
            self.own(text, what)
            return
        if any_ids:
            shapes.pop(shape, None)
            shape, shapes = all_letters(shape), self._of_ids
            self._grow_lasting(len(shape))
        else:
            self._grow(len(shape))
        if not places:
            shapes[shape] = what
            return
        parted = shapes.get(shape)
        if parted.__class__ is Parted:
            places = parted.narrowed(places)
        if parted.__class__ is not Parted or set(parted.spans) != {span for found in places.values() for span in found}:
            parted = shapes[shape] = Parted(places, renamed)
        parted.known[parted.key(text)] = what

    def own(self, text: bytes, what: Any) -> None:
        """From now on `text` says `what`, and others of its shape are looked at one by one."""
        self._grow(len(text))
        self._shapes[text.translate(NO_DIGITS)] = OWN
        self.remember(text, what)

    def _of_parts(self, parted: Parted, text: bytes) -> Any:
        before = len(parted.known)
        found = parted.of(text)
        if len(parted.known) > before:
            self._grow_lasting(0)
        return found

    def _grow(self, size: int) -> None:
        self._bytes += size + _OVERHEAD
        if self._bytes > self._limit:
            self._texts.clear()
            self._shapes.clear()
            self._bytes = size + _OVERHEAD

    def _grow_lasting(self, size: int) -> None:
        """Of what is not forgotten with the rest: shapes that hold for any ids, and what was said by parts."""
        self._lasting += size + _OVERHEAD
        if self._lasting > self._limit // 2:
            self._shapes.clear()
            self._of_ids.clear()
            self._lasting = size + _OVERHEAD


def _places(text: bytes, part: bytes) -> set[Span]:
    found: set[Span] = set()
    at = text.find(part)
    while at >= 0:
        found.add((at, at + len(part)))
        at = text.find(part, at + 1)
    return found
