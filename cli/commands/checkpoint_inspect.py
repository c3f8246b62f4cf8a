"""``diag checkpoint-inspect``: checkpoints in, what they hold and who owns which split out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from cli.options.flink import FlinkRest, FlinkRestAuth, JobIds
from cli.options.kafka import BootstrapServers, CommandConfig, Timeout, seconds
from cli.options.report import reporting
from cli.options.shared import RunOptions
from cli.shell.environment import Environment
from cli.shell.exits import ExitCode, UsageError
from cli.shell.output import emit, exit_code
from cli.version import version

Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH...", help="Files, directories or archives; which kind each is, is found out.", show_default=False),
]
Dump = Annotated[bool, typer.Option("--dump", help="Print the whole content as JSON Lines, one line per fact.")]
Strict = Annotated[bool, typer.Option("--strict", help="Fail at the first damaged byte instead of showing what lies before it.")]
Rebase = Annotated[
    list[str] | None, typer.Option("--rebase", metavar="OLD=NEW", help="Where state files that are named absolutely lie now; repeatable.")
]

Logs = Annotated[
    list[str] | None, typer.Option("--logs", metavar="PATH", help="Logs of the jobs: what each was restored from, and who got the splits.")
]

_CHARACTERS_AT_ONCE = 1 << 18


def register(app: typer.Typer) -> None:
    app.command("checkpoint-inspect", short_help="Say what a checkpoint holds and who owns which split.")(reporting(checkpoint_inspect))


def checkpoint_inspect(
    environment: Environment,
    options: RunOptions,
    paths: Paths = None,
    dump: Dump = False,
    strict: Strict = False,
    rebase: Rebase = None,
    flink_rest: FlinkRest = None,
    flink_rest_auth: FlinkRestAuth = None,
    jobs: JobIds = None,
    logs: Logs = None,
    bootstrap_servers: BootstrapServers = None,
    command_config: CommandConfig = None,
    timeout: Timeout = "10s",
) -> int:
    """Say what is in a checkpoint, who did not acknowledge it, where every split stands, and whether one is read twice or by nobody.

    \b
    Examples:
      diag checkpoint-inspect /checkpoints/5f0e64a1c3d2b7980e1f2a3b4c5d6e7f
      diag checkpoint-inspect --flink-rest http://jobmanager:8081 --job orders
      diag checkpoint-inspect --bootstrap-server kafka-1:9092 s3://lake/flink/checkpoints
      diag checkpoint-inspect --dump chk-42/_metadata | grep '"kind": "split"'

    Reads a _metadata file, a chk-N or savepoint directory, a job's checkpoint directory, a directory of many jobs, a Spark Structured
    Streaming checkpoint directory, or a tar archive (gz, bz2, xz, zst) of any of these, of Flink 1.3 to 2.3; also at s3://, gs://, abfs://
    and hdfs:// (pip install s3fs, gcsfs, adlfs, fsspec). State files are listed, not downloaded, but for the small ones
    that hold positions. No cluster is needed for these.
    With --flink-rest, alone or together with files, it asks the JobManager (1.9 to 2.3) which subtask acknowledged which checkpoint.
    --bootstrap-server holds positions against the topics, --logs against what the job was restored from.

    Permissions: to read and list the files; of Flink's REST interface GET only; DESCRIBE on the topics. It changes nothing and starts a
    local JVM to judge (not with --facts-only or --dump).
    """
    from cli.runs import checkpoint_dump

    if options.bundle and (paths or dump or flink_rest):
        raise UsageError("a bundle is judged by itself", "Leave out PATH, --flink-rest and --dump, or --bundle.")
    if dump and options.hide:
        raise UsageError("--dump writes what is in files as it is", "Leave out --redact; --facts-only --redact -o json has their tables.")
    if dump and flink_rest:
        raise UsageError("--dump writes what is in files", "Leave out --flink-rest; --facts-only -o json has what a JobManager tells.")
    wanted = checkpoint_dump.existing(paths or ()) if not (options.bundle or (flink_rest and not paths)) else []
    pairs = checkpoint_dump.rebases(rebase or ())
    if dump:
        return _write(checkpoint_dump.dump(wanted, strict=strict, rebase=pairs), environment)
    from cli.runs import ahead

    ahead.begin(options, environment)
    from cli.runs import checkpoint_inspect as logic
    from cli.runs.live_sources import LiveSources

    wait = seconds(timeout, "--timeout")
    live = LiveSources(flink_rest=flink_rest, flink_rest_auth=flink_rest_auth, jobs=jobs or [], timeout_seconds=wait)
    collectors = [] if options.bundle else live.collectors()
    named = [f"the bundle {options.bundle}"] if options.bundle else [*wanted, *([flink_rest] if flink_rest else [])]
    environment.say(f"diag {version()}: reading {', '.join(named)}")
    from cli.runs.run import Run

    ask = logic.together(logic.collect(wanted, strict=strict, rebase=pairs) if wanted else None, collectors)
    if (bootstrap_servers or command_config) and wanted:
        from cli.collectors.kafka_topic_ends import topic_ends

        ends = topic_ends(bootstrap_servers or [], command_config=command_config, timeout_seconds=wait)
        ask = logic.with_brokers(ask, ends, ", ".join(bootstrap_servers or []) or str(command_config))
    run = Run(logic.CHECKPOINT_INSPECT, ask, options, version(), logs=logs or (), progress=environment.say)
    wanted_outputs = list(options.outputs) or ["terminal" if environment.stdout_is_tty else "plain"]
    if "terminal" not in wanted_outputs:
        return run.emit(environment)[1]
    from analyzers.report.without_secrets import without_secrets
    from cli.renderers import checkpoint_listing

    # the listing stands on the screen while Spark is still starting
    run.collected = lambda facts: environment.write(checkpoint_listing.render(without_secrets(facts, content=environment.show_content)))
    others = [output for output in wanted_outputs if output != "terminal"]
    report = run.told(environment, others)
    if not options.facts_only:
        environment.write("\n")
        emit(checkpoint_listing.without_facts(report), ["terminal"], options.fail_on, environment)
    return emit(report, others, options.fail_on, environment) if others else exit_code(report, options.fail_on)


def _write(lines: Iterable[tuple[str, str]], environment: Environment) -> int:
    """Write the dump in blocks: a line at a time would cost more than reading the checkpoints."""
    read = failed = size = 0
    block: list[str] = []
    for state, line in lines:
        read += state == "read"
        failed += state == "failed"
        block.append(line)
        size += len(line)
        if size >= _CHARACTERS_AT_ONCE:
            environment.write("".join(block))
            block.clear()
            size = 0
    environment.write("".join(block))
    return ExitCode.CANNOT_LOOK if failed and not read else ExitCode.CLEAN
