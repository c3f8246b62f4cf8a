"""A fleet from the command line: what lies at a place, what is shown of its report, and the run over all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzers.bundle.small_files import small_file
from analyzers.report.fleet import FleetReport, in_order, rows_of
from analyzers.report.frames import finding_rows
from analyzers.report.report import Report
from analyzers.report.without_secrets import without_secrets
from cli.options.shared import RunOptions
from cli.runs.fleet_evidence import ASKED, Gathering
from cli.runs.waiting import waited
from cli.shell.exits import CannotLook, ExitCode, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from analyzers.fleet.places import Place
    from cli.engine.spark import Engine
    from cli.renderers.markup import Markup

SAVED = "fleet.json"
Cards = dict[tuple[str, str], "Markup"]
Progress = Callable[[str], None]


@dataclass
class FleetRun:
    """What a run over many jobs gave: the report, cards for a page (where asked for), and a row per finding."""

    report: FleetReport
    cards: Cards
    findings: list[dict[str, Any]]


def show(scope: str, report: Report, *, pages: bool) -> dict[str, Any]:
    """What the driver gets of one scope. Runs on executors."""
    from analyzers.fleet.identities import names_of
    from cli.renderers.fleet import cards_of

    report = without_secrets(report)
    return {
        "rows": rows_of(scope, report, names_of),
        "findings": finding_rows(scope, report),
        "cards": cards_of(scope, report) if pages else {},
    }


def run(
    paths: Sequence[str],
    options: RunOptions,
    *,
    by: str = "directory",
    gather: Gathering | None = None,
    asked: Sequence[Place] = (),
    version: str,
    baseline: Path | None = None,
    pages: bool = False,
    engine: Engine | None = None,
    progress: Progress = lambda said: None,
) -> FleetRun:
    """Judge the jobs at `paths` and those that are `asked`, as `gather` reads them. Starts an engine of its own unless one is given.

    Raises `UsageError` and `CannotLook`.
    """
    from analyzers.fleet.places import places

    before = _before(baseline)
    try:
        found = [*(places(paths, by) if paths else ()), *asked]
    except FileNotFoundError as error:
        raise UsageError(f"no such file or directory: {error}", "Name directories of jobs, or patterns that match some.") from error
    except OSError as error:
        raise CannotLook(f"{error.strerror or error}.", "Look at its address, its credentials and the way to it.") from error
    if not found:
        raise CannotLook(f"there is no job in {', '.join(paths)}.", "Name a directory whose entries are the directories of jobs.")
    progress(f"{len(found):,} jobs, {sum(place.size for place in found) / 1e6:,.1f} MB; starting Spark")
    if engine is None:
        from cli.engine.spark import Engine

        with Engine.start(options.spark_master, memory=options.memory, pandas=True) as own:
            return _judged(found, options, own, gather or Gathering(), version, before, pages, progress)
    return _judged(found, options, engine, gather or Gathering(), version, before, pages, progress)


def _judged(
    found: Sequence[Place],
    options: RunOptions,
    engine: Engine,
    gather: Gathering,
    version: str,
    before: dict[str, Any] | None,
    pages: bool,
    progress: Progress,
) -> FleetRun:
    session = engine.session()  # before PySpark is imported here: the thread that starts Spark imports it, too
    from analyzers.fleet.judging import judge_fleet
    from analyzers.fleet.roots import compared, shared_roots

    if not engine.is_local:
        from cli.engine.executors import check_executors

        check_executors(engine.context(), [path for place in found for path in place.paths if not path.startswith(ASKED)])
    rows, cards, findings = [], Cards(), []
    judging = partial(judge_fleet, version=version, runs=options.runs, ended=engine.ended, progress=progress)
    for one in waited(lambda: list(judging(found, session, gather, partial(show, pages=pages))), engine, progress):
        rows += one["rows"]
        findings += one["findings"]
        cards.update(
            {(row.scope, row.job or ""): one["cards"].get(row.job or "") for row in one["rows"] if (row.job or "") in one["cards"]}
        )
    report = FleetReport(version, in_order(rows))
    report.roots = shared_roots(report.jobs)
    if before is not None:
        report.gone = compared(report.jobs, before)
    findings.sort(key=lambda each: tuple(str(each[name]) for name in ("scope", "code", "job", "subject")))
    return FleetRun(report, cards, findings)


_MOST_BASELINE_BYTES = 64 << 20


def _before(baseline: Path | None) -> dict[str, Any] | None:
    if baseline is None:
        return None
    place = baseline / SAVED if baseline.is_dir() else baseline
    try:
        said: dict[str, Any] = json.loads(small_file(place, _MOST_BASELINE_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"--baseline: {place} is not what a run saved: {error}", "Name the directory of an earlier --save.") from error
    if not isinstance(said, dict) or said.get("command") != "fleet" or not _can_be_compared(said):
        raise UsageError(f"--baseline: {place} is not of diag fleet", "Name the directory of an earlier --save.")
    return said


def _can_be_compared(said: dict[str, Any]) -> bool:
    """Whether each job of it has what `compared` looks at."""
    try:
        return all(
            isinstance(word, str)
            for job in said["jobs"]
            for verdict in job["verdicts"]
            for word in (job["scope"], verdict["id"], verdict["headline"])
        )
    except (KeyError, TypeError):
        return False


def jobs_table(report: FleetReport) -> pa.Table:
    """A row per verdict, and one per job without any."""
    import pyarrow as pa

    from analyzers.bundle.encoding import storable

    rows: list[dict[str, Any]] = []
    for job in report.jobs:
        head = {name: value for name, value in asdict(job).items() if name not in ("verdicts", "defects", "says", "since")}
        said: list[dict[str, Any]] = [asdict(verdict) for verdict in job.verdicts] or [{"since": job.since, "headline": job.says}]
        rows += [{**head, **each, "subject": json.dumps(each.get("subject"), default=str, sort_keys=True)} for each in said]
    names = (
        "scope", "job", "name", "outcome", "severity", "state", "since", "code", "cause", "reason", "headline", "id", "change", "subject",
        "not_checked",
    )  # fmt: skip
    columns = {name: [storable(row.get(name)) for row in rows] for name in names}
    unknown = [name for name, values in columns.items() if all(value is None for value in values)]
    return pa.table({name: pa.array(values, pa.string() if name in unknown else None) for name, values in columns.items()})


def save(run: FleetRun, directory: Path) -> None:
    """``fleet.json``, and ``jobs.parquet`` and ``findings.parquet`` beside it. Raises `CannotLook`."""
    from cli.renderers.fleet import as_json
    from cli.renderers.tables import as_parquet, findings_table
    from cli.shell.output import write_file

    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise CannotLook(f"cannot write to {directory}: {error.strerror or error}", "Name another directory: --save DIR") from error
    for name, table in (("jobs", jobs_table(run.report)), ("findings", findings_table(run.findings))):
        write_file(directory / f"{name}.parquet", as_parquet(table))
    write_file(directory / SAVED, as_json(run.report))  # what a later run reads comes last


def exit_code(report: FleetReport, fail_on: str) -> int:
    """As of any report: findings beat a defect, a defect beats what could not be read."""
    from analyzers.report.finding import Severity

    worst = max((Severity(row.severity).rank for row in report.jobs if row.severity), default=-1)
    if fail_on != "never" and worst >= Severity(fail_on).rank:
        return ExitCode.FINDINGS
    if any(row.defects for row in report.jobs):
        return ExitCode.DEFECT
    return ExitCode.CANNOT_LOOK if any(row.outcome == "unread" for row in report.jobs) else ExitCode.CLEAN
