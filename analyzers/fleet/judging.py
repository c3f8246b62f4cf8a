"""The driver of a fleet: plans, lets executors read and derive, runs the rules over all scopes, and gets each report in short."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, TypeVar

from analyzers.diagnosis.frames import Chosen, Frames, arrow_of, is_of_kinds, key_of, kind_column
from analyzers.diagnosis.run_rules import results_of
from analyzers.fleet.beside import Beside
from analyzers.fleet.places import Place
from analyzers.fleet.reading import LARGE, ONE_CLUSTER, PARTS, Find, Gather, Item, apart, dealt, found_apart, found_of, items_of, parts_of
from analyzers.fleet.scopes import ALL, DERIVED, Choice, derived, read_and_derived, report_of, rows_of
from analyzers.own_rules import rules_of
from analyzers.readers.job_log import schema_of
from analyzers.readers.log_plan import LogOptions
from analyzers.report.durations import counted
from analyzers.report.finding import Defect, Finding
from analyzers.report.report import Report
from analyzers.tables.memory import gc_paused

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from analyzers.own_rules.language import OwnRules
    from analyzers.vocabulary.rule import Rule

Shown = TypeVar("Shown")
_Said = dict[str, "list[Finding] | Defect"]
Show = Callable[[str, Report], Shown]
"""What the driver gets of a scope's report; called where the scope is concluded."""
_TASKS_PER_CORE = 3
_JOBS_PER_TASK = 16
_MOST_JOBS_PER_TASK = 512
"""What a worker that dies has read is read again, and a cluster reports how far it is by tasks that are done."""
_JOBS_PER_TASK_OF_RULES = 1024
"""Each stage of each rule has as many tasks, and one that looks at few rows costs as much as one that looks at the rows of a thousand jobs:
the rules took 43 seconds for 969 jobs in six tasks, 28 in two, 23 in one, which needs no exchange."""
_PARTITIONS = "spark.sql.shuffle.partitions"


class Watch:
    """Hears how far a run is: a phase begins (read, judged, concluded) with so many jobs or rules, and a rule has judged."""

    def enter(self, phase: str, total: int) -> None: ...

    def count(self) -> None: ...


class _FramesOfScopes(Frames):
    """Frames of the tables of all scopes; `missing`: by the code of a rule, tables that it is not given now."""

    def __init__(self, names: Set[str], session: SparkSession) -> None:
        super().__init__(Chosen({}), lambda: session)
        self._names = names
        self.cut: Mapping[str, Set[str]] = {}
        self.missing: Mapping[str, Set[str]] = {}
        self.when_done: Callable[[], None] = lambda: None

    def has(self, rule: Rule, name: str) -> bool:
        return name in self._names and name not in self.missing.get(rule.code, ())

    def done(self, rule: Rule) -> None:
        """Other rules want the same frames."""
        self.when_done()

    def counts_cut_off(self, rule: Rule) -> Set[str]:
        return frozenset().union(*(scopes for of, scopes in self.cut.items() if of in (*rule.tables, *rule.optional)))

    def let_go(self) -> None:
        """Nothing more is asked."""


class FleetFrames(_FramesOfScopes):
    """Those that executors hold, each decoded once."""

    def __init__(self, evidence: DataFrame, names: Set[str], partitions: int) -> None:
        super().__init__(names, evidence.sparkSession)
        self._evidence, self._partitions = evidence, partitions
        self._whole: dict[str, DataFrame] = {}

    def of(self, rule: Rule, name: str) -> DataFrame:
        from pyspark.sql import functions as F

        kinds = key_of(rule, name)[1]
        with self._lock:
            frame = self._whole.get(name)
            if frame is None:
                held = self._evidence.where(F.col("name") == name).select("payload")
                rows = held.mapInArrow(rows_of, schema_of(name)).coalesce(self._partitions)
                # by kind: of what is held in pieces a rule then decodes those that can have its kinds
                frame = self._whole[name] = (rows.sortWithinPartitions(kind_column(name)) if is_of_kinds(name) else rows).persist()
        return frame.where(F.col(kind_column(name)).isin(*sorted(kinds))) if kinds else frame

    def let_go(self) -> None:
        for frame in self._whole.values():
            frame.unpersist()


