"""Which one thing stands behind the verdicts of several jobs, and what is new since the run before.

A root is named by the chain of each verdict that it explains, can bring about their causes, and they were ill at the same time. What ill
jobs only stand on, and well ones do not, is in common: a hint.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from analyzers.report.fleet import JobRow, Root
from analyzers.report.report import Name

_CALLED = frozenset(("broker-unreachable", "external-system", "offset-commit", "barrier-unacknowledged", "checkpoint-storage", "other"))
_MACHINE = frozenset(("taskmanager-lost", "jobmanager-lost"))
EXPLAINS: Mapping[str, frozenset[str]] = {
    "address": _CALLED | {"jobmanager-lost"},  # of a ZooKeeper, or of the API of Kubernetes
    "storage": frozenset(("checkpoint-storage", "external-system", "jobmanager-lost", "other")),
    "broker": frozenset(("broker-unreachable", "external-system", "offset-commit", "barrier-unacknowledged", "other")),
    "topic": frozenset(("offset-reset", "poison-record")),
    "image": _MACHINE | {"other"},
    "server": _CALLED | {"jobmanager-lost"},
    "host": _MACHINE,
    "node": _MACHINE,
    "cluster": frozenset(("broker-unreachable",)),
    "frame": frozenset(("poison-record", "taskmanager-lost", "other")),
}
"""Causes that a thing of this kind brings about. Of kinds that explain the same jobs the first is the most exact."""
_OF_ITSELF = frozenset((
    ("RST402", None), ("RST403", "memory"), ("RST403", "virtual-memory"), ("RST403", "storage"), ("RST403", "fatal-error"),
))  # fmt: skip
"""Rule and reason (None: any) of a worker that ended by what it used itself: no machine explains that."""
_KINDS = tuple(EXPLAINS)
_APART = timedelta(minutes=30)
"""Spells that are further apart are not at one time: a log ends with its job, and jobs look again after minutes."""
_FEWEST_IN_COMMON = 3


@dataclass(frozen=True)
class _Spell:
    """One verdict of one job, and when it was seen."""

    scope: str
    job: str | None
    number: int
    cause: str
    of_itself: bool
    begin: datetime
    end: datetime

    @property
    def owner(self) -> tuple[str, str | None]:
        """Its job: an id that Flink has drawn is of one job, in whichever scopes its logs lie."""
        return ("", self.job) if self.job is not None and is_drawn(self.job) else (self.scope, self.job)


def is_drawn(job: str) -> bool:
    """Whether `job` is an id that no other job has. In application mode Flink draws none: the id is zeros, or with high availability the
    hash of the cluster id and zeros."""
    return _DRAWN.fullmatch(job) is not None and len(set(job)) > _FEW_DIGITS and not job.endswith(_NOT_DRAWN)


_DRAWN, _FEW_DIGITS, _NOT_DRAWN = re.compile(r"[0-9a-f]{32}"), 6, "0" * 16


def shared_roots(rows: Sequence[JobRow]) -> list[Root]:
    """What stands behind verdicts of at least two jobs, most jobs first; each verdict has one root at most."""
    clusters = _clusters(rows)
    in_chains, around = dict[Name, list[_Spell]](), dict[Name, list[_Spell]]()
    having, kinds = Counter[Name](), Counter[str]()
    for row in rows:
        stands_on = set(_resolved(row.names, row, clusters))
        having.update(stands_on)
        kinds.update({name.kind for name in stands_on})
        for spell, names in _spells(row):
            named = set(_resolved(names, row, clusters))
            if cluster := clusters.get(row.scope):
                named.add(Name("cluster", cluster))
            for name in {*named, *stands_on}:
                explains = name in named and spell.cause in EXPLAINS.get(name.kind, ())
                explains = explains and not (spell.of_itself and name.kind in ("host", "node"))
                (in_chains if explains else around).setdefault(name, []).append(spell)
    taken: set[_Spell] = set()
    roots = list(_cover(in_chains, "explains", 2, taken))
    hints = {name: _most_alike(spells) for name, spells in around.items() if name.kind in EXPLAINS}
    telling = {name: spells for name, spells in hints.items() if _sets_apart(spells, having[name], kinds[name.kind], rows)}
    return [*roots, *_cover(telling, "in-common", _FEWEST_IN_COMMON, taken)]


def _spells(row: JobRow) -> Iterator[tuple[_Spell, list[Name]]]:
    for number, verdict in enumerate(row.verdicts):
        begin, end = verdict.since or verdict.until, verdict.until or verdict.since
        if begin is not None and end is not None:
            own = bool({(verdict.code, None), (verdict.code, verdict.reason)} & _OF_ITSELF)
            yield _Spell(row.scope, row.job, number, verdict.cause, own, begin, max(begin, end)), verdict.names


def _clusters(rows: Iterable[JobRow]) -> dict[str, str]:
    """What the Kafka cluster of each scope is called: clusters with the same id, or with a common bootstrap server, are one."""
    above: dict[Name, Name] = {}

    def top(name: Name) -> Name:
        while (higher := above.setdefault(name, name)) != name:
            name = higher
        return name

    of_scope = {row.scope: [name for name in row.names if name.kind in ("cluster", "bootstrap")] for row in rows}
    for names in of_scope.values():
        for name in names:
            one, other = sorted((top(names[0]), top(name)), key=lambda each: (each.kind != "cluster", each.value))
            above[other] = one
    return {scope: top(names[0]).value for scope, names in of_scope.items() if names}


def _resolved(names: Iterable[Name], row: JobRow, clusters: Mapping[str, str]) -> Iterator[Name]:
    """`names` as they are known beyond the scope of `row`: brokers and topics are those of a cluster."""
    for name in names:
        if name.kind in ("broker", "topic"):
            if cluster := clusters.get(row.scope):
                yield Name(name.kind, f"{name.value} of cluster {cluster}")
        elif name.kind in ("cluster", "bootstrap"):
            yield Name("cluster", clusters[row.scope])
        else:
            yield name


def _cover(named: Mapping[Name, Sequence[_Spell]], link: str, fewest: int, taken: set[_Spell]) -> Iterator[Root]:
    """Roots, those of most jobs first; what is explained by one needs no other."""
    left = [(name, group) for name, spells in named.items() for group in _at_once(spells)]
    while left:
        left = [(name, own) for name, group in left if _jobs(own := [spell for spell in group if spell not in taken]) >= fewest]
        if not left:
            return
        name, group = min(left, key=lambda each: (-_jobs(each[1]), _KINDS.index(each[0].kind), each[0].value))
        alike = sorted(other.value for other, own in left if other.kind == name.kind and {*own} == {*group})
        taken |= {*group}
        yield _root(name.kind, ", ".join(alike), group, link)


def _root(kind: str, value: str, spells: Sequence[_Spell], link: str) -> Root:
    causes = Counter(spell.cause for spell in spells)
    ordered = sorted(causes, key=lambda cause: (-causes[cause], cause))
    first = {spell.owner: (spell.scope, spell.job) for spell in sorted(spells, key=lambda each: each.scope, reverse=True)}
    jobs = sorted(first.values(), key=lambda each: (each[0], each[1] or ""))
    begin, end = min(spell.begin for spell in spells), max(spell.end for spell in spells)
    return Root(kind, value, ordered[0], begin, tuple(dict.fromkeys(scope for scope, _ in jobs)), end, link, tuple(ordered), tuple(jobs))


def _jobs(spells: Iterable[_Spell]) -> int:
    return len({spell.owner for spell in spells})


def _at_once(spells: Iterable[_Spell]) -> list[list[_Spell]]:
    """Those that were ill at the same time."""
    groups: list[list[_Spell]] = []
    last = None
    for spell in sorted(spells, key=lambda each: (each.begin, each.end, each.scope, each.job or "", each.number)):
        if last is not None and spell.begin <= last + _APART:
            groups[-1].append(spell)
            last = max(last, spell.end)
        else:
            groups.append([spell])
            last = spell.end
    return groups


def _most_alike(spells: Sequence[_Spell]) -> list[_Spell]:
    """Those of the most frequent cause: only what looks alike may have something in common."""
    causes = Counter(spell.cause for spell in spells)
    cause = min(causes, key=lambda each: (-causes[each], each))
    return [spell for spell in spells if spell.cause == cause]


def _sets_apart(spells: Sequence[_Spell], having: int, known: int, rows: Sequence[JobRow]) -> bool:
    """Whether most jobs that have it are ill of one cause, and few of those that have another thing of its kind."""
    ill = _jobs(spells)
    if ill < _FEWEST_IN_COMMON or known <= having or 2 * ill <= having:
        return False
    elsewhere = sum(any(verdict.cause == spells[0].cause for verdict in row.verdicts) for row in rows) - ill
    return elsewhere * having < ill * (known - having)


def compared(rows: Sequence[JobRow], before: Mapping[str, Any]) -> tuple[list[dict[str, str]], list[str]]:
    """Marks the verdicts of `rows` as new or still there; gives those of `before` (a document of `diag fleet`) that are gone, and of which
    scopes nothing is known now: they are not there, or nothing of them could be judged."""
    known = {(job["scope"], verdict["id"]): verdict for job in before["jobs"] for verdict in job["verdicts"]}
    judged = {row.scope for row in rows if row.outcome != "unread"}
    there = set()
    for row in rows:
        for verdict in row.verdicts:
            key = (row.scope, verdict.id)
            verdict.change = "still" if key in known else "new"
            there.add(key)
    lacking = [(scope, id_, said) for (scope, id_), said in sorted(known.items()) if (scope, id_) not in there]
    gone = [{"scope": scope, "id": id_, "says": said["headline"]} for scope, id_, said in lacking if scope in judged]
    return gone, sorted({scope for scope, _, _ in lacking if scope not in judged})
