"""Does a group keep up? A status for each of its partitions over all samples that there are, in Burrow's words with other rules.

The order of the rules and every threshold stand in the runbook page LAG105. What differs from Burrow on purpose: too few samples is a
status of its own and never OK; how long a commit must stand still before that means anything is counted in checkpoint intervals where the
job commits with its checkpoints; a last stable offset that the reader has reached is the end for it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from analyzers.derived.lag.lag_readers import Reader, Tables
from analyzers.tables import LAG_STATUS, Row

INTERVALS = 2.5  # of the checkpoints: one may be late; two without a commit are none
MEMBER_SECONDS = 30.0  # auto.commit.interval.ms is 5 s; six of them
MEMBER_STILL_SECONDS = 150.0  # Kafka Streams commits every 30 s, sinks of Kafka Connect every 60 s: 2.5 of the longest
SILENT_SECONDS = 600.0  # no member and no interval known: a checkpoint every ten minutes is the longest that is common
MOVES = 2  # commits seen to move before a rate is a rate
EVEN = 0.05  # of the lag: less is no trend
BESIDE = 3  # partitions of a member that move, for each that stands: a reader that takes its partitions in turn moves one at a time
SKEW_SECONDS = 60.0  # clocks of hosts differ; what is newer than this is a wrong time stamp
OLDEST_YEAR = 2005

_SECOND = timedelta(seconds=1)

Key = tuple[str, str, str, int]


class Look(NamedTuple):
    """One sample of one partition, complete."""

    at: datetime
    committed: int
    log_start: int
    stable: int
    end: int

    @property
    def lag(self) -> int:
        return max(0, self.end - max(self.committed, self.log_start))


class Sampled(NamedTuple):
    """One group × partition: its newest sample, and the complete ones, oldest first."""

    key: Key
    newest: Row
    looks: list[Look]


class Pace(NamedTuple):
    """How often a member was seen to commit, by most of the partitions that it holds."""

    moving: int
    wanted: float


class Watch(NamedTuple):
    """How long a place must be watched before its commit says something, seconds, and who could move it."""

    wanted: float
    still: float
    held: bool
    left: bool
    """All members of its group have left."""
    pace: Pace | None
    waited: float


def sampled_places(tables: Tables) -> list[Sampled]:
    """What both `lag_status` and ``lag_truth`` judge: `samples`, looked at once."""
    return [Sampled(key, rows[-1], looks_of(rows)) for key, rows in samples(tables).items()]


def lag_status(tables: Tables, readers: Mapping[tuple[str, str], Reader], sampled: Sequence[Sampled]) -> list[Row]:
    """Rows of ``lag_status``, in the order of their newest samples."""
    members = _held(tables)
    times = _record_times(tables)
    paces, left = _paces(sampled), _left(tables)
    out = []
    for key, newest, looks in sampled:
        reader = readers.get(key[:2])
        held, paced = key in members, bool(reader is not None and reader.interval_seconds)
        wanted = _wanted(reader, held)
        still = MEMBER_STILL_SECONDS if (held or key[:2] in left) and not paced else wanted
        pace = None if paced else paces.get((key[0], key[1], newest.get("member")))
        if pace is not None and len(looks) > 1 and looks[-1].committed == looks[0].committed:
            wanted = min(wanted, pace.wanted)
        record = times.get(key)
        waiting = _time_lag(record)
        watch = Watch(wanted, still, held, key[:2] in left, pace, _waited(looks, record, waiting))
        values = _judged(newest, looks, watch)
        if pace is not None and values["status"] == "stall":
            values["beside_moved"] = pace.moving
        out.append(LAG_STATUS.row({
            **values, **waiting,
            "scope": key[0], "as_of": newest["as_of"], "group": key[1], "topic": key[2], "partition": key[3], "at": newest["at"],
            "lag_records": newest["lag_records"], "job": newest.get("job") or (reader.job if reader else None),
        }))  # fmt: skip
    return out


_NOTHING_LEFT = ("transaction-markers", "in-transaction")


def reconciled(status: Sequence[Row], truth: Sequence[Row]) -> list[Row]:
    """`status`, ok where ``lag_truth`` knows better what the lag is made of: a growing tooth of a saw is no trend, markers are no stop.
    Both are about the same partitions in the same order."""
    out = []
    for row, known in zip(status, truth, strict=True):
        real = known["truth"] if known["healthy"] else None
        if (real is not None and row["status"] == "warn") or (real in _NOTHING_LEFT and row["status"] in ("stall", "stop")):
            row = {**row, "status": "ok", "because": f"{row['because']}; this lag is explained ({real}, see lag_truth)"}
        out.append(row)
    return out


def samples(tables: Tables) -> dict[Key, list[Row]]:
    """The samples of each (scope, group, topic, partition), oldest first; only of places that the newest look at the group still shows.

    A group whose coordinator was lost between two looks keeps what was seen before; one that is not there any more has nothing.
    """
    there, committed = _there(tables), tables.get("committed_offsets", ())
    newest: dict[tuple[str, str], datetime] = {}
    found: dict[Key, list[Row]] = defaultdict(list)
    for row, (scope, group, topic, partition, at) in zip(committed, map(_SAMPLE, committed), strict=True):
        last = newest.get((scope, group))
        if last is None or at > last:
            newest[scope, group] = at
        found[scope, group, topic, partition].append(row)
    for rows in found.values():
        if len(rows) > 1:
            rows.sort(key=itemgetter("at"))
    return {key: rows for key, rows in found.items() if rows[-1]["at"] == newest[key[:2]] and (there is None or key[:2] in there)}


_SAMPLE = itemgetter("scope", "group", "topic", "partition", "at")


def _there(tables: Tables) -> set[tuple[str, str]] | None:
    """Groups of the newest look; None where the groups were not looked at."""
    if not tables.get("groups"):
        return None
    last: dict[str, datetime] = {}
    for row in tables["groups"]:
        if row["scope"] not in last or row["as_of"] > last[row["scope"]]:
            last[row["scope"]] = row["as_of"]
    return {(row["scope"], row["group"]) for row in tables["groups"] if row["as_of"] == last[row["scope"]]}


def looks_of(rows: Sequence[Row]) -> list[Look]:
    """Those of `rows` in which both the commit and the ends of the log are known."""
    looks = []
    for row in rows:
        committed, start, end = row["committed"], row["log_start"], row["high_watermark"]
        if committed is not None and end is not None and start is not None:
            stable = row["last_stable"]
            looks.append(Look(row["at"], committed, start, end if stable is None else stable, end))
    return looks


def _held(tables: Tables) -> set[Key]:
    """Places that a member holds."""
    return {
        (r["scope"], r["group"], r["topic"], r["partition"]) for r in tables.get("committed_offsets", ()) if r.get("member") is not None
    }


def _left(tables: Tables) -> set[tuple[str, str]]:
    """Groups whose members have all left: none is there to commit for them, unlike for those whose readers never joined."""
    newest: dict[tuple[str, str], Row] = {}
    for row in tables.get("groups", ()):
        key = (row["scope"], row["group"])
        if key not in newest or row["as_of"] >= newest[key]["as_of"]:
            newest[key] = row
    return {key for key, row in newest.items() if row.get("members") == 0 and row.get("simple") is False}


def _paces(sampled: Sequence[Sampled]) -> dict[tuple[str, str, str | None], Pace]:
    """Of members most of whose partitions were seen to move at least `MOVES` times: one that stands among them waits for no commit."""
    gaps: dict[tuple[str, str, str | None], list[float | None]] = defaultdict(list)
    for key, newest, looks in sampled:
        if newest.get("member") is None or len(looks) < 2:
            continue
        own = gaps[key[0], key[1], newest["member"]]
        moved = [after.at for before, after in pairwise(looks) if after.committed > before.committed]
        if len(moved) >= MOVES:
            times = [looks[0].at, *moved, looks[-1].at]
            own.append(max((b - a) / _SECOND for a, b in pairwise(times)))
        elif not moved and looks[-1].lag:
            own.append(None)
    out = {}
    for member, each in gaps.items():
        known = sorted(gap for gap in each if gap is not None)
        if known and len(known) >= BESIDE * (len(each) - len(known)):
            out[member] = Pace(len(known), round(INTERVALS * known[len(known) // 2], 1))
    return out


def _wanted(reader: Reader | None, held: bool) -> float:
    if reader is not None and reader.interval_seconds:
        return round(INTERVALS * reader.interval_seconds, 1)
    return MEMBER_SECONDS if held else SILENT_SECONDS


def _waited(looks: Sequence[Look], record: Row | None, waiting: Mapping[str, Any]) -> float:
    """Seconds that the record at the newest commit had waited when it was read; 0 where nobody knows."""
    at_commit = record is not None and looks and record.get("wanted") == record.get("offset") == looks[-1].committed
    return float(waiting.get("time_lag_seconds") or 0.0) if at_commit else 0.0


def _judged(row: Row, looks: Sequence[Look], watch: Watch) -> dict[str, Any]:
    window = (looks[-1].at - looks[0].at) / _SECOND if len(looks) > 1 else 0.0
    known = looks and looks[-1].at == row["at"]
    values: dict[str, Any] = {
        "samples": len(looks),
        "window_seconds": round(window, 1),
        "wanted_seconds": watch.wanted,
        "history": [str(look.lag) for look in looks],
    }
    if not known:
        because = row["error"] or ("never committed" if row["committed"] is None else "the ends of its log are unknown")
        return values | {"status": "unknown", "because": because}
    if looks[-1].end < looks[0].end or looks[-1].committed > looks[-1].end:
        return values | {
            "status": "unknown",
            "because": "the end of the log went back: the topic was made anew, or its newest records are lost",
        }
    values |= _rates(looks, window, watch.wanted)
    values["status"], values["because"] = _status(looks, window, watch)
    return values


def _status(looks: Sequence[Look], window: float, watch: Watch) -> tuple[str, str]:
    """The first that fits. A trend is told after `wanted` seconds, standing still after `still`, or when the next record has waited for as
    long and a member did not commit for `wanted`, or no member is left who could.
    """
    newest, (wanted, still, held, left, pace, waited) = looks[-1], watch
    back = next((pair for pair in pairwise(looks) if pair[1].committed < pair[0].committed), None) if len(looks) > 1 else None
    if back is not None and newest.committed < max(look.committed for look in looks):
        return "rewind", f"the commit went back from {back[0].committed:,} to {back[1].committed:,} and is not there again"
    if newest.lag == 0:
        return "ok", "everything was read and committed"
    if newest.committed >= newest.stable:
        return "ok", "everything was read that is not in an open transaction"
    moves = sum(after.committed != before.committed for before, after in pairwise(looks))
    enough = len(looks) >= 3 and window >= wanted
    overdue = ((held and window >= wanted) or left) and waited >= still
    if moves == 0 and not (len(looks) >= 2 and (window >= still or overdue)):
        return "not-enough-samples", (
            f"the commit was seen {'once' if len(looks) == 1 else f'{len(looks)} times in {window:.0f} s'}; "
            f"standing still says something after {still:.0f} s ({_options(still)})"
        )
    if any(look.committed >= look.stable for look in looks):
        return "ok", "it was caught up within this time"
    if moves == 0:
        stands = f"the commit has stood at {newest.committed:,} for {spoken(window)} with {newest.lag:,} records behind it"
        since = f"; the next one has waited for {spoken(waited)}" if window < still else ""
        if not held:
            return "stop", f"{stands}, and {'all members of the group have left' if left else 'nobody is a member'}{since}"
        beside = f", while {pace.moving} other partitions of its member moved" if pace is not None else ""
        return "stall", f"{stands}, and a member holds the partition{since}{beside}"
    if not enough:
        return (
            "not-enough-samples",
            f"the commit moves; {len(looks)} samples in {window:.0f} s do not tell the trend (wanted {wanted:.0f} s: {_options(wanted)})",
        )
    early, late = _halves(looks)
    if late > early * (1 + EVEN) and late > early:
        return (
            "warn",
            f"the commit moves and the lag grows: at best {early:,} in the first half of {spoken(window)}, {late:,} in the second",
        )
    return "ok", f"the commit moves and the lag does not grow: at best {early:,}, then {late:,}"


def _options(needed: float) -> str:
    """How ``diag lag-report`` is told to watch for `needed` seconds."""
    every = 60 if needed > SILENT_SECONDS else 10
    return f"--samples {max(3, math.ceil(needed / every) + 1)} --every {every}s"


def _halves(looks: Sequence[Look]) -> tuple[int, int]:
    """The lowest lag of each half of the window: between two commits of a checkpointing job the lag climbs, and that is no trend."""
    middle = looks[0].at + (looks[-1].at - looks[0].at) / 2
    first = [look.lag for look in looks if look.at <= middle]
    return min(first), min(look.lag for look in looks if look.at > middle)


def _rates(looks: Sequence[Look], window: float, wanted: float) -> dict[str, Any]:
    if len(looks) < 2 or window <= 0:
        return {}
    produced = (looks[-1].end - looks[0].end) / window
    # a commit that goes back is no reading: somebody resets, or two take turns
    back = any(after.committed < before.committed for before, after in pairwise(looks))
    consumed = None if back else _consumed(looks, window, wanted)
    values: dict[str, Any] = {
        "produced_per_second": round(produced, 3),
        "consumed_per_second": None if consumed is None else round(consumed, 3),
    }
    lag = looks[-1].lag
    if consumed is None or lag == 0:
        return values
    gains = consumed - produced
    # a gain that would not change the lag by a twentieth in the time that was watched is none
    steady = abs(gains) * window <= EVEN * lag
    never = gains <= 0 or (steady and lag / gains > 7 * 86400)
    return values | {
        "trend": "steady" if steady else "shrinking" if gains > 0 else "growing",
        "never": never,
        "catch_up_seconds": None if never else round(lag / gains, 1),
    }


def _consumed(looks: Sequence[Look], window: float, wanted: float) -> float | None:
    """Between the first and the last commit that was seen to move: a window that begins or ends between two commits is a wrong one."""
    moved = [after for before, after in pairwise(looks) if after.committed > before.committed]
    if len(moved) > MOVES:
        span = (moved[-1].at - moved[0].at) / _SECOND
        return (moved[-1].committed - moved[0].committed) / span
    if window >= wanted:
        return max(0.0, (looks[-1].committed - looks[0].committed) / window)
    return None


def _record_times(tables: Tables) -> dict[Key, Row]:
    found: dict[Key, Row] = {}
    for row in tables.get("records", ()):
        if row.get("why") == "committed" and row.get("group") is not None:
            key = (row["scope"], row["group"], row["topic"], row["partition"])
            if key not in found or row["as_of"] >= found[key]["as_of"]:
                found[key] = row
    return found


def _time_lag(record: Row | None) -> dict[str, Any]:
    if record is None or record.get("offset") is None:
        return {}
    at, now = record.get("at"), record["as_of"]
    doubt = time_doubt(at, now)
    age = None if doubt or at is None else max(0.0, round((now - at) / _SECOND, 1))
    return {"record_at": at, "clock": record.get("clock"), "time_doubt": doubt, "time_lag_seconds": age}


def time_doubt(at: datetime | None, now: datetime) -> str | None:
    """Why the time stamp of a record is no age: none, before Kafka was, or from the future."""
    if at is None:
        return "the record has no time stamp"
    if at.year < OLDEST_YEAR:
        return f"its time stamp is of the year {at.year}: the producer did not set it, or in another unit"
    ahead = (at - now) / _SECOND
    if ahead > SKEW_SECONDS:
        return f"its time stamp is {spoken(ahead)} ahead of this host: a wrong clock, or an event time"
    return None


def spoken(seconds: float) -> str:
    """``45 s``, ``12 min``, ``3.5 h``, ``12 days``."""
    for unit, size in (("days", 172800.0), ("h", 7200.0), ("min", 120.0)):
        if seconds >= size:
            value = seconds / {"days": 86400, "h": 3600, "min": 60}[unit]
            return f"{value:.3g} {unit}"
    return f"{seconds:.3g} s"
