"""What Kafka Connect's REST answers about a connector, as the lines that its worker logs for the same.

``GET /connectors/NAME/status``, ``…/tasks/N/status`` and ``GET /connectors?expand=status`` give states as JSON, of what failed with its
trace: often all that is at hand, pasted into a ticket or a chat, or saved as a file. Strimzi's operator copies them into the status of a
KafkaConnector (`connectorStatus`) and of a KafkaMirrorMaker2 (`connectors`), which kubectl prints as YAML or JSON.
Source: ConnectorStateInfo; WorkerTask.run for the words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.logs.wrappings import plain_yaml

_BEGINS = expression(r"\{\s*\"(?:name\"\s*:\s*\"|id\"\s*:\s*\d+\s*,\s*\"state\")")
_REST = expression(r"[\s{}\[\],:]*(?:\"[\w.-]+\"\s*:\s*\{\s*\"status\"\s*:\s*)?[\s{}\[\],]*")
_ASKED = expression(r"/connectors/(?P<name>[\w.-]+)/tasks/(?P<id>\d+)/status\b")
_KILLED = "Task threw an uncaught and unrecoverable exception. Task is being killed and will not recover until manually restarted"
_SIGNS = ((b'"state"', b'"worker_id"'), (b"apiVersion: ", b"worker_id: "))
_RESOURCE = expression(r"^(?P<indent> *)(?:- )?apiVersion: \S*strimzi\.io/", re.MULTILINE)
_MOST_DEPTH = BUDGET.connect_depth


def has_status(text: bytes) -> bool:
    """Whether the state of a connector stands in `text`, whole."""
    signed = any(all(sign in text for sign in signs) for signs in _SIGNS)
    return signed and next(_found(text.decode("utf-8", "replace")), None) is not None


def as_lines(lines: Sequence[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
    """`lines`, each with its number, in which states of connectors are replaced by the lines that say the same."""
    text = "\n".join(line.decode("utf-8", "surrogateescape") for line, _ in lines)
    result: list[tuple[bytes, int]] = []
    begun = 0

    def number(at: int) -> int:
        return lines[min(text.count("\n", 0, at), len(lines) - 1)][1]

    def rest(start: int, stop: int) -> None:
        if not _REST.fullmatch(text, start, stop):
            at = start
            for line in text[start:stop].split("\n"):
                if line.strip():
                    result.append((line.encode("utf-8", "surrogateescape"), number(at)))
                at += len(line) + 1

    for start, stop, status in _found(text):
        if start >= begun:
            rest(begun, start)
        if "connector" not in status and (asked := [m["name"] for m in _ASKED.finditer(text, 0, start) if int(m["id"]) == status["id"]]):
            status = {"name": asked[-1], "connector": None, "tasks": [status]}
        result.extend((line.encode("utf-8", "surrogateescape"), number(start)) for line in _logged(status))
        begun = stop
    rest(begun, len(text))
    return result


def _found(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Where states of connectors begin and end."""
    yield from _in_json(text) if '"worker_id"' in text else _in_yaml(text)


def _in_yaml(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Those in resources as kubectl prints them, several of one at one place."""
    at = 0
    while m := _RESOURCE.search(text, at):
        lines = text[m.start() :].split("\n")
        inside = len(m["indent"])
        end = next((n for n, line in enumerate(lines) if n and line.strip() and not _goes_on(line, inside)), len(lines))
        at = m.start() + sum(len(line) + 1 for line in lines[:end])
        for status in statuses(plain_yaml.read(lines[:end])):
            yield m.start(), min(at, len(text)), status


def _goes_on(line: str, indent: int) -> bool:
    """Whether a line belongs to the YAML that began with this indentation."""
    own = len(line) - len(line.lstrip(" "))
    return own > indent or (own == indent and _KEY.match(line, own) is not None)


_KEY = expression(r"(?!apiVersion:)[A-Za-z][\w.-]*:(?: |$)|- ")


def statuses(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """The states of connectors in a JSON value: ``name``, ``connector`` with its ``state``, ``tasks``."""
    if depth > _MOST_DEPTH:
        return
    if _is_status(value):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from statuses(inner, depth + 1)


def _in_json(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    decoder, at = json.JSONDecoder(strict=False), 0
    while m := _BEGINS.search(text, at):
        try:
            value, stop = decoder.raw_decode(text, m.start())
        except (ValueError, RecursionError):
            at = m.end()
            continue
        at = stop
        if _is_status(value) or _is_task(value):
            yield m.start(), stop, value


def _is_task(value: Any) -> bool:
    known = isinstance(value, dict) and isinstance(value.get("id"), int) and isinstance(value.get("worker_id"), str)
    return known and isinstance(value.get("state"), str)


def _is_status(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return False
    connector, tasks = value.get("connector"), value.get("tasks")
    return isinstance(connector, dict) and isinstance(connector.get("state"), str) and isinstance(tasks, list)


def _logged(status: dict[str, Any]) -> Iterator[str]:
    if "connector" not in status:  # one task, whose connector only the question named
        yield from _state("", f"Task {status['id']}:", status, _KILLED)
        return
    name, kind = status["name"], {"source": "WorkerSourceTask", "sink": "WorkerSinkTask"}.get(str(status.get("type")))
    if status["connector"] is not None:
        yield from _state(f"[{name}|worker]", f"Connector {name}", status["connector"], "failed to start")
    for task in status["tasks"]:
        if isinstance(task, dict) and isinstance(task.get("id"), int) and isinstance(task.get("state"), str):
            whose = f"{kind}{{id={name}-{task['id']}}}" if kind else f"Task {name}-{task['id']}"
            yield from _state(f"[{name}|task-{task['id']}]", whose, task, _KILLED)


def _state(context: str, whose: str, of: dict[str, Any], failed: str) -> Iterator[str]:
    on = f"{of['state']} on worker {of.get('worker_id')}"
    trace = of.get("trace")
    if of["state"] != "FAILED":
        yield " ".join(filter(None, ("INFO", context, whose, f"is {on}")))
        return
    yield " ".join(filter(None, ("ERROR", context, whose, failed, f"(is {on})")))
    if isinstance(trace, str):
        yield from (line for line in trace.replace("\r", "").split("\n") if line.strip())
