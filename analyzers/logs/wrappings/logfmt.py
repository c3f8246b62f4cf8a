"""logfmt: lines of ``key=value`` pairs that state a level, as services in Go print them (slog, logrus, go-kit, log15) and Loki exports.

Sources: log/slog TextHandler, logrus TextFormatter without a terminal, github.com/go-logfmt/logfmt.
"""

from __future__ import annotations

import json
from typing import Any

from analyzers.logs.matching.expressions import expression
from analyzers.logs.wrappings.records import Record, from_dict

LEVEL_SIGNS = (b"level=", b"lvl=")
_PAIR = expression(rb"([A-Za-z_@][\w.@/-]*)=(?:\"((?:[^\"\\]|\\.)*)\"|([^\s\"]*))(?:[ \t]+|$)")
_SAME = (("time", ("t", "ts")), ("level", ("lvl", "log.level")), ("msg", ("message", "err", "error")))
"""Names that pairs have here alone, or instead of a message, by what they are elsewhere."""


def record_of_pairs(line: bytes) -> Record | None:
    """The record of a line that is pairs and nothing else; None if it is not, or states no level."""
    if not any(sign in line for sign in LEVEL_SIGNS):
        return None
    values: dict[str, Any] = {}
    at, line = 0, line.strip()
    while at < len(line):
        pair = _PAIR.match(line, at)
        if pair is None:
            return None
        values[pair[1].decode()] = _unquoted(pair[2]) if pair[2] is not None else pair[3].decode("utf-8", "replace")
        at = pair.end()
    for name, others in _SAME:
        other = next((other for other in others if other in values), None)
        if name not in values and other is not None:
            values[name] = values[other]
    return from_dict(values) if "level" in values and "msg" in values else None


def _unquoted(text: bytes) -> str:
    """What Go quoted: its escapes are those of JSON, but for rare ones, which stay."""
    said = text.decode("utf-8", "replace")
    if "\\" not in said:
        return said
    try:
        return str(json.loads(f'"{said}"', strict=False))
    except ValueError:
        return said
