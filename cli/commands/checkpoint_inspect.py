"""``diag checkpoint-inspect``: checkpoints in, what they hold and who owns which split out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from cli.exits import ExitCode, UsageError
from cli.options import RunOptions
from cli.output import emit, exit_code
from cli.report_options import reporting
from cli.terminal import Environment
from cli.version import version

Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH...", help="Files, directories or archives; which kind each is, is found out.", show_default=False),
]
Dump = Annotated[bool, typer.Option("--dump", help="Print the whole content as JSON Lines, one line per fact.")]
Strict = Annotated[bool, typer.Option("--strict", help="Fail at the first damaged byte instead of showing what lies before it.")]
Rebase = Annotated[
    list[str] | None, typer.Option("--rebase", metavar="OLD=NEW", help="Where state files that are named absolutely lie now; repeatable.")
]

_CHARACTERS_AT_ONCE = 1 << 18


def register(app: typer.Typer) -> None:
    app.command("checkpoint-inspect", short_help="Say what a checkpoint holds and who owns which split.")(reporting(checkpoint_inspect))


def checkpoint_inspect(
    environment: Environment,
    options: RunOptions,
    paths: Paths = None,
    dump: Dump = False,
    strict: Strict = False,
    rebase: Rebase = None,
) -> int:
    """Say what is in a checkpoint, where every source split stands, and whether one is read twice or by nobody.

    \b
    Examples:
      diag checkpoint-inspect /checkpoints/5f0e64a1c3d2b7980e1f2a3b4c5d6e7f
      diag checkpoint-inspect --dump chk-42/_metadata | grep '"kind": "split"'

    Reads a _metadata file, a chk-N or savepoint directory, a job's checkpoint directory, a directory of many jobs, a Spark Structured
    Streaming checkpoint directory, or a tar archive (gz, bz2, xz, zst) of any of these, of Flink 1.3 to 2.3. No cluster is needed.

    Permissions: to read the files. It opens no connection to your systems and changes nothing; it starts a local JVM to judge (not with
    --facts-only or --dump).
    """
    from cli import checkpoint_inspect as logic

    if options.bundle and (paths or dump):
        raise UsageError("a bundle is judged by itself", "Leave out PATH and --dump, or --bundle.")
    wanted = logic.existing(paths or ()) if not options.bundle else []
    pairs = logic.rebases(rebase or ())
    if dump:
        return _write(logic.dump(wanted, strict=strict, rebase=pairs), environment)
    environment.say(f"diag {version()}: reading {f'the bundle {options.bundle}' if options.bundle else ', '.join(wanted)}")
    from cli.judging import Run

    run = Run(logic.CHECKPOINT_INSPECT, logic.collect(wanted, strict=strict, rebase=pairs), options, version(), progress=environment.say)
    wanted_outputs = list(options.outputs) or ["terminal" if environment.stdout_is_tty else "plain"]
    if "terminal" not in wanted_outputs:
        return run.emit(environment)[1]
    from cli.renderers import checkpoint_listing

    # the listing stands on the screen while Spark is still starting
    run.collected = lambda facts: environment.write(checkpoint_listing.render(facts))
    others = [output for output in wanted_outputs if output != "terminal"]
    report = run.told(environment, others)
    if not options.facts_only:
        environment.write("\n")
        emit(checkpoint_listing.without_facts(report), ["terminal"], options.fail_on, environment)
    return emit(report, others, options.fail_on, environment) if others else exit_code(report, options.fail_on)


def _write(lines: Iterable[tuple[str, str]], environment: Environment) -> int:
    """Write the dump in blocks: a line at a time would cost more than reading the checkpoints."""
    read = failed = size = 0
    block: list[str] = []
    for state, line in lines:
        read += state == "read"
        failed += state == "failed"
        block.append(line)
        size += len(line)
        if size >= _CHARACTERS_AT_ONCE:
            environment.write("".join(block))
            block.clear()
            size = 0
    environment.write("".join(block))
    return ExitCode.CANNOT_LOOK if failed and not read else ExitCode.CLEAN
