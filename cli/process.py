"""The one place that turns what happened into an exit code: errors, signals, a closed pipe. No traceback reaches the user."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType

import typer

from cli.exits import DiagError, ExitCode
from cli.terminal import Environment, silence

_MACHINERY = "<frozen importlib"
_SOON_SECONDS = 0.01
_LONGEST_WAIT = 100
"""Times `_SOON_SECONDS` that Ctrl-C waits for an import to leave its locks alone: one that waits for ever must not hold it."""

_CLICK_ERROR: type[Exception] = typer.BadParameter.__mro__[2]
"""``ClickException``: click's own with Typer < 0.20, a copy inside Typer since then; only the mro has it in both."""


class Terminated(BaseException):
    """SIGTERM arrived. No `Exception`, so that no ``except Exception`` swallows it and every ``finally`` still runs."""


def supervise(body: Callable[[], int | None], environment: Environment) -> int:
    """Run `body`; its exit code, or that of the error, signal or defect that ended it, told in one sentence on stderr."""
    caught: list[int] = []
    restore = _listen(caught)
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


def _stopped(number: int, environment: Environment) -> int:
    environment.complain("terminated" if number == signal.SIGTERM else "interrupted")
    return ExitCode.TERMINATED if number == signal.SIGTERM else ExitCode.INTERRUPTED


def _explain(error: Exception, environment: Environment) -> int:
    if os.environ.get("DIAG_DEBUG"):
        environment.complain("".join(traceback.format_exception(error)))
    if isinstance(error, DiagError):
        _tell(environment, error.message, error.hint)
        return error.exit_code
    from analyzers.bundle import BundleError, BundleNotFound  # only now: reading and packing are not needed for --help

    if isinstance(error, BundleError):
        _tell(environment, error.message, error.hint)
        return ExitCode.USAGE if isinstance(error, BundleNotFound) else ExitCode.CANNOT_LOOK
    if isinstance(error, _CLICK_ERROR):
        _tell_usage(error, environment)
        return ExitCode.USAGE
    try:
        first_line = (str(error).splitlines() or [""])[0]
    except Exception:  # the text of Py4J's errors lives in a JVM that may have gone; an escaping error would exit with 1: findings
        first_line = "it cannot say why any more"
    _tell(
        environment,
        f"this is a defect in diag: {type(error).__name__}: {first_line}",
        "" if os.environ.get("DIAG_DEBUG") else "Run the same command with DIAG_DEBUG=1 for the traceback.",
    )
    return ExitCode.DEFECT


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


def _listen(caught: list[int]) -> Callable[[], None]:
    """Turn SIGTERM and Ctrl-C into exceptions and note them in `caught`; what brings back the handlers that were there before.

    An exception that is raised inside the import machinery leaves an import lock taken, for which every other thread then waits; one
    in the callback of a weak reference or in a ``__del__`` is reported and dropped. Either way the run would go on, or hang: there the
    exception is raised a moment later.
    """
    waited = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal waited
        caught.append(number)
        if frame is not None and frame.f_code.co_filename.startswith(_MACHINERY) and waited < _LONGEST_WAIT:
            waited += 1
            again_soon()
        elif number == signal.SIGTERM:
            raise Terminated
        else:
            raise KeyboardInterrupt

    def again_soon() -> None:
        signal.signal(signal.SIGALRM, lambda _number, frame: stop(caught[0], frame))
        signal.setitimer(signal.ITIMER_REAL, _SOON_SECONDS)

    def dropped(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, (KeyboardInterrupt, Terminated)) and caught:
            again_soon()
        else:
            hook(unraisable)

    previous: dict[int, signal._HANDLER] = {}
    hook = sys.unraisablehook
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            if number == signal.SIGINT and signal.getsignal(number) is not signal.default_int_handler:
                continue  # ignored (a background job) or somebody else's
            previous[number] = signal.signal(number, stop)
        except ValueError:  # not the main thread (a notebook, a test): whoever owns the process keeps its signals
            break
    if previous:
        previous[signal.SIGALRM] = signal.getsignal(signal.SIGALRM)
        sys.unraisablehook = dropped

    def restore() -> None:
        if previous:
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.unraisablehook = hook
        for number, handler in previous.items():
            signal.signal(number, handler)

    return restore


def _flush(environment: Environment) -> None:
    if environment.stdout_closed:
        return
    try:
        environment.stdout.flush()
    except BrokenPipeError:
        silence(environment.stdout)
