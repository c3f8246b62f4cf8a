"""Settings that files of the evidence give: configuration, code and answers of programs beside logs, and what a client prints at its start.

Each program spells a name in its own way: `auto.offset.reset`, `auto-offset-reset`, `AutoOffsetReset`, `KAFKA_AUTO_OFFSET_RESET`. Without
case and separators they are one, which may stand behind a prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from analyzers.tables import SETTINGS, Row

Tables = Mapping[str, Sequence[Row]]

_NAME = r"(?P<name>(?=[\w.-]*(?:[._-]|[a-z][A-Z]))[A-Za-z_][\w.-]{4,79})"
"""With a separator or a capital within: other words are prose."""
_VALUE = r"""(?P<value>"[^"\n]{0,80}"|'[^'\n]{0,80}'|[^\s,;"'()\[\]{}]{1,80})"""
_ASSIGNED = re.compile(rf"""(?<![\w.$:-])["'`]?{_NAME}["'`]?[ \t]{{0,40}}(?::=|=>|=(?!=))[ \t]{{0,20}}{_VALUE}""")
_MAPPED = re.compile(rf"""(?<![\w.$:-])["'`]?{_NAME}["'`]?[ \t]{{0,40}}:[ \t]{{1,40}}{_VALUE}(?=[ \t]{{0,9}}(?:[,;}}\])]|#|//|$))""")
_LISTED = re.compile(
    rf"""(?<![=\w])(["']){_NAME}\1,[ \t]{{0,20}}(?P<value>"[^"\n]{{0,80}}"|'[^'\n]{{0,80}}'|[^\s,;="'()\[\]{{}}]{{1,80}})"""
    r"""(?=[ \t]*(?:[),]|$))"""
)
_CALLED = re.compile(r"\.(?:set|with)(?P<name>[A-Z]\w{4,60})\((?P<value>[^()\n]{1,60}(?:\(\))?)\)")
_SEPARATORS = re.compile(r"[._-]")
_LISTING = "kafka-client-config"
_MOST = 400
"""Of one scope: what is more is a data file, not a configuration."""
_SHORTEST = 9
"""Letters of a name that is found behind a prefix: `offset` ends too many."""


def settings_given(tables: Tables) -> list[Row]:
    """Rows of ``settings``: one per file, name and value, at the first line that gives it."""
    seen: dict[str, set[tuple[str, str, str]]] = {}
    rows = []
    for line in _lines(tables):
        own = seen.setdefault(line["scope"], set())
        for name, value in assigned(line["text"]):
            key = (line["file"], key_of(name), value)
            if key not in own and len(own) < _MOST:
                own.add(key)
                place: dict[str, Any] = {column: line[column] for column in ("scope", "as_of", "file", "line", "text", "at")}
                rows.append(SETTINGS.row(place | {"name": name, "key": key[1], "value": value}))
    return rows


def assigned(text: str) -> Iterator[tuple[str, str]]:
    """Names and values that `text` assigns: ``a.b = c``, ``a-b: c``, ``"a.b", "c"``, ``.setAB(c)``."""
    for match in chain(_ASSIGNED.finditer(text), _MAPPED.finditer(text), _LISTED.finditer(text), _CALLED.finditer(text)):
        yield match["name"], match["value"].strip("\"'")


def key_of(name: str) -> str:
    return _SEPARATORS.sub("", name).lower()


def values_of(rows: Iterable[Row], name: str) -> set[str]:
    """What `rows` of ``settings`` give the setting `name`, in lower case, also behind a prefix."""
    return {row["value"].lower() for row in rows if is_called(row["key"], key_of(name))}


def is_called(key: str, wanted: str) -> bool:
    """Whether the `key` of a line is the setting `wanted`, or that one behind a prefix."""
    return key == wanted or (len(wanted) >= _SHORTEST and key.endswith(wanted))


def _lines(tables: Tables) -> Iterator[Row]:
    for row in tables.get("log_remarks", ()):
        if row["times"] is None:  # a note
            yield row
    for event in tables.get("log_events", ()):
        if event["signature"] == _LISTING:
            for text in (event["text"] or "").splitlines()[1:]:
                yield {**event, "text": text.strip()}
