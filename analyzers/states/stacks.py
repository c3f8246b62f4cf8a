"""Stacks of programs that are no Java: threads, goroutines and tasks as rows of the same tables as those of a JVM."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from analyzers.budget import BUDGET
from analyzers.components import component_of
from analyzers.components.toml_files import toml_file
from analyzers.logs.matching.expressions import expression
from analyzers.states.frames import CALLED
from analyzers.states.state import State, Values
from analyzers.states.thread_dumps import SHAPE

MOST_FRAMES = 60
MOST_STACKS = BUDGET.stacks
_CONSUMES = expression(r"(?i)consum|[._]poll|poll_?loop|listener|kafka\w*(?:loop|worker|reader|subscri)")
"""Names of functions that read from Kafka, as people call them."""
_CLOSURE = expression(r"\.func\d+(?:\.\d+)*$")
"""A goroutine of a single piece of work; one whose result is no longer wanted stands for ever, and the loop that began it goes on."""


class Frame(NamedTuple):
    """One function of a stack. `name`: with its module, as the table of components has it; `shown`: as a card shows it."""

    name: str
    shown: str
    own: bool
    """Whether the user wrote it."""
    runtime: bool = False
    """Whether it is of the language itself."""


@dataclass
class Stack:
    """A thread; frames are innermost first."""

    name: str
    id: str | None
    line: int
    state: str | None = None
    frames: list[Frame] = field(default_factory=list)
    waited: float | None = None
    """Seconds that it has stood there, as far as the dump states them."""
    alike: int = 1
    """Threads that one stack is printed for."""

    def add(self, frame: Frame) -> None:
        if len(self.frames) < MOST_FRAMES:
            self.frames.append(frame)


class Doing(NamedTuple):
    """What a stack does. `kind`: as in ``analyzers.states.frames.Waits``, and those of `_MORE_KINDS`."""

    kind: str
    loop: str | None = None
    """consumer, event-loop or request, where the frames show it."""
    client: str | None = None
    channel: str | None = None
    """What a client's results are read from."""


_MORE_KINDS = ("send", "undrained", "permit", "native")
"""A channel without a receiver; a client's channel of results; a semaphore; a call whose own stack is not printed."""

Table = Sequence[tuple[str, re.Pattern[str]]]
_TABLE_OF = {"native": "rust"}
"""Whose components are looked up, where it is not the language itself: names of C have no packages."""


def waits_of(language: str) -> Table:
    """What functions of `language` show that their thread waits for (`waits.toml`), in the order in which it is asked."""
    rows = toml_file("analyzers.states", "waits.toml")[language]
    return tuple((row["kind"], expression("|".join(row["calls"]))) for row in rows)


def undrained() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """The functions through which clients hand results over: client, channel and their names."""
    rows = toml_file("analyzers.states", "waits.toml")["undrained"]
    return tuple((row["client"], row["channel"], expression("|".join(row["calls"]))) for row in rows)


Classify = Callable[[Stack], Doing]


def user_at(frames: Sequence[Frame]) -> int | None:
    """Where the innermost function of the user's own code stands."""
    return next((at for at, frame in enumerate(frames) if frame.own), None)


def called(frames: Sequence[Frame]) -> Sequence[Frame]:
    """The frames that the user's own code has called, innermost first; all of them where none is the user's."""
    at = user_at(frames)
    return frames if at is None else frames[:at]


def consumes(frames: Sequence[Frame]) -> bool:
    """Whether a function of the user's own code is called after a consumer."""
    return any(frame.own and _CONSUMES.search(frame.name) and not _CLOSURE.search(frame.name) for frame in frames)


def kind_of(frames: Sequence[Frame], table: Table, nearest: int = 12) -> str | None:
    """The first kind of `table` that one of the innermost `frames` shows."""
    return next((kind for kind, sign in table if any(sign.search(frame.name) for frame in frames[:nearest])), None)


def state_of(
    stacks: Sequence[Stack], language: str, classify: Classify, first: int, last: int, process: str | None = None
) -> Iterator[State]:
    """The dump of `stacks`; nothing where none of them has a frame."""
    if not any(stack.frames for stack in stacks):
        return
    state = State(SHAPE, first, last)
    rows = [_row(stack, language, classify(stack), process) for stack in stacks if stack.frames]
    shown = [row for row in rows if row["user_frame"] or row["waits"] not in ("idle", "running")]
    threads = sum(stack.alike for stack in stacks)
    for row in shown or rows[:1]:
        state.add("stack_samples", {**row, "threads": threads})
    yield state


def _row(stack: Stack, language: str, doing: Doing, process: str | None) -> Values:
    at = user_at(stack.frames)
    below = called(stack.frames)
    systems = [
        found
        for frame in below
        if (found := component_of(frame.name, _TABLE_OF.get(language, language))) and found.role in CALLED and found.called
    ]
    named = [found for found in systems if not found.vague] or systems
    outer = [frame for frame in below if not frame.runtime]
    # the function that the user's code called, or the one that waits where no code of theirs is in the stack
    call = (outer[0] if at is None else outer[-1]) if outer else (below[-1] if below and at is not None else None)
    return {
        "thread": stack.name,
        "thread_id": f"{process}:{stack.id}" if process else stack.id,
        "state": stack.state,
        "frames": [frame.name for frame in stack.frames],
        "user_frame": None if at is None else stack.frames[at].name,
        "user_line": None if at is None else stack.frames[at].shown,
        "call": call.shown if call else None,
        "system": named[-1].called if named else None,
        "waits": doing.kind,
        "language": language,
        "loop": doing.loop,
        "library": doing.client,
        "channel": doing.channel,
        "waited_seconds": stack.waited,
        "alike": stack.alike,
        "line": stack.line + 1,
    }
