"""What other lines say of the things that a verdict names: the cause of a failure often stands in another process, below an error.

No expression knows these lines. A line is quoted because it speaks of trouble and shares a name with the failure that few lines hold: a
host, a table, a slot, a certificate, a class. The rarer the names, the more it says.
"""

from __future__ import annotations

import math
import posixpath
import re
from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from analyzers.causal.asks import Asks, asks_of
from analyzers.causal.changes import changed
from analyzers.causal.names import names_of, numbers_of
from analyzers.causal.ordinary import is_ordinary, shape_of
from analyzers.components import is_user
from analyzers.derived.failures.log_messages import first_line
from analyzers.logs.scan.remarks import is_telling
from analyzers.tables import Row

_LOUD: Mapping[str | None, float] = {"FATAL": 1.2, "ERROR": 1.2, "WARN": 1.1}
_TELLING, _PLAIN = 1.0, 0.45
"""Weights of a line that speaks of trouble, and of any other."""
_OTHER_FILE = 1.25
_SAME = 0.6
"""For a line that shows the mechanism that the verdict's own words show: a limit that a kernel enforces, a lock that a server holds."""
_RULES = 1.3
"""For a line of a note, or of an answer of a program, that names a setting which rules that mechanism."""
_NEAR = 0.2
"""From this weight of the names that a file shares with a verdict on the file is about it."""
_MECHANISM = 1.3
"""More where the words show a mechanism (`causal.asks`)."""
_OF_FILE = 0.6
"""How much of the weight of a name each line gets whose file holds it: a note is about one thing."""
_NAMED_AFTER = 0.5
"""More where the file is called after it: the log of a host."""
_LATER, _LONG_BEFORE = 0.3, 0.6
_BEFORE, _AFTER = timedelta(hours=12), timedelta(minutes=5)
_JUST_ABOVE = 3  # lines
_AT_ONCE, _MEANWHILE = timedelta(seconds=5), timedelta(minutes=10)
_ENOUGH = 0.7
_IN_A_TRACE = 0.6
"""How much a name counts that only other lines of the verdict hold, not its decisive words."""
_COMMON = 0.35
_MOST_NAMES = 3
"""The rarest names that two texts share count: a long line shares many with everything."""
_ORDINARY = 0.3
_BY_ENGINE = 0.5
"""Of what an engine prints below a warning: it reports each step of a failure."""
_FEW = 3
"""Lines that hold a number: of one that more hold it says nothing who is meant."""
_MOST_POINTERS, _MOST_STEPS, _MOST_POINTED = 8, 4_000, 2
_CELL = " | "
_COUNTED = re.compile(r"\s*(?P<first>\d{1,9})\s+(?=\S*[A-Za-z])[^|]*$|(?=(?:[^|]*\|){2}).*\|\s*(?P<last>\d{1,9})\s*$")
"""A row of `uniq -c`, or of a table whose last column is a number."""
_REPEATED = 0.6
"""From this share of its words on a line says what the line says that points at it."""
_BLOB = re.compile(r"(?s)\s*[\[{]\s*[\"{].{160}")
"""An answer of a program on one line, in which all names of a job stand."""


def _spread(found: Sequence[Beside], most: int) -> list[Beside]:
    """The first `most` of `found`, of lines right below each other that share the same names the first only."""
    chosen: list[Beside] = []
    for each in found:
        file, line = each.row["file"], each.row["line"] or 0
        near = [one for one in chosen if one.row["file"] == file and abs((one.row["line"] or 0) - line) <= _JUST_ABOVE]
        if len(chosen) < most and sum(set(each.names) <= set(one.names) for one in near) < (1 if each.names else 2):
            chosen.append(each)
    return chosen


class _Line(NamedTuple):
    row: Row
    names: frozenset[str]
    shape: str
    loudness: float
    asks: Asks | None


@dataclass(frozen=True)
class Beside:
    """A line that speaks of the same things as a verdict: `names`, the rarest first."""

    row: Row
    names: tuple[str, ...]
    score: float


