"""The options of `diag watch`, as a watch takes them: where changes go, and what is one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analyzers.report.finding import Severity
from analyzers.watching.steps import Policy
from cli.options.shared import RunOptions
from cli.runs import watch_bundles
from cli.runs.live_sources import LiveSources
from cli.runs.watch import Watch, Watched
from cli.runs.watch_receivers import Command, Receiver, Screen, webhooks
from cli.runs.watch_state import StateFile
from cli.shell.exits import CannotLook, UsageError

if TYPE_CHECKING:
    from cli.engine.spark import Engine
    from cli.shell.environment import Environment

FORMATS = ("terminal", "plain", "json")
_LEAST_SECONDS, _MOST_SECONDS = 1.0, 86_400.0


@dataclass(frozen=True)
class Wanted:
    """The format of standard output (None: as it fits), and the file of metrics."""

    form: str | None = None
    metrics: Path | None = None


def parsed(outputs: Sequence[str] | None) -> Wanted:
    """Each ``FORMAT[=FILE]``. Raises `UsageError`, and `CannotLook` for a directory that is not there."""
    form: str | None = None
    metrics: Path | None = None
    for output in outputs or ():
        name, _, path = output.partition("=")
        if name == "openmetrics":
            if path in ("", "-"):
                raise UsageError("-o openmetrics: no file is named", "Write -o openmetrics=/var/lib/node_exporter/textfile/diag.prom.")
            metrics = Path(path)
            if not metrics.parent.is_dir():
                raise CannotLook(f"-o openmetrics: there is no directory {metrics.parent}", "Name a file of one that is there.")
        elif name not in FORMATS or path:
            raise UsageError(
                f"-o {output} is no output of diag watch", f"Choose one of {', '.join(FORMATS)} for the screen, and openmetrics=FILE."
            )
        elif form is not None:
            raise UsageError("two formats would be mixed on stdout", f"Choose one of {', '.join(FORMATS)}.")
        else:
            form = name
    return Wanted(form, metrics)


def recipients(
    wanted: Wanted, addresses: Sequence[str], form: str, commands: Sequence[str], every: float, environment: Environment
) -> list[Receiver]:
    """Who gets the changes, standard output first. Raises `UsageError`."""
    if not _LEAST_SECONDS <= every <= _MOST_SECONDS:
        raise UsageError(f"--every: {every:g} s is too {'short' if every < _LEAST_SECONDS else 'long'}", "From 1s to 24h.")
    screen = Screen(environment, wanted.form or ("terminal" if environment.stdout_is_tty else "plain"))
    found: list[Receiver] = [screen, *webhooks(addresses, form, every), *(Command(each) for each in commands)]
    if len({each.key for each in found}) < len(found):
        raise UsageError("one receiver is named twice", "Name each --webhook and --exec once.")
    return found


def watching(
    paths: Sequence[str],
    live: LiveSources,
    options: RunOptions,
    *,
    every: float,
    least: str,
    opens_after: int,
    heals_after: int,
    repeat_after: float,
    state: Path | None,
    save_dir: Path | None,
    metrics: Path | None,
    recipients: Sequence[Receiver],
    environment: Environment,
    version: str,
    start: Callable[[], Engine],
) -> Watch:
    """A watch that is about to begin. Raises `CannotLook` where its files cannot be had."""
    if save_dir is not None:
        watch_bundles.directory(save_dir)
    policy = Policy(opens_after, heals_after, repeat_after, least=Severity(least))
    watched = Watched(paths, live, options, every, policy, save_dir, metrics)
    return Watch(watched, recipients, StateFile(state, time.monotonic, time.time), environment, version, start)
