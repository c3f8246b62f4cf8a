"""Which words a text must hold before an expression can match it: one scan for all words spares most of a hundred searches.

The words are read off the expressions themselves, by the parser of `re`: what the expressions say is written down once. What that
parser says and this module does not know demands nothing, so a doubt costs a search and never a match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

try:
    from re import _parser  # type: ignore[attr-defined]  # since 3.11; no stub tells of it
except ImportError:
    import sre_parse as _parser

_SHORTEST = 3  # letters; shorter words stand in every text
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")

Need = Callable[[frozenset[int]], bool]
"""Whether these words (their numbers) are enough for an expression to match."""


class Candidates:
    """Which of `patterns` may match a text. None is a pattern that always may."""

    def __init__(self, patterns: Iterable[str | None]) -> None:
        words = _Words()
        self._needs = [_need(pattern, words) for pattern in patterns]
        self._folded = frozenset(words.folded)
        self._scan = _scan(list(words))
        self._all_with = lru_cache(maxsize=4096)(self._that_have)

    def of(self, text: str) -> Sequence[int]:
        """The numbers of the patterns that may match `text`, ascending."""
        found = self._scan(text.lower())
        # beyond ASCII, letters may equal others in more ways than lower() knows (the long s, the sign of Kelvin)
        return self._all_with(found if text.isascii() else found | self._folded)

    def _that_have(self, words: frozenset[int]) -> tuple[int, ...]:
        return tuple(number for number, need in enumerate(self._needs) if need is None or need(words))


class _Words(dict[str, int]):
    """Words in small letters, numbered; `folded`: those of expressions to which small and capital letters are the same."""

    def __init__(self) -> None:
        super().__init__()
        self.folded: set[int] = set()

    def number(self, word: str, folded: bool) -> int:
        number = self.setdefault(word.lower(), len(self))
        if folded:
            self.folded.add(number)
        return number


def _scan(words: Sequence[str]) -> Callable[[str], frozenset[int]]:
    """What finds the numbers of the words that stand in a text."""
    try:
        from ahocorasick_rs import AhoCorasick
    except ImportError:
        return lambda text: frozenset([number for number, word in enumerate(words) if word in text])
    find = AhoCorasick(words).find_matches_as_indexes
    return lambda text: frozenset([hit[0] for hit in find(text, overlapping=True)])


def _need(pattern: str | None, words: _Words) -> Need | None:
    """What `pattern` needs; its words are added to `words`. None: nothing in particular."""
    if pattern is None:
        return None
    parsed = _parser.parse(pattern)
    return _of_sequence(list(parsed), bool(parsed.state.flags & _parser.SRE_FLAG_IGNORECASE), words)


def _of_sequence(items: Sequence[tuple[Any, Any]], folded: bool, words: _Words) -> Need | None:
    needs: list[Need | None] = []
    run = ""
    for operation, argument in items:
        if str(operation) == "LITERAL":
            run += chr(argument)
            continue
        needs.append(_of_word(run, folded, words))
        run = ""
        needs.append(_of_item(str(operation), argument, folded, words))
    needs.append(_of_word(run, folded, words))
    return _all([need for need in needs if need is not None])


def _of_item(operation: str, argument: Any, folded: bool, words: _Words) -> Need | None:
    if operation == "BRANCH":
        return _any([_of_sequence(list(branch), folded, words) for branch in argument[1]])
    if operation in _REPEATS:
        least, _, repeated = argument
        return _of_sequence(list(repeated), folded, words) if least else None
    if operation == "SUBPATTERN":
        _, added, removed, inner = argument
        ignore = _parser.SRE_FLAG_IGNORECASE
        return _of_sequence(list(inner), bool(added & ignore) or (folded and not removed & ignore), words)
    return None


def _of_word(run: str, folded: bool, words: _Words) -> Need | None:
    if len(run) < _SHORTEST or not run.isascii():
        return None
    number = words.number(run, folded)
    return lambda found: number in found


def _all(needs: Sequence[Need]) -> Need | None:
    if len(needs) < 2:
        return needs[0] if needs else None
    return lambda found: all(need(found) for need in needs)


def _any(needs: Sequence[Need | None]) -> Need | None:
    known = [need for need in needs if need is not None]
    if len(known) < len(needs):
        return None
    return lambda found: any(need(found) for need in known)
