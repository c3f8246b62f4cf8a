"""Triage: all that there is about a job, or a bundle, to a report: ask and plan while the JVM boots, scan, save, judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import IO, TYPE_CHECKING

from analyzers.diagnosis.looked_at import counts_of, looked_at
from analyzers.diagnosis.window import nothing_within
from analyzers.report.report import Report
from analyzers.rules.catalogue import rule_codes
from analyzers.tables.evidence import Evidence
from cli.collectors.collector import Collector
from cli.options.shared import RunOptions, resolve
from cli.runs.evidence import NOT_ASKED, Interrupted, UnreadCrowd, as_it_is, hiding, judged, none_judged, reported, save, unsaved
from cli.runs.gathering import gathered
from cli.shell.exits import CannotLook, UsageError

if TYPE_CHECKING:
    from cli.engine.spark import Engine
    from cli.runs.baseline import Earlier


def run(
    paths: Sequence[str],
    options: RunOptions,
    *,
    version: str,
    engine: Engine | None = None,
    stdin: IO[bytes] | None = None,
    collectors: Sequence[Collector] = (),
    names: Mapping[str, str] | None = None,
    baseline: Earlier | None = None,
    progress: Callable[[str], None] = lambda said: None,
    meanwhile: Callable[[], None] = lambda: None,
) -> Report:
    """Read `paths` and ask `collectors` (or read the bundle of `options`), write the bundle where asked, judge.

    `names`: what files are called, by their paths, where that is not the path.
    Starts an engine of its own unless one is given; `meanwhile` is done before that is waited for. Raises CannotLook when nothing could be
    read, UsageError when nothing was named.
    """
    if bool(paths or collectors) == (options.bundle is not None):
        raise UsageError(
            "name either what to read or a bundle",
            "Give log files or directories (- is standard input), --flink-rest, --connect-rest or --bootstrap-server; or --bundle PATH.",
        )
    if options.facts_only:
        found = _read(paths, options, None, stdin, collectors, progress, version, names=names)
        save(options, found, version)
        found = reported(options, found)
        if found.stop is not None:
            raise Interrupted(_facts(found, version), found.stop)
        return _facts(found, version)
    if engine is None:
        from cli.runs import ahead

        try:
            own = ahead.engine(options)
        except CannotLook as error:  # what was read is told all the same
            found = _read(paths, options, None, stdin, collectors, progress, version, names=names)
            save(options, found, version)
            return _unjudged(reported(options, found), error, options, version)
        with own:  # with: a failed job is told before the JVM has gone
            return run(
                paths, options, version=version, engine=own, stdin=stdin, collectors=collectors, names=names, baseline=baseline,
                progress=progress, meanwhile=meanwhile,
            )  # fmt: skip
    engine.prepare_session()
    found = _read(paths, options, engine, stdin, collectors, progress, version, whole=baseline is not None, names=names)
    if isinstance(found, UnreadCrowd):
        return _judged_apart(found, options, engine, version, progress)
    key = found.redaction.get("key")  # of the bundle that was read; a bundle that is saved has one of its own
    full = unsaved(options, found, version, progress)
    found = reported(options, found)
    key = found.redaction.get("key") if options.hide else key
    _look_through_window(options, found)
    meanwhile()
    try:
        try:
            report = judged(found, options, engine, command="triage", version=version)
        except CannotLook as error:  # Spark did not start
            report = _unjudged(found, error, options, version)
        if baseline is not None:
            report = baseline.beside(report, found, options, engine, key=key, version=version, progress=progress)
        if any(source.kind == "spark" for source in report.sources):  # it ended before all had judged
            report.facts = _facts(found, version, "log_files").facts
        if full is not None:
            raise Interrupted(report, full)
        return report
    except BaseException as stop:
        if isinstance(stop, Interrupted) or found.stop is not None:  # judged what was read; or stopped once more
            raise
        if not isinstance(stop, Exception):  # Ctrl-C, SIGTERM: what was read so far is not lost
            found.notes.append("stopped before the rules had judged: nothing here says that a job is well")
            raise Interrupted(_facts(found, version, "log_files"), stop) from stop
        raise


def _read(
    paths: Sequence[str],
    options: RunOptions,
    engine: Engine | None,
    stdin: IO[bytes] | None,
    collectors: Sequence[Collector],
    progress: Callable[[str], None],
    version: str,
    *,
    whole: bool = False,
    names: Mapping[str, str] | None = None,
) -> Evidence:
    """`gathered`; `whole`: logs of very many clusters, too, are read at once. Stopped before anything had been read, it raises
    `Interrupted` with a report that says so."""
    try:
        crowds = whole or engine is None or bool(collectors) or _takes_all_tables(options)
        return gathered(paths, options, engine, stdin, collectors, progress, crowds=crowds, names=names)
    except BaseException as stop:
        if isinstance(stop, Exception):
            raise
        raise Interrupted(_facts(Evidence({}, [NOT_ASKED]), version), stop) from stop


def _takes_all_tables(options: RunOptions) -> bool:
    """Whether logs must be read before they are judged: something is asked that takes the tables of all of them."""
    subjects = [each.subject for each in (*options.only, *options.ignore) if each.subject is not None]
    return bool(options.save or options.hide or options.since or options.until or options.thresholds or subjects)


def unread(error: CannotLook, paths: Sequence[str], options: RunOptions, version: str) -> Report:
    """The report of a run that could read nothing: what was named and why it told nothing, and no rule that judged."""
    named = [(str(options.bundle), "bundle")] if options.bundle is not None else [(path, "logs") for path in paths]
    hide = hiding(options)
    if hide is not None:
        error = CannotLook(*hide.texts([error.message, error.hint]))
        named = [(hide.texts([name])[0], kind) for name, kind in named]
    return none_judged(_facts(Evidence({}), version), error, _codes(options), options, failed=named)


def _judged_apart(found: UnreadCrowd, options: RunOptions, engine: Engine, version: str, progress: Callable[[str], None]) -> Report:
    """The report of very many clusters. Stopped, or without Spark, it says nothing of any: none was read to its end."""
    from cli.runs import crowd  # with what runs on executors: of no use to others

    try:
        return crowd.judged(found, options, engine, version=version, progress=progress)
    except CannotLook as error:
        return _unjudged(found, error, options, version)
    except BaseException as stop:
        if isinstance(stop, Exception):
            raise
        found.notes.append("stopped before the rules had judged: nothing here says that a job is well")
        raise Interrupted(_facts(found, version), stop) from stop


def _facts(found: Evidence, version: str, *names: str) -> Report:
    """The collected tables without any judgement."""
    begins, ends = _reach(found)
    as_of = max(ends or [row["as_of"] for row in found.tables.get("jobs", ()) if row["as_of"]], default=None)
    return as_it_is(
        found.tables,
        names or [name for name in found.tables if name != "sources"],
        command="triage",
        version=version,
        window=(min(begins, default=None), as_of),
        notes=found.notes,
        looked_at=looked_at(counts_of(found.tables)),
    )


def _unjudged(found: Evidence, error: CannotLook, options: RunOptions, version: str) -> Report:
    """What was read, and that no rule could judge it."""
    report = none_judged(_facts(found, version, "log_files"), error, _codes(options), options)
    if found.stop is not None:
        raise Interrupted(report, found.stop)
    return report


def _codes(options: RunOptions) -> list[str]:
    return [*rule_codes(), *(options.own.codes if options.own is not None else ())]


def _reach(found: Evidence) -> tuple[list[datetime], list[datetime]]:
    """When each log begins and ends, where its lines tell."""
    files = found.tables.get("log_files", ())
    return [file["first_at"] for file in files if file["first_at"]], [file["last_at"] for file in files if file["last_at"]]


def _look_through_window(options: RunOptions, found: Evidence) -> None:
    """Raises UsageError for a window that ends before it begins, CannotLook for one that holds no line: neither is an all-clear."""
    begins, ends = _reach(found)
    if not ends or not (options.since or options.until):
        return
    since, until = resolve(options.since, max(ends)), resolve(options.until, max(ends))
    if since is not None and until is not None and since > until:
        raise UsageError(
            "--since is later than --until", f"The logs reach from {min(begins):%Y-%m-%d %H:%M:%S} to {max(ends):%H:%M:%S} UTC."
        )
    if (why := nothing_within(found.tables, options.since, options.until)) is not None:
        raise CannotLook(f"{why}.", "Name another --since or --until (times without a zone are UTC).")
