"""Which programs know a setting, a command or a concept, and what each client of Kafka calls a setting: the table `terms.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from analyzers.components.programs import Program, own_names
from analyzers.components.toml_files import toml_file

_OTHERWISE = "otherwise"
_TELLING = re.compile(r"[a-z][A-Z]|_")
"""In the name of a setting that is no word of English, too."""


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    return toml_file(__package__ or "analyzers.components", "terms.toml")


@cache
def _called() -> Mapping[str, Mapping[str, str]]:
    return {name: dict(own) for name, own in _table()["called"].items()}


@cache
def _settings() -> re.Pattern[str]:
    names = sorted(_called(), key=len, reverse=True)
    return re.compile(rf"(?<![\w.])(?:(?:consumer|producer)\.override\.)?(?P<name>{'|'.join(map(re.escape, names))})(?![\w-]|\.\w)")


@cache
def _owned() -> tuple[tuple[re.Pattern[str], frozenset[str]], ...]:
    """Expressions of terms, and the programs that know them; the names that other clients give to a setting are among them."""
    rows = [(terms, frozenset(owners.split())) for part in ("owned", "several") for owners, terms in _table()[part].items()]
    found = [(re.compile("|".join(terms)), owners) for terms, owners in rows]
    owners_of: dict[str, set[str]] = {}
    for name, own in _called().items():
        for program, said in own.items():
            if program != _OTHERWISE and said != name and _TELLING.search(said):
                owners_of.setdefault(said, set()).add(program)
    return (*found, *((re.compile(rf"(?<![\w.]){re.escape(said)}(?![\w-]|\.\w)"), frozenset(own)) for said, own in owners_of.items()))


def owners_in(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The terms of `text` that only some programs know, each with these; a setting that has neutral words is not among them."""
    for pattern, owners in _owned():
        for found in pattern.finditer(text):
            yield found[0], owners
    for found in _settings().finditer(text):
        if _OTHERWISE not in _called()[found["name"]]:
            yield found[0], frozenset(_called()[found["name"]])


def knows(program: Program, owners: frozenset[str]) -> bool:
    """Whether the program is one of `owners`."""
    return bool(program.names & owners)


@lru_cache(maxsize=1 << 12)
def _said(text: str, names: frozenset[str]) -> str | None:
    out, at = [], 0
    for found in _settings().finditer(text):
        own = _called()[found["name"]]
        neutral = own.get(_OTHERWISE)
        if neutral is not None and not names:
            neutral = found["name"]  # as Kafka's documentation calls it
        said = next((own[name] for name in own if name in names), neutral)
        if said is None:
            return None
        out += [text[at : found.start()], said]
        at = found.end()
    return "".join((*out, text[at:]))


def in_words_of(program: Program, text: str) -> str | None:
    """`text` with the settings of Kafka's clients as the program calls them; None where it has no such setting."""
    return _said(text, program.names)


def called_by_others(setting: str) -> frozenset[str]:
    """What the clients of Kafka call a setting that one of them calls `setting`."""
    found: set[str] = set()
    for own in _called().values():
        names = {said for program, said in own.items() if program != _OTHERWISE}
        if setting in names:
            found |= names - {setting}
    return frozenset(found)


def unknown_to(program: Program, text: str) -> list[str]:
    """The terms of `text` that the program does not know."""
    foreign = [term for term, owners in owners_in(text) if not knows(program, owners)]
    return foreign + [
        found["name"] for found in _settings().finditer(text) if found[0] not in (in_words_of(program, found["name"]), *foreign)
    ]


def may_name(term_owners: frozenset[str], holds: frozenset[str]) -> bool:
    """Whether what holds for each of `holds` may name a term of `term_owners`."""
    return bool(holds) and all(own_names(name) & term_owners for name in holds)


def term_owners() -> frozenset[str]:
    """Every program that the table names."""
    called = (name for own in _called().values() for name in own if name != _OTHERWISE)
    return frozenset(called).union(*(owners for _, owners in _owned()))
