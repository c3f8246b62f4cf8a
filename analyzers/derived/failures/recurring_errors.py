"""Errors that no signature knows and that do not stop: each shape once, with what their names, words and frames say of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from statistics import median

from analyzers.derived.failures.log_messages import first_line, message
from analyzers.derived.failures.progress import COMPLETED
from analyzers.inference import Inference, infer
from analyzers.logs.layouts.roles import SERVERS
from analyzers.logs.scan.selection import ERROR_LOGGED, EXCEPTION_LOGGED, mask
from analyzers.logs.signatures import ANYBODYS
from analyzers.logs.signatures.signature import OWN
from analyzers.readers.after_polls import said
from analyzers.readers.before_failures import names_one_of_many
from analyzers.tables import RECURRING_ERRORS, Row

Tables = Mapping[str, Sequence[Row]]

_UNKNOWN = frozenset({ERROR_LOGGED, EXCEPTION_LOGGED, *ANYBODYS})
"""Signatures that say nothing of whose error it is."""
_LOUD = frozenset({"ERROR", "FATAL"})
_SHAPE = 160
_ENOUGH = 3
_LIVES = 2
_BEHIND = 5  # lines with which a runtime or a shell says that the process ended
_LATE = 0.2  # of its time so far: what comes every ten minutes may be silent for two when the log ends
_PAUSES = 3  # usual pauses: three in a row without it, and it may be over
_CLUES = 2
_SET_ASIDE = re.compile(
    r"(?i)\b(?:sent|sending|moved|routed|forwarded|written|published|put|goes|parked)\b[^\n]{0,40}\b(?:\S*dlq\S*|\S*dead[ -_]?letter\S*)"
)
"""Words of who keeps a record that failed, and reads on."""
_OF_STATE = re.compile(r"(?i)\b(?:checkpoint|savepoint)s?\b")
"""What each life of a job is restored from is no record."""
_OF_CLIENT = re.compile(r"^\[[^\]\n]{1,200}\]:? (?=\S)")  # [Consumer clientId=…, groupId=…]


def recurring_errors(tables: Tables) -> list[Row]:
    """A row of ``recurring_errors`` per shape of error in a file that a kind can be inferred of and that goes on to the file's end."""
    known = {(row["scope"], row["file"], row["line"]) for row in tables.get("faults", ()) if row["fatal"]}
    if tables.get("scanned_patterns"):
        own = (event for event in tables.get("log_events", ()) if event["signature"].startswith(OWN))
        known |= {(event["scope"], event["file"], event["line"]) for event in own}
    ends = {(row["scope"], row["file"]): row["last_at"] for row in tables.get("log_files", ())}
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    done: dict[str, list[datetime]] = defaultdict(list)
    for event in tables.get("log_events", ()):
        if event["signature"] in COMPLETED and event["at"] is not None:
            done[event["scope"]].append(event["at"])
        if _counts(event) and (event["scope"], event["file"], event["line"]) not in known:
            shape = f"{event['root_exception'] or ''} {mask(event['root_message'] or first_line(event)[-_SHAPE:])[:_SHAPE]}"
            groups[event["scope"], event["file"], shape].append(event)
    _join_lives(groups, {(row["scope"], row["file"]): row for row in tables.get("log_files", ())})
    found = (_row(events, ends.get((scope, file)), done[scope]) for (scope, file, _), events in groups.items())
    return [row for row in found if row is not None]


def _join_lives(groups: dict[tuple[str, str, str], list[Row]], files: Mapping[tuple[str, str], Row]) -> None:
    """Put together what is the last event of several files, one after the other in time: a process that starts again and ends of it."""
    last: dict[tuple[str, str], list[tuple[str, str, str]]] = defaultdict(list)
    for key, events in groups.items():
        if key[:2] in files and _ends(events[-1], files[key[:2]]):
            last[key[0], key[2]].append(key)
    for keys in last.values():
        keys.sort(key=lambda key: groups[key][-1]["at"])
        begins = [files[key[:2]]["first_at"] for key in keys]
        apart = all(groups[key][-1]["at"] <= begin for key, begin in zip(keys, begins[1:], strict=False) if begin is not None)
        for key in keys[:-1] if apart and len(keys) >= _LIVES else ():
            groups[keys[-1]] += groups.pop(key)


