"""What differs between two looks, in the formats that were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.report.without_secrets import without_secrets
from cli.renderers import difference, junit, results, sarif
from cli.shell.environment import WIDEST
from cli.shell.exits import CannotLook, UsageError
from cli.shell.output import write_file

if TYPE_CHECKING:
    from analyzers.comparison.difference import Difference
    from cli.shell.environment import Environment

FORMATS = ("terminal", "plain", "json", "markdown", "sarif", "junit")
Wanted = list[tuple[str, Path | None]]


def parsed(outputs: Sequence[str] | None) -> Wanted:
    """Each ``FORMAT[=FILE]`` as (format, file). Raises `UsageError` for what is none, or would be mixed on stdout."""
    wanted: Wanted = []
    for output in outputs or ():
        form, equals, path = output.partition("=")
        if form not in FORMATS:
            raise UsageError(
                f"{form!r} is no output format of diag diff", f"Choose from {', '.join(FORMATS)}; into a file: -o json=diff.json"
            )
        if equals and not path:
            raise UsageError(f"-o {output}: no file is named", f"Write -o {form}=FILE, or -o {form} for the screen.")
        wanted.append((form, Path(path) if path and path != "-" else None))
    if sum(path is None for _, path in wanted) > 1:
        raise UsageError("two formats would be mixed on stdout", "Send all but one into files: -o terminal -o json=diff.json")
    return wanted


def emit(found: Difference, wanted: Wanted, fail_on: str, environment: Environment) -> CannotLook | None:
    """Writes `found` without secrets, files first; why one of these could not be written. What no file took goes to standard output."""
    found = without_secrets(found)
    failure: CannotLook | None = None
    for form, path in wanted:
        if path is not None:
            try:
                write_file(path, _text(found, form, WIDEST, fail_on))
                environment.say(f"{form} report written to {path}")
            except CannotLook as error:
                failure = error
    shown = [form for form, path in wanted if path is None]
    if not wanted or (failure is not None and not shown):
        shown = ["terminal" if environment.stdout_is_tty else "plain"]
    for form in shown:
        width = environment.width if environment.stdout_is_tty else 80
        (environment.page if form == "terminal" else environment.write)(_text(found, form, width, fail_on, colour=environment.colour))
    return failure


def _text(found: Difference, form: str, width: int, fail_on: str, *, colour: bool = False) -> str:
    if form == "json":
        return difference.as_json(found)
    if form == "markdown":
        return difference.markdown(found)
    if form == "sarif":
        return sarif.render(results.of_difference(found))
    if form == "junit":
        return junit.render(results.of_difference(found), fail_on)
    return difference.plain(found) if form == "plain" else difference.page(found, width=width, colour=colour)
