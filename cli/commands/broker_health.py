"""`diag broker-health`: which bootstrap entry is dead, how it is dead, and what suffers from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from analyzers.forecast.clients import CONNECTORS
from cli.options.kafka import BootstrapServers, CommandConfig, Timeout, seconds
from cli.options.report import reporting
from cli.options.shared import RunOptions
from cli.shell.environment import Environment
from cli.shell.exits import ExitCode
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
    connector: Annotated[
        str | None,
        typer.Option(
            "--connector",
            metavar="|".join(CONNECTORS),
            autocompletion=lambda: list(CONNECTORS),
            help="What the job reads with: legacy is FlinkKafkaConsumer.",
        ),
    ] = None,
    parallelism: Annotated[
        int | None,
        typer.Option(
            "--parallelism", metavar="S", min=1, help="Source subtasks. All must start with legacy and beam; KafkaSource needs one client."
        ),
    ] = None,
    tcp_syn_retries: Annotated[
        int | None, typer.Option("--tcp-syn-retries", metavar="N", min=0, max=127, help="net.ipv4.tcp_syn_retries of the job's hosts (6).")
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option("--what-if", metavar="TEXT", help="Odds before it is done, see above; repeatable. Alone it asks no network."),
    ] = None,
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
      diag broker-health --what-if "entries=12 dead=4 kind=black-hole client=2.4.1 connector=legacy parallelism=64"
      diag broker-health --command-config client.properties --what-if remove=7,8,9

    Give the job's own bootstrap list and client properties. Every entry and every advertised broker is probed at once: name look-up, TCP,
    TLS, login, ApiVersions, Metadata. Each is alive, dns, refused, black-hole, hung, closed, tls, auth or not-kafka, seen from this host.

    --what-if takes entries=N dead=N kind=black-hole|hung|refused, or black-hole=N hung=N refused=N; client=V or flink=V, connector=,
    parallelism=, timeout= (default.api.timeout.ms), request_timeout=, setup_timeout=, tcp_syn_retries=. With a cluster or a bundle,
    remove=ID,… asks about its brokers.

    Permissions: to connect; partitions are shown of topics that this user may DESCRIBE, min.insync.replicas of those that it may
    DESCRIBE_CONFIGS; log directories, reassignments and the KRaft quorum with DESCRIBE on the cluster. It starts a local JVM to judge (not
    with --facts-only), creates and changes nothing. Exit code 1 when an entry or broker is dead or a partition has no reachable leader,
    unless --ignore takes that finding away.
    """
    if bootstrap_servers or command_config or options.bundle or logs:
        from cli.runs import ahead

        ahead.begin(options, environment)
    from cli.runs.broker_health import ClientOptions, asking, collect, fails, imagined, questions, unprobed
    from cli.runs.run import Run, nothing_live

    client = ClientOptions(client_version, connector, parallelism, tcp_syn_retries)
    asked = questions(what_if or (), client)
    subject = asking(asked)
    wait = seconds(timeout, "--timeout")
    nowhere = not bootstrap_servers and command_config is None and options.bundle is None
    if asked and nowhere and not logs:
        environment.say(f"diag {version()}: reckoning, no network is asked")
        run = Run(subject, imagined(asked, client), replace(options, facts_only=True), version(), progress=environment.say)
        return run.emit(environment)[1]
    if options.bundle:
        environment.say(f"diag {version()}: reading the bundle {options.bundle}")
        look = nothing_live
    elif logs and nowhere:
        environment.say(f"diag {version()}: no bootstrap server is given, reading the logs alone")
        look = unprobed(client)
    else:
        look = collect(bootstrap_servers or [], command_config=command_config, topics=topics or (), client=client, timeout_seconds=wait)
        environment.say(f"diag {version()}: probing {', '.join(bootstrap_servers or []) or _named(command_config)}")
    report, code = Run(subject, look, options, version(), logs=logs or (), progress=environment.say).emit(environment)
    # a dead broker is a finding, not a failure to look
    return ExitCode.FINDINGS if options.fail_on != "never" and fails(report, bool(options.ignore)) else code


def _named(command_config: Path | None) -> str:
    return f"the bootstrap servers of {command_config}" if command_config else "nothing"
