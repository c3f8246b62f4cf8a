"""What verdicts of several jobs share, and what is new since the run before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from analyzers.report.fleet import JobRow, JobVerdict, Root

_KEYS = ("address", "host", "resource", "broker")
"""Keys of a subject that name something which jobs may have in common."""
_AT_ONCE = timedelta(minutes=30)
"""The number of a broker names one in each cluster: jobs that name the same one have it in common only where it went at the same time."""
_ALL_OF_US = frozenset(("localhost", "127.0.0.1", "0.0.0.0", "::1"))


def shared_roots(rows: Iterable[JobRow]) -> list[Root]:
    """What at least two scopes name in verdicts of one cause, most jobs first; what the same jobs name is one."""
    named: dict[tuple[str, str, str], list[tuple[datetime | None, str]]] = defaultdict(list)
    for row in rows:
        for verdict in row.verdicts:
            for kind, value in _names(verdict):
                named[kind, value, verdict.cause].append((verdict.since, row.scope))
    found: dict[tuple[tuple[str, ...], str], tuple[str, list[str], datetime | None]] = {}
    for (kind, value, cause), all_said in sorted(named.items(), key=lambda each: (_KEYS.index(each[0][0]), each[0])):
        for said in _at_once(all_said) if kind == "broker" else [all_said]:
            scopes = tuple(sorted({scope for _, scope in said}))
            if len(scopes) > 1:
                since = min((at for at, _ in said if at is not None), default=None)
                first, values, _ = found.setdefault((scopes, cause), (kind, [], since))
                if kind == first:
                    values.append(value)
    roots = [Root(kind, ", ".join(values), cause, since, scopes) for (scopes, cause), (kind, values, since) in found.items()]
    return sorted(roots, key=lambda root: (-len(root.scopes), root.kind, root.value))


def _names(verdict: JobVerdict) -> Iterator[tuple[str, str]]:
    for kind in _KEYS:
        value = verdict.subject.get(kind)
        for each in value if isinstance(value, list) else [value]:
            if each is not None and str(each).lower() not in _ALL_OF_US:
                yield kind, str(each)


def _at_once(said: Sequence[tuple[datetime | None, str]]) -> list[list[tuple[datetime | None, str]]]:
    """Those that began at about the same time."""
    dated = sorted(((at, scope) for at, scope in said if at is not None), key=lambda each: (each[0], each[1]))
    groups: list[list[tuple[datetime | None, str]]] = []
    for at, scope in dated:
        first = groups[-1][0][0] if groups else None
        if first is not None and at - first <= _AT_ONCE:
            groups[-1].append((at, scope))
        else:
            groups.append([(at, scope)])
    return groups


def compared(rows: Iterable[JobRow], before: Mapping[str, Any]) -> list[dict[str, str]]:
    """Marks the verdicts of `rows` as new or still there; gives those of `before` (a document of `diag fleet`) that are gone."""
    known = {(job["scope"], verdict["id"]): verdict for job in before["jobs"] for verdict in job["verdicts"]}
    there = set()
    for row in rows:
        for verdict in row.verdicts:
            key = (row.scope, verdict.id)
            verdict.change = "still" if key in known else "new"
            there.add(key)
    return [
        {"scope": scope, "id": id_, "says": said["headline"]} for (scope, id_), said in sorted(known.items()) if (scope, id_) not in there
    ]
