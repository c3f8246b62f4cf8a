"""Is the lag real? One verdict for each group × partition, with the arithmetic on one line.

The verdicts are tried in the order of `_VERDICTS`; the first that fits counts. What they rest on: samples of commits and log ends; the
record at the commit and at the last stable offset; the offsets of completed checkpoints; the position that a running reader tells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

from analyzers.derived.lag.lag_case import Case, Verdict
from analyzers.derived.lag.lag_readers import Held, Reader, Tables, client_versions, has_commit_bug
from analyzers.derived.lag.lag_status import INTERVALS, Sampled, spoken, time_doubt
from analyzers.derived.lag.lag_transactions import markers, open_transaction
from analyzers.tables import LAG_TRUTH, Row

TRUTHS: Mapping[str, bool | None] = {
    "caught-up": True,
    "real": None,
    "saw-tooth": True,
    "checkpoint-overdue": False,
    "commits-broken": False,
    "transaction-markers": True,
    "in-transaction": True,
    "blocked": False,
    "below-retention": False,
    "beyond-end": False,
    "never-committed": False,
    "foreign-committer": False,
    "unknown": None,
}
"""Each verdict, and whether nothing has to be repaired because of it; None: the lag alone does not decide."""

COMMIT_SECONDS = 15.0  # a commit is sent when its checkpoint completes and arrives within a second; a coordinator that moves costs more
UNMOVED_CHECKPOINTS = 2  # one may have been triggered before the reader got beyond the commit
METRIC_SECONDS = 15.0  # metrics.fetcher.update-interval: for 10 s a JobManager that somebody else has asked answers with what it has
NEAR_END = 0.1  # of the highest lag seen: a commit that brings the lag below this has reached the end


def lag_truth(tables: Tables, readers: Mapping[tuple[str, str], Reader], sampled: Sequence[Sampled]) -> list[Row]:
    """Rows of ``lag_truth``: one for each group × partition that the newest look shows."""
    versions = client_versions(tables)
    groups = _newest(tables.get("groups", ()), "group")
    records = _newest(tables.get("records", ()), "why", "group", "topic", "partition")
    transactions = _newest(tables.get("open_transactions", ()), "topic", "partition")
    out = []
    for (scope, group, topic, partition), newest, looks in sampled:
        case = Case(newest, looks, groups.get((scope, group)), readers.get((scope, group)), version=versions.get(scope))
        case.record = records.get((scope, "committed", group, topic, partition))
        case.at_stable = records.get((scope, "last-stable", None, topic, partition))
        case.transaction = transactions.get((scope, topic, partition))
        _place_reader(case, (topic, partition))
        out.append(_row(case))
    return out


def _newest(rows: Sequence[Row], *columns: str) -> dict[tuple[Any, ...], Row]:
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = (row["scope"], *(row[column] for column in columns))
        if key not in found or (row["as_of"] is not None and row["as_of"] >= found[key]["as_of"]):
            found[key] = row
    return found


def _place_reader(case: Case, place: tuple[str, int]) -> None:
    reader = case.reader
    if reader is None:
        return
    case.held = reader.held.get(place, [])
    case.committed_by_reader = reader.says_committed.get(place)
    case.reads = reader.reads.get(place, [])
    if place in reader.read:
        case.position, case.position_from = reader.read[place].position, "flink-rest"


def _row(case: Case) -> Row:
    verdict: Verdict | None = None
    for judge in _VERDICTS:
        verdict = judge(case)
        if verdict is not None:
            break
    assert verdict is not None
    row, reader = case.row, case.reader
    known: Verdict = {
        "scope": row["scope"],
        "as_of": row["as_of"],
        "group": row["group"],
        "topic": row["topic"],
        "partition": row["partition"],
        "committed": row["committed"],
        "high_watermark": row["high_watermark"],
        "lag_records": row["lag_records"],
        "position": case.position,
        "position_from": case.position_from,
        "last_stable": row["last_stable"],
        "log_start": row["log_start"],
        "members": case.members,
        "newest_checkpoint": reader.newest if reader else None,
        "newest_checkpoint_at": reader.newest_at if reader else None,
        "overdue": _overdue(case),
        "interval_seconds": reader.interval_seconds if reader else None,
        "client_version": case.version,
        "healthy": TRUTHS[verdict["truth"]],
        "job": row.get("job") or (reader.job if reader else None),
        "at_least": (behind := verdict.get("behind_records")),
        "at_most": behind,
    }
    return LAG_TRUTH.row(known | verdict)


def _overdue(case: Case) -> bool | None:
    """Whether checkpoints have stopped; None where their times are unknown."""
    reader = case.reader
    if reader is None or not reader.interval_seconds or not case.looks:
        return None
    last = reader.newest_at or reader.expired_since
    if last is None:
        return None
    # a commit beyond the newest checkpoint tells that newer ones exist: the directory is a copy
    stale = bool(case.held) and case.now.committed > case.held[-1].offset
    return not stale and (case.now.at - last) / timedelta(seconds=1) > INTERVALS * reader.interval_seconds


def _held_up(case: Case, commit: str) -> Verdict | None:
    """The tooth of the saw that does not end: no checkpoint completes, so nothing can be committed."""
    reader = case.reader
    if reader is None or not _overdue(case):
        return None
    now = case.now
    behind = None if case.position is None else max(0, now.end - case.position)
    since = reader.newest_at or reader.expired_since
    age = f", {spoken((now.at - since) / timedelta(seconds=1))} ago" if since else ""
    which = "" if reader.newest is None else f": checkpoint {reader.newest} was the last to complete{age}"
    says = f"{commit}, {now.lag:,} records are behind it{which} (interval {spoken(reader.interval_seconds or 0)})"
    if behind is not None:
        says += f"; the job has read on, {behind:,} are unread" if behind < now.lag else f"; {behind:,} are unread"
    known: Verdict = {"since": since, "at_least": 0, "at_most": now.lag if behind is None else behind}
    return known | {"truth": "checkpoint-overdue", "says": says, "behind_records": behind}


# The verdicts, first that fits ------------------------------------------------------------------------------------------


def _ends_unknown(case: Case) -> Verdict | None:
    row = case.row
    if row["high_watermark"] is None or row["log_start"] is None:
        return {"truth": "unknown", "says": row["error"] or "the ends of its log are unknown", "at_least": 0}
    if row["committed"] is None and row["error"]:
        return {"truth": "unknown", "says": row["error"], "at_least": 0, "at_most": row["high_watermark"] - row["log_start"]}
    return None


def _never(case: Case) -> Verdict | None:
    row = case.row
    if row["committed"] is not None:
        return None
    start, end = row["log_start"], row["high_watermark"]
    says = f"nothing was ever committed; the log holds {start:,} to {end:,}"
    position = case.position if case.position is not None else case.held[-1].offset if case.held else None
    if position is None:
        return {"truth": "never-committed", "says": says, "at_least": 0, "at_most": end - start}
    where = "position" if case.position is not None else f"checkpoint {case.held[-1].checkpoint} holds"
    says = f"end {end:,} − {where} {position:,} = {max(0, end - position):,} behind; {says}"
    return {"truth": "never-committed", "says": says, "at_least": 0, "at_most": max(0, end - position)}


def _beyond(case: Case) -> Verdict | None:
    now = case.now
    if now.committed <= now.end:
        return None
    says = f"committed {now.committed:,} − end {now.end:,} = {now.committed - now.end:,} beyond the end: the topic was made anew"
    return {"truth": "beyond-end", "says": says, "at_least": 0, "at_most": now.end - now.log_start}


def _foreign(case: Case) -> Verdict | None:
    """Only without members: offsets that are none of the reader's, or two committers who take turns."""
    if not case.assigns_itself:
        return None
    committed, position = case.now.committed, case.position
    checkpoint = case.held[-1] if case.held else None
    own = case.committed_by_reader if case.committed_by_reader is not None else checkpoint.offset if checkpoint else None
    newest_at = case.reader.newest_at if case.reader else None
    # the position may have been told before the checkpoint that was committed
    told_since = newest_at is None or case.now.at - newest_at > timedelta(seconds=METRIC_SECONDS)
    if position is not None and committed > position and own is not None and own < committed and told_since:
        says = f"committed {committed:,} − position {position:,} = {committed - position:,} further than the job has read"
        return _by_others(case, f"{says}; its own last commit is {own:,}: somebody else commits to this group")
    backs = [(a, b) for a, b in pairwise(case.looks) if b.committed < a.committed]
    if len(backs) >= 2 or (backs and position is not None and position >= backs[-1][0].committed):
        a, b = backs[-1]
        says = f"the commit went from {a.committed:,} back to {b.committed:,}" + (f" {len(backs)} times" if len(backs) > 1 else "")
        return _by_others(case, f"{says} while nobody is a member: two committers take turns")
    return None


