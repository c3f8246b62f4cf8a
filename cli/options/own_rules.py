"""``--rules``: the files of rules of a user's own (`analyzers/own_rules/`), read and checked before anything is started."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.shell.exits import UsageError

if TYPE_CHECKING:
    from analyzers.own_rules.language import Fault, OwnRules

Rules = Annotated[
    list[Path] | None,
    typer.Option(
        "--rules",
        metavar="FILE|DIR",
        envvar="DIAG_RULES",
        help="Rules of your own (TOML; of a directory each *.toml), judged beside diag's; repeatable. `diag rules check FILE` tries them.",
    ),
]
_MOST_FILES = 100
_MOST_SHOWN = 10


def own_rules(named: Iterable[Path] | None) -> OwnRules | None:
    """The rules in the files and directories `named`; None where none are. Raises `UsageError` with what is wrong, file by file."""
    if not (named := list(named or ())):
        return None
    from analyzers.own_rules.language import OwnRule, read, together

    rules: list[OwnRule] = []
    faults: list[Fault] = []
    for place in dict.fromkeys(file for each in named for file in _files(each)):
        found, wrong = read(_text(place), str(place))
        rules += found
        faults += wrong
    own, clashes = together(rules)
    if faults or clashes:
        raise _refused([*faults, *clashes])
    return own


def _files(place: Path) -> list[Path]:
    try:
        if not place.is_dir():
            return [place]
        found = sorted(place / name for name in os.listdir(place) if name.endswith(".toml"))
    except (OSError, ValueError) as error:
        raise _unreadable(place, error) from error
    if not found:
        raise UsageError(f"--rules {place}: no file there ends in .toml", "Name the file, or the directory that holds it.")
    if len(found) > _MOST_FILES:
        raise UsageError(f"--rules {place}: {len(found):,} files end in .toml, and {_MOST_FILES} are allowed", "Name some of them.")
    return found


def _text(place: Path) -> str:
    from analyzers.bundle.small_files import small_file

    try:
        return small_file(place).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"--rules {place} is no text: byte {error.start:,} is not UTF-8", "Save it as UTF-8.") from error
    except (OSError, ValueError) as error:
        raise _unreadable(place, error) from error


def _unreadable(place: Path, error: Exception) -> UsageError:
    why = getattr(error, "strerror", None) or error
    return UsageError(f"--rules {place} cannot be read: {why}", "Look at its name and its permissions.")


def _refused(faults: Sequence[Fault]) -> UsageError:
    first, *others = faults
    more = [f"{fault}. {fault.hint}" for fault in others[:_MOST_SHOWN]]
    if len(others) > _MOST_SHOWN:
        more.append(f"and {len(others) - _MOST_SHOWN:,} more")
    return UsageError(str(first), "\n        ".join([first.hint, *more]))