class Surroundings:
    """The remarks, notes and unexplained errors of one scope, and how many of them hold each name."""

    def __init__(self, remarks: Iterable[Row], events: Iterable[Row]) -> None:
        self._lines: list[_Line] = []
        seen: set[tuple[str, str]] = set()
        for row in (*remarks, *(event for event in events if event["level"] in _LOUD)):
            shape = shape_of(row)
            if (row["file"], shape) not in seen and not _BLOB.match(row["text"] or "") and not _is_typed(row):
                seen.add((row["file"], shape))
                self._lines.append(_Line(row, names_of(row["text"] or ""), shape, *_weighed(row)))
        self._numbered: defaultdict[str, list[_Line]] = defaultdict(list)
        for line in (*self._lines, *_steps_with_numbers(events, seen)):
            step = line.row["level"] is not None and line.row["level"] not in _LOUD
            for number in numbers_of(line.row["text"] or ""):
                if not step or "." not in number:  # a deployment names the address of its host, and says nothing of it
                    self._numbered[number].append(line)
        self._held = Counter(name for line in self._lines for name in line.names)
        self._of_file: defaultdict[str, set[str]] = defaultdict(set)
        for line in self._lines:
            self._of_file[line.row["file"]] |= line.names
        self._called = {file: _names_of_file(file) for file in self._of_file}
        for file, names in self._called.items():
            self._of_file[file] |= names

    def of(
        self, decisive: str, lines: Sequence[Row], first: datetime | None, last: datetime | None, most: int, job: str | None = None,
        asks: Asks | None = None,
    ) -> list[Beside]:  # fmt: skip
        """The `most` lines that say most of what a verdict names, best first, and those that they point at by a number.

        Lines of the verdict itself, lines of the same shape and what its process prints as a consequence are left out. Where nothing
        shares a name, the loudest line of another process at that time. `asks`: the mechanism that the verdict shows, where it is known.
        """
        main = names_of(decisive) | _within(names_of(decisive))
        wider = frozenset(name for row in lines for name in names_of(row["text"] or "")) | main
        called = names_of(job or "") - wider
        own, files = {shape_of(row) for row in lines}, {row["file"] for row in lines}
        shown = asks or asks_of(decisive)
        roots = {row.get("root_exception") for row in lines} | {thrown for row in lines for thrown in row.get("chain") or ()}
        times = sorted(row["at"] for row in lines if row["at"] is not None)
        about = {file: self._about(file, names & (wider | called), wider, main) for file, names in self._of_file.items()}
        found, meanwhile = [], []
        for line in self._lines:
            row = line.row
            if line.shape in own or _is_echo(row, times, elsewhere=row["file"] not in files):
                continue
            known = wider | called if line.loudness >= _TELLING or _CELL in (row["text"] or "") else wider  # each setting names its job
            shared = sorted(line.names & known, key=lambda name: -self._weight(name, main))[:_MOST_NAMES]
            score = sum(self._weight(name, main) / (number + 1) for number, name in enumerate(shared))
            if shown is not None and shown.specific and line.loudness >= _TELLING and line.asks is shown:
                score += _SAME
            near = bool(shared) or row["file"] in files or about[row["file"]] >= _NEAR
            rules = shown is not None and row["level"] is None and (near or not shown.everyday)
            if shown is not None and rules and shown.is_ruled_by(row["text"] or ""):
                score += _RULES
            if row.get("chain") and row["root_exception"] not in roots and _is_just_before(row, first):
                score += _ENOUGH
            if row["file"] not in files:
                score = (score + about[row["file"]]) * _OTHER_FILE
                if (line.loudness > 1 and _overlaps(row, first, last)) or (line.loudness >= _TELLING and row["at"] is None):
                    meanwhile.append(Beside(row, (), line.loudness))
            score *= line.loudness * _timeliness(row, first, last)
            if score >= _ENOUGH:
                found.append(Beside(row, tuple(shared), score))
        found.sort(key=lambda each: (-each.score, each.row["file"] or "", each.row["line"] or 0))
        chosen = _spread(found, most) or sorted(meanwhile, key=lambda each: -each.score)[:1]
        if shown is not None and shown.held and (most_held := self._holder(own)) is not None:
            chosen = [*chosen[: most - 1], most_held]
        pointed = self._pointed_at([decisive, *(each.row["text"] or "" for each in chosen)], own | {shape_of(each.row) for each in chosen})
        return [self._thrown(each) for each in [*chosen, *pointed]]

    def _holder(self, known: set[str]) -> Beside | None:
        """Of a table that counts (sessions per user, files per process) the row with the largest number: who has what is used up."""
        counts: defaultdict[str, list[tuple[int, _Line]]] = defaultdict(list)
        for line in self._lines:
            counted = _COUNTED.match(line.row["text"] or "") if line.row["level"] is None else None
            if counted is not None and line.shape not in known:
                counts[line.row["file"]].append((int(counted["first"] or counted["last"]), line))
        rows = [max(own, key=lambda each: each[0]) for own in counts.values() if len(own) > 1]
        return Beside(max(rows, key=lambda each: each[0])[1].row, (), 1.0) if rows else None

    def _pointed_at(self, texts: Sequence[str], known: set[str]) -> list[Beside]:
        """The lines, of two files, about a process, session or transaction that one of `texts` names by its number only.

        A line that says nothing new may point on: a session that waits for another one.
        """
        names = frozenset(name for text in texts for name in names_of(text))
        words, passed = [set(text.split()) for text in texts], set(known)
        best: dict[str, tuple[tuple[float, int], Beside]] = {}
        left = deque(dict.fromkeys(number for text in texts for number in numbers_of(text)))
        seen = set(left)
        while left:
            number = left.popleft()
            held = self._numbered.get(number, ())
            for line in held if len(held) <= _FEW else ():
                own = set((line.row["text"] or "").split())
                if line.shape in passed or any(len(own & said) > _REPEATED * len(own) for said in words):
                    continue
                passed.add(line.shape)
                if new := len(line.names - names):
                    file = line.row["file"] or ""
                    if file not in best or (line.loudness, new) > best[file][0]:
                        best[file] = (line.loudness, new), Beside(line.row, (number,), line.loudness)
                elif len(passed) - len(known) <= _MOST_POINTERS:
                    left.extend(each for each in numbers_of(line.row["text"] or "") if each not in seen)
                    seen.update(left)
        return [each for _, each in sorted(best.values(), key=lambda one: one[0], reverse=True)[:_MOST_POINTED]]

    def changed(self, decisive: str, lines: Sequence[Row], first: datetime | None, asks: Asks | None = None) -> Row | None:
        """The line that says most of a change before `first`, of what a verdict names or near it."""
        names = frozenset(name for row in lines for name in names_of(row["text"] or "")) | names_of(decisive)
        return changed((line.row for line in self._lines), names, first, asks or asks_of(decisive))

    def _thrown(self, beside: Beside) -> Beside:
        """The exception that the same process printed just above a line that only mentions it."""
        row = beside.row
        if row.get("chain") or row["line"] is None:
            return beside
        above = [
            line.row
            for line in self._lines
            if line.row.get("chain") and line.row["file"] == row["file"] and 0 < row["line"] - (line.row["line"] or 0) <= _JUST_ABOVE
        ]
        return Beside(above[-1], beside.names, beside.score) if above else beside

    def _about(self, file: str, names: set[str], wider: frozenset[str], main: frozenset[str]) -> float:
        """What it says of each line of a file that the file holds these names of the verdict, or is called after one."""
        own = self._called[file]
        called = _NAMED_AFTER if names & own or any(name.endswith(f"-{piece}") for name in wider for piece in own) else 0.0
        return max((_OF_FILE * self._weight(name, main) for name in names), default=0.0) + called

    def _weight(self, name: str, main: frozenset[str]) -> float:
        """What a shared name says: less, the more shapes of lines hold it."""
        return (1.0 if name in main else _IN_A_TRACE) / (1 + _COMMON * math.log2(max(self._held[name], 1)))


