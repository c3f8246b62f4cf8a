"""What a process runs: the engine, what stands beside it, and the library that speaks to Kafka, read from what it prints.

The table is `programs.toml`. Unknown stays unknown: a log that shows no sign of a program is of none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache

from analyzers.components.toml_files import toml_file


@dataclass(frozen=True)
class Program:
    """`names` of `programs.toml`; `versions` by name, where the evidence has them."""

    names: frozenset[str] = frozenset()
    versions: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.names)


UNKNOWN = Program()


@dataclass(frozen=True)
class _Row:
    kind: str
    client: str | None
    roles: frozenset[str]
    tables: frozenset[str]
    signs: re.Pattern[str] | None
    version: re.Pattern[str] | None


@cache
def _rows() -> Mapping[str, _Row]:
    return {
        name: _Row(
            row["kind"],
            row.get("client"),
            frozenset(row.get("roles", ())),
            frozenset(row.get("tables", ())),
            re.compile(row["signs"]) if "signs" in row else None,
            re.compile(row["version"]) if "version" in row else None,
        )
        for name, row in toml_file(__package__ or "analyzers.components", "programs.toml").items()
    }


def program_names() -> frozenset[str]:
    """Every program that a step may be for."""
    return frozenset(_rows())


def of_table(table: str) -> str | None:
    """The engine that alone gives rows of an evidence table."""
    return next((name for name, row in _rows().items() if table in row.tables), None)


def of_role(role: str | None) -> str | None:
    """The engine of a log's role; None for roles that stand beside engines, or are taken from words that several print."""
    return next((name for name, row in _rows().items() if role in row.roles), None)


@lru_cache(maxsize=1 << 14)
def signs_in(text: str) -> tuple[str, ...]:
    """The programs of which a line has a sign."""
    return tuple(name for name, row in _rows().items() if row.signs is not None and row.signs.search(text))


@lru_cache(maxsize=1 << 12)
def version_in(name: str, text: str) -> str | None:
    """The version of a program that a line names."""
    pattern = _rows()[name].version
    found = pattern.search(text) if pattern is not None else None
    return found[1] if found else None


def program_of(shown: Mapping[str, int], versions: Mapping[str, str] | None = None) -> Program:
    """The program that shows `shown`: how many lines have a sign of each. Of engines and of clients the one that shows most counts."""
    rows = _rows()
    names = {name for name in shown if rows[name].kind == "with"}
    engine = _most(shown, "engine")
    client = next((own for name in (engine, *sorted(names)) if name and (own := rows[name].client)), None) or _most(shown, "client")
    names |= {each for name in (engine, client) if name for each in own_names(name)}
    return Program(frozenset(names), {name: version for name, version in (versions or {}).items() if name in names})


def _most(shown: Mapping[str, int], kind: str) -> str | None:
    own = Counter({name: count for name, count in shown.items() if _rows()[name].kind == kind})
    return own.most_common(1)[0][0] if own else None


def together(programs: Iterable[Program]) -> Program:
    """What several programs are, as far as they agree: one engine, one client, and what stands beside any of them."""
    known = [each for each in programs if each]
    by_kind: dict[str, set[str]] = {}
    for name in (name for each in known for name in each.names):
        by_kind.setdefault(_rows()[name].kind, set()).add(name)
    names = {name for kind, own in by_kind.items() if kind == "with" or len(own) == 1 for name in own}
    return Program(frozenset(names), {name: version for each in known for name, version in each.versions.items() if name in names})


def own_names(name: str) -> frozenset[str]:
    """A program with the client, and the virtual machine, that it brings."""
    client = _rows()[name].client
    return frozenset({name, *({client} if client else ()), *({"jvm"} if "java" in (name, client) else ())})


def running(engines: Iterable[str], shown: Program = UNKNOWN) -> Program:
    """The program with these names, and with what was `shown` beside its engine and client."""
    others = {name for name in shown.names if _rows()[name].kind == "with"}
    return Program(frozenset(others).union(*map(own_names, engines)), shown.versions)
