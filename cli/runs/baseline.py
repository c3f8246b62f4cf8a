"""The earlier look that a run is compared with (``--baseline``): a saved report is read before any work, a bundle is judged after it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from analyzers.comparison.baseline import beside
from analyzers.comparison.sides import NotComparable, Side
from analyzers.report.baseline import Baseline
from analyzers.report.durations import counted
from analyzers.report.without_secrets import without_secrets
from cli.options.shared import RunOptions
from cli.renderers.json import document
from cli.runs.evidence import Progress
from cli.runs.looks import chosen, look, saved_report
from cli.shell.exits import CannotLook, DiagError

if TYPE_CHECKING:
    from analyzers.report.report import Report
    from analyzers.tables.evidence import Evidence
    from cli.engine.spark import Engine

_HIDDEN = "the baseline"
"""What it is called in a report without names."""


@dataclass(frozen=True)
class Earlier:
    """Where the earlier look is; `side` is None of what is still to be judged."""

    place: str
    side: Side | None = None

    def beside(
        self, report: Report, found: Evidence, options: RunOptions, engine: Engine, *, key: str | None, version: str, progress: Progress
    ) -> Report:
        """`report` of `found`, marked by what became of its findings. `key`: the id of the key whose tokens stand for names in `found`.

        Where both cannot be compared the report says so, and is else what it was.
        """
        name = _HIDDEN if options.hide else self.place
        shown = without_secrets(report)
        after = Side(name, document(shown), found.tables, key)
        try:
            before = self.side or look(self.place, options, engine, version=version, progress=progress)
        except (DiagError, NotComparable) as error:
            return replace(report, baseline=Baseline(name, failed="it could not be read." if options.hide else error.message))
        if options.hide and before.key is None and not before.tokens:
            why = "it has names, and --redact hides those of this run: nothing is compared."
            return replace(report, baseline=Baseline(name, failed=why))
        before, left = chosen(replace(before, name=name), options.keeps)
        said = [f"{counted(len(left), 'finding')} of the baseline left out ({', '.join(sorted(set(left)))})"] if left else []
        return beside(report, shown, before, after, said)


def earlier(place: str) -> Earlier:
    """The earlier look at `place`, as far as it is known without judging it. Raises `CannotLook` for a report that cannot be used."""
    try:
        return Earlier(place, saved_report(place))
    except NotComparable as error:
        raise CannotLook(f"--baseline: {error.message}.", error.hint) from error
