"""Numbers that a log reports again and again, and that stand still from one moment on: nothing is logged about what no longer happens.

Each line of such a report is ordinary, so that a scan does not keep it. Small logs are read once more; a line costs the removal of its
digits, and only the shapes that come often, to the end, are looked at.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import Any

from analyzers.logs.layouts.timestamps import ISO, SHORT, Stamp, parse, to_datetime
from analyzers.readers.after_polls import said, stored
from analyzers.readers.object_stores import is_remote
from analyzers.readers.splits import LogFile
from analyzers.tables import STANDING_VALUES, Row

MOST_FILES, MOST_BYTES = 8, 4 << 20
_LEAST, _MOVED, _STANDS = 20, 10, 10
"""Lines of one shape; of these before the number stood, and since."""
_SHARE = 0.8
"""Of the lines before, in which the number was another one than in the line above."""
_LEAST_OF_SIBLINGS, _SIBLINGS, _SIBLING_MOVED, _SIBLING_STANDS = 8, 3, 3, 3
"""The same of lines that count several things of one kind: lines, things, different numbers before it is 0, lines since."""
_GAPS = 5
"""Times the usual distance of two lines of the shape the log may go on behind the last one."""
_LATER = 50  # lines, the same
_LONGEST, _MOST_SHAPES, _MOST_OF_FILE, _MOST_NUMBERS = 1_000, 4_000, 3, 16
_DIGITS = b"0123456789"
_NUMBER = re.compile(r"(?<![\w.,/-])(?<!\d:)-?\d+(?:\.\d+)?(?![\w:/]|\.\d|-\d)")
_STAMP = re.compile(rf"{ISO}|{SHORT}")
_NAMED = re.compile(r"([A-Za-z][\w.-]{1,60})[\"']?\s?[=:]\s?[\"']?$")
_WELL_AT_ZERO = re.compile(r"(?i)lag|behind|pending|backlog|queue|retr|fail|error|wait|drop|skip|late")
_IDS = re.compile(r"\d+")
_BEFORE = 3  # values


@dataclass(frozen=True)
class _Line:
    number: int
    text: str
    values: tuple[str, ...]


def standing_values(files: Iterable[LogFile], read: Sequence[Row], head: dict[str, Any]) -> list[Row]:
    """Rows of ``standing_values``: of the first files that are small enough; `read` are the rows of ``log_files``, with their clocks."""
    ahead = {row["file"]: timedelta(minutes=row["utc_minutes"] or 0) for row in read}
    rows = []
    small = (file for file in files if file.size <= MOST_BYTES and not is_remote(file.path))  # to fetch one again takes too long
    for file, _ in zip(small, range(MOST_FILES), strict=False):
        name = file.origin.file
        for found in _of_lines(stored(file, MOST_BYTES).split(b"\n"), file.encoding or "utf-8"):
            times = {column: _utc(found.pop(column), ahead.get(name, timedelta())) for column in ("at", "last_at")}
            rows.append(STANDING_VALUES.row({**head, "file": name, **found, **times}))
    return rows


def _of_lines(lines: Sequence[bytes], encoding: str) -> Iterator[dict[str, Any]]:
    shapes: defaultdict[bytes, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        shape = line[:_LONGEST].translate(None, _DIGITS)
        if shape in shapes or len(shapes) < _MOST_SHAPES:
            shapes[shape].append(number)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    shown: set[int] = set()
    for numbers in shapes.values():
        if len(numbers) < _LEAST_OF_SIBLINGS:
            continue
        usual = median(b - a for a, b in pairwise(numbers))
        if len(lines) - numbers[-1] > _GAPS * usual + _LATER:
            continue
        last = [_line(lines[number], number, encoding) for number in numbers[-_STANDS:]]
        standing = list(_standing(last, lines, numbers, encoding)) if len(numbers) >= _LEAST else []
        for each in standing or _one_of_several(lines, numbers, encoding):
            known = found.get((each["name"], each["value"]))
            if each["line"] not in shown and (known is None or each["line"] < known["line"]):
                shown.add(each["line"])  # of one line the first number that stands
                found[each["name"], each["value"]] = each
    yield from sorted(found.values(), key=lambda each: (-each["lines"], each["line"]))[:_MOST_OF_FILE]


def _standing(last: Sequence[_Line], lines: Sequence[bytes], numbers: Sequence[int], encoding: str) -> Iterator[dict[str, Any]]:
    """Of lines of one shape the numbers that are equal in the `last` of them, and moved in those before."""
    width = min(len(line.values) for line in last)
    still = [place for place in range(width) if len({line.values[place] for line in last}) == 1]
    if not still:
        return
    every = [_line(lines[number], number, encoding) for number in numbers]
    if min(len(line.values) for line in every) != width or max(len(line.values) for line in every) != width:
        return
    for place in still:
        values = [line.values[place] for line in every]
        first = len(values)
        while first and values[first - 1] == values[-1]:
            first -= 1
        moved = sum(a != b for a, b in pairwise(values[:first]))
        if first >= _MOVED and moved >= _SHARE * (first - 1):
            shown = every[first]
            if float(values[-1]) == 0 and _WELL_AT_ZERO.search(_name(shown.text, place)):
                continue
            yield {
                "line": shown.number + 1, "text": said(shown.text), "name": _name(shown.text, place), "value": values[-1],
                "moved": values[first - _BEFORE : first], "lines": len(values) - first, "before": first, "at": _stamp(shown.text),
                "last_at": _stamp(every[-1].text),
            }  # fmt: skip


def _one_of_several(lines: Sequence[bytes], numbers: Sequence[int], encoding: str) -> Iterator[dict[str, Any]]:
    """Of lines that count several things of one kind (shards, partitions) the one whose number is 0 in the last of them, while all others
    move: fewer lines are enough, as its siblings show that there is work. Lines that count other things are another report."""
    newest = _line(lines[numbers[-1]], numbers[-1], encoding)
    if len(_alike(newest)) < _SIBLINGS or _WELL_AT_ZERO.search(newest.text):
        return
    reports: defaultdict[tuple[str, ...], list[tuple[_Line, list[str]]]] = defaultdict(list)
    for number in numbers:
        line = _line(lines[number], number, encoding)
        own = _alike(line)
        reports[tuple(own)].append((line, [line.values[place] for place in own.values()]))
    for names, rows in reports.items():
        every, values = [line for line, _ in rows], [found for _, found in rows]
        counts = [[float(value) for value in found] for found in values]
        still = [n for n in range(len(names)) if len(every) > _SIBLING_STANDS and not any(row[n] for row in counts[-_SIBLING_STANDS:])]
        if len(still) != 1 or not all(row[n] for row in counts for n in range(len(names)) if n not in still):
            continue
        first = len(every)
        while first and not counts[first - 1][still[0]]:
            first -= 1
        before = [row[still[0]] for row in counts[:first]]
        if len(every) >= _LEAST_OF_SIBLINGS and len(set(before)) >= _SIBLING_MOVED:
            moved = [found[still[0]] for found in values[:first]]
            yield {
                "line": every[first].number + 1, "text": said(every[first].text), "name": names[still[0]], "value": "0",
                "moved": moved[-_BEFORE:], "lines": len(every) - first, "before": first, "at": _stamp(every[first].text),
                "last_at": _stamp(every[-1].text), "siblings": len(names) - 1,
            }  # fmt: skip


def _alike(line: _Line) -> dict[str, int]:
    """The names of a line's numbers that differ in their digits only, with their places: of the largest such family."""
    families: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for place in range(len(line.values)):
        name = _name(line.text, place)
        families[_IDS.sub("", name)][name] = place
    return max(families.values(), key=len, default={})


def _line(stored: bytes, number: int, encoding: str) -> _Line:
    try:
        text = stored[:_LONGEST].decode(encoding, "replace")
    except LookupError:  # an encoding that is none
        text = stored[:_LONGEST].decode("utf-8", "replace")
    return _Line(number, text, tuple(match[0] for match in _numbers(text)))


def _numbers(text: str) -> list[re.Match[str]]:
    stamp = _STAMP.search(text)
    return [match for match in _NUMBER.finditer(text) if stamp is None or not stamp.start() <= match.start() < stamp.end()][:_MOST_NUMBERS]


def _name(text: str, place: int) -> str:
    """The word that stands before a number, with `=` or `:`, else the words before it."""
    before = text[: _numbers(text)[place].start()]
    named = _NAMED.search(before)
    return named[1] if named else " ".join(before.split()[-2:])


def _stamp(text: str) -> Stamp | None:
    found = _STAMP.search(text)
    return parse(found[0]) if found else None


def _utc(stamp: Stamp | None, ahead: timedelta) -> datetime | None:
    at = to_datetime(stamp.ms) if stamp is not None else None
    return at - ahead if stamp is not None and at is not None and not stamp.stated else at
