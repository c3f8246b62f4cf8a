"""Who reads what when: this process while Spark's JVM boots, then Spark, a few tasks at a time, so that there is something to show before
all is read."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

from analyzers.logs.selection import FilePart
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


def rounds(tasks: Sequence[Task], read: Read, spark: Spark | None) -> Iterator[Round]:
    """Tasks and what `read` found in them; `spark` None: all in this process. Raises what `read`, Spark's start or its jobs raise."""
    left = deque(tasks)
    if spark is None:
        while left:
            task = left.popleft()
            yield [task], list(read(task))
        return
    spent, done = 0.0, 0
    while left:
        if spark.is_ready or (len(left) > 1 and _weight(left[-1]) > LIGHT_BYTES):
            context, pace = spark.context(), spent / done if done else _SECONDS_PER_BYTE
            if _saved(left, context.defaultParallelism) * pace > WORKERS_START_SECONDS:
                yield from _on_spark(list(left), read, context)
                return
        task, began = left.pop(), time.monotonic()  # the lightest: the heavy ones are for all cores
        found = list(read(task))
        spent += time.monotonic() - began
        done += _weight(task)
        yield [task], found


def are_small(tasks: Iterable[Task]) -> bool:
    """Whether nobody should wait for Spark to read them."""
    return sum(map(_weight, tasks)) <= _HERE_BYTES


def _weight(task: Task) -> int:
    return sum(max(split.weight, 1) for split in task)


def _saved(tasks: Iterable[Task], cores: int) -> float:
    """How many bytes less than all of them the busiest of `cores` has to read."""
    weights = [_weight(task) for task in tasks]
    return sum(weights) - max(*weights, sum(weights) / max(cores, 1))


def _on_spark(tasks: list[Task], read: Read, context: SparkContext) -> Iterator[Round]:
    def run(tasks: Iterable[Task]) -> Iterator[FilePart]:
        for task in tasks:
            yield from read(task)

    def collect(tasks: list[Task]) -> list[FilePart]:
        return context.parallelize(tasks, len(tasks)).mapPartitions(run).collect()

    # while what one round found is put together by the caller, the next one runs
    ahead = ThreadPoolExecutor(1, thread_name_prefix="scan")
    waiting: deque[tuple[list[Task], Future[list[FilePart]]]] = deque()
    try:
        for some in _shared_out(tasks, max(context.defaultParallelism, 1)):
            waiting.append((some, ahead.submit(collect, some)))
            if len(waiting) > 1:
                done, found = waiting.popleft()
                yield done, found.result()
        while waiting:
            done, found = waiting.popleft()
            yield done, found.result()
    finally:
        ahead.shutdown(wait=False, cancel_futures=True)


def _shared_out(tasks: list[Task], cores: int) -> Iterator[list[Task]]:
    """One task for each core, then a few at a time."""
    at, each = 0, 1
    while some := tasks[at : at + each * cores]:
        yield some
        at, each = at + len(some), min(2 * each, _TASKS_PER_CORE)
