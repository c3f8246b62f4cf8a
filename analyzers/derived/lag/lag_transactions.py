"""Lag that transactions make: offsets that hold no record, and records that wait for the end of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from analyzers.derived.lag.lag_case import Case, Verdict
from analyzers.derived.lag.lag_status import spoken, time_doubt
from analyzers.tables import Row

TRANSACTIONS = 3.0  # intervals of a writer's transactions
TRANSACTION_SECONDS = 30.0  # an exactly-once writer with a shorter interval may be late by as much
LONGEST_TRANSACTION_SECONDS = 900.0  # transaction.max.timeout.ms of brokers: longer only where a transaction's own time-out is known


def markers(case: Case) -> Verdict | None:
    """Read from the commit on: there is no record up to the end."""
    record, now = case.record, case.now
    if record is None or not record.get("reached_end") or record.get("offset") is not None or record.get("wanted") != now.committed:
        return None
    control = record.get("skipped_control") or 0
    marked = "transaction markers or aborted records" if control else "offsets that compaction removed"
    says = f"end {now.end:,} − committed {now.committed:,} = {now.lag:,}, all {marked}: no record is left to read"
    return {"truth": "transaction-markers", "says": says, "behind_records": 0}


def open_transaction(case: Case) -> Verdict | None:
    """All that is left stands behind the last stable offset: for as long as such a writer takes, or for longer."""
    now = case.now
    hidden = now.end - now.stable
    if hidden <= 0 or case.reached < now.stable:
        return None
    gap, times = _transaction_gap(case.at_stable)
    own = _own_timeout(case.transaction)
    limit = (own or LONGEST_TRANSACTION_SECONDS) if gap is None else max(TRANSACTIONS * gap, TRANSACTION_SECONDS)
    started = _began(case, times)
    static = [look for look in case.looks if look.stable == now.stable]
    still = (now.at - static[0].at) / timedelta(seconds=1)
    age = max(still, (now.at - started) / timedelta(seconds=1) if started else 0.0)
    step = f"the writer ends a transaction every {spoken(gap)}" if gap is not None else "how often its writer commits is unknown"
    step += f"; its coordinator aborts it after {spoken(own)} (transaction.timeout.ms)" if own else ""
    arithmetic = f"end {now.end:,} − last stable offset {now.stable:,} = {hidden:,} records behind an open transaction"
    forgotten = case.transaction is not None and case.transaction.get("error") is None and case.transaction.get("state") is None
    # coordinators leave out, without a word, the transactional ids that this user may not describe
    hangs = forgotten and case.transaction is not None and case.transaction.get("transactional_id") is not None
    common = {"since": started or (static[0].at if still else None), "interval_seconds": gap, "at_least": 0, "at_most": hidden}
    if age < limit and not (hangs and age >= TRANSACTION_SECONDS):
        waits = f", open for {spoken(age)}" if age else ""
        return common | {"truth": "in-transaction", "says": f"{arithmetic}{waits} ({step}): everything else was read", "behind_records": 0}
    why = "; its coordinator holds it for ended: it hangs" if hangs else ""
    if forgotten and not hangs:
        why = "; no coordinator shows it: it hangs, or this user may not DESCRIBE its transactional id"
    return common | {"truth": "blocked", "says": f"{arithmetic}; it has been open for {spoken(age)} ({step}){why}"}


def _own_timeout(transaction: Row | None) -> float | None:
    """Seconds after which its coordinator aborts it, as it says; the brokers' transaction.max.timeout.ms is the most a writer gets."""
    timeout = (transaction or {}).get("timeout_ms")
    return timeout / 1000 if timeout else None


def _transaction_gap(at_stable: Row | None) -> tuple[float | None, list[datetime]]:
    """The longest time between the ends of transactions before this one, seconds, and when they ended."""
    texts = (at_stable or {}).get("markers") or ()
    times = sorted({datetime.fromisoformat(text.replace("Z", "+00:00")) for text in texts})
    gaps = [(after - before) / timedelta(seconds=1) for before, after in pairwise(times)]
    # the many writers of one checkpoint end theirs within seconds: only what was watched for longer than the limit shows a rhythm
    watched = sum(gaps) >= max(TRANSACTIONS * max(gaps), TRANSACTION_SECONDS) if gaps else False
    return (max(gaps) if watched else None), times


def _began(case: Case, ended_before: Sequence[datetime]) -> datetime | None:
    """When the open transaction began: its coordinator knows; else its first record, if the time of that is believable."""
    if case.transaction is not None and case.transaction.get("started_at"):
        began: datetime = case.transaction["started_at"]
        return began
    row = case.at_stable
    if row is None or row.get("wanted") != case.now.stable or row.get("at") is None or time_doubt(row["at"], case.now.at):
        return None
    # a producer's time stamp is an event time as often as not: believed only when it is not older than what was written before it
    believable = row.get("clock") == "log-append-time" or (ended_before and row["at"] >= ended_before[-1] - timedelta(seconds=5))
    return row["at"] if believable else None
