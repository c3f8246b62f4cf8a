"""``diag demo``: the recorded incidents that come with diag, and what triage makes of one."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options.report import reporting
from cli.options.shared import RunOptions
from cli.shell.environment import Environment
from cli.shell.exits import ExitCode, UsageError


def _names(incomplete: str) -> list[tuple[str, str]]:
    from cli.incidents import incidents

    return [(each.name, each.title) for each in incidents() if each.name.startswith(incomplete)]


Name = Annotated[
    str | None, typer.Argument(metavar="NAME", help="The incident to diagnose; without one all are listed.", autocompletion=_names)
]


def register(app: typer.Typer) -> None:
    app.command("demo", short_help="Diagnose a recorded incident that comes with diag.")(reporting(demo))


def demo(environment: Environment, options: RunOptions, name: Name = None) -> int:
    """Diagnose a recorded incident that comes with diag, and say what to look at.

    \b
    Examples:
      diag demo
      diag demo broker-shrink
      diag demo broker-shrink -o html=incident.html

    Reads the logs of real Flink jobs that come with diag, as `diag triage` reads any, and ends with its exit code: 1 where a job is ill.
    No network. It starts a local JVM (Java 17 or newer). Needs no permissions.
    """
    from cli.commands.triage import triage
    from cli.incidents import incident, incidents

    if name is None:
        if options.outputs or options.save or options.bundle:
            raise UsageError("no incident was named to report on", "`diag demo` lists them: diag demo NAME.")
        if environment.stdout_is_tty:
            wide = max(len(each.name) for each in incidents())
            rows = "".join(f"  {each.name.ljust(wide)}  {each.title}\n" for each in incidents())
            environment.write(f"Recorded incidents of real servers; diag demo NAME diagnoses one.\n\n{rows}")
        else:
            environment.write("".join(f"{each.name}\t{each.title}\t{each.path}\n" for each in incidents()))
        return ExitCode.CLEAN
    if options.bundle:
        raise UsageError("--bundle names other evidence than the incident's", "For a bundle: diag triage --bundle PATH.")
    chosen = incident(name)
    environment.say(f"{chosen.title}\n$ diag triage {chosen.path}")
    code = triage(environment=environment, options=options, paths=[str(chosen.path)])
    environment.say("\n".join(["\nlook at", *(f"  {number}  {line}" for number, line in enumerate(chosen.look, 1))]))
    return code
