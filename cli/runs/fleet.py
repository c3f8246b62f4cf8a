"""A fleet from the command line: what is shown of the report of each job, and the run over all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import partial
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from analyzers.report.durations import counted, few
from analyzers.report.fleet import FleetReport, JobRow, in_order, rows_of
from analyzers.report.frames import finding_rows
from analyzers.report.report import Report
from analyzers.report.without_secrets import without_secrets
from cli.options.shared import RunOptions
from cli.runs.evidence import hiding
from cli.runs.fleet_evidence import NO_FILES, Gathering
from cli.runs.fleet_tick import tick
from cli.runs.left_out import left_out
from cli.runs.waiting import waited
from cli.shell.exits import CannotLook, ExitCode, UsageError

if TYPE_CHECKING:
    from analyzers.bundle.hiding import Hiding
    from analyzers.fleet.places import Place
    from cli.engine.spark import Engine
    from cli.renderers.fleet_page import OfPage

_SAY_EVERY_SECONDS = 1.0
Progress = Callable[[str], None]
EVERYTHING = RunOptions()


@dataclass
class FleetRun:
    """What a run over many jobs gave: the report, for a page a card and a strip of each job, and a row per finding."""

    report: FleetReport
    pages: dict[tuple[str, str], OfPage] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)
    whole: list[Report] = field(default_factory=list)
    """The reports of the jobs that were asked for by name."""


def show(
    scope: str, report: Report, *, pages: bool, called: Set[str] = frozenset(), options: RunOptions = EVERYTHING, counter: str = ""
) -> dict[str, Any]:
    """What the driver gets of one scope; of the scope, or the job, that has a name of `called` all of it. Runs on executors."""
    from analyzers.fleet.identities import names_of
    from cli.renderers.fleet_page import pages_of

    tick(counter)
    report.notes += left_out(options, report.left_out)
    if called:
        own = {id_ for id_, name in report.job_names.items() if called & {id_, name}}
        own |= called & {each.job for each in report.verdicts}
        if scope not in called and not own:
            return {"scope": scope}
        return {"scope": scope, "whole": report if scope in called else _of_jobs(report, own)}
    report = without_secrets(report)
    rows = rows_of(scope, report, names_of)
    made = pages_of(scope, report) if pages else {}
    return {"rows": rows, "findings": finding_rows(scope, report), "pages": made, "left_out": report.left_out}


def _of_jobs(report: Report, jobs: Set[str]) -> Report:
    """What `report` says of some of its jobs, and of none in particular."""
    return replace(
        report,
        verdicts=[verdict for verdict in report.verdicts if verdict.job in jobs],
        findings=[finding for finding in report.findings if finding.job in jobs or finding.job is None],
        job_state=[row for row in report.job_state if row["job"] in jobs],
        history=[lane for lane in report.history if lane.job in jobs or lane.job is None],
    )


def run(
    paths: Sequence[str],
    options: RunOptions,
    *,
    by: str = "directory",
    gather: Gathering | None = None,
    asked: Sequence[Place] = (),
    version: str,
    before: Mapping[str, Any] | None = None,
    pages: bool = False,
    job: str | None = None,
    engine: Engine | None = None,
    progress: Progress = lambda said: None,
) -> FleetRun:
    """Judge the jobs at `paths` and those that are `asked`, as `gather` reads them, or only the one that is called `job`. `before` is the
    document of an earlier run. Starts an engine of its own unless one is given.

    Raises `UsageError` and `CannotLook`.
    """
    from analyzers.fleet.places import flat_directory, places

    _check(options)
    notes: list[str] = []
    try:
        found = [*(places(paths, by, notes) if paths else ()), *asked]
        flat = flat_directory(paths) if by == "directory" else None
    except FileNotFoundError as error:
        raise UsageError(f"no such file or directory: {error}", "Name directories of jobs, or patterns that match some.") from error
    except ValueError as error:
        raise CannotLook(f"{error}.", "Save them: kubectl get pods,events -n NAMESPACE -o json, or kubectl cluster-info dump.") from error
    except OSError as error:
        raise CannotLook(f"{error.strerror or error}.", "Look at its address, its credentials and the way to it.") from error
    if not found:
        raise CannotLook(f"there is no job in {', '.join(paths)}.", "Name a directory whose entries are the directories of jobs.")
    if job is not None:  # a directory is known by its name before anything is read, a job is not
        found = [place for place in found if place.scope == job] or found
    called = frozenset({job} if job is not None else ())
    hide = hiding(options)
    if hide is not None:
        hidden = {place.scope: hide.scope(place.scope) for place in found}
        found = [replace(place, scope=hidden[place.scope]) for place in found]
        called = frozenset({hidden[job]} if job in hidden else hide.job(job)) if job is not None else called
        notes = hide.texts(notes)
        flat = hide.texts([flat])[0] if flat else None
    size = sum(place.size for place in found)
    progress(f"{counted(len(found), 'job')}{f', {size / 1e6:,.1f} MB' if size else ''}; starting Spark")
    judge = partial(
        _judged,
        found,
        options,
        gather=gather or Gathering(),
        version=version,
        hide=hide,
        shown=partial(show, pages=pages, called=called, options=options),
    )
    if engine is None:
        from cli.runs import ahead

        with ahead.engine(options) as own:
            every = judge(own, progress=progress, starts=True)
    else:
        every = judge(engine, progress=progress)
    if job is not None:
        return FleetRun(FleetReport(version, []), whole=[one["whole"] for one in every if "whole" in one])
    together = _together(every, version, before, [*notes, *left_out(options, [code for one in every for code in one["left_out"]])])
    if flat is not None and not _apart(together.report.jobs):
        together.report.notes.append(flat)
    return together


def _check(options: RunOptions) -> None:
    """What each job would refuse is refused once. Raises `UsageError`."""
    from analyzers.logs.layouts.timestamps import zone_from_option

    try:
        if options.log_timezone:
            zone_from_option(options.log_timezone)
    except ValueError as error:
        raise UsageError(f"--log-timezone: {error}", "Name a zone as Europe/Berlin, or an offset as +02:00.") from error
    since, until = options.since, options.until
    both_ages = isinstance(since, timedelta) and isinstance(until, timedelta) and since < until
    if both_ages or (isinstance(since, datetime) and isinstance(until, datetime) and since > until):
        raise UsageError("--since is later than --until", "Exchange them.")


def _judged(
    found: Sequence[Place],
    options: RunOptions,
    engine: Engine,
    *,
    gather: Gathering,
    version: str,
    shown: Callable[..., dict[str, Any]],
    hide: Hiding | None,
    progress: Progress,
    starts: bool = False,
) -> list[dict[str, Any]]:
    """What is `shown` of each; `starts`: the engine is starting, and few jobs are read meanwhile."""
    from analyzers.fleet.beside import Beside, Ended, Work, are_few
    from analyzers.fleet.reading import Find, found_apart, found_of, items_of
    from analyzers.fleet.scopes import Choice
    from analyzers.readers.log_plan import LogOptions
    from cli.runs.fleet_meter import Meter

    read = LogOptions(
        options.log_timezone, inside=(options.since, options.until), cache=options.cache, apart=False, own=options.own_signatures
    )
    choice = Choice(options.runs, options.keeps, options.since, options.until, hide, options.own)
    find: Find = found_of
    with NamedTemporaryFile(prefix="diag-done-") as counter:
        meter = Meter(len(found), counter.name if engine.is_local else "")
        if isinstance(gather, Gathering):
            gather = replace(gather, counter=meter.file)
        shown = partial(shown, counter=meter.file)
        wait = partial(waited, engine=engine, progress=progress, every=_SAY_EVERY_SECONDS, far=meter.says)
        if starts and engine.is_local and are_few(found):
            items = [item for place in found for item in items_of(place, read=read)]
            beside = Beside(Work(items, gather, choice, shown, "fleet", version))
            try:
                engine.prepare_session()
                session = engine.session()
                from analyzers.fleet.judging import READ_AGAIN, judge_few

                return wait(lambda: judge_few(beside, session, ended=engine.ended, progress=progress, watch=meter, own=options.own))
            except Ended:
                progress(READ_AGAIN)
                find = found_apart
            finally:
                beside.close()
        engine.allow_pandas()
        session = engine.session()  # before PySpark is imported here: the thread that starts Spark imports it, too
        from analyzers.fleet.judging import judge_fleet

        if not engine.is_local:
            from cli.engine.executors import check_executors

            check_executors(engine.context(), [path for place in found for path in place.paths if not path.startswith(NO_FILES)])
        judging = partial(judge_fleet, version=version, choice=choice, read=read, ended=engine.ended, progress=progress, watch=meter)
        return wait(lambda: list(judging(found, session, gather, shown, find=find)))


def _apart(rows: Sequence[JobRow]) -> list[str]:
    """That logs of one job were taken for several jobs."""
    from analyzers.fleet.roots import is_drawn

    scopes: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.job is not None and is_drawn(row.job):
            scopes[row.job].add(row.scope)
    several = sorted(job for job, own in scopes.items() if len(own) > 1)
    if not several:
        return []
    return [f"{counted(len(several), 'job')} stand in several rows ({several[0]}, say): --jobs-by job-id joins the logs of each"]


_NAMED = 5
"""Jobs of which nothing is known now that a note names."""


def _together(every: Sequence[dict[str, Any]], version: str, before: Mapping[str, Any] | None, notes: list[str]) -> FleetRun:
    from analyzers.fleet.roots import compared, shared_roots

    rows: list[JobRow] = []
    found = FleetRun(FleetReport(version, rows))
    for one in every:
        rows += one["rows"]
        found.findings += one["findings"]
        found.pages.update(
            {(row.scope, row.job or ""): one["pages"][row.job or ""] for row in one["rows"] if (row.job or "") in one["pages"]}
        )
    report = found.report = FleetReport(version, in_order(rows), notes=notes, made=datetime.now(timezone.utc))
    report.roots = shared_roots(report.jobs)
    report.notes += _apart(report.jobs)
    if before is not None:
        report.gone, unknown = compared(report.jobs, before)
        if unknown:
            shown = few(unknown, _NAMED)
            report.notes.append(f"ill in the run before, and not there or not readable now, so neither still ill nor gone: {shown}")
    found.findings.sort(key=lambda each: tuple(str(each[name]) for name in ("scope", "code", "job", "subject")))
    return found


def exit_code(report: FleetReport, fail_on: str) -> int:
    """As of any report: findings beat a defect, a defect beats what could not be read."""
    from analyzers.report.finding import Severity

    worst = max((Severity(row.severity).rank for row in report.jobs if row.severity), default=-1)
    if fail_on != "never" and worst >= Severity(fail_on).rank:
        return ExitCode.FINDINGS
    if any(row.defects for row in report.jobs):
        return ExitCode.DEFECT
    return ExitCode.CANNOT_LOOK if any(row.outcome == "unread" for row in report.jobs) else ExitCode.CLEAN