def _by_others(case: Case, says: str) -> Verdict:
    end, position = case.now.end, case.position
    behind = None if position is None else max(0, end - position)
    return {"truth": "foreign-committer", "says": says, "behind_records": behind, "at_least": 0, "at_most": end - case.now.log_start}


def _retention(case: Case) -> Verdict | None:
    now = case.now
    if case.reached >= now.log_start:
        return None
    lost = now.log_start - case.reached
    from_what = "committed" if case.reached == now.committed else "position"
    says = f"log start {now.log_start:,} − {from_what} {case.reached:,} = {lost:,} records deleted unread; {now.lag:,} are left to read"
    return {"truth": "below-retention", "says": says, "lost_records": lost, "at_least": 0, "at_most": now.lag}


def _caught_up(case: Case) -> Verdict | None:
    now = case.now
    if now.committed != now.end:
        return None
    return {"truth": "caught-up", "says": f"end {now.end:,} − committed {now.committed:,} = 0", "behind_records": 0}


def _of_checkpoints(case: Case) -> Verdict | None:
    """Commits beside the offsets of completed checkpoints."""
    now = case.now
    # checkpoints are looked at after the commits: what completed in between could not be committed yet
    before = [held for held in case.held if held.completed_at is None or held.completed_at <= now.at]
    if not before:
        return None
    newest = before[-1]
    newer = [held for held in before if held.offset > now.committed]
    mine = next((held for held in reversed(before) if held.offset == now.committed), None)
    settled = newest.completed_at is not None and now.at - newest.completed_at > timedelta(seconds=COMMIT_SECONDS)
    if len(newer) >= 2 or (newer and settled):
        return _broken(case, newest, newer, mine)
    if mine is None:
        return None  # between two checkpoints that are not kept any more, or by somebody else: nothing can be said
    age = None if mine.completed_at is None else max(0.0, (now.at - mine.completed_at) / timedelta(seconds=1))
    interval = case.reader.interval_seconds if case.reader else None
    when = "" if age is None else f", {spoken(age)} ago" + (f" (interval {spoken(interval)})" if interval else "")
    commit = f"committed {now.committed:,} = checkpoint {mine.checkpoint}{when}"
    known: Verdict = {"checkpoint": mine.checkpoint}
    held_up = _held_up(case, f"committed {now.committed:,} = checkpoint {mine.checkpoint}")
    if held_up is not None:
        return known | held_up
    if case.position is not None:
        return known | _beside_position(case, commit)
    was_behind = _behind_at(case, mine)
    if was_behind is None:
        return None
    if was_behind <= max(COMMIT_SECONDS, interval or 0.0):
        rate = f" at {now.lag / age:,.0f}/s" if age and age >= 1 else ""
        says = f"{commit}, {now.lag:,} records{rate}, all written since: saw-tooth, not a stall"
        return known | {"truth": "saw-tooth", "says": says, "at_least": 0, "at_most": now.lag}
    says = f"end {now.end:,} − committed {now.committed:,} = {now.lag:,}; {commit}, when the next record was {spoken(was_behind)} old"
    return known | {"truth": "real", "says": says, "at_least": 0, "at_most": now.lag}


