"""`diag lag-report`: how far behind each group is, partition by partition, and who holds it."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.kafka_options import BootstrapServers, CommandConfig, Timeout, seconds
from cli.options import RunOptions
from cli.report_options import reporting
from cli.terminal import Environment
from cli.version import version


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("lag-report", short_help="Say how far behind each consumer group is, and whether that is known.")(reporting(lag_report))


def lag_report(
    environment: Environment,
    options: RunOptions,
    bootstrap_servers: BootstrapServers = None,
    command_config: CommandConfig = None,
    groups: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="G", help="Group id, or a regular expression for whole ids; repeatable. Default: all."),
    ] = None,
    topics: Annotated[list[str] | None, typer.Option("--topic", metavar="T", help="Only this topic; repeatable.")] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples", metavar="N", min=1, max=1000, help="Looks at the offsets. Default: 3, with --facts-only 1.", show_default=False
        ),
    ] = None,
    every: Annotated[str, typer.Option("--every", metavar="TIME", help="From one look to the next: 2s, 1m.")] = "2s",
    timeout: Timeout = "10s",
) -> int:
    """Say how far behind each consumer group is, partition by partition, and who holds the partition.

    \b
    Examples:
      diag lag-report --bootstrap-server kafka-1:9092 --group orders-enrichment
      diag lag-report --command-config client.properties --group 'orders-.*' -o json

    Reads groups, members, committed offsets, and log start, last stable offset and high watermark of their partitions. Groups without
    members (Flink, Spark and Beam assign partitions themselves) are shown like any other. The lag is counted from the log start where
    retention has overtaken the commit; without a commit it is -, never 0.

    Permissions: DESCRIBE on the groups and topics. It joins no group and commits nothing; it starts a local JVM to judge (not with
    --facts-only). With --save repeated runs keep their samples in one bundle, and --bundle judges them together.
    """
    asked = ", ".join(bootstrap_servers or []) or command_config or "nothing"
    environment.say(
        f"diag {version()}: " + (f"reading the bundle {options.bundle}" if options.bundle else f"asking {asked} for groups and offsets")
    )
    from cli.judging import Run, nothing_live
    from cli.lag_report import LAG_REPORT, Sampling, collect

    wait = seconds(timeout, "--timeout")
    sampling = Sampling(samples or (1 if options.facts_only else 3), seconds(every, "--every"))
    ask = nothing_live if options.bundle else collect(
        bootstrap_servers or [], command_config=command_config, groups=groups or (), topics=topics or (), timeout_seconds=wait,
        sampling=sampling, progress=environment.say,
    )  # fmt: skip
    return Run(LAG_REPORT, ask, options, version(), progress=environment.say).emit(environment)[1]
