"""``diag watch``: one job, looked at again and again; what changed is sent."""

from __future__ import annotations

from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from cli.options.cache import NoCache, scan_cache
from cli.options.kafka import seconds
from cli.options.own_rules import Rules, own_rules
from cli.options.report import (
    Cores,
    FailOnOption,
    Ignore,
    IgnoreFile,
    Keep,
    KeepWarm,
    Memory,
    NoIgnoreFile,
    NoRedact,
    Only,
    Quiet,
    RedactionKey,
    SparkMaster,
    Verbose,
    choice,
)
from cli.options.shared import DEFAULT_MASTER, DEFAULT_MEMORY, FailOn, LogTimezone, RunOptions, Since, heap, master_with, moment
from cli.runs.live_sources import NOTHING_LIVE, LiveSources, asking_live
from cli.shell.environment import Environment
from cli.shell.exits import UsageError
from cli.version import version

Paths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH", help="Log files, directories, archives, globs, s3://…: all is read in each look.", show_default=False),
]
Every = Annotated[
    str, typer.Option("--every", metavar="TIME", help="From one look to the next; with --once, how often cron starts it: 30s, 5m.")
]
Once = Annotated[bool, typer.Option("--once", help="One look, for cron or a timer; --state is then what it goes on from.")]
StateOption = Annotated[
    Path | None,
    typer.Option("--state", metavar="FILE", help="What is open and not delivered yet: a restart neither repeats nor loses a message."),
]
Webhooks = Annotated[
    list[str] | None,
    typer.Option("--webhook", metavar="URL|@FILE", envvar="DIAG_WEBHOOK", help="Send each change there; @FILE holds the address."),
]
WebhookFormat = Annotated[
    str,
    typer.Option(
        "--webhook-format",
        metavar="json|slack|alertmanager",
        help="Of every --webhook.",
        autocompletion=lambda: ["json", "slack", "alertmanager"],
    ),
]
Exec = Annotated[
    list[str] | None,
    typer.Option("--exec", metavar="COMMAND", help="Start it for each change, with the JSON on its standard input, within 30 s; no shell."),
]
SaveDir = Annotated[
    Path | None,
    typer.Option("--save-dir", metavar="DIR", help="Save a bundle there when a finding opens: 20 at most, and 1 GiB; the oldest go."),
]


