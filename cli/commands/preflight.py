"""`diag preflight`: whether a planned change goes, asked before it is made."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from analyzers.forecast.clients import CONNECTORS
from cli.options.kafka import BootstrapServers, CommandConfig, Timeout, seconds
from cli.options.report import reporting
from cli.options.shared import RunOptions
from cli.shell.environment import Environment
from cli.shell.exits import UsageError
from cli.version import version


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    planned = typer.Typer(name="preflight", rich_markup_mode=None, no_args_is_help=True)
    planned.callback()(_preflight)
    planned.command("broker-removal", short_help="Say whether brokers can be taken away, or what breaks.")(reporting(broker_removal))
    app.add_typer(planned, short_help="Say before a planned change whether it goes, or what breaks.")


def _preflight() -> None:
    """Say before a planned change whether it goes, or what breaks.

    \b
    Examples:
      diag preflight broker-removal --brokers 5,6 --bootstrap-server kafka-1:9092,kafka-2:9092
      diag preflight broker-removal --brokers 5,6 --bundle before.tar.zst

    Asks the cluster as it is now, or reads a bundle, and changes nothing. Permissions: those of broker-health.
    """


def broker_removal(
    environment: Environment,
    options: RunOptions,
    brokers: Annotated[str, typer.Option("--brokers", metavar="ID,…", help="Node ids of the brokers that would go.")],
    bootstrap_servers: BootstrapServers = None,
    command_config: CommandConfig = None,
    topics: Annotated[
        list[str] | None, typer.Option("--topic", metavar="T", help="Ask about this topic's partitions only; repeatable.")
    ] = None,
    groups: Annotated[
        list[str] | None, typer.Option("--group", metavar="G", help="A consumer group whose coordinator matters; repeatable.")
    ] = None,
    client_version: Annotated[
        str | None, typer.Option("--client-version", metavar="V", help="The job's kafka-clients version, for the odds of its next start.")
    ] = None,
    connector: Annotated[
        str | None,
        typer.Option(
            "--connector",
            metavar="|".join(CONNECTORS),
            autocompletion=lambda: list(CONNECTORS),
            help="What the job reads with: legacy is FlinkKafkaConsumer.",
        ),
    ] = None,
    parallelism: Annotated[int | None, typer.Option("--parallelism", metavar="S", min=1, help="Source subtasks of the job.")] = None,
    timeout: Timeout = "10s",
    logs: Annotated[
        list[str] | None,
        typer.Option("--logs", metavar="PATH", help="The job's logs: they tell its bootstrap list and client; repeatable."),
    ] = None,
) -> int:
    """Say whether brokers can be taken away as they are now, or what breaks.

    \b
    Examples:
      diag preflight broker-removal --brokers 5,6 --bootstrap-server kafka-1:9092,kafka-2:9092
      diag preflight broker-removal --brokers 9 --command-config client.properties --logs /logs/orders
      diag preflight broker-removal --brokers 5,6 --bundle before.tar.zst

    Asks the cluster what lies on the brokers: replicas, replicas in sync, min.insync.replicas, reassignments under way, room elsewhere,
    controllers, coordinators of groups; and whether clients that start afterwards find it. Each question has an answer: goes, breaks, or
    unknown, with what to do first. Give the job's own bootstrap list. Nothing is changed.

    Permissions: those of broker-health. Exit code 1 when something breaks; what is unknown changes no exit code.
    """
    if bootstrap_servers or command_config or options.bundle:
        from cli.runs import ahead

        ahead.begin(options, environment)
    from cli.runs.broker_health import ClientOptions, collect
    from cli.runs.preflight import BROKER_REMOVAL, node_ids, planned
    from cli.runs.run import Run, nothing_live

    leaving = node_ids(brokers)
    client = ClientOptions(client_version, connector, parallelism)
    wait = seconds(timeout, "--timeout")
    if options.bundle:
        environment.say(f"diag {version()}: reading the bundle {options.bundle}")
        look = nothing_live
    elif not bootstrap_servers and command_config is None:
        raise UsageError("no cluster is named", "Add --bootstrap-server, --command-config, or --bundle.")
    else:
        look = collect(bootstrap_servers or [], command_config=command_config, topics=topics or (), client=client, timeout_seconds=wait)
        environment.say(f"diag {version()}: asking about the removal of broker {', '.join(map(str, leaving))}")
    run = Run(
        BROKER_REMOVAL, look, replace(options), version(), logs=logs or (), progress=environment.say, plan=planned(leaving, groups or ())
    )
    return run.emit(environment)[1]
