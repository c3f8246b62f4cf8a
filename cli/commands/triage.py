"""``diag triage``: logs or a bundle in, verdicts out."""

from __future__ import annotations

import glob
import os
import stat
import sys
from dataclasses import replace
from functools import partial
from typing import IO, Annotated

import typer

from analyzers.readers.object_stores import is_remote
from cli.options.cache import NoCache, scan_cache
from cli.options.report import reporting
from cli.options.shared import LogTimezone, RunOptions, Since, Until, moment
from cli.runs.live_sources import NOTHING_LIVE, LiveSources, asking_live
from cli.shell.environment import Environment
from cli.shell.exits import CannotLook, ExitCode, UsageError
from cli.shell.output import after, emit, load
from cli.version import version

Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH", help="Log files, directories, archives, globs, s3://…; - is standard input.", show_default=False),
]


Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="REPORT|BUNDLE",
        help="An earlier look: what -o json saved, or a bundle. Findings are new, worse or still there; still there is no exit code 1.",
    ),
]


def register(app: typer.Typer) -> None:
    app.command("triage", short_help="Say why a job is stalled or restarting.")(reporting(asking_live(triage, kube=True)))


def triage(
    environment: Environment,
    options: RunOptions,
    paths: Paths = None,
    live: LiveSources = NOTHING_LIVE,
    since: Since = None,
    until: Until = None,
    log_timezone: LogTimezone = None,
    baseline: Baseline = None,
    no_cache: NoCache = False,
) -> int:
    """Say why a job is stalled or restarting, since when, and what to change.

    \b
    Examples:
      diag triage /var/log/flink /checkpoints/5f0e64a1c3d2b7980e1f2a3b4c5d6e7f
      kubectl logs -l app=orders --prefix --timestamps --tail=-1 | diag triage -
      diag triage /var/log/flink --flink-rest http://jobmanager:8081 --bootstrap-server kafka-1:9092,kafka-2:9092
      diag triage --connect-rest http://connect:8083 -b kafka-1:9092 --connect-wait 150s
      diag triage --kube shop --kube-object deployment/orders --yes
      diag triage /var/log/flink --baseline yesterday.json

    Reads logs of Flink, Beam, Spark and Kafka, plain, compressed or wrapped (kubectl, journald, docker, yarn, JSON lines), and the
    checkpoints of Flink and Structured Streaming that lie below the same paths. Directories are searched; what is neither is passed over.
    With --flink-rest the JobManager is asked as well, with --connect-rest a worker of Kafka Connect, with --bootstrap-server the Kafka
    cluster, and all is judged together. With --bundle it reads that bundle instead. With --baseline each finding is new, worse, or still
    there since that look, and what is gone is named; gone only where this run could see it. Exit code 1 is then for what is new or worse,
    or was not judged before.

    With --kube, kubectl is asked for a namespace, or with --kube-object for one object and its pods: the commands (get and logs only)
    are printed, and run with --yes. `kubectl diag triage deployment/orders -n shop` is the same.

    Permissions: to read the files; for Kafka those of broker-health and lag-report; of Flink's and Connect's REST interfaces GET only; of
    kubectl get and logs. It starts a local JVM (Java 17 or newer), connects to nothing but the addresses given, and changes nothing.
    """
    if not (paths or options.bundle or live.anything):
        paths = [_standard_input()]
    existing(paths or [])
    if planned := live.planned():
        return only_planned(planned, environment)
    from cli.runs import ahead

    ahead.begin(options, environment)  # before anything is said: what takes secrets out of that is loaded meanwhile
    environment.say(f"diag {version()}: reading {_named([*(paths or []), *live.named], options.bundle)}")
    if baseline is not None and options.facts_only:
        raise UsageError("--baseline compares findings, and --facts-only judges nothing", "Leave out one of them.")
    if baseline == "-":
        raise UsageError("--baseline reads no standard input", "Name a report that -o json saved, or a bundle.")
    existing([baseline] if baseline is not None else [])
    options = replace(options, since=moment(since), until=moment(until), log_timezone=log_timezone, cache=scan_cache(off=no_cache))
    from cli.runs.evidence import Interrupted
    from cli.runs.triage import run, unread

    before = None
    if baseline is not None:
        from cli.runs.baseline import earlier

        before = earlier(baseline)
    collectors = [] if options.bundle else live.collectors()
    stdin = piped(environment) if "-" in (paths or ()) else None
    try:
        with (NOTHING_LIVE if options.bundle else live).answered(environment.say) as answers:
            others = collectors if answers.stop is None else []
            report = run(
                [*(paths or []), *answers.paths], options, version=version(), stdin=stdin,
                collectors=[*others, *answers.collectors], names=answers.names, baseline=before, progress=environment.say,
                meanwhile=partial(load, options.outputs, environment),
            )  # fmt: skip
    except Interrupted as early:
        raise typer.Exit(after(early.stop, emit(early.report, options.outputs, options.fail_on, environment), environment)) from None
    except CannotLook as error:  # whoever reads the error is no program: what was asked for to be parsed or kept says it, too
        kept = [output for output in options.outputs if output not in ("terminal", "plain")]
        if kept:
            emit(unread(error, paths or [], options, version()), kept, options.fail_on, environment)
        raise
    return ExitCode(emit(report, options.outputs, options.fail_on, environment))


def only_planned(commands: list[str], environment: Environment) -> int:
    """Print what would be run; nothing else is done."""
    environment.say("nothing was run and nothing read: these commands would be, with your kubectl and your rights; add --yes to run them")
    environment.write("".join(f"{command}\n" for command in commands))
    return ExitCode.CLEAN


def existing(paths: list[str]) -> None:
    """A mistyped name is refused before anything is started; a glob that matches nothing likewise."""
    for path in paths:
        if path == "-" or is_remote(path) or _is_there(path):
            continue
        if not glob.has_magic(path):
            raise UsageError(f"no such file or directory: {path}", "Name log files, directories, archives or globs; - is standard input.")
        if next(glob.iglob(path, recursive=True), None) is None:
            raise UsageError(f"no file matches {path}", "Name log files, directories, archives or globs; - is standard input.")


def _is_there(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a zero byte within it
        return False


def piped(environment: Environment) -> IO[bytes]:
    """Standard input, for the reader of logs; asked for here, as only the command line owns the streams."""
    if sys.stdin.isatty():
        environment.say("reading standard input until Ctrl-D")
    return sys.stdin.buffer


def _standard_input() -> str:
    """What is read where nothing is named: what comes through a pipe or from a file. Raises `UsageError` where nothing can come."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):  # closed, or no file at all
        mode = 0
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
        raise UsageError(
            "nothing was named to look at",
            "Give log files or directories, as in `diag triage /var/log/flink` (- is standard input), --flink-rest, "
            "--connect-rest or --bootstrap-server; or --bundle PATH. `diag triage -h` has examples.",
        )
    return "-"


def _named(paths: list[str], bundle: object) -> str:
    if bundle is not None:
        return f"the bundle {bundle}"
    paths = ["standard input" if path == "-" else path for path in paths]
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
