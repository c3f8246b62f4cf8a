"""One look more: what it changes in what is remembered, and which messages are due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from analyzers.comparison.sides import Side
from analyzers.report.finding import Severity
from analyzers.watching.sightings import Sighting, jobs_of, not_read, roles_in, sightings
from analyzers.watching.state import MOST_ITEMS, Item, Message, State

QUIET_SECONDS = 3600.0


@dataclass(frozen=True)
class Policy:
    """When a change is one. The defaults are from recordings, each cut at eight growing times (`tests/test_watch_recordings.py`)."""

    opens_after: int = 2
    """Looks in a row that show a finding. One would have sent a message for a healthy job: a database that restarts looks for a moment as
    one that stays down, and one look in eight fell into it. It was a critical finding, so these wait as well."""
    heals_after: int = 3
    """Looks in a row that could see it and do not: one more than opens it, as a restarting job is well for a moment between two failures,
    and "healed" is what sends people back to bed."""
    quiet_seconds: float = QUIET_SECONDS
    """Between two messages of one finding."""
    least: Severity = Severity.WARNING


@dataclass
class Step:
    """What came of a look: messages, and sentences for whoever sits before the terminal."""

    messages: list[Message] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def step(state: State, look: Side, *, now: float, at: str, policy: Policy) -> Step:
    """Bring `state` up to `look`, and say what is to be said. `now`: seconds of a clock that never jumps; `at`: ISO-8601 UTC.

    The messages are in no outbox yet.
    """
    done = Step()
    state.looks += 1
    had_room, state.left_out = not state.left_out, 0
    latest: dict[str, Sighting] = {}
    for sighting in sightings(state.items, look, policy.least):
        item = sighting.item or _remembered(state, sighting, look)
        if item is not None:
            latest[item.key] = sighting
            _note(item, sighting, look, at=at, policy=policy, remarks=done.remarks)
    if state.left_out and had_room:
        done.remarks.append(f"{MOST_ITEMS} findings are remembered, and there is no room for {state.left_out} more: these are not reported")
    for item in state.items:
        shown = latest.get(item.key)
        if shown is None or shown.state == "unseen" or (change := due(item, now, policy)) is None:
            continue
        was_severity = item.severity.value
        if change == "worse":
            assert shown.document is not None
            item.document, item.worse = dict(shown.document), 0
        was = shown.was if change == "worse" else shown.because
        done.messages.append(said(state, item, change, now=now, at=at, was=was, was_severity=was_severity))
    state.items = [item for item in state.items if _is_worth_keeping(item, now, policy)]
    done.messages = [_beside_others(message, state.items) for message in done.messages]
    return done


def _remembered(state: State, sighting: Sighting, look: Side) -> Item | None:
    """A new item; None where there is no room for one."""
    document = sighting.document
    assert document is not None
    if len(state.items) >= MOST_ITEMS:
        stale = next((item for item in state.items if item.unseen is not None and not (item.is_open or item.said)), None)
        if stale is None:
            state.left_out += 1
            return None
        state.items.remove(stale)  # seen once, in what no look shows any more
    state.number += 1
    names = {row["job"]: row["name"] for row in jobs_of(look)}
    name = names.get(document.get("job") or "")
    item = Item(f"{document['id']}-{state.number}", dict(document), {}, job_name=name)
    named = {"code": document["code"], "finding": item.key, "cause": document.get("cause"), "job": name or document.get("job")}
    item.labels = {key: value for key, value in named.items() if value}
    item.roles = roles_in(document, look)
    state.items.append(item)
    return item


def _note(item: Item, sighting: Sighting, look: Side, *, at: str, policy: Policy, remarks: list[str]) -> None:
    job = item.labels.get("job")
    about = f"{item.document['code']}{f' ({job})' if job else ''}"
    if sighting.state == "unseen":
        if item.is_open and item.unseen is None:
            remarks.append(f"{about} stays open, unseen in this look: {not_read(look) or sighting.because}")
        item.unseen = sighting.because
        return
    item.unseen = None
    if sighting.state == "absent":
        absent(item, at, policy.heals_after)
        return
    assert sighting.document is not None
    item.worse = item.worse + 1 if sighting.worse and item.said else 0
    _note_severity(item, Severity(sighting.document["severity"]), at, policy)
    if not item.said:  # what was said is compared with, or a drop that comes back would be no change
        _renew(item, sighting.document, look)
    present(item, at, policy.opens_after)


def _note_severity(item: Item, severity: Severity, at: str, policy: Policy) -> None:
    """A message may have to wait; who is sent the state gets it now."""
    if item.worse >= policy.opens_after and severity.rank > item.severity.rank:
        if item.graver != severity.value:
            item.graver, item.graver_at = severity.value, at
    elif not item.worse:
        item.graver = item.graver_at = None


def absent(item: Item, at: str, heals_after: int) -> None:
    """A look that could see `item` does not show it."""
    item.seen, item.worse, item.absent = 0, 0, item.absent + 1
    if item.is_open and item.absent >= heals_after:
        item.is_open, item.closed_at = False, at


def present(item: Item, at: str, opens_after: int) -> None:
    """A look shows `item`."""
    item.seen, item.absent = item.seen + 1, 0
    if not item.is_open and item.seen >= opens_after:
        item.is_open = True
        if item.said:  # it came back before a message could say that it was gone
            item.reopened_at, item.lapses = at, item.lapses + 1
        else:
            item.opened_at, item.closed_at, item.reopened_at, item.lapses = at, None, None, 0


def _renew(item: Item, document: Mapping[str, Any], look: Side) -> None:
    item.document, item.roles = dict(document), roles_in(document, look)


def due(item: Item, now: float, policy: Policy) -> str | None:
    """What is to be said of `item`, which a look has just shown, or could have shown."""
    if _is_quiet(item, now, policy):
        return None
    if item.is_open and not item.said:
        return "opened"
    if item.said and not item.is_open:
        return "healed"
    if item.is_open and item.worse >= policy.opens_after:
        return "worse"
    return "reopened" if item.is_open and item.lapses else None


def said(state: State, item: Item, change: str, *, now: float, at: str, was: str | None = None, was_severity: str | None = None) -> Message:
    """The message of `change`, and that `item` is known to be so."""
    state.number += 1
    item.said, item.quiet_since = change != "healed", now
    lapses, item.lapses = item.lapses, 0
    item.graver = item.graver_at = None
    return Message(
        f"{state.drawn}-{state.number}",
        change,
        item.key,
        at,
        item.document,
        item.labels,
        job=item.labels.get("job"),
        was=was,
        was_severity=was_severity if was_severity != item.severity.value else None,
        opened_at=item.opened_at,
        bundle=item.bundle,
        closed_at=item.closed_at if change == "healed" or lapses else None,
        reopened_at=item.reopened_at if lapses else None,
        lapses=lapses,
    )


def _is_quiet(item: Item, now: float, policy: Policy) -> bool:
    return item.quiet_since is not None and now - item.quiet_since < policy.quiet_seconds


def _is_worth_keeping(item: Item, now: float, policy: Policy) -> bool:
    """What was closed is known until its hour is over: it may be back by then."""
    return item.is_open or item.said or item.seen > 0 or _is_quiet(item, now, policy)


def _beside_others(message: Message, items: Iterable[Item]) -> Message:
    """A job that has something else by now is not well because one finding is gone."""
    if message.change != "healed":
        return message
    others = {item.document["code"] for item in items if item.is_open and item.key != message.key and item.labels.get("job") == message.job}
    return replace(message, still=tuple(sorted(others)))
