"""``diag rules``: what diag can find, and whether rules of a user's own do what they say."""

from __future__ import annotations

import io
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from analyzers.report.durations import counted
from cli.options.own_rules import Rules, own_rules
from cli.options.report import Cores, KeepWarm, Memory, Quiet, SparkMaster
from cli.options.shared import DEFAULT_MASTER, DEFAULT_MEMORY, RunOptions, codes_beginning_with, heap, master_with
from cli.shell.environment import Environment
from cli.shell.exits import UsageError
from cli.version import version

Format = Annotated[str | None, typer.Option("-o", "--output", metavar="FORMAT", help="terminal, plain or json.")]

Codes = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CODE…]", help="Only those that begin so: BRK, CKP1.", autocompletion=codes_beginning_with),
]

_LEAST_WIDTH = 64
"""Columns below which the cause gives way: what a rule finds would be cut away else."""


class _ListsByDefault(TyperGroup):
    """``diag rules CKP1`` is ``diag rules list CKP1``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    group = typer.Typer(name="rules", cls=_ListsByDefault, rich_markup_mode=None)
    group.callback()(_rules)
    group.command("list", short_help="List what diag can find.")(rules)
    group.command("check", short_help="Try rules of your own on their examples.")(check)
    app.add_typer(group, short_help="List what diag can find; check rules of your own.")


def _rules() -> None:
    """List the rules: code, severity, cause, what it finds; or check rules of your own.

    \b
    Examples:
      diag rules
      diag rules BRK CKP1
      diag rules -o plain | grep poison-record
      diag rules check my-rules.toml

    `diag rules CODE…` is `diag rules list CODE…`. A list reads nothing but diag itself and --rules: no network, no JVM. Needs no
    permissions but to read the files.
    """


def rules(context: typer.Context, codes: Codes = None, own: Rules = None, output: Format = None) -> None:
    """List the rules: code, severity, cause, what it finds.

    \b
    Examples:
      diag rules list
      diag rules list BRK CKP1
      diag rules list --rules my-rules.toml -o plain

    Reads nothing but diag itself and --rules: no network, no JVM. Needs no permissions but to read the files.
    """
    from analyzers.own_rules import rules_of

    environment: Environment = context.obj or Environment.real()
    form = output or ("terminal" if environment.stdout_is_tty else "plain")
    chosen = [rule for rule in rules_of(own_rules(own)) if rule.code.startswith(tuple(code.strip().upper() for code in codes or [""]))]
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


Files = Annotated[list[Path], typer.Argument(metavar="FILE|DIR…", help="Rules of your own (TOML); of a directory each *.toml.")]


def check(
    context: typer.Context,
    files: Files,
    spark_master: SparkMaster = DEFAULT_MASTER,
    cores: Cores = None,
    memory: Memory = DEFAULT_MEMORY,
    keep_warm: KeepWarm = False,
    quiet: Quiet = False,
) -> int:
    """Say whether rules of your own do what they say: each fires on its example, and not on its counter-example.

    \b
    Examples:
      diag rules check my-rules.toml
      diag rules check rules/ && diag triage --rules rules/ /var/log/flink

    Reads the files, and judges each example as a log of its own, as triage would. A line each: ok or wrong, code, place, and the headline
    or what is wrong. Exit code 1 where an example is not as its rule says; 2 for a file that is no TOML, a pattern without bounds, a field
    that nothing captures; 3 without Java.

    Permissions: to read the files. It starts a local JVM (Java 17 or newer), connects to nothing, and changes nothing.
    """
    environment: Environment = context.obj or Environment.real()
    environment.verbosity = -int(quiet)
    own = own_rules(files)
    assert own is not None
    options = RunOptions(spark_master=master_with(spark_master, cores), memory=heap(memory), keep_warm=keep_warm)
    from cli.runs import ahead

    ahead.begin(options, environment)
    environment.say(f"diag {version()}: trying {counted(len(own.rules), 'rule')}")
    from cli.runs.rules_check import check as tried

    lines, code = tried(own, options)
    environment.write("".join(f"{line}\n" for line in lines))
    return code


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
