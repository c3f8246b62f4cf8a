"""What a watch remembers from look to look, and across restarts: findings, and messages that are not delivered yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from analyzers.report.finding import Severity

FORMAT = 1
"""Of the state file; another one is not read."""
MOST_ITEMS = 500
"""Findings that are remembered at a time, a few kilobytes each: what one cluster has on its worst day, several times over."""
MOST_WAITING = 200
"""Messages that wait for one receiver: a day of an outage with eight messages an hour."""
_FOREVER = 86_400.0 * 365


class NotAState(Exception):
    """The document is no state of a watch: damaged, or of another format; says which."""


@dataclass
class Item:
    """A finding that is remembered.

    `document` is the finding as it was last said; before that, as it was last seen. `seen`, `absent`, `worse`: looks in a row. `said`:
    whether the last message was that it is there. `quiet_since`: when that was, in seconds of `now`. `labels` never change.
    """

    key: str
    document: dict[str, Any]
    labels: dict[str, str]
    roles: dict[str, str] = field(default_factory=dict)
    """The kind of process of each file in its evidence."""
    job_name: str | None = None
    seen: int = 0
    absent: int = 0
    worse: int = 0
    is_open: bool = False
    said: bool = False
    opened_at: str | None = None
    closed_at: str | None = None
    """The look that closed it last."""
    reopened_at: str | None = None
    """The look that showed it again, where no message has said yet that it was gone."""
    lapses: int = 0
    """How often that happened since the last message."""
    graver: str | None = None
    """Its severity by now, where that is above the one of the last message, and the look that showed that."""
    graver_at: str | None = None
    quiet_since: float | None = None
    unseen: str | None = None
    """Why the last look could not see whether it is there, a clause."""
    bundle: str | None = None

    @property
    def severity(self) -> Severity:
        return Severity(self.document["severity"])


@dataclass(frozen=True)
class Message:
    """One change of one finding. `id` is the same however often it is delivered; `still`: codes that are open for the same job.

    `at` is when the message was made, `opened_at`, `closed_at` and `reopened_at` when that was seen; `lapses`: how often it was gone and
    came back since the message before."""

    id: str
    change: str
    key: str
    at: str
    finding: Mapping[str, Any]
    labels: Mapping[str, str]
    job: str | None = None
    was: str | None = None
    was_severity: str | None = None
    opened_at: str | None = None
    bundle: str | None = None
    still: tuple[str, ...] = ()
    closed_at: str | None = None
    reopened_at: str | None = None
    lapses: int = 0


@dataclass
class Receiver:
    """What one receiver is owed: messages in their order; the pause after failures in a row; messages dropped, and not yet reported."""

    waiting: list[Message] = field(default_factory=list)
    failures: int = 0
    not_before: float | None = None
    dropped: int = 0


@dataclass
class Lines:
    """The newest line of the logs (ISO-8601) and the number of lines, in how many looks there were new ones, and in how many in a row there
    are none; when there was one last, and the last look (seconds of `now`), and the longest silence between two such looks, in seconds."""

    newest: str | None = None
    count: int = 0
    growths: int = 0
    still: int = 0
    grew_at: float | None = None
    looked_at: float | None = None
    longest_gap: float = 0.0


@dataclass
class State:
    """All that a watch remembers. `number` counts messages, `looks` looks."""

    items: list[Item] = field(default_factory=list)
    sight: list[Item] = field(default_factory=list)
    """What is wrong with the watch's own sight: `sight`."""
    lines: Lines = field(default_factory=Lines)
    receivers: dict[str, Receiver] = field(default_factory=dict)
    number: int = 0
    looks: int = 0
    left_out: int = 0
    """Findings of the last look for which there was no room."""
    drawn: str = ""
    """What ids of messages begin with: drawn once for each state file."""


def saved(state: State, now: float) -> dict[str, Any]:
    """`state` as plain values; moments of `now` as ages, pauses as what is left of them."""
    return {
        "format": FORMAT,
        "tool": "diag",
        "command": "watch",
        "drawn": state.drawn,
        "number": state.number,
        "looks": state.looks,
        "left_out": state.left_out,
        "items": [_aged(item, now, "quiet_since") for item in state.items],
        "sight": [_aged(item, now, "quiet_since") for item in state.sight],
        "lines": _aged(state.lines, now, "grew_at", "looked_at"),
        "receivers": {
            name: {
                "waiting": [{**vars(message), "still": list(message.still)} for message in each.waiting],
                "failures": each.failures,
                "not_before": None if each.not_before is None else each.not_before - now,
                "dropped": each.dropped,
            }
            for name, each in state.receivers.items()
        },
    }


