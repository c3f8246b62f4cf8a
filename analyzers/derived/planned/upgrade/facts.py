"""What is documented of Flink's releases: their options, and what an upgrade to them removes (``flink.toml``, ``flink_options.txt``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Any

from analyzers.components.toml_files import toml_file
from analyzers.derived.planned.restore.case import version_of

Release = tuple[int, int]


@dataclass(frozen=True)
class Option:
    """A key that releases since `since` read; `proper` is its new name where it is an old one."""

    since: Release
    proper: str | None = None


@dataclass(frozen=True)
class Entry:
    """One fact that holds since the release `since`: what of it is looked for, and what to do in its place."""

    since: Release
    source: str
    instead: str
    name: str = ""
    keys: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    no_effect: bool = False
    default: str | None = None
    unless: tuple[str, ...] = ()
    shown: re.Pattern[str] | None = None

    def has(self, key: str) -> bool:
        """Whether it is about `key`; a star stands for one part of it."""
        return any(each.count(".") == key.count(".") and fnmatchcase(key, each) for each in self.keys)


@dataclass(frozen=True)
class Connector:
    """A connector of a repository of its own: its `known` versions for Flink 2.x, and where jobs of the lab ran with one."""

    name: str
    source: str
    stands_on: bool
    known: tuple[str, ...]
    played: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """All of ``flink.toml``, and the options of ``flink_options.txt`` by key."""

    releases: tuple[Release, ...]
    oldest: Release
    sources: Mapping[str, str]
    options: Mapping[str, Option]
    removed: tuple[Entry, ...]
    values: tuple[Entry, ...]
    classes: tuple[Entry, ...]
    families: tuple[str, ...]
    connectors: Mapping[str, Connector]
    of_flink: tuple[str, ...]
    java: Mapping[str, Any]
    kafka: Mapping[str, Any]
    file: Mapping[str, Any]

    def removed_for(self, key: str, target: Release) -> Entry | None:
        """The entry of an option that `target` does not read any more."""
        return next((entry for entry in self.removed if entry.since <= target and entry.has(key)), None)

    def option(self, key: str, target: Release) -> Option | None:
        """What `target` reads under `key`."""
        found = self.options.get(key)
        return found if found is not None and found.since <= target else None

    def of_family(self, key: str) -> bool:
        """Whether `key` has a part that is the user's own, or is the operator's or Flink's own business."""
        return key.startswith(self.families)


def release(said: str) -> Release:
    """Major and minor of what the data say; raises ``ValueError``."""
    found = version_of(said)
    if found is None:
        raise ValueError(f"{said} is no release")
    return found


def spoken(which: Release) -> str:
    return f"{which[0]}.{which[1]}"


@cache
def facts() -> Facts:
    """What lies beside this module."""
    told = toml_file(__package__, "flink.toml")
    releases = tuple(release(each) for each in told["releases"])
    connectors = [
        Connector(each["name"], each["source"], each["stands_on"], tuple(each["known"]), each.get("played", {}))
        for each in told["connector"]
    ]
    return Facts(
        releases=releases,
        oldest=release(told["oldest"]),
        sources=told["sources"],
        options=_options(releases[0]),
        removed=_entries(told["removed"]),
        values=_entries(told["value"]),
        classes=_entries(told["class"]),
        families=tuple(told["families"]["prefixes"]),
        connectors={each.name: each for each in connectors},
        of_flink=tuple(told["connectors"]["of_flink"]),
        java=told["java"],
        kafka=told["kafka"],
        file=told["file"],
    )


def _entries(rows: Sequence[Mapping[str, Any]]) -> tuple[Entry, ...]:
    return tuple(
        Entry(
            since=release(row["in"]),
            source=row["source"],
            instead=row["instead"],
            name=row.get("name", ""),
            keys=tuple(row.get("keys", ())),
            values=tuple(row.get("values", ())),
            no_effect=row.get("no_effect", False),
            default=row.get("default"),
            unless=tuple(row.get("unless", ())),
            shown=re.compile(row["shown"]) if "shown" in row else None,
        )
        for row in rows
    )


def _options(first: Release) -> dict[str, Option]:
    found: dict[str, Option] = {}
    for line in resources.files(__package__).joinpath("flink_options.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        prefix, *words = line.split()
        for word in words:
            names, _, since = word.partition("+")
            name, _, proper = names.partition(">")
            key = ("" if prefix == "-" else prefix) + name
            found[key] = Option(release(since) if since else first, proper + name if proper.endswith(".") else proper or None)
    return found
