"""The recorded incidents that come with diag, for `diag demo`.

The data's way: a row of ``incidents.toml`` and the directory of its name → `Incident` → `diag triage` of that directory, as of any other.
Each directory is a link to ``raw`` of a recording in ``fixtures/incidents``, whole; a wheel has the files themselves.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from analyzers.components.toml_files import toml_file
from cli.shell.exits import CannotLook, UsageError


@dataclass(frozen=True)
class Incident:
    """A recording: `title` is what happened, in a line; `look` is what to see in its report, three lines; `path` is a directory of logs."""

    name: str
    title: str
    look: tuple[str, ...]

    @property
    def path(self) -> Path:
        return Path(__file__).parent / self.name


def incidents() -> tuple[Incident, ...]:
    """All of them, the README's first."""
    return tuple(Incident(name, row["title"], tuple(row["look"])) for name, row in toml_file("cli.incidents", "incidents.toml").items())


def incident(name: str) -> Incident:
    """The one called `name`. Raises `UsageError` where none is, `CannotLook` where its files did not come with this installation."""
    known = {each.name: each for each in incidents()}
    if name not in known:
        near = [each for each in known if name and each.startswith(name)][:1] or difflib.get_close_matches(name, known, 1)
        hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(known)}."
        raise UsageError(f"no recorded incident is called {name}", hint)
    found = known[name]
    if not found.path.is_dir():
        raise CannotLook(f"the recording of {name} is not in {found.path}", "Install diag again: its packages have the recordings.")
    return found