def _steps_with_numbers(events: Iterable[Row], seen: set[tuple[str, str]]) -> Iterator[_Line]:
    """Steps of a life cycle, one of each shape, which may say what a number is that a failure names: an offset, a transaction."""
    for row in islice((row for row in events if row["level"] not in _LOUD), _MOST_STEPS):
        if numbers_of(row["text"] or "") and (row["file"], shape := shape_of(row)) not in seen:
            seen.add((row["file"], shape))
            yield _Line(row, names_of(row["text"] or ""), shape, _PLAIN, None)


def _within(names: frozenset[str]) -> frozenset[str]:
    """Names that a longer one was made of: the role ``flink-policy-ro`` in the user ``v-kubernetes-flink-policy-ro-Ck2Q-17941236``."""
    found = set()
    for name in names:
        words = name.split("-")
        if _LONG <= len(words) <= _LONGEST_NAME and "/" not in name and "." not in name:
            runs = ("-".join(words[begin:end]) for begin in range(len(words)) for end in range(begin + 2, len(words) + 1))
            found |= {run for run in runs if len(run) >= _TELLING_NAME}
    return frozenset(found)


_LONG, _LONGEST_NAME, _TELLING_NAME = 4, 12, 10


def _is_echo(row: Row, times: Sequence[datetime], *, elsewhere: bool) -> bool:
    """Whether a line without an exception of its own comes from the engine at once after one of `times`, in order: a consequence.

    `elsewhere`: of another process only what its engine prints below a warning.
    """
    if row.get("chain") or row["at"] is None or is_user(row["logger"] or ""):
        return False
    if elsewhere:
        near = bisect_right(times, row["at"] + _AT_ONCE)
        engine = _ENGINE.match(row["logger"] or "") is not None and row["level"] not in _LOUD
        return engine and near > 0 and row["at"] - times[near - 1] <= _AT_ONCE
    before = bisect_right(times, row["at"])
    return before > 0 and row["at"] - times[before - 1] <= _AT_ONCE


