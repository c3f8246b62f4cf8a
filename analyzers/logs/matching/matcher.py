"""Finding many literals in raw bytes at once: Hyperscan, else Aho-Corasick, else `bytes.find`; all three give the same hits.

Overlapping hits matter: a leftmost, non-overlapping search loses a literal that lies inside another one's text.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Backend = Literal["hyperscan", "ahocorasick", "re"]
Hits = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
_Scan = Callable[[bytes, "array[int]"], None]
_SHIFT = 20  # a hit is its end, shifted by this, and the number of its literal
_NUMBER = (1 << _SHIFT) - 1
_NO_HITS = np.zeros(0, np.int64)


def available() -> tuple[Backend, ...]:
    """The back ends that can be imported here, fastest first."""
    found: list[Backend] = []
    try:
        import hyperscan  # noqa: F401  # only whether it is there

        found.append("hyperscan")
    except ImportError:
        pass
    try:
        import ahocorasick_rs  # noqa: F401  # only whether it is there

        found.append("ahocorasick")
    except ImportError:
        pass
    return (*found, "re")


class Matcher:
    """All places where any of `literals` (distinct, not empty) ends in a text."""

    def __init__(self, literals: Sequence[bytes], backend: Backend | None = None) -> None:
        self.literals = tuple(literals)
        if len(set(self.literals)) != len(self.literals) or not all(self.literals):
            raise ValueError("literals must be distinct and not empty")
        self.backend: Backend = backend or available()[0]
        self._scan: _Scan = {"hyperscan": self._hyperscan, "ahocorasick": self._ahocorasick, "re": self._find}[self.backend]()

    def scan(self, text: bytes) -> Hits:
        """(literal number, offset of the hit's last byte) of every hit, ordered by that offset, then by the literal's number."""
        found = array("q")  # both numbers of a hit in one: half the cost per hit, and they sort as they must
        if self.literals and text:
            self._scan(text, found)
        hits = np.sort(np.frombuffer(found, np.int64)) if found else _NO_HITS
        return hits & _NUMBER, (hits >> _SHIFT) - 1

    def _hyperscan(self) -> _Scan:
        import hyperscan

        wanted: dict[bytes, list[tuple[int, bytes]]] = {}  # what is looked for: of which literals it is the beginning, and their rest
        for number, literal in enumerate(self.literals):
            cut = rare_beginning(literal)
            wanted.setdefault(cut, []).append((number, literal[len(cut) :]))
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        count, meant = len(wanted), list(wanted.values())
        whole = [one[0][0] if len(one) == 1 and not one[0][1] else -1 for one in meant]
        if count:
            database.compile(expressions=list(wanted), ids=list(range(count)), elements=count, flags=[0] * count, literal=True)

        def scan(text: bytes, found: array[int]) -> None:
            take = found.append

            def hit(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
                if whole[number] >= 0:
                    take(end << _SHIFT | whole[number])
                    return
                for literal, rest in meant[number]:
                    if text.startswith(rest, end):
                        take((end + len(rest)) << _SHIFT | literal)

            database.scan(text, match_event_handler=hit)

        return scan

    def _ahocorasick(self) -> _Scan:
        import ahocorasick_rs

        automaton = ahocorasick_rs.BytesAhoCorasick(list(self.literals))

        def scan(text: bytes, found: array[int]) -> None:
            found.extend(end << _SHIFT | number for number, _start, end in automaton.find_matches_as_indexes(text, overlapping=True))

        return scan

    def _find(self) -> _Scan:
        def scan(text: bytes, found: array[int]) -> None:
            for number, literal in enumerate(self.literals):
                at = text.find(literal)
                while at >= 0:
                    found.append((at + len(literal)) << _SHIFT | number)
                    at = text.find(literal, at + 1)

        return scan


class Presence:
    """Which of `literals` (distinct, not empty) stand in a text at all; where they stand costs nothing."""

    def __init__(self, literals: Sequence[bytes], backend: Backend | None = None) -> None:
        self.literals = tuple(literals)
        self._database = None
        if (backend or available()[0]) == "hyperscan" and self.literals:
            import hyperscan

            count = len(self.literals)
            self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
            flags = [hyperscan.HS_FLAG_SINGLEMATCH] * count
            self._database.compile(expressions=list(self.literals), ids=list(range(count)), elements=count, flags=flags, literal=True)

    def of(self, text: bytes) -> frozenset[bytes]:
        """Those of `literals` that stand in `text`."""
        if self._database is None or not text:
            return frozenset(literal for literal in self.literals if literal in text)
        found: set[bytes] = set()

        def hit(number: int, _start: int, _end: int, _flags: int, _context: object) -> None:
            found.add(self.literals[number])

        self._database.scan(text, match_event_handler=hit)
        return frozenset(found)


_SEEN = 8  # last bytes of a literal, by which Hyperscan finds the places that it looks at more closely
_LEAST = 12
_BETWEEN = frozenset(b" .:=$/('\"")


def rare_beginning(literal: bytes) -> bytes:
    """The longest beginning of `literal` whose last bytes belong to two words, half to each; else all of it.

    Places in which "Executor" or "rtition" stands are many in a log, those with "in TaskE" few: a fifth of the time of a scan.
    """
    for stop in range(len(literal), _LEAST - 1, -1):
        if not _BETWEEN.isdisjoint(literal[stop - _SEEN + 3 : stop - _SEEN + 5]):
            return literal[:stop]
    return literal
