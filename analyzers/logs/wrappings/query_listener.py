"""What a StreamingQueryListener writes as JSON, as the lines that Spark's driver logs for the same.

A listener gets an object per event; what people keep of it is ``progress.json``, the event's own JSON (Spark's event log), or the fields
of the event by hand. Source: StreamingQueryProgress.jsonValue, StreamingQueryListener.QueryTerminatedEvent, QueryStartedEvent.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Told(NamedTuple):
    """A line of the driver."""

    message: str
    time: Any
    level: str
    logger: str
    trace: str | None = None


def of_listener(value: dict[str, Any]) -> Told | None:
    """The line that stands for the event of a listener; None if `value` is none."""
    inner = value.get("progress")
    progress = inner if isinstance(inner, dict) else value
    query, run = progress.get("id"), progress.get("runId")
    if not (isinstance(query, str) and isinstance(run, str)):
        return None
    at = progress.get("timestamp")
    if isinstance(progress.get("batchId"), int) and "sources" in progress:
        said = json.dumps(progress, ensure_ascii=False, separators=(", ", " : "))
        return Told(f"Streaming query made progress: {said}", at, "INFO", "ProgressReporter")
    name = progress.get("name")
    identity = f"{f'{name} ' if isinstance(name, str) else ''}[id = {query}, runId = {run}]"
    if "exception" in progress:
        trace = progress["exception"]
        if isinstance(trace, str) and trace:
            return Told(f"Query {identity} terminated with error", at, "ERROR", "MicroBatchExecution", trace)
        return Told(f"Query {identity} was stopped", at, "INFO", "MicroBatchExecution")
    return None
