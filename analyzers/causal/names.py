"""The names that a text holds: hosts, tables, slots, topics, classes of the user, keys. What two lines share that speak of one thing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from analyzers.components import component_of, is_user

_QUOTED = re.compile(r"[\"'`‘“]([\w$.\-/@:]{3,80})[\"'`’”]")
_WORD = re.compile(r"[\w$][\w$.\-/@:]{2,120}")
_MADE = re.compile(r"[a-z]\d|\d[a-z]|[a-z][A-Z]|\w[.\-_/:@$]\w")
"""What a made-up name has that a word of a sentence has not."""
_NO_NAME = re.compile(
    r"[\d.:,/T\-+Z_]+|(?i:[0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\S*|\d+(?:\.\d+)?(?:ms|s|m|h|kb|mb|gb|gib|mib|kib|b|x|%)"
    r"|\w+\.(?:java|scala|kt|go|py|rs|cs|cc|cpp)(?::\d+\S*)?|v?\d+(?:\.\d+)+\S*|(?i:attempt|tid|pid|line|thread|task|stage|executor)[#\-_:]?\d+",
)
_EVERYBODYS = frozenset({
    "at-least-once", "exactly-once", "read-only", "out-of-memory", "thread-safe", "key-value", "non-null", "up-to-date", "re-try",
    "re-join", "auto-commit", "consumer-group", "localhost", "utf-8", "content-type", "application/json", "text/plain", "end-of-file",
    "end-to-end", "on-heap", "off-heap", "built-in", "user-code", "and/or", "key/value", "java.base",
})  # fmt: skip
_LONGEST = 8_000


@lru_cache(maxsize=4096)
def names_of(text: str) -> frozenset[str]:
    """The names in a text, in small letters; of a dotted one its last part as well, of an address its host, of a path its end."""
    text = text[:_LONGEST]
    found = {match[1] for match in _QUOTED.finditer(text)}
    for match in _WORD.finditer(text):
        word = match[0].strip(".-/:@_")
        if _MADE.search(word):
            found.add(word)
    names: set[str] = set()
    for word in found:
        names.update(_parts(word))
    return frozenset(name for name in names if len(name) >= _SHORTEST and name not in _EVERYBODYS and not _NO_NAME.fullmatch(name))


_SHORTEST = 4


def _parts(word: str) -> list[str]:
    """A name as it is spelled elsewhere: whole, without its port, without its package, directory or domain."""
    if component_of(word, "java") is not None or (word.count(".") >= 2 and not is_user(word) and re.search(r"\.[A-Z]", word)):
        return []
    parts = [word]
    host = re.sub(r":\d+$", "", word)
    if host != word:
        parts.append(host)
    if "/" in host:
        parts += [piece for piece in host.split("/") if _MADE.search(piece)]
    if "." in host and "/" not in host:
        pieces = host.split(".")
        last = pieces[-1]
        if re.match(r"[A-Z]", last):
            parts += [last, ".".join(pieces[:-1])]
        elif len(pieces) > 2 and re.match(r"[A-Z]", pieces[-2]):
            parts += [pieces[-2], f"{pieces[-2]}.{last}", ".".join(pieces[:-2])]
        elif re.search(r"[\d\-]", pieces[0]):
            parts.append(pieces[0])  # a host without its domain
    return [part.lower() for part in parts]


_ADDRESS = re.compile(r"(?<![\w.])(?!127\.|0\.)(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
_NUMBER = re.compile(r"(?<![\w.:/+-])(?<!\d,)(?!(?:19|20)\d\d(?!\d)|1[4-9]\d{8}(?:\d{3})?(?!\d))(\d{4,20})(?![\w.:/%-]|,\d)")


def numbers_of(text: str) -> Sequence[str]:
    """What a text calls by a number only, in its order: a process, a session, a transaction, an address; no year, time, port or size."""
    text = text[:_LONGEST]
    return tuple(dict.fromkeys([*_NUMBER.findall(text), *_ADDRESS.findall(text)]))