def _broken(case: Case, newest: Held, newer: Sequence[Held], mine: Held | None) -> Verdict:
    now = case.now
    old = (newest.checkpoint - mine.checkpoint) if mine is not None else None
    how_old = f"{old} checkpoint{'s' * (old != 1)} old" if old else f"older than {len(newer)} checkpoint{'s' * (len(newer) != 1)}"
    says = (
        f"checkpoint {newest.checkpoint} holds {newest.offset:,}, committed {now.committed:,} is {how_old}: commits broken, the job reads"
    )
    if has_commit_bug(case.version):
        says += f" (kafka-clients {case.version} has KAFKA-13563)"
    most = max(0, now.end - max(newest.offset, case.position or 0))
    behind = None if case.position is None else max(0, now.end - case.position)
    since = newer[0].completed_at if mine is not None else None
    return {"truth": "commits-broken", "says": says, "behind_records": behind, "at_least": 0, "at_most": most, "since": since}


def _behind_at(case: Case, mine: Held) -> float | None:
    """Seconds that the record at the commit had waited when the checkpoint completed; None where no time stamp tells."""
    record = case.record
    if record is None or record.get("wanted") != case.now.committed or record.get("at") is None or mine.completed_at is None:
        return None
    if time_doubt(record["at"], record["as_of"]):
        return None
    waited: timedelta = mine.completed_at - record["at"]
    return max(0.0, waited / timedelta(seconds=1))


