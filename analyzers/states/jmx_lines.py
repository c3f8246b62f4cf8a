"""Attributes of JMX beans as text: what jmxterm's ``get`` and Kafka's JmxTool print, and lines of them that a person has pasted.

A bean is named on the line of its attribute (``kafka.server:type=Fetch,user=svc throttle-time = 4364.0``), or above its attributes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from io import StringIO

from analyzers.logs.matching.expressions import expression
from analyzers.states.clocks import Clock, clock_of
from analyzers.states.metric_names import meaning_of
from analyzers.states.metric_store import Sample, Store, moment_of
from analyzers.states.state import State, Text

SHAPE = "JMX listing"
SIGNS = (b":type=",)
GLANCE = expression(rb"(?<![\w.-])[\w.-]{1,80}:type=[\w.-]")

_NUMBER = r"(?P<value>[+-]?(?:\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d{1,3})?|\.\d+))"
_BEAN = r"(?P<domain>[a-zA-Z][\w.-]{1,80}):(?P<pairs>type=[^\s:()\"]{1,600})"
_ON_ONE_LINE = expression(rf"^[\s#>*-]{{0,8}}{_BEAN}[\s:]\s*(?P<name>[A-Za-z][\w.-]{{1,80}})\s*[=:]\s*{_NUMBER};?\s*$")
_ABOVE = expression(rf"{_BEAN}:?\)?\s*:?$")
_ATTRIBUTE = expression(rf"^[\s>*-]{{0,8}}(?P<name>[A-Za-z][\w.-]{{1,80}})\s*[=:]\s*{_NUMBER};?\s*$")
_TABLE = expression(r'^"?time"?,.*:type=')
_PAIR = expression(r"([\w-]+)=(\"[^\"]*\"|[^,]*)")
_TIME = expression(r"(?<![\d:.])([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?![\d:])")
_BROKER = expression(r"\bbroker[ -]?(?P<id>\d{1,6})\b")
_MOST_COLUMNS, _LONGEST = 2_000, 100_000  # the module csv reads no longer field than 131,072
Bean = tuple[str, dict[str, str]]


def read(text: Text) -> Iterator[State]:
    """The attributes below each other as one state; a comment or an empty line above them may name a broker, or a time."""
    store, states, bean, clock, broker = Store(), list[State](), None, Clock(), None
    inside = False
    for number, line in enumerate(text.lines):
        if len(line) > _LONGEST:
            continue
        if _TABLE.match(line):
            states.append(State(SHAPE, number, number + 1))
            states[-1].last = _table(text.lines, number, store, len(states) - 1)
            inside = False
            continue
        found = _attribute(line, bean)
        if found is not None:
            name, (domain, labels), value = found
            if meaning_of(name) is None:
                continue
            if not inside:
                states.append(State(SHAPE, number, number + 1))
            inside, states[-1].last = True, number + 1
            own = labels | ({"broker": broker} if broker is not None and domain.startswith("kafka.") else {})
            key = (name, tuple(sorted(own.items())))
            if not store.knows(key):
                store.begin(key, name, own)
            store.add(key, Sample(len(states) - 1, clock.at, clock.of_day, value, number + 1))
            continue
        if above := _ABOVE.search(line):
            bean = _bean(above)
        if line.lstrip().startswith("#") or clock_of(line) is not None:
            clock = clock_of(line) or _of_day(line) or clock
            of = _BROKER.search(line)
            broker = of["id"] if of else (broker if above else None)
        inside = inside and not (line.strip() and not above)
    store.into(states)
    yield from states


def _attribute(line: str, bean: Bean | None) -> tuple[str, Bean, float] | None:
    m = _ON_ONE_LINE.match(line)
    if m is not None:
        bean = _bean(m)
    elif bean is None or (m := _ATTRIBUTE.match(line)) is None:
        return None
    return _named(bean, m["name"]), (bean[0], {k: v for k, v in bean[1].items() if k != "type"}), float(m["value"].replace("_", ""))


def _named(bean: Bean, attribute: str) -> str:
    """An attribute with the type and name of its bean, as Jolokia's answers are read, too."""
    return ".".join(filter(None, (bean[1].get("type"), bean[1].get("name"), attribute)))


def _bean(m: re.Match[str]) -> Bean:
    return m["domain"], {key: value.strip('"') for key, value in _PAIR.findall(m["pairs"])}


def _of_day(line: str) -> Clock | None:
    if (m := _TIME.search(line)) is None:
        return None
    return Clock(of_day=int(m[1]) * 3600.0 + int(m[2]) * 60 + int(m[3] or 0))


def _table(lines: list[str], at: int, store: Store, place: int) -> int:
    """JmxTool's table: the times, in milliseconds, and a column for each attribute. Returns the line behind it."""
    columns = next(csv.reader(StringIO(lines[at])))[:_MOST_COLUMNS]
    number = at + 1
    for number in range(at + 1, len(lines)):
        if len(lines[number]) > _LONGEST:
            return number
        cells = next(csv.reader(StringIO(lines[number])), [])
        if len(cells) < 2 or not cells[0].strip().isdigit():
            return number
        for column, cell in zip(columns[1:], cells[1:], strict=False):
            of, _, attribute = column.rpartition(":")
            if (m := _ABOVE.search(of)) is None or meaning_of(name := _named(bean := _bean(m), attribute)) is None:
                continue
            if not store.knows(column):
                store.begin(column, name, {k: v for k, v in bean[1].items() if k != "type"})
            try:
                store.add(column, Sample(place, moment_of(cells[0]), None, float(cell), number + 1))
            except ValueError:
                continue
    return number + 1
