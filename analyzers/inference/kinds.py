"""What kind of failure an exception is: codes of standards first, words of its name next, words of its message last."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from analyzers.inference.data import table
from analyzers.inference.link import Link

UNANSWERED = frozenset(("unavailable", "unanswered", "lost"))
"""Kinds of which there was no answer; of all others there was one, or no call."""
_SQL = re.compile(r"(?i:\bsql[ _]?state\b)[\"'\]]? ?[:=(\[]? ?\[?[\"']?(?P<state>[0-9A-Z]{5})\b")
_HTTP = re.compile(
    r"(?i:\b(?:status(?: ?code)?|http(?:/\d(?:\.\d)?)?(?: (?:status|response|error|code))*|response(?: code)?|error ?code|code|answered|returned|replied|responded(?: with)?)\b)[\"']?[ :=(\[]{0,3}"
    r"(?P<after>[1-5]\d\d)\b(?![.:]\d|\d|,\d{3})"
    r"|(?<![\w.:])(?P<before>[45]\d\d) (?:(?i:bad request|unauthorized|forbidden|not found|method not allowed|request time-?out|conflict|gone|length required|precondition failed|payload too large"
    r"|request entity too large|unsupported media type|unprocessable|locked|too many requests|internal server error|not implemented|bad gateway|service (?:temporarily )?unavailable|gateway time-?out"
    r"|insufficient storage)|from https?:|Client Error|Server Error)|, (?P<verb>[45]\d\d), (?:GET|PUT|POST|HEAD|DELETE|PATCH),"
)
_ERRNO = re.compile(r"\bE[A-Z][A-Z_]{1,12}\b")
_SNAKE = re.compile(r"\b(?:[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+|[a-z]+(?:_[a-z]+)*_exception)\b")
_CODE = re.compile(
    r"(?:^(?=[A-Z_]{6,40}: )|\bError ?Code: ?|\berror ?code ?[=:] ?\"?|An error occurred \(|\bcode(?: ?= ?|: ?'|Name: ?\"?)|StatusCode\.|Exception: |panic: )(?P<code>[A-Z][A-Za-z_]{3,60})\b"
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+")
_ANOTHER = re.compile(r"\b(?:[a-z_][\w$]*\.)*[A-Z][\w$]*(?:Exception|Error)\b")
_LOOKED_AT = 2_000
"""Characters of a message in which words are looked for: what it says stands at its beginning."""
_CLUE = 80
_WEAK_HTTP = frozenset(("409", "400", "404", "500"))
"""Given for many reasons: words say more."""


@dataclass(frozen=True)
class Kind:
    """A kind, and what shows it. `sure`: 3 a code of a standard or a telling name, 2 a telling message, 1 what is given for many reasons.

    `of_kafka`: the code with which a broker answered.
    """

    name: str
    shown_by: str
    sure: int
    of_kafka: str | None = None


def kinds() -> tuple[str, ...]:
    """All kinds, the more telling first."""
    return tuple(table("kinds"))


def kind_of(link: Link) -> Kind | None:
    """What kind of failure one exception is; None where neither its name nor its words say it."""
    return _kind_of(link.kind, link.message[:_LOOKED_AT], link.code)


def camel(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters: ``SSLHandshakeException``, ``TOO_MANY_REQUESTS``, ``es_rejected_execution_exception``."""
    return tuple(word.lower() for word in _WORDS.findall(name))


def sql_state(text: str) -> str | None:
    """The SQLSTATE that a text states."""
    found = _SQL.search(text)
    return found["state"] if found else None


def http_status(text: str) -> str | None:
    """The HTTP status that a text states."""
    for found in _HTTP.finditer(text):
        status: str = found["after"] or found["before"] or found["verb"]
        if status[0] in "45":
            return status
    return None


