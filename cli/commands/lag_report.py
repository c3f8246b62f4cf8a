"""`diag lag-report`: how far behind each group is, partition by partition, and who holds it."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.kafka_options import BootstrapServers, CommandConfig, Timeout, seconds
from cli.options import FactsOnly, FailOn, FailOnOption, Outputs, Quiet
from cli.output import emit, parse
from cli.terminal import Environment
from cli.version import version


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("lag-report", short_help="Say how far behind each consumer group is, and whether that is known.")(lag_report)


def lag_report(
    context: typer.Context,
    bootstrap_servers: BootstrapServers = None,
    command_config: CommandConfig = None,
    groups: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="G", help="Group id, or a regular expression for whole ids; repeatable. Default: all."),
    ] = None,
    topics: Annotated[list[str] | None, typer.Option("--topic", metavar="T", help="Only this topic; repeatable.")] = None,
    timeout: Timeout = "10s",
    outputs: Outputs = None,
    fail_on: FailOnOption = FailOn.CRITICAL,
    facts_only: FactsOnly = False,
    quiet: Quiet = False,
) -> int:
    """Say how far behind each consumer group is, partition by partition, and who holds the partition.

    \b
    Examples:
      diag lag-report --bootstrap-server kafka-1:9092 --group orders-enrichment
      diag lag-report --command-config client.properties --group 'orders-.*' -o json

    Reads groups, members, committed offsets, and log start, last stable offset and high watermark of their partitions. Groups without
    members (Flink, Spark and Beam assign partitions themselves) are shown like any other. The lag is counted from the log start where
    retention has overtaken the commit; without a commit it is -, never 0.

    Permissions: DESCRIBE on the groups and topics. It joins no group, commits nothing and starts no JVM.
    """
    environment: Environment = context.obj or Environment.real()
    environment.verbosity = -1 if quiet else environment.verbosity
    parse(outputs)
    environment.say(f"diag {version()}: asking {', '.join(bootstrap_servers or []) or command_config or 'nothing'} for groups and offsets")
    from cli.lag_report import examine

    report = examine(
        bootstrap_servers or [],
        version=version(),
        command_config=command_config,
        groups=groups or (),
        topics=topics or (),
        timeout_seconds=seconds(timeout, "--timeout"),
    )
    return emit(report, outputs or (), fail_on.value, environment)
