"""The file of findings that are known and left out: ``.diagignore``, in the working directory or named by ``--ignore-file``.

A table of TOML for each::

    [[ignore]]
    code = "BRK201"
    subject = "orders*"       # as in --ignore BRK201=orders*; without it the rule is not judged
    reason = "broker 5 is replaced, OPS-1204"
    owner = "kafka-team"      # may be left out
    expires = 2026-12-01      # the last day on which it holds; may be left out
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

from cli.options.shared import CodeFilter, known_code
from cli.shell.exits import UsageError

NAME = ".diagignore"
_KEYS = ("code", "subject", "reason", "owner", "expires")
_NEEDED = ("code", "reason")
_FORM = "Each entry is a table [[ignore]] with code and reason, and if you like subject, owner, expires = 2026-12-01."


def is_here() -> bool:
    """Whether the working directory has one; a link that leads nowhere is one, and is said to be broken."""
    return os.path.lexists(NAME)


def ignored(named: Path | None, known: Sequence[str], today: date | None = None) -> tuple[list[CodeFilter], list[CodeFilter]]:
    """The entries of the file `named`, of ``.diagignore`` in the working directory where None is, and those of it that have expired.

    `known`: the codes that there are; `today` is the day in UTC. Raises `UsageError` for a file that is none:
    what is meant to be left out and is not is as wrong as the other way round.
    """
    place = Path(NAME) if named is None else named
    if named is None and not is_here():
        return [], []
    entries = [_entry(said, f"entry {number} of {place}", str(place), known) for number, said in enumerate(_read(place), 1)]
    today = today or datetime.now(timezone.utc).date()
    expired = [each for each in entries if each.expires is not None and each.expires < today]
    return [each for each in entries if each not in expired], expired


def _read(place: Path) -> list[Any]:
    from analyzers.bundle.small_files import small_file
    from analyzers.components.toml_files import parsed

    try:
        said = parsed(small_file(place).decode("utf-8"))
    except OSError as error:
        raise UsageError(
            f"{place} cannot be read: {error.strerror or error}", "Name another with --ignore-file, or --no-ignore-file."
        ) from error
    except (ValueError, RecursionError) as error:  # of TOML, or of UTF-8
        raise UsageError(f"{place} is no TOML: {error}", _FORM) from error
    entries = said.get("ignore", [])
    if wrong := sorted(set(said) - {"ignore"}):
        raise UsageError(f"{place}: {wrong[0]!r} is not known there", _FORM)
    if not isinstance(entries, list):
        raise UsageError(f"{place}: ignore is no list of tables", _FORM)
    return entries


def _entry(said: Any, called: str, by: str, known: Sequence[str]) -> CodeFilter:
    if not isinstance(said, Mapping):
        raise UsageError(f"{called} is no table", _FORM)
    if wrong := sorted(set(said) - set(_KEYS)):
        raise UsageError(f"{called}: {wrong[0]!r} is not known there", _FORM)
    if missing := [key for key in _NEEDED if not said.get(key)]:
        raise UsageError(f"{called} has no {missing[0]}", _FORM)
    for key in _KEYS[:-1]:
        if not isinstance(said.get(key, ""), str):
            raise UsageError(f"{called}: {key} is no text", _FORM)
    try:
        code = known_code(said["code"], known)
    except UsageError as error:
        raise UsageError(f"{called}: {error.message}", error.hint) from error
    expires = _date(said.get("expires"), called)
    return CodeFilter(code, said.get("subject"), by=by, reason=said["reason"], owner=said.get("owner"), expires=expires)


def _date(said: Any, called: str) -> date | None:
    if said is None or type(said) is date:
        return said
    if isinstance(said, datetime):
        return said.date()
    try:
        return date.fromisoformat(said)
    except (TypeError, ValueError):
        raise UsageError(f"{called}: expires {said!r} is no date", "Write it as expires = 2026-12-01.") from None
