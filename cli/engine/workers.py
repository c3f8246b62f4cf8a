"""Python workers of Spark, started before there is work for them and ended as soon as there is none."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from cli.engine.settings import LOCAL_MASTER

if TYPE_CHECKING:
    from pyspark import SparkContext


class Starting(Protocol):
    """A Spark that may still be starting."""

    @property
    def is_local(self) -> bool: ...

    def context(self) -> SparkContext: ...


class Workers:
    """Those of `spark`. Elsewhere than on this host none are started ahead: they are there when Spark is."""

    def __init__(self, spark: Starting) -> None:
        self._spark = spark
        self._settled: threading.Event | None = None  # set when they are there, or jobs will tell why not

    def start(self) -> None:
        """Begin to start them, in the background; on the second call do nothing."""
        if self._settled is not None:
            return
        self._settled = settled = threading.Event()

        def begin() -> None:
            with suppress(Exception):  # whoever wants a context gets the error
                context = self._spark.context()
                with suppress(Exception):  # whoever has work for them gets it
                    if self._spark.is_local:
                        context.parallelize(range(context.defaultParallelism), context.defaultParallelism).count()
                settled.set()

        threading.Thread(target=begin, name="spark-workers", daemon=True).start()

    @property
    def are_there(self) -> bool:
        """Whether they were started, and a job in Python now begins, or fails, without a wait. Not where Spark failed."""
        return self._settled is not None and self._settled.is_set()

    def end(self) -> None:
        """End those that were started, which would keep what they read in memory for a minute. Their daemon ignores the signal, and makes
        new ones if Spark needs any."""
        settled, self._settled = self._settled, None
        if settled is None or not self._spark.is_local:
            return

        def hang_up() -> None:
            settled.wait()
            with suppress(Exception):  # they are gone, or the JVM is
                for pid in self._spark.context().parallelize([0], 1).mapPartitions(_daemons).collect():
                    os.killpg(pid, signal.SIGHUP)

        if settled.is_set():
            hang_up()
        else:
            threading.Thread(target=hang_up, name="spark-workers", daemon=True).start()


def _daemons(_: Iterable[int]) -> Iterator[int]:
    """The process whose fork this worker is, where that is ours. Runs in a worker."""
    main = getattr(sys.modules["__main__"], "__spec__", None)
    if main is not None and main.name == LOCAL_MASTER["spark.python.daemon.module"]:
        yield os.getppid()
