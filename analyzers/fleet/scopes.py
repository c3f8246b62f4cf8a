"""What executors do with one scope: merge, bound and derive before the rules judge; weigh and conclude afterwards."""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import zstandard

from analyzers.diagnosis.diagnose import Prepared, concluded, prepared, why_empty, why_missing
from analyzers.diagnosis.frames import Chosen, arrow_of, key_of
from analyzers.diagnosis.run_rules import Outcome, settle, sort_out
from analyzers.diagnosis.window import nothing_within
from analyzers.fleet.identities import surroundings
from analyzers.fleet.reading import Find, Gather, Item, found_of
from analyzers.own_rules import rules_of
from analyzers.readers.log_plan import Plan
from analyzers.readers.log_scan import Found, tables
from analyzers.report.finding import Defect, Finding, NotChecked
from analyzers.report.report import Report, Source
from analyzers.tables import Row
from analyzers.tables.by_column import ByColumn
from analyzers.tables.evidence import Evidence
from analyzers.tables.memory import gc_paused

if TYPE_CHECKING:
    import pyarrow as pa

    from analyzers.bundle.hiding import Hiding
    from analyzers.own_rules.language import OwnRules
    from analyzers.vocabulary.rule import Rule

DERIVED = "scope string, name string, waiting array<string>, cut array<string>, payload binary"
"""`name`: a table, with the rows that rules see; "" = what the report is made of, with the rules that wait (`variant`)."""


def _any(of: object) -> bool:
    """No lambda: other processes get it by its name."""
    return True


@dataclass(frozen=True)
class Choice:
    """What is to be judged: rules, findings, and the times between which things count, as `diagnosis.judge` has them; `hide`: with tokens
    for names."""

    runs: Callable[[str], bool] = _any
    keeps: Callable[[Finding], bool] = _any
    since: datetime | timedelta | None = None
    until: datetime | timedelta | None = None
    hide: Hiding | None = None
    own: OwnRules | None = None
    """Rules of a user's own, which judge beside diag's."""


ALL = Choice()


@dataclass
class Half:
    """One scope between its derived tables and its report."""

    found: Prepared | None = None
    outcome: Outcome = field(default_factory=Outcome)
    waiting: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    failed: str | None = None


def variant(rule: Rule, tables: Mapping[str, object]) -> str:
    """The code, and the tables that are None for the rule in this scope."""
    return "|".join((rule.code, *(name for name in rule.optional if name not in rule.emptied and name not in tables)))


def read_and_derived(item: Item, gather: Gather, choice: Choice = ALL, find: Find = found_of) -> Iterator[pa.RecordBatch]:
    """A scope that one task reads whole, as `DERIVED`."""
    with gc_paused():
        made = derived_of(item.scope, find(item, gather), choice)
    yield from made.to_batches()


def derived(rows: pa.Table, choice: Choice = ALL) -> pa.Table:
    """All rows of `PARTS` of one scope → its rows for rules, and its `Half`."""
    found = zip(rows["kind"].to_pylist(), rows["payload"], strict=True)
    return derived_of(rows["scope"][0].as_py(), ((kind, pickle.loads(payload.as_buffer())) for kind, payload in found), choice)


def derived_of(scope: str, found: Iterable[tuple[str, Any]], choice: Choice) -> pa.Table:
    """All that was `found` of one scope, by kind → its rows for rules, and its `Half`."""
    import pyarrow as pa

    half, shown, cut = Half(), dict[str, "pa.Table"](), list[str]()
    try:
        half, shown, cut = _derived(scope, found, choice)
    except Exception as error:  # one poisoned scope costs itself
        half = Half(failed=f"its evidence could not be judged: {type(error).__name__}: {error}")
    if choice.hide is not None and half.failed:
        (half.failed,) = choice.hide.texts([half.failed])
    out: list[dict[str, Any]] = [
        {"scope": scope, "name": name, "waiting": [], "cut": [], "payload": _bytes(table)} for name, table in shown.items()
    ]
    whole = zstandard.compress(pickle.dumps(half), 1)
    out.append({"scope": scope, "name": "", "waiting": list(half.waiting), "cut": cut, "payload": whole})
    types = [("scope", pa.string()), ("name", pa.string()), ("waiting", pa.list_(pa.string())), ("cut", pa.list_(pa.string()))]
    return pa.Table.from_pylist(out, schema=pa.schema([*types, ("payload", pa.binary())]))


