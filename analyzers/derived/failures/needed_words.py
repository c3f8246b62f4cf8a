"""Which words a text must hold before an expression can match it: one scan for all words spares most of a hundred searches.

The words are read off the expressions themselves, by the parser of `re`: what the expressions say is written down once. What that
parser says and this module does not know demands nothing, so a doubt costs a search and never a match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

from ahocorasick_rs import AhoCorasick

try:
    from re import _parser  # type: ignore[attr-defined]  # since 3.11; not in the stubs
except ImportError:
    import sre_parse as _parser

from analyzers.logs.matching.expressions import expression

_SHORTEST = 3  # letters; shorter words stand in every text
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


Need = Callable[[frozenset[str]], bool]
"""Whether the words that a text holds are enough for an expression to match it."""


class Candidates:
    """Which of `patterns` may match a text. None is a pattern that always may."""

    def __init__(self, patterns: Iterable[str | None]) -> None:
        words: set[str] = set()
        self._needs = [_all([] if pattern is None else _needs(list(_parser.parse(pattern)), words)) for pattern in patterns]
        self._words = sorted(words)
        self._find = AhoCorasick(self._words).find_matches_as_indexes
        self._with = lru_cache(maxsize=4096)(self._with_words)

    def of(self, text: str) -> Sequence[int]:
        """The numbers of the patterns that may match `text`, ascending."""
        if not text.isascii():  # letters may equal others in more ways than lower() knows (the long s, the sign of Kelvin)
            return range(len(self._needs))
        return self._with(frozenset([hit[0] for hit in self._find(text.lower(), overlapping=True)]))

    def _with_words(self, numbers: frozenset[int]) -> tuple[int, ...]:
        words = frozenset(self._words[number] for number in numbers)
        return tuple(at for at, need in enumerate(self._needs) if need(words))


class Expressions:
    """Expressions without flags, of which a text is searched for those only that may match it."""

    def __init__(self, *patterns: str) -> None:
        self.patterns = patterns
        self._expressions = [expression(pattern) for pattern in patterns]

    @cached_property
    def _candidates(self) -> Candidates:
        return Candidates(self.patterns)

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """All matches of the first expression, then those of the second, …"""
        for number in self._candidates.of(text):
            yield from self._expressions[number].finditer(text)


def _needs(items: Sequence[tuple[Any, Any]], words: set[str]) -> list[Need]:
    """What `items` of a parsed expression need, all of it; their words (in small letters) are added to `words`."""
    needs: list[Need] = []
    run = ""
    for operation, argument in (*items, ("END", None)):
        if str(operation) == "LITERAL":
            run += chr(argument)
            continue
        if len(run) >= _SHORTEST and run.isascii():
            words.add(run.lower())
            needs.append(_word(run.lower()))
        run = ""
        if str(operation) == "BRANCH":
            branches = [_needs(list(branch), words) for branch in argument[1]]
            if all(branches):
                needs.append(_any([_all(branch) for branch in branches]))
        elif str(operation) == "SUBPATTERN" or (str(operation) in _REPEATS and argument[0]):
            needs += _needs(list(argument[-1]), words)
    return needs


def _word(word: str) -> Need:
    return lambda found: word in found


def _all(needs: Sequence[Need]) -> Need:
    return needs[0] if len(needs) == 1 else lambda found: all(need(found) for need in needs)


def _any(needs: Sequence[Need]) -> Need:
    return lambda found: any(need(found) for need in needs)
