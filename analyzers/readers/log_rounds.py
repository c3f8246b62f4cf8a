"""Who reads what when: this process until Spark's workers are there, then these, a few tasks at a time, so that there is something to show
before all is read."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from analyzers.logs.scan.selection import FilePart
from analyzers.readers.splits import Split
from analyzers.tables.memory import gc_paused

if TYPE_CHECKING:
    from pyspark import SparkContext

_TASKS_PER_CORE = 4  # of one round; the wait for its last task is short beside them
_HERE_BYTES = 32 << 20
"""Unpacked; so much is read by this process before a Python worker of Spark would have started."""
_WORKERS_BYTES = 512 << 20
_WORKERS_FILES = 1500
"""So much is read, so many are looked at, by this process before workers that are started at once are there."""
LIGHT_BYTES = 96 << 20
"""Of a heavier task, such as a large packed file, all cores but one would wait for the end."""
WORTH_SECONDS = 3.0
"""What several cores must save to be worth what it costs that others read: of 265 MB 5 s of CPU to start them and to carry here what they
found, beside a JVM that still loads the classes of queries."""
_START_SECONDS = 1.5  # this process reads on until workers are there; less is left then
_WORTH_A_LOOK_SECONDS = 0.5  # what is found at the head of a file is soon carried
_SECONDS_PER_BYTE = 1 / 150e6  # taken for the pace where nothing was read yet

Task = list[Split]
Read = Callable[[Sequence[Split]], Iterable[FilePart]]
Round = tuple[list[Task], list[FilePart]]
Item = TypeVar("Item")
Done = TypeVar("Done")


class Workers(Protocol):
    """Python workers of a Spark."""

    def start(self) -> None:
        """Begin to start them, and do not wait."""

    @property
    def are_there(self) -> bool:
        """Whether they were started, and are there; not where Spark did not start."""

    def end(self) -> None:
        """End those that were started, which would keep the catalogue and what they read in memory."""


class Spark(Protocol):
    """A Spark that may still be starting."""

    @property
    def workers(self) -> Workers: ...

    @property
    def cores(self) -> int | None:
        """How many it works on; None while it starts, and where it did not."""

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
    if is_much(0, sum(map(_weight, left))):
        spark.workers.start()
    yield from _rounds(left, reading, spark)
    spark.workers.end()


def _rounds(left: list[Task], reading: Callable[[], Read], spark: Spark) -> Iterator[Round]:
    spent, done = 0.0, 0
    while left:
        task = min(reversed(left), key=_most_for_this_process)
        pace = spent / done if done else _SECONDS_PER_BYTE
        if (cores := spark.cores) is not None and _saved(left, cores) * pace > WORTH_SECONDS + _START_SECONDS:
            spark.workers.start()  # of many cores also for what is not much for two
        if spark.workers.are_there or (len(left) > 1 and _weight(task) > LIGHT_BYTES):
            context = spark.context()
            if _saved(left, context.defaultParallelism) * pace > WORTH_SECONDS:
                read: set[int] = set()
                try:
                    for some, parts in _on_spark(left, reading, context):
                        read.update(map(id, some))
                        yield some, parts
                except Exception as error:
                    if not _is_of_spark(error, spark):
                        raise
                    yield from _here([other for other in left if id(other) not in read], reading)
                return
        left.remove(task)
        began = time.monotonic()
        found = list(reading()(task))
        spent += time.monotonic() - began
        done += _weight(task)
        yield [task], found


def _is_of_spark(error: Exception, spark: Spark) -> bool:
    """Its workers may end as well, and take the job along; what the work itself raises it raises in this process, too."""
    return type(error).__module__.startswith(("py4j.", "pyspark.")) or spark.ended() is not None


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


def in_turn(items: Sequence[Item], do: Callable[[Item], Done], spark: Spark | None) -> Iterator[Done]:
    """`do` of each of `items`, which take about as long as each other, in their order; those that are left when the workers of `spark` are
    there, by these. Raises what `do` raises."""
    began = time.monotonic()
    for number, item in enumerate(items):
        if spark is not None and number and spark.workers.are_there:
            context = spark.context()
            left, cores = items[number:], max(context.defaultParallelism, 1)
            if (time.monotonic() - began) / number * len(left) * (1 - 1 / cores) > _WORTH_A_LOOK_SECONDS:
                yield from _dealt(left, do, spark, cores)
                return
        yield do(item)


def _dealt(items: Sequence[Item], do: Callable[[Item], Done], spark: Spark, cores: int) -> Iterable[Done]:
    job = ThreadPoolExecutor(1, thread_name_prefix="look")  # Ctrl-C then finds no answer half read
    try:
        return job.submit(lambda: spark.context().parallelize(items, cores * _TASKS_PER_CORE).map(do).collect()).result()
    except Exception as error:
        if not _is_of_spark(error, spark):
            raise
        return map(do, items)
    finally:
        job.shutdown(wait=False, cancel_futures=True)


def is_much(files: int, size: int) -> bool:
    """Whether workers are of use for that."""
    return files > _WORKERS_FILES or size > _WORKERS_BYTES


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
        def run(tasks: Iterable[Task]) -> Iterator[bytes]:
            for task in tasks:
                yield _packed(list(read(task)))

        found = context.parallelize(tasks, len(tasks)).mapPartitions(run).collect()
        return [part for each in found for part in _unpacked(each)]

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
    finally:
        ahead.shutdown(wait=False, cancel_futures=True)


def _packed(found: object) -> bytes:
    """A thirtieth of what Spark's JVM would else carry from a worker to this process: it is slow at that."""
    import zstandard

    with gc_paused():
        return zstandard.compress(pickle.dumps(found, pickle.HIGHEST_PROTOCOL), 1)


def _unpacked(found: bytes) -> Any:
    import zstandard

    with gc_paused():
        return pickle.loads(zstandard.decompress(found))


def _shared_out(tasks: list[Task], cores: int) -> Iterator[list[Task]]:
    """One task for each core, then a few at a time."""
    at, each = 0, 1
    while some := tasks[at : at + each * cores]:
        yield some
        at, each = at + len(some), min(2 * each, _TASKS_PER_CORE)
