"""Who reads what when: this process while Spark's JVM boots, then Spark, a few tasks at a time, so that there is something to show before
all is read."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from analyzers.logs.scan.selection import FilePart
from analyzers.readers.splits import Split

if TYPE_CHECKING:
    from pyspark import SparkContext

_TASKS_PER_CORE = 4  # of one round; the wait for its last task is short beside them
_HERE_BYTES = 32 << 20
"""Unpacked; so much is read by this process before a Python worker of Spark would have started."""
LIGHT_BYTES = 96 << 20
"""Of a heavier task, such as a large packed file, all cores but one would wait for the end."""
WORKERS_START_SECONDS = 3.0
"""What several cores must save to be worth the start of their workers: measured beside a JVM that still loads the classes of queries."""
_SECONDS_PER_BYTE = 1 / 150e6  # taken for the pace where nothing was read yet

Task = list[Split]
Read = Callable[[Sequence[Split]], Iterable[FilePart]]
Round = tuple[list[Task], list[FilePart]]


class Spark(Protocol):
    """A Spark that may still be starting."""

    @property
    def is_ready(self) -> bool:
        """Whether `context` gives, or raises, without a wait."""

    def context(self) -> SparkContext: ...

    def ended(self) -> str | None:
        """Why it is no more, in a clause; None while it is there."""


def rounds(tasks: Sequence[Task], reading: Callable[[], Read], spark: Spark | None) -> Iterator[Round]:
    """Tasks and what was found in them by `reading()`, which is asked again for those that begin later; `spark` None, or one whose
    job failed meanwhile: in this process. Raises what the reading, Spark's start or its jobs raise.
    """
    left = in_order(tasks)
    if spark is None:
        yield from _here(left, reading)
        return
    spent, done = 0.0, 0
    while left:
        task = min(reversed(left), key=_most_for_this_process)
        if spark.is_ready or (len(left) > 1 and _weight(task) > LIGHT_BYTES):
            context, pace = spark.context(), spent / done if done else _SECONDS_PER_BYTE
            if _saved(left, context.defaultParallelism) * pace > WORKERS_START_SECONDS:
                read: set[int] = set()
                try:
                    for some, parts in _on_spark(left, reading, context):
                        read.update(map(id, some))
                        yield some, parts
                except Exception as error:
                    # its workers may end as well, and take the job along; what the reading itself raises it raises here, too
                    if not type(error).__module__.startswith(("py4j.", "pyspark.")) and spark.ended() is None:
                        raise
                    yield from _here([other for other in left if id(other) not in read], reading)
                return
        left.remove(task)
        began = time.monotonic()
        found = list(reading()(task))
        spent += time.monotonic() - began
        done += _weight(task)
        yield [task], found


def _here(tasks: Iterable[Task], reading: Callable[[], Read]) -> Iterator[Round]:
    for task in tasks:
        yield [task], list(reading()(task))


def in_order(tasks: Sequence[Task]) -> list[Task]:
    """The beginning and the end of each file before what stands between: once they are known, little has to be kept of that. Else as they
    come, the heaviest first."""
    return sorted(tasks, key=_is_inside)


def _most_for_this_process(task: Task) -> tuple[bool, bool, int]:
    """The lightest first: the heavy ones are for all cores."""
    weight = _weight(task)
    return weight > LIGHT_BYTES, _is_inside(task), weight


def _is_inside(task: Task) -> bool:
    """Whether it reads neither the beginning nor the end of a file."""
    return all(split.start > 0 and split.end < split.file.size for split in task)


def fits_in_driver(tasks: Iterable[Task]) -> bool:
    """Whether the input is small enough to scan in this process."""
    return sum(map(_weight, tasks)) <= _HERE_BYTES


def _weight(task: Task) -> int:
    return sum(max(split.weight, 1) for split in task)


def _saved(tasks: Iterable[Task], cores: int) -> float:
    """How many bytes less than all of them the busiest of `cores` has to read."""
    weights = [_weight(task) for task in tasks]
    return sum(weights) - max(*weights, sum(weights) / max(cores, 1))


def _on_spark(tasks: list[Task], reading: Callable[[], Read], context: SparkContext) -> Iterator[Round]:
    def collect(tasks: list[Task], read: Read) -> list[FilePart]:
        def run(tasks: Iterable[Task]) -> Iterator[FilePart]:
            for task in tasks:
                yield from read(task)

        return context.parallelize(tasks, len(tasks)).mapPartitions(run).collect()

    # while what one round found is put together by the caller, the next one runs
    ahead = ThreadPoolExecutor(1, thread_name_prefix="scan")
    waiting: deque[tuple[list[Task], Future[list[FilePart]]]] = deque()
    try:
        for some in _shared_out(tasks, max(context.defaultParallelism, 1)):
            waiting.append((some, ahead.submit(collect, some, reading())))
            if len(waiting) > 1:
                done, found = waiting.popleft()
                yield done, found.result()
        while waiting:
            done, found = waiting.popleft()
            yield done, found.result()
        _let_workers_go(context)
    finally:
        ahead.shutdown(wait=False, cancel_futures=True)


def _let_workers_go(context: SparkContext) -> None:
    """Ends the Python workers of Spark, which would keep the catalogue and what they read in memory for a minute. Spark starts new ones if
    it needs any."""

    def daemon(_: Iterable[int]) -> Iterator[int]:
        main = getattr(sys.modules["__main__"], "__spec__", None)
        if main is not None and main.name == "pyspark.daemon":
            yield os.getppid()

    for pid in context.parallelize([0], 1).mapPartitions(daemon).collect():
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)


def _shared_out(tasks: list[Task], cores: int) -> Iterator[list[Task]]:
    """One task for each core, then a few at a time."""
    at, each = 0, 1
    while some := tasks[at : at + each * cores]:
        yield some
        at, each = at + len(some), min(2 * each, _TASKS_PER_CORE)
