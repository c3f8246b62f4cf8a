"""`diag preflight`: whether a planned change goes, asked before it is made."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from analyzers.forecast.clients import CONNECTORS
from cli.options.flink import FlinkRest, FlinkRestAuth, JobIds
from cli.options.kafka import BootstrapServers, CommandConfig, Timeout, seconds
from cli.options.report import reporting
from cli.options.shared import RunOptions
from cli.shell.environment import Environment
from cli.shell.exits import UsageError
from cli.version import version


class ClaimMode(str, Enum):
    """Whose the files of the checkpoint are after the restore (Flink's RestoreMode, since 2.0 RecoveryClaimMode)."""

    NO_CLAIM = "no-claim"
    CLAIM = "claim"
    LEGACY = "legacy"


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    planned = typer.Typer(name="preflight", rich_markup_mode=None, no_args_is_help=True)
    planned.callback()(_preflight)
    planned.command("broker-removal", short_help="Say whether brokers can be taken away, or what breaks.")(reporting(broker_removal))
    planned.command("restore", short_help="Say whether a job survives a restore from a checkpoint or savepoint, or what breaks.")(
        reporting(restore)
    )
    planned.command("upgrade", short_help="Say whether a job goes on with a newer Flink, or what breaks.")(reporting(upgrade))
    app.add_typer(planned, short_help="Say before a planned change whether it goes, or what breaks.")


def _preflight() -> None:
    """Say before a planned change whether it goes, or what breaks.

    \b
    Examples:
      diag preflight broker-removal --brokers 5,6 --bootstrap-server kafka-1:9092,kafka-2:9092
      diag preflight broker-removal --brokers 5,6 --bundle before.tar.zst
      diag preflight restore /savepoints/savepoint-4f2c1a-0f3b --against /checkpoints/5f0e64a1c3d2b7980e1f2a3b4c5d6e7f
      diag preflight upgrade --to 2.3 --conf flink-conf.yaml --logs /var/log/flink

    Looks at what is there now, or reads a bundle, and changes nothing. Permissions: those of broker-health, and of checkpoint-inspect.
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


def restore(
    environment: Environment,
    options: RunOptions,
    path: Annotated[
        str | None,
        typer.Argument(metavar="CHECKPOINT|SAVEPOINT", help="Its _metadata file, or the chk-N or savepoint directory.", show_default=False),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="CHECKPOINT", help="A checkpoint of the program that is to be started: it has all operator ids."),
    ] = None,
    job_graph: Annotated[
        Path | None,
        typer.Option("--job-graph", metavar="FILE", help="The plan of that program as JSON: the answer of POST /jars/JARID/plan."),
    ] = None,
    flink_rest: FlinkRest = None,
    flink_rest_auth: FlinkRestAuth = None,
    jobs: JobIds = None,
    claim_mode: Annotated[ClaimMode, typer.Option("--claim-mode", help="How it is to be restored.")] = ClaimMode.NO_CLAIM,
    allow_non_restored: Annotated[
        bool, typer.Option("--allow-non-restored-state", help="State without an operator may be left behind, as flink run -n.")
    ] = False,
    max_parallelism: Annotated[
        int | None,
        typer.Option("--max-parallelism", metavar="N", min=1, max=1 << 15, help="What the program sets as pipeline.max-parallelism."),
    ] = None,
    to_version: Annotated[str | None, typer.Option("--to", metavar="VERSION", help="Flink's version that is to restore it.")] = None,
    beam_version: Annotated[str | None, typer.Option("--beam-version", metavar="VERSION", help="Beam's version in that program.")] = None,
    rebase: Annotated[
        list[str] | None,
        typer.Option("--rebase", metavar="OLD=NEW", help="Where state files that are named absolutely lie now; repeatable."),
    ] = None,
    bootstrap_servers: BootstrapServers = None,
    command_config: CommandConfig = None,
    timeout: Timeout = "10s",
) -> int:
    """Say whether a job survives a restore from this checkpoint or savepoint, or what breaks.

    \b
    Examples:
      diag preflight restore /savepoints/savepoint-4f2c1a-0f3b --against /checkpoints/5f0e64a1c3d2b7980e1f2a3b4c5d6e7f
      diag preflight restore chk-42 --job-graph plan.json --to 2.2 --bootstrap-server kafka-1:9092
      diag preflight restore s3://lake/savepoints/savepoint-4f2c1a-0f3b --flink-rest http://jobmanager:8081 --job orders

    Asks what Flink asks when it restores: is it complete, is every state file there, does its state belong to the program, do max
    parallelism, version and claim mode fit; and what Flink does not ask: are the positions of Kafka sources still in the topics
    (--bootstrap-server), are transactions of sinks still open, would Beam read splits twice. Each question has an answer: goes, breaks, or
    unknown, with what to change or what would tell. The program's operators are shown by --against (all of them), --job-graph or
    --flink-rest (the first of each chain). Nothing is restored or changed.

    Permissions: to read and list the files; of Flink's REST interface GET only; DESCRIBE on the topics and transactional ids. Exit code 1
    when something breaks; what is unknown changes no exit code.
    """
    from cli.runs import checkpoint_dump

    if options.bundle and (path or against or job_graph or flink_rest or bootstrap_servers or command_config):
        raise UsageError("a bundle is judged by itself", "Leave out PATH, --against, --job-graph, --flink-rest and -b, or --bundle.")
    wanted = [] if options.bundle else checkpoint_dump.existing([path] if path else [])
    other = checkpoint_dump.existing([against])[0] if against else None
    pairs = checkpoint_dump.rebases(rebase or ())
    from cli.runs import ahead

    ahead.begin(options, environment)
    from cli.runs import preflight_restore as logic
    from cli.runs.run import Run, nothing_live

    wait = seconds(timeout, "--timeout")
    stated = {
        "claim_mode": claim_mode.value, "engine_version": logic.release(to_version, "--to"), "max_parallelism": max_parallelism,
        "allow_non_restored": allow_non_restored, "beam_version": logic.release(beam_version, "--beam-version"),
    }  # fmt: skip
    look = nothing_live
    if options.bundle:
        environment.say(f"diag {version()}: reading the bundle {options.bundle}")
    else:
        look = logic.collect(
            wanted[0],
            logic.asked(
                against=other, job_graph=job_graph, flink_rest=flink_rest, flink_rest_auth=flink_rest_auth, jobs=jobs or (), rebase=pairs,
                bootstrap_servers=bootstrap_servers or (), command_config=command_config, timeout_seconds=wait,
            ),
        )  # fmt: skip
        environment.say(f"diag {version()}: asking about a restore of {wanted[0]}")
    plan = logic.planned(wanted[0] if wanted else None, **stated)
    return Run(logic.RESTORE, look, options, version(), progress=environment.say, plan=plan).emit(environment)[1]


def upgrade(
    environment: Environment,
    options: RunOptions,
    to_version: Annotated[str, typer.Option("--to", metavar="VERSION", help="Flink's version that is to run the job, as 2.3.")],
    from_version: Annotated[
        str | None, typer.Option("--from", metavar="VERSION", help="Flink's version that runs it now, where no log or address says it.")
    ] = None,
    confs: Annotated[
        list[Path] | None,
        typer.Option("--conf", metavar="FILE", help="flink-conf.yaml, config.yaml, a FlinkDeployment or ConfigMap; repeatable."),
    ] = None,
    logs: Annotated[
        list[str] | None,
        typer.Option("--logs", metavar="PATH", help="The job's logs from its start: settings, Java, jars and classes; repeatable."),
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option("--checkpoint", metavar="CHECKPOINT|SAVEPOINT", help="What the job is to be restored from.")
    ] = None,
    flink_rest: FlinkRest = None,
    flink_rest_auth: FlinkRestAuth = None,
    timeout: Timeout = "10s",
) -> int:
    """Say whether a job goes on with a newer Flink, or what breaks.

    \b
    Examples:
      diag preflight upgrade --to 2.3 --conf /opt/flink/conf/flink-conf.yaml --logs /var/log/flink
      diag preflight upgrade --to 2.2 --flink-rest http://jobmanager:8081 --checkpoint /savepoints/savepoint-4f2c1a-0f3b
      diag preflight upgrade --to 2.3 --from 1.20 --conf flinkdeployment.yaml

    Asks what Flink's documentation and the options of its releases say: are settings gone, renamed or in a file that is not read any
    more, are connectors' jars made for that release, are classes of the job removed, is Java new enough, can the state be read, do the
    brokers suit the new client. Each question has an answer: goes, breaks, or unknown, with what to change or what would tell. The job's
    own code is not looked into. Nothing is changed.

    Permissions: to read the files; of Flink's REST interface GET only. Exit code 1 when something breaks; what is unknown changes no exit
    code.
    """
    from cli.runs import preflight_upgrade as logic

    to = logic.target(to_version)
    if options.bundle and (confs or checkpoint or flink_rest or logs):
        raise UsageError("a bundle is judged by itself", "Leave out --conf, --logs, --checkpoint and --flink-rest, or --bundle.")
    if not (options.bundle or confs or checkpoint or flink_rest or logs):
        raise UsageError("nothing of the job is named", "Add --conf, --logs, --checkpoint, --flink-rest, or --bundle.")
    from cli.runs import ahead, checkpoint_dump

    path = checkpoint_dump.existing([checkpoint])[0] if checkpoint else None
    ahead.begin(options, environment)
    from cli.runs.preflight_restore import release
    from cli.runs.run import Run, nothing_live

    stated = release(from_version, "--from")
    look = nothing_live
    if options.bundle:
        environment.say(f"diag {version()}: reading the bundle {options.bundle}")
    else:
        from cli.collectors.flink_transport import read_login

        look = logic.collect(confs or (), path, flink_rest, read_login(flink_rest_auth), seconds(timeout, "--timeout"))
        environment.say(f"diag {version()}: asking about an upgrade to Flink {to}")
    plan = logic.planned(to, stated, path)
    return Run(logic.UPGRADE, look, options, version(), logs=logs or (), progress=environment.say, plan=plan).emit(environment)[1]
