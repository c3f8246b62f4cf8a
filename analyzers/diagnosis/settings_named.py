"""What the evidence gives for the settings that a verdict's steps name: who is to change one sees what it is, and where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from analyzers.components.terms import called_by_others
from analyzers.derived.settings_given import is_called, key_of
from analyzers.report.finding import Quote
from analyzers.tables import Row

_NAME = re.compile(r"(?<![\w./-])(?=[\w.-]*(?:[._]|[a-z][A-Z]))[A-Za-z][\w-]*(?:\.[\w-]+)*(?![\w(/-])")
"""A setting in a text: with a separator or a capital within; no file of a path, no call."""
_MOST, _MOST_OF_ONE = 3, 2
_LONGEST = 70


def settings_named(texts: Iterable[str], rows: Sequence[Row]) -> tuple[Quote, ...]:
    """Lines of `rows` of ``settings`` that give what `texts` name, in their order; of one setting each value once, two at most."""
    quotes: dict[tuple[str, int], Quote] = {}
    for names in _named(texts):
        values: set[str] = set()
        for row in rows:
            given = any(is_called(row["key"], name) for name in names)
            if given and row["value"] not in values and len(values) < _MOST_OF_ONE:
                values.add(row["value"])
                quotes.setdefault((row["file"], row["line"]), Quote(_words(row), None, row["file"], row["line"]))
    return tuple(quotes.values())[:_MOST]


def _words(row: Row) -> str:
    """The line, of a long one only the setting."""
    line = " ".join(row["text"].split())
    return line if len(line) <= _LONGEST else f"{row['name']}={row['value']}"


def _named(texts: Iterable[str]) -> Iterator[frozenset[str]]:
    """The keys of each setting in `texts`: its own, and what other clients of Kafka call it."""
    seen: set[str] = set()
    for text in texts:
        for found in _NAME.finditer(text):
            name = found[0].rstrip(".")
            if name not in seen:
                seen.add(name)
                yield frozenset(key_of(each) for each in (name, *called_by_others(name)))
