"""Evidence of one run, wherever it comes from: scanned logs, a bundle, a collector; saving it, judging it, or printing it as it is.

What reads logs, bundles and rules is loaded when it is needed: a collector that only prints its facts needs none of it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from analyzers.readers.object_stores import is_remote
from analyzers.report.durations import counted, few
from analyzers.report.finding import NotChecked
from analyzers.report.report import Report, Source
from analyzers.tables import TABLES, Row
from analyzers.tables.evidence import Evidence
from cli.options.shared import RunOptions
from cli.runs.first_words import first_words
from cli.runs.left_out import left_out
from cli.shell.exits import CannotLook, DiagError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from analyzers.bundle.held import HeldDirectory
    from analyzers.bundle.hiding import Hiding
    from analyzers.readers.log_scan import LogOptions, Plan
    from analyzers.vocabulary.rule import Rule
    from cli.engine.spark import Engine

Progress = Callable[[str], None]
_SAY_EVERY_SECONDS = 0.2
NOT_ASKED = "stopped before the answers were in: what is not shown here was not seen, nothing says that it is not there"
"""What a report says that was interrupted before anything was collected."""


class Interrupted(BaseException):
    """The run was stopped from outside; `report` is what is known by then."""

    def __init__(self, report: Report, stop: BaseException) -> None:
        super().__init__(str(stop))
        self.report = report
        self.stop = stop


def from_bundle(options: RunOptions, engine: Engine | None, progress: Progress) -> Evidence:
    """The tables of the bundle that `options` name; its raw logs are scanned where it has no log tables.

    Raises `UsageError` when there is none, `CannotLook` when it cannot be read.
    """
    from analyzers.bundle.errors import BundleError, BundleNotFound
    from analyzers.bundle.read import read_bundle
    from analyzers.bundle.required import check

    assert options.bundle is not None
    copy = _brought_here(options.bundle)  # it lives for as long as this name
    try:
        bundle = read_bundle(options.bundle if copy is None else _only_file(copy.path))
        check(bundle.tables, options.bundle)
    except BundleNotFound as error:
        raise UsageError(error.message, error.hint) from error
    except BundleError as error:
        raise CannotLook(error.message, error.hint) from error
    tables: Mapping[str, Sequence[Row]] = bundle.tables
    notes = list(bundle.notes)
    stop: BaseException | None = None
    if bundle.raw_dir is not None and "log_events" not in tables:
        from analyzers.readers.log_scan import LogOptions

        read = LogOptions(
            options.log_timezone, inside=(options.since, options.until), relative_to=str(bundle.raw_dir), own=options.own_signatures
        )
        raw = scanned([str(bundle.raw_dir)], read, engine, progress)
        tables = {**raw.tables, **tables}
        notes.extend(raw.notes)
        stop = raw.stop
    stated = bundle.manifest.absent if bundle.manifest is not None else {}
    absent = {name: why for name in TABLES if (why := bundle.because(name) or stated.get(name))}
    return Evidence(tables, notes, absent, stop, {} if bundle.manifest is None else bundle.manifest.redaction)


def _brought_here(place: Path) -> HeldDirectory | None:
    """A copy of a bundle in an object store; None for one of this machine. Raises `UsageError` and `CannotLook`."""
    uri = re.sub(r":/+", "://", str(place), count=1)  # as a path it has lost one of its slashes
    if not is_remote(uri) or place.exists():
        return None
    from analyzers.readers.remote_copies import fetched

    try:
        return fetched(uri)
    except FileNotFoundError as error:
        raise UsageError(f"there is no bundle {uri}", "Look at its bucket and its name.") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise CannotLook(f"the bundle {uri} cannot be read: {why}.", "Look at its address, its credentials and the way to it.") from error


def _only_file(copy: Path) -> Path:
    """The archive that was copied, or the directory of a bundle that is none."""
    inside = list(copy.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_file() else copy


@dataclass
class UnreadCrowd(Evidence):
    """What lies beside the logs of very many clusters, which are read where each is judged."""

    plan: Plan = field(kw_only=True)


def scanned(paths: list[str], read: LogOptions, engine: Engine | None, progress: Progress, *, crowds: bool = True) -> Evidence:
    """What the logs at `paths` hold, scanned on `engine`, or in this process (None, or little to read); without `crowds` nothing yet of
    those of very many clusters.

    Raises `CannotLook` when there are none, or where Spark is needed to read them and did not start. Stopped by Ctrl-C or SIGTERM, it gives
    what was read until then, if anything was.
    """
    from analyzers.readers.log_rounds import fits_in_driver
    from analyzers.readers.log_scan import Unread, of_no_cluster, plan, scan

    try:
        # elsewhere executors are asked for files when it is known that they see them
        made = plan(paths, read, engine if engine is not None and engine.is_local else None)
    except ValueError as error:
        raise UsageError(f"--log-timezone: {error}", "Name a zone as Europe/Berlin, or an offset as +02:00.") from error
    try:
        if made.stop is not None and not made.files:
            raise made.stop
        if not made.files and not made.states:
            raise CannotLook(*_nothing(paths, made))
        size = sum(f.size for f in made.files)
        progress(
            f"{len(made.files)} log file{'s' * (len(made.files) != 1)}, {size / 1e6:,.1f} MB"
            + (f", {len(made.states)} file{'s' * (len(made.states) != 1)} of other tools" if made.states else "")
            + ("" if engine is None else "; starting Spark")
        )
        if engine is not None:
            engine.prepare_session()
        if not crowds and len(made.clusters) >= MANY and not made.temporary:
            return UnreadCrowd({"sources": of_no_cluster(made)["sources"]}, [*made.notes, *_passed_over(made)], plan=made)
        here = engine is None or fits_in_driver(made.tasks)
        watch = _Watch(size, progress)
        stop = made.stop
        said = "stopped while standard input was still open; only what had come by then is judged"
        if stop is not None:
            progress(f"{said}; once more ends at once")
        try:
            tables = scan(made, None if here else engine, watch=watch)
        except BaseException as stopped:
            if not isinstance(stopped.__cause__, Unread):
                raise
            stop, tables, said = stopped, stopped.__cause__.tables, watch.stopped()
            progress(f"{said}; once more ends at once")
            if engine is not None and not here:
                engine.give_up_jobs()
    finally:
        made.close()
    if here and engine is not None:
        engine.workers.end()  # many small files were looked at by them
    if stop is not None:
        return Evidence(tables, [said, *made.notes], stop=stop)
    for words in first_words(tables):
        progress(words)
    return Evidence(tables, [*made.notes, *_passed_over(made)])


def _passed_over(made: Plan) -> list[str]:
    others = made.passed_over - made.empty
    found = [f"{counted(made.empty, 'other file is', 'other files are')} empty"] if made.empty else []
    return found + ([f"{others} other file{'s are' if others != 1 else ' is'} no log{'s' * (others != 1)}"] if others else [])


class _Watch:
    """Says how far a long scan has come, how quick it is and what time is left; a short one says nothing."""

    def __init__(self, size: int, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._progress, self._clock = size, progress, clock
        self._began = self._said = clock()
        self._read = 0

    def __call__(self, read: int) -> None:
        now, self._read = self._clock(), read
        if read >= self._size or now - self._said < _SAY_EVERY_SECONDS:
            return
        self._said = now
        rate = read / (now - self._began)
        left = f", about {(self._size - read) / rate:,.0f} s left" if rate else ""
        self._progress(f"{read / 1e6:,.0f} of {self._size / 1e6:,.0f} MB read, {rate / 1e6:,.0f} MB/s{left}\r")

    def stopped(self) -> str:
        """How far it was when it was stopped, to be said beside whatever is told of it."""
        unit, name = (1e9, "GB") if self._size >= 1e9 else (1e6, "MB")
        took = self._clock() - self._began
        return (
            f"stopped after {took:,.0f} s: {self._read / unit:,.1f} of {self._size / unit:,.1f} {name} read; "
            "only what was read by then is judged"
        )


def _to_check(made: Plan) -> str:
    """What to try where nothing of what was named could be read."""
    if all("holds no" in str(source["why"]) for source in made.sources):
        return "Name a log, or the directory that holds one; the settings of a Kafka client go to --command-config."
    return "Check the path and its permissions."


def _nothing(paths: Sequence[str], made: Plan) -> tuple[str, str]:
    """Why there is nothing to judge, and what to try."""
    named = few(paths)
    troubles = "; ".join(f"{s['name']}: {s['why']}" for s in made.sources[:3])
    if len(paths) == 1 and [s["name"] for s in made.sources] == [*paths]:
        whose = "standard input" if paths[0] == "-" else named
        hint = "Does the command before the | write anything?" if paths[0] == "-" else _to_check(made)
        return f"nothing could be read of {whose}: {re.sub('^(?=is |holds )', 'it ', str(made.sources[0]['why']))}.", hint
    if troubles:
        return f"nothing could be read of {named}: {troubles}.", _to_check(made)
    if made.bundles:
        return f"there is no log in {named}, but tables that diag saved.", f"Judge them with --bundle {made.bundles[0]}"
    others = made.passed_over - made.empty
    kinds = [f"{number} {word}" for number, word in ((made.empty, "empty"), (others, "not logs" if others != 1 else "no log")) if number]
    passed = f" ({counted(made.passed_over, 'file')} passed over: {', '.join(kinds)})" if kinds else ""
    return (
        f"there is no log in {named}{passed}.",
        "Name the directory that holds the JobManager and TaskManager (driver, executor, broker) logs.",
    )


def save(options: RunOptions, found: Evidence, version: str, progress: Progress = lambda said: None) -> None:
    """Write the bundle where `options` ask for one. Raises `UsageError` and `CannotLook`."""
    if options.save is None:
        return
    from analyzers.bundle.errors import BundleError, BundleNotFound
    from analyzers.bundle.write import write_bundle

    try:
        written = write_bundle(
            options.save,
            found.tables,
            version=version,
            redact=options.redact,
            key_file=options.redaction_key,
            keep_file=options.keep,
            absent=found.absent,
        )
    except BundleNotFound as error:
        raise UsageError(error.message, error.hint) from error
    except BundleError as error:
        raise CannotLook(error.message, error.hint) from error
    found.redaction = written.redaction
    progress(f"evidence written to {options.save}")


def unsaved(options: RunOptions, found: Evidence, version: str, progress: Progress) -> CannotLook | None:
    """`save`; a bundle that cannot be written is no reason to say nothing of what was found: its error, to be raised with the report."""
    try:
        save(options, found, version, progress)
    except CannotLook as error:
        return error
    return None


def hiding(options: RunOptions, used: Mapping[str, Any] | None = None) -> Hiding | None:
    """How the report is redacted, where `options` ask for that; `used`: what the manifest of a bundle says that was saved of it.

    Raises `UsageError` and `CannotLook`.
    """
    if not options.hide:
        return None
    from analyzers.bundle.errors import BundleError, BundleNotFound
    from analyzers.bundle.hiding import Hiding

    try:
        return Hiding.of(used or {}, options.redaction_key, options.keep, options.named)
    except BundleNotFound as error:
        raise UsageError(error.message, error.hint) from error
    except BundleError as error:
        raise CannotLook(error.message, error.hint) from error


def reported(options: RunOptions, found: Evidence) -> Evidence:
    """What the report is made of: `found`, or where `options` ask for it what a redacted bundle of it would hold."""
    hide = hiding(options, found.redaction)
    return found if hide is None else hide.evidence(found)


def judged(
    found: Evidence,
    options: RunOptions,
    engine: Engine,
    *,
    command: str,
    version: str,
    rules: Iterable[Rule] | None = None,
    own: bool = True,
) -> Report:
    """The report of those of `rules` (None: all there are) that `options` choose. Without `own` the rows of `found` stay as they are.

    Raises `Interrupted` with the report where the reading was stopped.
    """
    from analyzers.diagnosis.diagnose import judge

    if options.own is not None and rules is None:
        from analyzers.own_rules import rules_of

        rules = rules_of(options.own)
    report = judge(
        found.tables,
        engine.session,
        command=command,
        version=version,
        runs=options.runs,
        keeps=options.keeps,
        since=options.since,
        until=options.until,
        thresholds=options.thresholds,
        absent=found.absent,
        notes=found.notes,
        rules=rules,
        ended=engine.ended,
        own=own,  # they are saved by now, where that was asked for
    )
    report.notes.extend(left_out(options, report.left_out))
    if found.stop is not None:
        raise Interrupted(report, found.stop)
    return report


def as_it_is(
    tables: Mapping[str, Sequence[Row]],
    facts: Collection[str],
    *,
    command: str,
    version: str,
    window: tuple[datetime | None, datetime | None],
    notes: Sequence[str],
    looked_at: str,
) -> Report:
    """The report of `tables` without any judgement, as of the end of `window`; `facts` are those that are printed."""
    return Report(
        tool="diag",
        version=version,
        command=command,
        as_of=window[1],
        window=window,
        sources=[Source(row["name"], row["kind"], row["state"], row["why"]) for row in tables.get("sources", ())],
        facts=chosen(tables, facts),
        notes=list(notes),
        looked_at=looked_at,
    )


MANY = 200
"""Clusters whose logs are read where they are judged: of fewer that takes longer than to read all and judge them at once."""
SPARK = ("Spark", "spark")
"""Name and kind of what judges, where it is told among the sources."""


def none_judged(
    report: Report, error: DiagError, codes: Iterable[str], options: RunOptions, failed: Iterable[tuple[str, str]] = (SPARK,)
) -> Report:
    """`report`, and that the sources `failed` (name and kind) did so with `error`: of the rules with these `codes` those that `options`
    choose were not checked."""
    return replace(
        report,
        sources=[*report.sources, *(Source(name, kind, "failed", str(error)) for name, kind in failed)],
        not_checked=[NotChecked(code, error.message.rstrip(".")) for code in codes if options.runs(code)],
    )


def chosen(tables: Mapping[str, Sequence[Row]], names: Collection[str]) -> dict[str, Sequence[Row]]:
    """Those of `tables` that are in `names`: what a command prints as its facts."""
    return {name: rows for name, rows in tables.items() if name in names}
