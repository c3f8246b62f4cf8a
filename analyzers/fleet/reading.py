"""Places of jobs, read where Spark's tasks run: what each item of work gives, and the data source ``fleet_parts`` of those that are split.

Its columns: ``scope``, ``kind`` (evidence, plan, part, failed) and ``payload``, a pickle, which `scopes.derived` reads.
"""

from __future__ import annotations

import base64
import heapq
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from analyzers.fleet.places import Place
from analyzers.readers.log_plan import LogOptions, Plan, plan
from analyzers.readers.log_scan import read_splits
from analyzers.readers.splits import Split
from analyzers.tables.evidence import Evidence

if TYPE_CHECKING:
    import pyarrow as pa

LARGE = 64 << 20
"""Bytes from which on the logs of a place are split."""
SCHEMA = "scope string, kind string, payload binary"
Gather = Callable[[Sequence[str], bool], Evidence]
"""What lies at paths; False: all but the logs."""
Row = tuple[str, str, bytes]
Read = Callable[["Item"], "Iterator[Row] | Iterator[pa.RecordBatch]"]
SECRET_GATHER = "gather_secret"
"""The option with `Gather`: a login may be in it, and Spark hides options of such names wherever it writes them (spark.redaction.regex)."""


@dataclass(frozen=True)
class Item:
    """Work of one task: a place, without its logs where these are split; or splits of a place, with their plan where these are all."""

    scope: str
    paths: tuple[str, ...]
    weight: int
    logs: bool = True
    splits: tuple[Split, ...] = ()
    plan: Plan | None = None
    evidence: Evidence | None = None
    """What was read of it already."""


class Pack(InputPartition):
    """What one task does, one item after the other."""

    def __init__(self, items: Sequence[Item]) -> None:
        super().__init__(0)
        self.items = tuple(items)


def items_of(place: Place, large: int = LARGE) -> list[Item]:
    """The work that a place makes."""
    if place.size <= large:
        return [Item(place.scope, place.paths, place.size)]
    made = plan(place.paths, LogOptions(apart=False))
    rest = Item(place.scope, place.paths, 1, logs=False, plan=made)
    return [rest, *_of_tasks(made, place.scope)]


def items_of_plan(made: Plan, beside: Evidence, large: int = LARGE) -> list[Item]:
    """The work that logs make which are planned already; `beside`: what else there is of their scope."""
    rest = Item(made.options.scope, (), 1, plan=replace(made, tasks=[]), evidence=beside)
    tasks = _of_tasks(made, made.options.scope)
    weight = sum(task.weight for task in tasks)
    if weight > large:
        return [rest, *tasks]
    return [replace(rest, weight=weight, splits=tuple(split for task in tasks for split in task.splits))]


def _of_tasks(made: Plan, scope: str) -> list[Item]:
    return [Item(scope, (), sum(split.weight for split in task), splits=tuple(task)) for task in made.tasks]


def packs_of(items: Sequence[Item], number: int) -> list[Pack]:
    """`items` dealt to at most `number` tasks, the heaviest first to whoever has least."""
    heap = [(0, at) for at in range(max(1, min(number, len(items))))]
    own: list[list[Item]] = [[] for _ in heap]
    for item in sorted(items, key=lambda item: (-item.weight, item.scope)):
        weight, at = heapq.heappop(heap)
        own[at].append(item)
        heapq.heappush(heap, (weight + item.weight + (64 << 10), at))
    return [Pack(each) for each in own if each]


def apart(items: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """Those of `items` that are all there is of their scope, and the others."""
    of_scope = Counter(item.scope for item in items)
    return [item for item in items if of_scope[item.scope] == 1], [item for item in items if of_scope[item.scope] > 1]


class FleetParts(DataSource):
    """Options: ``items`` and ``gather_secret`` as `spelled`, ``tasks``: how many partitions there are at most."""

    @classmethod
    def name(cls) -> str:
        return "fleet_parts"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: object) -> FleetReader:
        return FleetReader(self.options, partial(rows_of, gather=unspelled(self.options[SECRET_GATHER])))


class FleetReader(DataSourceReader):
    """One partition per pack of the ``items``."""

    def __init__(self, options: Mapping[str, str], read: Read) -> None:
        self._items, self._tasks, self._read = unspelled(options["items"]), int(options["tasks"]), read

    def partitions(self) -> Sequence[InputPartition]:
        return packs_of(self._items, self._tasks)

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, Pack)
        for item in partition.items:
            yield from self._read(item)


def rows_of(item: Item, gather: Gather) -> Iterator[Row]:
    """What one item gives."""
    return ((item.scope, kind, pickle.dumps(what)) for kind, what in found_of(item, gather))


def found_of(item: Item, gather: Gather) -> Iterator[tuple[str, Any]]:
    """What one item gives, by kind. One that cannot be read says so."""
    try:
        if item.plan is not None:
            yield "plan", item.plan
        if item.splits:
            for part in read_splits(item.splits):
                yield "part", part
        if item.splits and item.evidence is None:
            return
        found = item.evidence or gather(item.paths, item.logs)
        yield "evidence", (dict(found.tables), found.notes, found.absent)
    except Exception as error:
        yield "failed", f"{type(error).__name__}: {error}" if not str(error) else str(error)


def spelled(value: object) -> str:
    """`value` as an option of the data source."""
    return base64.b64encode(cloudpickle.dumps(value)).decode()  # type: ignore[no-untyped-call]  # PySpark ships no types of it


def unspelled(option: str) -> Any:
    return pickle.loads(base64.b64decode(option))
