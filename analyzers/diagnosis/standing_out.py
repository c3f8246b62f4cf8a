"""Where no rule explains anything: the lines that say most of what may be wrong, of any process, for a person to read.

A page that says only that nothing was found hides what the evidence says in its own words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from analyzers.causal.asks import asks_of
from analyzers.causal.ordinary import is_ordinary, shape_of
from analyzers.derived.failures.log_messages import first_line
from analyzers.inference import infer
from analyzers.logs.scan.remarks import is_blocked, is_reported, tells_of_loss
from analyzers.logs.scan.selection import ERROR_LOGGED, EXCEPTION_LOGGED
from analyzers.logs.signatures import ANYBODYS
from analyzers.tables import Row

Tables = Mapping[str, Sequence[Row]]

_BY_LEVEL: Mapping[str | None, float] = {"FATAL": 1.1, "ERROR": 1.0, "WARN": 0.7, None: 0.5}
_INFO = 0.2
_LOSS, _ADVICE, _KIND, _MECHANISM, _WAITS, _AGAIN, _TO_THE_END = 0.8, 0.7, 0.4, 0.5, 0.5, 0.3, 0.2
_ENOUGH = 1.2
MOST, _MOST_OF_FILE = 4, 2
_OFTEN, _VERY_OFTEN = 3, 8
_QUIET = ("INFO", "DEBUG", "TRACE")
_LATE = 0.1
_ADVICE_WORDS = re.compile(
    r"(?i)\b(?:please (?!note)|make sure|ensure|consider|you (?:can|must|should|may)|should be|must be|try to|increase|reconfigure)\b"
)
_WAITING = re.compile(
    r"(?i)\b(?:waiting for|not enabled|is disabled|already exists|already committed|ignoring|never|gave up|giving up|"
    r"not running|cannot start)\b"
)
_CONDITIONAL = re.compile(r"(?i)\b(?:either|if|may|might|or every|would)\b")
"""What could be, not what is."""
_OF_RECORDS = re.compile(
    r"(?i)^(?!.*\b(?:retry|retrying|again|attempt)\b).*\b(?:fail\w*|error|exception|could not|unable to)\b.{0,60}"
    r"\b(?:record|message|event|row|document)s?\b"
)
"""A record that failed, and of which nothing says that it is tried again."""
_LOUD = ("WARN", "ERROR", "FATAL")
_LASTING = frozenset({"access", "conflict", "expired", "fenced", "full", "gone", "program", "refused", "setting"})
_REFUSED = frozenset({"access", "expired", "full", "gone", "memory"})
"""Kinds of failure that do not pass by themselves."""


@dataclass(frozen=True)
class StandsOut:
    """A line, how many of its shape there are (None: not counted), and how much it says."""

    row: Row
    times: int | None
    score: float
    last: datetime | None = None
    loss: bool = False
    """It says again and again, or of a state that lasts, that something is not done."""


def standing_out(tables: Tables, judged: Collection[str]) -> dict[str, list[StandsOut]]:
    """Per scope that is not `judged` the lines that say most, at most `MOST` and two of a file, in order of time."""
    ends = {(row["scope"], row["file"]): (row["first_at"], row["last_at"]) for row in tables.get("log_files", ())}
    groups: dict[str, dict[tuple[str, str], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in _lines(tables, judged):
        groups[row["scope"]][row["file"] or "", shape_of(row)].append(row)
    return {scope: _chosen(_scored(rows, ends) for rows in own.values()) for scope, own in groups.items()}


def _chosen(scored: Iterable[StandsOut]) -> list[StandsOut]:
    of_file: Counter[str] = Counter()
    chosen: list[StandsOut] = []
    for each in sorted(scored, key=lambda each: (-each.score, *_place(each))):
        file = each.row["file"]
        if len(chosen) < MOST and of_file[file] < _MOST_OF_FILE and (each.score >= _ENOUGH or each.loss):
            of_file[file] += 1
            chosen.append(each)
    return sorted(chosen, key=lambda each: (each.row["at"] is None, each.row["at"] or datetime.max, *_place(each)))


def _place(each: StandsOut) -> tuple[str, int]:
    return each.row["file"] or "", each.row["line"] or 0


def _lines(tables: Tables, judged: Collection[str]) -> Iterator[Row]:
    for row in tables.get("log_remarks", ()):
        if row["scope"] not in judged and not is_ordinary(row):
            yield row
    for row in tables.get("log_events", ()):
        loud = row["level"] in _LOUD and row["scope"] not in judged
        if loud and (row["signature"] in _UNKNOWN or _ADVICE_WORDS.search(row["text"] or "")) and not is_ordinary(row):
            yield row


_UNKNOWN = frozenset({ERROR_LOGGED, EXCEPTION_LOGGED, *ANYBODYS})


def _scored(rows: Sequence[Row], ends: Mapping[tuple[str, str], tuple[datetime | None, datetime | None]]) -> StandsOut:
    first = min(rows, key=lambda row: row["line"] or 0)
    level, words = first["level"], first_line(first)
    if first["at"] is None and level is None:  # a colleague's words, or an answer of a program: only what it states as a fact
        blocked = is_blocked(words) or is_reported(words)
        return StandsOut(first, None, _BY_LEVEL[level] if blocked else 0.0, loss=blocked)
    times = first.get("times") or len({(row["file"], row["line"]) for row in rows})
    begin, end = ends.get((first["scope"], first["file"]), (None, None))
    last = max((row["at"] for row in rows if row["at"] is not None), default=None)
    goes_on = last is not None and begin is not None and end is not None and end - last <= (end - begin) * _LATE
    loss = (tells_of_loss(words) or (level in _LOUD and _OF_RECORDS.search(words) is not None)) and not _CONDITIONAL.search(words)
    score = _BY_LEVEL.get(level, _INFO)
    score += _LOSS * loss + _ADVICE * bool(_ADVICE_WORDS.search(words)) + _WAITS * bool(_WAITING.search(words))
    asks = asks_of(words)
    score += _MECHANISM * (asks is not None and not asks.symptom)
    score += _AGAIN * (times >= _OFTEN) + _TO_THE_END * (times >= _OFTEN and goes_on)
    stays = times >= _VERY_OFTEN and goes_on
    kind = None
    if level is None or stays or score + _KIND >= _ENOUGH:  # else it decides nothing, and to infer it takes half a millisecond
        inferred = infer(first["text"] or "")
        kind = inferred.kind if inferred is not None else None
    score += _KIND * (kind not in (None, "stopped"))
    lasts = times >= _OFTEN if level not in _QUIET else stays
    refused = (level is None and kind in _REFUSED) or (stays and kind in _LASTING)
    return StandsOut(first, times, score, last, first.get("signature") in (None, *_UNKNOWN) and ((loss and lasts) or refused))
