"""``diag collect``: evidence into a bundle, for later or for somebody else; nothing is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.commands.triage import Paths, existing, only_planned, piped
from cli.options.own_rules import Rules, own_rules
from cli.options.report import Keep, NoRedact, Quiet, RedactionKey
from cli.options.shared import LogTimezone, RunOptions
from cli.runs.live_sources import NOTHING_LIVE, LiveSources, asking_live
from cli.shell.environment import Environment
from cli.shell.exits import ExitCode
from cli.version import version

Into = Annotated[
    Path,
    typer.Option("--save", metavar="PATH", help="The bundle to write: a directory, .tar.gz or .tar.zst; an existing one gets the samples."),
]


def register(app: typer.Typer) -> None:
    app.command("collect", short_help="Write the evidence to a bundle; judge nothing.")(asking_live(collect, kube=True))


def collect(
    context: typer.Context,
    save: Into,
    paths: Paths = None,
    live: LiveSources = NOTHING_LIVE,
    log_timezone: LogTimezone = None,
    rules: Rules = None,
    no_redact: NoRedact = False,
    redaction_key: RedactionKey = None,
    keep: Keep = None,
    quiet: Quiet = False,
) -> int:
    """Write what can be seen now to a bundle: before a restart removes it, or for somebody who may not look for himself.

    \b
    Examples:
      diag collect /var/log/flink --bootstrap-server kafka-1:9092 --save incident.tar.gz
      diag collect --flink-rest http://jobmanager:8081 --save before-the-restart.tar.gz
      diag collect --kube shop --save incident.tar.gz --yes
      diag triage --bundle incident.tar.gz

    Reads what triage reads. With --kube NAMESPACE it prints the kubectl commands that it would run (get of pods, events, Flink's, Spark's
    and Strimzi's objects; logs of the pods that run streaming jobs) and runs them with --yes only: with your kubectl, context and rights.
    No secret and no config map is asked for, and environments and arguments of pods are not kept.

    Every word that is not known to be harmless is replaced by a token, secrets are cut out; see --no-redact, --keep and --redaction-key.
    A few lines of each kind are kept of logs, not the logs: of what rules of your own look for only with --rules.

    Permissions: those of triage. It starts no JVM and changes nothing but the bundle.
    """
    environment: Environment = context.obj or Environment.real()
    environment.verbosity = -int(quiet)
    own = own_rules(rules)
    collectors = live.collectors()
    existing(paths or [])
    if planned := live.planned():
        return only_planned(planned, environment)
    environment.say(f"diag {version()}: collecting into {save}")
    from cli.runs.collect import write_evidence

    options = RunOptions(
        save=save,
        redact=not no_redact,
        redaction_key=redaction_key,
        keep=keep,
        log_timezone=log_timezone,
        verbosity=environment.verbosity,
        own=own,
    )
    stdin = piped(environment) if "-" in (paths or ()) else None
    with live.answered(environment.say) as answers:
        others = collectors if answers.stop is None else []
        whole, lines = write_evidence(
            [*(paths or []), *answers.paths], options, version=version(), stdin=stdin, collectors=[*others, *answers.collectors],
            names=answers.names, progress=environment.say,
        )  # fmt: skip
    environment.write("".join(f"{line}\n" for line in lines))
    return ExitCode.CLEAN if whole else ExitCode.CANNOT_LOOK
