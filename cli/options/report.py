"""The options of every command that ends in a report, each written once; a decorator puts them behind the command's own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options.ignore_file import ignored, is_here
from cli.options.own_rules import Rules, own_rules
from cli.options.shared import (
    DEFAULT_MASTER,
    DEFAULT_MEMORY,
    CodeFilter,
    FailOn,
    Given,
    RunOptions,
    code_filters,
    codes_beginning_with,
    declared,
    heap,
    hidden_subjects,
    master_with,
    own_parameters,
)
from cli.shell.environment import Environment
from cli.shell.exits import UsageError
from cli.shell.output import FORMATS, parse

if TYPE_CHECKING:
    from analyzers.own_rules.language import OwnRules

Outputs = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FORMAT[=FILE]",
        help="terminal, plain, json, markdown, html, csv, parquet, sarif, junit; repeatable, also into a file: -o html=report.html. Of one "
        "table: -o csv:lag_status, -o parquet:lag_status=FILE; without its name, of findings.",
        autocompletion=lambda: list(FORMATS),
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", metavar="CODE[=SUBJECT*]", help="Judge by these rules only; repeatable.", autocompletion=codes_beginning_with),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="CODE[=SUBJECT*]",
        help="Leave out these rules, or these subjects of a rule; repeatable.",
        autocompletion=codes_beginning_with,
    ),
]
IgnoreFile = Annotated[
    Path | None,
    typer.Option(
        "--ignore-file",
        metavar="FILE",
        help="What is left out, with reason, owner and expiry date (TOML). Default: .diagignore in the working directory.",
    ),
]
NoIgnoreFile = Annotated[bool, typer.Option("--no-ignore-file", help="Leave out nothing that a .diagignore names.")]
FailOnOption = Annotated[FailOn, typer.Option("--fail-on", help="Exit with 1 when a finding is at least this severe.")]
BundleOption = Annotated[
    Path | None, typer.Option("--bundle", metavar="PATH", help="Judge this bundle (directory, .tar.gz, .tar.zst) and look at nothing live.")
]
Save = Annotated[
    Path | None, typer.Option("--save", metavar="PATH", help="Write the evidence to a bundle; an existing one gets the new samples.")
]
NoRedact = Annotated[
    bool,
    typer.Option("--no-redact", help="Keep names and words of your own in a saved bundle. Secrets are left out in any case."),
]
Redact = Annotated[
    bool,
    typer.Option("--redact", help="Names and words of your own become tokens in the report, too, as in a saved bundle."),
]
RedactionKey = Annotated[
    Path | None,
    typer.Option(
        "--redaction-key", metavar="FILE", help="Key for the tokens of a saved bundle, and of --redact; what has one key can be compared."
    ),
]
Keep = Annotated[
    Path | None, typer.Option("--keep", metavar="FILE", help="Words and names that a redacted bundle or report may have, apart by blanks.")
]
SparkMaster = Annotated[str, typer.Option("--spark-master", metavar="URL", envvar="DIAG_SPARK_MASTER", help="Where Spark runs.")]
Cores = Annotated[
    int | None,
    typer.Option("--cores", metavar="N", min=1, envvar="DIAG_CORES", help="Use at most so many cores of this host. Default: all."),
]
Memory = Annotated[str, typer.Option("--memory", metavar="SIZE", envvar="DIAG_MEMORY", help="Heap of Spark's JVM: 512m, 2g.")]
KeepWarm = Annotated[
    bool,
    typer.Option(
        "--keep-warm/--no-keep-warm",
        envvar="DIAG_KEEP_WARM",
        help="Leave a JVM that is ready for your next command; it ends after ten minutes.",
    ),
]
FactsOnly = Annotated[bool, typer.Option("--facts-only", help="Print the collected tables and judge nothing; starts no JVM.")]
Tables = Annotated[bool, typer.Option("--tables", help="-o plain: print the collected tables, too, above what was judged.")]
NoPager = Annotated[bool, typer.Option("--no-pager", help="Print a report that is longer than the screen, too, instead of paging it.")]
ShowContent = Annotated[
    bool, typer.Option("--show-content", help="Show the records that exceptions quote and --peek reads, not only what they are like.")
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress on stderr.")]
Verbose = Annotated[
    bool,
    typer.Option("-v", "--verbose", help="The whole dossier: every finding, its evidence, all rules; more about what is read."),
]

REPORTING: tuple[Given, ...] = (
    ("outputs", Outputs, None),
    ("only", Only, None),
    ("ignore", Ignore, None),
    ("rules", Rules, None),
    ("ignore_file", IgnoreFile, None),
    ("no_ignore_file", NoIgnoreFile, False),
    ("fail_on", FailOnOption, FailOn.CRITICAL),
    ("bundle", BundleOption, None),
    ("save", Save, None),
    ("no_redact", NoRedact, False),
    ("redact", Redact, False),
    ("redaction_key", RedactionKey, None),
    ("keep", Keep, None),
    ("spark_master", SparkMaster, DEFAULT_MASTER),
    ("cores", Cores, None),
    ("memory", Memory, DEFAULT_MEMORY),
    ("keep_warm", KeepWarm, False),
    ("facts_only", FactsOnly, False),
    ("tables", Tables, False),
    ("no_pager", NoPager, False),
    ("show_content", ShowContent, False),
    ("quiet", Quiet, False),
    ("verbose", Verbose, False),
)
"""Name, type and default of each shared option, in the order of the help."""

_MADE_HERE = ("environment", "options")


def reporting(command: Callable[..., int]) -> Callable[..., int]:
    """`command` for Typer: its parameters ``environment`` and ``options`` are made of the context and of the shared options.

    Wrong usage of a shared option raises `UsageError` before `command` is called.
    """
    own = [one for one in own_parameters(command) if one[0] not in _MADE_HERE]

    @functools.wraps(command)
    def asked(context: typer.Context, **given: Any) -> int:
        environment: Environment = context.obj or Environment.real()
        chosen = {name: given.pop(name) for name, _, _ in REPORTING}
        environment.tables = chosen["tables"]
        environment.show_content = chosen["show_content"]
        environment.pages = not chosen["no_pager"]
        environment.verbosity = int(chosen["verbose"]) - int(chosen["quiet"])
        return command(environment=environment, options=_options(chosen, environment), **given)

    return declared(asked, [("context", typer.Context, inspect.Parameter.empty), *own, *REPORTING])


@dataclass(frozen=True)
class Choice:
    """Which rules and findings are asked for and left out; `expired`: what an entry of the ignore file leaves out no more."""

    only: tuple[CodeFilter, ...] = ()
    ignore: tuple[CodeFilter, ...] = ()
    expired: tuple[CodeFilter, ...] = ()


def choice(
    only: list[str] | None,
    ignore: list[str] | None,
    ignore_file: Path | None,
    no_ignore_file: bool,
    environment: Environment,
    *,
    hide: bool = False,
    own: OwnRules | None = None,
) -> Choice:
    """What ``--only``, ``--ignore`` and the ignore file name, of diag's rules and of a user's `own`; what has expired is said. With
    `hide` the words of the file are not kept: a redacted report has tokens for such.

    Raises `UsageError` for a code that no rule has, and for a file that is none.
    """
    if ignore_file is not None and no_ignore_file:
        raise UsageError("--ignore-file names a file, and --no-ignore-file wants none", "Leave out one of them.")
    known: list[str] = []
    read = not no_ignore_file and (ignore_file is not None or is_here())
    if only or ignore or read:
        from analyzers.rules.catalogue import rule_codes

        known = [*rule_codes(), *(own.codes if own is not None else ())]
    kept, expired = ignored(ignore_file, known) if read else ([], [])
    for each in expired:
        environment.complain(f"diag: {each} in {each.by} expired on {each.expires}: it leaves out nothing")
    if kept:
        environment.say(f"{kept[0].by} leaves out {', '.join(map(str, kept))}")
    if hide:
        kept, expired = ([replace(each, by="the ignore file", reason=None, owner=None) for each in some] for some in (kept, expired))
    chosen = Choice(code_filters(only, known), (*code_filters(ignore, known), *kept), tuple(expired))
    hidden_subjects(chosen.only, chosen.ignore, hide=hide)
    return chosen


def _options(chosen: dict[str, Any], environment: Environment) -> RunOptions:
    parse(chosen["outputs"])
    own = own_rules(chosen["rules"])
    rules = choice(
        chosen["only"], chosen["ignore"], chosen["ignore_file"], chosen["no_ignore_file"], environment, hide=chosen["redact"], own=own
    )
    return RunOptions(
        outputs=tuple(chosen["outputs"] or ()),
        only=rules.only,
        ignore=rules.ignore,
        expired=rules.expired,
        fail_on=chosen["fail_on"].value,
        bundle=chosen["bundle"],
        save=chosen["save"],
        redact=not chosen["no_redact"],
        redaction_key=chosen["redaction_key"],
        keep=chosen["keep"],
        hide=chosen["redact"],
        spark_master=master_with(chosen["spark_master"], chosen["cores"]),
        memory=heap(chosen["memory"]),
        keep_warm=chosen["keep_warm"],
        facts_only=chosen["facts_only"],
        verbosity=environment.verbosity,
        own=own,
    )
