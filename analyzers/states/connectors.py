"""What Kafka Connect's REST interface answers about connectors. A failed task is read as the lines that its worker logs for the same.

Of a configuration the settings are kept that decide what becomes of a record: tolerance, dead letters, converters, topics; and of a
source of changes what lets its position go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analyzers.logs.matching.expressions import expression
from analyzers.logs.wrappings.connect_status import has_status
from analyzers.secrets import scrub
from analyzers.states.state import State, Text

SHAPE = "connector status"
SIGNS = (b'"worker_id"',)
CONFIG_SHAPE = "connector configuration"
CONFIG_SIGNS = (b'"connector.class"',)
_KEPT = expression(
    r"(?:errors\..*|topics(?:\.regex)?|(?:key|value)\.converter(?:\.schema\.registry\.url|\.schemas\.enable)?|connector\.class|tasks\.max"
    r"|slot\.name|heartbeat\.interval\.ms|heartbeat\.action\.query)$"
)
_ASKED = expression(r"/connectors/(?P<name>[^/\s?\"']+)(?:/config)?")
_MOST_DEPTH = 4


def read(text: Text) -> Iterator[State]:
    """A state for each document that holds the state of a connector; its lines are read as a log."""
    for document in text.documents:
        shown = "\n".join(text.lines[document.first : document.last])
        if has_status(shown.encode()):
            yield State(SHAPE, document.first, document.last, also_log=True)


def read_configs(text: Text) -> Iterator[State]:
    """A state for each document that holds configurations of connectors; its lines are read as a log, too: a status may stand beside."""
    for document in text.documents:
        state = State(CONFIG_SHAPE, document.first, document.last, also_log=True)
        asked = "\n".join(text.lines[max(0, document.first - 3) : document.first])
        for name, config in _configs(document.value, asked):
            for key, value in config.items():
                if isinstance(value, (str, int, float, bool)) and _KEPT.match(str(key)):
                    shown = scrub(f"{key}={value}").partition("=")[2]
                    state.add("connector_configs", {"connector": name, "key": str(key), "value": shown, "line": document.first + 1})
        if state.rows:
            yield state


def _configs(value: Any, asked: str, depth: int = 0) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each configuration with the name of its connector: it names it itself, the object around it does, or the path that was asked."""
    if not isinstance(value, Mapping) or depth > _MOST_DEPTH:
        return
    if "connector.class" in value:
        names = [m["name"] for m in _ASKED.finditer(asked)]
        name = value.get("name") or (names[-1] if names else None)
        if isinstance(name, str):
            yield name, value
        return
    for key, inner in value.items():
        named = value.get("name")
        yield from _configs(inner, f"/connectors/{named}" if key == "config" and isinstance(named, str) else str(key), depth + 1)
