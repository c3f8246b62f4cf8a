"""What a log says before each of several equal failures, word for word: the record, file or batch at which a process fails again and again.

Such lines are of no trouble themselves, so that a scan does not keep them: logs with equal failures are read once more, up to a bound.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from analyzers.logs.matching.expressions import expression
from analyzers.logs.scan.selection import mask
from analyzers.readers.after_polls import lines_of, said
from analyzers.readers.splits import LogFile
from analyzers.tables import Row

MOST_FILES, MOST_BYTES = 4, 4 << 20
_LEAST = 3
"""Failures that make it a rule that a line stands before them."""
_SHARE = 0.8
"""Of the failures that have the line before them."""
_ELSEWHERE = 1.5
"""Times as often as the failures the line may stand in the log: more often it has to do with something else."""
_BACK = 60
"""Lines before a failure that are looked at."""
_MOST_FAILURES, _MOST_GROUPS = 12, 4
_LOUD = frozenset({"ERROR", "FATAL"})
_SHAPE = 80
_END = 12
_LONGEST = 200
_TIMES = expression(
    r"\b(?:\d{4}[-/.]\d\d[-/.]\d\d|\d\d/\d\d/\d\d|[A-Z][a-z]{2} [ \d]\d(?:, \d{4})?)\b(?:T| @)?"
    r"|\b\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?Z?\b|\b\d{10}(?:\.\d+|\d{3})?\b"
)
_RECORD = expression(
    r"(?i)\b(?:offset|partition|record|message|batch|file|split|chunk|key|id|scn|lsn|row|document|order|event|object|path|position|job|url)s?\b"
    r"[^\n]{0,24}?[\w./-]*\d{2,}|[\w.-]+-\d+@\d+|\]+ ?@\d+|\b(?:s3[an]?|hdfs|gs|abfss?|https?)://\S*\d"
)
"""What a line holds that names one of many: an offset, an id, a file."""
_WARNS = expression(r"^(?:\W*|\S{0,40} \[?)WARN(?:ING)?\b|\blevel=warn|\"level\": ?\"warn")
"""A warning before each of equal failures is telling by itself."""
_ENGINE = expression(
    r"^\S{0,40} ?(?:Caused by: |[\w.$]+(?:Exception|Error)\b)|\bFile \"[^\"\n]+\", line \d"
    r"|^(?!.*\bfrom (?i:checkpoint|savepoint)\b).*(?:org\.apache\.flink\.runtime|o\.a\.f\.r(?:untime)?)\."
)
"""Lines of a trace, and of the life of a job but for what it is restored from."""
_HEAD = expression(r"^(?:\d+ --- \[[^\]]*\] )?[\w.$]+(?:\s+\[[^\]]*\])?\s+[-:]\s+(?=\S)")
_SETTING = expression(r"^\s*[\w.\-]+ ?[=:] ?\S*$")


@dataclass(frozen=True)
class Before:
    """The words of a line, where it stands last, and before how many failures."""

    words: str
    line: int
    times: int


def with_lines_before(events: Sequence[Row], files: Iterable[LogFile]) -> None:
    """Adds ``before``, ``before_line`` and ``before_times`` to the ``detail`` of equal failures, the first and the last of them."""
    groups: defaultdict[str, defaultdict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in events:
        if row["line"] is not None and (row["level"] in _LOUD or row["chain"]):
            words = row["root_message"] or said((row["text"] or "").partition("\n")[0])
            groups[row["file"]][f"{row['signature']} {row['root_exception']} {mask(words)[:_SHAPE]}"].append(row)
    by_name = {file.origin.file: file for file in files}
    read: dict[str, list[str]] = {}
    for name, own in groups.items():
        often = sorted((rows for rows in own.values() if len(rows) >= _LEAST), key=len, reverse=True)[:_MOST_GROUPS]
        stored = name if name in by_name else name.rpartition("!")[0]  # a stream of an export: its lines are those of the export
        file = by_name.get(stored)
        if not often or file is None or file.size > MOST_BYTES or (stored not in read and len(read) >= MOST_FILES):
            continue
        lines = read[stored] = read.get(stored) or lines_of(file, MOST_BYTES)
        for rows in often:
            found = before([row["line"] - 1 for row in rows], lines)
            if found is not None:
                more = {"before": found.words, "before_line": str(found.line), "before_times": str(found.times)}
                for row in (rows[0], rows[-1]):
                    row["detail"] = {**(row["detail"] or {}), **more}


def before(places: Sequence[int], lines: Sequence[str]) -> Before | None:
    """The line that stands before failures at `places` (counted from 0) and names one of many; None where there is none."""
    places = sorted(set(places))[-_MOST_FAILURES:]
    if len(places) < _LEAST or places[-1] >= len(lines):
        return None
    begins = [max(place - _BACK, before_it + 1, 0) for place, before_it in zip(places, [-1, *places], strict=False)]
    windows = [range(begin, place) for begin, place in zip(begins, places, strict=True)]
    enough = max(_LEAST, _SHARE * len(places))
    # a time stands in front: lines with different ends are different, and need not be read
    common = _often(({lines[n].rstrip()[-_END:] for n in window} for window in windows), enough)
    keys = {n: key for window in windows for n in window if lines[n].rstrip()[-_END:] in common and (key := _key(lines[n]))}
    often = _often(({keys[n] for n in window if n in keys} for window in windows), enough)
    if not often:
        return None
    last = {keys[n]: n for window in windows for n in window if keys.get(n) in often}
    ends = {lines[n].rstrip()[-_END:] for n in last.values()}
    whole = Counter(key for line in lines if line.rstrip()[-_END:] in ends and (key := _key(line)) in often)
    fitting = [key for key in often if whole[key] <= _ELSEWHERE * len(places) + 1]
    if not fitting:
        return None
    best = max(fitting, key=lambda key: (_RECORD.search(key) is not None, last[key]))
    return Before(_words(lines[last[best]]), last[best] + 1, often[best])


def names_one_of_many(words: str) -> bool:
    """Whether `words` name a record, a file, a batch: by an offset, an id, a path."""
    return _RECORD.search(words) is not None


def _often(sets: Iterable[set[str]], enough: float) -> dict[str, int]:
    """What at least `enough` of the sets hold, and how many do."""
    return {each: number for each, number in Counter(each for one in sets for each in one).items() if number >= enough}


@lru_cache(maxsize=4096)
def _key(line: str) -> str:
    """A line without its times; empty where it names none of many, is a frame of a trace or a setting."""
    if not line.strip() or line[0] in " \t" or len(line) > 4_000 or _SETTING.match(line):
        return ""
    text = " ".join(_TIMES.sub("", line).split())
    return text if (_RECORD.search(text) or _WARNS.search(text)) and not _ENGINE.search(text) else ""


def _words(line: str) -> str:
    """What a line says; of a row of a table its longest cell."""
    text = said(line)
    if text.startswith('"'):
        with suppress(csv.Error):
            text = max(next(csv.reader([text]), [text]), key=len)
    return _HEAD.sub("", text)[:_LONGEST].strip()