@lru_cache(maxsize=4096)
def _kind_of(name: str, message: str, code: str | None) -> Kind | None:
    if (state := sql_state(message) or (code if code and re.fullmatch(r"\d[0-9A-Z]{4}", code) else None)) and (found := _by_sql(state)):
        return Kind(found, f"SQLSTATE {state}", 3)
    for errno in (*((code,) if code else ()), *_ERRNO.findall(message)):
        if errno in _codes("errno"):
            return Kind(_codes("errno")[errno], errno, 3)
    if name_and_kind := _by_broker(message):
        return Kind(name_and_kind[1], name_and_kind[0], 3, of_kafka=name_and_kind[0])
    for token in (*(m["code"] for m in _CODE.finditer(message)), *_SNAKE.findall(message)[:8], *((code,) if code else ())):
        if (said := _by_name(token)) and not said.vague:
            return Kind(said.kind, token, 3)
    *packages, simple = name.replace("::", ".").split(".")
    own = simple.rpartition("$")[2]
    named = [(word, said) for word in dict.fromkeys((own, simple.partition("$")[0])) if (said := _by_name(word, frozenset(packages)))]
    for word, said in named:
        if not said.vague:
            return Kind(said.kind, word, 3)
    status = http_status(message)
    if status and status not in _WEAK_HTTP and status in _codes("http"):
        return Kind(_codes("http")[status], f"HTTP {status}", 3)
    if words := _by_words(message):
        return Kind(*words, 2)
    if named:
        return Kind(named[0][1].kind, named[0][0], 1)
    if status and status in _codes("http"):
        return Kind(_codes("http")[status], f"HTTP {status}", 1)
    for inner in _ANOTHER.findall(message)[:6]:
        if (said := _by_name(inner.rpartition(".")[2])) and not said.vague:
            return Kind(said.kind, inner.rpartition(".")[2], 2)
    return None


@cache
def _broker_errors() -> tuple[re.Pattern[str], re.Pattern[str], dict[str, tuple[str, str]]]:
    """Expressions for the names of a broker's error codes and for what clients print of them, in small letters; of each text name and kind."""
    rows = [(texts, kind) for kind, codes in table("kafka_errors").items() for texts in codes.values()]
    found = {text if text.isupper() else text.lower(): (texts[0], kind) for texts, kind in rows for text in texts}
    longest_first = sorted(found, key=len, reverse=True)
    names, words = ("|".join(re.escape(one) for one in longest_first if one.isupper() is named) for named in (True, False))
    return re.compile(rf"\b(?:{names})\b"), re.compile(rf"(?<![\w-])(?:{words})(?!\w)"), found


def _by_broker(message: str) -> tuple[str, str] | None:
    """Name and kind of the error code of Kafka whose name or words a message holds."""
    names, words, of_text = _broker_errors()
    found = names.search(message) or words.search(message.lower())
    return of_text[found[0]] if found else None


@cache
def _codes(column: str) -> dict[str, str]:
    return {code: kind for kind, row in reversed(list(table("kinds").items())) for code in row.get(column, ())}


@lru_cache(maxsize=512)
def _by_sql(state: str) -> str | None:
    beginnings = _codes("sql")
    return next((beginnings[state[:length]] for length in (5, 4, 3, 2) if state[:length] in beginnings), None)


class _Said(NamedTuple):
    words: int
    """How many words of the name say it, negative: the longest run comes first."""
    vague: bool
    rank: int
    kind: str


@cache
def _names() -> dict[tuple[str, ...], tuple[bool, int, str]]:
    """Words of names → vague or not, rank, kind."""
    found: dict[tuple[str, ...], tuple[bool, int, str]] = {}
    for column in ("names", "vague"):
        for rank, (kind, row) in enumerate(table("kinds").items()):
            for name in row.get(column, ()):
                found.setdefault(camel(name), (column == "vague", rank, kind))
    return found


_ENDINGS = frozenset(("exception", "error", "errors", "failure", "fault"))


@lru_cache(maxsize=4096)
def _by_name(name: str, packages: frozenset[str] = frozenset()) -> _Said | None:
    """What a name says: the longest run of its words that the table knows, of several as long the more telling one.

    Words that are among its `packages`, too, say nothing: Kafka Connect's ConnectException is only named after its library.
    """
    known, words = _names(), camel(name)
    found = []
    for begin in range(len(words)):
        for end in range(begin + 1, len(words) + 1):
            run = words[begin:end]
            row = known.get(run) or known.get(tuple(word[:-1] if word.endswith("s") and len(word) > 3 else word for word in run))
            telling = [word for word in run if word not in _ENDINGS]
            if row is not None and not packages.issuperset(telling):
                found.append(_Said(-len(telling), *row))
    return min(found, default=None)


@cache
def _said() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (kind, re.compile("|".join(f"(?:{one})" for one in row["says"]))) for kind, row in table("kinds").items() if row.get("says")
    )


def _by_words(message: str) -> tuple[str, str] | None:
    low = message.lower()
    for kind, words in _said():
        if found := words.search(low):
            return kind, f"“{message[found.start() : found.end()][-_CLUE:]}”"
    return None
