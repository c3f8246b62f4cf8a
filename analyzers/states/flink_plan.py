"""The graph of a Flink program as JSON, as rows of ``planned_operators``: what its vertices show of its operators, and what they do not.

Three answers of Flink's REST interface have the same nodes: ``POST /jars/:jarid/plan`` (of a program that was not started yet),
``/jobs/:jobid/plan`` and ``/jobs/:jobid``. The id of a vertex is that of the first operator of its chain (StreamingJobGraphGenerator:
``new JobVertexID(hash)`` of the chain's start node); the ids of the operators chained behind it are nowhere in them. Their number follows
from the description, a line each (JsonPlanGenerator writes a line break as ``<br/>``; ``pipeline.vertex-description-mode`` is TREE), unless
it is written in one line with arrows (CASCADING) or with chained sources in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from typing import Any

from analyzers.states.flink_rows import described, member, objects, text, whole
from analyzers.tables import PLANNED_OPERATORS, Row

_ID = re.compile(r"[0-9a-f]{32}\Z")
_BREAK = re.compile(r"<br/?>")
_ONE_LINE = (" -> ", " [")
_ASK = "Give the answer of POST /jars/JARID/plan (or GET /jobs/JOBID) of Flink's REST interface."


class NoPlan(ValueError):
    """JSON that is no graph with operator ids: the message is a sentence, `hint` what to give instead."""

    def __init__(self, message: str, hint: str = _ASK) -> None:
        super().__init__(message)
        self.hint = hint


def plan_rows(body: Any, origin: str, *, source: str = "plan", **more: Any) -> list[Row]:
    """Rows of ``planned_operators``, one per vertex. `source` is plan or rest, `origin` where the JSON comes from, `more` columns of all.

    Raises `NoPlan` for any other JSON.
    """
    answer = body if isinstance(body, Mapping) else {}
    plan = member(answer, "plan") or answer
    nodes = {str(node["id"]): node for node in objects(plan, "nodes") if _ID.match(str(node.get("id")))}
    if len(nodes) != len(objects(plan, "nodes")) or not nodes:
        raise NoPlan(*_what_it_is(answer, plan))
    running = {str(vertex.get("id")): vertex for vertex in objects(answer, "vertices")}
    head = {
        "scope": "", "job": text(answer.get("jid")), "source": source, "origin": origin, "job_state": text(answer.get("state")),
        "configured_max": whole(answer.get("maxParallelism")), **more,
    }  # fmt: skip
    return [PLANNED_OPERATORS.row({**head, **_vertex(key, node, running.get(key, {}))}) for key, node in nodes.items()]


def _vertex(key: str, node: Mapping[str, Any], running: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "operator": key,
        "name": text(running.get("name")) or described(node),
        "parallelism": _positive(running.get("parallelism")) or _positive(node.get("parallelism")),
        "max_parallelism": _positive(running.get("maxParallelism")),
        "chained": _chained(node),
    }


def _positive(value: object) -> int | None:
    """A number of subtasks; None for -1, which the adaptive schedulers write before they know it."""
    found = whole(value)
    return found if found is not None and found > 0 else None


def _chained(node: Mapping[str, Any]) -> int | None:
    said = text(node.get("description"))
    lines = [line for line in _BREAK.split(said) if line.strip()] if said else []
    if not lines or any(sign in unescape(line) for line in lines for sign in _ONE_LINE):
        return None
    return len(lines) - 1


def _what_it_is(answer: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[str]:
    nodes: Sequence[Mapping[str, Any]] = objects(plan, "nodes")
    kinds = {str(node.get("type")) for node in nodes}
    if "flinkVersion" in answer and any(kind.startswith("stream-exec-") for kind in kinds):
        yield "it is a compiled plan of SQL (COMPILE PLAN), whose nodes are no operators yet"
    elif any("pact" in node for node in nodes):
        yield "it is an execution plan (getExecutionPlan, flink info), whose nodes have numbers and no operator ids"
    elif nodes:
        yield "some of its nodes have no operator id (32 hex digits)"
    else:
        yield "it holds no nodes of a Flink program"
