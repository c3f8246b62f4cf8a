"""The JVM of a command that will judge, spawned before the command itself is loaded: that takes Python half as long as a JVM its start."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from cli.engine.spark import Engine
from cli.shell.exits import DiagError

if TYPE_CHECKING:
    from cli.options.shared import RunOptions
    from cli.shell.environment import Environment

_begun: list[Engine] = []


def begin(options: RunOptions, environment: Environment) -> None:
    """Spawn the JVM of this run, unless it needs none. What prevents it is raised by `engine`."""
    if environment.own_process and not options.facts_only:
        with suppress(DiagError):
            _begun.append(_start(options))


def engine(options: RunOptions) -> Engine:
    """The engine of this run, begun or not. Raises as `Engine.start`."""
    return _begun.pop() if _begun else _start(options)


def drop() -> None:
    """End what was begun for a run that came to nothing."""
    while _begun:
        _begun.pop().stop()


def _start(options: RunOptions) -> Engine:
    return Engine.start(options.spark_master, memory=options.memory, keep_warm=options.keep_warm)
