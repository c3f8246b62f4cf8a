"""Answers that are read like saved files: in a private temporary directory, which is gone when the run ends, however it ends.

The way of the data: a worker of Connect, or kubectl, answers → a file below the directory → read with the logs under its own name →
tables, which a bundle keeps. What was asked and failed is a row of ``sources``.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from analyzers.tables import SOURCES, Row
from analyzers.tables.evidence import Evidence
from cli.collectors.collector import Collector
from cli.shell.exits import CannotLook
from cli.shell.signals import postponed


@dataclass
class Beside:
    """Files to be read beside those that were named: `names` are what they are called, by their paths; `sources` how it went to ask."""

    directory: Path
    names: dict[str, str] = field(default_factory=dict)
    sources: list[Row] = field(default_factory=list)
    stop: BaseException | None = None
    """What ended the asking (Ctrl-C, SIGTERM): what was answered by then is judged, and nothing else is asked."""

    @property
    def paths(self) -> list[str]:
        """The directory, where there is anything in it: of files that are named one by one it would be said that they are no log."""
        return [str(self.directory)] if self.names else []

    @property
    def collectors(self) -> list[Collector]:
        """What gives the rows of ``sources``, one per source."""
        return [Collector(str(row["name"]), str(row["kind"]), self._giving(row)) for row in self.sources]

    def evidence(self) -> Evidence:
        """How it went, by itself."""
        return Evidence({"sources": self.sources}, stop=self.stop)

    def _giving(self, row: Row) -> Callable[[], Evidence]:
        return lambda: Evidence({"sources": [row]}, stop=self.stop)

    def add(self, name: str, content: bytes) -> None:
        """A file that is called `name`. Raises `CannotLook` where it cannot be written."""
        path = self._place(name)
        try:
            path.write_bytes(content)
        except OSError as error:
            raise _unwritable(error, self.directory) from error
        self.names[str(path)] = name

    def take(self, name: str, path: Path) -> None:
        """`path`, a file of this directory, under the name `name`."""
        place = self._place(name)
        path.rename(place)
        self.names[str(place)] = name

    def _place(self, name: str) -> Path:
        return self.directory / f"{len(self.names):04d}-{re.sub(r'[^A-Za-z0-9._-]', '_', name)[-80:]}"

    def failed(self, name: str, kind: str, why: str) -> None:
        """Remember that `name` could not be asked."""
        self.sources.append(SOURCES.row({"scope": "", "name": name, "kind": kind, "state": "failed", "why": why}))


def _unwritable(error: OSError, directory: Path | None) -> CannotLook:
    where = f"what was answered cannot be written to {directory}" if directory else "no temporary directory can be made"
    return CannotLook(f"{where}: {error.strerror or error}.", "Free some space, or name another place: TMPDIR=DIRECTORY.")


@contextmanager
def beside() -> Iterator[Beside]:
    """An empty private directory (mode 0700), removed at the end; Ctrl-C waits for that."""
    try:
        directory = Path(tempfile.mkdtemp(prefix="diag-answers-"))
    except OSError as error:
        raise _unwritable(error, None) from error
    try:
        yield Beside(directory)
    finally:
        with postponed():
            shutil.rmtree(directory, ignore_errors=True)
