"""A fleet's report in the formats that were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli.renderers import fleet
from cli.renderers.tables import as_csv, as_parquet
from cli.runs.fleet import FleetRun, jobs_table
from cli.shell.environment import WIDEST
from cli.shell.exits import CannotLook, UsageError
from cli.shell.output import write_file

if TYPE_CHECKING:
    from cli.shell.environment import Environment

FORMATS = ("terminal", "plain", "json", "html", "csv", "parquet")
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


def emit(found: FleetRun, wanted: Wanted, environment: Environment) -> list[CannotLook]:
    """Writes `found`, files first; why any of these could not be written. What no file took goes to standard output."""
    failures: list[CannotLook] = []
    for form, path in wanted:
        if path is not None:
            try:
                write_file(path, as_parquet(jobs_table(found.report)) if form == "parquet" else _text(found, form, WIDEST))
                environment.say(f"{form} report written to {path}")
            except CannotLook as error:
                failures.append(error)
    shown = [form for form, path in wanted if path is None]
    if not wanted or (failures and not shown):
        shown = ["terminal" if environment.stdout_is_tty else "plain"]
    for form in shown:
        environment.write(_text(found, form, environment.width))
    return failures


def _text(found: FleetRun, form: str, width: int) -> str:
    if form == "html":
        return fleet.html(found.report, found.cards)
    if form == "csv":
        return as_csv(jobs_table(found.report))
    if form == "terminal":
        return fleet.render(found.report, width)
    return {"json": fleet.as_json, "plain": fleet.plain}[form](found.report)