def restored(said: Any, now: float, away: float) -> State:
    """The state that `saved` gave, `away` seconds later; a negative one, of a clock that was set back, counts as none.

    Raises `NotAState`.
    """
    if not isinstance(said, dict) or said.get("tool") != "diag" or said.get("command") != "watch":
        raise NotAState("it is no state file of diag watch")
    if said.get("format") != FORMAT:
        raise NotAState(f"it has format {said.get('format')!r}, and this diag reads format {FORMAT}")
    away = min(max(away, 0.0), _FOREVER)
    try:
        return State(
            items=[_item(each, now, away) for each in _list(said["items"])],
            sight=[_item(each, now, away) for each in _list(said.get("sight", []))],
            lines=_lines(_dict(said.get("lines", {})), now, away),
            receivers={str(name): _receiver(each, now, away) for name, each in _dict(said["receivers"]).items()},
            number=_number(said["number"]),
            looks=_number(said["looks"]),
            left_out=_number(said["left_out"]),
            drawn=_text(said["drawn"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NotAState("it is damaged: a part of it is not what diag writes there") from error


def _aged(of: Any, now: float, *moments: str) -> dict[str, Any]:
    """The values of `of`, with these moments of `now` as ages."""
    values = dict(vars(of))
    return values | {name: now - values[name] for name in moments if values[name] is not None}


def _since(age: Any, now: float, away: float) -> float | None:
    return None if age is None else now - max(_seconds(age), 0.0) - away


def _lines(said: Mapping[str, Any], now: float, away: float) -> Lines:
    lines = Lines(**_only(Lines, said))
    if lines.newest is not None and datetime.fromisoformat(_text(lines.newest)).tzinfo is None:
        raise ValueError(lines.newest)
    _number(lines.count), _number(lines.growths), _number(lines.still), _seconds(lines.longest_gap)
    lines.grew_at, lines.looked_at = _since(lines.grew_at, now, away), _since(lines.looked_at, now, away)
    return lines


def _item(said: Any, now: float, away: float) -> Item:
    values = _only(Item, said)
    document = _dict(values["document"])
    Severity(document["severity"])
    for key in ("code", "id", "says"):
        _text(document[key])
    _dict(document["subject"])
    item = Item(**{**values, "quiet_since": _since(values.get("quiet_since"), now, away)})
    _text(item.key)
    for own in (item.labels, item.roles):
        for name, value in _dict(own).items():
            _text(name), _text(value)
    for number in (item.seen, item.absent, item.worse, item.lapses):
        _number(number)
    if item.graver is not None:
        Severity(item.graver), _text(item.graver_at)
    for flag in (item.is_open, item.said):
        if not isinstance(flag, bool):
            raise TypeError(flag)
    return item


def _receiver(said: Any, now: float, away: float) -> Receiver:
    pause = said["not_before"]
    return Receiver(
        [_message(each) for each in _list(said["waiting"])][-MOST_WAITING:],
        _number(said["failures"]),
        None if pause is None else now + min(max(_seconds(pause) - away, 0.0), 3600.0),
        _number(said["dropped"]),
    )


def _message(said: Any) -> Message:
    values = _only(Message, said)
    for key in ("id", "change", "key", "at"):
        _text(values[key])
    Severity(_dict(values["finding"])["severity"])
    _dict(values["labels"])
    _number(values.get("lapses", 0))
    return Message(**{**values, "still": tuple(map(_text, _list(values.get("still", []))))})


def _only(of: type[Any], said: Any) -> dict[str, Any]:
    known = {each.name for each in fields(of)}
    return {name: value for name, value in _dict(said).items() if name in known}


def _of(kind: type[Any]) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise TypeError(value)
        return value

    return checked


_list, _dict, _text = _of(list), _of(dict), _of(str)


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(value)
    return value


def _seconds(value: Any) -> float:
    seconds = float(value)
    if not abs(seconds) < _FOREVER:
        raise ValueError(value)
    return seconds
