"""The command `diag`. Imports only what `--help` needs: pyspark and the Kafka client are loaded by the commands that use them."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from cli.commands import register_all
from cli.shell.environment import Environment
from cli.shell.process import leave, supervise
from cli.version import version

EPILOGUE = """\b
Exit codes, the same for every output format:
  0  nothing wrong found          3  could not look
  1  findings (see --fail-on)     4  a defect in diag
  2  wrong usage                  130, 143  interrupted
"""

__all__ = ["app", "main", "run", "version"]

# NumPy's linear algebra, of which nothing is used here, else starts a thread for each core of the host when it is loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Arrow's own allocator keeps what tables of rows needed on their way to the JVM (8 MB); the system's gives it back
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

app = typer.Typer(
    name="diag",
    # plain help: it is read through pipes too, and rich would cost a third of the start-up time
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOGUE,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"diag {version()}")
        raise typer.Exit


@app.callback()
def diag(
    show_version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Why is this streaming job stalled or restarting, and what do I change?

    Reads logs, checkpoints and Kafka; names the cause with its evidence; changes nothing on the systems it looks at.
    """


register_all(app)


def _outline() -> typer.Typer:
    """The app as its own help needs it: commands without their parameters, which take as long to work out as all the rest."""
    outline = copy.copy(app)
    outline.registered_commands = [copy.copy(command) for command in app.registered_commands]
    for command in outline.registered_commands:
        command.callback = _nothing
    return outline


def _nothing() -> None: ...


def run(arguments: Sequence[str] | None = None, environment: Environment | None = None, *, plugin: bool = False) -> int:
    """Entry point: the exit code. Raises nothing. `plugin`: what is typed is meant as kubectl takes it."""
    environment = environment or Environment.real()
    given = list(sys.argv[1:] if arguments is None else arguments)
    completes = "_DIAG_COMPLETE" in os.environ
    command: Any = typer.main.get_command(_outline() if given in ([], ["-h"], ["--help"]) and not completes else app)
    if completes:
        command(prog_name="diag")

    def invoke() -> int | None:
        # not command.main(): that turns a closed pipe into exit code 1, which means findings here
        try:
            words = given
            if plugin:
                from cli.runs.kubectl_plugin import translated

                words = translated(given)
            with command.make_context("diag", list(words), obj=environment) as context:
                result = command.invoke(context)
        finally:
            if (ahead := sys.modules.get("cli.runs.ahead")) is not None:
                ahead.drop()
        return result if isinstance(result, int) else None

    return supervise(invoke, environment)


def main() -> NoReturn:
    """The program: `run`, and the end of the process."""
    environment = Environment.real()
    environment.own_process = True
    leave(run(environment=environment, plugin=os.path.basename(sys.argv[0]).startswith("kubectl-diag")))
