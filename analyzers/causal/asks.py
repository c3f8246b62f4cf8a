"""What a failure asks for that no rule knows: a clause for the headline, and steps, by the mechanism that its words tell of.

`asks.toml` is the list, to be read aloud. Nothing of it is stated by the evidence: what is made of it is marked as inferred.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from analyzers.components.toml_files import toml_file
from analyzers.inference.entities import entities_of

_LOOKED_AT = 600


@dataclass(frozen=True)
class Asks:
    """`clause` follows the name of what failed (``MySQL`` ``lacks what is asked for``); fields of `steps` as `facts_of` has them.

    `mechanism`: its id; None of a kind of failure. `says`, `about`: words that show it, and words of a page that is about it.
    `settings`: names of what rules it. `unless`: words beside which `says` means another thing.
    `symptom`: another line may be the cause of it. `effect`: it is the cause of no other failure. `deeper`: another mechanism may be the
    cause of it. `held`: something is used up, and whoever has most of it is of interest.
    `everyday`: its settings are words that count near the failure only.
    """

    clause: str
    steps: tuple[str, ...]
    mechanism: str | None = None
    says: re.Pattern[str] | None = None
    about: re.Pattern[str] | None = None
    settings: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    symptom: bool = False
    effect: bool = False
    deeper: bool = False
    held: bool = False
    everyday: bool = False

    @property
    def specific(self) -> bool:
        """Whether the words show a mechanism, not only a kind of failure."""
        return self.mechanism is not None

    def shown_by(self, low: str) -> bool:
        """Whether words, in small letters, show the mechanism, and do not deny it."""
        if self.says is None or (self.unless is not None and self.unless.search(low)):
            return False
        found = self.says.finditer(low)
        return any(_DENIED.search(low[max(0, one.start() - 16) : one.start()]) is None for one in found)

    def is_ruled_by(self, line: str) -> bool:
        """Whether a line names a setting that rules the mechanism."""
        return self.settings is not None and self.settings.search(line[:_LOOKED_AT].lower()) is not None

    def is_named_in(self, text: str) -> bool:
        """Whether a text is about the mechanism already."""
        low = text.lower()
        return any(each is not None and each.search(low) for each in (self.says, self.about))


_DENIED = re.compile(r"\b(?:no|not|never|without|isn't|wasn't)(?: \w+)? $")


@lru_cache(maxsize=4096)
def asks_of(words: str, kind: str | None = None) -> Asks | None:
    """What a failure with these `words`, of the inferred `kind`, asks for; None where neither says anything."""
    mechanisms, kinds = _table()
    low = words[:_LOOKED_AT].lower()
    return next((asks for asks in mechanisms if asks.shown_by(low)), kinds.get(kind or ""))


def facts_of(words: str, *, file: str | None = None, called: str | None = None) -> Mapping[str, str | None]:
    """Fields of steps: what `words` name, which process or service says them, and a limit that stands in them; None: they hold none."""
    limit = _LIMIT.search(words)
    log = posixpath.basename(file.replace("!", "/")) if file and file != "-" else None
    about = "the process of" if log and _LOG.search(log) else "what is described in"
    host = f"{about} {log}" if log else called or "what refuses it"
    return {
        "name": name_in(words), "host": host, "file": log or "that log", "called": called or host,
        "limit": limit["limit"].strip() if limit else None,
    }  # fmt: skip


def general_steps() -> Iterator[str]:
    """The steps for kinds of failure, which give way to ones about the very case."""
    yield from (step for asks in _table()[1].values() for step in asks.steps)


def all_steps() -> Iterator[str]:
    """All steps, as they are written."""
    yield from (step for asks in _table()[0] for step in asks.steps)
    yield from general_steps()


@lru_cache(maxsize=4096)
def name_in(words: str) -> str | None:
    """The one thing that a line speaks of: what it quotes, else what a typed pattern finds in it."""
    quoted = [found["it"] for found in _QUOTED.finditer(words) if _is_name(found["it"])]
    if quoted:
        return quoted[0]
    entities = entities_of(words)
    return next((entities[kind][0] for kind in _NAMING if entities.get(kind)), None)


_LOG = re.compile(r"(?i)\.(?:log|out|err)\b|log|journal|dmesg|stderr|stdout")
_QUOTED = re.compile(r"(?<![\w])(?P<open>['\"`“‘])(?P<it>[^'\"`”’\s][^'\"`”’]{1,80})['\"`”’](?!\w|\s*[:=])")
_NAMING = ("table", "topic", "partition", "label", "transactional_id", "group", "column", "url", "path", "host", "address")
_LIMIT = re.compile(
    r"(?i)(?:limit(?:ed)?|max(?:imum)?(?: \w+){0,3}|than|exceed\w*|threshold|allowed(?: size)?|timeout value)\b"
    r"(?: is| of| the| was| used|[:=( ])*"
    r"(?P<limit>\d[\d,.]*\d(?: ?(?:[kmgt]i?b?|bytes?|ms|milliseconds|seconds|minutes|s)\b)?)"
)


def _is_name(text: str) -> bool:
    """Not a value: bytes, what was cut off, a number."""
    value = re.search(r"\\x[0-9A-Fa-f]{2}|\.\.\.|…", text) or re.fullmatch(r"[\d.,:]+|true|false|null|none", text, re.IGNORECASE)
    return bool(re.search(r"\w", text)) and len(text.split()) <= 3 and not value


@cache
def _table() -> tuple[tuple[Asks, ...], Mapping[str, Asks]]:
    """The mechanisms in their order, and the kinds of failure."""
    table = toml_file(__package__ or "analyzers.causal", "asks.toml")
    return tuple(map(_asks, table["mechanisms"])), {name: _asks(row) for name, row in table["kinds"].items()}


def _asks(row: Mapping[str, Any]) -> Asks:
    says, about, settings, unless = (re.compile(row[name]) if name in row else None for name in ("says", "about", "settings", "unless"))
    flags = {name: row.get(name, False) for name in ("symptom", "effect", "deeper", "held", "everyday")}
    return Asks(row["clause"], tuple(row["steps"]), row.get("id"), says, about, settings, unless, **flags)