_ENGINE = re.compile(
    r"org\.apache\.flink\.runtime|org\.apache\.spark\.(?:scheduler|executor)|o\.a\.f\.r|(?:TaskSetManager|Executor|Task|BlockManager)\b"
)


def _is_typed(row: Row) -> bool:
    """Whether a line of a note is a command, or the head of a table, and so says nothing itself."""
    return row["level"] is None and bool(_TYPED.match(row["text"] or ""))


_TYPED = re.compile(r"\s*(?:[\w.@~:/-]{0,60}[$%>] |[A-Z][A-Za-z_-]*(?:\s+[A-Z][A-Za-z_-]*){2,}\s*$)")


def _overlaps(row: Row, first: datetime | None, last: datetime | None) -> bool:
    return row["at"] is not None and first is not None and last is not None and first - _MEANWHILE <= row["at"] <= last + _AFTER


def _weighed(row: Row) -> tuple[float, Asks | None]:
    """How much a line speaks of trouble, more than 1 where its words and its level say so, and what its words ask for."""
    level, text = row["level"], first_line(row)
    if _ROUTINE.search(text):
        return _PLAIN, None
    telling = level in ("ERROR", "FATAL") or bool(row.get("chain")) or is_telling(text)
    asks = asks_of(text) if telling or level in _LOUD else None
    more = _MECHANISM if telling and asks is not None and asks.specific and not asks.symptom else 1.0
    if is_ordinary(row):
        return _ORDINARY, asks
    if level not in _LOUD and _ENGINE.match(row["logger"] or ""):
        more *= _BY_ENGINE
    if level in _LOUD and telling:
        return _LOUD[level] * more, asks
    return _TELLING * more if level in _LOUD or telling else _PLAIN, asks


_ROUTINE = re.compile(r"(?:^|\s)(?:Normal\s+[A-Z]\w+|Warning\s+BackOff)\s")
"""Events of Kubernetes that accompany each start and each end of a pod."""


def _is_just_before(row: Row, first: datetime | None) -> bool:
    """Whether an exception was printed in the seconds before what a verdict is about began."""
    return row["at"] is not None and first is not None and timedelta(0) <= first - row["at"] <= _AT_ONCE


def _timeliness(row: Row, first: datetime | None, last: datetime | None) -> float:
    at = row["at"]
    if at is None or first is None or last is None:
        return 1.0
    if at > last + _AFTER:
        return _LATER
    return _LONG_BEFORE if at < first - _BEFORE else 1.0


def _names_of_file(file: str) -> frozenset[str]:
    """A log is often called after the host or pod whose log it is."""
    stem = posixpath.basename(file.replace("!", "/"))
    words = stem.partition(".")[0].replace("_", "-").split("-")
    pieces = {stem, stem.rpartition(".")[0]} | {"-".join(words[a:b]) for a in range(len(words)) for b in range(a + 1, len(words) + 1)}
    return frozenset(piece.lower() for piece in pieces if len(piece) >= 5 and any(c.isdigit() or c == "-" for c in piece))
