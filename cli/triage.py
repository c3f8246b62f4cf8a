"""Triage: logs, or a bundle, to a report. The data's way in one place: plan while the JVM boots, scan, save, judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.bundle.errors import BundleError, BundleNotFound
from analyzers.bundle.read import read_bundle
from analyzers.bundle.write import write_bundle
from analyzers.finding import NotChecked
from analyzers.judge import judge
from analyzers.readers.log_scan import LogOptions, Plan, plan, scan
from analyzers.report import Report, Source
from analyzers.rule import load_rules
from analyzers.tables import TABLES, Row
from cli.exits import CannotLook, UsageError
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
        if options.save is not None:
            _save(options, options.save, found, version)
        return _facts(found, version)
    if engine is None:
        from cli.spark import Engine

        with Engine.start(options.spark_master) as own:  # with: a failed job is told before the JVM has gone
            return run(paths, options, version=version, engine=own, stdin=stdin, progress=progress)
    found = _evidence(paths, options, engine, stdin, progress)
    if options.save is not None:
        _save(options, options.save, found, version)
        progress(f"evidence written to {options.save}")
    try:
        return _report(found, options, engine, version)
    except BaseException as stop:
        if not isinstance(stop, Exception):  # Ctrl-C, SIGTERM: what was read so far is not lost
            raise Interrupted(_facts(found, version, "log_files"), stop) from stop
        raise


class Interrupted(BaseException):
    """The run was stopped from outside after the evidence had been read; `report` is what is known by then."""

    def __init__(self, report: Report, stop: BaseException) -> None:
        super().__init__(str(stop))
        self.report = report
        self.stop = stop


@dataclass
class _Found:
    """Evidence, and what has to be said about how it was found."""

    tables: dict[str, list[Row]]
    notes: list[str]
    absent: dict[str, str]


def _evidence(
    paths: Sequence[str], options: RunOptions, engine: Engine | None, stdin: bytes | None, progress: Callable[[str], None]
) -> _Found:
    return _from_bundle(options, engine, progress) if options.bundle else _from_logs(paths, options, engine, stdin, progress)


def _facts(found: _Found, version: str, *names: str) -> Report:
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
        facts={name: rows for name, rows in found.tables.items() if name in (names or ("log_files", "log_counts", "log_events"))},
        not_checked=[NotChecked(r.code, "no rule was run") for r in load_rules()],
        notes=found.notes,
    )


def _from_logs(
    paths: Sequence[str], options: RunOptions, engine: Engine | None, stdin: bytes | None, progress: Callable[[str], None]
) -> _Found:
    read = LogOptions(log_timezone=options.log_timezone, stdin=stdin)
    return _scanned(list(paths), read, engine, progress)


def _from_bundle(options: RunOptions, engine: Engine | None, progress: Callable[[str], None]) -> _Found:
    assert options.bundle is not None
    try:
        bundle = read_bundle(options.bundle)
    except BundleNotFound as error:
        raise UsageError(error.message, error.hint) from error
    except BundleError as error:
        raise CannotLook(error.message, error.hint) from error
    tables = dict(bundle.tables)
    notes = list(bundle.notes)
    if bundle.raw_dir is not None and "log_events" not in tables:
        read = LogOptions(log_timezone=options.log_timezone, relative_to=str(bundle.raw_dir))
        raw = _scanned([str(bundle.raw_dir)], read, engine, progress)
        tables = {**raw.tables, **tables}
        notes.extend(raw.notes)
    absent = {name: why for name in TABLES if (why := bundle.because(name))}
    return _Found(tables, notes, absent)


def _scanned(paths: list[str], read: LogOptions, engine: Engine | None, progress: Callable[[str], None]) -> _Found:
    try:
        made = plan(paths, read)
    except ValueError as error:
        raise UsageError(f"--log-timezone: {error}", "Name a zone as Europe/Berlin, or an offset as +02:00.") from error
    try:
        if not made.files:
            raise CannotLook(*_nothing(paths, made))
        size = sum(f.size for f in made.files)
        progress(
            f"{len(made.files)} log file{'s' * (len(made.files) != 1)}, {size / 1e6:,.1f} MB"
            + ("" if engine is None else "; starting Spark")
        )
        context = None if engine is None else engine.context()
        if engine is not None:
            engine.prepare_session()
        tables = scan(made, context)
    finally:
        made.close()
    progress(f"{len(tables['log_events']):,} events of interest; judging")
    notes = list(made.notes)
    if made.passed_over:
        notes.append(f"{made.passed_over} file{'s' * (made.passed_over != 1)} passed over: no logs")
    return _Found(tables, notes, {})


def _nothing(paths: Sequence[str], made: Plan) -> tuple[str, str]:
    """Why there is nothing to judge, and what to try."""
    named = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    troubles = "; ".join(f"{s['name']}: {s['why']}" for s in made.sources[:3])
    if troubles:
        return f"nothing could be read of {named}: {troubles}.", "Check the path and its permissions."
    passed = f" ({made.passed_over} files passed over: not logs)" if made.passed_over else ""
    return (
        f"there is no log in {named}{passed}.",
        "Name the directory that holds the JobManager and TaskManager (driver, executor, broker) logs.",
    )


def _save(options: RunOptions, path: Path, found: _Found, version: str) -> None:
    try:
        write_bundle(path, found.tables, version=version, redact=options.redact, key_file=options.redaction_key)
    except BundleNotFound as error:
        raise UsageError(error.message, error.hint) from error
    except BundleError as error:
        raise CannotLook(error.message, error.hint) from error


def _report(found: _Found, options: RunOptions, engine: Engine, version: str) -> Report:
    return judge(
        found.tables,
        engine.session,
        command="triage",
        version=version,
        runs=options.runs,
        keeps=options.keeps,
        since=options.since,
        until=options.until,
        thresholds=options.thresholds,
        absent=found.absent,
        notes=found.notes,
    )