def _beside_position(case: Case, commit: str) -> Verdict:
    now, position = case.now, case.position
    assert position is not None
    behind = max(0, now.end - position)
    read = max(0, position - now.committed)
    arithmetic = f"end {now.end:,} − position {position:,} = {behind:,} behind"
    if position > now.end:  # the job was asked a moment after the broker
        arithmetic = f"position {position:,} is past the end of a moment before ({now.end:,}): 0 behind"
    says = f"{arithmetic}; {commit}, {read:,} records read since"
    if read >= behind:
        return {"truth": "saw-tooth", "says": f"{says}: saw-tooth, not a stall", "behind_records": behind}
    return {"truth": "real", "says": says, "behind_records": behind}


def _of_position(case: Case) -> Verdict | None:
    """The job tells its position, and no checkpoint explains the commit."""
    if case.position is None:
        return None
    now = case.now
    told, newest_at = case.committed_by_reader, case.reader.newest_at if case.reader else None
    # the job was asked after the group: its last commit must have been there already
    settled = newest_at is not None and now.at - newest_at > timedelta(seconds=COMMIT_SECONDS)
    if told is not None and told > now.committed and settled:
        says = f"the job says it committed {told:,}, the group stands at {now.committed:,}: commits broken, the job reads"
        behind = max(0, now.end - case.position)
        return {"truth": "commits-broken", "says": says, "behind_records": behind}
    held_up = _held_up(case, f"committed {now.committed:,}")
    if held_up is not None:
        return held_up
    unmoved = _unmoved(case)
    if unmoved is not None:
        return unmoved
    interval = case.reader.interval_seconds if case.reader else None
    return _beside_position(case, f"committed {now.committed:,}" + (f" (checkpoints every {spoken(interval)})" if interval else ""))


