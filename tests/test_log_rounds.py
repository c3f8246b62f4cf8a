"""Which tasks this process reads while Spark starts, and which ones are left to Spark; every task is read once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError

from analyzers.logs.scan.origin import Origin
from analyzers.logs.scan.selection import FilePart
from analyzers.readers.log_rounds import in_turn, rounds
from analyzers.readers.splits import LogFile, Split


class Starting:
    """A Spark of `cores` that is ready after `waits` looks; its jobs run here, in the order that they are given."""

    def __init__(self, waits: int, cores: int, ends_after: int | None = None, *, workers_only: bool = False) -> None:
        self.waits, self.ends_after, self.workers_only = waits, ends_after, workers_only
        self.jobs: list[list[list[Split]]] = []
        self.defaultParallelism = self.cores = cores
        self.asked = False
        self.workers = self  # they start, and end, with it

    def start(self) -> None:
        self.asked = True

    def end(self) -> None: ...

    @property
    def are_there(self) -> bool:
        self.waits -= 1
        return self.waits < 0

    def context(self) -> Any:
        return self

    def ended(self) -> str | None:
        return None if self.ends_after is None or self.workers_only else "killed"

    def parallelize(self, tasks: list[Any], slices: int) -> Any:
        if self.ends_after is not None and len(self.jobs) >= self.ends_after:
            raise Py4JError("Python worker exited unexpectedly") if self.workers_only else ConnectionError("nobody answers")
        self.jobs.append(tasks)
        assert slices <= len(tasks)
        return SimpleNamespace(
            mapPartitions=lambda run: SimpleNamespace(collect=lambda: list(run(tasks))),
            map=lambda do: SimpleNamespace(collect=lambda: list(map(do, tasks))),
        )


def of(sizes: Sequence[int]) -> list[list[Split]]:
    return [[Split(LogFile(str(n), (), Origin(str(n), n), size), 0, 0, size)] for n, size in enumerate(sizes)]


def read(splits: Sequence[Split]) -> Iterator[FilePart]:
    return (FilePart(split.file.origin.file, split.file.origin.order, split.part) for split in splits)


@pytest.fixture(autouse=True)
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second passes at each look."""
    seconds = iter(range(10_000))
    monkeypatch.setattr("analyzers.readers.log_rounds.time", SimpleNamespace(monotonic=lambda: next(seconds)))


@pytest.mark.parametrize(("waits", "cores", "here"), [(0, 2, 1), (3, 2, 3), (99, 2, 12), (3, 1, 12), (10, 2, 12), (10, 64, 12), (6, 64, 6)])
def test_this_process_reads_the_lightest_until_several_cores_are_worth_their_start(waits: int, cores: int, here: int) -> None:
    tasks, spark = of([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]), Starting(waits, cores)
    done = list(rounds(tasks, lambda: read, spark))
    of_this_process = [given for given, _ in done[:here]]
    assert of_this_process == [[task] for task in tasks[::-1][:here]]
    assert [task for job in spark.jobs for task in job] == tasks[: len(tasks) - here]
    assert [len(given) for given in spark.jobs[:1]] == [min(cores, len(tasks) - here)][: len(spark.jobs)]
    read_of = [part.file for given, found in done for part in found]
    assert sorted(read_of) == sorted(str(n) for n in range(12))


@pytest.mark.parametrize(("cores", "asked"), [(16, True), (2, False)])
def test_many_cores_are_worth_workers_for_less(cores: int, asked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 500 MB, read at 67 MB/s, 16 cores save 7 s and two 3.6."""
    seconds = count(0, 0.3)
    monkeypatch.setattr("analyzers.readers.log_rounds.time", SimpleNamespace(monotonic=lambda: next(seconds)))
    spark = Starting(1000, cores)
    list(rounds(of([20_000_000] * 25), lambda: read, spark))
    assert spark.asked == asked


@pytest.mark.parametrize(("sizes", "here"), [([900, 800], 0), ([900, 800, 1], 1), ([900], 1), ([900, 1, 1], 3), ([300, 200], 2)])
def test_a_heavy_task_waits_for_spark_unless_it_is_the_only_one(sizes: list[int], here: int) -> None:
    tasks, spark = of([size << 20 for size in sizes]), Starting(9, 2)
    done = list(rounds(tasks, lambda: read, spark))
    assert len(done) - len(spark.jobs) == here
    assert sum(len(job) for job in spark.jobs) == len(tasks) - here


@pytest.mark.parametrize("spark", [None, Starting(99, 2), Starting(0, 2)])
def test_both_ends_of_a_file_come_before_what_stands_between(spark: Starting | None) -> None:
    files = [LogFile(str(n), (), Origin(str(n), n), 400, splittable=True) for n in range(2)]
    tasks = [[Split(file, part, part * 100, part * 100 + 100, False)] for file in files for part in range(4)]
    done = [task[0].part for given, _ in rounds(tasks, lambda: read, spark) for task in given]
    assert sorted(done[:4]) == [0, 0, 3, 3]
    assert sorted(done[4:]) == [1, 1, 2, 2]


def test_what_fails_on_spark_is_raised_where_the_rounds_are_asked_for() -> None:
    def fails(splits: Sequence[Split]) -> Iterator[FilePart]:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(rounds(of([900 << 20, 800 << 20]), lambda: fails, Starting(0, 2)))


@pytest.mark.parametrize(("waits", "cores", "ends_after", "dealt"), [(3, 2, None, 16), (99, 2, None, 0), (0, 1, None, 0), (3, 2, 0, 0)])
def test_what_is_left_when_workers_are_there_is_looked_at_by_them_in_its_order(
    waits: int, cores: int, ends_after: int | None, dealt: int
) -> None:
    spark = Starting(waits, cores, ends_after)
    assert list(in_turn(range(20), str, spark)) == [str(number) for number in range(20)]
    assert sum(map(len, spark.jobs)) == dealt


@pytest.mark.parametrize("workers_only", [False, True])
@pytest.mark.parametrize("jobs", [0, 1, 2, 5])
def test_what_a_spark_that_was_killed_did_not_read_this_process_reads(jobs: int, workers_only: bool) -> None:
    tasks, spark = of([900 << 20] * 12), Starting(0, 2, ends_after=jobs, workers_only=workers_only)
    done = list(rounds(tasks, lambda: read, spark))
    assert len(spark.jobs) <= jobs
    assert sorted(part.file for _, found in done for part in found) == sorted(str(n) for n in range(12))