class HeldFrames(_FramesOfScopes):
    """Those of few rows, which the driver holds."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], session: SparkSession) -> None:
        import pyarrow as pa

        found: dict[str, list[pa.Table]] = defaultdict(list)
        for row in rows:
            if row["name"]:
                found[row["name"]].append(pa.ipc.open_stream(row["payload"]).read_all())
        super().__init__(frozenset(found), session)
        whole = {name: pa.concat_tables(own) for name, own in found.items()}
        # PySpark reads no table without a chunk
        self._as_arrow = {name: (frozenset(), rows if len(rows) else arrow_of(name, [])) for name, rows in whole.items()}


def judge_fleet(
    places: Sequence[Place],
    session: SparkSession,
    gather: Gather,
    show: Show[Shown],
    *,
    version: str,
    choice: Choice = ALL,
    read: LogOptions = ONE_CLUSTER,
    large: int = LARGE,
    ended: Callable[[], str | None] = lambda: None,
    progress: Callable[[str], None] = lambda said: None,
    watch: Watch | None = None,
    find: Find = found_of,
) -> Iterator[Shown]:
    """What `show` says of each of `places`, in no order. `gather`, `show` and `choice` are called on executors; `read`: how `gather` reads
    logs, and those are read that are split; `find`: in which process."""
    items = [item for place in places for item in items_of(place, large, read)]
    judging = partial(judge_items, command="fleet", version=version, choice=choice, ended=ended, progress=progress, watch=watch, find=find)
    return judging(items, session, gather, show)


def judge_few(
    beside: Beside[Shown],
    session: SparkSession,
    *,
    ended: Callable[[], str | None],
    progress: Callable[[str], None],
    watch: Watch,
    own: OwnRules | None = None,
) -> list[Shown]:
    """What `judge_fleet` gives of jobs that are read `beside` this process, also by a user's `own` rules. Raises `beside.Ended`."""
    rows = beside.derived()
    heads = [row for row in rows if not row["name"]]
    progress(_read(heads))
    said, gone = _said(HeldFrames(rows, session), heads, session, ended, watch, own)
    watch.enter("concluded", len(heads))
    codes, by_scope = _by_scope(said)
    return beside.concluded({head["scope"]: {**codes, **by_scope.get(head["scope"], {})} for head in heads}, gone)


def judge_items(
    items: Sequence[Item],
    session: SparkSession,
    gather: Gather,
    show: Show[Shown],
    *,
    command: str,
    version: str,
    choice: Choice,
    ended: Callable[[], str | None],
    progress: Callable[[str], None],
    watch: Watch | None = None,
    find: Find = found_of,
) -> Iterator[Shown]:
    """`judge_fleet` of work that is shared out already."""
    cores, scopes = session.sparkContext.defaultParallelism, len({item.scope for item in items})
    most = cores * _TASKS_PER_CORE
    deriving, judging = tasks_of(scopes, most)
    session.conf.set(_PARTITIONS, str(deriving))
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1000")
    session.conf.set("spark.sql.inMemoryColumnarStorage.batchSize", "1000")
    watch = watch or Watch()
    evidence = _evidence(items, session, gather, choice, deriving, find).persist()
    try:
        heads = _heads(evidence)
    except Exception as error:
        if _WORKER_DIED not in str(error) or ended() is not None:
            raise
        progress(READ_AGAIN)
        evidence.unpersist()
        watch.enter("read", scopes)
        evidence = _evidence(items, session, gather, choice, deriving, found_apart).persist()
        heads = _heads(evidence)
    names = {row["name"] for row in evidence.select("name").distinct().toArrow().to_pylist()}
    progress(_read(heads))
    session.conf.set(_PARTITIONS, str(judging))
    said, gone = _said(FleetFrames(evidence, names, judging), heads, session, ended, watch, choice.own)
    session.conf.set(_PARTITIONS, str(deriving))
    watch.enter("concluded", scopes)
    yield from _concluded(evidence, said, gone, show, command, version, choice)
    evidence.unpersist()  # not after Ctrl-C: the connection to the JVM then still waits for another answer


