"""Finding many literals in raw bytes at once: Hyperscan, else Aho-Corasick, else `bytes.find`; all three give the same hits.

Overlapping hits matter: a leftmost, non-overlapping search loses a literal that lies inside another one's text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

Backend = Literal["hyperscan", "ahocorasick", "re"]
Hits = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
_Scan = Callable[[bytes, list[int], list[int]], None]


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
        ids: list[int] = []
        ends: list[int] = []
        if self.literals and text:
            self._scan(text, ids, ends)
        which, where = np.asarray(ids, np.int64), np.asarray(ends, np.int64) - 1
        order = np.lexsort((which, where))
        return which[order], where[order]

    def _hyperscan(self) -> _Scan:
        import hyperscan

        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        count = len(self.literals)
        if count:
            database.compile(expressions=list(self.literals), ids=list(range(count)), elements=count, flags=[0] * count, literal=True)

        def scan(text: bytes, ids: list[int], ends: list[int]) -> None:
            def hit(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
                ids.append(number)
                ends.append(end)

            database.scan(text, match_event_handler=hit)

        return scan

    def _ahocorasick(self) -> _Scan:
        import ahocorasick_rs

        automaton = ahocorasick_rs.BytesAhoCorasick(list(self.literals))

        def scan(text: bytes, ids: list[int], ends: list[int]) -> None:
            for number, _start, end in automaton.find_matches_as_indexes(text, overlapping=True):
                ids.append(number)
                ends.append(end)

        return scan

    def _find(self) -> _Scan:
        def scan(text: bytes, ids: list[int], ends: list[int]) -> None:
            for number, literal in enumerate(self.literals):
                at = text.find(literal)
                while at >= 0:
                    ids.append(number)
                    ends.append(at + len(literal))
                    at = text.find(literal, at + 1)

        return scan
