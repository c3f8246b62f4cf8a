"""`diag broker-health`: which bootstrap entry is dead, how it is dead, and what suffers from it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.exits import ExitCode
from cli.kafka_options import BootstrapServers, CommandConfig, Timeout, seconds
from cli.options import RunOptions
from cli.report_options import reporting
from cli.terminal import Environment
from cli.version import version


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("broker-health", short_help="Say which bootstrap server or broker is dead, how, and what suffers.")(
        reporting(broker_health)
    )


def broker_health(
    environment: Environment,
    options: RunOptions,
    bootstrap_servers: BootstrapServers = None,
    command_config: CommandConfig = None,
    topics: Annotated[list[str] | None, typer.Option("--topic", metavar="T", help="Show only this topic's partitions; repeatable.")] = None,
    client_version: Annotated[
        str | None, typer.Option("--client-version", metavar="V", help="The job's kafka-clients version, for the odds of its next start.")
    ] = None,
    parallelism: Annotated[
        int,
        typer.Option(
            "--parallelism", metavar="S", min=1, help="Clients that must all start: FlinkKafkaConsumer subtasks; 1 for KafkaSource."
        ),
    ] = 1,
    tcp_syn_retries: Annotated[
        int, typer.Option("--tcp-syn-retries", metavar="N", min=0, help="net.ipv4.tcp_syn_retries of the job's hosts.")
    ] = 6,
    timeout: Timeout = "10s",
    logs: Annotated[
        list[str] | None,
        typer.Option("--logs", metavar="PATH", help="The job's logs: judged together, and they tell the client's version; repeatable."),
    ] = None,
) -> int:
    """Say which bootstrap server or broker is dead and how, and which partitions suffer.

    \b
    Examples:
      diag broker-health --bootstrap-server kafka-1:9092,kafka-2:9092,kafka-3:9092
      diag broker-health --command-config client.properties --client-version 2.4.1 --parallelism 64

    Give the job's own bootstrap list and client properties. Every entry and every advertised broker is probed at once: name look-up, TCP,
    TLS, login, ApiVersions, Metadata. Each is alive, dns, refused, black-hole, hung, tls, auth or not-kafka, as seen from this host.

    Permissions: to connect; partitions are shown of topics that this user may DESCRIBE. It starts a local JVM to judge (not with
    --facts-only), creates and changes nothing. Exit code 1 when an entry or broker is dead or a partition has no reachable leader.
    """
    asked = ", ".join(bootstrap_servers or []) or _named(command_config)
    environment.say(f"diag {version()}: " + (f"reading the bundle {options.bundle}" if options.bundle else f"probing {asked}"))
    from cli.broker_health import BROKER_HEALTH, collect, suffers
    from cli.judging import Run, nothing_live

    wait = seconds(timeout, "--timeout")
    look = nothing_live if options.bundle else collect(
        bootstrap_servers or [], command_config=command_config, topics=topics or (), client_version=client_version,
        parallelism=parallelism, tcp_syn_retries=tcp_syn_retries, timeout_seconds=wait,
    )  # fmt: skip
    report, code = Run(BROKER_HEALTH, look, options, version(), logs=logs or (), progress=environment.say).emit(environment)
    # a dead broker is a finding, not a failure to look
    return ExitCode.FINDINGS if suffers(report) and options.fail_on != "never" else code


def _named(command_config: Path | None) -> str:
    return f"the bootstrap servers of {command_config}" if command_config else "nothing"
