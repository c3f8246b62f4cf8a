"""Long work on Spark in a thread of its own: meanwhile the user hears how far it is, and Ctrl-C is heard."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from cli.engine.spark import Engine

T = TypeVar("T")
_SAY_EVERY_SECONDS = 10.0
_WORTH_SAYING = 8  # tasks: a rule has fewer, and is done before anybody has read that


def waited(
    work: Callable[[], T],
    engine: Engine,
    progress: Callable[[str], None],
    *,
    every: float = _SAY_EVERY_SECONDS,
    far: Callable[[], str | None] = lambda: None,
) -> T:
    """What `work` gives; `far` says how far it is, where it knows better than Spark's tasks.

    Raises what it raises, and Ctrl-C at once: what PySpark does after that waits for an answer of the JVM."""
    thread = ThreadPoolExecutor(1, thread_name_prefix="work")
    try:
        done = thread.submit(work)
        while True:
            try:
                return done.result(every)
            except NotYet:
                if done.done():  # a time-out of the work itself
                    raise
                if (said := far()) is not None:
                    progress(f"{said}\r")
                elif (parts := engine.tasks_done()) is not None and parts[1] >= _WORTH_SAYING:
                    progress(f"{parts[0]:,} of {parts[1]:,} parts done\r")
    except BaseException as stop:
        if not isinstance(stop, Exception):
            engine.give_up_jobs()
        raise
    finally:
        thread.shutdown(wait=False, cancel_futures=True)
