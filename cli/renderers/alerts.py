"""Messages of `diag watch` as its receivers want them: a line, JSON of our own, blocks of Slack, alerts of Alertmanager (API v2)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from analyzers.report.durations import span
from analyzers.report.finding import Severity
from analyzers.watching.state import Item, Message
from cli.renderers.wording import clipped, printable, subject_words

FORMAT = 1
_SLACK_TEXT, _SLACK_HEADER, _SLACK_BLOCKS = 2_900, 140, 48
_MARK = {"opened": "🔴", "worse": "🔺", "healed": "🟢", "reopened": "🔴", "blind": "⚪", "stale": "⚪"}
_BEGUN = {"critical": "🔴", "warning": "🟡"}
_TWO_LINES, _MOST_NAME = 160, 50
_MOST_LABEL, _MOST_ANNOTATION = 200, 2_000


def document(messages: Sequence[Message], dropped: int, *, version: str, at: str) -> dict[str, Any]:
    """What ``--webhook-format json``, ``--exec`` and ``-o json`` get; keys are only ever added."""
    return {
        "format": FORMAT,
        "tool": "diag",
        "version": version,
        "command": "watch",
        "at": at,
        "messages": [_message(each) for each in messages],
        "dropped": dropped,
    }


def _message(message: Message) -> dict[str, Any]:
    finding = message.finding
    return {
        "id": message.id,
        "change": message.change,
        "at": message.at,
        "finding": message.key,
        "code": finding["code"],
        "severity": finding["severity"],
        "was_severity": message.was_severity,
        "was": message.was,
        "job": message.job,
        "cause": finding.get("cause"),
        "reason": finding.get("reason"),
        "subject": finding["subject"],
        "since": finding.get("since"),
        "opened_at": message.opened_at,
        "headline": headline(message),
        "says": finding["says"],
        "steps": finding.get("steps") or [],
        "evidence": finding.get("evidence") or [],
        "bundle": message.bundle,
        "still": list(message.still),
        "closed_at": message.closed_at,
        "reopened_at": message.reopened_at,
        "lapses": message.lapses,
    }


def watch_schema() -> dict[str, Any]:
    """The schema (draft 2020-12) of `document`. Keys may be added, never changed or removed."""
    text, maybe, number = {"type": "string"}, {"type": ["string", "null"]}, {"type": "integer", "minimum": 0}

    def thing(**keys: Any) -> dict[str, Any]:
        return {"type": "object", "properties": keys, "required": list(keys)}

    def many(of: Any) -> dict[str, Any]:
        return {"type": "array", "items": of}

    severity = {"enum": [each.value for each in Severity]}
    place = thing(file=maybe, line={"type": ["integer", "null"]}, at=maybe, text=maybe)
    message = thing(
        id=text, change={"enum": list(_MARK)}, at=text, finding=text, code=text, severity=severity,
        was_severity={"enum": [*severity["enum"], None]}, was=maybe, job=maybe, cause=maybe, reason=maybe, subject={"type": "object"},
        since=maybe, opened_at=maybe, headline=text, says=text, steps=many(text), evidence=many(place), bundle=maybe, still=many(text),
        closed_at=maybe, reopened_at=maybe, lapses=number,
    )  # fmt: skip
    whole = thing(
        format={"const": FORMAT}, tool={"const": "diag"}, version=text, command={"const": "watch"}, at=text, messages=many(message),
        dropped=number,
    )  # fmt: skip
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "diag watch, format 1", **whole}


def headline(message: Message) -> str:
    """What is, or was, broken, in one line."""
    return " ".join(str(message.finding.get("headline") or message.finding["says"]).split())


def remark(message: Message) -> str:
    """What is to be known of the change, beside its headline; empty where there is nothing."""
    words: list[str] = []
    if message.change == "healed":
        words += [message.was or "not seen any more", *([f"the job still has {', '.join(message.still)}"] if message.still else [])]
        words += _when_it_healed(message)
    elif message.change == "worse":
        words += filter(None, [message.was or (f"it was {message.was_severity}" if message.was_severity else "")])
    elif message.change in _BEGINS and _since(message.opened_at, message.at):
        words.append(f"open since {_clock(message.opened_at, message.at)}, {_LATE}")
    if message.lapses:
        often = "once" if message.lapses == 1 else f"{message.lapses} times"
        words.append(f"it came back {often} since the last message")
        if message.change != "healed":
            words.append(f"gone at {_clock(message.closed_at, message.at)}, back at {_clock(message.reopened_at, message.at)}")
    if message.bundle and message.change == "opened":
        words.append(f"evidence in {message.bundle}")
    return "; ".join(words)


_BEGINS = ("opened", "blind", "stale")
_LATE = "sent late (--repeat-after)"


def _when_it_healed(message: Message) -> Iterable[str]:
    closed = message.closed_at or message.at
    lasted = _since(message.opened_at, closed)
    late = _since(message.closed_at, message.at)
    after = f"{span(lasted)} after it opened" if lasted else ""
    if late:
        yield f"it healed at {_clock(closed, message.at)}{', ' + after if after else ''}; sent {span(late)} later (--repeat-after)"
    elif after:
        yield after


def _since(begin: str | None, end: str | None) -> timedelta | None:
    """From one moment to a later one; None where that is not known, or not later."""
    from_, to = moment(begin), moment(end)
    return to - from_ if from_ is not None and to is not None and to > from_ else None


def _clock(text: str | None, beside: str) -> str:
    """A moment to the minute, with its day where that is not the day of `beside`."""
    at = text or ""
    return f"{at[11:16]}Z" if at[:10] == beside[:10] else f"{at[:16].replace('T', ' ')}Z"


def line(message: Message) -> str:
    """One line for people, of two lines of a terminal at most; what is to be known beside it is on it, or on the next one."""
    places = subject_words(message.finding["subject"])[:1]
    said = printable(_as_it_is(message))
    place = "".join(each for each in places if each.partition(" ")[2] not in said)
    about = " · ".join(clipped(part, _MOST_NAME) for part in (message.job or "", place) if part)
    at = message.at[:19].replace("T", " ")
    head = f"{at}Z {message.change:<8} {message.finding['severity']:<8} {message.finding['code']}  {about + ': ' if about else ''}"
    whole, more = f"{head}{clipped(said, max(_TWO_LINES - len(head), _MOST_NAME))}", printable(remark(message))
    if not more:
        return f"{whole}\n"
    return f"{whole} ({more})\n" if len(whole) + len(more) + 3 <= _TWO_LINES else f"{whole}\n  {more}\n"


def _as_it_is(message: Message) -> str:
    """The headline; that of what is over as past."""
    return f"was: {headline(message)}" if message.change == "healed" else headline(message)


def plain(message: Message) -> str:
    """The same for a pipe: time, change, severity, code, job, subject, headline, remark, id, apart by tabs."""
    finding = message.finding
    where = ", ".join(subject_words(finding["subject"]))
    cells = (message.at, message.change, finding["severity"], finding["code"], message.job, where, headline(message), remark(message))
    return "\t".join(printable(str(cell or "")).replace("\t", " ") for cell in (*cells, message.id)) + "\n"


def slack(messages: Sequence[Message], dropped: int) -> dict[str, Any]:
    """Body of an incoming webhook of Slack: a header and a section for each, and the text that notifications show."""
    blocks: list[dict[str, Any]] = []
    for message in messages:
        if len(blocks) + 2 > _SLACK_BLOCKS:
            break
        finding = message.finding
        title = f"{_mark(message)} {message.change}: {finding['code']} {message.job or ''}".strip()
        blocks.append({"type": "header", "text": {"type": "plain_text", "text": _clipped(title, _SLACK_HEADER)}})
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": _clipped("\n".join(_slack_lines(message)), _SLACK_TEXT)}})
    if dropped:
        blocks.append({"type": "context", "elements": [{"type": "mrkdwn", "text": _were_dropped(dropped)}]})
    heads = [
        f"{_mark(each)} {each.change}: {f'{each.job}: ' if each.job else ''}{each.finding['code']} {_as_it_is(each)}" for each in messages
    ]
    return {"text": _clipped(_escaped("; ".join(heads) or _were_dropped(dropped)), _SLACK_TEXT), "blocks": blocks}


def _mark(message: Message) -> str:
    """What is critical is red, and nothing else."""
    begins = message.change in ("opened", "reopened")
    return _BEGUN.get(message.finding["severity"], "🔵") if begins else _MARK.get(message.change, "")


def _were_dropped(dropped: int) -> str:
    return f"{dropped} earlier messages were dropped: this webhook did not take them in time"


def _slack_lines(message: Message) -> Iterable[str]:
    finding = message.finding
    began = message.finding.get("since")
    since = f", since {began[:16].replace('T', ' ')}Z" if began and message.change != "healed" else ""
    yield f"*{_escaped(_as_it_is(message))}* ({finding['severity']}{since})"
    if remark(message):
        yield _escaped(remark(message))
    if message.change == "healed":
        return
    for number, each in enumerate(finding.get("steps") or [], 1):
        yield f"{number}. {_escaped(each)}"
    for place in (finding.get("evidence") or [])[:1]:
        words = " ".join(str(place.get("text") or "").split())[:300]
        yield f"`{_escaped(words).replace('`', chr(39))}`" if words else ""


def _escaped(text: str) -> str:
    """As Slack wants its three control characters; words of a log make no links and mention no one."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _clipped(text: str, most: int) -> str:
    """At most so many characters, and no half of an escaped one at the end."""
    return text if len(text) <= most else f"{re.sub(r'&[a-z]{0,4}$', '', text[: most - 1])}…"


