"""Places of jobs, read where Spark's tasks run: work dealt to tasks, and what each item of it gives."""

from __future__ import annotations

import heapq
import os
import pickle
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from analyzers.fleet.places import Place
from analyzers.logs.signatures.signature import Signature
from analyzers.readers.log_plan import LogOptions, Plan, plan
from analyzers.readers.log_scan import read_splits
from analyzers.readers.slices import Slice, laid_out
from analyzers.readers.splits import Split
from analyzers.report.durations import counted
from analyzers.tables.evidence import Evidence

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

LARGE = 64 << 20
"""Bytes from which on the logs of a place are split."""
PARTS = "scope string, kind string, payload binary"
"""`kind`: evidence, plan, part, failed; `payload`: a pickle, which `scopes.derived` reads."""
Gather = Callable[[Sequence[str], bool, Mapping[str, str]], Evidence]
"""What lies at paths; False: all but the logs. What some of the paths are called, where that is not the path."""
Find = Callable[["Item", Gather], "Iterable[tuple[str, Any]]"]
"""What one item gives, by kind: `found_of`, or `found_apart`."""
Read = Callable[["Item"], "Iterator[pa.RecordBatch]"]


@dataclass(frozen=True)
class Item:
    """Work of one task: a place, without its logs where these are split; or splits of a place, with their plan where these are all."""

    scope: str
    paths: tuple[str, ...]
    weight: int
    logs: bool = True
    slices: tuple[Slice, ...] = ()
    splits: tuple[Split, ...] = ()
    plan: Plan | None = None
    evidence: Evidence | None = None
    """What was read of it already."""
    own: tuple[Signature, ...] = ()
    """Of a user's own rules, which its splits are scanned for, too."""


ONE_CLUSTER = LogOptions(apart=False)


def items_of(place: Place, large: int = LARGE, read: LogOptions = ONE_CLUSTER) -> list[Item]:
    """The work that a place makes; `read`: how logs are read that are split."""
    if place.size <= large:
        return [Item(place.scope, place.paths, place.size, slices=place.slices)]
    with laid_out(place.slices) as names:
        made = plan([*place.paths, *names], replace(read, names=names))
    own = tuple(split for task in made.tasks for split in task if split.file.path in names)
    made.tasks = [others for task in made.tasks if (others := [split for split in task if split.file.path not in names])]
    rest = Item(place.scope, place.paths, 1, logs=False, slices=place.slices, splits=own, plan=made, own=read.own)
    return [rest, *_of_tasks(made, place.scope)]


def items_of_plan(made: Plan, beside: Evidence, large: int = LARGE) -> list[Item]:
    """The work that logs make which are planned already; `beside`: what else there is of their scope."""
    rest = Item(made.options.scope, (), 1, plan=replace(made, tasks=[]), evidence=beside, own=made.options.own)
    tasks = _of_tasks(made, made.options.scope)
    weight = sum(task.weight for task in tasks)
    if weight > large:
        return [rest, *tasks]
    return [replace(rest, weight=weight, splits=tuple(split for task in tasks for split in task.splits))]


def _of_tasks(made: Plan, scope: str) -> list[Item]:
    return [Item(scope, (), sum(split.weight for split in task), splits=tuple(task), own=made.options.own) for task in made.tasks]


def packs_of(items: Sequence[Item], number: int) -> list[list[Item]]:
    """`items` dealt to at most `number` tasks, the heaviest first to whoever has least."""
    heap = [(0, at) for at in range(max(1, min(number, len(items))))]
    own: list[list[Item]] = [[] for _ in heap]
    for item in sorted(items, key=lambda item: (-item.weight, item.scope)):
        weight, at = heapq.heappop(heap)
        own[at].append(item)
        heapq.heappush(heap, (weight + item.weight + (64 << 10), at))
    return [each for each in own if each]


def apart(items: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """Those of `items` that are all there is of their scope, and the others."""
    of_scope = Counter(item.scope for item in items)
    return [item for item in items if of_scope[item.scope] == 1], [item for item in items if of_scope[item.scope] > 1]


def dealt(items: Sequence[Item], tasks: int, session: SparkSession, read: Read, schema: str) -> DataFrame:
    """What `read` gives of each of `items`, in at most so many tasks.

    No data source in Python: the JVM would start two more processes to ask it what it is, and one for each frame that is persisted
    afterwards, to look for others.
    """
    packs = [pickle.dumps(pack) for pack in packs_of(items, tasks)]
    held = session.sparkContext.broadcast(packs)

    def read_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch["id"].to_pylist():
                for item in pickle.loads(held.value[number]):
                    yield from read(item)

    return session.range(0, len(packs), 1, max(len(packs), 1)).mapInArrow(read_all, schema)


def found_of(item: Item, gather: Gather) -> Iterator[tuple[str, Any]]:
    """What one item gives, by kind. One that cannot be read says so."""
    try:
        if item.plan is not None:
            yield "plan", item.plan
        with laid_out(item.slices) as names:
            if item.splits:
                for part in read_splits([_moved(split, names) for split in item.splits], own=item.own):
                    yield "part", part
            if item.splits and item.evidence is None and not item.paths:
                return
            found = item.evidence or gather([*item.paths, *names] if item.logs else item.paths, item.logs, names)
        yield "evidence", (dict(found.tables), found.notes, found.absent)
    except Exception as error:
        yield "failed", f"{type(error).__name__}: {error}" if not str(error) else str(error)


def _moved(split: Split, names: Mapping[str, str]) -> Split:
    """A split of a slice where it is laid out now."""
    path = next((path for path, name in names.items() if name == split.file.origin.file), split.file.path)
    return replace(split, file=replace(split.file, path=path))


def parts_of(item: Item, gather: Gather, find: Find = found_of) -> Iterator[pa.RecordBatch]:
    """What one item gives, as `PARTS`."""
    import pyarrow as pa

    for kind, what in find(item, gather):
        columns = [pa.array([item.scope]), pa.array([kind]), pa.array([pickle.dumps(what)], pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, names=["scope", "kind", "payload"])


def found_apart(item: Item, gather: Gather) -> Iterable[tuple[str, Any]]:
    """What `found_of` gives, made by a process of its own: where reading ends that, the item says so."""
    theirs, ours = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(theirs)
            with os.fdopen(ours, "wb") as out:
                pickle.dump(list(found_of(item, gather)), out, pickle.HIGHEST_PROTOCOL)
            code = 0
        finally:
            os._exit(code)  # nothing of the process that it was forked from is written or closed twice
    os.close(ours)
    with os.fdopen(theirs, "rb") as answer:
        said = answer.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 0:
        found: list[tuple[str, Any]] = pickle.loads(said)
        return found
    how = signal.Signals(-status).name if status < 0 else f"exit code {status}"
    named = ", ".join(item.paths[:3]) or f"its logs ({counted(len(item.splits), 'part')})"
    why = f"reading {named} ended the process that read it ({how}), as a file made to do harm does, or a host without memory"
    return [("failed", f"{why}; nothing of it was judged, the other jobs were. Read its files one by one: diag triage FILE")]
