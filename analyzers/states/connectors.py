"""What Kafka Connect's REST interface answers about connectors. A failed task is read as the lines that its worker logs for the same.

Of a configuration the settings are kept that decide what becomes of a record: tolerance, dead letters, converters, topics; of a
source of changes what lets its position go on; and of a sink the group in which it commits. Offsets (``GET /connectors/NAME/offsets``,
KIP-875) are those that were committed last: of a sink those of its consumer group.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from analyzers.logs.matching.expressions import expression
from analyzers.logs.wrappings.connect_status import has_status, statuses
from analyzers.secrets import scrub
from analyzers.states.clocks import Clocks
from analyzers.states.state import State, Text, Values

SHAPE = "connector status"
SIGNS = (b'"worker_id"',)
CONFIG_SHAPE = "connector configuration"
CONFIG_SIGNS = (b'"connector.class"',)
_KEPT = expression(
    r"(?:errors\..*|topics(?:\.regex)?|(?:key|value)\.converter(?:\.schema\.registry\.url|\.schemas\.enable)?|connector\.class|tasks\.max"
    r"|slot\.name|heartbeat\.interval\.ms|heartbeat\.action\.query|consumer\.override\.group\.id)$"
)
OFFSETS_SHAPE = "list of connector offsets"
OFFSETS_SIGNS = (b'"offsets"',)
_ASKED = expression(r"/connectors/(?P<name>[^/\s?\"']+)(?:/config)?")
_ASKED_OFFSETS = expression(r"/connectors/(?P<name>[^/\s?\"']+)/offsets\b")
_MOST_OFFSETS = 2_000
_LONGEST_POSITION = 500
_MOST_DEPTH = 4


def read(text: Text) -> Iterator[State]:
    """A state for each document that holds the state of a connector; its lines are read as a log."""
    clocks = Clocks(text.lines)
    for document in text.documents:
        shown = "\n".join(text.lines[document.first : document.last])
        if has_status(shown.encode()):
            state = State(SHAPE, document.first, document.last, also_log=True, at=clocks.before(document.first).at)
            for status in statuses(document.value):
                for values in _tasks(status):
                    state.add("connector_tasks", {**values, "line": document.first + 1})
            yield state


def _tasks(status: Mapping[str, Any]) -> Iterator[Values]:
    """The connector itself (no task), then its tasks."""
    for of in (status["connector"], *status["tasks"]):
        if not isinstance(of, Mapping) or not isinstance(of.get("state"), str):
            continue
        task, trace = (of.get("id"), of.get("trace")) if of is not status["connector"] else (None, of.get("trace"))
        said = next((line.strip() for line in trace.splitlines() if line.strip()), None) if isinstance(trace, str) else None
        yield {
            "connector": status["name"], "type": _string(status.get("type")), "task": task if isinstance(task, int) else None,
            "state": of["state"], "worker": _string(of.get("worker_id")), "said": scrub(said[:_LONGEST_POSITION]) if said else None,
        }  # fmt: skip


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def read_configs(text: Text) -> Iterator[State]:
    """A state for each document that holds configurations of connectors; its lines are read as a log, too: a status may stand beside."""
    for document in text.documents:
        state = State(CONFIG_SHAPE, document.first, document.last, also_log=True)
        asked = "\n".join(text.lines[max(0, document.first - 3) : document.first])
        for name, config in _configs(document.value, asked):
            for key, shown in kept_settings(config).items():
                state.add("connector_configs", {"connector": name, "key": key, "value": shown, "line": document.first + 1})
        if state.rows:
            yield state


def kept_settings(config: Mapping[str, Any]) -> dict[str, str]:
    """The settings of a connector that are kept, without secrets; all others may hold any."""
    given = {str(key): value for key, value in config.items() if isinstance(value, (str, int, float, bool))}
    return {key: scrub(f"{key}={value}").partition("=")[2] for key, value in given.items() if _KEPT.match(key)}


def read_offsets(text: Text) -> Iterator[State]:
    """A state for each document that holds the offsets of a connector, as the path above it names it; its time from the lines above."""
    clocks = Clocks(text.lines)
    for document in text.documents:
        listed = document.value.get("offsets") if isinstance(document.value, Mapping) else None
        places = [each for each in listed if _is_offset(each)] if isinstance(listed, list) else []
        asked = [m["name"] for m in _ASKED_OFFSETS.finditer("\n".join(text.lines[max(0, document.first - 3) : document.first + 1]))]
        if not places and not (asked and listed == []):
            continue
        state = State(OFFSETS_SHAPE, document.first, document.last, at=clocks.before(document.first).at)
        name = unquote(asked[-1]) if asked else None
        for each in places[:_MOST_OFFSETS]:
            state.add("connector_offsets", {"connector": name, **_position(each), "line": document.first + 1})
        yield state


def _is_offset(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("partition"), Mapping)
        and isinstance(value.get("offset"), (Mapping, type(None)))
    )


def _position(each: Mapping[str, Any]) -> Values:
    """Where a connector is in a partition: of a sink a Kafka offset, of a source what its connector makes of it. Source: ConnectorOffset,
    SinkUtils."""
    partition, offset = each["partition"], each.get("offset") or {}
    topic, number, committed = partition.get("kafka_topic"), partition.get("kafka_partition"), offset.get("kafka_offset")
    return {
        "topic": _string(topic), "partition": _whole(number), "committed": _whole(committed),
        "place": _shown(partition), "position": _shown(offset) if offset else None,
    }  # fmt: skip


def _whole(value: Any) -> int | None:
    """Kafka's versions write these numbers as numbers and as texts."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _shown(value: Mapping[str, Any]) -> str:
    return scrub(json.dumps(value, sort_keys=True, ensure_ascii=False))[:_LONGEST_POSITION]


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
