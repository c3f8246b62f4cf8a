"""How well the watch itself sees: looks that did not see all, and logs without a new line. Both are remembered and said as findings are."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from analyzers.report.durations import span
from analyzers.report.finding import Severity
from analyzers.watching.state import Item, Message, State
from analyzers.watching.steps import Policy, absent, due, present, said

CODE = "WATCH"
BLIND, STALE = "blind", "stale"
STALE_SECONDS = 900.0
"""Of silence before logs are stale: some systems write to a log in batches, minutes apart."""
_ENOUGH_GROWTHS = 3
"""Looks that saw new lines before silence is one: what is read once, and never grows, is a recording."""
_GAPS = 4.0
"""Times the longest silence so far: a job that is well may write a line an hour."""


def sight(state: State, blind: str | None, newest: datetime | None, lines: int, *, now: float, at: str, policy: Policy) -> list[Message]:
    """What is to be said of a look that did not see all because of `blind` (a clause; None: it did), and whose logs have so many `lines`,
    the newest of them at `newest` (None: not known). `now` and `at` are those of `step`."""
    found = [_changed(state, BLIND, _blind(blind) if blind else None, policy.opens_after, now=now, at=at, policy=policy)]
    if newest is not None:
        silence = _silence(state, newest, lines, now, policy)
        found.append(_changed(state, STALE, _stale(silence, newest) if silence else None, 1, now=now, at=at, policy=policy))
    return [message for message in found if message is not None]


def _changed(
    state: State, kind: str, document: dict[str, Any] | None, opens_after: int, *, now: float, at: str, policy: Policy
) -> Message | None:
    item = next((each for each in state.sight if each.document["id"] == f"{CODE}-{kind}"), None)
    if document is None:
        if item is None:
            return None
        absent(item, at, policy.heals_after)
    else:
        if item is None:
            state.number += 1
            key = f"{document['id']}-{state.number}"
            item = Item(key, document, {"code": CODE, "finding": key, "cause": document["cause"]})
            state.sight.append(item)
        if not item.said:
            item.document = document
        present(item, at, opens_after)
    change = due(item, now, policy)
    if change is None:
        if not (item.is_open or item.said or item.seen) and item.quiet_since is not None and now - item.quiet_since >= policy.quiet_seconds:
            state.sight.remove(item)
        return None
    return said(state, item, change if change == "healed" else kind, now=now, at=at)


def _silence(state: State, newest: datetime, count: int, now: float, policy: Policy) -> float | None:
    """For how many seconds there is no new line, where that is too long. By the clock of `now`, and by the number of lines, too: zones of
    logs may be wrong."""
    known = state.lines
    if known.newest is None or known.grew_at is None or known.looked_at is None:
        known.grew_at = now
    elif newest > datetime.fromisoformat(known.newest) or count > known.count:
        known.growths += 1
        if not any(each.is_open and each.document["id"] == f"{CODE}-{STALE}" for each in state.sight):
            known.longest_gap = max(known.longest_gap, known.looked_at - known.grew_at)
        known.grew_at, known.still = now, 0
    else:
        known.still += 1
    known.newest, known.count, known.looked_at = newest.isoformat(), count, now
    silence = now - known.grew_at
    enough = known.growths >= _ENOUGH_GROWTHS and known.still >= policy.opens_after
    return silence if enough and silence >= max(STALE_SECONDS, _GAPS * known.longest_gap) else None


def _blind(why: str) -> dict[str, Any]:
    return _document(
        BLIND,
        f"The watch does not see all that it is to watch: {why}.",
        "Look at the path, address and permissions that are named, from the host of the watch. Until then nothing opens or heals there.",
    )


def _stale(silence: float, newest: datetime) -> dict[str, Any]:
    long, when = span(timedelta(seconds=silence)), f"{newest.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S}"
    return _document(
        STALE,
        f"No new line for {long} in the logs that are watched; the newest line is of {when} UTC.",
        "Look whether the processes still run, and whether they still write to these files. Until then nothing open is no all-clear.",
    )


def _document(kind: str, says: str, todo: str) -> dict[str, Any]:
    return {
        "code": CODE, "id": f"{CODE}-{kind}", "cause": f"watch-{kind}", "severity": Severity.WARNING.value, "job": None, "subject": {},
        "says": says, "headline": says, "steps": [todo], "evidence": [],
    }  # fmt: skip
