"""``diag rules``: what diag can find."""

from __future__ import annotations

import io
from itertools import groupby
from typing import Annotated

import typer

from cli.options.shared import codes_beginning_with
from cli.shell.environment import Environment
from cli.shell.exits import UsageError

Format = Annotated[str | None, typer.Option("-o", "--output", metavar="FORMAT", help="terminal, plain or json.")]

Codes = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CODE…]", help="Only those that begin so: BRK, CKP1.", autocompletion=codes_beginning_with),
]

_LEAST_WIDTH = 64
"""Columns below which the cause gives way: what a rule finds would be cut away else."""


def register(app: typer.Typer) -> None:
    app.command("rules", short_help="List what diag can find.")(rules)


def rules(context: typer.Context, codes: Codes = None, output: Format = None) -> None:
    """List the rules: code, severity, cause, what it finds.

    \b
    Examples:
      diag rules
      diag rules BRK CKP1
      diag rules -o plain | grep poison-record

    Reads nothing but diag itself: no files, no network, no JVM. Needs no permissions.
    """
    from analyzers.rules.catalogue import load_rules

    environment: Environment = context.obj or Environment.real()
    form = output or ("terminal" if environment.stdout_is_tty else "plain")
    chosen = [rule for rule in load_rules() if rule.code.startswith(tuple(code.strip().upper() for code in codes or [""]))]
    if not chosen:
        raise UsageError(f"no rule's code begins with {' or '.join(codes or ())}", "`diag rules` lists all of them.")
    facts = [(r.code, r.severity.value, r.stage, r.cause or "-", r.title, (*r.tables, *r.optional)) for r in chosen]
    if form == "json":
        import json

        keys = ("code", "severity", "stage", "cause", "title", "tables")
        named = [dict(zip(keys, (*row[:3], None if row[3] == "-" else row[3], *row[4:]), strict=True)) for row in facts]
        environment.write(json.dumps(named, indent=2, ensure_ascii=False) + "\n")
    elif form == "plain":
        environment.write("".join("\t".join(row[:5]) + "\n" for row in facts))
    elif form == "terminal":
        environment.write(listed([row[:5] for row in facts], environment) + "\n`diag explain CODE` has a page on each.\n")
    else:
        raise UsageError(f"{form!r} is no output format", "Choose from terminal, plain, json.")


def listed(facts: list[tuple[str, str, str, str, str]], environment: Environment) -> str:
    """Code, severity, cause and title of rules, family by family."""
    from rich.console import Console
    from rich.table import Table

    from analyzers.rules.catalogue import family

    narrow = environment.width < _LEAST_WIDTH
    text = io.StringIO()
    console = Console(file=text, width=environment.width, markup=False, highlight=False, color_system=None)
    wide = max(len(cause) for *_, cause, _ in facts)
    heading = ["code".ljust(6), "severity".ljust(9), *([] if narrow else ["cause".ljust(wide)]), "finds"]
    console.print("  ".join(heading))
    for about, rows in groupby(facts, key=lambda row: family(row[0])):
        table = Table.grid(padding=(0, 2))
        for least in (6, 9, *(() if narrow else (wide,))):
            table.add_column(no_wrap=True, overflow="fold", min_width=least)
        table.add_column(overflow="fold")
        for code, severity, _stage, cause, title in rows:
            table.add_row(code, severity, *(() if narrow else (cause,)), title)
        console.print(f"\n{about[0].upper()}{about[1:]}")
        console.print(table)
    return "".join(line.rstrip() + "\n" for line in text.getvalue().strip("\n").splitlines())
