"""Runs the rules: tables in, findings / clean / not checked / defects out. One crashing rule never hides the others."""

from __future__ import annotations

import gc
import re
import shlex
import threading
import traceback
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from analyzers.derived.failures.progress import FEW
from analyzers.diagnosis.templates import fill, utc
from analyzers.report.finding import SUBJECT_KEYS, Defect, Evidence, Finding, NotChecked, Severity
from analyzers.tables import TABLES, Row, Table
from analyzers.tables.by_column import ByColumn, column
from analyzers.tables.memory import give_back, set_aside
from analyzers.vocabulary.rule import Rule

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Tables = Mapping[str, Sequence[Row]]

_CONTRACT = ("scope", "job", "cause", "reason", "severity", "since", "until", "confidence", "evidence")
_TO_READ = "[[zless {shown_at}   # the lines that show it, and what stands around them]]"
"""The next command of a rule that names none."""
MOST_EVIDENCE = 20
_COUNTED_FROM = {
    "faults": frozenset(("task-failed", "query-failed", "fatal-task-error", "global-failover")),
    "attempts": frozenset(("job-state",)),
}
"""Tables from whose rows failures are counted, and the signatures without which rows are missing there."""
COUNTS = ("failures", "attempts")
ONE_PARTITION = 20_000  # rows; of one partition Spark knows that nothing has to be exchanged: a rule is one stage, not two to eight


UNTOLD: Mapping[str, str] = {
    "brokers": "no broker told the cluster's metadata",
    "partitions": "no topic was shown: no broker answered, or this user may not DESCRIBE any",
    "groups": "no consumer group was seen",
    "committed_offsets": "no committed offset was seen",
    "lag_status": "no committed offset was seen",
    "lag_truth": "no committed offset was seen",
    "records": "no record was read",
    "topic_configs": "no setting of a topic was told (it needs DESCRIBE_CONFIGS on the topic)",
}
"""Tables that are never empty where there was something to judge: without rows nothing was seen, and nothing can be called clean."""


@dataclass
class Outcome:
    """What all rules said, each list in no particular order."""

    findings: list[Finding] = field(default_factory=list)
    clean: list[str] = field(default_factory=list)
    not_checked: list[NotChecked] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    ended: str | None = None  # why Spark was no more before all of them had judged

    def take_back(self, unjudged: Sequence[NotChecked]) -> None:
        """These rules found nothing, and had too little to look at for that to say that all is well."""
        codes = {each.code for each in unjudged}
        self.clean = [code for code in self.clean if code not in codes]
        self.not_checked += unjudged


def run_rules(
    rules: Iterable[Rule],
    tables: Tables,
    session: Callable[[], SparkSession],
    *,
    absent: Mapping[str, str] | None = None,
    thresholds: Mapping[str, Mapping[str, Any]] | None = None,
    ended: Callable[[], str | None] = lambda: None,
    untold: Mapping[str, str] = UNTOLD,
    threads: int = 2,  # Python builds one plan while the JVM works on the other; each more holds its rows and plans meanwhile
) -> Outcome:
    """Each of `rules` over `tables`; `session` is called only when some rule has rows to look at.

    `absent`: why a table is missing, for the words of *not checked*, `untold`: why one that is never empty is. `thresholds`: per code,
    values that replace a rule's own. `ended`: why Spark is no more; None while it is there. What it had not judged by then was not checked.
    """
    outcome = Outcome()
    chosen = Chosen(tables)
    frames = _Frames(chosen, session)
    waiting: list[Rule] = []
    for each in rules:
        missing = [name for name in each.tables if name not in tables]
        if missing:
            outcome.not_checked.append(NotChecked(each.code, _because(missing[0], absent or {})))
            continue
        empty = next((name for name in each.tables if name in untold and not tables[name]), None)
        if empty:
            outcome.not_checked.append(NotChecked(each.code, untold[empty]))
            continue
        if not can_find(each, chosen, (thresholds or {}).get(each.code, {})):
            outcome.clean.append(each.code)
            continue
        waiting.append(each)
    if not waiting:
        return outcome
    frames.expect(waiting)
    give_back()  # what reading needed
    results: dict[str, list[Finding] | Defect] = {}
    try:
        context = session().sparkContext  # a Spark that did not start is no defect of every rule

        def named() -> None:
            with suppress(Exception):  # a JVM that has gone is told by the first rule
                for form in ("short", "long"):  # else Spark walks the stack at each step of a plan, to say where it was asked for
                    context.setLocalProperty(f"callSite.{form}", "diag")

        with set_aside(), ThreadPoolExecutor(max_workers=threads, thread_name_prefix="rule", initializer=named) as pool:
            for each, judged in zip(waiting, pool.map(lambda each: _judge(each, frames, thresholds or {}), waiting), strict=True):
                results[each.code] = judged
    except Exception as error:
        if not (isinstance(error, ConnectionError) or type(error).__module__.startswith("py4j.")) or (why := ended()) is None:
            raise
        outcome.ended = why
    if outcome.ended is None and any(isinstance(result, Defect) for result in results.values()):
        outcome.ended = ended()
    for each in waiting:
        result = results.get(each.code)
        if outcome.ended is not None and (result is None or isinstance(result, Defect)):
            outcome.not_checked.append(NotChecked(each.code, outcome.ended))
        elif isinstance(result, Defect):
            outcome.defects.append(result)
        elif result:
            outcome.findings.extend(result)
        else:
            outcome.clean.append(each.code)
    return outcome


