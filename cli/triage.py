"""Triage: logs, or a bundle, to a report. The data's way in one place: plan while the JVM boots, scan, save, judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from analyzers.finding import NotChecked
from analyzers.readers.log_scan import LogOptions
from analyzers.report import Report, Source
from analyzers.rule import load_rules
from cli.evidence import Evidence, Interrupted, chosen, from_bundle, judged, save, scanned
from cli.exits import UsageError
from cli.options import RunOptions

if TYPE_CHECKING:
    from cli.spark import Engine


def run(
    paths: Sequence[str],
    options: RunOptions,
    *,
    version: str,
    engine: Engine | None = None,
    stdin: bytes | None = None,
    progress: Callable[[str], None] = lambda said: None,
) -> Report:
    """Read `paths` (or the bundle of `options`), write the bundle where asked, judge.

    Starts an engine of its own unless one is given. Raises CannotLook when nothing could be read, UsageError when nothing was named.
    """
    if bool(paths) == (options.bundle is not None):
        raise UsageError("name either what to read or a bundle", "Give log files or directories (- is standard input), or --bundle PATH.")
    if options.facts_only:
        found = _evidence(paths, options, None, stdin, progress)
        save(options, found, version)
        return _facts(found, version)
    if engine is None:
        from cli.spark import Engine

        with Engine.start(options.spark_master) as own:  # with: a failed job is told before the JVM has gone
            return run(paths, options, version=version, engine=own, stdin=stdin, progress=progress)
    found = _evidence(paths, options, engine, stdin, progress)
    save(options, found, version, progress)
    try:
        return judged(found, options, engine, command="triage", version=version)
    except BaseException as stop:
        if not isinstance(stop, Exception):  # Ctrl-C, SIGTERM: what was read so far is not lost
            raise Interrupted(_facts(found, version, "log_files"), stop) from stop
        raise


def _evidence(
    paths: Sequence[str], options: RunOptions, engine: Engine | None, stdin: bytes | None, progress: Callable[[str], None]
) -> Evidence:
    if options.bundle:
        return from_bundle(options, engine, progress)
    return scanned(list(paths), LogOptions(log_timezone=options.log_timezone, stdin=stdin), engine, progress)


def _facts(found: Evidence, version: str, *names: str) -> Report:
    """The collected tables without any judgement."""
    times = [f["last_at"] for f in found.tables.get("log_files", ()) if f["last_at"]]
    begins = [f["first_at"] for f in found.tables.get("log_files", ()) if f["first_at"]]
    as_of = max(times, default=None)
    return Report(
        tool="diag",
        version=version,
        command="triage",
        as_of=as_of,
        window=(min(begins, default=None), as_of),
        sources=[Source(s["name"], s["kind"], s["state"], s["why"]) for s in found.tables.get("sources", ())],
        facts=chosen(found.tables, names or ("log_files", "log_counts", "log_events")),
        not_checked=[NotChecked(r.code, "no rule was run") for r in load_rules()],
        notes=found.notes,
    )
