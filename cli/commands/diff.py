"""``diag diff``: what differs between two looks at one job."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from cli.options.own_rules import Rules, own_rules
from cli.options.report import (
    Cores,
    FailOnOption,
    Ignore,
    IgnoreFile,
    KeepWarm,
    Memory,
    NoIgnoreFile,
    NoPager,
    Only,
    Quiet,
    SparkMaster,
    choice,
)
from cli.options.shared import DEFAULT_MASTER, DEFAULT_MEMORY, FailOn, LogTimezone, RunOptions, heap, master_with
from cli.shell.environment import Environment
from cli.shell.exits import UsageError
from cli.shell.output import after as ended
from cli.version import version

_LOOKS = "A report that -o json saved, a bundle, or logs (file, directory, archive)."
Outputs = Annotated[
    list[str] | None,
    typer.Option(
        "-o", "--output", metavar="FORMAT[=FILE]", help="terminal, plain, json, markdown, sarif, junit; repeatable: -o json=diff.json"
    ),
]


def register(app: typer.Typer) -> None:
    app.command("diff", short_help="Say what differs between two looks at one job.")(diff)


def diff(
    context: typer.Context,
    before: Annotated[str, typer.Argument(metavar="A", help=f"The earlier look. {_LOOKS}", show_default=False)],
    after: Annotated[str, typer.Argument(metavar="B", help="The later look, of the same job.", show_default=False)],
    any_job: Annotated[bool, typer.Option("--any-job", help="Compare looks at jobs of different names, too.")] = False,
    outputs: Outputs = None,
    log_timezone: LogTimezone = None,
    only: Only = None,
    ignore: Ignore = None,
    rules: Rules = None,
    ignore_file: IgnoreFile = None,
    no_ignore_file: NoIgnoreFile = False,
    fail_on: FailOnOption = FailOn.CRITICAL,
    spark_master: SparkMaster = DEFAULT_MASTER,
    cores: Cores = None,
    memory: Memory = DEFAULT_MEMORY,
    keep_warm: KeepWarm = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
) -> int:
    """Say what differs between two looks at one job: before and after an upgrade, a good night and a bad one.

    \b
    Examples:
      diag diff before.tar.gz after.tar.gz
      diag diff yesterday.json /var/log/flink
      diag diff before.json after.json -o json=diff.json --fail-on warning

    Reads what triage reads, and reports that it saved. A finding is new, worse, still there or gone; gone only where B judged that rule and
    has logs of the same processes, else unknown, and why. Then what changed: state, versions, parallelism, settings, bootstrap servers,
    brokers, leaders, checkpoints, lag; and kinds of warnings and errors that only B has. Bundles and logs are judged by this diag.

    Permissions: to read the files. It starts a local JVM (Java 17 or newer) where a side is no saved report, and changes nothing. Exit code
    1 where a finding is new or worse, or A did not judge it, at or above --fail-on; 3 where a side cannot be read, or they are of
    different jobs.
    """
    environment: Environment = context.obj or Environment.real()
    environment.verbosity = -int(quiet)
    environment.pages = not no_pager
    from cli.commands.triage import existing
    from cli.runs.diff_output import emit, parsed

    wanted = parsed(outputs)
    if "-" in (before, after):
        raise UsageError("diag diff reads no standard input", "Save what comes through a pipe first: diag triage - -o json=before.json")
    existing([before, after])
    own = own_rules(rules)
    chosen = choice(only, ignore, ignore_file, no_ignore_file, environment, own=own)
    options = RunOptions(
        only=chosen.only,
        ignore=chosen.ignore,
        expired=chosen.expired,
        own=own,
        fail_on=fail_on.value,
        log_timezone=log_timezone,
        spark_master=master_with(spark_master, cores),
        memory=heap(memory),
        keep_warm=keep_warm,
        outputs=tuple(outputs or ()),
    )
    environment.say(f"diag {version()}: comparing {before} with {after}")
    from cli.runs import ahead
    from cli.runs.diff import exit_code, run

    found = run(
        (before, after), options, version=version(), any_job=any_job, engine=partial(ahead.engine, options), progress=environment.say
    )
    failure = emit(found, wanted, options.fail_on, environment)
    code = exit_code(found, options.fail_on)
    return code if failure is None else ended(failure, code, environment)
