"""Triage: logs, or a bundle, to a report. The data's way in one place: plan while the JVM boots, scan, save, judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzers.judge import judge
from cli.exits import CannotLook, UsageError
from cli.options import RunOptions

if TYPE_CHECKING:
    from analyzers.report import Report
    from analyzers.tables import Row
    from cli.spark import Engine


def run(
    paths: Sequence[str],
    options: RunOptions,
    *,
    version: str,
    engine: Engine | None = None,
    progress: Callable[[str], None] = lambda said: None,
) -> Report:
    """Read `paths` (or the bundle of `options`), write the bundle where asked, judge.

    Starts an engine of its own unless one is given. Raises CannotLook when nothing could be read, UsageError when nothing was named.
    """
    if not paths and options.bundle is None:
        raise UsageError("nothing to look at", "Name a log file or directory, - for standard input, or --bundle PATH.")
    own = engine is None
    if engine is None:
        from cli.spark import Engine

        engine = Engine.start(options.spark_master)
    try:
        tables, notes, absent = _evidence(paths, options, engine, progress)
        engine.prepare_session()
        if options.save is not None:
            _save(options, tables, version)
            progress(f"evidence saved to {options.save}")
        return judge(
            tables,
            engine.session,
            command="triage",
            version=version,
            runs=options.runs,
            keeps=options.keeps,
            since=options.since,
            until=options.until,
            thresholds=options.thresholds,
            absent=absent,
            notes=notes,
        )
    finally:
        if own:
            engine.stop()
