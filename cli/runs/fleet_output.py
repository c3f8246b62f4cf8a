"""A fleet's report in the formats that were asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cli.renderers import fleet, fleet_markdown, fleet_page, fleet_table, fleet_trend, junit, results, sarif
from cli.renderers.fleet_table import View
from cli.renderers.tables import as_csv, as_parquet
from cli.runs.fleet import FleetRun
from cli.runs.fleet_history import HISTORY, jobs_table, trend
from cli.shell.environment import WIDEST
from cli.shell.exits import CannotLook, ExitCode, UsageError
from cli.shell.output import emit as emit_report
from cli.shell.output import write_file
from cli.version import version

if TYPE_CHECKING:
    from cli.options.shared import RunOptions
    from cli.shell.environment import Environment

_MOST_NAMED = 8
FORMATS = ("terminal", "plain", "json", "markdown", "html", "csv", "parquet", "sarif", "junit")
TREND_FORMATS = ("terminal", "plain", "json", "markdown")
Wanted = list[tuple[str, Path | None]]


def parsed(outputs: Sequence[str] | None) -> Wanted:
    """Each ``FORMAT[=FILE]`` as (format, file). Raises `UsageError` for what is none, or would be mixed on stdout."""
    wanted: Wanted = []
    for output in outputs or ():
        form, _, path = output.partition("=")
        if form not in FORMATS:
            raise UsageError(f"{form!r} is no output format", f"Choose from {', '.join(FORMATS)}; into a file: -o html=fleet.html")
        if form == "parquet" and not path:
            raise UsageError("-o parquet: no file is named", "Write -o parquet=FILE.")
        wanted.append((form, Path(path) if path else None))
    if sum(path is None for _, path in wanted) > 1:
        raise UsageError("two formats would be mixed on stdout", "Send all but one into files: -o terminal -o json=fleet.json")
    return wanted


def emit(
    found: FleetRun, wanted: Wanted, environment: Environment, view: View | None = None, fail_on: str = "critical"
) -> list[CannotLook]:
    """Writes `found`, files first; why any of these could not be written. What no file took goes to standard output. `view` chooses and
    orders the rows of terminal and plain."""
    view = view or View()
    failures: list[CannotLook] = []
    for form, path in wanted:
        if path is not None:
            try:
                write_file(
                    path, as_parquet(jobs_table(found.report)) if form == "parquet" else _text(found, form, WIDEST, view, fail_on=fail_on)
                )
                environment.say(f"{form} report written to {path}")
            except CannotLook as error:
                failures.append(error)
    shown = [form for form, path in wanted if path is None]
    if not wanted or (failures and not shown):
        shown = ["terminal" if environment.stdout_is_tty else "plain"]
    for form in shown:
        text = _text(found, form, environment.columns, view, fail_on=fail_on, colour=environment.colour)
        (environment.page if form == "terminal" else environment.write)(text)
    return failures


def _text(found: FleetRun, form: str, width: int, view: View | None = None, *, fail_on: str = "critical", colour: bool = False) -> str:
    view = view or View()
    if form == "html":
        return fleet_page.html(found.report, found.pages, view.team if view.group_by == "team" else None)
    if form == "sarif":
        return sarif.render(results.of_fleet(found.report, found.findings))
    if form == "junit":
        return junit.jobs(found.report, fail_on)
    if form == "csv":
        return as_csv(jobs_table(found.report))
    if form == "markdown":
        return fleet_markdown.render(found.report, view)
    if form == "terminal":
        return fleet_table.render(found.report, width, view, colour=colour)
    return fleet.as_json(found.report) if form == "json" else fleet.plain(found.report, view.of(found.report.jobs))


def _trend_as(form: str, runs: Sequence[datetime], counts: fleet_trend.Trend, width: int) -> str:
    if form == "json":
        return fleet_trend.as_json(runs, counts, version())
    if form == "markdown":
        return fleet_markdown.trend(runs, counts)
    return fleet_trend.plain(runs, counts) if form == "plain" else fleet_trend.render(runs, counts, width)


def view_of(sort: str, group_by: str | None, team: str, *, only_new: bool, compared: bool, whole: bool) -> View:
    """The options that choose and order rows. Raises `UsageError`."""
    orders = ("worst", *fleet_table.SORTS)
    if sort not in orders:
        raise UsageError(f"--sort: {sort!r} is unknown", f"Choose from {', '.join(orders)}.")
    if group_by is not None and group_by not in fleet_table.GROUPS:
        raise UsageError(f"--group-by: {group_by!r} is unknown", f"Choose from {', '.join(fleet_table.GROUPS)}.")
    if only_new and not compared:
        raise UsageError("--only-new: there is no run to compare with", "Name one that was saved: --baseline DIR")
    try:
        re.compile(team)
    except re.error as error:
        raise UsageError(
            f"--team: {team!r} is no expression: {error}", "Write a level (1, 2, …) or an expression: --team '^[a-z]+'"
        ) from error
    return View(sort, only_new, group_by, team, whole)


def emit_job(found: FleetRun, job: str, options: RunOptions, environment: Environment) -> int:
    """The report of the one job that is called `job`; its exit code. Raises `CannotLook` where none or several are."""
    if not found.whole:
        raise CannotLook(f"no job is called {job}.", "diag fleet -o plain has the directory, id and name of each: name one of these.")
    if len(found.whole) > 1:
        states = {row["scope"] for report in found.whole for row in report.job_state}
        scopes = sorted(states | {verdict.scope for report in found.whole for verdict in report.verdicts})
        more = f" and {len(scopes) - _MOST_NAMED:,} more" if len(scopes) > _MOST_NAMED else ""
        raise CannotLook(
            f"{len(found.whole)} jobs are called {job}.", f"Name one by its directory: {', '.join(scopes[:_MOST_NAMED])}{more}"
        )
    return emit_report(found.whole[0], options.outputs, options.fail_on, environment)


def show_trend(directory: Path, wanted: Wanted, environment: Environment) -> int:
    """How many jobs were ill of what over the last runs. Raises `UsageError`, and `CannotLook` for a file that cannot be written."""
    unknown = next((form for form, _ in wanted if form not in TREND_FORMATS), None)
    if unknown is not None:
        raise UsageError(
            f"--trend has no format {unknown}", f"Choose from {', '.join(TREND_FORMATS)}; the tables are Parquet: {directory / HISTORY}"
        )
    runs, counts = trend(directory)
    for form, path in wanted or [("terminal" if environment.stdout_is_tty else "plain", None)]:
        if path is None:
            environment.write(_trend_as(form, runs, counts, environment.columns))
        else:
            write_file(path, _trend_as(form, runs, counts, WIDEST))
            environment.say(f"{form} trend written to {path}")
    return ExitCode.CLEAN
