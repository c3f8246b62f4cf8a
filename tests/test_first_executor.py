"""A master without workers lets Spark wait for ever: diag says so after a minute."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from cli.engine.executors import FIRST_SECONDS, wait_for_executors
from cli.shell.exits import CannotLook


class Context:
    """One whose first job does what `job` does; counts how often its jobs were cancelled."""

    def __init__(self, job: Callable[[], object]) -> None:
        self._jsc = self
        self._job = job
        self.cancelled = 0

    def sc(self) -> Context:
        return self

    def range(self, *_: int) -> Context:
        return self

    def count(self) -> object:
        return self._job()

    def cancelAllJobs(self) -> None:  # Spark's
        self.cancelled += 1


def waited(job: Callable[[], object]) -> Context:
    context: Any = Context(job)
    wait_for_executors(context, "spark://master:7077", seconds=0.2)
    return context


def test_a_master_that_gives_none_is_said_and_its_job_cancelled() -> None:
    forever = threading.Event()
    context: Any = Context(forever.wait)
    with pytest.raises(CannotLook, match=r"spark://master:7077 gave no executor within 0 seconds\.") as said:
        wait_for_executors(context, "spark://master:7077", seconds=0.2)
    forever.set()
    assert "worker" in said.value.hint
    assert context.cancelled == 1


def test_one_that_works_is_not_waited_for() -> None:
    assert waited(lambda: 1).cancelled == 0


def test_what_the_first_job_says_is_said() -> None:
    def fails() -> object:
        raise OSError("the executor ended")

    with pytest.raises(OSError, match="the executor ended"):
        waited(fails)


def test_a_queue_has_time_to_give_one() -> None:
    assert 30 <= FIRST_SECONDS <= 120
