"""Work on Spark that takes long: its result and its errors come through, and meanwhile the user hears how far it is."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from cli.engine.spark import Engine
from cli.runs.waiting import waited


class Stages:
    """As much of an engine as is asked."""

    def __init__(self, done: tuple[int, int] | None) -> None:
        self.done, self.given_up, self.asked = done, False, threading.Event()

    def tasks_done(self) -> tuple[int, int] | None:
        self.asked.set()
        return self.done

    def give_up_jobs(self) -> None:
        self.given_up = True


def run(work: Any, stages: Stages, said: list[str]) -> Any:
    return waited(work, cast(Engine, stages), said.append, every=0.01)


def test_progress_is_said_while_the_work_goes_on() -> None:
    stages, said = Stages((12, 60)), list[str]()
    assert run(lambda: stages.asked.wait(10) and "all", stages, said) == "all"
    assert said[0] == "12 of 60 parts done\r"


@pytest.mark.parametrize("known", [None, (0, 1)])
def test_nothing_is_said_of_what_is_not_known_or_short(known: tuple[int, int] | None) -> None:
    stages, said = Stages(known), list[str]()
    run(lambda: stages.asked.wait(10), stages, said)
    assert said == []


def test_errors_come_through_a_time_out_of_the_work_among_them() -> None:
    def fails() -> None:
        raise TimeoutError("of the work")

    with pytest.raises(TimeoutError, match="of the work"):
        run(fails, Stages(None), [])


def test_after_ctrl_c_the_jobs_are_given_up_and_nothing_is_waited_for() -> None:
    stages, go_on = Stages((1, 60)), threading.Event()

    def interrupted(said: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        waited(lambda: go_on.wait(30), cast(Engine, stages), interrupted, every=0.01)
    assert stages.given_up
    go_on.set()
