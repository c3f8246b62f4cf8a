"""The last step of every command: the report in the formats that were asked for, and the exit code that it means."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cli.shell.environment import WIDEST, Environment
from cli.shell.exits import CannotLook, ExitCode, UsageError

if TYPE_CHECKING:
    from analyzers.report.report import Report, Source

FORMATS = ("terminal", "plain", "json", "markdown", "html", "csv", "sarif", "junit")
_OF_TABLES = ("csv", "parquet")
"""Formats of one table: of findings, or of what was collected (``csv:lag_status``)."""


def emit(
    report: Report,
    outputs: Sequence[str] = (),
    fail_on: str = "critical",
    environment: Environment | None = None,
    *,
    facts_shown: bool = False,
) -> int:
    """Write `report` without the secrets that its evidence quotes in each of `outputs` (``FORMAT`` or ``FORMAT=FILE``; none = terminal on
    a terminal, plain in a pipe); its exit code.

    `facts_shown`: `show_facts` has put them on the screen already.

    Raises `UsageError` for a format that does not exist; `CannotLook` when a file cannot be written, unless there are findings, which beat
    that. What no file took is written to standard output.
    """
    from analyzers.report.without_secrets import without_secrets
    from analyzers.tables.memory import gc_paused

    environment = environment or Environment.real()
    with gc_paused():
        report = without_secrets(report, content=environment.show_content)
    failure: CannotLook | None = None
    wanted = _wanted(outputs, environment)
    for table in sorted({_table(form) for form, _ in wanted if form.startswith(_OF_TABLES)} - {"findings", *report.facts}):
        has = f"it has {', '.join(report.facts)}" if report.facts else "--facts-only shows what was collected"
        environment.complain(f"diag: this report has no table {table}; {has}")
    for form, path in wanted:
        try:
            if path is not None:
                write_file(
                    path,
                    _parquet(report, form)
                    if form.startswith("parquet")
                    else _parts(report, form, environment, colour=False, fail_on=fail_on),
                )
                environment.say(f"{form} report written to {path}")
        except CannotLook as error:
            failure = error
    if failure is not None and all(path is not None for _, path in wanted):
        wanted = _wanted((), environment)
    for form, path in wanted:
        if path is None:
            for text in _parts(
                report, form, environment, colour=environment.colour, facts=not (facts_shown and form == "terminal"), fail_on=fail_on
            ):
                (environment.page if form == "terminal" and not facts_shown else environment.write)(text)
    code = exit_code(report, fail_on)
    return code if failure is None else after(failure, code, environment)


def after(stop: BaseException, code: int, environment: Environment) -> int:
    """The exit code of a run that ended with `stop` behind a report that means `code`: findings beat what could not be written. Raises
    `stop` where they do not."""
    if code != ExitCode.FINDINGS or not isinstance(stop, CannotLook):
        raise stop from None
    environment.complain(f"diag: {stop.message}")
    return code


def show_facts(report: Report, outputs: Sequence[str], environment: Environment) -> bool:
    """Put the facts of `report` on the screen before any rule has judged; whether that was done: only people read while more is coming."""
    if ("terminal", None) not in _wanted(outputs, environment):
        return False
    from analyzers.report.without_secrets import without_secrets
    from cli.renderers import terminal

    report = without_secrets(report, content=environment.show_content)
    environment.write(terminal.render(report, width=_width(environment), colour=environment.colour, findings=False) + "\n")
    return True


def _wanted(outputs: Sequence[str], environment: Environment) -> list[tuple[str, Path | None]]:
    return parse(outputs) or [("terminal" if environment.stdout_is_tty else "plain", None)]


def _width(environment: Environment) -> int:
    return environment.width if environment.stdout_is_tty else min(WIDEST, 80)


def parse(outputs: Sequence[str] | None) -> list[tuple[str, Path | None]]:
    """Each ``FORMAT[=FILE]`` as (format, file). To be called before any work, so that a wrong one costs no waiting.

    Raises `UsageError`, and `CannotLook` for a directory that is not there.
    """
    wanted: list[tuple[str, Path | None]] = []
    for output in outputs or ():
        form, equals, path = output.partition("=")
        _check(form)
        if form.startswith("parquet") and path in ("", "-"):
            raise UsageError("-o parquet: no file is named", f"Write -o {form}=FILE.")
        if equals and not path:
            raise UsageError(f"-o {output}: no file is named", f"Write -o {form}=FILE, or -o {form} for the screen.")
        file = Path(path) if path and path != "-" else None
        if file is not None and not file.parent.is_dir():
            raise CannotLook(
                f"cannot write the report to {file}: there is no directory {file.parent}", f"Name another file: -o {form}=FILE"
            )
        wanted.append((form, file))
    if sum(path is None for _, path in wanted) > 1:
        raise UsageError("two formats would be mixed on stdout", "Send all but one into files: -o terminal -o json=report.json")
    return wanted


def _check(form: str) -> None:
    """Raises `UsageError` for a format that does not exist, and for a table that does not."""
    kind, colon, table = form.partition(":")
    if kind not in (*FORMATS, "parquet") or (colon and kind not in _OF_TABLES):
        raise UsageError(f"{form!r} is no output format", f"Choose from {', '.join(FORMATS)}, parquet; into a file: -o json=report.json")
    if colon:
        from analyzers.tables import TABLES

        if table not in (*TABLES, "findings"):
            near = difflib.get_close_matches(table, TABLES, 3)
            hint = f"Did you mean {', '.join(near)}?" if near else f"-o {kind} has the findings; -o json shows which tables there are."
            raise UsageError(f"-o {form}: there is no table {table}", hint)


def exit_code(report: Report, fail_on: str = "critical") -> int:
    """What the report means, the same for every format: findings beat a defect, a defect beats a source that could not be read."""
    from analyzers.report.finding import Severity

    worst = report.worst
    if fail_on != "never" and worst is not None and worst.rank >= Severity(fail_on).rank:
        return ExitCode.FINDINGS
    if report.defects:
        return ExitCode.DEFECT
    if any(s.state == "failed" and not _answered(s, report) for s in report.sources):
        return ExitCode.CANNOT_LOOK
    shown = any(s.kind == "states" for s in report.sources)  # what other tools show was understood, and no rule is about it
    if report.not_checked and not report.clean and not report.findings and not shown:
        return ExitCode.CANNOT_LOOK
    return ExitCode.CLEAN


def _answered(source: Source, report: Report) -> bool:
    """Whether a finding came of the failed `source`: a dead broker is a finding, not a failure to look."""
    return any(
        source.name in (str(v) for v in finding.subject.values())
        or (source.kind == "kafka" and finding.cause == "broker-unreachable")
        or any(source.name in (e.file or "") or source.name in e.text for e in finding.evidence)
        for finding in report.found
    )


def _parts(
    report: Report, form: str, environment: Environment, *, colour: bool, facts: bool = True, fail_on: str = "critical"
) -> Iterator[str]:
    """`report` in the format `form`, in as many parts as its writer likes."""
    if form == "json":
        from cli.renderers import json

        yield from json.chunks(report)
    elif form.startswith("csv"):
        from cli.renderers import tables

        yield tables.csv(report, _table(form))
    elif form == "sarif":
        from cli.renderers import results, sarif

        yield sarif.render(results.of_report(report))
    elif form == "junit":
        from cli.renderers import junit, results

        yield junit.render(results.of_report(report), fail_on)
    else:
        yield _renderer(form, environment, colour=colour, facts=facts)(report)


def load(outputs: Sequence[str], environment: Environment) -> None:
    """Import what writes `outputs`: a command that waits can do so earlier than `emit`."""
    for form, _ in _wanted(outputs, environment):
        if form not in ("json", "sarif", "junit") and not form.startswith(_OF_TABLES):
            _renderer(form, environment, colour=False)


def _table(form: str) -> str:
    return form.partition(":")[2] or "findings"


def _parquet(report: Report, form: str) -> bytes:
    from cli.renderers import tables

    return tables.parquet(report, _table(form))


def _renderer(form: str, environment: Environment, *, colour: bool, facts: bool = True) -> Callable[[Report], str]:
    # imported when chosen: rich costs a pipe nothing
    if form == "markdown":
        from cli.renderers import markdown

        return markdown.render
    if form == "html":
        from cli.renderers import html

        return html.render
    if form == "plain":
        from cli.renderers import plain

        return lambda report: plain.render(report, tables=environment.tables)
    from cli.renderers import terminal

    if environment.verbosity > 0:
        return lambda report: terminal.render(report, width=_width(environment), colour=colour, facts=facts)
    return lambda report: terminal.page(report, width=_width(environment), colour=colour, facts=facts)


Text = str | bytes | Iterable[str]


def write_file(path: Path, text: Text) -> None:
    """Writes `text` (or its parts), whole or not at all, and for its owner's eyes only; a file that is there already keeps its mode."""
    write_files({path: text})


def write_files(files: Mapping[Path, Text]) -> None:
    """As `write_file`, each of `files`, and none where there is no room for all: they stand beside their places before any is put there.

    Raises `CannotLook`.
    """
    from analyzers.bundle.held import held_beside, release

    folders: list[Path] = []
    ready: list[tuple[Path, Path]] = []
    path = Path()
    try:
        for path, text in files.items():
            parts = (text,) if isinstance(text, (str, bytes)) else text
            content = (part.encode("utf-8", "backslashreplace") if isinstance(part, str) else part for part in parts)
            if path.exists() and not path.is_file():  # /dev/stdout, a named pipe: to be written into, never replaced
                with path.open("wb") as pipe:
                    pipe.writelines(content)
                continue
            folders.append(held_beside(path))
            whole = folders[-1] / "whole"
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() and not path.is_symlink() else 0o600  # a link is replaced
            with open(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.writelines(content)
            whole.chmod(mode)
            ready.append((whole, path))
        for whole, path in ready:
            os.replace(whole, path)
    except OSError as error:
        raise CannotLook(f"cannot write the report to {path}: {error.strerror or error}", "Name another file: -o FORMAT=FILE") from error
    finally:
        for folder in folders:
            release(folder)
