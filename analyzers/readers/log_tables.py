"""The tables of a scan: what was found in all parts of all files, merged, in order, as rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.layouts.timestamps import Zone, to_datetime
from analyzers.logs.scan.bound import Limits, cut, limits
from analyzers.logs.scan.families import Kind, rows_of
from analyzers.logs.scan.kept import Kept, Rows
from analyzers.logs.scan.selection import (
    GENERIC_GROUPS_IN_ALL,
    REMARK_GROUPS_IN_ALL,
    FilePart,
    Group,
    GroupKey,
    Groups,
    Key,
    Window,
    edge_keep,
    is_inside,
    merge_parts,
)
from analyzers.logs.signatures.signature import OWN, Signature
from analyzers.readers.after_polls import with_silences
from analyzers.readers.before_failures import with_lines_before
from analyzers.readers.log_plan import Plan
from analyzers.readers.standing_values import standing_values
from analyzers.readers.state_texts import state_rows
from analyzers.tables import LOG_COUNTS, LOG_EVENTS, LOG_FILES, LOG_REMARKS, SCANNED_PATTERNS, SOURCES, STANDING_VALUES, Row
from analyzers.tables.by_column import NO_NUMBER, ByColumn, column
from analyzers.tables.memory import gc_paused

Tables = dict[str, Sequence[Row]]
LONG_LOGS = "long logs"
"""How a note begins that rows were dropped."""
LOUD_LOGS = "the logs hold warnings and errors only: whether something went on or recovered would stand at INFO, and is not seen"
_MANY_LOUD = 10
"""Lines: an excerpt of fewer proves no filter."""


def tables(plan: Plan, found: Iterable[FilePart], known: Limits | None = None) -> Tables:
    """All parts put together: lines counted from the start of each file, groups merged, rows in order. What is more than `known` allows
    was given up already. The parts are used up: what they kept goes as rows are made of it."""
    by_file: dict[tuple[int, str], list[FilePart]] = defaultdict(list)
    for part in found:
        by_file[part.order, part.file].append(part)
    files = [merge_parts(sorted(parts, key=lambda part: part.part)) for _, parts in sorted(by_file.items())]
    as_of = to_datetime(max((f.last_ms for f in files if f.last_ms is not None), default=None))
    head = {"scope": plan.options.scope, "as_of": as_of}
    with gc_paused():
        kept = limits(files, known or Limits())
        made = _tables_of(plan, files, head, kept)
        events = made[LOG_EVENTS.name]
        if plan.options.own:  # beside them an event of a user's own is another one
            events = [event for event in events if not event["signature"].startswith(OWN)]
        with_silences(events, plan.files, made[LOG_FILES.name])
        with_lines_before(events, plan.files)
        if standing := standing_values(plan.files, made[LOG_FILES.name], head):
            made[STANDING_VALUES.name] = standing
        if plan.states and not files:  # nobody gave a log
            made = {name: made[name] for name in (SOURCES.name, LOG_REMARKS.name) if made[name]}
        for name, rows in state_rows(plan.states, plan.options.scope).items() if plan.states else ():
            made[name] = [*made.get(name, ()), *rows]
        if kept != Limits():
            about = f" of {plan.options.scope}" if plan.options.scope else ""
            every = sum(column(made[LOG_COUNTS.name], "events"))
            plan.notes.append(
                f"{LONG_LOGS}{about}: of {every:,} events of interest {len(made[LOG_EVENTS.name]):,} are kept, the first and last of each "
                "kind: numbers of failures, restarts and commits are at least what is said"
            )
    if cut := [file for file in files if file.cut]:
        lines = sum(file.cut for file in cut)
        what = f"{lines} line{'s' * (lines != 1)} of more than {BUDGET.line_bytes >> 20} MB ({cut[0].file}{', …' * (len(cut) > 1)})"
        plan.notes.append(f"{what}: what lies behind the first {BUDGET.line_bytes >> 20} MB of a line was not looked at")
    if not any(file.calm for file in files) and sum(file.loud for file in files) >= _MANY_LOUD:
        plan.notes.append(LOUD_LOGS)
    return made


def _tables_of(plan: Plan, files: list[FilePart], head: dict[str, Any], kept: Limits) -> Tables:
    seen = _seen(files, plan.inside)
    counts = _counts(files, head)
    for file in files:
        file.counts.counts.clear()  # there are many of them where logs are long, and rows want their room
    remarks = _remarks(plan, files, head)
    return {
        LOG_EVENTS.name: _events(files, head, kept, seen),
        LOG_REMARKS.name: remarks,
        LOG_COUNTS.name: counts,
        LOG_FILES.name: _files(plan, files, head),
        SOURCES.name: _sources(plan, files, head),
        **({SCANNED_PATTERNS.name: _scanned(plan.options.own, head)} if plan.options.own else {}),
    }


def _scanned(own: Sequence[Signature], head: dict[str, Any]) -> list[Row]:
    return [SCANNED_PATTERNS.row({**head, "signature": each.id}) for each in own]


def _seen(files: list[FilePart], window: Window | None) -> Counter[tuple[str, Kind]]:
    """How many events there were of each kind."""
    counted: Counter[tuple[str, Kind]] = Counter()
    for file in files:
        for (signature, job, _), found in file.counts.counts.items():
            counted[signature, (job, window is not None)] += found.untimed
            for at, events in zip(found.firsts, found.events, strict=True):
                counted[signature, (job, window is not None and is_inside(at, window))] += events
    return counted


def _events(files: list[FilePart], head: dict[str, Any], limit: Limits, counted: Mapping[tuple[str, Kind], int]) -> list[Row]:
    known, generic, edge = Groups(10**9), Groups(GENERIC_GROUPS_IN_ALL), edge_keep(len(files))
    edges: list[tuple[Key, tuple[FilePart, Kept]]] = []
    for file in files:
        for groups, kept_groups in ((known, file.known), (generic, file.generic)):
            for group, keep, entries in kept_groups:
                groups.group(group, keep).extend([(key, (file, kept)) for key, kept in entries])
        for _, _, entries in file.edges:  # of a file with many streams more than was planned
            few = Group(edge)
            few.extend(entries)
            edges += ((key, (file, kept)) for key, kept in few.entries())
        for used in (file.known, file.generic, file.edges):
            used.clear()
    stay, holes = rows_of(known.kept(), limit.known, counted)
    stay += [entry for _, _, entries in generic.kept() for entry in cut(entries, limit.generic)]
    unique = {(key, what[1].name): what for key, what in (*stay, *edges)}
    del known, generic, stay, edges
    making, rows, order = Rows(**head), list[Row](), sorted(unique)  # by time, file and line
    if order and order[-1][0][0]:
        order = _in_place(order, unique)
    order.reverse()
    while order:
        key, name = order.pop()
        file, kept = unique.pop((key, name))
        row = making.row(file, key, kept)
        row["seq"], row["left_out"] = len(rows), holes.get((key, name))
        rows.append(row)
    return rows


def _remarks(plan: Plan, files: list[FilePart], head: dict[str, Any]) -> list[Row]:
    """The remarks of all files, each by itself, and the lines of the notes beside them."""
    groups, counted = Groups(REMARK_GROUPS_IN_ALL), Counter[GroupKey]()
    for file in files:
        for group, keep, entries in file.remarks:
            own = (file.file, *group)
            groups.group(own, keep).extend([(key, (file, kept)) for key, kept in entries])
            counted[own] += file.remarked[group]
        file.remarks.clear()
    making = Rows(**head)
    rows = [
        LOG_REMARKS.row({"times": counted[group], **{name: made[name] for name in _OF_REMARKS}})
        for group, _, entries in groups.kept()
        for made in (making.row(file, key, kept) for key, (file, kept) in entries)
    ]
    rows += [LOG_REMARKS.row({**head, **line}) for line in plan.lines]
    return sorted(rows, key=lambda row: (row["file"], row["line"] or 0))


_OF_REMARKS = ("scope", "as_of", "at", "file", "line", "role", "host", "level", "logger", "job", "text")


def _in_place(entries: Iterable[tuple[Key, str]], of: Mapping[tuple[Key, str], tuple[FilePart, Kept]]) -> list[tuple[Key, str]]:
    """`entries` in order of time, where some have none: those come at the time of the last one before them in their file."""
    latest: dict[str, int] = {}
    placed = []
    for key, name in sorted(entries, key=lambda entry: (entry[0][2:], entry[1])):  # by file and line
        file = of[key, name][0].file
        if not key[0]:
            latest[file] = key[1]
        placed.append((latest.get(file, -(2**62)), key[2:], name, key))
    return [(key, name) for _, _, name, key in sorted(placed)]


def _counts(files: list[FilePart], head: dict[str, Any]) -> ByColumn:
    kinds = [
        ((signature, file.file, job or "", task or ""), (job, task, file.host), found)
        for file in files
        for (signature, job, task), found in file.counts.counts.items()
    ]
    rows = ByColumn(LOG_COUNTS, head, to_datetime)
    for (signature, file, _, _), (job, task, host), found in sorted(kinds, key=itemgetter(0)):
        same = {"signature": signature, "file": file, "job": job, "task": task, "host": host}
        if found.untimed:
            rows.extend(1, same, {"minute": (NO_NUMBER,), "events": (found.untimed,), "first_at": (NO_NUMBER,), "last_at": (NO_NUMBER,)})
        times = {"minute": found.minutes, "first_at": found.firsts, "last_at": found.lasts}
        rows.extend(len(found), same, {"events": found.events, **times})
    return rows


def _files(plan: Plan, files: list[FilePart], head: dict[str, Any]) -> list[Row]:
    planned = {file.origin.order: file for file in plan.files}
    rows = []
    for part in files:
        file = planned[part.order]
        rows.append(
            LOG_FILES.row({
                **head, "file": part.file, "role": part.role, "host": part.host, "layout": file.layout,
                "wrapping": " > ".join(file.wrapping.shown) if file.wrapping else None,
                "zone": part.zone, "first_at": to_datetime(part.first_ms), "last_at": to_datetime(part.last_ms), "size_bytes": file.size,
                "lines": part.lines, "events": part.events, "unparsed_lines": part.unparsed, "version": part.version,
                "clients": sorted(part.clients), "utc_minutes": _utc_minutes(part, file.origin.zone),
            })
        )  # fmt: skip
    return rows


def _utc_minutes(part: FilePart, zone: Zone) -> int | None:
    return zone.minutes_at(part.first_ms) if part.zone in ("inferred", "option") and part.first_ms is not None else None


def _sources(plan: Plan, files: list[FilePart], head: dict[str, Any]) -> list[Row]:
    """A row per file: its streams are no sources of their own."""
    rows = [SOURCES.row({**head, **source}) for source in plan.sources]
    told = {source["name"] for source in plan.sources}
    names = {file.origin.order: file.origin.file for file in plan.files}
    by_file: dict[str, list[FilePart]] = defaultdict(list)
    for part in files:
        by_file[names[part.order]].append(part)
    for name, streams in by_file.items():
        if name in told:
            continue
        why = next((part.trouble for part in streams if part.trouble), None)
        state = "ok" if why is None else "partial" if any(part.events or part.lines for part in streams) else "failed"
        rows.append(SOURCES.row({**head, "name": name, "kind": "logs", "state": state, "why": why}))
    return rows
