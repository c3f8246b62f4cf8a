"""The one place that turns what happened into an exit code: errors, signals, a closed pipe. No traceback reaches the user."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

import typer

from cli.shell.environment import Environment, silence
from cli.shell.exits import DiagError, ExitCode
from cli.shell.host import of_the_host
from cli.shell.signals import Terminated, ignored, listen

_CLICK_ERROR: type[Exception] = typer.BadParameter.__mro__[2]
"""``ClickException``: click's own with Typer < 0.20, a copy inside Typer since then; only the mro has it in both."""


def supervise(body: Callable[[], int | None], environment: Environment) -> int:
    """Run `body`; its exit code, or that of the error, signal or defect that ended it, told in one sentence on stderr."""
    caught: list[int] = []
    restore = listen(caught)
    try:
        code = int(body() or 0)
        _flush(environment)
        return code
    except typer.Exit as leave:
        _flush(environment)
        return int(leave.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _stopped(signal.SIGINT, environment)
    except Terminated:
        return _stopped(signal.SIGTERM, environment)
    except BrokenPipeError:  # the reader has seen enough: no failure, and no finding either
        silence(sys.stdout)
        return ExitCode.CLEAN
    except Exception as error:
        if caught:  # a library's clean-up tripped over the interruption; its own error says nothing
            return _stopped(caught[0], environment)
        return _explain(error, environment)
    finally:
        restore()


def leave(code: int) -> NoReturn:
    """End this process with `code`, at once: for Python to put its modules and threads away takes up to 0.3 s, and another Ctrl-C in
    that time would end a finished run as one that was stopped, or with a traceback. What has to be put away was: see `Engine.stop`."""
    with ignored():
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # closed, full, or none at all
                stream.flush()
        os._exit(code)


def _stopped(number: int, environment: Environment) -> int:
    with ignored():
        environment.complain("terminated" if number == signal.SIGTERM else "interrupted")
    return ExitCode.TERMINATED if number == signal.SIGTERM else ExitCode.INTERRUPTED


def _explain(error: Exception, environment: Environment) -> int:
    if os.environ.get("DIAG_DEBUG"):
        environment.complain("".join(traceback.format_exception(error)))
    if isinstance(error, _CLICK_ERROR):
        _tell_usage(error, environment)
        return ExitCode.USAGE
    message, hint, code = in_words(error)
    _tell(environment, message, hint if code != ExitCode.DEFECT or not os.environ.get("DIAG_DEBUG") else "")
    return code


def in_words(error: Exception) -> tuple[str, str, ExitCode]:
    """What `error` means for the user: what was tried, what to do next, and the exit code."""
    if isinstance(error, DiagError):
        return error.message, error.hint, error.exit_code
    from analyzers.bundle import BundleError, BundleNotFound  # only now: reading and packing are not needed for --help

    if isinstance(error, BundleError):
        return error.message, error.hint, ExitCode.USAGE if isinstance(error, BundleNotFound) else ExitCode.CANNOT_LOOK
    told = of_the_host(error)
    if told is not None:
        return told.message, told.hint, told.exit_code
    try:
        first_line = (str(error).splitlines() or [""])[0]
    except Exception:  # the text of Py4J's errors lives in a JVM that may have gone; an escaping error would exit with 1: findings
        first_line = "it cannot say why any more"
    message = f"this is a defect in diag: {type(error).__name__}: {first_line}"
    return message, "Run the same command with DIAG_DEBUG=1 for the traceback.", ExitCode.DEFECT


def _tell(environment: Environment, message: str, hint: str) -> None:
    environment.complain(f"diag: {message}" + (f"\n      {hint}" if hint else ""))


def _tell_usage(error: Exception, environment: Environment) -> None:
    context = getattr(error, "ctx", None)
    message = getattr(error, "format_message", lambda: str(error))()
    if type(error).__name__ == "NoArgsIsHelpError":  # its message is the whole help
        environment.complain(message)
        return
    command = context.command_path if context is not None else "diag"
    _tell(environment, message, f"See {command} -h")


def _flush(environment: Environment) -> None:
    if environment.stdout_closed:
        return
    try:
        environment.stdout.flush()
    except BrokenPipeError:
        silence(environment.stdout)