def tasks_of(scopes: int, most: int) -> tuple[int, int]:
    """In how many tasks so many scopes are read, and judged by rules; `most`: what the cores are given at once."""
    reading, judging = (max(1, min(most, scopes // each)) for each in (_JOBS_PER_TASK, _JOBS_PER_TASK_OF_RULES))
    return max(reading, -(-scopes // _MOST_JOBS_PER_TASK)), judging


_WORKER_DIED = "Python worker exited unexpectedly"
"""Spark's words where a process of Python ended without an exception: killed, or aborted by a library."""
READ_AGAIN = "a process that read jobs ended: each job is read again, by a process of its own"


def _read(heads: Sequence[Mapping[str, Any]]) -> str:
    rules = len({code for head in heads for code in head["waiting"]})
    return f"{counted(len(heads), 'job')} read; {rules} rules have something to look at"


def _heads(evidence: DataFrame) -> list[dict[str, Any]]:
    """A row for each scope. Everything is read here."""
    rows: list[dict[str, Any]] = evidence.where("name = ''").select("scope", "waiting", "cut").toArrow().to_pylist()
    return rows


def _evidence(items: Sequence[Item], session: SparkSession, gather: Gather, choice: Choice, partitions: int, find: Find) -> DataFrame:
    """The derived tables of each scope. What one task reads whole it derives, too: its parts need not go through Spark to another."""

    def derive_all(rows: pa.Table) -> pa.Table:
        return derived(rows, choice)

    whole, split = apart(items)
    cores = session.sparkContext.defaultParallelism
    # few jobs may have much to read: each core has some of them
    most, each = max(partitions, min(cores, len(whole))), partial(read_and_derived, gather=gather, choice=choice, find=find)
    evidence = [dealt(whole, most, session, each, DERIVED)] if whole or not split else []
    if split:
        tasks = max(cores * 4, len(split) // 16)
        parts = dealt(split, tasks, session, partial(parts_of, gather=gather, find=find), PARTS)
        evidence.append(parts.groupBy("scope").applyInArrow(derive_all, DERIVED))
    return reduce(lambda one, other: one.unionAll(other), evidence)


def _said(
    frames: _FramesOfScopes,
    heads: Iterable[Mapping[str, Any]],
    session: SparkSession,
    ended: Callable[[], str | None],
    watch: Watch,
    own: OwnRules | None,
) -> tuple[dict[str, list[Finding] | Defect], str | None]:
    """What each variant of a rule says of all scopes."""
    rules = {rule.code: rule for rule in rules_of(own)}
    cut: dict[str, set[str]] = defaultdict(set)
    variants: dict[str, set[frozenset[str]]] = defaultdict(set)
    for head in heads:
        for name in head["cut"]:
            cut[name].add(head["scope"])
        for each in head["waiting"]:
            code, *missing = each.split("|")
            variants[code].add(frozenset(missing))
    said: dict[str, list[Finding] | Defect] = {}
    gone = None
    frames.cut, frames.when_done = cut, watch.count
    watch.enter("judged", sum(map(len, variants.values())))
    # mostly all jobs lack the same tables: one round, in which no rule waits for another
    for turn in range(max(map(len, variants.values()), default=0)):
        frames.missing = {code: sorted(each, key=sorted)[turn] for code, each in variants.items() if turn < len(each)}
        results, gone = results_of([rules[code] for code in sorted(frames.missing)], frames, lambda: session, ended=ended)
        for code, result in results.items():
            said["|".join((code, *(name for name in rules[code].optional if name in frames.missing[code])))] = result
        if gone is not None:
            break
    frames.let_go()
    return said, gone


def _by_scope(said: Mapping[str, list[Finding] | Defect]) -> tuple[_Said, dict[str, _Said]]:
    """What holds for a scope of which a rule found nothing: nothing, or the defect of the rule. And the findings of each of the others."""
    codes = {code: result if isinstance(result, Defect) else list[Finding]() for code, result in said.items()}
    by_scope: dict[str, _Said] = defaultdict(dict)
    for code, result in said.items():
        for finding in result if not isinstance(result, Defect) else ():
            own = by_scope[finding.scope].setdefault(code, [])
            assert isinstance(own, list)
            own.append(finding)
    return codes, by_scope


def _concluded(
    evidence: DataFrame,
    said: Mapping[str, list[Finding] | Defect],
    gone: str | None,
    show: Show[Shown],
    command: str,
    version: str,
    choice: Choice,
) -> Iterator[Shown]:
    """Findings back to their scope, and what is shown of it."""
    import pyarrow as pa
    from pyspark.sql import functions as F

    codes, by_scope = _by_scope(said)
    found = pa.table({"scope": list(by_scope), "said": [pickle.dumps(own) for own in by_scope.values()]},
                     schema=pa.schema([("scope", pa.string()), ("said", pa.binary())]))  # fmt: skip

    def conclude(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            out = []
            for row in batch.to_pylist():
                own = {**codes, **(pickle.loads(row["said"]) if row["said"] else {})}
                report = report_of(row["scope"], row["payload"], own, gone, command, version, choice)
                out.append(pickle.dumps(show(row["scope"], report)))
            yield pa.RecordBatch.from_arrays([pa.array(out, pa.binary())], names=["shown"])

    halves = evidence.where("name = ''").select("scope", "payload")
    # broadcast: any other join of few rows brings all scopes into one partition, and to one core
    joined = halves.join(F.broadcast(evidence.sparkSession.createDataFrame(found)), "scope", "left")
    shown = joined.mapInArrow(conclude, "shown binary").persist()
    shown.count()  # on all cores; the iterator asks for one partition after the other
    with gc_paused():
        for row in shown.toLocalIterator():
            yield pickle.loads(row["shown"])
    shown.unpersist()
