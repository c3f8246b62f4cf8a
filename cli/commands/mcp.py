"""`diag mcp`: the tools of diag for a program, over the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options.flink import FlinkRestAuth
from cli.options.kafka import CommandConfig
from cli.options.own_rules import Rules, own_rules
from cli.options.report import Cores, Keep, Memory, RedactionKey
from cli.options.shared import DEFAULT_MEMORY
from cli.shell.environment import Environment
from cli.shell.exits import ExitCode
from cli.version import version


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("mcp", short_help="Answer a program's questions over the Model Context Protocol.")(mcp)


def mcp(
    context: typer.Context,
    allow_paths: Annotated[
        list[str] | None,
        typer.Option("--allow-path", metavar="DIR", help="Where files may be opened, and below it; repeatable. Nowhere else."),
    ] = None,
    allow_addresses: Annotated[
        list[str] | None,
        typer.Option("--allow-address", metavar="HOST:PORT", help="Broker or JobManager that may be asked; repeatable. No other."),
    ] = None,
    command_config: CommandConfig = None,
    flink_rest_auth: FlinkRestAuth = None,
    skill: Annotated[
        bool, typer.Option("--skill", help="Print the page for the program that asks (SKILL.md): which tool when, how to read answers.")
    ] = False,
    no_redact: Annotated[
        bool, typer.Option("--no-redact", help="Answer with names and words as they are. Secrets are left out in any case.")
    ] = False,
    redaction_key: RedactionKey = None,
    keep: Keep = None,
    rules: Rules = None,
    cores: Cores = None,
    memory: Memory = DEFAULT_MEMORY,
) -> int:
    """Answer a program's questions over the Model Context Protocol, on standard input and output, until it closes them.

    \b
    Examples:
      diag mcp --allow-path /var/log/flink --allow-path /checkpoints
      diag mcp --allow-path /bundles --no-redact
      diag mcp --skill > SKILL.md
      diag mcp --allow-address kafka-1:9092 --allow-address kafka-2:9092 --command-config client.properties

    It is started by the program that asks: put the command into its configuration. Tools: triage, explain, evidence, lag_report,
    broker_health, checkpoint_inspect, preflight. Each answer has at most 2,000 tokens; evidence pages through the report behind it,
    which is that of the command with -o json. What logs and systems say stands below the key quoted, as data. Answers are redacted as
    by --redact; the tokens are the same until it ends, with --redaction-key always.

    Nothing is opened outside of --allow-path (links and .. are resolved first; no object stores), and no address is connected to
    but --allow-address: list every advertised broker, too. --command-config, --flink-rest-auth and --rules are named here only, and so are
    files and token endpoints within them. Calls are made one after the other on one Spark, started by the first.

    Needs the package mcp (extra: streamdiag[mcp]). Permissions: those of the commands. It changes nothing.
    """
    from cli.tools.start import skill_page, start

    environment: Environment = context.obj or Environment.real()
    if skill:
        environment.write(skill_page())
        return ExitCode.CLEAN
    return start(
        environment, version=version(), allow_paths=allow_paths or [], allow_addresses=allow_addresses or [],
        command_config=command_config, flink_rest_auth=flink_rest_auth, redacted=not no_redact, redaction_key=redaction_key, keep=keep,
        cores=cores, memory=memory, own=own_rules(rules),
    )  # fmt: skip