def warm_up(session: SparkSession) -> None:
    """Do once what every rule does, on one row: the first query of a JVM loads more classes than all later ones together.

    To be called in a thread of its own while logs are read; rules that come meanwhile need not wait for it.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    from analyzers.vocabulary.rule import exemplars

    table = TABLES["log_events"]
    rows = session.createDataFrame(arrow(table, [table.row({"scope": "", "text": ""})])).coalesce(1)
    known = F.col("signature").isin("a", "b") | F.contains(F.coalesce("text", F.lit("")), F.lit("a"))
    numbered = rows.withColumn("nth", F.row_number().over(Window.partitionBy("scope", "job").orderBy("at", "file", "line"))).where(~known)
    per_job = numbered.groupBy("scope", "job").agg(F.count_if(known).alias("failures"), F.min("at").alias("since"), exemplars())
    said = F.when(F.col("failures") > 0, F.lit("a")).otherwise(F.regexp_extract("host", "a(b)", 1))
    per_scope = rows.groupBy("scope").agg(F.max(F.col("detail")["a"]).cast("long").alias("host"))
    per_job.join(per_scope, "scope", "left").withColumns({"reason": said}).drop("host").toArrow()


def _because(table: str, absent: Mapping[str, str]) -> str:
    return absent.get(table) or f"no {table.replace('_', ' ')} were collected"


def can_find(rule: Rule, tables: Chosen, thresholds: Mapping[str, Any]) -> bool:
    """Whether `rule` could find anything in its rows of its first table; `thresholds` replace its own."""
    mine = tables.rows(rule, rule.tables[0])
    return bool(mine) and (rule.needs is None or rule.needs(mine, {**rule.thresholds, **thresholds}))


_Key = tuple[str, frozenset[str]]
_KINDS = {"log_events": "signature", "log_counts": "signature", "faults": "fault"}
"""The columns by which rules name their rows of a table."""


class Chosen:
    """The rows of the tables that a rule has to do with: sorted by kind once, not looked through for every rule."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._places: dict[str, dict[str, array[int]]] = {}
        self._cut_off: dict[str, Set[str]] = {}
        self._lock = threading.Lock()

    def __contains__(self, name: str) -> bool:
        return name in self._tables

    def rows(self, rule: Rule, name: str) -> Sequence[Row]:
        """In the order of the table."""
        rows, wanted = self._tables[name], key_of(rule, name)[1]
        if not wanted:
            return rows
        places = self._places_in(name)
        mine = sorted(at for kind in wanted for at in places.get(kind, ()))
        return rows.pick(mine) if isinstance(rows, ByColumn) else [rows[at] for at in mine]

    def cut_off(self, derived: str) -> Set[str]:
        """Scopes of which log lines that `derived` is made from were counted, but are no rows any more."""
        with self._lock:
            if derived not in self._cut_off:
                missing: Counter[str] = Counter()
                for table, sign, by in (("log_counts", 1, "events"), ("log_events", -1, None)):
                    rows = self._tables.get(table, ())
                    numbers = column(rows, by) if by is not None else [1] * len(rows)
                    for kind, scope, number in zip(column(rows, "signature"), column(rows, "scope"), numbers, strict=True):
                        if kind in _COUNTED_FROM[derived]:
                            missing[scope] += sign * number
                self._cut_off[derived] = frozenset(scope for scope, number in missing.items() if number >= FEW)
            return self._cut_off[derived]

    def _places_in(self, name: str) -> dict[str, array[int]]:
        if name not in self._places:
            places: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
            for at, kind in enumerate(column(self._tables[name], _KINDS[name])):
                places[kind].append(at)
            self._places[name] = places
        return self._places[name]


class _Frames:
    """Spark frames of the tables a rule sees, made from Arrow once per distinct selection, and kept for as long as a rule will want it."""

    def __init__(self, tables: Chosen, session: Callable[[], SparkSession]) -> None:
        self._tables = tables
        self._session = session
        self._made: dict[_Key, DataFrame] = {}
        self._wanted: Counter[_Key] = Counter()
        self._lock = threading.Lock()

    def expect(self, rules: Iterable[Rule]) -> None:
        """These rules will ask, each once."""
        self._wanted.update(key for rule in rules for key in self._keys(rule))

    def of(self, rule: Rule, name: str) -> DataFrame:
        key = key_of(rule, name)
        with self._lock:
            if key not in self._made:
                rows = self._tables.rows(rule, name)
                frame = self._session().createDataFrame(arrow(TABLES[name], rows))
                self._made[key] = frame.coalesce(1) if len(rows) <= ONE_PARTITION else frame
            return self._made[key]

    def done(self, rule: Rule) -> None:
        """`rule` has what it wanted: what no other rule waits for is let go, in the JVM too."""
        with self._lock:
            for key in self._keys(rule):
                self._wanted[key] -= 1
                if self._wanted[key] <= 0:
                    self._made.pop(key, None)

    def has(self, name: str) -> bool:
        return name in self._tables

    def counts_cut_off(self, rule: Rule) -> Set[str]:
        """Scopes in which more failures happened than there are rows from which `rule` counts them."""
        return frozenset().union(*(self._tables.cut_off(of) for of in _COUNTED_FROM if of in (*rule.tables, *rule.optional)))

    def _keys(self, rule: Rule) -> list[_Key]:
        return [key_of(rule, name) for name in (*rule.tables, *rule.optional) if self.has(name)]