class Least(str, Enum):
    """From which severity on a finding is a change."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


Severe = Annotated[Least, typer.Option("--least", help="Report nothing below this severity.")]
OpensAfter = Annotated[int, typer.Option("--opens-after", metavar="LOOKS", min=1, max=100, help="Looks in a row that show it.")]
HealsAfter = Annotated[
    int, typer.Option("--heals-after", metavar="LOOKS", min=1, max=100, help="Looks in a row that could see it and do not show it.")
]
RepeatAfter = Annotated[
    str, typer.Option("--repeat-after", metavar="TIME", help="At most one message per finding in this time: 30m, 1h; 1s for each change.")
]
Outputs = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FORMAT[=FILE]",
        help="terminal, plain or json (one document a line) of each change; openmetrics=FILE.prom after each look.",
        autocompletion=lambda: ["terminal", "plain", "json", "openmetrics="],
    ),
]


def register(app: typer.Typer) -> None:
    app.command("watch", short_help="Look again and again; say what opens, gets worse, heals.")(asking_live(watch))


def watch(
    context: typer.Context,
    paths: Paths = None,
    live: LiveSources = NOTHING_LIVE,
    every: Every = "60s",
    once: Once = False,
    state: StateOption = None,
    webhook: Webhooks = None,
    webhook_format: WebhookFormat = "json",
    command: Exec = None,
    save_dir: SaveDir = None,
    least: Severe = Least.WARNING,
    opens_after: OpensAfter = 2,
    heals_after: HealsAfter = 3,
    repeat_after: RepeatAfter = "1h",
    outputs: Outputs = None,
    since: Since = None,
    log_timezone: LogTimezone = None,
    only: Only = None,
    ignore: Ignore = None,
    rules: Rules = None,
    ignore_file: IgnoreFile = None,
    no_ignore_file: NoIgnoreFile = False,
    fail_on: FailOnOption = FailOn.CRITICAL,
    no_redact: NoRedact = False,
    redaction_key: RedactionKey = None,
    keep: Keep = None,
    spark_master: SparkMaster = DEFAULT_MASTER,
    cores: Cores = None,
    memory: Memory = DEFAULT_MEMORY,
    keep_warm: KeepWarm = False,
    no_cache: NoCache = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Look at a job again and again, and say only what changes: a finding opens, gets worse, or has healed.

    \b
    Examples:
      diag watch /var/log/flink --every 60s --state watch.json --save-dir incidents
      diag watch /var/log/flink --flink-rest http://jobmanager:8081 --webhook @slack-url --webhook-format slack
      diag watch --once --every 5m --state watch.json /var/log/flink -o openmetrics=diag.prom
      diag watch /var/log/flink --webhook http://alertmanager:9093 --webhook-format alertmanager

    Reads what triage reads. A finding opens when two looks in a row show it (--opens-after), and has healed when three in a row that could
    see it do not (--heals-after); what a look could not see stays as it is. Symptoms of a cause already reported are not sent separately.
    At most one message per finding per hour (--repeat-after). If it heals sooner, "healed" comes at the end of the hour, with the true
    times; if it is back by then, "reopened" says so. Alertmanager gets the true state at each look. A receiver that does not answer is
    tried again, later each time; its messages wait in --state, 200 at most, and it is reported how many were dropped.

    Permissions: those of triage; to write --state, --save-dir and the metrics. It connects to nothing but the addresses given, and changes
    nothing there. Ctrl-C and SIGTERM end it (130, 143). With --once: exit code 1 where a finding at or above --fail-on is open,
    else 3 where a source that was named could not be read.
    """
    environment: Environment = context.obj or Environment.real()
    environment.verbosity = int(verbose) - int(quiet)
    from cli.runs.watch_output import parsed, recipients

    wanted = parsed(outputs)
    interval, pause = seconds(every, "--every"), seconds(repeat_after, "--repeat-after")
    if not (paths or live.anything):
        raise UsageError("nothing was named to watch", "Give log files or directories, --flink-rest, --connect-rest or --bootstrap-server.")
    if "-" in (paths or ()):
        raise UsageError("diag watch reads no standard input", "Name the files: what has gone through a pipe cannot be read again.")
    if once and state is None:
        raise UsageError("--once needs --state FILE", "Without it no look knows of the one before, and none can say what changed.")
    to = recipients(wanted, webhook or [], webhook_format, command or [], interval, environment)
    from cli.commands.triage import existing

    existing(paths or [])
    own = own_rules(rules)
    chosen = choice(only, ignore, ignore_file, no_ignore_file, environment, own=own)
    options = RunOptions(
        only=chosen.only,
        ignore=chosen.ignore,
        expired=chosen.expired,
        own=own,
        fail_on=fail_on.value,
        since=moment(since),
        log_timezone=log_timezone,
        redact=not no_redact,
        redaction_key=redaction_key,
        keep=keep,
        spark_master=master_with(spark_master, cores),
        memory=heap(memory),
        keep_warm=keep_warm,
        cache=scan_cache(off=no_cache),
        verbosity=environment.verbosity,
    )
    live.collectors()  # an address that cannot be understood is refused before anything is started
    from cli.runs import ahead

    ahead.begin(options, environment)
    named = [*(paths or []), *live.named]
    how = "once" if once else f"every {every}"
    environment.say(f"diag {version()}: watching {', '.join(named[:3])}{' …' if len(named) > 3 else ''} {how}")
    from cli.runs.watch_output import watching

    run = watching(
        paths or [], live, options, every=interval, least=least.value, opens_after=opens_after, heals_after=heals_after,
        repeat_after=pause, state=state, save_dir=save_dir, metrics=wanted.metrics, recipients=to, environment=environment,
        version=version(), start=partial(ahead.engine, options),
    )  # fmt: skip
    if once:
        return run.once()
    run.run()
    return 0
