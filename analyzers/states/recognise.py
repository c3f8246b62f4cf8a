"""Every state in a text of any name; several may stand in one paste."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from functools import cache

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.logs.matching.matcher import Presence
from analyzers.states import (
    batch_commits,
    client_statistics,
    connectors,
    dotnet_stacks,
    flink_rest,
    goroutines,
    jmx_lines,
    kafka_tools,
    kafka_transactions,
    keyed_records,
    kubernetes,
    lake_commits,
    metric_answers,
    metric_lines,
    native_stacks,
    operators,
    prometheus,
    publication_tables,
    python_stacks,
    query_progress,
    replication_slots,
    thread_dumps,
    unread_stacks,
)
from analyzers.states.clocks import clock_of
from analyzers.states.state import State, Text, blanked

MOST_BYTES = BUDGET.state_bytes


@dataclass(frozen=True)
class Shape:
    """One kind of state. `signs`: one of these stands in every text that holds one; `glance`: what is found in it, too."""

    name: str
    signs: tuple[bytes, ...]
    read: Callable[[Text], Iterator[State]]
    glance: re.Pattern[bytes] | None = None

    def may_be_in(self, text: bytes, signs: Set[bytes]) -> bool:
        """Whether a text, in which these of all `signs` stand, is worth to be read for it."""
        return not signs.isdisjoint(self.signs) and (self.glance is None or self.glance.search(text) is not None)


SHAPES = (
    Shape(thread_dumps.SHAPE, thread_dumps.SIGNS, thread_dumps.read),
    Shape(thread_dumps.SHAPE, goroutines.SIGNS, goroutines.read),
    Shape(thread_dumps.SHAPE, python_stacks.SIGNS, python_stacks.read),
    Shape(thread_dumps.SHAPE, dotnet_stacks.SIGNS, dotnet_stacks.read),
    Shape(thread_dumps.SHAPE, native_stacks.SIGNS, native_stacks.read),
    Shape(kafka_tools.GROUP_SHAPE, kafka_tools.SIGNS, kafka_tools.read_groups),
    Shape(kafka_tools.TOPIC_SHAPE, kafka_tools.SIGNS, kafka_tools.read_topics),
    Shape(kafka_tools.TOPIC_SHAPE, kafka_tools.END_SIGNS, kafka_tools.read_ends, kafka_tools.END_GLANCE),
    Shape(kafka_transactions.SHAPE, kafka_transactions.SIGNS, kafka_transactions.read),
    Shape(metric_lines.SHAPE, metric_lines.SIGNS, metric_lines.read),
    Shape(batch_commits.SHAPE, batch_commits.SIGNS, batch_commits.read),
    Shape(lake_commits.SHAPE, lake_commits.SIGNS, lake_commits.read),
    Shape(publication_tables.SHAPE, publication_tables.SIGNS, publication_tables.read),
    Shape(replication_slots.SHAPE, replication_slots.SIGNS, replication_slots.read),
    Shape(keyed_records.SHAPE, keyed_records.SIGNS, keyed_records.read, keyed_records.GLANCE),
    Shape(flink_rest.SHAPE, flink_rest.SIGNS, flink_rest.read),
    Shape(kubernetes.SHAPE, kubernetes.SIGNS, kubernetes.read),
    Shape(operators.SHAPE, operators.SIGNS, operators.read, operators.GLANCE),
    Shape(query_progress.SHAPE, query_progress.SIGNS, query_progress.read),
    Shape(client_statistics.SHAPE, client_statistics.SIGNS, client_statistics.read),
    Shape(connectors.SHAPE, connectors.SIGNS, connectors.read),
    Shape(connectors.CONFIG_SHAPE, connectors.CONFIG_SIGNS, connectors.read_configs),
    Shape(connectors.OFFSETS_SHAPE, connectors.OFFSETS_SIGNS, connectors.read_offsets),
    Shape(prometheus.SHAPE, prometheus.SIGNS, prometheus.read, prometheus.GLANCE),
    Shape(jmx_lines.SHAPE, jmx_lines.SIGNS, jmx_lines.read, jmx_lines.GLANCE),
    Shape(metric_answers.SHAPE, metric_answers.SIGNS, metric_answers.read),
)


_UNREAD = Shape(unread_stacks.SHAPE, unread_stacks.SIGNS, unread_stacks.read, unread_stacks.GLANCE)
"""What is read where no other shape has found anything."""


@cache
def _signs() -> Presence:
    """All signs in one look: one after the other they were a sixth of what reading a log takes."""
    return Presence(sorted({sign for shape in (*SHAPES, _UNREAD) for sign in shape.signs}))


@dataclass
class Found:
    """The states of a text in its order, and what is left of it."""

    states: list[State]
    rest: str


def might_hold(text: bytes) -> bool:
    """Whether a glance at a text, or its beginning, shows that it is worth to be read for states."""
    signs = _signs().of(text)
    return any(shape.may_be_in(text, signs) for shape in (*SHAPES, _UNREAD))


def states_of(data: bytes) -> Found:
    """All states in `data`."""
    signs = _signs().of(data)
    shapes = [shape for shape in SHAPES if shape.may_be_in(data, signs)]
    unread = _UNREAD.may_be_in(data, signs)
    if not shapes and not unread:
        return Found([], "")
    text = Text(data)
    states = [state for shape in shapes for state in _of_shape(shape, text)]
    if not states and unread:
        states = list(_of_shape(_UNREAD, text))
    states.sort(key=lambda state: (state.first, state.last))
    return Found(states, _without_commands(blanked(text.lines, states)) if states else text.whole)


def _of_shape(shape: Shape, text: Text) -> Iterator[State]:
    """The states of one shape. What breaks its reader costs the states behind it only, and is their trouble."""
    try:
        yield from shape.read(text)
    except (ValueError, ArithmeticError, LookupError, TypeError, csv.Error, RecursionError) as error:
        yield State(shape.name, 0, 0, trouble=f"could not be read as a {shape.name} any further ({type(error).__name__}, a defect in diag)")


_COMMAND = expression(r"^(?:\[[^\]\n]*\]|[\w.@~:/ -]{1,60})?[$#%>] ?\S|^\s*$")


def _without_commands(rest: str) -> str:
    """What is left of a paste beside the commands that were typed, and their times."""
    return "\n".join(line for line in rest.split("\n") if not _COMMAND.match(line) and clock_of(line) is None)