def _ends(event: Row, file: Row) -> bool:
    """Whether nothing but a few lines stands behind an event in its file."""
    lines = (event["text"] or "").rstrip("\n").count("\n") + 1
    return event["line"] is not None and file["lines"] is not None and event["line"] + lines + _BEHIND > file["lines"]


def _counts(event: Row) -> bool:
    """Whether an event is an error of a job's process that no signature knows."""
    if event["signature"] not in _UNKNOWN or event["at"] is None or event["role"] in SERVERS:
        return False
    return event["level"] in _LOUD or (event["level"] in (None, "DEBUG", "INFO") and _raised(event))


def _raised(event: Row) -> bool:
    """Whether a trace stands below a line that was none of an error: whoever printed it had no logger left."""
    return "Traceback (most recent call last)" in (event["text"] or "") or event["signature"] == "program-panicked"


def _row(events: list[Row], end: datetime | None, done: Iterable[datetime]) -> Row | None:
    times = sorted(event["at"] for event in events)
    first, last = times[0], times[-1]
    lives = len({event["file"] for event in events})
    if (len(events) < _ENOUGH and lives == 1) or not _goes_on(times, end):
        return None
    event = min(events, key=lambda each: (each["at"], each["line"] or 0))
    inferred = infer(event["text"] or "", thread=event["thread"], logger=event["logger"])
    if inferred is None or inferred.kind in (None, "stopped") or all(_SET_ASIDE.search(first_line(each)) for each in events):
        return None
    panicked = (event["detail"] or {}).get("panicked_at")
    if panicked:  # what a library said is why; that the program stops for it is the program's
        inferred = replace(inferred, system=None, role="user", effect="record-fails", cause="other", user_frame=panicked)
    return RECURRING_ERRORS.row(
        {
            "scope": event["scope"],
            "as_of": event["as_of"],
            "job": event["job"],
            "at": first,
            "last_at": last,
            "times": len({(each["file"], each["line"]) for each in events}),
            "lasted_seconds": (last - first).total_seconds(),
            "worked": sum(first <= at <= last for at in done),
            "lives": lives,
            "file": event["file"],
            "line": event["line"],
            "called": inferred.called,
            "role": inferred.role,
            "kind": inferred.kind,
            "effect": inferred.effect,
            "cause": inferred.cause,
            "exception": inferred.decisive[0] if inferred.decisive else None,
            "words": _words(event, inferred),
            "user_frame": inferred.user_frame,
            "address": _address(inferred),
            "confidence": inferred.confidence,
            "clues": "; ".join(inferred.clues[:_CLUES]),
            "record": _record(events, event),
            # a panic names its place in the code
            "records": 0 if panicked else len({said(line) for each in events if names_one_of_many(line := first_line(each))}),
            "text": event["text"],
        }
    )


def _goes_on(times: Sequence[datetime], end: datetime | None) -> bool:
    """Whether what came at `times` was not over when its log ended."""
    if end is None or len(times) == 1:
        return True
    silent = (end - times[-1]).total_seconds()
    usual = median((later - earlier).total_seconds() for earlier, later in pairwise(times))
    return silent <= max(usual * _PAUSES, (times[-1] - times[0]).total_seconds() * _LATE)


def _words(event: Row, inferred: Inference) -> str | None:
    """The decisive message: of an exception its own, else that of the line."""
    if inferred.decisive is None or not inferred.decisive[0]:
        return message(event)
    return " ".join(inferred.decisive[1].split())


def _record(events: Sequence[Row], event: Row) -> str | None:
    """The words that name one record, file or batch: those of the lines themselves, or of the line before each; None if these differ."""
    lines = {said(first_line(each)) for each in events}
    words = (*(lines if len(lines) == 1 else ()), (event["detail"] or {}).get("before"))
    return next((_OF_CLIENT.sub("", one) for one in words if one and names_one_of_many(one) and not _OF_STATE.search(one)), None)


def _address(inferred: Inference) -> str | None:
    """The only address that the message names."""
    named = inferred.entities.get("address", ())
    return named[0] if len(named) == 1 else None
