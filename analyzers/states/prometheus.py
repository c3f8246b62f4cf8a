"""Metrics as an exporter prints them (Prometheus text exposition, OpenMetrics), saved or pasted, and what `promtool query` prints.

Several scrapes may stand one after the other, with comments, commands or nothing between them: a series that is seen again begins the next
one. A comment or a command may name when it was made, and of whom it is. Metrics that `metrics.toml` does not know are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.states.clocks import Clock, clock_of
from analyzers.states.metric_names import meaning_of
from analyzers.states.metric_store import Sample, Store, moment_of
from analyzers.states.state import State, Text

SHAPE = "metrics scrape"
SIGNS = (b'"} ', b'",} ', b'", } ', b"# TYPE ", b"# HELP ", b'"}  ', b'"}\t')
_VALUE = r"[+-]?(?:\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d{1,3})?|\.\d+|[iI]nf(?:inity)?|[nN]a[nN])"
GLANCE = expression(
    (
        r"(?m)^(?:[-*> \t`]{0,8}[a-zA-Z_:][\w:.]{2,200}\{[^\n]{0,4000}\"\s*,?\}\s*(?:=>?\s*)?"
        + _VALUE
        + r"(?![\w-])|# (?:TYPE|HELP) [\w:]+ \S)"
    ).encode()
)
"""That a text holds a sample with labels, or the head of a metric."""

_SAMPLE = expression(
    r"^[-*>\s`]{0,8}(?P<name>[a-zA-Z_:][\w:.]{2,200})(?:\s*(?P<labels>\{(?:[^\"{}]|\"(?:\\.|[^\"\\])*\")*\}))?(?:\s*(?P<arrow>=>?|:))?"
    r"(?:\s*(?P<value>" + _VALUE + r")(?:\s+@?\[?(?P<stamp>-?\d+(?:\.\d+)?)\]?)?)?[`;,]?\s*(?:#.*)?$"
)
_NEXT = expression(r"^\s*(?P<value>" + _VALUE + r")\s+@\[(?P<stamp>\d+(?:\.\d+)?)\]\s*$")
_LABEL = expression(r"([a-zA-Z_][\w.]*)\s*=\s*\"((?:\\.|[^\"\\])*)\"")
_COMMENT = expression(r"^\s*#")
_HEAD = expression(r"^\s*#\s*(?:TYPE|HELP|UNIT)\s")
_END = expression(r"^\s*#\s*EOF\b")
_STAMP = expression(r"(?<!\d)(\d{4}-\d\d-\d\d)[T ,]+(\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)?\s?(Z|UTC|[+-]\d\d:?\d\d)?(?![\d:])")
_CLOCK = expression(r"(?<![\d:.])([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?:[.,]\d{1,3})?(?![\d:])")
_TARGET = expression(r"(?:https?://)?(?P<host>[a-zA-Z][\w.-]{0,80}|\d{1,3}(?:\.\d{1,3}){3}):(?P<port>\d{2,5})(?=/|\s|$|\"|')")
_UNESCAPED = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
_ESCAPE = expression(r"\\[n\"\\]")
_WHOSE = ("instance", "host", "pod", "tm_id", "hostname", "node")
_LONGEST = BUDGET.scrape_line_bytes
_LONGEST_TITLE = 300
_NO_CLOCK = Clock()
_MOST_STATES = BUDGET.scrapes


@dataclass
class _Reading:
    """Where the reading of a text is."""

    clock: Clock = _NO_CLOCK
    target: str | None = None
    states: list[State] = field(default_factory=list)
    store: Store = field(default_factory=Store)
    inside: bool = False
    """Whether the line above belongs to the newest scrape."""
    headed: bool = False
    """Whether the text has heads of metrics, as an exporter prints them."""
    shown_at: dict[object, Clock] = field(default_factory=dict)
    """The clock of the newest sample of each series."""
    seen: set[object] = field(default_factory=set)
    """The series of this scrape."""
    titled: int = -2
    """The last line that is a comment; right above a scrape it belongs to it."""
    pending: object = None
    """The series whose numbers stand on lines of their own."""

    def state(self, number: int) -> State:
        """The scrape that line `number` belongs to."""
        if not self.inside and len(self.states) < _MOST_STATES:
            self.states.append(State(SHAPE, number - 1 if self.titled == number - 1 else number, number + 1))
        self.inside = True
        self.states[-1].last = number + 1
        return self.states[-1]

    def leave(self) -> None:
        self.inside, self.pending = False, None
        self.seen.clear()


def read(text: Text) -> Iterator[State]:
    """Every scrape of a text."""
    reading = _Reading()
    lines = text.lines
    for number, line in enumerate(lines):
        if not line or line.isspace():
            reading.pending = None
        elif line.startswith(("# HELP", "# TYPE")):
            reading.state(number)
            reading.headed = True
        elif _COMMENT.match(line):
            _comment(reading, number, line)
        elif not _sample(reading, number, line):
            _between(reading, line)
    reading.store.into(reading.states)
    states = [state for state in reading.states if state.last > state.first]
    if states and lines and _is_cut(lines[-1]):
        states[-1].trouble = states[-1].trouble or "ends in the middle of a line"
    yield from states


def _comment(reading: _Reading, number: int, line: str) -> None:
    if _HEAD.match(line):
        reading.state(number)
    elif _END.match(line):
        if reading.inside:
            reading.state(number)
        reading.leave()
    else:
        _between(reading, line)
        reading.titled = number


def _between(reading: _Reading, line: str) -> None:
    """A comment, a command or prose: when the next scrape was made, and of whom it is."""
    reading.leave()
    if len(line) > _LONGEST_TITLE:
        return
    if (clock := _time_in(line)) is not None:
        reading.clock = clock
    if (m := _TARGET.search(line)) is not None:
        reading.target = f"{m['host']}:{m['port']}"


def _time_in(line: str) -> Clock | None:
    """The time that a title names."""
    if not any(c.isdigit() for c in line):
        return None
    if (known := clock_of(line.lstrip("# "))) is not None:
        return known
    if m := _STAMP.search(line):
        zone = (m[3] or "+00:00").replace("Z", "+00:00").replace("UTC", "+00:00")
        try:
            return Clock(datetime.fromisoformat(f"{m[1]}T{m[2]}{zone}").astimezone(timezone.utc))
        except (ValueError, OverflowError):
            return None
    if m := _CLOCK.search(line):
        return Clock(of_day=int(m[1]) * 3600 + int(m[2]) * 60 + int(m[3] or 0))
    return None


def _sample(reading: _Reading, number: int, line: str) -> bool:
    """Whether a line is a sample, or belongs to one; its number is then held."""
    if reading.pending is not None and (more := _NEXT.match(line)) is not None:
        reading.store.add(reading.pending, _of(reading, number, more["value"], more["stamp"]))
        reading.states[-1].last = number + 1
        return True
    if len(line) > _LONGEST:
        return False
    name = line[: line.find("{")] if "{" in line else ""
    if name and name.isidentifier() and line.rfind("}") > 0 and meaning_of(name) is None and _plain(line):
        reading.state(number)  # quickly: most lines of a scrape are of metrics that nothing reads
        return True
    m = _SAMPLE.match(line)
    if m is None or (m["value"] is None and m["arrow"] != "=>"):
        return False
    if m["labels"] is None and not (reading.headed and reading.inside) and (m["name"].count("_") < 2 or not reading.states):
        return False  # a word and a number, as prose has them
    if m["arrow"] == ":" and m["labels"] is None:
        return False
    key: object = (m["name"], m["labels"], reading.target)
    if m["stamp"] is None:
        if key in reading.seen:
            reading.leave()
        if reading.clock != _NO_CLOCK and reading.shown_at.get(key) == reading.clock:
            reading.clock = _NO_CLOCK  # a scrape without a title was not made when the one before it was
        reading.shown_at[key] = reading.clock
    state = reading.state(number)
    reading.seen.add(key)
    if not reading.store.knows(key):
        reading.store.begin(key, m["name"], _labels(m["labels"] or "", reading.target))
    if m["value"] is None:
        reading.pending = key
    else:
        reading.store.add(key, _of(reading, number, m["value"], m["stamp"]))
    state.last = number + 1
    return True


def _plain(line: str) -> bool:
    tail = line[line.rfind("}") + 1 :].split()
    return bool(tail) and tail[0][:1] in "0123456789+-NI.n"


def _of(reading: _Reading, number: int, value: str, stamp: str | None) -> Sample:
    at = moment_of(stamp) if stamp is not None else None
    clock = Clock(at) if at is not None else reading.clock
    return Sample(len(reading.states) - 1, clock.at, clock.of_day, _float(value), number + 1)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _labels(text: str, target: str | None) -> dict[str, str]:
    found = {name: _ESCAPE.sub(lambda m: _UNESCAPED[m[0]], value) for name, value in _LABEL.findall(text)}
    if target is not None and not any(name in found for name in _WHOSE):
        found["instance"] = target
    return found


def _is_cut(line: str) -> bool:
    """Whether the last line of a scrape lacks its end."""
    return bool(line.strip()) and "{" in line and _SAMPLE.match(line) is None and re.match(r"^[a-zA-Z_:][\w:]*\{", line) is not None
