"""Facts of two looks that can be compared: what is read of which tables, and what counts as a change.

A kind is compared only where both looks can show it. Of settings that a log prints whole, one that only one side has is a change, too;
of what a sample shows (versions, tasks) it is none. A measured number has changed where it doubled or halved and the step is worth a
word: two runs of one healthy job differ by less.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import median
from typing import Any

from analyzers.comparison.sides import Side
from analyzers.components.toml_files import toml_file
from analyzers.report.report import shown_state
from analyzers.secrets import HIDDEN, under_secret_name
from analyzers.tables import Row

Facts = dict[str, Any]
"""By what it is about; empty where the look cannot show it."""

_DRAWN = tuple(toml_file(__package__ or "analyzers.comparison", "drawn.toml")["settings"].split())
_ID = re.compile(r"\b[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\b")
_FACTOR = 2
_LONG = 19  # digits
_FEWEST = 3
"""Checkpoints: of fewer the usual one is not known."""


@dataclass(frozen=True)
class Kind:
    """One kind of fact: `of` reads it. `absence`: whether what only one side has is a change; `named`: it is about names of the user, or
    has them as values; `least`: of a number the smallest step that counts, in its unit."""

    name: str
    of: Callable[[Side], Facts]
    absence: bool = False
    named: bool = True
    least: float | None = None
    unit: str = ""


@dataclass(frozen=True)
class FactChange:
    """A fact that both sides show, differently; None where a side has none. `unit` is that of numbers: ms, bytes, records/s."""

    kind: str
    about: str
    before: str | float | None
    after: str | float | None
    unit: str = ""


@dataclass(frozen=True)
class ComparedFacts:
    """What changed; the kinds that both sides show; those that only one shows, or shows with tokens where the other has names."""

    changes: tuple[FactChange, ...]
    kinds: tuple[str, ...]
    left: tuple[str, ...]


def compared_facts(before: Side, after: Side, *, names: bool) -> ComparedFacts:
    """All kinds of facts of both, compared."""
    changes: list[FactChange] = []
    kinds: list[str] = []
    left: list[str] = []
    for kind in KINDS:
        old, new = kind.of(before), kind.of(after)
        if not old and not new:
            continue
        if not old or not new or (kind.named and not names):
            left.append(kind.name)
            continue
        kinds.append(kind.name)
        abouts = sorted({*_with_owner(old, new), *_with_owner(new, old)} if kind.absence else {*old} & {*new})
        changes += [
            FactChange(kind.name, about, old.get(about), new.get(about), kind.unit)
            for about in abouts
            if _differ(old.get(about), new.get(about), kind.least)
        ]
    return ComparedFacts(tuple(changes), tuple(kinds), tuple(left))


def _with_owner(known: Facts, other: Facts) -> set[str]:
    """Facts of those alone of which the other look has any: a log that is not there sets nothing, and unsets nothing."""
    owners = {about.partition(": ")[0] for about in other}
    return {about for about in known if about.partition(": ")[0] in owners}


def _differ(old: Any, new: Any, least: float | None) -> bool:
    if least is not None and old is not None and new is not None:
        small, large = sorted((old, new))
        return bool(large >= small * _FACTOR and large - small >= least)
    return bool((_ID.sub("#", old) if isinstance(old, str) else old) != (_ID.sub("#", new) if isinstance(new, str) else new))


def _job(side: Side, row: Row) -> str:
    """What a job is called; the only one of its look needs no name."""
    return "the job" if len(side.shown_jobs) <= 1 else side.job_names.get(row.get("job") or "", "the job")


def _joined(pairs: Iterable[tuple[str, Any]]) -> Facts:
    """By the first of each pair its values, sorted."""
    found: dict[str, set[str]] = defaultdict(set)
    for about, value in pairs:
        found[about].add(str(value))
    return {about: ", ".join(sorted(values, key=_order)) for about, values in found.items()}


def _order(value: str) -> tuple[int, str]:
    """Numbers as numbers."""
    return (int(value), "") if value.isdecimal() and len(value) < _LONG else (0, value)


def _states(side: Side) -> Facts:
    rows = side.tables.get("job_state", ())
    return {_job(side, row): shown_state({"loops": False, **row}) for row in rows if row.get("state")}


def _versions(side: Side) -> Facts:
    """Of each role in the logs the engine's version and that of its clients; of the JobManager what it answered."""
    files = side.tables.get("log_files", ())
    asked = [("Flink (REST)", row["engine_version"]) for row in side.tables.get("jobs", ()) if row.get("engine_version")]
    engines = [(row["role"] or "log", row["version"]) for row in files if row.get("version")]
    clients = [
        (f"{row['role'] or 'log'}: {name}", version)
        for row in files
        for name, _, version in (each.rpartition(" ") for each in row.get("clients") or ())
        if name
    ]
    return _joined([*asked, *engines, *clients])


