"""Few jobs, read, derived and concluded by one process beside this one while Spark starts.

Spark's own way costs two jobs of Spark, and a daemon and workers of Python that begin only once the JVM is up: 3 s for one job that is
read in one. The rules still run on Spark. A file that ends the process costs what it costs there: `Ended`, and the jobs are read again.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

from analyzers.bundle import own_process

if TYPE_CHECKING:
    from analyzers.fleet.places import Place
    from analyzers.fleet.reading import Gather, Item
    from analyzers.fleet.scopes import Choice
    from analyzers.report.finding import Defect, Finding
    from analyzers.report.report import Report

MOST_JOBS = 24
MOST_BYTES = 12 << 20
"""On two cores 12 jobs took 0.77 of the time that Spark's workers need from their start, 24 of 12 MB took 0.88; one took 0.67."""

Shown = TypeVar("Shown")


class Ended(Exception):
    """The process ended before it had answered; the message says how."""


@dataclass(frozen=True)
class Work(Generic[Shown]):
    """What a `Beside` does: reads `items` by `gather`, derives for `choice`, and concludes with `show`; all can be pickled."""

    items: Sequence[Item]
    gather: Gather
    choice: Choice
    show: Callable[[str, Report], Shown]
    command: str
    version: str


def are_few(places: Sequence[Place]) -> bool:
    """Whether one process reads `places` before Spark has started."""
    return len(places) <= MOST_JOBS and sum(place.size for place in places) <= MOST_BYTES


class Beside(Generic[Shown]):
    """The process that does `work`; it begins at once. Ended by `close`."""

    def __init__(self, work: Work[Shown]) -> None:
        self._process = subprocess.Popen(
            own_process.command("analyzers.fleet.beside"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=own_process.environment(),
        )
        self._say(work)

    def derived(self) -> list[dict[str, Any]]:
        """The rows of `scopes.DERIVED` of all items. Raises `Ended`."""
        rows: list[dict[str, Any]] = self._answer()
        return rows

    def concluded(self, said: Mapping[str, Mapping[str, list[Finding] | Defect]], gone: str | None) -> list[Shown]:
        """What is shown of each scope, of which rules `said` this, by scope and `scopes.variant`. Raises `Ended`."""
        self._say((said, gone))
        shown: list[Shown] = self._answer()
        return shown

    def close(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:  # what was not written yet
                    continue
        self._process.wait()

    def _say(self, what: object) -> None:
        assert self._process.stdin is not None
        try:
            pickle.dump(what, self._process.stdin)
            self._process.stdin.flush()
        except BrokenPipeError:  # the answer says why
            return

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        try:
            return pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError):
            code = self._process.wait()
            raise Ended(signal.Signals(-code).name if code < 0 else f"exit code {code}") from None


def main() -> None:
    """The other end: work comes on standard input, answers go to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of Ctrl-C whoever started it hears, and ends it
    told, out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    work: Work[Any] = pickle.load(told)
    _serve(work, told, out)


def _serve(work: Work[Any], told: IO[bytes], out: IO[bytes]) -> None:
    from analyzers.fleet.scopes import read_and_derived

    rows = [row for item in work.items for batch in read_and_derived(item, work.gather, work.choice) for row in batch.to_pylist()]
    pickle.dump(rows, out)
    out.flush()
    try:
        said, gone = pickle.load(told)
    except EOFError:  # nothing is to be concluded
        return
    pickle.dump(list(_concluded(work, rows, said, gone)), out)
    out.flush()


def _concluded(work: Work[Any], rows: Sequence[Mapping[str, Any]], said: Mapping[str, Any], gone: str | None) -> Iterator[Any]:
    from analyzers.fleet.scopes import report_of

    for row in rows:
        if not row["name"]:
            scope = row["scope"]
            report = report_of(scope, row["payload"], said[scope], gone, work.command, work.version, work.choice)
            yield work.show(scope, report)
