"""PySpark's own launcher, bounded: it waits for a JVM for as long as that takes, also for one that has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


class _Launcher(subprocess.Popen[bytes]):
    """PySpark's launcher, which waits for ever where it ends with 0 and has not said on which port it listens."""

    def poll(self) -> int | None:
        code = super().poll()
        return code if code is None else code or 1


@contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """A launcher that has said nothing by then is ended, and PySpark raises; no process of one that failed stays."""
    from pyspark import java_gateway

    module: Any = java_gateway
    started: list[_Launcher] = []

    def popen(*arguments: Any, **options: Any) -> _Launcher:
        started.append(_Launcher(*arguments, **options, start_new_session=True))
        return started[-1]

    def end() -> None:
        for process in started:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # the shell that builds its command, and the JVM

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    module.Popen = popen
    timer.start()
    try:
        yield
    except BaseException:
        end()
        raise
    finally:
        timer.cancel()
        module.Popen = subprocess.Popen