def _parallelism(side: Side) -> Facts:
    """Of each task; of logs its newest one."""
    vertices = [row for row in side.tables.get("vertices", ()) if row.get("parallelism")]
    if vertices:
        return {row["task"]: str(row["parallelism"]) for row in vertices}
    events = [row for row in side.tables.get("log_events", ()) if row.get("task") and row.get("parallelism") and row.get("at")]
    return {row["task"]: str(row["parallelism"]) for row in sorted(events, key=lambda row: row["at"])}


def _settings(side: Side) -> Facts:
    return _joined((about, _hidden(key, value)) for about, key, value in _each_setting(side.tables) if not _is_drawn(key))


def _each_setting(tables: Mapping[str, Sequence[Row]]) -> Iterator[tuple[str, str, Any]]:
    """What it is about (with its key), key, value."""
    for row in tables.get("log_events", ()):
        if row.get("signature") == "configuration-property" and (row.get("detail") or {}).get("key"):
            key = row["detail"]["key"]
            yield f"{row['role'] or 'log'}: {key}", key, row["detail"].get("value")
    for table, owner in (("job_config", "source"), ("topic_configs", "topic"), ("connector_configs", "connector")):
        for row in tables.get(table, ()):
            yield f"{row[owner] or table}: {row['key']}", row["key"] or "", row["value"]


def _is_drawn(key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in _DRAWN)


def _hidden(key: str, value: Any) -> Any:
    return HIDDEN if isinstance(value, str) and under_secret_name({}, key, value) else value


def _bootstrap(side: Side) -> Facts:
    """The bootstrap servers of each kind of client, and those that were probed."""
    listed: list[tuple[str, Any]] = [("the probe", row["entry"]) for row in side.tables.get("bootstrap_servers", ()) if row.get("entry")]
    for row in side.tables.get("log_events", ()):
        if row.get("signature") == "kafka-client-config" and (row.get("detail") or {}).get("bootstrap"):
            detail = row["detail"]
            listed += [(str(detail.get("config_of") or "client"), entry.strip()) for entry in detail["bootstrap"].split(",")]
    return _joined(listed)


def _brokers(side: Side) -> Facts:
    rows = [row for row in side.tables.get("brokers", ()) if row.get("broker") is not None and row.get("in_metadata")]
    return _joined(("the cluster", row["broker"]) for row in rows)


def _leaders(side: Side) -> Facts:
    rows = side.tables.get("partitions", ())
    return {f"{row['topic']}-{row['partition']}": str(row["leader"]) for row in rows if row.get("leader") is not None}


def _checkpoints(column: str) -> Callable[[Side], Facts]:
    """The median of the completed checkpoints of each job, of a JobManager's answers or of logs."""

    def of(side: Side) -> Facts:
        values: dict[str, list[float]] = defaultdict(list)
        asked = [row for row in side.tables.get("checkpoints", ()) if row.get("status") == "COMPLETED" and not row.get("savepoint")]
        logged = [row for row in side.tables.get("log_events", ()) if row.get("signature") == "checkpoint-completed"]
        for row in asked or logged:
            value = row.get(column) if asked or column == "duration_ms" else (row.get("detail") or {}).get(column)
            if value is not None:
                values[_job(side, row)].append(float(value))
        return {about: median(own) for about, own in values.items() if len(own) >= _FEWEST}

    return of


def _trends(side: Side) -> Facts:
    return {
        f"{row['group']} {row['topic']}-{row['partition']}": row["trend"] for row in side.tables.get("lag_status", ()) if row.get("trend")
    }


def _lag(column: str) -> Callable[[Side], Facts]:
    """The sum over the partitions of each group and topic."""

    def of(side: Side) -> Facts:
        sums: dict[str, float] = defaultdict(float)
        for row in side.tables.get("lag_status", ()):
            if row.get(column) is not None:
                sums[f"{row['group']} {row['topic']}"] += float(row[column])
        return dict(sums)

    return of


KINDS = (
    Kind("state", _states, named=False),
    Kind("version", _versions, named=False),
    Kind("parallelism", _parallelism),
    Kind("setting", _settings, absence=True),
    Kind("bootstrap servers", _bootstrap),
    Kind("brokers", _brokers, named=False),
    Kind("leader", _leaders),
    Kind("checkpoint duration", _checkpoints("duration_ms"), named=False, least=1_000, unit="ms"),
    Kind("checkpoint size", _checkpoints("size_bytes"), named=False, least=1 << 20, unit="bytes"),
    Kind("lag trend", _trends),
    Kind("lag", _lag("lag_records"), least=1_000, unit="records"),
    Kind("read rate", _lag("consumed_per_second"), least=10, unit="records/s"),
    Kind("write rate", _lag("produced_per_second"), least=10, unit="records/s"),
)
