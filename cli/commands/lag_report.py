"""`diag lag-report`: how far behind each group is, partition by partition, and who holds it."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import partial
from typing import Annotated

import typer

from cli.options.connect import ConnectRest, ConnectRestAuth, ConnectWait
from cli.options.flink import FlinkRest, FlinkRestAuth, JobIds
from cli.options.kafka import BootstrapServers, CommandConfig, Timeout, seconds
from cli.options.report import reporting
from cli.options.shared import RunOptions, moment, resolve
from cli.shell.environment import Environment
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
            "--samples", metavar="N", min=1, max=1000, help="Looks at the offsets. Default: 4, with --facts-only 1.", show_default=False
        ),
    ] = None,
    every: Annotated[str, typer.Option("--every", metavar="TIME", help="From one look to the next: 2s, 1m.")] = "2s",
    checkpoint: Annotated[
        list[str] | None,
        typer.Option(
            "--checkpoint", metavar="PATH", help="Checkpoints of the job that reads: their offsets distinguish a stale commit from lag."
        ),
    ] = None,
    flink_rest: FlinkRest = None,
    flink_rest_auth: FlinkRestAuth = None,
    jobs: JobIds = None,
    connect_rest: ConnectRest = None,
    connect_rest_auth: ConnectRestAuth = None,
    connect_wait: ConnectWait = "5s",
    logs: Annotated[
        list[str] | None, typer.Option("--logs", metavar="PATH", help="Logs of the job: versions, restarts, record-level errors.")
    ] = None,
    peek: Annotated[
        bool,
        typer.Option(
            "--peek",
            help="Read the records that may make the job fail, as --logs and --checkpoint bound them; else those at stuck commits.",
        ),
    ] = False,
    peek_at: Annotated[
        list[str] | None, typer.Option("--peek-at", metavar="TOPIC:PARTITION:OFFSET", help="Read this record and its neighbours.")
    ] = None,
    members: Annotated[
        bool, typer.Option("--members", help="List who is in each group: assignor, epochs, client, host, partitions, quotas.")
    ] = False,
    at: Annotated[
        str | None, typer.Option("--at", metavar="WHEN", help="The offset of each partition at that time: 2026-11-21T09:30Z, or 2h ago.")
    ] = None,
    timeout: Timeout = "10s",
) -> int:
    """Say how far behind each consumer group is, partition by partition, and whether that lag is real.

    \b
    Examples:
      diag lag-report --bootstrap-server kafka-1:9092 --group orders-enrichment
      diag lag-report --command-config client.properties --group 'orders-.*' -o json
      diag lag-report -b kafka-1:9092 --group orders-enrichment --members --at 09:30
      diag lag-report -b kafka-1:9092 --connect-rest http://connect:8083 --connect-wait 150s

    Reads groups, members, committed offsets, log start, last stable offset and high watermark, four times; then the record at each commit
    (its age is the lag in time), open transactions and retention settings. Without a commit the lag is -, never 0. Groups without members
    (Flink, Spark and Beam assign partitions themselves) commit with their checkpoints only: --flink-rest or --checkpoint shows how far they
    really are. When a commit was made Kafka does not show: lag_status has since when it has not moved.

    A group named by --group is judged as yours: what is a warning for one of many, perhaps forgotten groups is critical for it.

    Permissions: DESCRIBE on groups and topics; READ on topics for the lag in time; DESCRIBE on transactional ids; DESCRIBE_CONFIGS on the
    cluster for quotas. It joins no group and
    commits nothing; it starts a local JVM to judge (not with --facts-only). With --save repeated runs keep their samples in one bundle,
    so that the next run knows the trend.
    """
    from cli.runs import ahead

    ahead.begin(options, environment)
    if asked := ", ".join(bootstrap_servers or []) or command_config or options.bundle:
        environment.say(
            f"diag {version()}: " + (f"reading the bundle {options.bundle}" if options.bundle else f"asking {asked} for groups and offsets")
        )
    from cli.renderers.lag_listing import render
    from cli.runs.lag_report import LAG_REPORT, Sampling, collect, with_others
    from cli.runs.live_sources import NOTHING_LIVE, LiveSources
    from cli.runs.run import Run, nothing_live
    from cli.runs.second_look import second_look

    wait = seconds(timeout, "--timeout")
    sampling = Sampling(samples or (1 if options.facts_only else 4), seconds(every, "--every"))
    live = LiveSources(
        flink_rest=flink_rest, flink_rest_auth=flink_rest_auth, jobs=jobs or (), timeout_seconds=wait, connect_rest=connect_rest,
        connect_rest_auth=connect_rest_auth, connect_wait_seconds=seconds(connect_wait, "--connect-wait"),
    )  # fmt: skip
    groups_of, others = nothing_live, []
    if not options.bundle:
        groups_of = collect(
            bootstrap_servers or [], command_config=command_config, groups=groups or (), topics=topics or (), timeout_seconds=wait,
            sampling=sampling, members=members, at=resolve(moment(at), datetime.now(timezone.utc)), progress=environment.say,
        )  # fmt: skip
        others = live.collectors()
    with (NOTHING_LIVE if options.bundle else live).answered(environment.say) as answers:
        ask = with_others(groups_of, checkpoint or (), [*others, *answers.collectors], environment.say)
        if answers.stop is not None:
            ask = answers.evidence
        run = Run(
            LAG_REPORT, ask, options, version(), logs=[*(logs or ()), *answers.paths], names=answers.names, progress=environment.say
        )  # fmt: skip
        if (peek or peek_at) and not options.bundle:
            run.look_again = second_look(
                bootstrap_servers or [], command_config, wait, asked=peek_at or (), suspects=peek, show_content=environment.show_content,
                progress=environment.say,
            )  # fmt: skip
        return run.emit_listing(environment, partial(render, members=members))
