"""Ctrl-C and SIGTERM: exceptions in the main thread, raised where they do no harm."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from cli.shell.early import quietly

_STOPS = (signal.SIGINT, signal.SIGTERM)
_MACHINERY = "<frozen importlib"
_SOON_SECONDS = 0.01
_LONGEST_WAIT = 100
"""Times `_SOON_SECONDS` that Ctrl-C waits for an import to leave its locks alone: one that waits for ever must not hold it."""


class Terminated(BaseException):
    """SIGTERM arrived. No `Exception`, so that no ``except Exception`` swallows it and every ``finally`` still runs."""


@contextmanager
def postponed() -> Iterator[None]:
    """What must not be left half done, such as the end of a JVM and the removal of its files: Ctrl-C and SIGTERM arrive behind it."""
    arrived: list[int] = []
    with _handled_by(lambda number, _frame: arrived.append(number)):
        yield
    if arrived:
        os.kill(os.getpid(), arrived[0])


@contextmanager
def ignored() -> Iterator[None]:
    """For the last words of a run that was stopped already."""
    with _handled_by(signal.SIG_IGN):
        yield


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], object] | signal.Handlers) -> Iterator[None]:
    before: dict[signal.Signals, signal._HANDLER] = {}
    try:
        for number in _STOPS:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):  # a background job's, or set by no Python
                before[number] = signal.signal(number, handler)
    except ValueError:  # not the main thread, which alone hears of signals
        pass
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def listen(caught: list[int]) -> Callable[[], None]:
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
            if number == signal.SIGINT and signal.getsignal(number) not in (signal.default_int_handler, quietly):
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