def _derived(scope: str, found: Iterable[tuple[str, Any]], choice: Choice) -> tuple[Half, dict[str, pa.Table], list[str]]:
    read: dict[str, list[Any]] = defaultdict(list)
    for kind, what in found:
        read[kind].append(what)
    if read["failed"] and not read["evidence"] and not read["part"]:
        return Half(failed="; ".join(sorted(read["failed"]))), {}, []
    evidence: dict[str, Sequence[Row]] = {}
    notes: list[str] = []
    absent: dict[str, str] = {}
    for gathered, said, missing in read["evidence"]:
        evidence, notes, absent = {**gathered}, [*said], {**missing}
    if read["plan"]:
        made: Plan = read["plan"][0]
        bounded = Found()
        bounded.add(read["part"])
        logs = tables(made, bounded.take(), bounded.limits)
        evidence = {**logs, **evidence, "sources": [*logs["sources"], *evidence.get("sources", ())]}
        notes += made.notes
    if choice.hide is not None:
        hidden = choice.hide.evidence(Evidence(evidence, notes, absent))
        evidence, notes, absent = {**hidden.tables}, hidden.notes, hidden.absent
    filed = {name: _filed(own, scope) for name, own in evidence.items()}
    if (outside := nothing_within(filed, choice.since, choice.until)) is not None:
        return Half(failed=outside), {}, []
    ready = prepared(filed, choice.since, choice.until, own=True)
    chosen = Chosen(ready.whole)
    outcome, waiting = sort_out(
        [rule for rule in rules_of(choice.own) if choice.runs(rule.code)],
        chosen,
        absent=why_missing(ready, absent),
        untold=why_empty(ready),
    )
    half = Half(ready, outcome, tuple(variant(rule, ready.whole) for rule in waiting), notes)
    cut = [name for name in ("faults", "attempts") if ready.whole.get("log_counts") is not None and scope in chosen.cut_off(name)]
    return half, _seen(waiting, chosen), cut


def _filed(rows: Sequence[Row], scope: str) -> Sequence[Row]:
    if isinstance(rows, ByColumn):
        rows.same("scope", scope)
        return rows
    for row in rows:
        row["scope"] = scope
    return rows


def _seen(waiting: Iterable[Rule], tables: Chosen) -> dict[str, pa.Table]:
    """The rows that `waiting` see, of each table once."""
    wanted: dict[str, list[frozenset[str]]] = defaultdict(list)
    first: dict[tuple[str, frozenset[str]], Rule] = {}
    for rule in waiting:
        for name in (*rule.tables, *rule.optional):
            if name in tables:
                key = key_of(rule, name)
                wanted[name].append(key[1])
                first.setdefault(key, rule)
    out = {}
    for name, kinds in wanted.items():
        # one without rows, too: it was looked at
        out[name] = arrow_of(name, tables.of_kinds(name, frozenset() if frozenset() in kinds else frozenset().union(*kinds)))
    return out


def _bytes(table: pa.Table) -> bytes:
    import pyarrow as pa

    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def rows_of(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of one table, of payloads of `DERIVED`."""
    import pyarrow as pa

    for batch in batches:
        for payload in batch["payload"]:
            with pa.ipc.open_stream(payload.as_buffer()) as reader:
                yield from reader


@gc_paused()
def report_of(
    scope: str,
    payload: bytes,
    said: Mapping[str, list[Finding] | Defect],
    ended: str | None,
    command: str,
    version: str,
    choice: Choice = ALL,
) -> Report:
    """The report of one scope. `said`: what rules said of it, by `variant`."""
    half: Half = pickle.loads(zstandard.decompress(payload))
    rules = {rule.code: rule for rule in rules_of(choice.own)}
    if half.found is None:
        report = Report("diag", version, command, None, (None, None), sources=[Source(scope, "job", "failed", half.failed)])
        report.not_checked = [NotChecked(code, half.failed or "") for code in rules]
        return report
    by_code = {code.partition("|")[0]: said[code] for code in half.waiting if code in said}
    settle(half.outcome, [rules[code.partition("|")[0]] for code in half.waiting], by_code, ended)
    report = concluded(
        half.found, half.outcome, list(rules.values()), command=command, version=version, keeps=choice.keeps, notes=half.notes
    )
    report.surroundings = surroundings(half.found.whole)
    return report
