"""``diag rules``: what diag can find."""

from __future__ import annotations

import io
from typing import Annotated

import typer

from cli.shell.environment import Environment
from cli.shell.exits import UsageError

Format = Annotated[str | None, typer.Option("-o", "--output", metavar="FORMAT", help="terminal, plain or json.")]

_LEAST_WIDTH = 64
"""Columns below which the cause gives way: what a rule finds would be cut away else."""


def register(app: typer.Typer) -> None:
    app.command("rules", short_help="List what diag can find.")(rules)


def rules(context: typer.Context, output: Format = None) -> None:
    """List the rules: code, severity, cause, what it finds.

    \b
    Examples:
      diag rules
      diag rules -o plain | grep poison-record

    Reads nothing but diag itself: no files, no network, no JVM. Needs no permissions.
    """
    from analyzers.rules.catalogue import load_rules

    environment: Environment = context.obj or Environment.real()
    form = output or ("terminal" if environment.stdout_is_tty else "plain")
    facts = [(r.code, r.severity.value, r.stage, r.cause or "-", r.title, (*r.tables, *r.optional)) for r in load_rules()]
    if form == "json":
        import json

        keys = ("code", "severity", "stage", "cause", "title", "tables")
        named = [dict(zip(keys, (*row[:3], None if row[3] == "-" else row[3], *row[4:]), strict=True)) for row in facts]
        environment.write(json.dumps(named, indent=2, ensure_ascii=False) + "\n")
    elif form == "plain":
        environment.write("".join("\t".join(row[:5]) + "\n" for row in facts))
    elif form == "terminal":
        environment.write(_drawn([row[:5] for row in facts], environment))
    else:
        raise UsageError(f"{form!r} is no output format", "Choose from terminal, plain, json.")


def _drawn(facts: list[tuple[str, str, str, str, str]], environment: Environment) -> str:
    from rich.console import Console
    from rich.table import Table

    narrow = environment.width < _LEAST_WIDTH
    table = Table.grid(padding=(0, 2))
    for heading in ("code", "severity", *(() if narrow else ("cause",)), "finds"):
        table.add_column(heading, no_wrap=heading != "finds", overflow="fold")
    for code, severity, _stage, cause, title in facts:
        table.add_row(code, severity, *(() if narrow else (cause,)), title)
    text = io.StringIO()
    Console(file=text, width=environment.width, markup=False, highlight=False, color_system=None).print(table)
    return "".join(line.rstrip() + "\n" for line in text.getvalue().splitlines()) + "\n`diag explain CODE` has a page on each.\n"