def key_of(rule: Rule, name: str) -> _Key:
    """Which rows of a table `rule` sees: those of these kinds; none named = all."""
    return name, {"signature": rule.signatures, "fault": rule.faults}[_KINDS[name]] if name in _KINDS else frozenset()


def arrow(table: Table, rows: Sequence[Row]) -> pa.Table:
    """`rows` as an Arrow table with the declared columns of `table`."""
    import pyarrow as pa

    types = {
        "string": pa.string(), "long": pa.int64(), "double": pa.float64(), "boolean": pa.bool_(),
        "timestamp": pa.timestamp("us", tz="UTC"), "strings": pa.list_(pa.string()), "map": pa.map_(pa.string(), pa.string()),
    }  # fmt: skip
    schema = pa.schema([pa.field(c.name, types[c.type]) for c in table.columns])
    columns = []
    for each in table.columns:
        values = column(rows, each.name)
        if each.type == "map":
            values = [None if v is None else list(v.items()) for v in values]
        columns.append(pa.array(values, type=types[each.type]))
    return pa.Table.from_arrays(columns, schema=schema)


def _judge(rule: Rule, frames: _Frames, thresholds: Mapping[str, Mapping[str, Any]]) -> list[Finding] | Defect:
    try:
        arguments = [frames.of(rule, name) if frames.has(name) else None for name in (*rule.tables, *rule.optional)]
        frame = rule.judge(*arguments, **dict(thresholds.get(rule.code, {})))
        return [_finding(rule, row, frames.counts_cut_off(rule)) for row in frame.toArrow().to_pylist()]
    except Exception as error:  # a defect of ours must not silence the other rules; it is reported and decides the exit code
        return Defect(rule.code, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}\n{traceback.format_exc()}")
    finally:
        frames.done(rule)
        gc.collect()  # frames are parts of cycles, and as long as they are there the JVM keeps their plans and rows (a third of its heap)
        give_back()  # Arrow's copy of its rows was needed on the way only


def _finding(rule: Rule, row: dict[str, Any], cut_off: Set[str] = frozenset()) -> Finding:
    reason = row.get("reason")
    facts = {k: v for k, v in row.items() if k not in _CONTRACT or k in ("job", "reason", "since", "until")}
    all_counted = facts.pop("all_counted", False)
    if row.get("scope") in cut_off and not all_counted:
        facts["at_least"] = [name for name in COUNTS if facts.get(name) is not None]
    subject = {k: _plain(facts[k]) for k in SUBJECT_KEYS if facts.get(k) is not None and facts[k] != []}
    severity = Severity(row["severity"]) if row.get("severity") else rule.severity
    evidence = tuple(
        Evidence(e["table"], e["file"], e["line"], utc(e["at"]), e["text"] or "") for e in (row.get("evidence") or [])[:MOST_EVIDENCE] if e
    )
    confidence = row.get("confidence")
    return Finding(
        code=rule.code,
        cause=row.get("cause", rule.cause),
        reason=reason,
        stage=rule.stage,
        severity=severity,
        confidence=1.0 if confidence is None else round(min(1.0, max(0.0, float(confidence))), 3),
        job=row.get("job"),
        subject=subject,
        since=utc(row.get("since")),
        until=utc(row.get("until")),
        says=fill(rule.says, reason, facts) or rule.title,
        inferred=fill(rule.inferred, reason, facts),
        fix=fill(rule.fix, reason, facts) or "",
        evidence=evidence,
        page=rule.page,
        scope=row.get("scope") or "",
        missing=fill(rule.missing, reason, facts),
        detail=facts | {"next_command": fill(rule.next_command or _TO_READ, reason, {**facts, "shown_at": _shown_at(evidence)})},
    )


def to_read(evidence: Sequence[Evidence]) -> str | None:
    """The command that opens the lines of `evidence`: what is left to do where nothing can be asked any more."""
    return fill(_TO_READ, None, {"shown_at": _shown_at(evidence)})


def _shown_at(evidence: Sequence[Evidence]) -> str | None:
    """Where the first line stands that shows it, as ``less`` takes it; null where that is no file of its own that ``zless`` can open."""
    first = next((e for e in evidence if e.file and e.line is not None), None)
    if first is None or first.file is None or "!" in first.file or first.file == "-" or re.search(r"\.(?:xz|zst|lz4|bz2)$", first.file):
        return None
    return f"+{first.line} {shlex.quote(first.file)}"


def _plain(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value