def alertmanager(messages: Sequence[Message], items: Iterable[Item], *, at: str, lasts: timedelta) -> list[dict[str, Any]]:
    """Body of ``POST /api/v2/alerts``: the state at `at`, as the protocol wants it, again each time. What is open ends by itself `lasts`
    after `at` unless that goes on; what is closed ended with the look that closed it, whether or not a message has said so. Labels are
    what an alert is known by, so one that got worse is two: the old one ends."""
    until = _time((moment(at) or datetime.now(timezone.utc)) + lasts)
    alerts: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}

    def add(labels: dict[str, str], finding: Any, since: str, ends: str, more: dict[str, str]) -> None:
        key = tuple(sorted(labels.items()))
        said = alerts[key]["annotations"] if key in alerts else {}
        alerts[key] = {
            "labels": labels,
            "annotations": {**said, **_annotations(finding), **more},
            "startsAt": since,
            "endsAt": max(since, ends),  # a clock that was set back: one that ends before it begins is refused, with all the others
        }

    for message in messages:
        since = message.reopened_at or message.opened_at or message.at
        remarks = "" if message.change in _BEGINS else remark(message)
        more = {key: value for key, value in (("remark", remarks), ("bundle", message.bundle or "")) if value}
        if message.was_severity and message.change == "worse":
            add(_labels(message.labels, message.was_severity), message.finding, since, message.at, more)
        ends = message.closed_at or message.at if message.change == "healed" else until
        add(_labels(message.labels, message.finding["severity"]), message.finding, since, ends, more)
    for item in items:
        if item.is_open or item.closed_at is not None:
            more = {"bundle": item.bundle} if item.bundle else {}
            since = item.reopened_at or item.opened_at or at
            ends = until if item.is_open else item.closed_at or at
            if item.graver is not None and item.graver_at is not None:
                add(_labels(item.labels, item.graver), item.document, item.graver_at, ends, more)
                ends = item.graver_at
            add(_labels(item.labels, item.severity.value), item.document, since, ends, more)
    return list(alerts.values())


_ALERTS = {"watch-blind": "StreamingWatchBlind", "watch-stale": "StreamingLogsStale"}


def _labels(labels: Any, severity: str) -> dict[str, str]:
    found = {key: str(value)[:_MOST_LABEL] for key, value in labels.items()}
    return {"alertname": _ALERTS.get(found.get("cause", ""), "StreamingJobIll"), **found, "severity": severity}


def _annotations(finding: Any) -> dict[str, str]:
    said = {
        "summary": finding.get("headline") or finding["says"],
        "description": finding["says"],
        "steps": "\n".join(f"{number}. {each}" for number, each in enumerate(finding.get("steps") or [], 1)),
        "subject": ", ".join(subject_words(finding["subject"])),
        "since": finding.get("since") or "",
    }
    return {key: str(value)[:_MOST_ANNOTATION] for key, value in said.items() if value}


def moment(text: str | None) -> datetime | None:
    """A time as messages have it."""
    try:
        return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None


def _time(at: datetime) -> str:
    return f"{at.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def encoded(body: Any) -> bytes:
    """`body` as JSON, always valid UTF-8."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")