def _unmoved(case: Case) -> Verdict | None:
    """The commit stood while it was watched, and checkpoints that began and completed meanwhile would have moved it.

    Only those that were triggered when the reader had been seen beyond the commit: one that a slow sink held back until a moment ago had
    nothing to commit before.
    """
    now, position = case.now, case.position
    begun = next((after for before, after in reversed([*pairwise(case.looks)]) if before.committed != now.committed), case.looks[0])
    beyond = min((read.at for read in case.reads if read.position > now.committed), default=None)
    if case.reader is None or position is None or beyond is None or position <= now.committed:
        return None
    arrived = now.at - timedelta(seconds=COMMIT_SECONDS)
    done = sorted(acked for triggered, acked in case.reader.completed if max(begun.at, beyond) <= triggered and acked <= arrived)
    if len(done) < UNMOVED_CHECKPOINTS:
        return None
    stood = spoken((now.at - begun.at) / timedelta(seconds=1))
    says = f"committed {now.committed:,} has stood for at least {stood}, in which {len(done)} checkpoints completed that hold more; "
    says += f"the job has read up to {position:,}: commits broken, the job reads"
    behind = max(0, now.end - position)
    return {"truth": "commits-broken", "says": says, "behind_records": behind, "at_least": 0, "at_most": behind, "since": done[0]}


def _of_samples(case: Case) -> Verdict | None:
    """Commits that jump to the end each time: the teeth of a saw."""
    jumps = [after for before, after in pairwise(case.looks) if after.committed > before.committed]
    highest = max(look.lag for look in case.looks)
    if not case.assigns_itself or len(jumps) < 2 or any(look.lag > NEAR_END * highest for look in jumps):
        return None
    gap = (jumps[-1].at - jumps[0].at) / timedelta(seconds=1) / (len(jumps) - 1)
    says = (
        f"the lag climbs to {highest:,} and falls to {min(look.lag for look in jumps):,} with each commit, every {spoken(gap)}: saw-tooth"
    )
    return {"truth": "saw-tooth", "says": says, "at_least": 0, "at_most": case.now.lag, "interval_seconds": round(gap, 1)}


def _as_committed(case: Case) -> Verdict | None:
    """A member holds it; and where all members have gone nobody reads."""
    now, behind = case.now, case.now.lag - case.empty_offsets
    arithmetic = f"end {now.end:,} − committed {now.committed:,} = {now.lag:,} behind{_without_empty(case)}"
    if case.assigns_itself:
        return None
    if case.row.get("member") is None:
        whose = "no member holds it" if case.members else "all members have left: nobody reads"
        return {"truth": "real", "says": f"{arithmetic}; {whose}", "behind_records": behind}
    if any(after.committed > before.committed for before, after in pairwise(case.looks)):
        held = "its member commits as it reads"
    elif len(case.looks) == 1:
        held = "a member holds it"
    else:
        held = f"a member holds it, whose commit did not move in {spoken((now.at - case.looks[0].at) / timedelta(seconds=1))}"
    return {"truth": "real", "says": f"{arithmetic}; {held}", "behind_records": behind}


def _without_empty(case: Case) -> str:
    empty = case.empty_offsets
    return f"; {empty:,} of these offsets hold no record (compacted away)" if empty > 1 else ""


def _bounded(case: Case) -> Verdict:
    now, record = case.now, case.record
    most = now.lag - case.empty_offsets
    says = f"position unknown: between 0 and {most:,} behind (end {now.end:,} − committed {now.committed:,}{_without_empty(case)})"
    if record is not None and record.get("at") and record.get("wanted") == now.committed and not time_doubt(record["at"], record["as_of"]):
        says += f", at most {spoken(max(0.0, (record['as_of'] - record['at']) / timedelta(seconds=1)))} behind"
    says += "; nobody is a member: such a job commits with its checkpoints only"
    return {"truth": "unknown", "says": says, "at_least": 0, "at_most": most}


_VERDICTS: tuple[Callable[[Case], Verdict | None], ...] = (
    _ends_unknown, _never, _beyond, _foreign, _retention, _caught_up, markers, open_transaction, _of_checkpoints, _of_position,
    _of_samples, _as_committed, _bounded,
)  # fmt: skip
