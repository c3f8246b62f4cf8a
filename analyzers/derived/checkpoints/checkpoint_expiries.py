"""How often the checkpoints of a job expire: one row per job with an expired one.

Of a long log only the first and last lines of a kind are rows; `log_counts` has all of them, by the minute.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from analyzers.derived.failures.progress import EXPIRED, MIN_DROPPED_ROWS
from analyzers.tables import CHECKPOINT_EXPIRIES, Row
from analyzers.tables.by_column import column, where

LAST = 10
"""Endings that count as the newest: a fixed hour would never see three of a job that checkpoints every 30 minutes."""
OFTEN = 5
"""Each expiry by itself is no incident; so many within some hours are no coincidence."""
NEWEST = 3
"""A job whose newest three checkpoints completed has recovered."""

_FAILED = "checkpoint-failed"
_WORDS = "Checkpoint expired before completing"  # CheckpointFailureReason.CHECKPOINT_EXPIRED
_ENDED = ("CANCELLING", "CANCELED", "FINISHED", "SUSPENDED")
_DONE = "checkpoint-completed"

_Job = tuple[str, str]


class Ending(NamedTuple):
    """A checkpoint that completed or expired. `order` is that of its last line."""

    order: int
    checkpoint: int
    expired: bool
    at: datetime | None
    triggered_at: datetime | None


class Minute(NamedTuple):
    """A row of `log_counts`."""

    signature: str
    first_at: datetime | None
    last_at: datetime | None
    events: int


class Spell(NamedTuple):
    """Checkpoints that expired one after the other; `over`: others completed after them."""

    expired: int
    since: datetime
    until: datetime
    over: bool


@dataclass
class _Lines:
    """The log lines of one job about its checkpoints."""

    as_of: datetime | None = None
    of: defaultdict[int, list[tuple[int | None, Row, bool]]] = field(default_factory=lambda: defaultdict(list))
    rows: Counter[str] = field(default_factory=Counter)
    completions: set[tuple[int | None, datetime | None]] = field(default_factory=set)
    ended_order: int | None = None


def has_expired(event: Row) -> bool:
    """Whether a line reports an expiry: the coordinator's INFO line, or (1.15+) the failure manager's WARN with this cause."""
    words = (event["root_message"] or "", event["text"] or "")
    return event["signature"] == EXPIRED or (event["signature"] == _FAILED and any(_WORDS in each for each in words))


def checkpoint_expiries(events: Sequence[Row], counts: Sequence[Row] | None) -> list[Row]:
    """One row per job with an expired checkpoint. `counts`: the rows of `log_counts`, None where there is no such table."""
    lines = _by_job(events)
    endings = {job: checkpoint_endings(of.of) for job, of in lines.items()}
    expiring = {job for job, of in endings.items() if any(ending.expired for ending in of)}
    if not expiring:
        return []
    minutes = None if counts is None else _minutes(counts, expiring)
    return [_row(job, lines[job], endings[job], None if minutes is None else minutes[job]) for job in lines if job in expiring]


def _by_job(events: Iterable[Row]) -> dict[_Job, _Lines]:
    found: defaultdict[_Job, _Lines] = defaultdict(_Lines)
    for event in events:
        signature = event["signature"]
        if signature not in ("checkpoint-triggered", _DONE, EXPIRED, _FAILED, "job-state") or event["job"] is None:
            continue
        job, order = found[event["scope"], event["job"]], event["line"] if event["seq"] is None else event["seq"]
        job.as_of = event["as_of"]
        job.rows[signature] += 1
        if signature == "job-state":
            if event["to_state"] in _ENDED and order is not None:
                job.ended_order = max(order, job.ended_order or 0)
            continue
        if signature == _DONE:
            job.completions.add((event["checkpoint"], event["at"]))
        if event["checkpoint"] is not None:
            job.of[event["checkpoint"]].append((order, event, has_expired(event)))
    return dict(found)


def checkpoint_endings(lines: dict[int, list[tuple[int | None, Row, bool]]]) -> list[Ending]:
    """The checkpoints of a job that completed or expired, in order. `lines`: per checkpoint (order, line, whether it reports an expiry)."""
    found = []
    for checkpoint, of in lines.items():
        ends = [(order, line) for order, line, expired in of if expired or line["signature"] == _DONE]
        orders = [order for order, _ in ends if order is not None]
        if orders:
            triggered = [line["at"] for _, line, _ in of if line["signature"] == "checkpoint-triggered" and line["at"]]
            times = [line["at"] for _, line in ends if line["at"]]
            expired = any(expired for _, _, expired in of)
            found.append(Ending(max(orders), checkpoint, expired, min(times, default=None), min(triggered, default=None)))
    return sorted(found)


def _minutes(counts: Sequence[Row], jobs: set[_Job]) -> defaultdict[_Job, list[Minute]]:
    """Per job its minutes of `counts`; what a copy of a log counts again, once."""
    found: defaultdict[_Job, list[Minute]] = defaultdict(list)
    seen = set()
    wanted = ("signature", "scope", "job", "task", "minute", "first_at", "last_at", "events")
    ends = where(counts, "signature", (_DONE, EXPIRED, _FAILED))
    for row in zip(*(column(ends, name) for name in wanted), strict=True):
        signature, scope, job, _, _, first, last, events = row
        if (scope, job) in jobs and row not in seen:
            seen.add(row)
            found[scope, job].append(Minute(signature, first, last, events))
    return found


def _row(job: _Job, lines: _Lines, endings: Sequence[Ending], minutes: Sequence[Minute] | None) -> Row:
    newest = newest_endings(endings)
    completed = [ending for ending in endings if not ending.expired]
    last_completed = completed[-1] if completed else None
    spells = expiry_spells(endings, minutes or ())
    longest = max((spell[:3] for spell in spells if spell.over), default=(None, None, None))
    lone = [ending.at for ending in endings if ending.expired and ending.at]
    if minutes is None:
        done = [at for _, at in lines.completions if at]
        all_done, done_at = sum(ending.at is not None for ending in completed), [(at, 1) for at in done]
    else:
        done_at = [(minute.last_at, minute.events) for minute in minutes if minute.signature == _DONE and minute.last_at]
        all_done = sum(minute.events for minute in minutes if minute.signature == _DONE)
    last_expired = max(ending.order for ending in endings if ending.expired)
    record = newest | {
        "completed": len(completed),
        "last_completed": last_completed.checkpoint if last_completed else None,
        "last_completed_at": last_completed.at if last_completed else None,
        "until": max(lone, default=None),
        "timeout_seconds": shortest_timeout(endings),
        "ended": lines.ended_order is not None and lines.ended_order > last_expired,
        "in_all": len(lone),
        "of_all": len(lone) + all_done,
        "first_at": min(lone, default=None),
        "longest": max((spell.expired for spell in spells), default=None),
        "often_seconds": least_seconds(lone),
        "spell": longest[0],
        "spell_since": longest[1],
        "spell_until": longest[2],
    }
    record |= {name: _after(record[of], done_at) for name, of in (("completed_since", "until"), ("completed_since_spell", "spell_until"))}
    if minutes is not None:
        record |= _counted(record, lines.rows, minutes)
    return CHECKPOINT_EXPIRIES.row({"scope": job[0], "job": job[1], "as_of": lines.as_of} | record)


def newest_endings(endings: Sequence[Ending]) -> Row:
    """Expired and seen of the `LAST`, whether one of the `NEWEST` expired, how many expired in a row, and since when."""
    last = endings[-LAST:]
    done = max((ending.order for ending in endings if not ending.expired), default=-1)
    in_a_row = [ending for ending in endings if ending.expired and ending.order > done]
    times = [ending.at for ending in (*last, *in_a_row) if ending.expired and ending.at]
    return {
        "expired": sum(ending.expired for ending in last),
        "seen": len(last),
        "still": any(ending.expired for ending in endings[-NEWEST:]),
        "in_a_row": len(in_a_row),
        "in_a_row_or_more": False,
        "dropped": False,
        "since": min(times, default=None),
    }


def shortest_timeout(endings: Iterable[Ending]) -> int | None:
    """Seconds from trigger to expiry; of an expiry before its trigger that line is missing, and another run of the job used its number."""
    took = [
        (ending.at - ending.triggered_at).total_seconds()
        for ending in endings
        if ending.expired and ending.at and ending.triggered_at and ending.triggered_at <= ending.at
    ]
    return int(min(took) + 0.5) if took else None


def expiry_spells(endings: Iterable[Ending], minutes: Iterable[Minute]) -> list[Spell]:
    """The expiries between two completed checkpoints each, by their times."""
    completed = {ending.at for ending in endings if not ending.expired and ending.at}
    completed |= {at for minute in minutes if minute.signature == _DONE for at in (minute.first_at, minute.last_at) if at}
    marks = sorted(completed)
    found: defaultdict[int, list[datetime]] = defaultdict(list)
    for at in (ending.at for ending in endings if ending.expired and ending.at):
        found[bisect_right(marks, at)].append(at)
    return [Spell(len(of), min(of), max(of), over=place < len(marks)) for place, of in found.items()]


def least_seconds(times: Iterable[datetime]) -> float | None:
    """The shortest time in which `OFTEN` of `times` lie."""
    ordered = sorted(times)
    return min(((late - early).total_seconds() for early, late in zip(ordered, ordered[OFTEN - 1 :], strict=False)), default=None)


def _after(until: datetime | None, done: Iterable[tuple[datetime, int]]) -> int:
    return 0 if until is None else sum(number for at, number in done if at > until)


def _counted(record: Row, rows: Counter[str], minutes: Sequence[Minute]) -> Row:
    """``in_a_row`` and ``since`` from the counts, where lines of expiries were dropped."""
    in_all = Counter({name: sum(minute.events for minute in minutes if minute.signature == name) for name in (EXPIRED, _FAILED)})
    missing = max(in_all[name] - rows[name] for name in (EXPIRED, _FAILED))
    if missing <= 0:
        return {}
    if not record["in_a_row"]:
        return {"dropped": True}
    done = record["last_completed_at"]
    expiries = [minute for minute in minutes if minute.signature == EXPIRED]
    later = [minute for minute in expiries if _begins_after(minute, done)]
    around = [minute for minute in expiries if not _begins_after(minute, done) and minute.last_at and minute.last_at > done]
    since_then = sum(minute.events for minute in later) + len(around)
    unsure = any(minute.first_at and minute.events > 1 for minute in around)
    more = missing < MIN_DROPPED_ROWS or since_then < record["in_a_row"] or unsure
    found: Row = {"dropped": True, "in_a_row_or_more": more}
    if missing >= MIN_DROPPED_ROWS:
        found["in_a_row"] = max(record["in_a_row"], since_then)
        times = [minute.first_at for minute in later if minute.first_at]
        if since_then >= record["expired"] and times:
            found["since"] = min(times)
    return found


def _begins_after(minute: Minute, done: datetime | None) -> bool:
    return done is None or (minute.first_at is not None and minute.first_at > done)
